"""Figure of a ranking: how often each estimator puts models into the right order."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from harness.common.names import notion_name
from harness.configure.settings import Settings, as_list
from harness.evaluation.rankings import POLICY, score_settings, select_estimand
from harness.evaluation.selection import label
from harness.figures.marks import legend, sample_ticks
from harness.figures.options import figure_size
from harness.figures.panels import row_note
from harness.figures.style import STYLE, grid_shape, nothing, series_style, subplots

SHARE = "share of trials in the right order"


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw `shares` for the estimand of the figure, from records."""
    return shares(select_estimand(score_settings(records, settings), settings), settings)


def shares(table: pd.DataFrame, settings: Settings, per_row: int | None = None) -> Figure:
    """Draw the share of trials in the right order, with one panel per order and notion.

    Bars are Wilson intervals. The x axis is n, or the share if there is only one n.

    Parameters
    ----------
    table : DataFrame
        The result of `rankings.score`, with one estimand per estimator.
    settings : Settings
        Labels, estimators and size of the figure.
    per_row : int, optional
        Number of panels in a row. Default: `figure.panels_per_row`.
    """
    if not len(table):
        return nothing()
    notions = list(dict.fromkeys(table["notion"]))
    shown = [(order, notion) for notion in notions for order in dict.fromkeys(table["order"])]
    chosen = as_list(settings.figure.estimators) or list(settings.estimator)
    series = [e for e in chosen if e in set(table["estimator"])]
    names = [label(settings, "estimator", e) for e in series]
    sizes = sorted(table["n"].unique())
    by_n = len(sizes) > 1
    rows, columns = grid_shape(len(shown), per_row or settings.figure.panels_per_row)
    height = (1.75 if by_n else 0.5 + 0.22 * len(series)) + 0.15 * (len(notions) > 1)
    size = figure_size(settings, 0.5 + height * rows)
    figure, axes = subplots(rows, columns, 0, figsize=size, sharex=True, sharey=True)
    for i, ((order, notion), ax) in enumerate(zip(shown, axes.flat)):
        part = table[table["order"].eq(order) & table["notion"].eq(notion)]
        for j, estimator in enumerate(series):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            y = len(series) - 1 - j
            style: dict[str, Any] = {
                **series_style(j),
                "elinewidth": 0.7,
                "capsize": 1.5,
                "zorder": 3,
            }
            bars = [line["share"] - line["low"], line["high"] - line["share"]]
            if by_n and len(line):
                # Shift the marks, as intervals of equal shares would hide each other.
                x = line["n"] * 1.03 ** (j - (len(series) - 1) / 2)
                ax.errorbar(x, line["share"], yerr=bars, label=names[j], **style)
            elif len(line):
                ax.errorbar(line["share"], [y], xerr=bars, **{**style, "linestyle": "none"})
            elif not by_n:
                row_note(ax, 0.5, y, "no estimate", ha="center")
        ax.set_title(order + (f"\n{notion_name(notion)}" if len(notions) > 1 else ""))
        if i + columns >= len(shown):
            ax.set_xlabel("number of samples $n$" if by_n else SHARE)
            ax.tick_params(labelbottom=True)
    for ax in axes.flat[len(shown) :]:
        ax.set_visible(False)
    first = axes[0, 0]
    if by_n:
        first.set(xscale="log", ylim=(-0.03, 1.03))
        sample_ticks(first, sizes)
        figure.supylabel(SHARE, fontsize=STYLE["axes.labelsize"])
        legend(figure, axes.flat[: len(shown)], names, settings)
    else:
        first.set_yticks(range(len(series)), names[::-1])
        first.set(xlim=(-0.03, 1.03), ylim=(-0.6, len(series) - 0.4))
    figure.set_label(POLICY)
    return figure
