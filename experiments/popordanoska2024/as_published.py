"""Effect of each convention of the published numbers, on problems with a known truth.

On a perfectly calibrated model (a network's predictions with labels drawn from them) an estimate is
the bias of the estimator: with the bandwidth 0.02 of the tables, via the risk, most of what the
tables print. Simulated data have a nonzero truth.
"""

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, curves, drawing

summary = curves.summary


def measured(records, settings):
    """Return curves.numbers by problem, n and the estimators' labels."""
    frame, known = (
        curves.numbers(records, settings),
        comparisons.ranked(settings.estimator, settings.labels.estimator),
    )
    return items.in_orders(
        frame, {"problem": settings.problem, "n": sorted(frame["n"].unique()), "estimator": known}
    )


def render(records, settings):
    """Draw estimates against n, or side by side for one or two n.

    Full marks are at the larger n, open ones at the smaller.
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
    """Return rows (problem, n, estimator), all x 100: KL, and squared error on two columns and one.

    The truths stand next to them.
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
    """Return our numbers; they are of other predictions, so they are not compared."""
    return items.answers(
        curves.reproduced_rows(records, settings), settings, settings.reasons["data"]
    )
