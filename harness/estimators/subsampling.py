"""Confidence intervals for any estimator, by subsampling and by convex hulls of batches (HulC)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import check_callable, check_integer, check_level
from harness.estimators.resampled_interval import MIN_ROWS, End, ResampledInterval, Sample


@dataclass(frozen=True)
class Subsampling(ResampledInterval):
    """The estimates of another estimator, with an interval from subsamples of n^gamma rows.

    The values of the estimates are unchanged. The interval is [theta - Q(1 - a), theta - Q(a)],
    where

        theta     the value on all n rows
        theta_b   the value on m = n^gamma rows, drawn without replacement
        Q         the quantiles of (m / (n - m))^rate (theta_b - theta)
        a         (1 - level) / 2

    Parameters
    ----------
    estimator : estimator
        The wrapped estimator.
    resamples : int
        Number of subsamples, at least 20.
    level : float
        Confidence level of the intervals.
    gamma : float
        Exponent of the number of rows of a subsample, between 0 and 1.
    rate : float
        Rate at which the error of theta falls, as n^-rate. It is 1/2 for most estimators, and 1 for
        a squared error at calibration.

    Notes
    -----
    The interval is valid if n^rate (theta - limit) has a limiting distribution, bias included,
    while m grows and m / n tends to 0. The factor n - m in place of n corrects for drawing from a
    finite sample; for the variance of a mean this is exact.

    Nothing else is assumed, but the method needs many samples. For n = 500, a subsample has m = 63
    rows, and 15 bins behave very differently with 63 rows than with 500. A bias that falls at
    another rate than n^-rate shifts the interval.

    The table has the measured coverage of the truth at level 95 %, in %, with gamma = 2/3 and 200
    resamples. It is from 200 samples; the standard error is 1.5 at 95 % and 3.5 at 50 %.

                                       n  beta_calibrated  beta_overconfident   beta_wavy
        binned15 l1                  500               65                  72          71
                                   2,000               80                  82          32
        binned15 l2_squared          500              100                  66          48
                                   2,000              100                  65          16
        debiased15 l2_squared        500              100                  98         100

    Ends of intervals for calibration errors are clipped at 0. There is no interval with fewer than
    20 rows, if more than 5 % of the subsamples have no finite value, or if all values are equal.
    Estimates that already have a bound keep it.

    **Diagnostics.**

        resamples             number of subsamples
        undefined_resamples   number of subsamples without a finite value
        subsample             m

    **Cost.** `resamples` calls of the estimator on n^gamma rows.

    References
    ----------
    Politis, Romano and Wolf (1999), Subsampling, Theorem 2.2.1.

    Examples
    --------
    >>> import harness
    >>> from harness.estimators import Binned
    >>> p, y = harness.load_problem("beta_overconfident").sample(500, np.random.default_rng(0))
    >>> e = Subsampling(Binned(), resamples=20)(p, y, np.random.default_rng(1))["l1"]
    >>> e.diagnostics["subsample"], e.low < e.high
    (63.0, True)
    """

    estimator: Any
    resamples: int = 200
    level: float = 0.95
    gamma: float = 2.0 / 3.0
    rate: float = 0.5

    def __post_init__(self) -> None:
        check_callable(self.estimator)
        check_integer("resamples", self.resamples, MIN_ROWS)
        check_level(self.level)
        if not (isinstance(self.gamma, (int, float)) and 0.0 < self.gamma < 1.0):
            raise BadInputError(
                f"gamma is {self.gamma!r}; give a number between 0 and 1, such as 0.67."
            )
        if not (isinstance(self.rate, (int, float)) and 0.0 < self.rate <= 2.0):
            raise BadInputError(
                f"rate is {self.rate!r}; give a number above 0 and at most 2, such as 0.5."
            )

    @property
    def seconds(self) -> float:
        """Bound of the CPU seconds of a cell: a subsample is taken to cost as much as all rows."""
        return (1.0 + self.resamples) * self._inner_seconds

    def _ends(
        self, points: Mapping[str, float], sample: Sample, *streams: np.random.Generator
    ) -> dict[str, End]:
        n, rng = len(sample.p), streams[0]
        size = min(max(int(round(n**self.gamma)), 2), n - 1)
        draws = (rng.permutation(n)[:size] for _ in range(int(self.resamples)))
        values = self._on_rows(sample, rng, draws)
        scale, tail = (size / (n - size)) ** self.rate, (1.0 - self.level) / 2
        intervals = {}
        for name, value in points.items():
            usable, diagnostics = self._usable(value, values.get(name, []), int(self.resamples))
            ends = None
            if usable:
                change = scale * (np.array(values[name]) - value)
                below, above = np.quantile(change, [tail, 1.0 - tail], method="weibull")
                ends = (value - above, value - below)
            intervals[name] = ends, {**diagnostics, "subsample": float(size)}
        return intervals


@dataclass(frozen=True)
class HulC(ResampledInterval):
    """The estimates of another estimator, with the range of its values on disjoint batches.

    The values of the estimates are unchanged. The sample is divided at random into B batches, and
    theta_b is the value on batch b. The interval is

        [min_b theta_b, max_b theta_b]

    If theta_b exceeds the truth with probability 1/2, the interval misses the truth with
    probability 2^(1 - B). B is the smallest number for which this is at most 1 - level, or one
    less. The choice is random, so that the level is exact. At level 0.95, B is 5 with probability
    3/5, else 6.

    Parameters
    ----------
    estimator : estimator
        The wrapped estimator.
    level : float
        Confidence level of the intervals.

    Notes
    -----
    The method requires an estimator without median bias. Estimators of calibration errors rarely
    meet this: a plug-in error on a sixth of the rows is far too large. If theta_b exceeds the truth
    with probability 1/2 + D, the interval misses the truth with probability
    (1/2 - D)^B + (1/2 + D)^B, which is 1 for D = 1/2.

    The table has the measured coverage of the truth at level 95 %, in %. It is from 200 samples;
    the standard error is 1.5 at 95 % and 3.5 at 50 %.

                                       n  beta_calibrated  beta_overconfident   beta_wavy
        binned15 l1                  500                0                  32           0
                                   2,000                0                  80           5
        binned15 l2_squared          500                0                   7           0
                                   2,000                0                  65           2
        debiased15 l2_squared        500               99                  94          93

    Ends of intervals for calibration errors are clipped at 0. There is no interval with fewer than
    20 rows, or if a batch has no finite value. Estimates that already have a bound keep it. The
    diagnostic `resamples` is B.

    **Cost.** The calls on all batches cost about as much as one more call on all rows.

    References
    ----------
    Kuchibhotla, Balakrishnan and Wasserman (2024), The HulC: confidence regions from convex hulls,
    JRSS B 86, Algorithm 1.

    Examples
    --------
    >>> from harness.estimators import Brier
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(600)
    >>> e = HulC(Brier())(p, (rng.random(600) < p).astype(int), rng)["brier"]
    >>> e.low < 1 / 6 < e.high
    True
    """

    estimator: Any
    level: float = 0.95

    def __post_init__(self) -> None:
        check_callable(self.estimator)
        check_level(self.level)

    @property
    def seconds(self) -> float:
        return 2.0 * self._inner_seconds + 5 * 1e-4

    def batches(self, rng: np.random.Generator) -> int:
        """Return the number of batches B, which is drawn so that the level is exact."""
        alpha = 1.0 - self.level
        count = max(2, math.ceil(1.0 - math.log2(alpha) - 1e-9))
        # With one batch less, the probability of missing the truth doubles.
        fewer = (alpha - 2.0 ** (1 - count)) / 2.0 ** (1 - count)
        return count - int(count > 2 and rng.random() < fewer)

    def _ends(
        self, points: Mapping[str, float], sample: Sample, *streams: np.random.Generator
    ) -> dict[str, End]:
        rng = streams[0]
        batches = self.batches(rng)
        draws = np.array_split(rng.permutation(len(sample.p)), batches)
        values = self._on_rows(sample, rng, draws)
        intervals: dict[str, End] = {}
        for name, value in points.items():
            on_batches = values.get(name, [])
            usable, diagnostics = self._usable(value, on_batches, batches)
            hull = (min(on_batches), max(on_batches)) if usable else None
            intervals[name] = hull, diagnostics
        return intervals
