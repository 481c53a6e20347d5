"""The size of an error that the test would have detected.

Labels are drawn with the probabilities q = sigma(b logit p) in place of the predictions p, where
sigma is the inverse of logit. For b < 1 the predictions p are then overconfident, for b > 1
underconfident. The L1 error of p is mean |q - p|. For each of these two directions, bisection over
b finds the error that the test detects with probability 0.8. The result is the larger of the two
errors. If even the strongest error of one direction is missed, the result is the error of the other
direction. It is None if the missed error is larger than that.

The power is estimated as the share of 160 draws (fewer with many classes) in which the test
rejects. Its standard error is 0.03, so that the error has a relative accuracy of about 5 %. The
test may miss errors of this size that do not have the form of q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit, ndtr, ndtri

from harness.judging.bins import Array, Integers
from harness.judging.scalar_test import ScalarTest, critical_values, statistics
from harness.judging.vector_test import VectorTest

POWER = 0.8  # probability with which an error must be detected
DRAWS = 160
STRONGEST = 4.0  # largest |log b|
STEPS = 7  # steps of the bisection
MOST_ROWS = 4_000  # rows on which the tempered version is computed; larger bins are scaled up
NORMAL = 9.0  # counts with at least this variance are drawn from the normal distribution
LEAST_TAIL = 2.5  # smallest expected number of resamples above a critical value

PowerAt = Callable[[float], tuple[float, float]]  # log b -> (power, L1 error)


def detectable_by_scores(
    p: Array, tests: Sequence[ScalarTest], alpha: float, rng: np.random.Generator
) -> float | None:
    """Return the L1 error at which at least one of k tests rejects with probability 0.8.

    The tests are those of the k columns of p (n, k), each at level alpha / k. The L1 error is the
    mean over the columns. The columns are simulated independently of one another. Return None if
    no error of the form in this module is detected with that probability.

    Examples
    --------
    >>> from harness.judging.scalar_test import scalar_test
    >>> p = np.linspace(0.01, 0.99, 2000)
    >>> test = scalar_test(p, (p > 0.5).astype(int), np.random.default_rng(0), 999)
    >>> 0.02 < detectable_by_scores(p[:, None], [test], 0.05, np.random.default_rng(1)) < 0.06
    True
    """
    n, k = p.shape
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
    draws = max(40, min(DRAWS, 4000 // k))
    columns = [_Column(p[rows, j], test, alpha / k, rows) for j, test in enumerate(tests)]

    def power_at(log_b: float) -> tuple[float, float]:
        powers, errors = zip(*(column(log_b, draws, rng) for column in columns))
        return 1.0 - float(np.prod([1.0 - power for power in powers])), float(np.mean(errors))

    return larger_error(power_at)


def detectable_by_vectors(p: Array, test: VectorTest, alpha: float) -> float | None:
    """Return the L1 error of probability vectors p (n, k) that the test detects.

    The error is the mean over rows of sum_j |q_j - p_j|. Labels are drawn from q, where q_j is
    proportional to p_j^b. The error is detected if the power is at least 0.8. Only the temperature
    statistic is used, with a normal approximation. The other statistics can only add to the power.
    Return None if the test detects no such error.
    """
    part = p[:: max(1, len(p) // 5000)]
    scale = test.rows / len(part)
    log = np.log(np.maximum(part, np.finfo(float).tiny))

    def sd_of_log(q: Array) -> float:
        mean = (q * log).sum(axis=1)
        squares = np.sum((q * log**2).sum(axis=1) - mean**2)
        return float(np.sqrt(scale * max(squares, 0.0)))  # rounding may make it negative

    spread = sd_of_log(part)
    if not spread > 0.0:
        return None
    if alpha * len(test.null) < LEAST_TAIL:
        least = float(-ndtri(alpha / 8.0))
    else:
        least = float(critical_values(test.null, alpha)[0])

    def power_at(log_b: float) -> tuple[float, float]:
        q = np.exp(np.exp(log_b) * (log - log.max(axis=1, keepdims=True)))
        q /= q.sum(axis=1, keepdims=True)
        shift = abs(scale * np.sum((q - part) * log))
        power = ndtr((shift - least * spread) / max(sd_of_log(q), 1e-12))
        return float(power), float(np.abs(q - part).sum(axis=1).mean())

    return larger_error(power_at)


class _Column:
    """Power of the test of one score and the L1 error, as a function of log b of the tempering."""

    def __init__(self, p: Array, test: ScalarTest, alpha: float, rows: Integers) -> None:
        bins = test.bins
        index = bins.index[rows]
        self.bins, self.n = bins, len(p)
        self.index, self.x = index[index >= 0], p[index >= 0]
        self.logit = np.log(self.x) - np.log1p(-self.x)
        self.scale = bins.size / np.maximum(np.bincount(self.index, minlength=bins.m), 1)
        if alpha * len(test.null) < LEAST_TAIL:
            # There are too few resamples for this level, so use the chi-square distribution with 2
            # degrees of freedom, which is a good approximation for `tilt`.
            is_normal = bins.variance.sum() >= NORMAL
            self.least = np.array([-2.0 * np.log(alpha / 2.0) if is_normal else np.inf, np.inf])
        else:
            self.least = critical_values(test.null, alpha)

    def __call__(self, log_b: float, draws: int, rng: np.random.Generator) -> tuple[float, float]:
        bins = self.bins
        if bins.m == 0:
            return 0.0, 0.0
        q = expit(np.exp(log_b) * self.logit)
        shift = self.scale * np.bincount(self.index, q - self.x, bins.m)
        variance = self.scale * np.bincount(self.index, q * (1.0 - q), bins.m)
        mean = np.clip(bins.expected + shift, 0.0, bins.size)
        noise = rng.standard_normal((draws, bins.m))
        counts = mean + np.sqrt(np.maximum(variance, 0.0)) * noise
        few = np.flatnonzero(variance < NORMAL)
        if len(few):
            mean, variance, size = mean[few], variance[few], bins.size[few]
            trials = np.rint(mean**2 / np.maximum(mean - variance, 1e-12))
            trials = np.clip(trials, 1.0, size).astype(np.int64)
            share = np.minimum(mean / trials, 1.0)
            counts[:, few] = rng.binomial(trials, share, (draws, len(few)))
        is_detected = statistics(bins, counts - bins.expected) >= self.least - 1e-9
        error = float(np.abs(q - self.x).sum() / self.n)
        return float(np.mean(np.any(is_detected, axis=1))), error


def larger_error(power_at: PowerAt) -> float | None:
    """Return the larger of the L1 errors of over- and underconfidence that the test detects.

    `power_at` maps log b to (power, L1 error). For each direction, bisection over log b finds the
    error that is detected with probability 0.8. If even the strongest error of one direction is
    missed, the error of the other direction is returned. Return None if the missed error is larger
    than that, or if both directions are missed.
    """
    errors, missed = [], 0.0
    for sign in (-1.0, 1.0):
        power, error = power_at(sign * STRONGEST)
        if power >= POWER:
            errors.append((sign, error))
        else:
            missed = max(missed, error)
    largest = max((_bisect(power_at, sign, error) for sign, error in errors), default=None)
    return largest if largest is not None and largest >= missed else None


def _bisect(power_at: PowerAt, sign: float, error: float) -> float:
    low, high = 0.0, STRONGEST
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        power, error_here = power_at(sign * middle)
        if power >= POWER:
            high, error = middle, error_here
        else:
            low = middle
    return error
