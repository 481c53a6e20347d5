"""The figures of intervals and tests: coverage against width, and how often a test rejects."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from harness.common.wording import AXIS_NAMES
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
from harness.evaluation.selection import figure_estimands, label
from harness.figures import panels
from harness.figures.style import COLOURS, MARKERS, WIDTH, nothing, pale, series_style
from harness.records.schema import has_number


def coverage_width(records: pd.DataFrame, families: Families, settings: Settings):
    """Coverage against width, a panel per notion, estimand (rows) and n (columns).

    A method is one colour and marker with its number in the legend: the large mark is its coverage over all samples with the
    Wilson 95 % interval, at the geometric mean over the problems of mean width / max(truth, floor); the small, pale ones are the
    families. A method is right above the band around the level, and better the further left it stands. Bounds of one side are
    open marks; their width is the distance from the truth.

    Parameters
    ----------
    records, families
        As for `coverage_table`.
    settings : Settings
        Of the run: labels, and which estimands are drawn.

    Returns
    -------
    Figure
    """
    shown = set(figure_estimands(records, settings))
    fine = intervals(records[records["estimand"].isin(shown) | ~has_number(records)], families)
    if not len(fine):
        return nothing("no estimate with an interval and a known truth")
    table = coverage_table(
        records[records["estimand"].isin(shown) | ~has_number(records)], families
    )
    rows = list(table[["notion", "estimand"]].drop_duplicates().itertuples(index=False, name=None))
    sizes, methods = sorted(table["n"].unique()), _ordered(table["estimator"], settings)
    height = max(0.5 + 2.25 * len(rows), 0.6 + 0.145 * len(methods))
    figure, axes = panels.grid(
        len(rows), len(sizes), height, sharex="row", sharey=True, figsize=(WIDTH + 1.3, height)
    )
    for (notion, estimand), of_row in zip(rows, axes):
        for n, ax in zip(sizes, of_row):
            here = [
                frame[
                    frame["notion"].eq(notion) & frame["estimand"].eq(estimand) & frame["n"].eq(n)
                ]
                for frame in (table, fine)
            ]
            _panel(ax, *here, methods)
            ax.set_title(f"{notion.replace('_', '-')}, $n$ = {n:,}")
        of_row[0].set_ylabel("coverage of the truth")
        for ax in of_row:
            ax.set_xlabel(f"relative width ({AXIS_NAMES.get(estimand, estimand)})")
    _method_legend(figure, table, methods, settings)
    level = table["level"].iloc[0]
    figure.set_label(
        "Coverage of the truth against mean width over max(truth, floor), the floor 0.1 / sqrt(n), of squared errors 0.1 / n. "
        "Large marks: all samples, with the Wilson 95 % interval; small ones: families of problems. Dashed: the level "
        f"{level:g} with three standard errors of a share. Open marks: one bound alone, by its distance from the truth. Cells "
        "without an interval are counted in the table, not here."
    )
    return figure


def _ordered(found, settings):
    """Ids of estimators: as configured, then the others."""
    have = list(dict.fromkeys(found))
    wanted = [name for name in (settings.estimator) if name in have]
    return [*wanted, *(name for name in have if name not in wanted)]


def _panel(ax, table, fine, methods):
    ax.set_yscale("function", functions=(_stretched, _unstretched))
    ax.set(xscale="log", ylim=(-0.05, 1.0185))
    ax.set_yticks([0.0, 0.5, 0.8, 0.9, 0.95, 1.0], ["0", "0.5", "0.8", "0.9", "0.95", "1"])
    if not len(table):
        ax.text(0.5, 0.5, "no interval", transform=ax.transAxes, ha="center", color="0.45")
        return
    level, samples = table["level"].iloc[0], table["samples"].median()
    low = rates.least_coverage(level, samples)
    ax.axhspan(low, min(1.0, 2 * level - low), color="0.5", alpha=0.18, linewidth=0)
    panels.rule(ax, level, linewidth=0.8)
    above = 0
    for r in table.sort_values("width").itertuples():
        i = methods.index(r.estimator)
        look = series_style(i) | {"linestyle": "none"}
        face = {} if r.sides == "both" else {"markerfacecolor": "white"}
        per_problem = fine[fine["estimator"].eq(r.estimator)].groupby(["family", "problem"])
        means = (
            per_problem[["relative", "covered"]]
            .mean()
            .clip(lower={"relative": LEAST_WIDTH, "covered": 0.0})
        )
        of_family = means.assign(relative=np.log(means["relative"])).groupby("family").mean()
        if len(of_family) > 1:
            small = look | {
                "color": pale(look["color"], 0.55),
                "markersize": 2.2,
                "markeredgewidth": 0.4,
                "zorder": 2,
            }
            ax.plot(np.exp(of_family["relative"]), of_family["covered"], **small, **face)
        ends = [[r.coverage - r.coverage_low], [r.coverage_high - r.coverage]]
        ax.errorbar(
            r.width,
            r.coverage,
            np.maximum(ends, 0.0),
            **look,
            **face,
            markersize=5.5,
            elinewidth=0.7,
            zorder=4,
            clip_on=False,
        )
        place, above = (
            ((0.0, 4.0 + 5.0 * (above % 3)), above + 1)
            if r.coverage > 0.985
            else ((5.0, 2.0), above)
        )
        number = {"textcoords": "offset points", "fontsize": 5.5, "zorder": 5, "ha": "center"}
        star = "" if r.problems == table["problems"].max() else "*"
        ax.annotate(f"{i + 1}{star}", (r.width, r.coverage), place, **number)


def _stretched(coverage):
    """A scale on which 0.9, 0.95 and 1 stand apart."""
    return -np.log(np.maximum(1.03 - np.asarray(coverage, float), 1e-3))


def _unstretched(at):
    return 1.03 - np.exp(-np.asarray(at, float))


def _method_legend(figure, table, methods, settings):
    both = set(table.loc[table["sides"].eq("both"), "estimator"])
    handles = []
    for i, name in enumerate(methods):
        style = (
            series_style(i)
            | {"linestyle": "none"}
            | ({} if name in both else {"markerfacecolor": "white"})
        )
        handles.append(
            Line2D(
                [],
                [],
                markersize=5,
                label=f"{i + 1}  {label(settings, 'estimator', name)}",
                **style,
            )
        )
    handles.append(
        Line2D(
            [],
            [],
            color="0.6",
            linestyle="none",
            marker="o",
            markersize=2.2,
            label="small: a family",
        )
    )
    most = table.groupby(SETTING)["problems"].transform("max")
    if (table["problems"] < most).any():
        handles.append(Line2D([], [], linestyle="none", label="* not on all problems"))
    figure.legend(
        handles=handles,
        loc="outside right upper",
        fontsize=6.5,
        handlelength=1.0,
        labelspacing=0.35,
    )


def power(records: pd.DataFrame, families: Families, settings: Settings):
    """Shares of p-values of at most 0.05, a panel per notion (rows) and n (columns), a line per test.

    The open diamond is the share on calibrated problems, the size, that belongs on the dashed line; the large dot that on
    miscalibrated ones, the power, both with Wilson 95 % intervals; small marks are the power by family.

    Parameters
    ----------
    records, families
        As for `power_table`.
    settings : Settings
        Of the run: labels.

    Returns
    -------
    Figure
    """
    table = power_table(records, families)
    if not len(table):
        return nothing("no p-value")
    notions, sizes = list(dict.fromkeys(table["notion"])), sorted(table["n"].unique())
    methods = _ordered(table["estimator"], settings)
    of_families = list(table.columns[table.columns.get_loc("without") + 1 :])
    figure, axes = panels.grid(
        len(notions),
        len(sizes),
        0.9 + (0.45 + 0.2 * len(methods)) * len(notions),
        sharex=True,
        sharey=True,
    )
    for notion, of_row in zip(notions, axes):
        for n, ax in zip(sizes, of_row):
            here = table[table["notion"].eq(notion) & table["n"].eq(n)]
            samples = here["size_samples"].median()
            reach = 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / samples) if samples else 0.0
            ax.axvspan(max(0.0, LEVEL - reach), LEVEL + reach, color="0.5", alpha=0.18, linewidth=0)
            panels.rule(
                ax, LEVEL, upright=True, linewidth=0.8, label="0.05, with three standard errors"
            )
            for r in here.to_dict("records"):
                at = methods.index(r["estimator"])
                for j, family in enumerate(of_families):
                    look = {
                        "color": COLOURS[j % 8],
                        "marker": MARKERS[(j + 1) % 8],
                        "markersize": 3.2,
                        "linestyle": "none",
                    }
                    ax.plot(
                        r[family],
                        at + 0.22,
                        label=f"family {family.removeprefix('power_')}",
                        alpha=0.85,
                        **look,
                    )
                for what, shift, look in (
                    (
                        "size",
                        -0.22,
                        {
                            "marker": "D",
                            "markerfacecolor": "white",
                            "color": "0.25",
                            "markersize": 3.5,
                        },
                    ),
                    ("power", 0.0, {"marker": "o", "color": "0.1", "markersize": 5}),
                ):
                    if r[f"{what}_samples"]:
                        ends = np.array(
                            [[r[what] - r[f"{what}_low"]], [r[f"{what}_high"] - r[what]]]
                        ).clip(min=0.0)
                        text = "calibrated: size" if what == "size" else "miscalibrated: power"
                        ax.errorbar(
                            r[what],
                            at + shift,
                            xerr=ends,
                            linestyle="none",
                            elinewidth=0.7,
                            label=text,
                            **look,
                        )
            ax.set_title(f"{notion.replace('_', '-')}, $n$ = {n:,}")
            ax.set_xlim(-0.02, 1.02)
            panels.name_rows(ax, [label(settings, "estimator", name) for name in methods])
    for ax in axes[-1]:
        ax.set_xlabel("share of p-values $\\leq$ 0.05")
    first = ["calibrated: size", "0.05, with three standard errors", "miscalibrated: power"]
    panels.legend(figure, axes, columns=4, first=first)
    figure.set_label(
        "Share of p-values of at most 0.05: on calibrated problems (open diamonds; at most 0.05 but for its error if the test is "
        "valid) and on miscalibrated ones (dots; small marks: by family), with Wilson 95 % intervals. Cells without a p-value "
        "are counted in the table, not here."
    )
    return figure
