"""Binned calibration error of vectors, on bins of the simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate, check_integer
from harness.estimators.residual_kernels import (
    check_residuals,
    group_sums,
)

MAX_INTERVALS = 1_000_000


@dataclass(frozen=True)
class SimplexECE:
    """Binned calibration error of vectors, on bins of the simplex.

        l1 = 1/n sum_b ||sum_{i in b} (e_{y_i} - f_i)||_1

    f_i is one of n predictions of k classes, y_i its label and e_{y_i} the one-hot vector of the
    label. This estimates E ||f - E[Y given f]||_1. Every coordinate of f lies in one of the m
    intervals [j/m, (j+1)/m); the last interval is closed. Predictions are in the same bin b if all
    their coordinates lie in the same intervals.

    Parameters
    ----------
    intervals : int
        Number m of intervals per coordinate. The paper uses 3, and leaves open which end of an
        interval is closed.

    Notes
    -----
    For two columns, the norm is twice the binned error of one column. Binary predictions p (n,) are
    judged as the two columns (1 - p, p), under the canonical notion.

    Biased upwards by the noise of the bin means, strongly if there are many bins. Biased downwards
    by gaps that cancel inside a bin. The diagnostic `bins` is the number of bins that are not
    empty. Cost: O(n k), also in memory.

    References
    ----------
    moskvichev2025, Section 5.

    Examples
    --------
    >>> e = SimplexECE()([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]], [0, 1, 1])["l1"]
    >>> round(e.value, 6), e.diagnostics
    (0.666667, {'bins': 3})
    """

    intervals: int = 3

    notions = ("canonical",)
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    null_bias = 0.1

    def __post_init__(self) -> None:
        check_integer("intervals", self.intervals)
        if self.intervals > MAX_INTERVALS:
            raise BadInputError(
                f"intervals is {self.intervals!r}; give an integer of at most {MAX_INTERVALS}."
            )

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        q, r = check_residuals(p, y)
        small_type = np.min_scalar_type(int(self.intervals))
        index = np.minimum(np.floor(q * self.intervals), self.intervals - 1).astype(small_type)
        if index.itemsize == 1:
            # View each row as one value: with many classes, sorting is thirty times as fast.
            index = np.ascontiguousarray(index).view(np.dtype((np.void, index.shape[1]))).ravel()
        _, sums, sizes = group_sums(index, r)
        return {
            "l1": Estimate(float(np.abs(sums).sum() / len(q)), diagnostics={"bins": len(sizes)})
        }
