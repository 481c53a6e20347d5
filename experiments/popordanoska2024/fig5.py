"""Figure 5: calibration error of networks, and its bias, against the number of test images; the bandwidth is 0.02.

The paper takes the same estimator on all images for the truth, so that its bias is 0 at the last n by construction. Beside the
networks stands simulated data whose truth is known: there the bias against the estimator's own last value vanishes and that
against the truth does not.
"""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import curves, runs
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

summary = curves.summary
RISK = "kde_popordanoska2024"


def measured(records):
    """curves.numbers with `own`, the mean at the estimator's largest n, and `drift` (%), the distance from it, with its error."""
    found = curves.numbers(records)
    last = found.sort_values("n").groupby(["problem", "estimator", "estimand"])["mean"].last().rename("own")
    found = found.join(last, on=["problem", "estimator", "estimand"])
    return found.assign(drift=100 * (found["mean"] / found["own"] - 1), drift_se=100 * found["se"] / found["own"])


def render(records, config):
    found = measured(records)
    if not len(found):
        return runs.nothing()
    plt = pyplot()
    figure, axes = plt.subplots(2, 3, figsize=(WIDTH, 4.2), sharex=True, layout="constrained")
    for row, estimand in zip(axes, curves.SHORT):
        part = found[found["estimand"].eq(estimand)]
        for i, problem in enumerate(p for p in config["problem"] if p in set(part["problem"])):
            line = part[part["problem"].eq(problem) & part["estimator"].eq(RISK)].sort_values("n")
            style = {"color": COLOURS[i], "marker": MARKERS[i], "capsize": 1.5, "elinewidth": 0.7}
            name = label(config, "problem", problem)
            row[0].errorbar(line["n"], line["mean"], yerr=line["se"], label=name, **style)
            row[1].errorbar(line["n"], line["drift"], yerr=line["drift_se"], label=name, **style)
        for i, (_, line) in enumerate(part[part["truth"].notna()].groupby(["problem", "estimator"], sort=False)):
            line = line.sort_values("n")
            name = label(config, "estimator", line["estimator"].iloc[0])
            style = {"color": COLOURS[6 + i], "marker": MARKERS[6 + i], "capsize": 1.5, "elinewidth": 0.7, "markersize": 4}
            row[2].errorbar(line["n"], line["relative"], yerr=line["relative_se"], label=f"{name}, from the truth", **style)
            row[2].plot(
                line["n"], line["drift"], color=COLOURS[6 + i], marker=MARKERS[6 + i], markerfacecolor="white", markersize=4,
                linestyle=":", label=f"{name}, from itself",
            )  # fmt: skip
        row[0].set_ylabel(curves.AXIS[estimand] + ("\n(two columns)" if estimand == "l2_squared" else ""))
        row[0].set_ylim(bottom=0.0)
        for ax in row[1:]:
            ax.axhline(0.0, color="0.2", linestyle="--", linewidth=1.0, zorder=1)
    titles = ("estimate", "% from its own value at the last $n$", "% bias on simulated data")
    for ax, title in zip(axes[0], titles):
        ax.set_title(title)
        ax.set_xscale("log")
    for ax in axes[1]:
        ax.set_xlabel("number of samples $n$")
    axes[0, 2].legend(fontsize=5.5, handlelength=1.8, loc="upper right")
    curves.legend(figure, axes[:, 0])
    return figure


def table(records, config):
    """By problem, estimator and n: both errors, how far from the estimator's own last value, and from the truth where it is
    known."""
    found = measured(records)
    if not len(found):
        return runs.empty("kl: no number", "problem")
    order = list(dict.fromkeys([*config["problem"], *found["problem"]]))
    rows = {}
    for r in found.itertuples():
        key = (order.index(r.problem), label(config, "problem", r.problem), label(config, "estimator", r.estimator), int(r.n))
        row, name = rows.setdefault(key, {}), curves.SHORT[r.estimand]
        row[name] = curves.entry(r.mean, r.se)
        row[f"{name}, % from own last"] = curves.entry(r.drift, r.drift_se, 1)
        row[f"{name}, % from truth"] = curves.entry(r.relative, r.relative_se, 0)
    keys = sorted(rows)
    columns = list(dict.fromkeys(c for key in keys for c in rows[key]))
    index = pd.MultiIndex.from_tuples([key[1:] for key in keys], names=["problem", "estimator", "n"])
    frame = pd.DataFrame([[rows[key].get(c, "–") for c in columns] for key in keys], index, columns, dtype=object)
    frame.columns.name = "kl and squared L2 (two columns): mean ± standard error over random orders of the images"
    return frame


def reproduced(records, config):
    """The one number that the figure states: no bias where the truth is the estimate itself."""
    found = measured(records)
    found = found[found["estimator"].eq(RISK) & found["truth"].isna()]
    rows = []
    for estimand, name in (("kl", "CE_KL"), ("l2_squared", "CE_2^2")):
        last = found[found["estimand"].eq(estimand) & found["n"].eq(10000)]
        if len(last):
            rows.append(("PreResNet56, n = 10000", f"{name}, relative bias", float(np.abs(last["drift"]).max()), 0.0, len(last)))
    return runs.answers(rows, records, config)
