"""Figure 2: KL calibration error on simulated data.

(a) compares the kernel with bins, (b) the form via the risk with the direct form, and (c) shows the
bias against n. The paper's numbers are class-wise, from the kernel via the risk (equation 14), with
a bandwidth that depends on n. (a) also has the squared error. There the bins are closer to the
truth than the kernel from 3,000 samples on.
"""

from harness.common import wording
from harness.evaluation import items, text_tables
from harness.evaluation.selection import label
from harness.figures import panels

from . import comparisons, curves, drawing

summary = curves.summary
RISK, DIRECT = "kde_risk_schedule_popordanoska2024", "kde_direct_schedule_popordanoska2024"
OPEN = f"open: {curves.AGAIN}"
APART = (0.86, 1.0, 1.16)  # factors of n that set three lines side by side
BINNED = {"kl": "binned_kl_popordanoska2024", "l2_squared": "binned15"}
# {column of the table: (estimand, first, second)}; the second estimator should be closer to the
# truth.
CONTESTS = {
    "fig2a": {
        f"|bias| bins - kernel, {name}": (s, BINNED[s], RISK) for s, name in curves.SHORT.items()
    },
    "fig2b": {"|bias| via risk - direct": ("kl", RISK, DIRECT)},
    "fig2c": {},
}


def figure_part(settings):
    """Return the part of the figure that the experiment computes: fig2a, fig2b or fig2c."""
    return settings.compare[0].split("_")[0]


def render(records, settings):
    """Draw a panel per estimand (a), a panel per problem (b), or the bias per estimator (c)."""
    frame, which = curves.numbers(records, settings), figure_part(settings)
    frame = frame[frame["estimand"].eq("kl") | (which == "fig2a")].assign(row=0)
    shown = [
        e
        for e in (RISK, *(BINNED.values() if which == "fig2a" else (DIRECT,)))
        if e in settings.estimator
    ]
    problems, estimators = (
        curves.titles(settings, "problem", settings.problem),
        curves.titles(settings, "estimator", shown),
    )
    columns, by, names, value, text = {
        "fig2a": (("estimand", curves.AXIS), "estimator", estimators, "mean", "{column}, {short}"),
        "fig2b": (("problem", problems), "estimator", estimators, "mean", "{column}, {short}"),
        "fig2c": (
            ("estimator", estimators),
            "problem",
            problems,
            "bias",
            "{column}, bias of {short}",
        ),
    }[which]
    rows, how = (
        (
            "row",
            {0: "bias of KL calibration error (nats)" if which == "fig2c" else "calibration error"},
        ),
        {"value": value, "log": True, "zorder": 3},
    )
    more = {"truth": which != "fig2c", "how": how, "sharey": which != "fig2a"}
    looks = {
        label(settings, by, name): panels.look(i, False, label=OPEN, linestyle="none")
        for i, name in enumerate(names)
    }
    apart = dict(zip(looks, APART)) if which == "fig2c" else {}
    frame["n"] = frame["n"] * frame["model"].map(apart).fillna(1.0)
    figure, axes = drawing.facets(
        frame, rows, columns, by, names, 2.5 + 0.5 * (which == "fig2c"), **more
    )
    for (_, name), ax in axes.items():
        part = frame[frame[columns[0]].eq(name) & frame["estimator"].isin(shown)]
        curves.marks(ax, part, settings, f"{which}_authors_code", text, looks, apart)
        if which == "fig2c":
            panels.rule(ax, 0.0)
        else:
            ax.set_ylim(bottom=0.0)
    panels.legend(figure, list(axes.values()), columns=5, last=[OPEN])
    return figure


def table(records, settings):
    """Return a table with a row per problem and n: truth, estimates and differences of bias.

    A difference is |bias| of one estimator minus |bias| of another, on the same samples. For (c)
    the bias takes the place of the estimates, also in %.
    """
    which = figure_part(settings)
    frame = items.in_order(curves.numbers(records, settings), settings, "problem")
    frame, suffix = (
        frame[frame["estimand"].eq("kl") | (which == "fig2a")],
        ", {short}" * (which == "fig2a"),
    )
    shown = {f"{{column}}{suffix}": ("mean", "se")}
    if which == "fig2c":
        shown = {"{column}, bias": ("bias", "se"), "{column}, %": ("relative", "relative_se", 0)}
    rows = comparisons.columns(
        frame, ("model", "n"), {f"true value{suffix}": ("truth", None), **shown}
    )
    for column, (estimand, first, second) in CONTESTS[which].items():
        fine = curves.in_two_columns(items.with_number(records, estimand))
        for (problem, n), d in comparisons.gap(fine, first, second).iterrows():
            rows[label(settings, "problem", problem), n][column] = wording.format_fixed(
                d["gap"], d["se"]
            )
    return text_tables.wide(
        rows, ["problem", "n"], "kl: mean ± standard error; squared L2 on two columns"
    )


def reproduced(records, settings):
    """Return our estimates, or biases for (c).

    They are compared with numbers of the authors' code and of an independent implementation.
    """
    bias = ("{column}, bias of {short}", "bias") if figure_part(settings) == "fig2c" else ()
    return items.answers(curves.reproduced_rows(records, settings, *bias), settings)
