"""How large an error the test would have found: what a test that found nothing could not have shown.

Labels are drawn from a tempered version of the very predictions, q = sigma(b logit p), with b < 1 (the predictions are
overconfident) and b > 1 (underconfident); the L1 error of that law is mean |q - p|. Bisection gives in either direction the error
that is found with probability 0.8; the larger of the two is returned, and none if errors larger than that, of the other
direction, would be missed. Power is a share of 160 draws (of fewer with many classes),
so that it is off by 0.03 (one standard error) and the error by some 5 % of itself. Errors of other kinds may need to be larger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from harness.judging.cells import Array
from harness.judging.scalar_test import ScalarTest, critical, statistics
from harness.judging.vector_test import VectorTest

POWER = 0.8
DRAWS = 160
STRONGEST = 4.0  # |log b|
STEPS = 7
MOST_ROWS = 4_000  # of which the tempered law is computed; cells of more rows are scaled up
NORMAL = 9.0  # variance of a cell's events from which they are drawn from the normal law
LEAST_TAIL = 2.5  # resamples beyond a threshold that is read off them

PowerOf = Callable[[float], tuple[float, float]]  # log b -> (power, L1 error)


def of_scalar(p: Array, test: ScalarTest, alpha: float, rng: np.random.Generator) -> float | None:
    """The L1 error that the test of scores p (n,) finds at level alpha; None if no tempered law is found so often.

    Examples
    --------
    >>> from harness.judging.scalar_test import scalar_test
    >>> p = np.linspace(0.01, 0.99, 2000)
    >>> test = scalar_test(p, (p > 0.5).astype(int), np.random.default_rng(0), 999)
    >>> 0.02 < of_scalar(p, test, 0.05, np.random.default_rng(1)) < 0.06
    True
    """
    return of_classes(p[:, None], [test], alpha, rng)


def of_classes(
    p: Array, tests: Sequence[ScalarTest], alpha: float, rng: np.random.Generator
) -> float | None:
    """Of the columns of p (n, k) the mean L1 error that one of the k tests finds, at level alpha / k each; the classes are drawn
    independently of one another."""
    k = len(tests)
    rows = _part(len(p), rng)
    draws = max(40, min(DRAWS, 4000 // k))
    columns = [_Column(p[rows, j], test, alpha / k, rows) for j, test in enumerate(tests)]

    def power_of(log_b: float) -> tuple[float, float]:
        found = [column(log_b, draws, rng) for column in columns]
        return 1.0 - float(np.prod([1.0 - power for power, _ in found])), float(
            np.mean([error for _, error in found])
        )

    return _larger(power_of)


def of_vector(p: Array, test: VectorTest, alpha: float) -> float | None:
    """The same of whole vectors p (n, k), L1 the mean of sum_j |q_j - p_j|, q_j proportional to p_j^b: by the statistic of
    temperature alone, its law taken as normal (the others can only add to the power)."""
    every = max(1, len(p) // 5000)
    part = p[::every]
    scale = test.rows / len(part)
    log = np.log(np.maximum(part, np.finfo(float).tiny))
    mean = (part * log).sum(axis=1)
    spread = np.sqrt(scale * np.sum((part * log**2).sum(axis=1) - mean**2))
    if not spread > 0.0:
        return None
    coarse = alpha * len(test.null) < LEAST_TAIL
    least = float(-ndtri(alpha / 8.0)) if coarse else float(critical(test.null, alpha)[0])

    def power_of(log_b: float) -> tuple[float, float]:
        q = np.exp(np.exp(log_b) * (log - log.max(axis=1, keepdims=True)))
        q /= q.sum(axis=1, keepdims=True)
        moved = scale * np.sum((q - part) * log)
        own = np.sqrt(scale * np.sum((q * log**2).sum(axis=1) - (q * log).sum(axis=1) ** 2))
        power = ndtr((abs(moved) - least * spread) / max(own, 1e-12))
        return float(power), float(np.abs(q - part).sum(axis=1).mean())

    return _larger(power_of)


class _Column:
    """One score: what its cells hold under a tempered law, and how often its test rejects that."""

    def __init__(self, p: Array, test: ScalarTest, alpha: float, rows: NDArray[np.int64]) -> None:
        self.test, self.p = test, p
        cells = test.cells
        self.inside = cells.of_row[rows] >= 0
        self.cell = cells.of_row[rows][self.inside]
        x = p[self.inside]
        self.x = x
        self.logit = np.log(x) - np.log1p(-x)
        size = np.bincount(cells.of_row[cells.of_row >= 0], minlength=cells.m)
        self.scale = size / np.maximum(np.bincount(self.cell, minlength=cells.m), 1)
        self.size = size
        if (
            alpha * len(test.null) < LEAST_TAIL
        ):  # beyond what the resamples say: tilt is nearly chi-square of two degrees
            enough = cells.variance.sum() >= NORMAL
            self.least = np.array([-2.0 * np.log(alpha / 2.0) if enough else np.inf, np.inf])
        else:
            self.least = critical(test.null, alpha)

    def __call__(self, log_b: float, draws: int, rng: np.random.Generator) -> tuple[float, float]:
        cells = self.test.cells
        if cells.m == 0:
            return 0.0, 0.0
        q = expit(np.exp(log_b) * self.logit)
        error = float(np.abs(q - self.x).sum() / len(self.p))
        moved = self.scale * np.bincount(self.cell, q - self.x, cells.m)
        spread = self.scale * np.bincount(self.cell, q * (1.0 - q), cells.m)
        mean = np.clip(cells.expected + moved, 0.0, self.size)
        drawn = mean + np.sqrt(np.maximum(spread, 0.0)) * rng.standard_normal((draws, cells.m))
        few = np.flatnonzero(spread < NORMAL)
        if len(few):
            mean, spread = mean[few], spread[few]
            trials = np.clip(
                np.rint(mean**2 / np.maximum(mean - spread, 1e-12)), 1.0, self.size[few]
            ).astype(np.int64)
            drawn[:, few] = rng.binomial(trials, np.minimum(mean / trials, 1.0), (draws, len(few)))
        drawn -= cells.expected
        found = statistics(cells, drawn)
        return float(np.mean(np.any(found >= self.least - 1e-9, axis=1))), error


def _larger(power_of: PowerOf) -> float | None:
    ends = [power_of(sign * STRONGEST) for sign in (-1.0, 1.0)]
    found = [
        _bisected(power_of, sign, end[1]) for sign, end in zip((-1.0, 1.0), ends) if end[0] >= POWER
    ]
    missed = max((error for power, error in ends if power < POWER), default=0.0)
    return max(found) if found and max(found) >= missed else None


def _bisected(power_of: PowerOf, sign: float, error: float) -> float:
    low, high = 0.0, STRONGEST
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        power, here = power_of(sign * middle)
        if power >= POWER:
            high, error = middle, here
        else:
            low = middle
    return error


def _part(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
