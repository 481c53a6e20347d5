"""What only the authors' code does: their temperature scaling and isotonic regression (see NOTES.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.calibrators.logits import floored_log, in_columns
from harness.errors import BadInputError
from harness.math.kernels import two_columns
from harness.math.notions import one_hot
from harness.math.softmax import softmax

TEMPERATURES = np.linspace(1e-4, 5.0, 10_000).astype(np.float32).astype(np.float64)
CLIP = 1e-7  # scores are kept in [CLIP, 1 - CLIP]


@dataclass(frozen=True)
class TemperatureGrid:
    """Temperature scaling by a grid of 10,000 temperatures.

        q = softmax(log p / T),   T the first of linspace(0.0001, 5, 10000), in float32, with the least `objective`

    `objective` is the mean log-loss ("nll") or the Brier score ("brier"). Theirs starts from the logits; log p, floored at
    -87.336, differs from them by a constant per row, which the softmax does not see. Scalars are taken as two columns.

    Determinism: exact. Cost: O(n k) per temperature tried. The log-loss is convex in 1 / T, so that a bisection of the grid finds
    its minimum; the Brier score is not, and all temperatures are tried.
    """

    objective: str = "nll"

    determinism = "exact"

    def __post_init__(self):
        if self.objective not in ("nll", "brier"):
            raise BadInputError(f"objective is {self.objective!r}; allowed are nll, brier.")

    def temperature(self, p, y) -> float:
        """The T that is chosen on p (n, k) or (n,), y (n,)."""
        z = floored_log(two_columns(p))
        loss = self._loss(z, y)
        if self.objective == "brier":
            return float(TEMPERATURES[int(np.argmin([loss(t) for t in TEMPERATURES]))])
        low, high = 0, len(TEMPERATURES) - 1  # the first minimum of a convex function lies in [low, high]
        while low < high:
            middle = (low + high) // 2
            if loss(TEMPERATURES[middle]) <= loss(TEMPERATURES[middle + 1]):
                high = middle
            else:
                low = middle + 1
        return float(TEMPERATURES[low])

    def _loss(self, z, y):
        if self.objective == "brier":
            hits = one_hot(y, z.shape[1])
            return lambda t: float(((softmax(z / t) - hits) ** 2).sum() / len(z))
        z = z - z.max(axis=1, keepdims=True)
        of_outcome = float(z[np.arange(len(y)), y].mean())
        return lambda t: float(np.log(np.exp(z / t).sum(axis=1)).mean()) - of_outcome / t

    def fit(self, p, y, rng=None):
        t = self.temperature(p, y)

        def q(x):
            scaled = softmax(floored_log(two_columns(x)) / t)
            return scaled[:, 1] if x.ndim == 1 else scaled

        return q


@dataclass(frozen=True)
class IsotonicScaled:
    """Isotonic regression per class that is fitted to rescaled scores and applied to scores as they are.

        q_j(p) = m_j^-1(r_j(p_j))

    m_j is the affine map of class j that carries the scores it is fitted to onto [0, 1] (where these are all equal: score -
    minimum). r_j is the isotonic regression of 1{y = j} on m_j(score), with values in [0, 1] and constant outside the data. The
    authors' code applies it to the score p_j, not to m_j(p_j), and m_j^-1 to its value, a probability. Scores and results are
    clipped to [1e-7, 1 - 1e-7]. Rows do not sum to 1; harness.problems.Recalibrated divides them by their sums. Scalars are one
    column.

    All is in single precision, as theirs: at the edge of a step another rounding is another value. Determinism: exact. Cost:
    O(k n log n)."""

    determinism = "exact"

    def fit(self, p, y, rng=None):
        from sklearn.isotonic import IsotonicRegression

        x = _clipped(in_columns(p))
        hits = (y[:, None] if p.ndim == 1 else one_hot(y, p.shape[1])).astype(np.float32)
        least, width = x.min(axis=0), np.ptp(x, axis=0)
        width = np.where(width > 0, width, np.float32(1.0))
        scaled = (x - least) / width
        steps = [
            IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scaled[:, j], hits[:, j]).predict
            for j in range(x.shape[1])
        ]

        def q(t):
            columns = _clipped(in_columns(t))
            values = np.column_stack([r(columns[:, j]) for j, r in enumerate(steps)])
            values = _clipped(values * width + least).astype(np.float64)
            return values[:, 0] if t.ndim == 1 else values

        return q


def _clipped(p):
    return np.clip(p.astype(np.float32), CLIP, 1.0 - CLIP)
