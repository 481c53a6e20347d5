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
    ckce and skce, the networks in the order of the labels; `smaller`: whether it is below those of all other networks."""
    fine = items.with_number(records, list(SHOWN), "canonical")
    named = fine["problem"].str.extract(NAME)
    networks = [label(config, "problem", name) for name in named["network"]]
    found = fine.assign(title=fine["estimand"].map(SHOWN), network=networks, percent=named["percent"].astype(float))
    found = items.means(found[named["network"].notna()], ["title", "network", "percent"]).sort_values("percent", kind="stable")
    level = found.groupby(["title", "percent"])["mean"]
    alone = found.groupby("title")["network"].transform("nunique").eq(1)
    whole = level.transform("size").eq(found["network"].nunique()) & ~alone
    least = found["mean"].eq(level.transform("min")) & found.groupby(["title", "percent", "mean"])["mean"].transform("size").eq(1)
    order = [*config["labels"]["problem"].values(), *sorted(set(networks))]
    return found.assign(smaller=whole & least).sort_values("network", key=lambda of: of.map(order.index), kind="stable")


def render(records, config):
    """Left CKCE, right JKCE, each on its own scale from 0."""
    lines = measured(records, config)
    if not len(lines):
        return panels.nothing("there are no predictions to draw; the page says how to get them")
    figure, (axes,) = panels.grid(1, len(SHOWN), 2.6)
    for ax, title in zip(axes, SHOWN.values()):
        mine = lines[lines["title"].eq(title)]
        for i, network in enumerate(dict.fromkeys(lines["network"])):
            panels.curve(ax, mine[mine["network"].eq(network)], "percent", **panels.look(i, line="-", label=network))
        ax.axvline(0.0, color="0.45", linewidth=0.8, linestyle=":", zorder=0)
        ax.set(title=title, xlabel="brightness (%)")
        ax.set_ylim(min(0.0, 1.1 * mine["mean"].min()), None)
    panels.legend(figure, axes[0])
    return figure


def table(records, config):
    """Rows (estimator, network): the value at the darkest, unchanged and brightest images and the largest over the smallest; and
    at how many levels the network has the smallest value."""
    lines, rows = measured(records, config), {}
    for (title, network), line in lines.groupby(["title", "network"], sort=False):
        low, high, percent = line["mean"].min(), line["mean"].max(), line["percent"]
        shown = line[percent.isin([percent.min(), 0.0, percent.max()])]
        items.entries(shown, ["{title}", "{network}"], "{percent:+g} %", text=_entry, into=rows)
        ratio = f"{high / low:.2f}" if low > 0 else "–"
        smaller = f"{line['smaller'].sum()} of {len(line)}"
        rows[title, network] |= {"largest / smallest": ratio, "smaller than the others at": smaller}
    rows = {place: rows[place] for title in SHOWN.values() for place in rows if place[0] == title}
    heading = "mean ± standard error over the seeds; the last column counts levels of the means"
    return items.wide(rows, ["estimator", "network"], heading, none="none: there are no predictions")


def _entry(r):
    return f"{r.mean:.4g}" + (f" ± {r.se:.2g}" if r.se == r.se else "")


def reproduced(records, config):
    """The paper draws curves and says at how many levels which network has the smaller value; ours of the two networks, the first
    label being the one that it finds better."""
    lines = measured(records, config)
    asked = items.printed(config)[["item", "row", "column"]]
    mine = [lines[lines["title"].eq(column)] for column in asked["column"]]
    first = [part["smaller"][part["network"].eq(lines["network"].iloc[0])] if len(part) else part["smaller"] for part in mine]
    return asked.assign(
        value=[float(of.sum()) if lines["network"].nunique() > 1 and len(of) else np.nan for of in first],
        error=0.0,
        reps=[int(part["reps"].max()) if len(part) else 0 for part in mine],
        why=config["reasons"].get("data") or items.first_reason(records),
        keys=[tuple(k for keys in part["keys"] for k in keys) if "keys" in part else () for part in mine],
    )
