"""The x axis of the figure of a sweep: places, scale and ticks of the values of a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.configure import sweeps
from harness.evaluation.sweep_tables import are_numbers, comparable

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
        """Set the scale and the ticks of the x axis of a panel."""
        places, values = list(self.places.values()), list(self.values)
        if not self.is_ordered:
            rotation = 30 if len(values) > 4 else 0
            ax.set_xticks(places, [sweeps.value_text(v) for v in values], rotation=rotation)
            return
        if is_log(places):
            ax.set_xscale("log")
        if len(values) <= 5 or is_log(places):
            step = -(-len(values) // 6)
            ax.set_xticks(
                sorted(places)[::step], [sweeps.value_text(v) for v in sorted(values)[::step]]
            )
            ax.minorticks_off()


def is_log(places: Sequence[float]) -> bool:
    """Return True if the values are positive and span enough for a logarithmic axis."""
    return min(places) > 0 and max(places) / min(places) >= LOG_RATIO
