"""Figure of interval methods: coverage of the truth against width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.common.names import AXIS_NAMES, notion_name
from harness.configure.settings import Settings
from harness.evaluation.intervals import (
    LEAST_WIDTH,
    SETTING,
    Families,
    coverage_table,
    intervals,
)
from harness.evaluation.selection import estimators, figure_estimands, label
from harness.figures import panels
from harness.figures.style import WIDTH, nothing, pale, series_style
from harness.math import rates
from harness.records.schema import has_number


def coverage_width(records: pd.DataFrame, families: Families, settings: Settings) -> Figure:
    """Draw coverage against width, with one panel per notion, estimand (rows) and n (columns).

    Each method has a colour, a marker and a number in the legend. The large mark is its coverage
    over all samples, with the 95 % Wilson interval. Its x coordinate is the geometric mean over
    the problems of mean width / max(truth, floor), with `floor` as in `arena.floors`. Small pale
    marks are families of problems. A good method stands above the band around the level, and as
    far left as possible. One-sided bounds are open marks, and their width is the distance from the
    truth.

    Parameters
    ----------
    records, families
        As for `intervals.coverage_table`.
    settings : Settings
        Labels, and the estimands of the figure.
    """
    shown = records["estimand"].isin(figure_estimands(records, settings)) | ~has_number(records)
    records = records[shown]
    fine = intervals(records, families)
    if not len(fine):
        return nothing("no estimate with an interval and a known truth")
    table = coverage_table(records, families)
    rows = list(table[["notion", "estimand"]].drop_duplicates().itertuples(index=False, name=None))
    sizes, methods = sorted(table["n"].unique()), estimators(table, settings)
    height = max(0.5 + 2.25 * len(rows), 0.6 + 0.145 * len(methods))
    size = {"figsize": (WIDTH + 1.3, height), "sharex": "row", "sharey": True}
    figure, axes = panels.grid(len(rows), len(sizes), height, **size)
    for (notion, estimand), row_axes in zip(rows, axes):
        row_axes[0].set_ylabel("coverage of the truth")
        for n, ax in zip(sizes, row_axes):
            here, fine_here = (
                frame[(frame[["notion", "estimand", "n"]] == [notion, estimand, n]).all(axis=1)]
                for frame in (table, fine)
            )
            _coverage_panel(ax, here, fine_here, methods)
            ax.set_title(f"{notion_name(notion)}, $n$ = {n:,}")
            ax.set_xlabel(f"relative width ({AXIS_NAMES.get(estimand, estimand)})")
    _method_legend(figure, table, methods, settings)
    figure.set_label(
        "Coverage of the truth against relative width, which is mean width / max(truth, floor). "
        "The floor is 0.1 / sqrt(n), and 0.1 / n for squared errors. Large marks: all samples, "
        "with the 95 % Wilson interval. Small marks: families of problems. Dashed line: the level "
        f"{table['level'].iloc[0]:g}, with a band of three standard errors. Open marks: one-sided "
        "bounds, whose width is the distance from the truth. Cells without an interval are not "
        "drawn; the table has their number."
    )
    return figure


def _coverage_panel(ax: Any, table: pd.DataFrame, fine: pd.DataFrame, methods: list[str]) -> None:
    ax.set_yscale("function", functions=(_stretch, _unstretch))
    ax.set(xscale="log", ylim=(-0.05, 1.0185))
    ax.set_yticks([0.0, 0.5, 0.8, 0.9, 0.95, 1.0], ["0", "0.5", "0.8", "0.9", "0.95", "1"])
    if not len(table):
        ax.text(0.5, 0.5, "no interval", transform=ax.transAxes, ha="center", color="0.45")
        return
    level, samples = table["level"].iloc[0], table["samples"].median()
    low = rates.least_coverage(level, samples)
    ax.axhspan(low, min(1.0, 2 * level - low), color="0.5", alpha=0.18, linewidth=0)
    panels.rule(ax, level, linewidth=0.8)
    high_marks = 0
    for r in table.sort_values("width").itertuples():
        i = methods.index(r.estimator)
        style = _method_style(i, r.sides == "both")
        # Draw the families, if there are several.
        per_problem = fine[fine["estimator"].eq(r.estimator)].groupby(["family", "problem"])
        means = per_problem[["relative", "covered"]].mean()
        means["relative"] = np.log(means["relative"].clip(lower=LEAST_WIDTH))
        by_family = means.groupby("family").mean()
        if len(by_family) > 1:
            small = {"color": pale(style["color"], 0.55), "markersize": 2.2, "markeredgewidth": 0.4}
            ax.plot(np.exp(by_family["relative"]), by_family["covered"], **style | small, zorder=2)
        # Draw the method over all samples.
        ends = [[r.coverage - r.coverage_low], [r.coverage_high - r.coverage]]
        ax.errorbar(
            r.width,
            r.coverage,
            np.maximum(ends, 0.0),
            **style,
            markersize=5.5,
            elinewidth=0.7,
            zorder=4,
            clip_on=False,
        )
        # Write the number of the method. Near full coverage many marks are close to each other, so
        # that the numbers alternate between three heights.
        place = (5.0, 2.0)
        if r.coverage > 0.985:
            place = (0.0, 4.0 + 5.0 * (high_marks % 3))
            high_marks += 1
        number = {"textcoords": "offset points", "fontsize": 5.5, "zorder": 5, "ha": "center"}
        star = "" if r.problems == table["problems"].max() else "*"
        ax.annotate(f"{i + 1}{star}", (r.width, r.coverage), place, **number)


def _stretch(coverage: Any) -> Any:
    """Transform coverage for the y axis, so that 0.9, 0.95 and 1 are well separated."""
    return -np.log(np.maximum(1.03 - np.asarray(coverage, float), 1e-3))


def _unstretch(height: Any) -> Any:
    return 1.03 - np.exp(-np.asarray(height, float))


def _method_style(i: int, two_sided: bool) -> dict[str, str]:
    face = {} if two_sided else {"markerfacecolor": "white"}
    return {**series_style(i), "linestyle": "none", **face}


def _method_legend(
    figure: Figure, table: pd.DataFrame, methods: list[str], settings: Settings
) -> None:
    both = set(table.loc[table["sides"].eq("both"), "estimator"])
    handles = []
    for i, name in enumerate(methods):
        text = f"{i + 1}  {label(settings, 'estimator', name)}"
        style: Any = _method_style(i, name in both)
        handles.append(Line2D([], [], markersize=5, label=text, **style))
    small: Any = {"color": "0.6", "linestyle": "none", "marker": "o", "markersize": 2.2}
    handles.append(Line2D([], [], label="small: a family", **small))
    most = table.groupby(SETTING)["problems"].transform("max")
    if (table["problems"] < most).any():
        handles.append(Line2D([], [], linestyle="none", label="* not on all problems"))
    figure.legend(
        handles=handles,
        handlelength=1.0,
        labelspacing=0.35,
        loc="outside right upper",
        fontsize=6.5,
    )
