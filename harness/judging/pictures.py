"""The figures of the page, as SVG in the colours of the page; each is drawn once and scaled by its viewBox.

Letters stay text: the browser has more scripts than matplotlib, and finds them with its search. No text is read as mathematics,
because names of classes and groups come from the data.
"""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.common import wording
from harness.common.wording import clean, fitted, format_number, format_percent, is_known
from harness.figures import reliability_plot
from harness.figures.style import COLOURS, pyplot
from harness.judging.findings import ErrorEstimate, Gains, HowFar, Interval, Versus, Where
from harness.judging.words import ends

WIDTH = (
    4.6  # inches: letters of 8 points are 8 pixels in a window of 390 pixels, and 15 in a wide one
)
LETTERS = 21  # of a line of a label
MOST_CLASSES = 12
MOST_ROWS = 24  # of one figure of intervals
LARGEST = 1.9  # pixels that a point of the drawing may become
# Colours of the drawing, and what they are on the page, where they follow the scheme of light and dark.
PAGE_COLOURS = {
    "#000000": "--ink", "#404040": "--ink", "#4c4c4c": "--soft", "#4d4d4d": "--soft", "#737373": "--soft", "#8c8c8c": "--soft",
    "#b0b0b0": "--line",
    COLOURS[0].lower(): "--first", COLOURS[1].lower(): "--second",
}  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """An SVG, and what is seen, in words."""

    svg: str
    said: str


@dataclass(frozen=True)
class Line:
    """One row of a figure of intervals. kind: point | main | lower | upper | certified."""

    label: str
    interval: Interval
    kind: str = "point"


@dataclass(frozen=True)
class Block:
    """Rows on one scale."""

    title: str
    lines: Sequence[Line]
    unit: str
    zero: bool = False  # whether 0 is the value that is compared with


def overall(found: Where) -> Picture | None:
    """The reliability diagram of the first panel, with its band and the histogram of the scores."""
    if not found.panels:
        return None
    panel = _cleaned(found.panels[0])
    drawn = _diagrams([panel], 1, (3.55, 4.5), whole=True)
    curve, band = panel.curve, panel.band
    outside = ""
    if band is not None and len(band.at):
        fit = curve.fit[curve.at.searchsorted(band.at).clip(max=len(curve.at) - 1)]
        share = float(((fit < band.low - 1e-12) | (fit > band.high + 1e-12)).mean())
        outside = (
            f" It is outside of the {format_percent(band.level)} band of calibrated predictions at {100 * share:.0f} % "
            "of the places looked at."
        )
    said = (
        f"Reliability diagram of {curve.n:,} rows: {panel.event} against {panel.score}, with the diagonal of perfect "
        f"calibration. The curve goes from {format_number(curve.at[0])}, where it is {format_number(curve.fit[0])}, "
        f"to {format_number(curve.at[-1])}, where it is {format_number(curve.fit[-1])}.{outside} "
        "Below, a histogram of the scores."
    )
    return Picture(drawn, said)


def classes(found: Where) -> Picture | None:
    """The diagrams of the worst classes as small multiples."""
    panels = [_cleaned(one) for one in found.panels[1 : MOST_CLASSES + 1] if one.drawn]
    if not panels:
        return None
    columns = min(2, len(panels))
    drawn = _diagrams(panels, 2, (WIDTH * columns / 2, 0.65 + 2.2 * -(-len(panels) // 2)))
    named = ", ".join(one.title.removeprefix("class ") for one in panels)
    return Picture(drawn, f"Reliability diagrams of {len(panels)} classes, worst first: {named}.")


def errors(found: HowFar) -> Picture | None:
    """The estimates with their intervals, the certified ones below; a block for every notion and estimand."""
    blocks: dict[tuple[str, str], list[Line]] = {}
    for one in found.errors:
        if is_known(one.interval.value) or ends(one.interval):
            blocks.setdefault((one.notion, one.estimand), []).append(
                Line(one.label, one.interval, _kind(one))
            )
    for bound in found.certified:
        if ends(bound.interval):
            line = Line("certified", bound.interval, "certified")
            blocks.setdefault((bound.notion, bound.estimand), []).append(line)
    titled = [
        Block(f"{wording.notion_name(notion)}, {wording.estimand_name(estimand)}", lines, "")
        for (notion, estimand), lines in blocks.items()
    ]
    return _intervals(titled, "Estimates of the calibration error with their intervals.")


def _kind(one: ErrorEstimate) -> str:
    return one.kind if one.kind in ("lower", "upper") else "main" if one.headline else "point"


def gains(found: Gains) -> Picture | None:
    """What each recalibration gains, around 0."""
    blocks = []
    for name, title in (("log_loss", "log-loss"), ("brier", "Brier score")):
        lines = [
            Line(one.label, getattr(one, name), "main" if one.method == found.best else "point")
            for one in found.gains
            if is_known(getattr(one, name).value)
        ]
        blocks.append(Block(title, lines, f"{title} gained; right of 0 is better", True))
    return _intervals(blocks, "What recalibration gains, with intervals.")


def differences(found: Versus) -> Picture | None:
    """The paired differences, around 0, a block for every quantity."""
    blocks: dict[str, list[Line]] = {}
    for one in found.differences:
        if is_known(one.difference.value):
            line = Line(
                f"{fitted(one.first, 18)} − {fitted(one.second, 18)}",
                one.difference,
                "main" if one.better else "point",
            )
            blocks.setdefault(one.label, []).append(line)
    titled = [
        Block(label, lines, "left of 0 the first is lower, right of 0 the second", True)
        for label, lines in blocks.items()
    ]
    return _intervals(titled, "Differences between the models on the same rows, with intervals.")


def groups(found: Where) -> Picture | None:
    """Mean score minus frequency by group, around 0, a block for every column."""
    blocks: dict[str, list[Line]] = {}
    for one in found.groups:
        if is_known(one.gap.value):
            told = one.adjusted is not None and one.adjusted <= 1.0 - one.gap.level
            blocks.setdefault(one.column, []).append(
                Line(one.value, one.gap, "main" if told else "point")
            )
    titled = [
        Block(column, lines, "said minus happened; right of 0 too high", True)
        for column, lines in blocks.items()
    ]
    return _intervals(titled, "Mean prediction minus frequency by group, with intervals.")


# Reliability diagrams


def _cleaned(panel: Any) -> Any:
    return replace(
        panel,
        title=clean(panel.title),
        score=fitted(panel.score, 40),
        event=fitted(panel.event, 40),
    )


def _diagrams(
    panels: Sequence[Any], per_row: int, size: tuple[float, float], whole: bool = False
) -> str:
    """`harness.figures.reliability_plot` in this size; with `whole` the parts of the Brier score are told, else MCB alone."""
    figure = reliability_plot.figure(list(panels), per_row, size)
    for drawn in figure.legends if not whole else ():
        drawn.remove()  # the first diagram has it
    for text in figure.findobj(pyplot().Text):
        said = text.get_text().replace(r"\$", "$").replace("($n$ = ", "(n = ")
        if not whole:
            said = re.sub(r"\s+\(n = [\d,]+\)$|  DSC .*$", "", said)
        text.set_text(said)
        text.set_parse_math(False)
    return _svg(figure)


# Intervals


def _intervals(blocks: Iterable[Block], what: str) -> Picture | None:
    kept = [block for block in blocks if block.lines]
    if not kept:
        return None
    shown: list[Block] = []
    room = MOST_ROWS
    for block in kept:
        if room > 0:
            shown.append(replace(block, lines=block.lines[:room]))
            room -= len(block.lines)
    units = [block.unit for block in shown]
    shown = [
        replace(one, unit="") if one.unit in units[i + 1 :] else one for i, one in enumerate(shown)
    ]  # once, below the last
    said = [what]
    for block in shown:
        each = "; ".join(
            f"{clean(one.label)} {format_number(one.interval.value)}{_between(one.interval)}"
            for one in block.lines
        )
        said.append(f"{clean(block.title)}: {each}.")
    return Picture(_rows(shown), " ".join(said))


def _between(interval: Interval) -> str:
    between = ends(interval)
    return f" ({format_percent(interval.level)} interval {between})" if between else ""


def _rows(blocks: Sequence[Block]) -> str:
    """Draw one axis per block, with a dot and a bar per row."""
    plt = pyplot()
    labels = [[_label(one.label, LETTERS) for one in block.lines] for block in blocks]
    heights = [
        sum(0.1 + 0.125 * (1 + text.count("\n")) for text in of_block) + 0.12 for of_block in labels
    ]
    height = sum(heights) + sum(0.62 if block.unit else 0.46 for block in blocks)
    figure, axes = plt.subplots(
        len(blocks),
        1,
        figsize=(WIDTH, height),
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
    )
    figure.get_layout_engine().set(w_pad=0.1)  # a browser's letters may be wider
    for ax, block, texts in zip(axes[:, 0], blocks, labels):
        at = [-float(i) for i in range(len(texts))]
        for y, one in zip(at, block.lines):
            _row(ax, y, one)
        ax.set_yticks(at, texts, parse_math=False)
        ax.set_ylim(-len(texts) + 0.4, 0.6)
        ax.set_title(_label(block.title, 60), loc="left", fontweight="bold", parse_math=False)
        ax.set_xlabel(block.unit, parse_math=False)
        ax.locator_params(axis="x", nbins=5)
        ax.grid(visible=False, axis="y")
        if block.zero:
            ax.axvline(0.0, color="0.25", linestyle="--", linewidth=0.9, zorder=1)
            reach = max(map(abs, ax.get_xlim()))
            low, high = ax.get_xlim()
            ax.set_xlim(min(low, -0.15 * reach), max(high, 0.15 * reach))
        else:
            ax.set_xlim(left=0.0 if ax.get_xlim()[0] < 0.3 * ax.get_xlim()[1] else None)
    return _svg(figure)


def _row(ax: Any, y: float, one: Line) -> None:
    """A filled dot is the one that is quoted or told apart from 0, an open one any other; orange is certified; an arrow says that
    the interval has no end on that side."""
    colour = COLOURS[1] if one.kind == "certified" else COLOURS[0]
    value, low, high = (
        (one.interval.value if is_known(one.interval.value) else None),
        one.interval.low,
        one.interval.high,
    )
    bar = {
        "color": colour,
        "linewidth": 2.2 if one.kind in ("main", "certified") else 1.3,
        "zorder": 2,
    }
    reach = [end for end in (low, value, high) if end is not None and is_known(end)]
    if is_known(low) and is_known(high):
        ax.plot([low, high], [y, y], solid_capstyle="butt", **bar)
        ax.plot(
            [low, high],
            [y, y],
            marker="|",
            linestyle="none",
            color=colour,
            markersize=7,
            markeredgewidth=1.3,
            zorder=2,
        )
    elif reach and (one.kind in ("lower", "upper") or is_known(low) != is_known(high)):
        upwards = one.kind == "lower" or (is_known(low) and not is_known(high))
        ax.plot(
            reach[:1],
            [y],
            marker=">" if upwards else "<",
            color=colour,
            markersize=6,
            linestyle="none",
            zorder=3,
        )
    if value is not None and one.kind not in ("lower", "upper", "certified"):
        filled = {"markerfacecolor": colour if one.kind == "main" else "none"}
        ax.plot(
            [value],
            [y],
            marker="o",
            color=colour,
            markersize=5.5,
            markeredgewidth=1.3,
            zorder=3,
            **filled,
        )


def _label(text: str, letters: int) -> str:
    """At most three lines of so many letters."""
    return "\n".join(textwrap.wrap(fitted(text, 3 * letters - 9), letters)[:3]) or wording.DASH


# SVG


def _svg(figure: Any) -> str:
    """The figure as an SVG element for use in a page: no size, colours as CSS variables, no identifiers."""
    plt = pyplot()
    text = io.StringIO()
    with plt.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # letters that matplotlib's font lacks; the browser draws them
        figure.savefig(
            text, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    plt.close(figure)
    drawn = text.getvalue()
    drawn = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>", "", drawn[drawn.index("<svg") :], flags=re.S
    )
    drawn = re.sub(r"\s*\n\s*", " ", drawn).replace("> <", "><")
    drawn = re.sub(
        r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), drawn
    )  # hundredths of a point; no text
    box = re.search(r'viewBox="([^"]*)"', drawn)
    assert box is not None
    width = float(box[1].split()[2])
    opening = (
        f'<svg viewBox="{box[1]}" style="max-width: {LARGEST * width:.0f}px" aria-hidden="true">'
    )
    drawn = re.sub(r"<svg [^>]*>", opening, drawn, count=1)
    drawn = re.sub(
        r"; font-family: [^;\"]*|(?<=\")font-family: [^;\"]*; ", "", drawn
    )  # as the page
    for colour, name in PAGE_COLOURS.items():
        drawn = re.sub(rf"(fill|stroke): {colour}", rf"\1: var({name})", drawn)
    return _own_ids(drawn)


def _own_ids(drawn: str) -> str:
    """Identifiers that nothing refers to go; the others, of clip paths and marks, get the digest of the drawing, so that two
    drawings of a page do not share them: one that is hidden would take its clip paths with it."""
    own = hashlib.blake2b(drawn.encode(), digest_size=3).hexdigest()
    used = set(re.findall(r'(?:url\(#|href="#)([\w-]+)', drawn))
    drawn = re.sub(
        r' id="([\w.-]+)"', lambda m: f' id="{m[1]}-{own}"' if m[1] in used else "", drawn
    )
    drawn = drawn.replace("xlink:href", "href")
    return re.sub(r'(url\(#|href="#)([\w-]+)', rf"\1\2-{own}", drawn)
