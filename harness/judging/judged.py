"""Predictions that are judged, with labels, groups and weights of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.common.wording import format_count


@dataclass(frozen=True)
class Judged:
    """Predictions to be judged.

    Attributes
    ----------
    name : str
        Name of the model: the file's name without its ending, or "predictions".
    p : ndarray (n, k)
        Probabilities. A single column of probabilities of class 1 becomes p[:, 1], with k = 2.
    y : ndarray (n,) of int
        Labels in 0..k-1.
    classes : tuple of str
        Names of the k classes.
    understood : str
        One line on how the file was read.
    groups : mapping of str to ndarray (n,)
        {name: values} of other columns that divide the rows into groups.
    confidences : bool
        True if p[:, 1] holds confidences and y tells which predictions were right. Only top-label
        calibration can then be judged.
    row_groups : ndarray (n,) of int or None
        Group of each row, 0..G-1, if rows of the same group may depend on one another.
    note : str
        A sentence on how its rows were matched with those of another model, or "".
    weights : ndarray (n,) or None
        Weights of the rows, before `harness.judging.weights.repeated` repeats the rows.
    weighted_rows : int or None
        Number of rows before they were repeated in proportion to their weights.
    are_copies : bool
        True if `row_groups` are the copies of single rows with weights.
    """

    name: str
    p: NDArray[np.float64]
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    understood: str = ""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    confidences: bool = False
    row_groups: NDArray[np.int64] | None = None
    note: str = ""
    weights: NDArray[np.float64] | None = None
    weighted_rows: int | None = None
    are_copies: bool = False

    @property
    def n(self) -> int:
        """Number of rows, in which rows with weights are repeated."""
        return len(self.y)

    @property
    def given(self) -> int:
        """Number of rows as they were given."""
        return self.n if self.weighted_rows is None else self.weighted_rows

    @property
    def rows(self) -> str:
        """The number of rows in words: "1 row", "9 rows of different weight in 3 groups"."""
        text = format_count(self.given, "row")
        if self.weighted_rows is not None:
            text += " of different weight"
        return text if self.group_count is None else f"{text} in {self.group_count:,} groups"

    def count_rows(self, count: int) -> str:
        """Return `count` of the n rows in words: "3 rows", or "some rows" if these are copies."""
        return format_count(count, "row") if self.weighted_rows is None else "some rows"

    @property
    def group_count(self) -> int | None:
        """Number of groups of rows; None if rows are independent."""
        if self.row_groups is None or self.are_copies:
            return None
        return int(self.row_groups.max()) + 1

    @property
    def units(self) -> str:
        """Name of the independent units: "rows" or "groups of rows"."""
        return "rows" if self.group_count is None else "groups of rows"

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.p.shape[1])

    @property
    def notions(self) -> tuple[str, ...]:
        """The notions that are judged, the main one first."""
        if self.confidences:
            return ("top_label",)
        return ("binary",) if self.k == 2 else ("top_label", "classwise", "canonical")
