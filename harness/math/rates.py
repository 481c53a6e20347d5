"""Confidence intervals for shares and means, and the smallest coverage that is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, stdtrit

Z95 = 1.959963984540054  # two-sided 95 % quantile of the normal distribution


def wilson(successes: Any, trials: Any) -> tuple[Any, Any]:
    """Return the ends of Wilson's 95 % score interval for a share.

    With s successes in n trials and z = 1.96 the ends are

        (s + z^2 / 2 -+ z sqrt(s (n - s) / n + z^2 / 4)) / (n + z^2)

    Both ends are NaN for n = 0. The arguments may be numbers or arrays.

    Examples
    --------
    >>> tuple(round(float(end), 4) for end in wilson(5, 10))
    (0.2366, 0.7634)
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.divide(successes * (trials - successes), trials)
    middle, half = successes + Z95**2 / 2, Z95 * np.sqrt(spread + Z95**2 / 4)
    low, high = (middle - half) / (trials + Z95**2), (middle + half) / (trials + Z95**2)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def clopper_pearson(count: float, n: float, level: float) -> tuple[float, float]:
    """Return the ends of the exact interval for a probability (Clopper and Pearson 1934).

    `count` events were seen in n >= 1 independent trials. If the probability differs between
    trials, the interval for the mean probability is conservative (Hoeffding 1956). Effective
    numbers of rows that depend on one another need not be integers.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1.0 - tail))
    return low, high


def mean_interval(values: ArrayLike, level: float) -> tuple[float, float, float]:
    """Return the mean of independent values and the ends of its Student t interval.

    The ends are mean -+ t sd / sqrt(N) for N values with standard deviation sd. t is the quantile
    with N - 1 degrees of freedom. The interval of a single value is infinite.

    Examples
    --------
    >>> [round(number, 3) for number in mean_interval([1.0, 2.0, 3.0], 0.95)]
    [2.0, -0.484, 4.484]
    """
    x = np.asarray(values, dtype=float)
    half = np.inf
    if len(x) > 1:
        half = stdtrit(len(x) - 1, (1.0 + level) / 2.0) * x.std(ddof=1) / np.sqrt(len(x))
    mean = float(x.mean())
    return mean, mean - float(half), mean + float(half)


def least_coverage(level: Any, samples: Any) -> Any:
    """Return the smallest observed coverage that is accepted for a bound with this nominal level.

    It is three standard errors below the level: level - 3 sqrt(level (1 - level) / samples).
    """
    return level - 3.0 * np.sqrt(level * (1.0 - level) / samples)
