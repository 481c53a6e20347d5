"""Decrease of an estimand, such as the AUROC, by a perturbation of the scores of width h."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.configure.settings import Settings
from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures import panels

from .families import parts_of_id

MOST_NAMED = 10  # series of a panel with a colour and a name each; more are grey lines


def decreases(
    records: pd.DataFrame, estimand: str, kinds: Sequence[str], otherwise: str
) -> pd.DataFrame:
    """Return how much the perturbation lowers an estimand, on the same rows of data.

    A series is a data set or a network. Its members are classes, tables or seeds, and the decrease
    is averaged over them.

    Parameters
    ----------
    records : DataFrame
        Records of `families.Perturbations` and `PerturbedNetworks`. Scores without
        perturbation must be among them.
    estimand : str
        The estimand, such as "auroc".
    kinds : sequence of str
        Regular expressions for the ids of predictions without perturbation. The group `series`
        names the series, and the group `panel` the panel of the figure. The first expression that
        matches counts. An id that no expression matches is a panel and a series of its own.
    otherwise : str
        The panel, if the matching expression has no group `panel`.

    Returns
    -------
    DataFrame
        One row per panel, series, `aware` and width `h`, with ascending h. `aware` is True for
        models that were trained with the perturbation. Further columns:

        mean      decrease of the estimand, averaged over the members
        sd, se    standard deviation and standard error over the members; with one member, `se` is
                  that over the draws of the perturbation
        members   number of members
        raw       mean of the estimand without perturbation
        keys      keys of the cells
    """
    fine = items.with_number(records, estimand)
    parts = pd.DataFrame(map(parts_of_id, fine["problem"]), fine.index, ["base", "aware", "h"])
    fine = fine.join(parts.astype({"h": float, "aware": bool})).astype({"value": float})
    raw = items.means(fine[fine["h"].isna()], ["base"]).set_index("base").add_prefix("raw_")
    rows = items.means(fine[fine["h"].notna()], ["base", "aware", "h"]).join(
        raw, on="base", how="inner"
    )
    if "keys" in rows:
        rows["keys"] = rows["keys"] + rows["raw_keys"]
    places = [_place(base, kinds, otherwise) for base in rows["base"]]
    rows = rows.join(pd.DataFrame(places, rows.index, ["panel", "series"]))
    rows = rows.assign(decrease=rows["raw_mean"] - rows["mean"])
    by = ["panel", "series", "aware", "h"]
    table = items.means(rows, by, "decrease").rename(columns={"reps": "members"})
    rest = rows.groupby(by, sort=False)[["raw_mean", "se"]].mean().reset_index(drop=True)
    table = table.assign(
        raw=rest["raw_mean"], se=np.where(table["members"] > 1, table["se"], rest["se"])
    )
    return table.sort_values("h", kind="stable")


def _place(base: str, kinds: Sequence[str], otherwise: str) -> dict[str, str]:
    """Return the panel and the series of an id without perturbation, as `decreases` says."""
    matches = [read.groupdict() for kind in kinds if (read := re.fullmatch(kind, base))]
    return {"panel": otherwise, **matches[0]} if matches else {"panel": base, "series": base}


def figure(
    rows: pd.DataFrame,
    settings: Settings,
    titles: Mapping[str, str],
    ylabel: str,
    limit: float,
    reported: Mapping[float, str],
) -> Figure:
    """Draw the decrease against h: one panel for what the paper reports, one per kind of data.

    Solid lines belong to models that were trained with the perturbation, dashed lines to scores
    that were perturbed afterwards. A panel of more than MOST_NAMED series draws thin grey lines
    without names.

    Parameters
    ----------
    rows : DataFrame
        From `decreases`.
    settings : Settings
    titles : mapping
        {panel: its title}, in their order.
    ylabel : str
        Label of the y axis.
    limit : float
        The y axis is linear below this decrease and logarithmic above it.
    reported : mapping
        {width h: what the paper says at that width}. It says of the first width that the decrease
        is below the limit; an arrow shows that in the paper's panel.
    """
    drawn = [name for name in titles if rows["panel"].eq(name).any()]
    if not drawn:
        return panels.nothing("there are no predictions to draw; the page says how to get them")
    height = 2.55 - 0.6 / -(-(len(drawn) + 1) // 3)
    figure, axes = panels.panels(len(drawn) + 1, 3, height, None, sharex=True, sharey=True)
    for ax in axes:
        ax.axhspan(-1.0, limit, color="0.5", alpha=0.12, linewidth=0)
        for width in reported:
            ax.axvline(width, color="0.4", linewidth=0.7, linestyle=":")
    _reported_panel(axes[0], reported, limit)
    for panel, ax in zip(drawn, axes[1:]):
        _series(ax, rows[rows["panel"].eq(panel)], settings)
        ax.set_title(titles[panel])
        ax.legend(loc="upper left", fontsize=6, handlelength=2.4, labelspacing=0.3)
    # Shared axes: log2 of h, and a decrease that is linear below the limit.
    all_widths = sorted(rows["h"].unique())
    bottom = 1.5 * min(0.0, (rows["mean"] - rows["se"].fillna(0.0)).min()) - 1e-4
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks(all_widths, [f"$2^{{{np.log2(h):g}}}$" for h in all_widths])
    axes[0].set_yscale("symlog", linthresh=limit, linscale=0.7)
    axes[0].set(
        ylim=(bottom, 0.9),
        yticks=[t for t in (-0.01, -0.001, 0.0, 0.001, 0.01, 0.1) if t >= bottom],
    )
    # Legend of the kinds of lines; the series have legends in their panels.
    handles: list[Any] = [
        Line2D([], [], color="0.2", marker="o", linestyle=line, markerfacecolor=face, label=text)
        for text, line, face in (
            ("trained with the perturbation", "-", "0.2"),
            ("perturbed afterwards", (0, (3, 2)), "white"),
        )
    ]
    scale = f"linear scale below {limit:g}, else logarithmic"
    handles.append(Patch(facecolor="0.5", alpha=0.12, label=scale))
    figure.legend(
        handles=handles, loc="outside upper center", ncols=3, handlelength=2.6, fontsize=7
    )
    figure.supxlabel("width $h$ of the perturbation", fontsize=8)
    figure.supylabel(ylabel, fontsize=8)
    return figure


def _reported_panel(ax: Axes, reported: Mapping[float, str], limit: float) -> None:
    """Draw what the paper says of its own networks, with an arrow at the first width."""
    first, *_ = reported
    arrow = {"arrowstyle": "->", "color": "0.35", "linewidth": 1.0, "shrinkA": 0.0, "shrinkB": 0.0}
    ax.annotate("", (first, 0.45 * limit), (first, limit), arrowprops=arrow, zorder=5)
    mark = {"color": "0.35", "marker": "D", "markerfacecolor": "white", "markersize": 4.5}
    ax.plot(first, limit, linestyle="none", zorder=6, **mark)
    lines = [f"$h = 2^{{{np.log2(h):g}}}$: {text}" for h, text in reported.items()]
    where = {"transform": ax.transAxes, "va": "top", "fontsize": 6.5, "color": "0.2"}
    ax.text(0.04, 0.95, "\n".join(lines), **where)
    ax.set_title("the paper's networks")


def _series(ax: Axes, rows: pd.DataFrame, settings: Settings) -> None:
    """Draw one line per series and kind of training. `rows` are those of one panel."""
    numbers = {series: i for i, series in enumerate(sorted(rows["series"].unique()))}
    for (series, aware), part in rows.groupby(["series", "aware"]):
        if len(numbers) > MOST_NAMED:
            text = f"{len(numbers)} sets of predictions" if numbers[series] == 0 else None
            ax.plot(part["h"], part["mean"], color="0.45", linewidth=0.6, alpha=0.8, label=text)
            continue
        has_name = aware or not rows["aware"].any()
        dash = "-" if aware else (0, (3, 2))
        look = panels.look(numbers[series], aware, dash, markeredgewidth=0.7)
        text = label(settings, "problem", series) if has_name else None
        panels.curve(ax, part, "h", label=text, **look)
