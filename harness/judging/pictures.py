"""Figures of the page of a judgement, as SVG whose colours follow the page.

Text in the figures stays text, because a browser has more fonts than matplotlib and can search the
text. No text is parsed as mathematics, because class and group names come from the data.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
import warnings
from dataclasses import dataclass, replace
from typing import Any

from harness.common.names import estimand_name, notion_name
from harness.common.wording import (
    DASH,
    clean,
    format_number,
    format_percent,
    is_known,
    shorten_middle,
)
from harness.figures import reliability_plot
from harness.figures.style import COLOURS, pyplot, subplots
from harness.judging.answers import Answers
from harness.judging.findings import Certified, ErrorEstimate, Gains, HowFar, Versus, Where
from harness.judging.interval import Interval
from harness.judging.where import overall_panel
from harness.judging.words import format_with_level
from harness.math.reliability import Panel

# Width in inches. A font of 8 points has 8 pixels in a window of 390 pixels, and 15 in a wide one.
WIDTH = 4.6
LETTERS = 21  # characters in a line of a label
MOST_CLASSES = 12
MOST_ROWS = 24  # rows in a figure of intervals
LARGEST_SCALE = 1.9  # largest number of pixels per point of the drawing
# Colours of the drawing, and the CSS variables that replace them and follow a dark or light page.
PAGE_COLOURS = {
    "#000000": "--ink",
    "#404040": "--ink",
    "#4c4c4c": "--soft",
    "#4d4d4d": "--soft",
    "#737373": "--soft",
    "#8c8c8c": "--soft",
    "#b0b0b0": "--line",
    COLOURS[0].lower(): "--first",
    COLOURS[1].lower(): "--second",
}


@dataclass(frozen=True)
class Picture:
    """A figure as SVG, and its content in words for a screen reader."""

    svg: str
    words: str


@dataclass(frozen=True)
class Line:
    """A row of a figure of intervals.

    `kind` is point, main (drawn filled), lower, upper or certified.
    """

    label: str
    interval: Interval
    kind: str = "point"


def draw(judgement: Answers) -> dict[str, Picture | None]:
    """Return {name: picture} of all pictures on the page; None for a picture without content."""
    where, how_far = judgement.where, judgement.how_far
    gains, versus = judgement.gains, judgement.versus
    return {
        "classes": draw_classes(where) if where else None,
        "groups": draw_groups(where) if where else None,
        "errors": draw_errors(how_far) if how_far else None,
        "flexible": draw_flexible(judgement) if how_far and how_far.clinical else None,
        "gains": draw_gains(gains) if gains else None,
        "versus": draw_differences(versus) if versus else None,
    }


# Reliability diagrams


def draw_overall(judgement: Answers, name: str = "overall") -> Picture:
    """Draw the reliability diagram of all rows, with its band and the histogram of the scores.

    `name` is part of the ids in the SVG, which must differ on a page.
    """
    panel = _clean_names(first_panel(judgement))
    curve, band = panel.curve, panel.band
    words = (
        f"Reliability diagram of {curve.n:,} rows: {panel.event} against {panel.score}, with the "
        "diagonal of perfect calibration. The curve goes from "
        f"{format_number(curve.scores[0])}, where it is {format_number(curve.fit[0])}, to "
        f"{format_number(curve.scores[-1])}, where it is {format_number(curve.fit[-1])}."
    )
    if band is not None and len(band.scores):
        fit = curve.fit[curve.scores.searchsorted(band.scores).clip(max=len(curve.scores) - 1)]
        outside = float(((fit < band.low - 1e-12) | (fit > band.high + 1e-12)).mean())
        words += (
            f" At {100 * outside:.0f} % of the scores the curve is outside the "
            f"{format_percent(band.level)} band of calibrated predictions."
        )
    figure = _draw_diagrams([panel], 1, (3.55, 4.4))
    figure.axes[0].set_title("")  # the parts of the Brier score are in a table
    return Picture(_svg(figure, name), f"{words} Below is a histogram of the scores.")


def first_panel(judgement: Answers) -> Panel:
    """Return the reliability diagram of all rows."""
    where = judgement.where
    return where.panels[0] if where and where.panels else overall_panel(judgement.data)


def draw_classes(answer: Where) -> Picture | None:
    """Draw small reliability diagrams of the worst classes."""
    panels = [_clean_names(panel) for panel in answer.panels[1 : MOST_CLASSES + 1] if panel.drawn]
    if not panels:
        return None
    size = (WIDTH * min(2, len(panels)) / 2, 0.65 + 2.2 * -(-len(panels) // 2))
    figure = _draw_diagrams(panels, 2, size)
    # The first diagram of the page has the legend, and the tables have n and the discrimination.
    for legend in figure.legends:
        legend.remove()
    for text in figure.findobj(pyplot().Text):
        text.set_text(re.sub(r"\s+\(n = [\d,]+\)$|  DSC .*$", "", text.get_text()))
    names = ", ".join(panel.title.removeprefix("class ") for panel in panels)
    words = f"Reliability diagrams of {len(panels)} classes, worst first: {names}."
    return Picture(_svg(figure, "classes"), words)


def _clean_names(panel: Panel) -> Panel:
    return replace(
        panel,
        title=clean(panel.title),
        score=shorten_middle(panel.score, 40),
        event=shorten_middle(panel.event, 40),
    )


def _draw_diagrams(panels: list[Panel], per_row: int, size: tuple[float, float]) -> Any:
    figure = reliability_plot.figure(panels, per_row, size)
    for text in figure.findobj(pyplot().Text):
        text.set_text(text.get_text().replace(r"\$", "$").replace("($n$ = ", "(n = "))
        text.set_parse_math(False)
    return figure


def draw_flexible(judgement: Answers) -> Picture:
    """Draw the loess calibration curve of binary predictions beside the isotonic one."""
    assert judgement.how_far is not None and judgement.how_far.clinical is not None
    curve, panel = judgement.how_far.clinical.curve, first_panel(judgement)
    figure, ax = subplots(1, 1, 0, figsize=(WIDTH, 0.75 * WIDTH))
    axes = ax[0, 0]
    axes.plot([0, 1], [0, 1], color="0.25", linestyle="--", linewidth=0.9, label="calibrated")
    if curve.low is not None and curve.high is not None:
        band = {"color": COLOURS[1], "alpha": 0.25, "linewidth": 0}
        name = f"{format_percent(curve.level)} band"
        axes.fill_between(curve.scores, curve.low, curve.high, label=name, **band)
    axes.plot(curve.scores, curve.fit, color=COLOURS[1], label="loess")
    axes.plot(
        panel.curve.scores, panel.curve.fit, color=COLOURS[0], linewidth=1.0, label="isotonic"
    )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.04, 1.04), xlabel=clean(panel.score), ylabel=panel.event)
    axes.legend(loc="upper left")
    for text in figure.findobj(pyplot().Text):
        text.set_parse_math(False)
    words = (
        f"Loess calibration curve from {format_number(curve.scores[0])}, where it is "
        f"{format_number(curve.fit[0])}, to {format_number(curve.scores[-1])}, where it is "
        f"{format_number(curve.fit[-1])}, beside the isotonic curve."
    )
    return Picture(_svg(figure, "flexible"), words)


# Intervals


def draw_errors(answer: HowFar) -> Picture | None:
    """Draw the error estimates with their intervals and the certified intervals.

    There is an axis for each notion and estimand.
    """
    rows = []
    for error in answer.errors:
        kind = "main" if error.headline else error.kind
        rows.append((_title(error), Line(error.label, error.interval, kind)))
    for bound in answer.certified:
        rows.append((_title(bound), Line("certified", bound.interval, "certified")))
    return _draw_intervals("errors", rows, "Estimates of the calibration error")


def _title(row: ErrorEstimate | Certified) -> str:
    return f"{notion_name(row.notion)}, {estimand_name(row.estimand)}"


def draw_gains(answer: Gains) -> Picture | None:
    """Draw the gain of each recalibration with its interval, on an axis for each score."""
    rows = []
    for title, score in (("log-loss", "log_loss"), ("Brier score", "brier")):
        for gain in answer.gains:
            kind = "main" if gain.method == answer.best else "point"
            rows.append((title, Line(gain.label, getattr(gain, score), kind)))
    unit = "gain by recalibration: right of 0 is better"
    return _draw_intervals("gains", rows, "Gains by recalibration", unit)


def draw_differences(answer: Versus) -> Picture | None:
    """Draw the paired differences between models, on an axis for each quantity."""
    rows = []
    for row in answer.differences:
        label = f"{shorten_middle(row.first, 18)} − {shorten_middle(row.second, 18)}"
        rows.append((row.label, Line(label, row.difference, "main" if row.better else "point")))
    unit = "first − second: left of 0 the first model is lower"
    return _draw_intervals("versus", rows, "Differences between the models on the same rows", unit)


def draw_groups(answer: Where) -> Picture | None:
    """Draw mean score minus frequency of each group, on an axis for each group column."""
    rows = [
        (group.column, Line(group.value, group.gap, "main" if group.stands_out else "point"))
        for group in answer.groups
    ]
    unit = "mean score − frequency: right of 0 the scores are too high"
    return _draw_intervals("groups", rows, "Mean score minus frequency by group", unit)


def _draw_intervals(
    name: str, rows: list[tuple[str, Line]], subject: str, unit: str = ""
) -> Picture | None:
    """Draw the first 24 of `rows` with an axis for each title, or return None without rows.

    A row is a pair (title, line). `subject` describes the figure in words. `unit` is the label of
    the last axis. With a `unit`, a dashed line marks 0.
    """
    blocks: dict[str, list[Line]] = {}
    for title, line in rows:
        interval = line.interval
        ends = (interval.value, interval.low, interval.high)
        is_finite = any(is_known(end) and math.isfinite(end) for end in ends)
        if is_finite and sum(map(len, blocks.values())) < MOST_ROWS:
            blocks.setdefault(title, []).append(line)
    if not blocks:
        return None
    words = [f"{subject}, with intervals."]
    for title, lines in blocks.items():
        texts = [f"{clean(line.label)} {format_with_level(line.interval)}" for line in lines]
        words.append(f"{clean(title)}: {'; '.join(texts)}.")
    return Picture(_svg(_draw_axes(blocks, unit), name), " ".join(words))


def _draw_axes(blocks: dict[str, list[Line]], unit: str) -> Any:
    """Draw one axis for each block, with a dot and a bar for each of its lines."""
    labels = [[_label(line.label, LETTERS) for line in lines] for lines in blocks.values()]
    heights = [sum(0.225 + 0.14 * text.count("\n") for text in texts) + 0.12 for texts in labels]
    height = sum(heights) + 0.46 * len(blocks) + (0.16 if unit else 0.0)
    figure, axes = pyplot().subplots(
        len(blocks),
        1,
        figsize=(WIDTH, height),
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
    )
    figure.get_layout_engine().set(w_pad=0.1)  # the fonts of a browser may be wider
    for ax, (title, lines), texts in zip(axes[:, 0], blocks.items(), labels):
        for i, line in enumerate(lines):
            _draw_row(ax, -i, line)
        ax.set_yticks(range(0, -len(texts), -1), texts, parse_math=False)
        ax.set_ylim(-len(texts) + 0.4, 0.6)
        ax.set_title(_label(title, 60), loc="left", fontweight="bold", parse_math=False)
        ax.locator_params(axis="x", nbins=5)
        ax.grid(visible=False, axis="y")
        low, high = ax.get_xlim()
        if unit:
            ax.axvline(0.0, color="0.25", linestyle="--", linewidth=0.9, zorder=1)
            margin = 0.15 * max(abs(low), abs(high))
            ax.set_xlim(min(low, -margin), max(high, margin))
        elif low < 0.3 * high:
            ax.set_xlim(left=0.0)
    axes[-1, 0].set_xlabel(unit, parse_math=False)
    return figure


def _draw_row(ax: Any, place: int, line: Line) -> None:
    """Draw one row of a figure of intervals.

    A filled dot marks a main row, an open dot any other. Certified bounds are orange. An arrow
    marks a side without an end.
    """
    colour = COLOURS[1] if line.kind == "certified" else COLOURS[0]
    interval = line.interval
    value, low, high = (
        end if is_known(end) and math.isfinite(end) else None
        for end in (interval.value, interval.low, interval.high)
    )
    mark = {"color": colour, "linestyle": "none", "markeredgewidth": 1.3, "zorder": 3}
    is_bound = line.kind in ("lower", "upper")
    ends = [end for end in (low, value, high) if is_known(end)]
    if is_known(low) and is_known(high):
        width = 2.2 if line.kind in ("main", "certified") else 1.3
        bar = {"color": colour, "linewidth": width, "zorder": 2, "solid_capstyle": "butt"}
        ax.plot([low, high], [place, place], **bar)
        ax.plot([low, high], [place, place], marker="|", markersize=7, **mark)
    elif ends and (is_bound or is_known(low) or is_known(high)):
        is_lower = line.kind == "lower" or is_known(low)
        ax.plot(ends[:1], [place], marker=">" if is_lower else "<", markersize=6, **mark)
    if is_known(value) and not is_bound and line.kind != "certified":
        fill = colour if line.kind == "main" else "none"
        ax.plot([value], [place], marker="o", markersize=5.5, markerfacecolor=fill, **mark)


def _label(text: str, letters: int) -> str:
    """Wrap a label to at most four lines of `letters` characters."""
    return "\n".join(textwrap.wrap(shorten_middle(text, 4 * letters - 9), letters)[:4]) or DASH


# SVG


def _svg(figure: Any, name: str) -> str:
    """Return a figure as an SVG element without a size, with colours as CSS variables.

    Ids in the SVG depend on `name`, so that two figures of a page never share a clip path. A
    shared clip path would have no effect while the figure that defines it is hidden.
    """
    plt = pyplot()
    file = io.StringIO()
    options = {"svg.fonttype": "none", "svg.hashsalt": name}
    with plt.rc_context(options), warnings.catch_warnings():
        # matplotlib's font lacks some letters, but the browser has them.
        warnings.simplefilter("ignore")
        metadata = {"Date": None, "Creator": None}
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
    plt.close(figure)
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].replace("xlink:href", "href")
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r"\s*\n\s*", " ", svg).replace("> <", "><")
    # Hundredths of a point are exact enough. Texts stay.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)
    box = re.search(r'viewBox="([^"]*)"', svg)
    assert box is not None
    width = LARGEST_SCALE * float(box[1].split()[2])
    opening = f'<svg viewBox="{box[1]}" style="max-width: {width:.0f}px" aria-hidden="true">'
    svg = re.sub(r"<svg [^>]*>", opening, svg, count=1)
    svg = re.sub(r"; font-family: [^;\"]*|(?<=\")font-family: [^;\"]*; ", "", svg)
    for colour, variable in PAGE_COLOURS.items():
        svg = re.sub(rf"(fill|stroke): {colour}", rf"\1: var({variable})", svg)
    used = set(re.findall(r'(?:url\(#|href="#)([\w-]+)', svg))
    return re.sub(r' id="([\w.-]+)"', lambda m: m[0] if m[1] in used else "", svg)
