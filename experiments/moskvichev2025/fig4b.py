"""Figure 4b: CKCE and JKCE of two networks on the same images, made darker and brighter.

Each problem is a file of predictions, of one network at one level of brightness:

    <family>/<network>[_seed<s>]_brightness<percent>

The modules imagenet_brightness and digits_networks in tools/stand_ins make these files. The paper's
networks and images are those of ImageNet. The digits stand in for them.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.evaluation.selection import label
from harness.figures import panels

from . import metrics

NAME = r"^[^/]+/(?P<network>.+?)(?:_seed(?P<seed>\d+))?_brightness(?P<percent>[+-]\d+)$"
COUNTED = "smaller than the others at"
SHOWN, BY = {"ckce": "CKCE", "skce": "JKCE"}, ("network", "percent")
STAND_INS = (
    "Fully connected networks on digits: they say nothing of the paper's ResNet and ViT on ImageNet"
)


def measured(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the mean over the seeds of each network at each level of brightness.

    Returns
    -------
    DataFrame
        Columns `title` (CKCE or JKCE), `network`, `percent` (change of brightness), `mean`, `se`
        and `reps` (the number of seeds). `se` is NaN for one seed.
    """
    fine = items.with_number(records, list(SHOWN), "canonical")
    parts = fine["problem"].str.extract(NAME)
    networks = [label(settings, "problem", name) for name in parts["network"]]
    frame = fine.assign(
        title=fine["estimand"].map(SHOWN), network=networks, percent=parts["percent"].astype(float)
    )
    frame = items.means(frame[parts["network"].notna()], ["title", "network", "percent"])
    order = [*SHOWN.values(), *settings.labels.problem.values(), *sorted(set(networks))]
    frame = frame.sort_values("percent", kind="stable")
    return frame.sort_values(
        ["title", "network"], key=lambda names: names.map(order.index), kind="stable"
    )


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw CKCE on the left and JKCE on the right against the change of brightness.

    Each panel has its own scale, which contains 0. If the networks are not the paper's, the legend
    says so.
    """
    lines = measured(records, settings)
    if not len(lines):
        return panels.nothing("there are no predictions to draw; the page says how to get them")
    figure, (axes,) = panels.grid(1, len(SHOWN), 2.6)
    for ax, title in zip(axes, SHOWN.values()):
        mine = lines[lines["title"].eq(title)]
        for i, network in enumerate(dict.fromkeys(lines["network"])):
            panels.curve(
                ax,
                mine[mine["network"].eq(network)],
                "percent",
                **panels.look(i, line="-", label=network),
            )
        ax.axvline(0.0, color="0.45", linewidth=0.8, linestyle=":", zorder=0)
        ax.set(xlabel="change of brightness (%)", ylabel=title)
        ax.set_ylim(min(0.0, 1.1 * mine["mean"].min()), None)
    stand_ins = {"title": STAND_INS, "title_fontsize": 7} if settings.reasons.get("data") else {}
    panels.legend(figure, axes[0], **stand_ins)
    return figure


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per estimator and network.

    The first columns are the values of the darkest, the unchanged and the brightest images. Then
    come the ratio of the largest to the smallest value over the levels, and the number of levels at
    which the network has the smaller value.
    """

    def entry(r: Any) -> str:
        """Return the mean of a row, with its standard error if there is one."""
        return f"{r.mean:.4g}" + (f" ± {r.se:.2g}" if not np.isnan(r.se) else "")

    lines, rows = measured(records, settings), {}
    for title, mine in lines.groupby("title", sort=False):
        for network, line in mine.groupby("network", sort=False):
            low, high, percent = line["mean"].min(), line["mean"].max(), line["percent"]
            selected = line[percent.isin([percent.min(), 0.0, percent.max()])]
            text_tables.entries(
                selected, ["{title}", "{network}"], "{percent:+g} %", text=entry, into=rows
            )
            ratio, smaller = (
                f"{high / low:.2f}" if low > 0 else "–",
                f"{metrics.times_smallest(mine, network, *BY)} of {len(line)}",
            )
            rows[title, network] |= {"largest / smallest": ratio, COUNTED: smaller}
    if rows and settings.reasons.get("data"):
        for r in items.printed(settings).itertuples():
            rows[r.column, "the paper's ViT, by its text"] = {COUNTED: f"{r.value:g} of 11"}
        rows = dict(sorted(rows.items(), key=lambda row: list(SHOWN.values()).index(row[0][0])))
    heading = "mean ± standard error over the seeds; the last column counts levels of the means"
    return text_tables.wide(
        rows, ["estimator", "network"], heading, none="none: there are no predictions"
    )


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return at how many levels of brightness the first network has the smaller mean.

    In the paper's own experiment the first network is the ViT, which the paper reports as better.
    """
    lines = measured(records, settings)
    printed = items.printed(settings)[["item", "row", "column"]]
    mine = [lines[lines["title"].eq(column)] for column in printed["column"]]
    several = lines["network"].nunique() > 1
    return printed.assign(
        value=[
            metrics.times_smallest(part, lines["network"].iloc[0], *BY)
            if several and len(part)
            else np.nan
            for part in mine
        ],
        error=0.0,
        reps=[part["reps"].max() if len(part) else 0 for part in mine],
        why=settings.reasons.get("data") or items.first_reason(records),
        keys=[
            tuple(k for keys in part["keys"] for k in keys) if "keys" in part else ()
            for part in mine
        ],
    )
