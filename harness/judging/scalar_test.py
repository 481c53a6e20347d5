"""The exact test of P(Y = 1 given p) = p for the scores p of one event.

Hypothesis: given the scores, the events are independent with P(y_i = 1) = p_i. The test resamples
events from p. Therefore it has its level at every n and for all scores, without any approximation.
For binary predictions the hypothesis is calibration. For confidences it is top-label calibration,
and for the probability of one class it is calibration of that class. If rows are independent, so
are these events given all scores. No other part of the probability vector is used.

The two test statistics are functions of the residuals R_b of the bins b (`bins`):

    tilt   = m^2 + s^2,   m = sum R_b / sqrt(sum v_b),   s = sum x_b R_b / sqrt(sum x_b^2 v_b)
    smooth = max_{J <= 8} (sum_{j <= J} z_j^2 - (J + 1)) / sqrt(2 (J + 1))
             z_j = sum_b R_b phi_j(t_b) / sqrt(sum v_b)

    v_b     variance of R_b
    x_b     centred log-odds of bin b
    t_b     share of the total variance below bin b
    phi_j   phi_0 = 1 and phi_j(t) = sqrt(2) cos(pi j t)

`tilt` is the score test of Cox's recalibration (intercept and slope). `smooth` is Neyman's smooth
test with a data-driven order. Each statistic is ranked among the resamples. The smaller rank is
ranked again among the smaller ranks of the resamples (min-p), which corrects for having two
statistics.

At level 0.05 the combined test rejected in 74 % of the samples of twenty miscalibrated problems of
the arena (n = 100 to 1,000). Rejection rates of other tests:

    chi-square test of 10 bins, of 48 bins    66 %, 54 %
    Kuiper's test                             57 %
    tilt alone, smooth alone                  61 %, 72 %

References: Cox (1958), Biometrika 45, 562-565; Neyman (1937); Eubank and LaRiccia (1992), Ann.
Statist. 20 (order selection); Broecker and Smith (2007), Weather and Forecasting 22 (labels drawn
from p).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.judging.bins import Array, Bins, Integers, bin_scores

LARGEST = 1e150  # standardised residuals are at most this, so that squares are finite
ORDER = 8  # largest order of the smooth test
ROUNDING = 1e-9  # statistics that differ by less count as equal, as sums may be rounded differently


@dataclass(frozen=True)
class ScalarTest:
    """Result of the test of one score.

    `observed` (2,) holds the statistics of the events, `null` (B, 2) those of the B resamples.
    `impossible` is the number of events that had probability 0.
    """

    bins: Bins
    observed: Array
    null: Array
    impossible: int

    @property
    def p_value(self) -> float:
        """The p-value; 0 if an event occurred whose probability was 0."""
        return 0.0 if self.impossible else self.p_possible

    @property
    def p_possible(self) -> float:
        """The p-value from the rows with 0 < p < 1 alone."""
        return smallest_rank(self.observed, self.null)


def scalar_test(
    p: Array,
    y: Integers,
    rng: np.random.Generator,
    resamples: int,
    bins: Bins | None = None,
) -> ScalarTest:
    """Test scores p (n,) against events y (n,) with `resamples` resamples.

    `bins` may be the result of `bin_scores(p)`, to avoid computing it again.

    Examples
    --------
    >>> p = np.linspace(0.05, 0.95, 100)
    >>> y = (np.arange(100) % 2).astype(int)
    >>> scalar_test(p, y, np.random.default_rng(0), 199).p_value
    0.005
    """
    bins = bin_scores(p) if bins is None else bins
    values = statistics(bins, np.vstack([bins.residual(y), bins.draw(resamples, rng)]))
    return ScalarTest(bins, values[0], values[1:], int(np.sum((bins.index < 0) & (p != y))))


def statistics(bins: Bins, residuals: Array) -> Array:
    """Return the statistics (tilt, smooth) of residuals (B, m) of m bins, as an array (B, 2)."""
    if bins.m == 0:
        return np.zeros((len(residuals), 2))
    v = bins.variance
    total = v.sum()
    x = bins.logit - v @ bins.logit / total
    spread = v @ x**2
    bias = residuals.sum(axis=1) / np.sqrt(total)
    slope = residuals @ x / np.sqrt(spread) if spread > 1e-12 * total else np.zeros(len(residuals))
    t = (np.cumsum(v) - v / 2.0) / total
    waves = np.sqrt(2.0) * np.cos(np.pi * np.outer(t, np.arange(1, ORDER + 1)))
    z = residuals @ np.column_stack([np.ones(bins.m), waves]) / np.sqrt(total)
    bias, slope, z = (np.clip(values, -LARGEST, LARGEST) for values in (bias, slope, z))
    degrees = np.arange(1, ORDER + 2)
    smooth = ((np.cumsum(z**2, axis=1) - degrees) / np.sqrt(2.0 * degrees)).max(axis=1)
    return np.column_stack([bias**2 + slope**2, smooth])


def upper_ranks(values: Array) -> Array:
    """Return for each entry the share of its column in `values` that is at least as large.

    Entries that differ only by rounding count as equal.
    """
    ranks = np.empty(values.shape)
    for j, column in enumerate(values.T):
        least = column - ROUNDING * np.maximum(np.abs(column), 1.0)
        ranks[:, j] = 1.0 - np.searchsorted(np.sort(column), least, side="left") / len(column)
    return ranks


def smallest_rank(observed: Array, null: Array) -> float:
    """Return the p-value of several statistics combined.

    Large values of a statistic are evidence against the hypothesis. The smallest rank over the
    statistics is ranked among the smallest ranks of the resamples. The p-value is valid because
    the sample and the resamples are exchangeable under the hypothesis. `observed` has shape (L,),
    `null` (B, L), for L statistics and B resamples.

    Examples
    --------
    >>> smallest_rank(np.array([3.0, 0.0]), np.arange(38.0).reshape(19, 2) / 19.0)
    0.1
    """
    smallest = upper_ranks(np.vstack([observed, null])).min(axis=1)
    return float(np.mean(smallest <= smallest[0] + ROUNDING))


def critical_values(null: Array, alpha: float) -> Array:
    """Return a critical value for each statistic, such that the combined test has level alpha.

    At most a share alpha of the resamples `null` (B, L) reaches the critical value of any
    statistic. A critical value is infinite if even the largest value of its statistic occurs in a
    larger share of the resamples. This happens if there are few rows.

    Examples
    --------
    >>> null = np.repeat([0.0, 9.0], [90, 10])[:, None]
    >>> critical_values(null, 0.1), critical_values(null, 0.05)
    (array([9.]), array([inf]))
    """
    ranks = upper_ranks(null)
    smallest = np.sort(ranks.min(axis=1))
    share = np.searchsorted(smallest, smallest + ROUNDING, side="right") / len(smallest)
    rank = smallest[share <= alpha + ROUNDING].max(initial=0.0)
    values: Array = np.where(ranks <= rank + ROUNDING, null, np.inf).min(axis=0)
    return values
