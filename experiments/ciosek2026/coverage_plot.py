"""Figures and table rows of the coverage of certified bounds.

The coverage is the share of samples on which a bound holds the true calibration error. It is shown
for whole bounds, and for bounds without one of their terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.common import wording
from harness.evaluation import items
from harness.figures import panels
from harness.figures.style import COLOURS, pale, pyplot

from . import rates
from .terms import ALONE, EMPIRICAL, FULL, VARIANTS, ablated


def figure(frame: pd.DataFrame, names: Mapping[str, str], problems: Sequence[str]) -> Figure:
    """Draw the distance of bounds from the true value, and the smallest coverage as a number.

    In the left panel, each estimator has a row, each sample size a colour, and each problem a mark.
    The mark is at the sample whose bound is closest to the true value. A line leads from it to the
    mean over the samples. A mark left of 0 is a sample on which the bound fails. The right panel
    has the smallest coverage over the problems.

    Parameters
    ----------
    frame : DataFrame
        From `rates.coverage`.
    names : mapping
        {id of an estimator: its name}, in the order of the rows. Other estimators are not drawn.
    problems : sequence of str
        The ids of the problems, in the order of their marks within a row.
    """
    rows, sizes = list(names), sorted(frame["n"].unique())
    frame = frame[frame["estimator"].isin(rows)]
    if not len(frame):
        return panels.nothing()
    shape = {"sharey": True, "width_ratios": [3.0, 0.6 + 0.5 * len(sizes)]}
    figure, ((left, right),) = panels.grid(1, 2, 1.1 + 0.3 * len(rows), **shape)
    mean = np.minimum(
        frame["high"].fillna(np.inf) - frame["truth"], frame["truth"] - frame["low"].fillna(-np.inf)
    )
    # Left: estimators are rows, sizes n are bands within a row, problems are places in a band.
    place = {name: (i + 0.5) / len(problems) - 0.5 for i, name in enumerate(problems)}
    for j, (n, mine) in enumerate(frame.groupby("n")):
        heights = mine["estimator"].map(rows.index) + 0.84 * ((j + 0.5) / len(sizes) - 0.5)
        heights += 0.7 * 0.84 / len(sizes) * mine["problem"].map(place)
        to_mean = {
            "linewidth": 0.7,
            "alpha": 0.55,
            "label": "from the closest sample (mark) to the mean",
        }
        left.hlines(heights, mine["margin"], mean[mine.index], color=COLOURS[j], **to_mean)
        left.plot(mine["margin"], heights, label=f"$n$ = {n:,}", **panels.look(j, markersize=2.6))
    below = min(-1e-3, 1.6 * frame["margin"].min())
    left.axvspan(below, 0.0, color="0.5", alpha=0.12, linewidth=0, label="not covered")
    left.axvline(0.0, color="0.2", linewidth=0.9)
    left.set_xscale("symlog", linthresh=1e-3, linscale=0.5)
    left.set(xlabel="distance from the bound to the true value", xlim=(below, 1.4))
    for y in np.arange(1, len(rows)) - 0.5:
        for ax in (left, right):
            ax.axhline(y, color="0.88", linewidth=0.6, zorder=0)
    # Right: the smallest coverage as a number, in colour if it does not pass.
    for (estimator, n), part in frame.groupby(["estimator", "n"]):
        lowest, passes = part["coverage"].min(), part["passes"].all()
        how = {} if passes else {"color": COLOURS[1], "weight": "bold"}
        text = (
            "" if passes else "fails "
        ) + f"{np.floor(1e4 * lowest) / 1e4:.{3 if lowest == 1.0 else 4}f}"
        right.text(
            sizes.index(n), rows.index(estimator), text, ha="center", va="center", fontsize=7, **how
        )
    levels = sorted(
        {(f"{level:g}", f"{least:.3f}") for level, least in zip(frame["level"], frame["least"])}
    )
    passing = "\n".join(f"level {level} passes from {least}" for level, least in levels)
    right.set(
        xlim=(-0.5, len(sizes) - 0.5),
        xticks=range(len(sizes)),
        xlabel=f"smallest coverage\n{passing}",
    )
    right.set_xticklabels([f"$n$ = {n:,}" for n in sizes], fontsize=6.5)
    right.tick_params(axis="both", length=0)
    right.grid(visible=False)
    right.spines[["left", "bottom"]].set_visible(False)
    for ax in (right, left):
        panels.name_rows(ax, list(names.values()))
    right.tick_params(axis="y", labelleft=False)
    panels.legend(
        figure, left, columns=5, last=["from the closest sample (mark) to the mean", "not covered"]
    )
    return figure


def entries(part: pd.DataFrame) -> dict[str, str]:
    """Return the texts of a table's row for one problem, estimator and level.

    `part` has one row per sample size n, from `rates.coverage`. The texts are the coverage at each
    n, the number of samples, the smallest coverage that passes, and the verdict. Then come the
    smallest margin, the share of vacuous bounds, and, at the largest n, the true value (CE) and the
    mean bounds.
    """
    part = part.sort_values("n")
    last, lost, failed = part.iloc[-1], int(part["without"].sum()), part.loc[~part["passes"], "n"]
    return {f"n = {r.n:,}": f"{r.coverage:.4f}" for r in part.itertuples()} | {
        "samples": f"{part['samples'].min():,}" + (f" ({lost:,} without a number)" if lost else ""),
        "smallest that passes": f"{part['least'].min():.4f}",
        "verdict": f"fails at n = {', '.join(f'{n:,}' for n in failed)}"
        if len(failed)
        else "covers",
        "closest margin": f"{part['margin'].min():.5f}",
        "vacuous": ", ".join(f"{x:.3g}" for x in part["vacuous"]) if part["vacuous"].any() else "–",
        "CE": wording.format_fixed(last["truth"]),
        "mean bound at the largest n": " to ".join(
            f"{x:.4f}" for x in (last["low"], last["high"]) if pd.notna(x)
        ),
    }


def shares(
    frame: pd.DataFrame, by: Sequence[str], row: str, column: str, why: str | None = None
) -> pd.DataFrame:
    """Return coverages as `items.numbers`. A coverage c has the error sqrt(c (1 - c) / samples).

    Parameters
    ----------
    frame : DataFrame
        From `rates.coverage` or `without_terms`.
    by : sequence of str
        Columns by which the rows are grouped before the lowest coverage of a group is taken.
    row, column : str
        Formats of the names of row and column, as for `items.numbers`.
    why : str, optional
        The reason, if the reported coverages belong to other problems than ours. The lowest
        coverage of each group is then added, in rows '<problem id>', with this reason.
    """
    frame = frame.assign(
        error=np.sqrt(frame["coverage"] * (1.0 - frame["coverage"]) / frame["samples"])
    )
    ours = items.numbers(frame, row, column, "coverage", "error", "samples")
    if why is None or not len(frame):
        return ours
    lowest = frame.loc[frame.groupby(list(by), sort=False)["coverage"].idxmin()]
    return items.together(
        ours, items.numbers(lowest, "{problem}", column, "coverage", None, "samples", why)
    )


def without_terms(records: pd.DataFrame, level: float | None = None) -> pd.DataFrame:
    """Return the coverage of upper bounds without each of their terms.

    `terms.ablated` computes the bound without a term from the diagnostics of the whole bound.

    Parameters
    ----------
    records : DataFrame
        Records. Those without a number, diagnostics or truth are ignored.
    level : float, optional
        `None` returns all variants, at the level of the records. A number returns only the variant
        with the transfer alone, at that level.

    Returns
    -------
    DataFrame
        As from `rates.coverage`, with one more column of groups, `variant`. `detected` is True if
        the coverage is too small to pass.
    """
    fine = items.with_number(records, kinds="upper").dropna(subset=["diagnostics", "truth"])
    fine = fine.assign(level=fine["level"] if level is None else level, low=np.nan).drop(
        columns="high"
    )
    terms = zip(items.diagnostics(fine).to_dict("records"), fine["level"])
    parts = pd.DataFrame([ablated(*row) for row in terms], fine.index).reindex(
        columns=VARIANTS if level is None else [ALONE]
    )
    frame = (
        fine.join(parts).melt([*fine], var_name="variant", value_name="high").dropna(subset="high")
    )
    frame = rates.coverage(frame, "variant")
    return frame.assign(detected=~frame["passes"])


def variants_panel(
    ax: Axes, frame: pd.DataFrame, names: Mapping[str, str], variants: Sequence[str]
) -> None:
    """Draw the coverage of each bound, with all terms and without each, as numbers in fields.

    A field is orange if the coverage is too small to pass, and blue if it passes. It is white if
    the bound does not have the term.

    Parameters
    ----------
    frame : DataFrame
        From `without_terms`, for one problem and n.
    names : mapping
        {id of an estimator: its name}, in the order of the rows. Other estimators are not drawn.
    variants : sequence of str
        The columns, from left to right.
    """
    rows = list(names)
    for r in frame[frame["estimator"].isin(rows) & frame["variant"].isin(variants)].itertuples():
        x, y = list(variants).index(r.variant), rows.index(r.estimator)
        colour = (
            pale(COLOURS[1], 0.35 + 0.4 * (1.0 - r.coverage))
            if r.detected
            else pale(COLOURS[0], 0.16)
        )
        ax.add_patch(pyplot().Rectangle((x - 0.47, y - 0.45), 0.94, 0.9, color=colour, linewidth=0))
        text = f"{np.floor(1e3 * r.coverage) / 1e3:.3f}".lstrip("0")
        if r.coverage in (0.0, 1.0):
            text = f"{r.coverage:.0f}"
        weight = "bold" if r.detected else "normal"
        ax.text(x, y, text, ha="center", va="center", fontsize=6.5, weight=weight)
    ax.set_xticks(
        range(len(variants)),
        variants,
        rotation=35,
        ha="right",
        rotation_mode="anchor",
        fontsize=6.5,
    )
    ax.set_xlim(-0.5, len(variants) - 0.5)
    ax.grid(visible=False)
    ax.tick_params(axis="x", length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    panels.name_rows(ax, list(names.values()))


def variants_entries(part: pd.DataFrame, judged: pd.DataFrame) -> dict[str, str]:
    """Return the texts of a table's row: the coverage of each variant, and the detected terms.

    Both frames are from `without_terms`, for one bound and level. The coverages, and the smallest
    one that passes, are those of `part`. A term is detected if the bound without it fails in some
    row of `judged`.
    """
    detected = judged.pivot(index=["problem", "n"], columns="variant", values="detected").reindex(
        columns=[*VARIANTS]
    )
    is_detected = detected.eq(True).any()
    names = [
        v.removeprefix("without ") for v in VARIANTS if is_detected[v] and v.startswith("without ")
    ]
    if (detected[EMPIRICAL].eq(True) & detected[ALONE].eq(False)).any():
        names.append("transfer (where alone)")
    row = {r.variant: f"{r.coverage:.4f}" for r in part.itertuples()} | {
        "smallest that passes": f"{part['least'].min():.4f}"
    }
    return row | {
        "detected": "the bound itself fails" if is_detected[FULL] else ", ".join(names) or "none"
    }
