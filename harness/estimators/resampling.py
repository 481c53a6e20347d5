"""Bootstrap of rows by the textbook methods, for comparison; `Bootstrap` is recommended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from harness.estimators.base import (
    check_callable,
    check_choice,
    check_integer,
    check_level,
)
from harness.estimators.resampled_interval import (
    MIN_ROWS,
    SAME,
    End,
    ResampledInterval,
    Sample,
    is_complete,
)

FORMS = ("percentile", "basic", "bca")


@dataclass(frozen=True)
class RowBootstrap(ResampledInterval):
    """Estimates of another estimator, unchanged, with the bootstrap interval of resampled rows.

    theta is the value on the n rows, theta_b that on n rows drawn from them with replacement, Q the
    quantiles of the theta_b, a = (1 - level) / 2:

        percentile:  [Q(a), Q(1 - a)]
        basic:       [2 theta - Q(1 - a), 2 theta - Q(a)]
        bca:         [Q(a_low), Q(a_high)],
                     a_low = Phi(z0 + (z0 + z_a) / (1 - c (z0 + z_a))), a_high with z_(1-a)

    Phi(z0) is the share of theta_b below theta. Equal ones count half, and (share B + 1/2) / (B +
    1) keeps z0 finite. c = sum d^3 / (6 (sum d^2)^(3/2)) is the acceleration, d the jackknife's
    mean less its values.

    Parameters
    ----------
    estimator : estimator
        The wrapped estimator.
    resamples : int
        Number of samples, at least 20.
    level : float
        Confidence level of the intervals.
    form : {"percentile", "basic", "bca"}
        Type of the interval.
    groups : int
        The jackknife of bca leaves out one of so many random groups of rows at a time (single rows
        if n is smaller). Its acceleration has a standard error of about 0.4 / groups.

    Notes
    -----
    **These intervals are for comparison and should not be trusted.** Resampling with replacement
    repeats rows. A plug-in error then grows once more by the noise that already biases it, and
    copies of a row appear on both sides of a cross-fit. Near calibration the percentile interval
    lies above theta, which already lies above the truth. The basic interval mirrors it, and is
    right if the bias on a resample equals that of the sample. `Bootstrap` explains why halves do
    better. In any case the interval covers the limit of the estimator as n grows.

    Measured coverage of the truth at 95 %, 200 resamples, in % (200 samples: +- 1.5 at 95, +- 3.5
    at 50), as percentile / basic / bca:

                                       n  beta_calibrated  beta_overconfident        beta_wavy
        binned15 l1                  500      0 / 32 /  0         84 / 91 / 89      2 / 90 / 19
                                   2,000      0 / 39 /  0         93 / 95 / 93     78 / 79 / 75
        binned15 l2_squared          500      0 /100 /  0         69 / 93 / 82      0 / 98 /  2
                                   2,000      0 /100 /  0         92 / 92 / 93     68 / 79 / 68
        debiased15 l2_squared        500     92 /100 / 99         94 / 81 / 83     97 / 51 / 53

    None of the three is right everywhere. bca is the narrowest where it is wrong: for l1 by
    binned15 on beta_calibrated, n = 500, it is 0.014 wide (percentile 0.047; basic, clipped at 0,
    0.044).

    Errors are clipped at 0; the value of a biased estimator may lie outside its interval. There is
    no interval with fewer than 20 rows, if more than 5 % of the samples have no finite value, or if
    the values do not vary. Points that have a bound already keep it. Class-wise, rows are drawn for
    all classes together.

    **Diagnostics.** resamples, undefined_resamples, share_below (of theta_b below theta, as above),
    acceleration (bca).

    **Cost.** `resamples` calls on n rows, with bca `groups` more.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, eqs. 13.5 (percentile), 14.9 to
    14.15 (bca); Davison and Hinkley (1997), eq. 2.10 (basic).

    Examples
    --------
    >>> import harness
    >>> from harness.estimators import Binned
    >>> p, y = harness.load_problem("beta_overconfident").sample(500, np.random.default_rng(0))
    >>> e = RowBootstrap(Binned(), resamples=20, form="basic")(p, y, np.random.default_rng(1))["l1"]
    >>> e.kind, 0.0 < e.low < e.high, e.level
    ('point', True, 0.95)
    """

    estimator: Any
    resamples: int = 200
    level: float = 0.95
    form: str = "percentile"
    groups: int = 100

    def __post_init__(self) -> None:
        check_callable(self.estimator)
        check_integer("resamples", self.resamples, MIN_ROWS)
        check_level(self.level)
        check_integer("groups", self.groups, MIN_ROWS)
        check_choice("form", self.form, FORMS)

    @property
    def seconds(self) -> float:
        calls = 1.0 + self.resamples + (self.groups if self.form == "bca" else 0)
        return calls * self._inner_seconds

    def _ends(
        self, points: Mapping[str, float], sample: Sample, *streams: np.random.Generator
    ) -> dict[str, End]:
        n, rng = len(sample.p), streams[0]
        draws = (rng.integers(n, size=n) for _ in range(int(self.resamples)))
        values = self._on_rows(sample, rng, draws)
        left_out = self._jackknife(sample, rng) if self.form == "bca" else {}
        return {
            name: self._interval(value, values.get(name, []), left_out.get(name, []))
            for name, value in points.items()
        }

    def _jackknife(self, sample: Sample, rng: np.random.Generator) -> dict[str, list[float]]:
        """Return {estimand: values without one group of rows}.

        Estimands that are missing in more than 5 % of them are left out.
        """
        n = len(sample.p)
        order = rng.permutation(n)
        groups = np.array_split(order, min(int(self.groups), n))
        values = self._on_rows(sample, rng, (np.setdiff1d(order, group) for group in groups))
        return {name: v for name, v in values.items() if is_complete(v, len(groups))}

    def _interval(self, value: float, values: list[float], left_out: list[float]) -> End:
        """Return the interval of one estimand (None without one) and its diagnostics."""
        usable, diagnostics = self._usable(value, values, int(self.resamples))
        if not usable or (self.form == "bca" and not left_out):
            return None, diagnostics
        x = np.array(values)
        equal = np.abs(x - value) <= SAME * max(1.0, abs(value))
        share = ((x < value)[~equal].sum() + equal.sum() / 2 + 0.5) / (len(values) + 1)
        diagnostics["share_below"] = float(share)
        levels = np.array([(1.0 - self.level) / 2, (1.0 + self.level) / 2])
        if self.form == "bca":
            diagnostics["acceleration"] = acceleration = bca_acceleration(np.array(left_out))
            levels = bca_levels(levels, ndtri(share), acceleration)
        low, high = np.quantile(values, levels, method="weibull")
        if self.form == "basic":
            low, high = 2 * value - high, 2 * value - low
        return (low, high), diagnostics


def bca_acceleration(left_out: np.ndarray) -> float:
    """Return c = sum d^3 / (6 (sum d^2)^(3/2)), d = mean - value of the jackknife.

    0 if the values do not vary.

    Examples
    --------
    >>> round(bca_acceleration(np.array([1.0, 2.0, 6.0])), 4)
    -0.0573
    """
    d = left_out.mean() - left_out
    spread = float((d**2).sum())
    return 0.0 if spread == 0.0 else float((d**3).sum() / (6.0 * spread**1.5))


def bca_levels(levels: np.ndarray, z0: float, acceleration: float) -> np.ndarray:
    """Return the levels at which BCa takes the quantiles, instead of `levels`.

    They are unchanged for z0 = 0 and no acceleration.

    Examples
    --------
    >>> bca_levels(np.array([0.025, 0.975]), 0.0, 0.0).round(6).tolist()
    [0.025, 0.975]
    """
    shifted = z0 + ndtri(levels)
    rest = 1.0 - acceleration * shifted
    with np.errstate(divide="ignore"):
        beyond = np.where(shifted > 0.0, np.inf, -np.inf)  # past the pole the tail is empty
        moved = np.where(rest > 0.0, shifted / rest, beyond)
    return ndtr(z0 + moved)
