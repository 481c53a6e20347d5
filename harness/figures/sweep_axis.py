"""The x axis of the figure of a sweep: places, scale and ticks of the values of a parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.configure import sweeps
from harness.configure.settings import Settings
from harness.evaluation.sweep_tables import are_numbers, comparable
from harness.figures.options import font_scale

FEW_NUMBERS = 5  # a linear axis with more numbers has round ticks
PAD = 0.04167  # inches, matplotlib's distance between panels
LONGEST_NAME = 28  # characters of a name at a tick
LOG_RATIO = 20.0  # smallest ratio of largest to smallest value for a logarithmic axis


@dataclass(frozen=True)
class Axis:
    """The x axis of the figure: a swept parameter and its values.

    Numbers are drawn at their value, names at equal distances.
    """

    name: str
    values: Sequence[Any]
    paired: Sequence[str] = ()

    @property
    def is_ordered(self) -> bool:
        """True for numbers. Names have no order, so that no line connects their estimates."""
        return are_numbers(self.values)

    @property
    def text(self) -> str:
        """Label of the axis, which names the parameters that change with this one."""
        return self.name + (f" (together with {', '.join(self.paired)})" if self.paired else "")

    @property
    def places(self) -> dict[Any, float]:
        """The coordinate of each value, as {value: coordinate}."""
        return {
            comparable(v): float(v if self.is_ordered else i) for i, v in enumerate(self.values)
        }

    def coordinates(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the x coordinate of each row of a frame."""
        places = self.places
        return np.array([places[comparable(value)] for value in frame[self.name]])

    def scale(self, ax: Any) -> None:
        """Set the scale and the ticks of the x axis of a panel: a tick for each value.

        More than five numbers on a linear axis have round ticks instead.
        """
        places, values = list(self.places.values()), list(self.values)
        if not self.is_ordered:
            ax.set_xticks(places, shortened([sweeps.shown_text(v) for v in values]))
            return
        if is_log(places):
            ax.set_xscale("log")
        if len(values) <= FEW_NUMBERS or is_log(places):
            ax.set_xticks(sorted(places), [tick_text(v) for v in sorted(values)])
            ax.minorticks_off()
        elif all(isinstance(v, int) for v in values):
            ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=2))

    def fit(self, figure: Figure, grid: np.ndarray, settings: Settings, aligned: bool) -> None:
        """Turn names, or leave out numbers, so that the labels of the ticks do not overlap.

        `grid` has all panels, which share the x axis. If they are `aligned`, turned names stand
        only at the lowest panels, and the figure grows by their length.
        """
        figure.draw_without_rendering()  # computes the layout of the panels
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        shown = [ax for ax in grid.flat if ax.get_visible()]
        lowest = shown[-1]
        labels = lowest.get_xticklabels()
        boxes = [label.get_window_extent(renderer) for label in labels]
        widths = font_scale(settings) * np.array([box.width for box in boxes])
        height = font_scale(settings) * max(box.height for box in boxes)
        ticks = lowest.get_xticks()
        centres = lowest.transData.transform([(tick, 1.0) for tick in ticks])[:, 0]
        if self.is_ordered:
            if len(self.values) <= FEW_NUMBERS or is_log(list(self.places.values())):
                kept = legible(centres, widths, gap=height / 2)
                texts = [labels[i].get_text() for i in kept]
                lowest.set_xticks(ticks[kept], texts)
            return
        rotation = name_rotation(np.diff(centres).min(initial=np.inf), widths.max(), height)
        if not rotation:
            return
        alignment = {"ha": "right", "va": "center", "rotation_mode": "anchor"}
        for ax in shown:
            if aligned and ax not in grid[-1]:
                ax.tick_params(labelbottom=False)
            for text in ax.get_xticklabels():
                text.set(rotation=rotation, **alignment)
        length = math.sin(math.radians(rotation)) * widths.max() / figure.dpi
        # At the resolution of a file, turned texts were up to 4 % longer than in the layout.
        figure.get_layout_engine().set(h_pad=PAD + 0.05 * length)  # type: ignore[union-attr, call-arg]
        if not settings.figure.size:
            rows = 1 if aligned else len(grid)
            figure.set_figheight(figure.get_figheight() + rows * length)


def is_log(places: Sequence[float]) -> bool:
    """Return True if the values are positive and span enough for a logarithmic axis."""
    return min(places) > 0 and max(places) / min(places) >= LOG_RATIO


def tick_text(value: float) -> str:
    """Return the text of a number at a tick: from 10,000 with commas, or as a power of ten."""
    if not isinstance(value, int) or abs(value) < 10_000:
        return sweeps.value_text(value)
    power = len(str(value)) - 1
    return f"$10^{{{power}}}$" if value == 10**power else f"{value:,}"


def shortened(names: Sequence[str]) -> list[str]:
    """Return the ends of names that are longer than LONGEST_NAME, if these ends differ."""
    ends = [n if len(n) <= LONGEST_NAME else f"…{n[1 - LONGEST_NAME :]}" for n in names]
    return ends if len(set(ends)) == len(set(names)) else list(names)


def legible(centres: np.ndarray, widths: np.ndarray, gap: float) -> list[int]:
    """Return the indices of labels that do not overlap, the first and the last among them.

    `centres` increase. Two labels are at least `gap` apart, in the unit of centres and widths.
    """
    last = len(centres) - 1

    def is_clear(i: int, j: int) -> bool:
        return bool(centres[j] - centres[i] >= (widths[i] + widths[j]) / 2 + gap)

    kept = [0]
    for i in range(1, last):
        if is_clear(kept[-1], i) and is_clear(i, last):
            kept.append(i)
    return [*kept, last] if last else kept


def name_rotation(spacing: float, width: float, height: float) -> float:
    """Return the angle in degrees at which names of this size stand free: 0, 30 or 90.

    `spacing` is the distance of neighbouring ticks, `width` that of the longest name.
    """
    if width <= 0.95 * spacing:
        return 0.0
    # Lines at 30 degrees are half the spacing apart. Long ones would reach beyond the panel.
    return 30.0 if height <= 0.5 * spacing and width <= 2.0 * spacing else 90.0
