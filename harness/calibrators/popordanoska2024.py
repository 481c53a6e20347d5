"""Temperature scaling and isotonic regression as popordanoska2024's code has them (experiments/popordanoska2024/NOTES.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.calibrators.temperature import _logs, _softmax
from harness.errors import BadInputError
from harness.math.kernels import two_columns
from harness.math.notions import one_hot

LEAST = 1e-7  # scores are kept in [LEAST, 1 - LEAST]


@dataclass(frozen=True)
class TemperatureGrid:
    """q = softmax(log p / T), T the first of 10,000 equally spaced values from 0.0001 to 5, in single precision, with the least
    mean log-loss (`objective` "nll") or Brier score ("brier"). Theirs starts from the logits; log p, floored at -87.336, differs
    from them by a constant per row, which softmax does not see. Scalars as two columns. O(n k) per value tried: the log-loss
    is convex in 1 / T, so that a bisection of the grid finds its minimum; the Brier score is not, and all 10,000 are tried.
    """

    objective: str = "nll"

    determinism = "exact"

    def __post_init__(self):
        if self.objective not in ("nll", "brier"):
            raise BadInputError(f"objective is {self.objective!r}; allowed are nll, brier.")

    def temperature(self, p, y) -> float:
        """The T that is chosen on p (n, k) or (n,), y (n,)."""
        z = _logs(two_columns(p))
        loss = self._loss(z, y)
        if self.objective == "brier":
            return float(GRID[int(np.argmin([loss(t) for t in GRID]))])
        low, high = 0, len(GRID) - 1  # the first minimum of a convex function lies in [low, high]
        while low < high:
            middle = (low + high) // 2
            if loss(GRID[middle]) <= loss(GRID[middle + 1]):
                high = middle
            else:
                low = middle + 1
        return float(GRID[low])

    def _loss(self, z, y):
        if self.objective == "brier":
            hits = one_hot(y, z.shape[1])
            return lambda t: float(((_softmax(z / t) - hits) ** 2).sum() / len(z))
        z = z - z.max(axis=1, keepdims=True)
        of_outcome = float(z[np.arange(len(y)), y].mean())
        return lambda t: float(np.log(np.exp(z / t).sum(axis=1)).mean()) - of_outcome / t

    def fit(self, p, y, rng=None):
        t = self.temperature(p, y)

        def q(x):
            scaled = _softmax(_logs(two_columns(x)) / t)
            return scaled[:, 1] if x.ndim == 1 else scaled

        return q


@dataclass(frozen=True)
class IsotonicScaled:
    """Isotonic regression per class, in units that do not fit. Scores are kept in [1e-7, 1 - 1e-7]. Per class an affine map m
    carries the validation scores onto [0, 1]; isotonic regression r (values in [0, 1], constant outside) is fitted on m(score)
    against 1{y = j}. But it is applied to the score itself, and the inverse of m to its value: q_j = m^-1(r(p_j)), kept in [1e-7,
    1 - 1e-7]. Rows are as they come and do not sum to 1; harness.problems.Recalibrated divides by the sums. A class with equal
    scores in every row has m(score) = score - minimum. Scalars: their one column. In single precision, as theirs: at the edge of
    a step another rounding is another value. O(k n log n)."""

    determinism = "exact"

    def fit(self, p, y, rng=None):
        from sklearn.isotonic import IsotonicRegression

        x = _kept(p[:, None] if p.ndim == 1 else p)
        hits = (y[:, None] if p.ndim == 1 else one_hot(y, p.shape[1])).astype(np.float32)
        least, width = x.min(axis=0), np.ptp(x, axis=0)
        width = np.where(width > 0, width, np.float32(1.0))
        scaled = (x - least) / width
        steps = [
            IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scaled[:, j], hits[:, j]).predict
            for j in range(x.shape[1])
        ]

        def q(t):
            columns = _kept(t[:, None] if t.ndim == 1 else t)
            values = np.column_stack([r(columns[:, j]) for j, r in enumerate(steps)])
            values = _kept(values * width + least).astype(np.float64)
            return values[:, 0] if t.ndim == 1 else values

        return q


def _kept(p):
    return np.clip(p.astype(np.float32), LEAST, 1.0 - LEAST)


GRID = np.linspace(1e-4, 5.0, 10_000).astype(np.float32).astype(np.float64)
