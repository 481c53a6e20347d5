"""What each convention of the published numbers does, on problems whose truth is known.

Of a perfectly calibrated model (a network's predictions with labels drawn from them) an estimator gives its own bias: with the
bandwidth 0.02 of the tables, via the risk, most of what the tables print. Simulated data have a truth that is not 0.
"""

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, curves, drawing

summary = curves.summary


def measured(records, settings):
    """curves.numbers by problem, n and the estimators' labels."""
    found, known = (
        curves.numbers(records, settings),
        comparisons.ranked(settings.estimator, settings.labels.estimator),
    )
    return items.in_orders(
        found, {"problem": settings.problem, "n": sorted(found["n"].unique()), "estimator": known}
    )


def render(records, settings):
    """Estimates against n, or, of one or two n, side by side: full marks at the larger n, open ones at the smaller."""
    found, several = measured(records, settings), records["n"].nunique() > 2
    names = comparisons.ranked(found["estimator"], settings.labels.estimator)
    rows = ("estimand", curves.AXIS if several else dict.fromkeys(curves.SHORT, ""))
    columns, texts = (
        curves.titles(settings, "problem", found["problem"].unique()),
        curves.titles(settings, "estimator", names),
    )
    if several:
        more = {"truth": True, "how": {"log": True, "zorder": 3}, "sharex": True}
        figure, axes = drawing.facets(
            found, rows, ("problem", columns), "estimator", texts, 4.2, **more
        )
    else:
        height = 0.9 + 2 * (0.35 + 0.19 * len(names))
        figure, axes = drawing.facets(
            found, rows, ("problem", columns), "estimator", [], height, sharey=True
        )
        for (estimand, problem), ax in axes.items():
            part = found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
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
    """By problem, n and estimator, all x 100: KL, and the squared error on two columns and on one; the truths beside them."""
    found, key = measured(records, settings), ("model", "n", "column")
    found[["mean", "se", "truth", "theirs"]] *= 100
    shown = {
        "": ("mean", "se", 3),
        ", true value": ("truth", None, 3),
        f", {curves.THEIRS}": ("theirs", None, 3),
    }
    rows = comparisons.columns(
        found, key, {"{short} x 100" + name: how for name, how in shown.items()}
    )
    half = found[found["estimand"].isin(list(curves.UNIT))]
    half = half.assign(mean=half["mean"] / 2, se=half["se"] / 2)
    comparisons.columns(half, key, {"{short} x 100, one column": ("mean", "se", 3)}, into=rows)
    columns = sorted(
        dict.fromkeys(c for row in rows.values() for c in row), key=lambda c: (c[0] != "K", len(c))
    )
    heading = "kl and squared L2 (two columns where not said otherwise): mean ± standard error"
    return text_tables.wide(rows, ["problem", "n", "estimator"], heading, columns)


def reproduced(records, settings):
    """Our numbers: of other predictions than those behind the reported ones, so shown by themselves."""
    return items.answers(
        curves.reproduced_rows(records, settings), settings, settings.reasons["data"]
    )
