"""Table 5: calibration error of every class by itself, by three estimators, and the order in which each puts the classes.

CE_KL x 100 and CE_2^2 x 1000 by the kernel via the risk with bandwidth 0.02 (squared errors on two columns), CE_1 x 1000 by 15
bins. Rank 1 is the smallest error. The paper's point is that the three orders are alike.
"""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import curves, networks, runs
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

summary = curves.summary
KERNEL, BINS = "kde_popordanoska2024", "classwise_ece_popordanoska2024"
METRICS = {("CE_KL", "kl"): (KERNEL, 100), ("CE_2^2", "l2_squared"): (KERNEL, 1000), ("CE_1", "l1"): (BINS, 1000)}
AXIS = {"CE_KL": r"CE$_\mathrm{KL}$ $\times$ 100", "CE_2^2": r"CE$_2^2$ $\times$ 1000", "CE_1": r"CE$_1$ $\times$ 1000"}


def measured(records, config):
    """By network, metric and class: mean over the seeds, se, seeds, rank; metrics of another estimator than the published ones
    bear its label."""
    fine = curves.in_two_columns(records[records["status"].eq("ok")])
    fine = fine.join(networks.named(fine["problem"], config), on="problem")
    frames = []
    for (metric, estimand), (published, scale) in METRICS.items():
        for estimator in config["estimator"]:
            mine = fine[fine["estimand"].eq(estimand) & fine["estimator"].eq(estimator)]
            if estimator in (KERNEL, BINS) and estimator != published or not len(mine):
                continue
            name = metric if estimator == published else f"{metric}, {label(config, 'estimator', estimator)}"
            found = networks.over_seeds(mine.assign(value=scale * mine["value"]), ["network", "label_of_class"])
            frames.append(found.assign(metric=name, published=estimator == published))
    columns = ["network", "label_of_class", "mean", "se", "seeds", "metric", "published"]
    found = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
    return found.assign(rank=found.groupby(["network", "metric"])["mean"].rank())


def agreement(found):
    """Spearman's rank correlation of every metric with CE_KL, by network."""
    wide = found.pivot(index=["network", "label_of_class"], columns="metric", values="rank")
    return wide.groupby(level="network", sort=False).apply(lambda w: w.corrwith(w["CE_KL"]))


def render(records, config):
    """One column per network: the three errors of every class, with its rank above; the printed numbers as open marks."""
    found = measured(records, config)
    printed = _printed(config)
    if not len(found) and not len(printed):
        return runs.nothing()
    plt = pyplot()
    names = list(dict.fromkeys([*found["network"], *printed["network"]]))
    shape = (len(METRICS), len(names))
    figure, axes = plt.subplots(*shape, figsize=(WIDTH, 4.6), squeeze=False, sharex=True, sharey="row", layout="constrained")
    for row, (i, (metric, _)) in zip(axes, enumerate(METRICS)):
        for ax, network in zip(row, names):
            mine = found[found["network"].eq(network) & found["metric"].eq(metric)]
            theirs = printed[printed["network"].eq(network) & printed["column"].eq(metric)]
            ranks = (
                mine.set_index("label_of_class")["rank"]
                if len(mine)
                else theirs["value"].rank().set_axis(theirs["label_of_class"])
            )
            heights = mine["mean"] if len(mine) else theirs["value"]
            ax.errorbar(
                mine["label_of_class"], mine["mean"], yerr=mine["se"], linestyle="none", color=COLOURS[i], marker=MARKERS[i],
                markersize=4, capsize=1.5, label=f"{metric}",
            )  # fmt: skip
            ax.plot(
                theirs["label_of_class"], theirs["value"], MARKERS[i], color=COLOURS[i], markerfacecolor="white", markersize=4
            )
            for j, height in zip(ranks.index, heights):
                ax.annotate(
                    f"{ranks[j]:.0f}", (j, height), (0, 4), textcoords="offset points", ha="center", fontsize=6, color="0.35"
                )
            ax.margins(y=0.2)
            ax.set_ylim(bottom=0.0)
        row[0].set_ylabel(AXIS[metric])
    for ax, network in zip(axes[0], names):
        ax.set_title(network)
    for ax in axes[-1]:
        ax.set_xticks(range(10))
        ax.set_xlabel("class")
    return figure


def table(records, config):
    """Rows (network, metric): the value of every class with its rank, and how far the ranks agree with those of CE_KL
    (Spearman)."""
    found = measured(records, config)
    rows, alike = {}, agreement(found) if len(found) else None
    for r in found.itertuples():
        row = rows.setdefault((r.network, r.metric), {})
        row[f"class {r.label_of_class}"] = f"{curves.entry(r.mean, r.se, 2)} ({r.rank:.0f})"
        row["ranks as CE_KL"] = f"{alike.loc[r.network, r.metric]:.2f}"
    for network, part in _printed(config).groupby("network", sort=False):
        for metric, _ in METRICS:
            values = part[part["column"].eq(metric)].set_index("label_of_class")["value"]
            row = rows.setdefault((network, f"{metric}, paper"), {})
            row.update({f"class {j}": f"{value:.2f} ({values.rank()[j]:.0f})" for j, value in values.items()})
            kl = part[part["column"].eq("CE_KL")].set_index("label_of_class")["value"]
            row["ranks as CE_KL"] = f"{np.corrcoef(values.rank(), kl.rank())[0, 1]:.2f}"
    columns = sorted({c for row in rows.values() for c in row}, key=lambda c: (not c.startswith("class"), c))
    order = networks.in_order([network for network, _ in rows], config)
    keys = sorted(rows, key=lambda key: order.index(key[0]))
    index = pd.MultiIndex.from_tuples(keys, names=["network", "metric"])
    frame = pd.DataFrame([[rows[key].get(c, "–") for c in columns] for key in keys], index, columns, dtype=object)
    frame.columns.name = "error of each class (rank): CE_KL x 100, CE_2^2 x 1000, CE_1 x 1000"
    return frame


def _printed(config):
    """The printed numbers with network and class; none where the networks are others."""
    found = reproduction.reported("popordanoska2024", ["table5"])
    parts = found["row"].str.extract(r"^(.*), class (\d+)$")
    found = found.assign(network=parts[0], label_of_class=parts[1].astype(int))
    return found[:0] if config["reasons"].get("data") else found


def reproduced(records, config):
    """The published estimators' numbers, and their ranks."""
    found = measured(records, config)
    rows = []
    for r in found[found["published"]].itertuples():
        row = f"{r.network}, class {r.label_of_class}"
        rows += [(row, r.metric, r.mean, r.se, r.seeds), (row, f"{r.metric} rank", r.rank, 0.0, r.seeds)]
    return runs.answers(rows, records, config)
