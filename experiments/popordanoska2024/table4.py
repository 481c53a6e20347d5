"""Tables 3 and 4: accuracy, negative log-likelihood and Brier score (all x 100) of networks, plain and recalibrated.

NLL and Brier score are of the whole vector (canonical notion), so the mean of -log p_y and of sum_j (p_j - 1{y = j})^2.
"""

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, networks

COLUMNS = {"accuracy": "Accuracy", "logloss": "NLL", "brier": "Brier"}
AXIS = {
    "accuracy": "100 - accuracy (%)",
    "logloss": r"NLL $\times$ 100",
    "brier": r"Brier $\times$ 100",
}
TICKS = (2, 5, 10, 20, 50, 100, 200)
BY = [*networks.KEY, "estimand", "column"]


def measured(records, settings):
    """By network, method, variant and estimand: mean over the seeds x 100, se, reps; and, in a second frame, for how many `seeds`
    a score is undefined (an outcome had the probability 0): a mean over the others would be of other networks."""
    lost = records[records["status"].eq("undefined") & records["estimand"].isin(list(COLUMNS))]
    frames = (
        items.with_number(records, COLUMNS, "canonical"),
        lost.drop_duplicates(["problem", "estimand"]),
    )
    frames = [
        networks.recalibrated(f[["key", "problem", "estimand", "value"]], settings) for f in frames
    ]
    found, without = (
        f.assign(value=100 * f["value"], column=f["estimand"].map(COLUMNS)) for f in frames
    )
    without = without.groupby(BY, sort=False).size().rename("seeds").reset_index()
    found = found.merge(without, "left", BY)
    return items.means(found[found["seeds"].isna()], BY), without


def printed(settings):
    """The printed numbers of the item that the experiment compares with."""
    return networks.printed(settings, settings.compare[0])


def render(records, settings):
    """Networks by each score, of several on logarithmic axes, a mark per method; the printed numbers as open
    marks. Of the accuracy, what it lacks to 100 %."""
    found, paper = measured(records, settings)[0], printed(settings)
    if not len(found):
        return panels.nothing(networks.NO_FILES)
    found["mean"] = found["mean"].where(found["estimand"].ne("accuracy"), 100 - found["mean"])
    paper["value"] = paper["value"].where(paper["column"].ne("Accuracy"), 100 - paper["value"])
    names, methods = networks.rows_of(found, paper, settings), list(dict.fromkeys(paper["method"]))
    columns = {
        estimand: column
        for estimand, column in COLUMNS.items()
        if estimand in set(found["estimand"])
    }
    figure, axes = panels.grid(1, len(columns), 0.9 + 0.27 * len(names), sharey=True)
    for ax, (estimand, column) in zip(axes.flat, columns.items()):
        ours, theirs = found[found["estimand"].eq(estimand)], paper[paper["column"].eq(column)]
        networks.marks(ax, ours, theirs, names, methods)
        ax.set_xlabel(AXIS[estimand])
        if len(columns) == 1:
            continue
        ax.set_xscale("log")
        ax.minorticks_off()
        drawn = [*ours["mean"], *theirs["value"]]
        ticks = [t for t in TICKS if 0.8 * min(drawn) <= t <= 1.25 * max(drawn)]
        ax.set_xticks(ticks, [str(t) for t in ticks])
    panels.legend(figure, axes, columns=4, last=[networks.OPEN])
    return figure


def table(records, settings):
    """Rows (network, method, variant): the three scores, the printed ones beside them where the networks are the paper's."""
    found, without = measured(records, settings)
    rows = text_tables.entries(found, networks.INDEX, "{column}", digits=2)
    text_tables.entries(
        without, networks.INDEX, "{column}", text=lambda r: f"undefined ({r.seeds})", into=rows
    )
    paper = printed(settings)
    text_tables.entries(
        paper, networks.INDEX, "{column}, paper", "value", "plus_minus", 2, into=rows
    )
    known = list(dict.fromkeys(paper["column"]))
    heading = "accuracy, NLL and Brier score, x 100: mean ± standard error over seeds"
    return networks.of_methods(
        rows, settings, heading, [c for name in known for c in (name, f"{name}, paper")]
    )


def reproduced(records, settings):
    """Our numbers on the published recalibrations; Table 3 is Table 4's accuracy."""
    found = measured(records, settings)[0]
    ours = items.numbers(
        found[found["variant"].ne(networks.OURS)], "{network}, {method}", "{column}"
    )
    return comparisons.answers_or_reason(ours, records, settings)
