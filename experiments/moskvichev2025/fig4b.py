"""Figure 4b: CKCE and JKCE of two networks on the same images, made darker and brighter. Problems are files named

<family>/<network>[_seed<s>]_brightness<percent>      (harness.sources.make.imagenet_brightness, digits_networks)
"""

import numpy as np

from harness.report import items, panels
from harness.report.shown import label

NAME = r"^[^/]+/(?P<network>.+?)(?:_seed(?P<seed>\d+))?_brightness(?P<percent>[+-]\d+)$"
SHOWN = {"ckce": "CKCE", "skce": "JKCE"}


def measured(records, config):
    """Mean over the seeds, with its standard error (NaN for one), by estimand (title), network (label) and percent, of canonical
    ckce and skce."""
    fine = items.with_number(records, list(SHOWN), "canonical")
    named = fine["problem"].str.extract(NAME)
    networks = [label(config, "problem", name) for name in named["network"]]
    found = fine.assign(title=fine["estimand"].map(SHOWN), network=networks, percent=named["percent"].astype(float))
    return items.means(found[named["network"].notna()], ["title", "network", "percent"]).sort_values("percent", kind="stable")


def networks(lines, config):
    """The networks that have numbers, in the order of the labels."""
    have = set(lines["network"])
    order = [text for text in config["labels"]["problem"].values() if text in have]
    return order + sorted(have - set(order))


def render(records, config):
    """Left CKCE, right JKCE, each on its own scale from 0."""
    lines = measured(records, config)
    if not len(lines):
        return panels.nothing("there are no predictions to draw; the page says how to get them")
    figure, (axes,) = panels.grid(1, len(SHOWN), 2.6)
    for ax, title in zip(axes, SHOWN.values()):
        mine = lines[lines["title"].eq(title)]
        for i, network in enumerate(networks(lines, config)):
            panels.curve(ax, mine[mine["network"].eq(network)], "percent", **panels.look(i, line="-", label=network))
        ax.axvline(0.0, color="0.45", linewidth=0.8, linestyle=":", zorder=0)
        ax.set(title=title, xlabel="brightness (%)")
        ax.set_ylim(min(0.0, 1.1 * mine["mean"].min()), None)
    panels.legend(figure, axes[0])
    return figure


def table(records, config):
    """Rows (estimator, network): the value at the darkest, unchanged and brightest images and the largest over the smallest; and,
    of the first two networks, at how many levels the first has the smaller one."""
    lines, rows = measured(records, config), {}
    for title in SHOWN.values():
        mine = lines[lines["title"].eq(title)]
        for network in networks(mine, config):
            line = mine[mine["network"].eq(network)].set_index("percent")
            low, high = line["mean"].min(), line["mean"].max()
            rows[title, network] = {
                **{f"{p:+g} %": _entry(line, p) for p in (line.index.min(), 0.0, line.index.max())},
                "largest / smallest": f"{high / low:.2f}" if low > 0 else "–",
                "smaller than the others at": f"{smaller(mine, network)} of {len(line)}",
            }
    heading = "mean ± standard error over the seeds; the last column counts levels of the means"
    return items.wide(rows, ["estimator", "network"], heading, none="none: there are no predictions")


def _entry(line, percent):
    if percent not in line.index:
        return "–"
    mean, se = line.loc[percent, ["mean", "se"]]
    return f"{mean:.4g}" + (f" ± {se:.2g}" if se == se else "")


def smaller(lines, network):
    """The number of levels at which the network's mean is smaller than every other's."""
    wide = lines.pivot(index="percent", columns="network", values="mean").dropna()
    return int((wide[network] < wide.drop(columns=network).min(axis=1)).sum()) if wide.shape[1] > 1 else 0


def reproduced(records, config):
    """The paper draws curves and says at how many levels which network has the smaller value; ours of the two networks, the first
    label being the one that it finds better."""
    lines = measured(records, config)
    names = networks(lines, config)
    asked = items.printed(config)[["item", "row", "column"]]
    mine = [lines[lines["title"].eq(column)] for column in asked["column"]]
    return asked.assign(
        value=[smaller(part, names[0]) if len(names) > 1 and len(part) else np.nan for part in mine],
        error=0.0,
        reps=[int(part["reps"].max()) if len(part) else 0 for part in mine],
        why=config["reasons"].get("data") or items.first_reason(records),
        keys=[tuple(k for keys in part["keys"] for k in keys) if "keys" in part else () for part in mine],
    )
