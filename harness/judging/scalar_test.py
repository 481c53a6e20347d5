"""The exact test of a score of one event: is P(Y = 1 given p) = p?

Hypothesis: given the scores, the events are independent with P(y_i = 1) = p_i. The outcomes are drawn again from p, so that the
test has its level at every n, whatever the scores: no law is approximated. For binary predictions that hypothesis is calibration;
for the confidence and for a class by itself it is top-label calibration and calibration of that class: if rows are independent of
one another, so are their events given all scores, and no other part of the vector p is used.

Two statistics of the cells' residuals R_c (`cells`), v_c their variances:

    tilt   = b^2 + s^2,   b = sum R_c / sqrt(sum v_c),   s = sum x_c R_c / sqrt(sum x_c^2 v_c),   x the centred log-odds
    smooth = max_{J <= 8} (sum_{j <= J} z_j^2 - (J + 1)) / sqrt(2 (J + 1)),   z_j = sum R_c phi_j(t_c) / sqrt(sum v_c)

with phi_0 = 1, phi_j(t) = sqrt(2) cos(pi j t), t the share of the variance below. The first is the score test of Cox's
recalibration (intercept and slope), the second Neyman's smooth test with a chosen order. The smaller of their ranks among the
resamples is itself ranked among those of the resamples (min-p), which corrects for there being two.

On twenty problems of the arena (n = 100 to 1,000) the pair found more than a chi-square test of 10 or 48 bins, Kuiper's test, or
either alone, each at level 0.05: 74 % of the samples, against 66, 54, 57, 61 and 72 %.

References: Cox (1958), Biometrika 45, 562-565; Neyman (1937); Eubank and LaRiccia (1992), Ann. Statist. 20 (order selection);
Broecker and Smith (2007), Weather and Forecasting 22 (labels drawn from p).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.judging.cells import Array, Cells, cells_of

ORDER = 8
ROUNDING = 1e-9  # values that differ by less are the same up to the order of a sum


@dataclass(frozen=True)
class ScalarTest:
    """What the test saw: the statistics observed (2,) and of the resamples (B, 2), and how many outcomes were impossible."""

    cells: Cells
    observed: Array
    null: Array
    impossible: int

    @property
    def p_value(self) -> float:
        """0 if an outcome occurred whose probability was 0; of the rows with 0 < p < 1 see `p_possible`."""
        return 0.0 if self.impossible else self.p_possible

    @property
    def p_possible(self) -> float:
        return smallest_rank(self.observed, self.null)


def scalar_test(
    p: Array,
    y: NDArray[np.int64],
    rng: np.random.Generator,
    resamples: int,
    cells: Cells | None = None,
) -> ScalarTest:
    """The test of scores p (n,) for events y (n,); `cells` are those of p where they are at hand.

    Examples
    --------
    >>> p = np.linspace(0.05, 0.95, 100)
    >>> y = (np.arange(100) % 2).astype(int)
    >>> scalar_test(p, y, np.random.default_rng(0), 199).p_value
    0.005
    """
    cells = cells_of(p) if cells is None else cells
    residuals = np.vstack([cells.residual(y), cells.drawn(resamples, rng)])
    values = statistics(cells, residuals)
    return ScalarTest(cells, values[0], values[1:], int(np.sum((cells.of_row < 0) & (p != y))))


def statistics(cells: Cells, residuals: Array) -> Array:
    """(tilt, smooth) of the cells' residuals (B, m): (B, 2)."""
    if cells.m == 0:
        return np.zeros((len(residuals), 2))
    v = cells.variance
    whole = v.sum()
    x = cells.logit - v @ cells.logit / whole
    spread = v @ x**2
    bias = residuals.sum(axis=1) / np.sqrt(whole)
    slope = residuals @ x / np.sqrt(spread) if spread > 1e-12 * whole else np.zeros(len(residuals))
    t = (np.cumsum(v) - v / 2.0) / whole
    waves = np.sqrt(2.0) * np.cos(np.pi * np.outer(t, np.arange(1, ORDER + 1)))
    z = residuals @ np.column_stack([np.ones(cells.m), waves]) / np.sqrt(whole)
    degrees = np.arange(1, ORDER + 2)
    smooth = ((np.cumsum(z**2, axis=1) - degrees) / np.sqrt(2.0 * degrees)).max(axis=1)
    return np.column_stack([bias**2 + slope**2, smooth])


def upper_ranks(values: Array) -> Array:
    """Of every column's entries the share of entries that are at least as large, (B, L)."""
    found = np.empty(values.shape)
    for j in range(values.shape[1]):
        column = values[:, j]
        least = column - ROUNDING * np.maximum(np.abs(column), 1.0)
        found[:, j] = 1.0 - np.searchsorted(np.sort(column), least, side="left") / len(column)
    return found


def smallest_rank(observed: Array, null: Array) -> float:
    """The p-value of several statistics (L,), large values counting against the hypothesis, with those of resamples (B, L): the
    rank of the smallest rank, all ranks among the B + 1 samples, which are exchangeable under the hypothesis.

    Examples
    --------
    >>> smallest_rank(np.array([3.0, 0.0]), np.arange(38.0).reshape(19, 2) / 19.0)
    0.1
    """
    smallest = upper_ranks(np.vstack([observed, null])).min(axis=1)
    return float(np.mean(smallest <= smallest[0] + ROUNDING))


def critical(null: Array, alpha: float) -> Array:
    """Values (L,) of which one is reached by at most a share alpha of the resamples (B, L), infinite where even the largest are
    reached more often (few rows have few outcomes): what a power is computed with.

    Examples
    --------
    >>> null = np.repeat([0.0, 9.0], [90, 10])[:, None]
    >>> critical(null, 0.1), critical(null, 0.05)
    (array([9.]), array([inf]))
    """
    ranks = upper_ranks(null)
    smallest = np.sort(ranks.min(axis=1))
    reached = np.searchsorted(smallest, smallest + ROUNDING, side="right") / len(smallest)
    rank = smallest[reached <= alpha + ROUNDING].max(initial=0.0)
    found: Array = np.where(ranks <= rank + ROUNDING, null, np.inf).min(axis=0)
    return found
