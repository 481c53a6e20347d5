"""Figure 5: calibration error of networks, and its bias, against the number of test images; the bandwidth is 0.02.

The paper takes the same estimator on all images for the truth, so that its bias is 0 at the last n by construction. On simulated
data, whose truth is known, the bias against the estimator's own last value vanishes and that against the truth does not.
"""

import pandas as pd

from harness.evaluation import items
from harness.figures import panels

from . import comparisons, curves, drawing, networks

summary = curves.summary
RISK = "kde_popordanoska2024"
TITLES = {
    "estimate": "estimate",
    "drift": "% from its own value at the last $n$",
    "bias": "% bias on simulated data",
}
METRICS = {"kl": "CE_KL, relative bias", "l2_squared": "CE_2^2, relative bias"}


def measured(records, settings):
    """curves.numbers with `own`, the mean at the estimator's largest n, and `drift` (%), the distance from it, with its error."""
    found = curves.numbers(records, settings)
    last = (
        found.sort_values("n")
        .groupby(["problem", "estimator", "estimand"])["mean"]
        .last()
        .rename("own")
    )
    found = found.join(last, on=["problem", "estimator", "estimand"])
    return found.assign(
        drift=100 * (found["mean"] / found["own"] - 1), drift_se=100 * found["se"] / found["own"]
    )


def render(records, settings):
    """Estimates, their distance from their own last value, and from the truth where it is known."""
    found = items.in_order(measured(records, settings), settings, "problem")
    if not len(found):
        return panels.nothing(networks.NO_FILES)
    risk, known = found[found["estimator"].eq(RISK)], found[found["truth"].notna()]
    drift = {"panel": "drift", "mean": lambda f: f["drift"], "se": lambda f: f["drift_se"]}
    bias = {"panel": "bias", "mean": lambda f: f["relative"], "se": lambda f: f["relative_se"]}
    drawn = pd.concat([
        risk.assign(panel="estimate", series=risk["model"]),
        risk.assign(**drift, series=risk["model"]),
        known.assign(**bias, series=items.formatted(known, "{column}, from the truth")),
        known.assign(**{**drift, "panel": "bias"}, series=items.formatted(known, "{column}, from itself")),
    ])  # fmt: skip
    more = {"how": {"log": True}, "sharex": True}
    dotted = {"linestyle": ":", "markerfacecolor": "white"}
    names = {
        name: {"label": name, **(dotted if name.endswith("itself") else {})}
        for name in drawn["series"]
    }
    figure, axes = drawing.facets(
        drawn, ("estimand", curves.AXIS), ("panel", TITLES), "series", names, 4.5, **more
    )
    for (_, panel), ax in axes.items():
        if panel == "estimate":
            ax.set_ylim(bottom=0.0)
        else:
            panels.rule(ax, 0.0)
    panels.legend(figure, [axes["kl", "estimate"], axes["kl", "bias"]])
    return figure


def table(records, settings):
    """By problem, estimator and n: both errors, how far from the estimator's own last value, and from the truth if known."""
    found = measured(records, settings)
    found = items.in_order(found.sort_values(["column", "n"], kind="stable"), settings, "problem")
    shown = {
        "{short}": ("mean", "se"),
        "{short}, % from own last": ("drift", "drift_se", 1),
        "{short}, % from truth": ("relative", "relative_se", 0),
    }
    rows = comparisons.columns(found, ("{model}", "{column}", "n"), shown)
    heading = (
        "kl and squared L2 (two columns): mean ± standard error over random orders of the images"
    )
    return networks.wide(rows, ["problem", "estimator", "n"], heading if rows else "kl: no number")


def reproduced(records, settings):
    """The one number that the figure states: no bias where the truth is the estimate itself."""
    found = measured(records, settings)
    found = found[found["estimator"].eq(RISK) & found["truth"].isna() & found["n"].eq(10000)]
    last = items.means(found.assign(drift=found["drift"].abs()), ["estimand"], "drift")
    most = found["drift"].abs().groupby(found["estimand"]).max()
    last = last.assign(most=last["estimand"].map(most), name=last["estimand"].map(METRICS))
    return comparisons.answers_or_reason(
        items.numbers(last, "PreResNet56, n = 10000", "{name}", "most", 0.0), records, settings
    )
