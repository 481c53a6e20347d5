"""Tables 3 and 4: accuracy, log-loss and Brier score (x 100), before and after recalibration.

Log-loss and Brier score are of the whole vector p of probabilities (canonical notion). They are the
means of -log p_y and of sum_j (p_j - 1{y = j})^2, where y is the class.
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
    """Return means over the seeds x 100, and the numbers of seeds with an undefined score.

    The means are by network, method, variant and estimand. A score is undefined if an outcome had
    the probability 0. It has no mean then, because a mean over the other seeds would be of other
    networks.
    """
    lost = records[records["status"].eq("undefined") & records["estimand"].isin(list(COLUMNS))]
    frames = (
        items.with_number(records, COLUMNS, "canonical"),
        lost.drop_duplicates(["problem", "estimand"]),
    )
    frames = [
        networks.recalibrated(f[["key", "problem", "estimand", "value"]], settings) for f in frames
    ]
    frame, without = (
        f.assign(value=100 * f["value"], column=f["estimand"].map(COLUMNS)) for f in frames
    )
    without = without.groupby(BY, sort=False).size().rename("seeds").reset_index()
    frame = frame.merge(without, "left", BY)
    return items.means(frame[frame["seeds"].isna()], BY), without


def printed(settings):
    """Return the printed numbers of the item that the experiment compares with."""
    return networks.printed(settings, settings.compare[0])


def render(records, settings):
    """Draw the networks by each score, with a mark per method; open marks are printed numbers.

    Several scores have logarithmic axes. The accuracy is drawn as its distance from 100 %.
    """
    frame, paper = measured(records, settings)[0], printed(settings)
    if not len(frame):
        return panels.nothing(networks.NO_FILES)
    frame["mean"] = frame["mean"].where(frame["estimand"].ne("accuracy"), 100 - frame["mean"])
    paper["value"] = paper["value"].where(paper["column"].ne("Accuracy"), 100 - paper["value"])
    names, methods = (
        networks.row_names(frame, paper, settings),
        list(dict.fromkeys(paper["method"])),
    )
    columns = {
        estimand: column
        for estimand, column in COLUMNS.items()
        if estimand in set(frame["estimand"])
    }
    figure, axes = panels.grid(1, len(columns), 0.9 + 0.27 * len(names), sharey=True)
    for ax, (estimand, column) in zip(axes.flat, columns.items()):
        ours, theirs = frame[frame["estimand"].eq(estimand)], paper[paper["column"].eq(column)]
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
    """Return a table by network, method and variant: the three scores, and the printed ones."""
    frame, without = measured(records, settings)
    rows = text_tables.entries(frame, networks.INDEX, "{column}", digits=2)
    text_tables.entries(
        without, networks.INDEX, "{column}", text=lambda r: f"undefined ({r.seeds})", into=rows
    )
    paper = printed(settings)
    text_tables.entries(
        paper, networks.INDEX, "{column}, paper", "value", "plus_minus", 2, into=rows
    )
    known = list(dict.fromkeys(paper["column"]))
    heading = "accuracy, NLL and Brier score, x 100: mean ± standard error over seeds"
    return networks.methods_table(
        rows, settings, heading, [c for name in known for c in (name, f"{name}, paper")]
    )


def reproduced(records, settings):
    """Return our numbers on the published recalibrations; Table 3 has the accuracies of Table 4."""
    return comparisons.answers_or_reason(numbers(records, settings), records, settings)


def numbers(records, settings):
    """Return our means on the published recalibrations, by row and column of the paper."""
    frame = measured(records, settings)[0]
    return items.numbers(
        frame[frame["variant"].ne(networks.OURS)], "{network}, {method}", "{column}"
    )
