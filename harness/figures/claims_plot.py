"""The figure of a paper's claims: one line per claim, with its statistic, its interval and its verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np

from harness.common.wording import format_significant
from harness.configure.settings import Settings
from harness.evaluation import claims, reproduction
from harness.figures.style import COLOURS, WIDTH, figure_settings, font_scale, nothing, pale, pyplot

LOOKS = {
    "holds": {"color": COLOURS[2], "marker": "o"},
    "fails": {"color": COLOURS[1], "marker": "X"},
    "undecided": {"color": "0.4", "marker": "D", "markerfacecolor": "white"},
}
SYMBOLS = {"holds": "●", "fails": "✖", "undecided": "◇"}  # the markers as texts


def figure(statistics: Mapping[str, claims.Statistic], settings: Settings):
    """One line per claim: the statistic and its interval, by the distance from the threshold towards the claimed side, in units
    of the row's largest, since the scales differ widely; shaded: where the claim holds. The numbers stand at the right."""
    found = claims.judged(statistics, settings)
    if not found["ours"].notna().any():
        return nothing("no claim could be tested; the page says why")
    scale = font_scale(settings)
    texts = [
        (_wrapped(r.row, 43 / scale), _wrapped(r.column, 50 / scale)) for r in found.itertuples()
    ]
    numbers = [_right_words(r, scale) for r in found.itertuples()]
    lines = [
        max(2.6 + 0.9 * said.count("\n"), len(name) + len(words) + 0.6)
        for (name, words), said in zip(texts, numbers)
    ]
    edges = np.concatenate([[0.0], np.cumsum(lines)])
    inch = 0.125 * scale  # of a line of text
    height = inch * edges[-1] + 0.85
    size = figure_settings(settings).size or (WIDTH, height)
    height = size[1]
    made, ax = pyplot().subplots(figsize=tuple(size))
    made.subplots_adjust(left=0.355, right=0.655, top=1 - 0.25 / height, bottom=0.6 / height)
    ax.axvspan(0, 1.25, color=pale(COLOURS[2], 0.12), linewidth=0, zorder=0)
    ax.axvline(0, color="0.2", linewidth=0.9, zorder=1)
    middles = (edges[:-1] + edges[1:]) / 2
    for y in edges[1:-1]:
        ax.axhline(y, xmin=-1.2, xmax=2.2, color="0.88", linewidth=0.6, clip_on=False, zorder=0)
    for r, y, (name, words), said in zip(found.itertuples(), middles, texts, numbers):
        _row(ax, r, y)
        _left(ax, y, name, words)
        _right(ax, r, y, said)
    ax.set(xlim=(-1.25, 1.25), ylim=(edges[-1], 0), yticks=[], xticks=[-1, -0.5, 0, 0.5, 1])
    ax.grid(axis="y", visible=False)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(
        "distance from the threshold to the claimed side\n(in units of the largest in its row)",
        fontsize=7,
    )
    for x, said in ((-0.04, "against the claim"), (0.04, "as claimed")):
        ax.text(
            x, -0.4, said, ha="right" if x < 0 else "left", va="baseline", fontsize=7, color="0.3"
        )
    for x, said in (
        (-1.17, "claim, and statistic"),
        (1.04, "found [99 % interval], claimed, verdict"),
    ):
        ax.text(
            x,
            -0.4,
            said,
            transform=ax.get_yaxis_transform(),
            ha="left",
            va="baseline",
            fontsize=7,
            color="0.3",
        )
    made.set_label(
        f"Claims of the paper ({reproduction.said(reproduction.counts(found))}): each statistic with its 99 % interval, "
        "by the distance from the threshold towards the claimed side, in units of the largest distance in its row; shaded: where "
        "the claim holds. A claim holds where the whole interval is there, and fails where all of it is on the other side."
    )
    return made


def _wrapped(text, width):
    return textwrap.wrap(text, int(width), break_on_hyphens=False)


def _row(ax, r, y):
    """The mark and the interval of a claim; ends beyond the axis, at infinity, are arrows."""
    if r.ours != r.ours:
        ax.text(-0.04, y, "not tested here", ha="right", va="center", fontsize=7, color="0.4")
        return
    side = 1.0 if r.unit == "above" else -1.0
    ends = np.array(sorted(side * (x - r.reported) for x in (r.low, r.high)))
    at = side * (r.ours - r.reported)
    largest = np.abs([at, *ends[np.isfinite(ends)]]).max() or 1.0
    look = LOOKS[r.verdict]
    drawn = np.clip(ends / largest, -1.2, 1.2)
    ax.plot(drawn, [y, y], color=look["color"], linewidth=1.6, solid_capstyle="butt", zorder=2)
    for end, x in zip(ends, drawn):
        mark = "|" if np.isfinite(end) else "<" if end < 0 else ">"
        ax.plot(
            [x], [y], color=look["color"], marker=mark, markersize=6 if mark == "|" else 4, zorder=2
        )
    ax.plot([at / largest], [y], linestyle="none", markersize=6, zorder=3, **look)


def _left(ax, y, name, words):
    transform = ax.get_yaxis_transform()
    block = {"transform": transform, "ha": "left", "linespacing": 1.15}
    start = y - (len(name) + len(words)) / 2
    ax.text(-1.17, start, "\n".join(name), va="top", fontsize=7.5, **block)
    ax.text(
        -1.17, start + len(name), "\n".join(words), va="top", fontsize=6.5, color="0.4", **block
    )


def _right_words(r, scale):
    """'0.02 [0.01, 0.03], claimed > 0', on two lines where it is too long for one."""
    claimed = f"claimed {claims.SAID_SIDES[r.unit]} {format_significant(r.reported, 6)}"
    said = ", ".join(part for part in (claims.found_text(r), claimed) if part)
    return said if len(said) * scale <= 41 else said.replace(", claimed", "\nclaimed")


def _right(ax, r, y, said):
    at = {"transform": ax.get_yaxis_transform(), "ha": "left", "fontsize": 7, "linespacing": 1.15}
    middle = y + 0.45 * said.count("\n")
    ax.text(1.04, middle - 0.1, said, va="bottom", **at)
    verdict = f"{SYMBOLS[r.verdict]} {r.verdict}" if r.verdict in SYMBOLS else r.verdict
    on = (
        f", on {'our data' if r.where == claims.OURS else r.where}"
        if isinstance(r.where, str)
        else ""
    )
    ax.text(
        1.04,
        middle + 0.1,
        verdict + on,
        va="top",
        color=LOOKS.get(r.verdict, {"color": "0.4"})["color"],
        **at,
    )
