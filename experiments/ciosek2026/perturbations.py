"""Decrease of a score by a perturbation, against its width h."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.configure.settings import Settings
from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures import panels
from harness.problems.perturbations import parts_of_id

MOST_NAMED = 10  # series of a panel with a colour and a name each; more are grey lines


def decreases(
    records: pd.DataFrame, estimand: str, kinds: Sequence[str], otherwise: str
) -> pd.DataFrame:
    """Return the decrease of an estimand by the perturbation, on the same rows.

    Parameters
    ----------
    records : DataFrame
        Records of `harness.problems.Perturbations` and `PerturbedNetworks`, with unperturbed
        scores.
    estimand : str
        Estimand whose values are compared.
    kinds : sequence of str
        Regular expressions for the ids of unperturbed predictions, with the groups `series` and
        `panel` (without `panel`, the panel is `otherwise`). The first match counts. An id without a
        match is a separate panel and series.
    otherwise : str
        Panel of the kinds without a group `panel`.

    Returns
    -------
    DataFrame
        One row per panel, series, aware (True if trained with the perturbation) and h, ascending in
        h. Columns: mean, the decrease averaged over the members of a series; sd; members; se (over
        the members; for one member over the draws); raw, the mean without perturbation; keys.
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
    matches = [read.groupdict() for kind in kinds if (read := re.fullmatch(kind, base))]
    return {"panel": otherwise, **matches[0]} if matches else {"panel": base, "series": base}


def figure(
    rows: pd.DataFrame,
    settings: Settings,
    titles: Mapping[str, str],
    ylabel: str,
    limit: float,
    widths: Sequence[float],
    note: str,
) -> Figure:
    """Draw a panel per kind of predictions, with a line per series over h.

    Solid lines: trained with the perturbation. Dashed lines: perturbed afterwards. If a panel has
    more than MOST_NAMED series, they are thin grey lines without names.

    Parameters
    ----------
    rows : DataFrame
        From `decreases`.
    titles : mapping
        {panel: its title}, in order.
    limit : float
        The decrease below which the axis is linear, and grey.
    widths : sequence of float
        Widths with a dotted line. At the first one, an open mark with an arrow shows that a
        decrease below the limit is reported.
    note : str
        Text of the legend that says who reports it.
    """
    drawn = [name for name in titles if rows["panel"].eq(name).any()]
    if not drawn:
        return panels.nothing("there are no predictions to draw; the page says how to get them")
    figure, axes = panels.panels(
        len(drawn), 2, 2.55 - 0.6 / -(-len(drawn) // 2), None, sharex=True, sharey=True
    )
    # One panel per kind of predictions.
    for panel, ax in zip(drawn, axes):
        mine = rows[rows["panel"].eq(panel)]
        numbers = {series: i for i, series in enumerate(sorted(mine["series"].unique()))}
        for (series, aware), part in mine.groupby(["series", "aware"]):
            if len(numbers) > MOST_NAMED:
                text = f"{len(numbers)} sets of predictions" if numbers[series] == 0 else None
                ax.plot(part["h"], part["mean"], color="0.45", linewidth=0.6, alpha=0.8, label=text)
                continue
            has_name = aware or not mine["aware"].any()
            look = panels.look(
                numbers[series], aware, "-" if aware else (0, (3, 2)), markeredgewidth=0.7
            )
            panels.curve(
                ax,
                part,
                "h",
                label=label(settings, "problem", series) if has_name else None,
                **look,
            )
        ax.axhspan(-1.0, limit, color="0.5", alpha=0.12, linewidth=0)
        for width in widths:
            ax.axvline(width, color="0.4", linewidth=0.7, linestyle=":")
        arrow = {
            "arrowstyle": "->",
            "color": "0.35",
            "linewidth": 1.0,
            "shrinkA": 0.0,
            "shrinkB": 0.0,
        }
        ax.annotate("", (widths[0], 0.45 * limit), (widths[0], limit), arrowprops=arrow, zorder=5)
        mark = {
            "color": "0.35",
            "marker": "D",
            "markerfacecolor": "white",
            "markersize": 4.5,
            "linestyle": "none",
        }
        ax.plot(widths[0], limit, zorder=6, **mark)
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
    handles = [Line2D([], [], label=f"{note}, below {limit:g}", **mark)]
    for text, line, face in (
        ("trained with it", "-", "0.2"),
        ("perturbed afterwards", (0, (3, 2)), "white"),
    ):
        handles.append(
            Line2D(
                [], [], color="0.2", marker="o", linestyle=line, markerfacecolor=face, label=text
            )
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=3, handlelength=2.6)
    figure.supxlabel("width $h$ of the perturbation", fontsize=8)
    figure.supylabel(ylabel, fontsize=8)
    return figure
