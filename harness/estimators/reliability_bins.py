"""Binned L1 error with the bins of a reliability diagram, which are arrays of its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness.estimators.base import Estimate
from harness.estimators.binned import check_bins
from harness.math.notions import checked_by_class

COLUMNS = ("class", "bin", "count", "mean", "share")  # names of the arrays


@dataclass(frozen=True)
class ReliabilityBins:
    """L1 error over bins of equal width, with the data of a reliability diagram.

        l1 = sum_b (n_b / n) |mean p in b - mean y in b|

    n_b of the n samples are in bin b.

    Parameters
    ----------
    bins : int
        Number of bins (a, b] of equal width. p = 0 belongs to the first bin.

    Notes
    -----
    Estimand: l1; under the class-wise notion, the mean over the classes. Biased upwards by the
    noise of the mean outcomes, and downwards by gaps that cancel in a bin. `Binned` has bins [a, b)
    instead.

    The arrays have one entry per class and non-empty bin: `class` and `bin`, from 0, `count`, the
    number of samples, `mean`, the mean of p, and `share`, the mean of y. For the other notions,
    `class` is 0. Cost: O(n k) for k classes.

    Examples
    --------
    >>> import numpy as np
    >>> e = ReliabilityBins(bins=10)(np.array([0.0, 0.1, 0.95, 1.0]), np.array([0, 1, 1, 1]))["l1"]
    >>> round(e.value, 4), e.arrays["bin"], e.arrays["share"]
    (0.2375, array([0., 9.]), array([0.5, 1. ]))
    """

    bins: int = 15

    notions: ClassVar[tuple[str, ...]] = ("binary", "top_label", "classwise")
    estimands = ("l1",)
    determinism = "rounding"
    revision = 2
    null_bias = 0.1
    takes_classwise = True

    def __post_init__(self) -> None:
        check_bins(self.bins)

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the error of p for outcomes y, both (n,), or both (n, k) class-wise."""
        columns = checked_by_class(p, y)
        errors: list[float] = []
        tables: list[np.ndarray] = []
        for j, (x, hits) in enumerate(columns):
            index = np.clip(np.ceil(x * self.bins).astype(int) - 1, 0, self.bins - 1)
            count = np.bincount(index, minlength=self.bins)
            used = np.flatnonzero(count)
            mean, share = (np.array([a[index == b].mean() for b in used]) for a in (x, hits))
            errors.append(float(count[used] @ np.abs(mean - share) / len(x)))
            tables.append(np.stack([np.full(len(used), j), used, count[used], mean, share]))
        arrays = dict(zip(COLUMNS, np.concatenate(tables, axis=1)))
        return {"l1": Estimate(float(np.mean(errors)), arrays=arrays)}


@dataclass(frozen=True)
class FirstClassBins(ReliabilityBins):
    """`ReliabilityBins` for the probability of class 0 of a vector.

    Parameters
    ----------
    bins : int
        Number of bins (a, b] of equal width. A probability of 0 belongs to the first bin.

    Notes
    -----
    Estimand: l1 of the probability of class 0, against the outcome "the label is 0". The bias and
    the arrays are those of `ReliabilityBins`. Cost: O(n).

    Examples
    --------
    >>> e = FirstClassBins()(np.array([[0.95, 0.05], [0.35, 0.65]]), np.array([0, 1]))["l1"]
    >>> round(e.value, 4), e.arrays["share"]
    (0.2, array([0., 1.]))
    """

    bins: int = 10

    notions = ("canonical",)

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the error of the first column of predictions p (n, k) for labels y (n,)."""
        return super().__call__(p[:, 0], y == 0)
