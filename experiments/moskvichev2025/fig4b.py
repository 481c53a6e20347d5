"""Figure 4b: CKCE and JKCE of two networks on the same images, made darker and brighter. Problems are files named

<family>/<network>[_seed<s>]_brightness<percent>      (harness.sources.make.imagenet_brightness, digits_networks)
"""

import re

import numpy as np
import pandas as pd

from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

NAME = re.compile(r"[^/]+/(?P<network>.+?)(?:_seed(?P<seed>\d+))?_brightness(?P<percent>[+-]\d+)")
SHOWN = {"ckce": "CKCE", "skce": "JKCE"}


def measured(records, config):
    """The numbers of canonical ckce and skce beside network (its label), seed (0 where there is none) and percent."""
    fine = records[records["status"].eq("ok") & records["estimand"].isin(list(SHOWN)) & records["notion"].eq("canonical")]
    named = fine["problem"].str.extract(f"^{NAME.pattern}$")
    fine = fine.assign(
        network=named["network"], seed=named["seed"].fillna("0").astype(int), percent=named["percent"].astype(float)
    )
    fine = fine[fine["network"].notna()]
    return fine.assign(network=[label(config, "problem", name) for name in fine["network"]])


def curves(found):
    """Mean over the seeds, with its standard error (NaN for one)."""
    table = found.groupby(["estimand", "network", "percent"], sort=True)["value"].agg(mean="mean", sd="std", seeds="size")
    return table.assign(se=table["sd"] / np.sqrt(table["seeds"])).reset_index()


def networks(found, config):
    """The networks that have numbers, in the order of the labels."""
    have = list(dict.fromkeys(found["network"]))
    order = [text for text in config["labels"]["problem"].values() if text in have]
    return order + sorted(name for name in have if name not in order)


def render(records, config):
    """Left CKCE, right JKCE, each on its own scale from 0."""
    plt = pyplot()
    found = measured(records, config)
    if not len(found):
        figure, ax = plt.subplots(figsize=(WIDTH, 1.2), layout="constrained")
        ax.set_axis_off()
        ax.text(0.5, 0.5, "there are no predictions to draw; the page says how to get them", ha="center", va="center")
        return figure
    lines = curves(found)
    figure, axes = plt.subplots(1, len(SHOWN), figsize=(WIDTH, 2.6), layout="constrained")
    for ax, (estimand, title) in zip(axes, SHOWN.items()):
        for i, network in enumerate(networks(found, config)):
            line = lines[lines["estimand"].eq(estimand) & lines["network"].eq(network)]
            ax.errorbar(
                line["percent"], line["mean"], yerr=line["se"], label=network, color=COLOURS[i], marker=MARKERS[i],
                elinewidth=0.7, capsize=1.5,
            )  # fmt: skip
        ax.axvline(0.0, color="0.45", linewidth=0.8, linestyle=":", zorder=0)
        ax.set(title=title, xlabel="brightness (%)")
        mine = lines[lines["estimand"].eq(estimand)]
        ax.set_ylim(min(0.0, 1.1 * mine["mean"].min()), None)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def table(records, config):
    """Rows (estimator, network): the value at the darkest, unchanged and brightest images and the largest over the smallest; and,
    of the first two networks, at how many levels the first has the smaller one."""
    found = measured(records, config)
    heading = "mean ± standard error over the seeds; the last column counts levels of the means"
    rows = {}
    for estimand, title in SHOWN.items():
        mine = curves(found[found["estimand"].eq(estimand)])
        for network in networks(found, config):
            line = mine[mine["network"].eq(network)].set_index("percent")
            if len(line):
                rows[title, network] = {
                    **{f"{p:+g} %": _entry(line, p) for p in (line.index.min(), 0.0, line.index.max())},
                    "largest / smallest": f"{line['mean'].max() / line['mean'].min():.2f}" if line["mean"].min() > 0 else "–",
                    "smaller than the others at": f"{smaller(mine, network)} of {len(line)}",
                }
    rows = rows or {("–", "–"): {"numbers": "none: there are no predictions"}}
    frame = pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["estimator", "network"]), dtype=object)
    frame.columns.name = heading
    return frame


def smaller(lines, network):
    """The number of levels at which the network's mean is smaller than every other's."""
    wide = lines.pivot(index="percent", columns="network", values="mean").dropna()
    return int((wide[network] < wide.drop(columns=network).min(axis=1)).sum()) if wide.shape[1] > 1 else 0


def reproduced(records, config):
    """The paper draws curves and says at how many levels which network has the smaller value; ours of the two networks, the first
    label being the one that it finds better."""
    found = measured(records, config)
    names = networks(found, config)
    lost = records[~records["status"].eq("ok")]
    why = config["reasons"].get("data") or (reproduction.why_without(lost.iloc[0]) if len(lost) else None)
    rows = []
    for item in config["compare"]:
        for asked in reproduction.reported("moskvichev2025", [item]).itertuples():
            estimand = {title: name for name, title in SHOWN.items()}.get(asked.column)
            mine = curves(found[found["estimand"].eq(estimand)])
            value = np.nan
            if len(names) > 1 and len(mine):
                value = smaller(mine, names[0])
            rows.append((item, asked.row, asked.column, value, 0.0, int(mine["seeds"].max()) if len(mine) else 0, why))
    return pd.DataFrame(rows, columns=["item", "row", "column", "value", "error", "reps", "why"])


def _entry(line, percent):
    if percent not in line.index:
        return "–"
    mean, se = line.loc[percent, ["mean", "se"]]
    return f"{mean:.4g}" + (f" ± {se:.2g}" if se == se else "")
