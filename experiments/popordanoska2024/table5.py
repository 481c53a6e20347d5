"""Table 5: calibration error of every class by itself, by three estimators, and the order in which each puts the classes.

CE_KL x 100 and CE_2^2 x 1000 by the kernel via the risk with bandwidth 0.02 (squared errors on two columns), CE_1 x 1000 by 15
bins. Rank 1 is the smallest error. The paper's point is that the three orders are alike.
"""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import curves, networks, runs
from harness.report import items, panels

summary = curves.summary
KERNEL, BINS = "kde_popordanoska2024", "classwise_ece_popordanoska2024"
METRICS = {("CE_KL", "kl"): (KERNEL, 100), ("CE_2^2", "l2_squared"): (KERNEL, 1000), ("CE_1", "l1"): (BINS, 1000)}
AXIS = {"CE_KL": r"CE$_\mathrm{KL}$ $\times$ 100", "CE_2^2": r"CE$_2^2$ $\times$ 1000", "CE_1": r"CE$_1$ $\times$ 1000"}
PLACE = ["network", "label_of_class"]


def measured(records, config):
    """By network, metric and class: mean over the seeds, se, reps, rank; metrics of another estimator than the published ones
    bear its label."""
    fine = items.values(curves.in_two_columns(records), config)
    fine = fine.join(networks.named(fine["problem"], config), on="problem")
    frames = []
    for (metric, estimand), (published, scale) in METRICS.items():
        for estimator in config["estimator"]:
            mine = fine[fine["estimand"].eq(estimand) & fine["estimator"].eq(estimator)]
            if len(mine) and (estimator == published or estimator not in (KERNEL, BINS)):
                name = metric if estimator == published else f"{metric}, {mine['column'].iloc[0]}"
                found = items.means(mine.assign(value=scale * mine["value"]), PLACE)
                frames.append(found.assign(metric=name, published=estimator == published))
    found = (
        pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*PLACE, "mean", "se", "metric", "published"])
    )
    return found.assign(rank=found.groupby(["network", "metric"])["mean"].rank())


def printed(config):
    """The printed errors as in `measured`; none where the networks are others."""
    found = items.printed(config, "table5", alike=False)
    found = found[~found["column"].str.endswith("rank")]
    parts = found["row"].str.extract(r"^(.*), class (\d+)$")
    found = found.assign(network=parts[0], label_of_class=parts[1].astype(int), metric=found["column"], mean=found["value"])
    return found.assign(rank=found.groupby(["network", "metric"])["mean"].rank())


def agreement(found):
    """Spearman's rank correlation of every metric with CE_KL, by network."""
    wide = found.pivot(index=PLACE, columns="metric", values="rank")
    return wide.groupby(level="network", sort=False).apply(lambda w: w.corrwith(w["CE_KL"]))


def render(records, config):
    """One column per network: the three errors of every class, with its rank above; the printed numbers as open marks."""
    found, theirs = measured(records, config), printed(config)
    names = list(dict.fromkeys([*found["network"], *theirs["network"]]))
    if not names:
        return runs.nothing()
    figure, axes = panels.grid(len(METRICS), len(names), 4.6, sharex=True, sharey="row")
    for i, (row, (metric, _)) in enumerate(zip(axes, METRICS)):
        for ax, network in zip(row, names):
            ours, others = (f[f["network"].eq(network) & f["metric"].eq(metric)] for f in (found, theirs))
            look = panels.look(i, markersize=4)
            panels.curve(ax, ours, "label_of_class", **look)
            panels.curve(ax, others, "label_of_class", error=None, **look, markerfacecolor="white")
            for r in (ours if len(ours) else others).itertuples():
                text = {"textcoords": "offset points", "ha": "center", "fontsize": 6, "color": "0.35"}
                ax.annotate(f"{r.rank:.0f}", (r.label_of_class, r.mean), (0, 4), **text)
            ax.margins(y=0.2)
            ax.set_ylim(bottom=0.0)
        row[0].set_ylabel(AXIS[metric])
    for top, bottom, network in zip(axes[0], axes[-1], names):
        top.set_title(network)
        bottom.set(xticks=range(10), xlabel="class")
    return figure


def table(records, config):
    """Rows (network, metric): the value of every class with its rank, and how far the ranks agree with those of CE_KL
    (Spearman)."""
    rows = {}
    for found, end in ((measured(records, config), ""), (printed(config), ", paper")):
        alike = agreement(found) if len(found) else None
        for r in found.itertuples():
            row = rows.setdefault((r.network, f"{r.metric}{end}"), {})
            row[f"class {r.label_of_class}"] = f"{items.entry(r.mean, np.nan if end else r.se, 2)} ({r.rank:.0f})"
            row["ranks as CE_KL"] = f"{alike.loc[r.network, r.metric]:.2f}"
    columns = sorted({c for row in rows.values() for c in row}, key=lambda c: (not c.startswith("class"), c))
    order = networks.in_order([network for network, _ in rows], config)
    rows = {key: rows[key] for key in sorted(rows, key=lambda key: order.index(key[0]))}
    return items.wide(rows, ["network", "metric"], "error of each class (rank): CE_KL x 100, CE_2^2 x 1000, CE_1 x 1000", columns)


def reproduced(records, config):
    """The published estimators' numbers, and their ranks."""
    found = measured(records, config)
    found, row = found[found["published"].eq(True)], "{network}, class {label_of_class}"
    ours = items.together(items.numbers(found, row, "{metric}"), items.numbers(found, row, "{metric} rank", "rank", 0.0))
    return runs.answers(ours, records, config)
