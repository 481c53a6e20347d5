"""Figure 4: squared L2 and KL calibration error and relative bias, for 2, 5 and 10 classes.

The class-wise error compares the prediction g_j of class j with E[Y_j given g_j]. The ground truth
of the authors' code (TruthOfVector) compares g_j with E[Y_j given the whole vector]. It is larger
for more than two classes (Jensen). The relative bias here is against the class-wise error.
"""

import numpy as np

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, curves, drawing
from .curves import THEIRS
from .fig2 import DIRECT, RISK

summary = curves.summary
ROWS = ("l2_squared", "kl")


def render(records, settings):
    """Draw the errors by number of classes, and the relative bias.

    Full lines are the form via the risk, broken lines the direct form.
    """
    frame, titles = (
        curves.numbers(records, settings),
        curves.titles(settings, "problem", settings.problem),
    )
    rows, columns = (
        ("estimand", {name: curves.AXIS[name] for name in ROWS}),
        ("problem", {**titles, "": "relative bias (%)"}),
    )
    estimators = curves.titles(
        settings, "estimator", [e for e in (RISK, DIRECT) if e in settings.estimator]
    )
    more = {
        "truth": True,
        "how": {"log": True, "zorder": 3},
        "width_ratios": [1] * len(titles) + [1.15],
    }
    figure, axes = drawing.facets(frame, rows, columns, "estimator", estimators, 4.4, **more)
    for (estimand, problem), ax in axes.items():
        mine = frame[frame["estimand"].eq(estimand)]
        if problem:
            part = mine[mine["problem"].eq(problem)]
            curves.marks(ax, part[part["estimator"].eq(RISK)], settings, "fig4_authors_code")
            panels.truth_line(ax, part.assign(truth=part["theirs"]), THEIRS, linestyle=":")
            ax.set_ylim(bottom=0.0)
            continue
        for estimator, texts, style in ((RISK, titles, "-"), (DIRECT, dict.fromkeys(titles), "--")):
            how = {
                "value": "relative",
                "error": "relative_se",
                "log": True,
                "first": 2,
                "linestyle": style,
                "markersize": 2.5,
            }
            drawing.lines(ax, mine[mine["estimator"].eq(estimator)], "problem", texts, **how)
            ax.plot(
                [],
                [],
                color="0.2",
                linestyle=style,
                label=f"relative bias, {estimators.get(estimator)}",
            )
        panels.rule(ax, 0.0, linestyle="-", linewidth=0.8)
    first = ["true value", THEIRS, *estimators.values(), curves.AGAIN]
    panels.legend(figure, list(axes.values()), first=first)
    return figure


def table(records, settings):
    """Return a table by estimand, number of classes k and n.

    It has the true value, the authors' ground truth, the estimates and the relative bias.
    """
    frame = items.in_orders(
        curves.numbers(records, settings), {"estimand": ROWS, "problem": settings.problem}
    )
    shown = {
        "true value": ("truth", None, 5),
        THEIRS: ("theirs", None, 5),
        "{column}": ("mean", "se"),
        "{column}, bias %": ("relative", "relative_se", 0),
    }
    heading = (
        "kl and l2_squared (two columns): mean ± standard error; "
        "relative bias against the true value"
    )
    return text_tables.wide(
        comparisons.columns(frame, ("short", "model", "n"), shown),
        ["estimand", "problem", "n"],
        heading,
    )


def reproduced(records, settings):
    """Return our estimates, our truths, and our value of the authors' ground truth."""
    exact = curves.numbers(records, settings).drop_duplicates(["problem", "estimand"])
    theirs = curves.authors_truth(records, settings)
    ours = [
        curves.reproduced_rows(records, settings),
        items.numbers(exact, "{model}", "True value, {short}", "truth", "truth_error", np.inf),
        items.numbers(
            theirs, "{model}", "Authors' ground truth, {short}", "value", "error", np.inf
        ),
    ]
    return items.answers(items.together(*ours), settings)
