"""Certified upper bounds against the sample size n, on functions with a known calibration error.

The figure and the table show the distance of a bound from the true error (CE), and the rate at
which it falls. The summary of the paper prints the range of log-log slopes over four functions. It
does not say which functions, so ours are others.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.common import wording
from harness.configure.settings import Settings
from harness.evaluation import items, reproduction, text_tables
from harness.figures import panels

from . import bounds, drawing, rates

THE_FOUR = ("score_sine", "score_sigmoid", "score_steps", "score_waves")
ENDS, THEORY = ("slope, steepest", "slope, flattest"), "slope, theory"


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw one panel per function with the mean of bound - CE against n, and a panel of slopes.

    A cross marks a size at which the bound is 1 on some sample. A grey line has the paper's rate,
    the slope -1/3. The lowest panel shows the slopes of the paper's three bounds on each function,
    over the printed ranges.
    """
    frame = bounds.measured(records)
    looks = bounds.looks(frame[frame["kind"].eq("upper")], settings)
    drawn = frame[frame["estimator"].isin(looks)]

    def draw(ax: Axes, problem: str) -> None:
        """Draw the panel of one problem."""
        mine = drawn[drawn["problem"].eq(problem) & drawn["truth"].notna()]
        drawing.means(ax, mine, looks, "excess")
        vacuous = (
            mine.groupby(["estimator", "n"])
            .agg({"excess": "mean", "vacuous": "any"})
            .query("vacuous")["excess"]
        )
        cross = {"color": "0.2", "markersize": 6, "zorder": 4}
        if len(vacuous):
            cross["label"] = "bound is 1"
        ax.plot(vacuous.index.get_level_values("n"), vacuous, "x", **cross)
        drawing.guide(ax, drawn, "excess", -1 / 3, "slope $-1/3$")
        truth = frame.loc[frame["problem"].eq(problem), "truth"].dropna().head(1)
        text = bounds.function(problem, settings).removesuffix(", perturbed")
        ax.set_title(f"{text}, CE = {truth.iloc[0] if len(truth) else np.nan:.4f}")

    names = items.chosen(settings, frame, "problem")
    if not len(names):
        return panels.nothing()
    rows = -(-len(names) // 3)
    figure, axes = panels.grid(rows + 1, 3, 2.0 * rows + 2.2, height_ratios=[*[2.0] * rows, 1.0])
    for k, (ax, name) in enumerate(zip(axes[:rows].flat, names)):
        draw(ax, name)
        ax.sharex(axes[0, 0])
        ax.sharey(axes[0, 0])
        ax.set_ylim(top=1.5)
        ax.set(
            ylabel="" if k % 3 else "bound $-$ CE",
            xlabel=panels.N_AXIS if k + 3 >= len(names) else "",
        )
    for ax in [*axes[:rows].flat[len(names) :], *axes[rows]]:
        ax.remove()
    panels.legend(figure, axes[:rows], columns=5)
    slopes_panel(figure.add_subplot(axes[0, 0].get_gridspec()[rows, :]), records, settings, names)
    return figure


def slopes_panel(ax: Axes, records: pd.DataFrame, settings: Settings, names: Sequence[str]) -> None:
    """Draw the slopes of the paper's three bounds, and the printed ranges as open bars.

    `names` are the ids of the functions, in the order of their markers.
    """
    fits = rates.excess_slopes(items.with_number(records, "l1")).dropna(subset="slope")
    ours = [estimator for estimator in bounds.ESTIMATORS["paper"].dropna().index]
    for y, estimator in enumerate(ours):
        steep, flat = paper_range(estimator)
        bar = {
            "height": 0.62,
            "facecolor": "white",
            "edgecolor": "0.35",
            "linewidth": 1.0,
            "zorder": 1,
        }
        ax.barh(
            y, flat - steep, left=steep, label="paper, four functions" if not y else None, **bar
        )
        theory = float(reported_theory(bounds.lookup(estimator, "paper")))
        ax.plot(
            [theory] * 2,
            [y - 0.31, y + 0.31],
            color="0.35",
            linestyle=":",
            label="theory" if not y else None,
        )
        for k, problem in enumerate(names):
            mine = fits[fits["estimator"].eq(estimator) & fits["problem"].eq(problem)]
            text = bounds.function(problem, settings).removesuffix(", perturbed") if not y else None
            height = y + 0.5 * ((k + 0.5) / len(names) - 0.5)
            ax.plot(
                mine["slope"], [height] * len(mine), label=text, **panels.look(k, markersize=3.5)
            )
    panels.name_rows(ax, [bounds.lookup(estimator, "paper") for estimator in ours])
    ax.set_xlim(-0.6, -0.14)
    ax.set_xlabel(r"slope of $\log$(bound $-$ CE) on $\log n$")
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=8,
        fontsize=6.5,
        handlelength=1.4,
        columnspacing=1.0,
    )


def reported_theory(name: str) -> float:
    """Return the exponent that the paper proves for a bound."""
    printed = reproduction.reported("ciosek2026", ["slopes"]).set_index(["row", "column"])["value"]
    return float(printed[name, THEORY])


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per function and bound.

    The columns are slopes and mean bounds. There is a slope over all n, over the first decade, over
    the last decade, and in theory. The paper's range stands beside them, with the verdict inside,
    steeper or flatter.
    """
    means, rows = (
        bounds.with_names(items.evaluated(records, settings, "l1").sort_values("n"), settings),
        {},
    )
    fits = rates.excess_slopes(items.with_number(records, "l1")).set_index(["problem", "estimator"])
    for r in means.drop_duplicates(["problem", "estimator"]).itertuples():
        fit, (low, high) = fits.loc[(r.problem, r.estimator)], paper_range(r.estimator)
        row = rows[r.function, r.bound] = {"CE": wording.format_fixed(r.truth)}
        if r.kind in ("upper", "lower"):
            row |= rates.slope_entries(fit)
            row |= {
                "theory": bounds.lookup(r.estimator, "theory", "–"),
                "paper's range": f"{low} to {high}" if pd.notna(low) else "–",
            }
            row["verdict"] = verdict(fit["slope"], r.estimator)
    heading = "slope of log(mean of bound - CE) on log n, ± jackknife error; mean bounds"
    rows = text_tables.entries(means, ("{function}", "{bound}"), "n = {n:,}", into=rows)
    return text_tables.wide(rows, ["function", "bound"], heading)


def paper_range(estimator: str) -> tuple[float, float]:
    """Return the steepest and the flattest slope that the paper prints for the bound.

    Both are NaN if the estimator is not one of the paper's three bounds.
    """
    printed = reproduction.reported("ciosek2026", ["slopes"]).set_index(["row", "column"])["value"]
    name = bounds.lookup(estimator, "paper")
    low, high = (float(printed.get((name, end), np.nan)) for end in ENDS)
    return low, high


def verdict(slope: float, estimator: str) -> str:
    """Return "inside", "steeper" or "flatter", comparing a slope with the paper's range.

    Without a slope or a range, return a dash.
    """
    low, high = paper_range(estimator)
    if pd.isna(slope) or pd.isna(low):
        return "–"
    if slope < low:
        return "steeper"
    return "flatter" if slope > high else "inside"


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our slopes and mean bounds for the reported numbers.

    The steepest and the flattest slope are taken over four functions, which are not the paper's.
    The mean slope over the last decade stands beside the exponents of the theory.
    """
    fits = (
        rates.excess_slopes(items.with_number(records, "l1"))
        .dropna(subset="slope")
        .sort_values("slope", kind="stable")
    )
    fits = fits.assign(bound=fits["estimator"].map(bounds.ESTIMATORS["paper"])).dropna(
        subset="bound"
    )
    by = fits[fits["problem"].str.removesuffix("_perturbed").isin(THE_FOUR)].groupby("bound")
    ends = pd.concat([by.head(1).assign(end=ENDS[0]), by.tail(1).assign(end=ENDS[1])])
    slopes = items.numbers(ends, "{bound}", "{end}", "slope", why=settings.reasons["slopes"])
    last = by.agg(value=("last", "mean"), keys=("keys", "sum")).dropna(subset="value").reset_index()
    limits = items.numbers(
        last, "{bound}", THEORY, "value", None, None, why=settings.reasons["theory"]
    )
    slopes = items.together(slopes, limits)
    other_items = [item for item in settings.compare if item != "slopes"]
    means = rates.numbers_by_id(records, settings, "l1")
    return items.joined(
        [
            items.answers(slopes, settings, items=["slopes"]),
            items.answers(means, settings, items=other_items),
        ]
    )
