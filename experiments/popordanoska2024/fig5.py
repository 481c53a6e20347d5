"""Figure 5: calibration error of networks and its bias, against the number of test images.

The bandwidth is 0.02. The paper takes the estimate on all images for the truth, so that its bias is
0 at the largest n by construction. Simulated data with a known truth show the difference: the
distance from the estimate at the largest n vanishes, and that from the truth does not.
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
    """Return `curves.numbers` with the columns `own`, `drift` and the error of `drift`.

    `own` is the mean of the estimator at its largest n. `drift` is the distance from `own` in %.
    """
    frame = curves.numbers(records, settings)
    last = (
        frame.sort_values("n")
        .groupby(["problem", "estimator", "estimand"])["mean"]
        .last()
        .rename("own")
    )
    frame = frame.join(last, on=["problem", "estimator", "estimand"])
    return frame.assign(
        drift=100 * (frame["mean"] / frame["own"] - 1), drift_se=100 * frame["se"] / frame["own"]
    )


def render(records, settings):
    """Draw the estimates, and their distances from the value at the largest n and the truth."""
    frame = items.in_order(measured(records, settings), settings, "problem")
    if not len(frame):
        return panels.nothing(networks.NO_FILES)
    risk, known = frame[frame["estimator"].eq(RISK)], frame[frame["truth"].notna()]
    drift = {"panel": "drift", "mean": lambda f: f["drift"], "se": lambda f: f["drift_se"]}
    bias = {"panel": "bias", "mean": lambda f: f["relative"], "se": lambda f: f["relative_se"]}
    from_itself = items.formatted(known, "{column}, from itself")
    drawn = pd.concat([
        risk.assign(panel="estimate", series=risk["model"]),
        risk.assign(**drift, series=risk["model"]),
        known.assign(**bias, series=items.formatted(known, "{column}, from the truth")),
        known.assign(**{**drift, "panel": "bias"}, series=from_itself),
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
    """Return a table by problem, estimator and n: KL and squared L2 error, and two distances.

    One distance is that from the estimator's value at the largest n. The other is that from the
    truth, if it is known.
    """
    frame = measured(records, settings)
    frame = items.in_order(frame.sort_values(["column", "n"], kind="stable"), settings, "problem")
    shown = {
        "{short}": ("mean", "se"),
        "{short}, % from own last": ("drift", "drift_se", 1),
        "{short}, % from truth": ("relative", "relative_se", 0),
    }
    rows = comparisons.columns(frame, ("{model}", "{column}", "n"), shown)
    heading = (
        "kl and squared L2 (two columns): mean ± standard error over random orders of the images"
    )
    return networks.wide(rows, ["problem", "estimator", "n"], heading if rows else "kl: no number")


def reproduced(records, settings):
    """Return the number that the figure implies: bias 0 where the truth is the estimate itself."""
    frame = measured(records, settings)
    frame = frame[frame["estimator"].eq(RISK) & frame["truth"].isna() & frame["n"].eq(10000)]
    last = items.means(frame.assign(drift=frame["drift"].abs()), ["estimand"], "drift")
    most = frame["drift"].abs().groupby(frame["estimand"]).max()
    last = last.assign(most=last["estimand"].map(most), name=last["estimand"].map(METRICS))
    return comparisons.answers_or_reason(
        items.numbers(last, "PreResNet56, n = 10000", "{name}", "most", 0.0), records, settings
    )
