"""Effect of each convention of the published numbers, on problems with a known truth.

One problem is a perfectly calibrated model: a network's predictions with labels that are drawn from
them. An estimate on it is the bias of the estimator. With the tables' bandwidth 0.02 and the form
via the risk (equation 14), this bias is most of what the tables print. The other problems are
simulated and have a nonzero truth.
"""

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, curves, drawing

summary = curves.summary


def measured(records, settings):
    """Return `curves.numbers`, with the labels of problem and estimator."""
    frame, known = (
        curves.numbers(records, settings),
        comparisons.ranked(settings.estimator, settings.labels.estimator),
    )
    return items.in_orders(
        frame, {"problem": settings.problem, "n": sorted(frame["n"].unique()), "estimator": known}
    )


def render(records, settings):
    """Draw the estimates against n, or in rows if there are one or two sample sizes.

    In rows, full marks are at the larger n and open marks at the smaller.
    """
    frame, several = measured(records, settings), records["n"].nunique() > 2
    names = comparisons.ranked(frame["estimator"], settings.labels.estimator)
    rows = ("estimand", curves.AXIS if several else dict.fromkeys(curves.SHORT, ""))
    columns, texts = (
        curves.titles(settings, "problem", frame["problem"].unique()),
        curves.titles(settings, "estimator", names),
    )
    if several:
        more = {"truth": True, "how": {"log": True, "zorder": 3}, "sharex": True}
        figure, axes = drawing.facets(
            frame, rows, ("problem", columns), "estimator", texts, 4.2, **more
        )
    else:
        height = 0.9 + 2 * (0.35 + 0.19 * len(names))
        figure, axes = drawing.facets(
            frame, rows, ("problem", columns), "estimator", [], height, sharey=True
        )
        for (estimand, problem), ax in axes.items():
            part = frame[frame["estimand"].eq(estimand) & frame["problem"].eq(problem)]
            drawing.by_size(ax, part, "estimator", names, scale=100)
            panels.truth_line(
                ax,
                part.assign(truth=part["theirs"]),
                curves.THEIRS,
                upright=True,
                scale=100,
                linestyle=":",
            )
            ax.set_xlabel(curves.SHORT[estimand] + r" $\times$ 100")
            panels.name_rows(ax, list(texts.values()), 0.6, 0.6)
    panels.legend(figure, list(axes.values()))
    return figure


def table(records, settings):
    """Return a table with a row per problem, n and estimator, all numbers x 100.

    It has the KL error, and the squared error on two columns and on one, each with its truth. Two
    columns are (1 - g, g) for the predicted probability g of a class.
    """
    frame, key = measured(records, settings), ("model", "n", "column")
    frame[["mean", "se", "truth", "theirs"]] *= 100
    shown = {
        "": ("mean", "se", 3),
        ", true value": ("truth", None, 3),
        f", {curves.THEIRS}": ("theirs", None, 3),
    }
    rows = comparisons.columns(
        frame, key, {"{short} x 100" + name: how for name, how in shown.items()}
    )
    half = frame[frame["estimand"].isin(list(curves.UNIT))]
    half = half.assign(mean=half["mean"] / 2, se=half["se"] / 2)
    comparisons.columns(half, key, {"{short} x 100, one column": ("mean", "se", 3)}, into=rows)
    columns = sorted(
        dict.fromkeys(c for row in rows.values() for c in row), key=lambda c: (c[0] != "K", len(c))
    )
    heading = "kl and squared L2 (two columns where not said otherwise): mean ± standard error"
    return text_tables.wide(rows, ["problem", "n", "estimator"], heading, columns)


def reproduced(records, settings):
    """Return our numbers. They are of other predictions, so they are not judged."""
    return items.answers(
        curves.reproduced_rows(records, settings), settings, settings.reasons["data"]
    )
