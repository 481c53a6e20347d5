"""Figures of intervals and tests: coverage against width, and how often a test rejects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.common.wording import AXIS_NAMES, notion_name
from harness.configure.settings import Settings
from harness.evaluation import rates
from harness.evaluation.intervals import (
    LEAST_WIDTH,
    LEVEL,
    SETTING,
    Families,
    coverage_table,
    intervals,
    power_table,
)
from harness.evaluation.selection import estimators, figure_estimands, label
from harness.figures import panels
from harness.figures.style import COLOURS, MARKERS, WIDTH, nothing, pale, series_style
from harness.records.schema import has_number


def coverage_width(records: pd.DataFrame, families: Families, settings: Settings) -> Figure:
    """Draw coverage against width, a panel per notion, estimand (rows) and n (columns).

    Each method has a colour, a marker and its number in the legend. The large mark is its coverage
    over all samples with the Wilson 95 % interval, at the geometric mean over the problems of mean
    width / max(truth, floor). Small pale marks are the families. A good method stands above the
    band around the level, and as far left as possible. One-sided bounds are open marks; their
    width is the distance from the truth.

    Parameters
    ----------
    records, families
        As for `coverage_table`.
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
        "Coverage of the truth against mean width over max(truth, floor), the floor 0.1 / sqrt(n), "
        "of squared errors 0.1 / n. Large marks: all samples, with the Wilson 95 % interval; small "
        f"ones: families of problems. Dashed: the level {table['level'].iloc[0]:g} with three "
        "standard errors of a share. Open marks: one bound alone, by its distance from the truth. "
        "Cells without an interval are counted in the table, not here."
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
        # the families, if there are several
        per_problem = fine[fine["estimator"].eq(r.estimator)].groupby(["family", "problem"])
        means = per_problem[["relative", "covered"]].mean()
        means["relative"] = np.log(means["relative"].clip(lower=LEAST_WIDTH))
        by_family = means.groupby("family").mean()
        if len(by_family) > 1:
            small = {"color": pale(style["color"], 0.55), "markersize": 2.2, "markeredgewidth": 0.4}
            ax.plot(np.exp(by_family["relative"]), by_family["covered"], **style | small, zorder=2)
        # the method over all samples
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
        # its number; near full coverage many marks stand side by side, and three heights alternate
        place = (5.0, 2.0)
        if r.coverage > 0.985:
            place = (0.0, 4.0 + 5.0 * (high_marks % 3))
            high_marks += 1
        number = {"textcoords": "offset points", "fontsize": 5.5, "zorder": 5, "ha": "center"}
        star = "" if r.problems == table["problems"].max() else "*"
        ax.annotate(f"{i + 1}{star}", (r.width, r.coverage), place, **number)


def _stretch(coverage: Any) -> Any:
    """Scale on which 0.9, 0.95 and 1 stand apart."""
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


def power(records: pd.DataFrame, families: Families, settings: Settings) -> Figure:
    """Draw the shares of p-values of at most 0.05, a panel per notion (rows) and n (columns).

    There is a row per test. The open diamond is the share on calibrated problems, the size, which
    belongs on the dashed line. The large dot is the share on miscalibrated problems, the power.
    Both have Wilson 95 % intervals. Small marks are the power by family.

    Parameters
    ----------
    records, families
        As for `power_table`.
    settings : Settings
        Labels.
    """
    table = power_table(records, families)
    if not len(table):
        return nothing("no p-value")
    notions, sizes = list(dict.fromkeys(table["notion"])), sorted(table["n"].unique())
    methods = estimators(table, settings)
    names = [label(settings, "estimator", name) for name in methods]
    by_family = list(table.columns[table.columns.get_loc("without") + 1 :])
    height = 0.9 + (0.45 + 0.2 * len(methods)) * len(notions)
    figure, axes = panels.grid(len(notions), len(sizes), height, sharex=True, sharey=True)
    tolerance = "0.05, with three standard errors"
    shares = {  # column: height above the row, label, style
        "size": (-0.22, "calibrated: size",
                 {"marker": "D", "markerfacecolor": "white", "color": "0.25", "markersize": 3.5}),
        "power": (0.0, "miscalibrated: power", {"marker": "o", "color": "0.1", "markersize": 5}),
    }  # fmt: skip
    for notion, row_axes in zip(notions, axes):
        for n, ax in zip(sizes, row_axes):
            here = table[table["notion"].eq(notion) & table["n"].eq(n)]
            samples = here["size_samples"].median()
            reach = 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / samples) if samples else 0.0
            ax.axvspan(max(0.0, LEVEL - reach), LEVEL + reach, color="0.5", alpha=0.18, linewidth=0)
            panels.rule(ax, LEVEL, upright=True, linewidth=0.8, label=tolerance)
            for r in here.to_dict("records"):
                y = methods.index(r["estimator"])
                for j, family in enumerate(by_family):
                    text = f"family {family.removeprefix('power_')}"
                    style: Any = {"color": COLOURS[j % 8], "marker": MARKERS[(j + 1) % 8]}
                    style |= {"markersize": 3.2, "linestyle": "none", "alpha": 0.85}
                    ax.plot(r[family], y + 0.22, label=text, **style)
                for name, (shift, text, style) in shares.items():
                    if r[f"{name}_samples"]:
                        ends = [[r[name] - r[f"{name}_low"]], [r[f"{name}_high"] - r[name]]]
                        bars = {"xerr": np.clip(ends, 0.0, None), "elinewidth": 0.7}
                        bars |= {"linestyle": "none", "label": text}
                        ax.errorbar(r[name], y + shift, **bars, **style)
            ax.set_title(f"{notion_name(notion)}, $n$ = {n:,}")
            ax.set_xlim(-0.02, 1.02)
            panels.name_rows(ax, names)
    for ax in axes[-1]:
        ax.set_xlabel("share of p-values $\\leq$ 0.05")
    first = [shares["size"][1], tolerance, shares["power"][1]]
    panels.legend(figure, axes, columns=4, first=first)
    figure.set_label(
        "Share of p-values of at most 0.05: on calibrated problems (open diamonds; at most 0.05 "
        "but for its error if the test is valid) and on miscalibrated ones (dots; small marks: by "
        "family), with Wilson 95 % intervals. Cells without a p-value are counted in the table, "
        "not here."
    )
    return figure
