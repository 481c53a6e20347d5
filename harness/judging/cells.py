"""Sums of outcomes over cells of the scores, and their exact law under calibration.

Rows are put into cells by their scores alone. If the outcomes are independent with P(y_i = 1) = p_i, the number of events in a
cell is Poisson-binomial: a sum of independent Bernoulli(p_i). Its law is computed once, and a resample of the outcomes costs one
draw for each cell in place of one for each row. Tests may use whatever they like of these sums and stay exact at every n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELLS = 48  # of equal variance
COARSE = 10  # groups of cells, of equal variance
TAIL_LOGIT = 4.0  # beyond, cells are moreover split at even logits: a surprise among certain rows must not drown in a cell
# rows of a cell; for more the binomial law of the same mean and variance is taken, in cells of beta, uniform and saturated scores
# at most 7e-5 from the exact law in total variation
LARGEST_EXACT = 200


@dataclass(frozen=True)
class Cells:
    """m cells of rows with 0 < p < 1, ascending in p.

    Attributes
    ----------
    of_row : ndarray (n,) of int
        The cell of each row; -1 where p is 0 or 1, whose outcomes do not vary.
    expected, variance : ndarray (m,)
        Mean and variance of the number of events under calibration.
    logit : ndarray (m,)
        Mean log-odds of the rows, weighted by their variances.
    coarse : ndarray (m,) of int
        The group of each cell.
    """

    of_row: NDArray[np.int64]
    p: Array
    expected: Array
    variance: Array
    logit: Array
    coarse: NDArray[np.int64]

    @property
    def m(self) -> int:
        return len(self.expected)

    def residual(self, y: NDArray[np.int64]) -> Array:
        """Events minus expected events, (m,)."""
        inside = self.of_row >= 0
        found: Array = np.bincount(self.of_row[inside], y[inside], self.m) - self.expected
        return found

    def drawn(self, count: int, rng: np.random.Generator) -> Array:
        """Residuals of `count` resamples of the outcomes, (count, m), Y ~ p."""
        return _drawn(self, count, rng)


def cells_of(p: Array, cells: int = CELLS) -> Cells:
    """The cells of scores p (n,): of equal variance, equal scores together.

    Examples
    --------
    >>> made = cells_of(np.array([0.0, 0.2, 0.2, 0.5, 1.0]), cells=2)
    >>> made.of_row.tolist(), made.expected.tolist()
    ([-1, 0, 0, 1, -1], [0.4, 0.5])
    """
    inside = np.flatnonzero((p > 0.0) & (p < 1.0))
    order = inside[np.argsort(p[inside], kind="stable")]
    at = p[order]
    variance = at * (1.0 - at)
    logit = np.log(at) - np.log1p(-at)
    new = np.diff(at, prepend=-1.0) > 0.0
    start = np.flatnonzero(new)
    mass = np.add.reduceat(variance, start) if len(start) else np.zeros(0)
    middle = (np.cumsum(mass) - mass / 2.0) / max(mass.sum(), np.finfo(float).tiny)
    tail = np.where(np.abs(logit[start]) > TAIL_LOGIT, np.floor(logit[start] / 2.0), 0.0)
    fine: Array = np.floor(cells * np.minimum(middle, 1.0 - 1e-12))
    first = (
        np.concatenate([[True], (np.diff(fine) != 0.0) | (np.diff(tail) != 0.0)])
        if len(start)
        else np.zeros(0, dtype=bool)
    )
    cell_of_value = np.cumsum(first) - 1
    cell = cell_of_value[np.cumsum(new) - 1].astype(np.int64)
    m = int(cell[-1]) + 1 if len(cell) else 0
    of_row = np.full(len(p), -1, dtype=np.int64)
    of_row[order] = cell
    v = np.bincount(cell, variance, m).astype(np.float64)
    coarse = np.floor(COARSE * np.minimum(middle, 1.0 - 1e-12)).astype(np.int64)[first]
    return Cells(
        of_row=of_row,
        p=p,
        expected=np.bincount(cell, at, m).astype(np.float64),
        variance=v,
        logit=np.bincount(cell, variance * logit, m) / v if m else np.zeros(0),
        coarse=np.unique(coarse, return_inverse=True)[1].astype(np.int64),
    )


def poisson_binomial(p: Array) -> Array:
    """P(S = s), s = 0..n, of S the sum of independent Bernoulli(p_i): rows of p (m, n) are m sums.

    Examples
    --------
    >>> poisson_binomial(np.array([[0.5, 0.2]])).round(3).tolist()
    [[0.4, 0.5, 0.1]]
    """
    m, n = p.shape
    mean, spread = p.sum(axis=1), np.sqrt((p * (1.0 - p)).sum(axis=1))
    most = int(
        min(n, np.ceil((mean + 9.0 * spread).max(initial=0.0)) + 25)
    )  # beyond lies less than 1e-15
    law = np.zeros((m, most + 1))
    law[:, 0] = 1.0
    for t in range(n):
        q = p[:, t, None]
        law[:, 1:] += q * (law[:, :-1] - law[:, 1:])
        law[:, 0] *= 1.0 - q[:, 0]
    return law


def _drawn(cells: Cells, count: int, rng: np.random.Generator) -> Array:
    if cells.m == 0:
        return np.zeros((count, 0))
    inside = np.flatnonzero(cells.of_row >= 0)
    size = np.bincount(cells.of_row[inside], minlength=cells.m)
    turned = (
        cells.expected > size / 2.0
    )  # rare events are counted: of most rows with an event, those without
    found = np.empty((count, cells.m))
    small = np.flatnonzero(size <= LARGEST_EXACT)
    if len(small):
        law = poisson_binomial(_padded(cells, inside, size, small, turned))
        below = np.cumsum(law, axis=1)
        for row, j in enumerate(small):
            found[:, j] = np.searchsorted(
                below[row] / below[row, -1], rng.random(count), side="right"
            )
    large = np.flatnonzero(size > LARGEST_EXACT)
    if len(large):
        mean = np.where(turned, size - cells.expected, cells.expected)[large]
        trials = np.maximum(
            np.rint(mean**2 / np.maximum(mean - cells.variance[large], 1e-300)), np.ceil(mean)
        )
        trials = np.minimum(trials, 2.0**62)
        found[:, large] = rng.binomial(
            trials.astype(np.int64), np.minimum(mean / trials, 1.0), (count, len(large))
        )
    found = np.where(turned, size - found, found) - cells.expected
    return found


def _padded(
    cells: Cells,
    inside: NDArray[np.int64],
    size: NDArray[np.int64],
    small: NDArray[np.int64],
    turned: NDArray[np.bool_],
) -> Array:
    """The probabilities of the rows of the small cells, (cells, largest size), 0 where there are fewer rows."""
    place = np.full(cells.m, -1)
    place[small] = np.arange(len(small))
    cell = cells.of_row[inside]
    order = np.argsort(cell, kind="stable")
    start = np.concatenate([[0], np.cumsum(size)])[:-1]
    position = np.arange(len(inside)) - start[cell[order]]
    kept = place[cell[order]] >= 0
    rows, where, column = inside[order][kept], place[cell[order]][kept], position[kept]
    filled = np.zeros((len(small), int(size[small].max())))
    filled[where, column] = np.where(turned[cells.of_row[rows]], 1.0 - cells.p[rows], cells.p[rows])
    return filled
