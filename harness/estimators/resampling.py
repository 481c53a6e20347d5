"""Resampling intervals of any estimator by the textbook methods, and what all wrappers share.

`Bootstrap` is the recommended method.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import (
    Estimate,
    Wrapper,
    apply,
    check_callable,
    check_choice,
    check_integer,
    check_level,
    is_finite,
)
from harness.math import estimands
from harness.math.notions import one_hot

OWN_REVISION = 1
FORMS = ("percentile", "basic", "bca")
MIN_ROWS = 20  # with fewer rows (or resamples), resampling is uninformative
MAX_UNDEFINED_SHARE = 0.05  # largest share of resamples without a value that leaves an interval
SAME = 1e-12  # relative difference up to which values are equal but for the order of a sum
SECONDS = 1e-3  # assumed cost of an estimator that declares none

# An interval (None without one) and diagnostics.
End: TypeAlias = tuple[tuple[float, float] | None, dict[str, float]]


@dataclass(frozen=True)
class Sample:
    """Reduced predictions and labels, their notion, and the problem if there is one."""

    p: np.ndarray
    y: np.ndarray
    notion: str
    problem: Any

    @classmethod
    def of(cls, p: np.ndarray, y: np.ndarray, notion: str | None, problem: Any) -> Sample:
        """Return the sample; without a notion, that of the shapes (scalars are binary)."""
        if notion is None and np.ndim(p) == 1:
            notion = "binary"
        elif notion is None:
            notion = "classwise" if np.ndim(y) == 2 else "canonical"
        return cls(p, y, notion, problem)

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray, str]:
        return self.p, self.y, self.notion

    def rows(self, rows: np.ndarray) -> Sample:
        """Return the sample of some rows."""
        return replace(self, p=self.p[rows], y=self.y[rows])

    def calibrated(self, rng: np.random.Generator) -> Sample:
        """Return the sample with labels drawn from the predictions."""
        return replace(self, y=calibrated_labels(self.p, self.y, rng))


class Resampling(Wrapper):
    """Base of wrappers that evaluate an estimator on other samples as well.

    The values are the estimator's own, computed on its own stream.
    """

    determinism = "statistical"
    wants = ("notion", "problem")
    takes_classwise = True

    @property
    def revision(self) -> tuple[Any, ...]:
        """Changes with the revision of the wrapped estimator."""
        return (OWN_REVISION, self.inner.revision)

    @property
    def _inner_seconds(self) -> float:
        return SECONDS if self.inner.seconds is None else self.inner.seconds

    def _applied(
        self, sample: Sample, rng: np.random.Generator | None
    ) -> tuple[dict[str, Estimate], np.random.Generator | int]:
        """Return the estimator's own estimates, and rng."""
        if rng is None:
            raise BadInputError("rng is missing; give a numpy Generator, which draws the samples.")
        return apply(self.estimator, *sample.data, rng, sample.problem), rng

    def _on_rows(
        self, sample: Sample, rng: np.random.Generator, draws: Iterable[np.ndarray]
    ) -> dict[str, list[float]]:
        """Return {estimand: finite values} over draws, which are arrays of row numbers."""
        values: dict[str, list[float]] = {}
        for rows in draws:
            for name, value in finite_values(self, sample.rows(rows), rng).items():
                values.setdefault(name, []).append(value)
        return values


class ResampledInterval(Resampling):
    """Base of wrappers that give an interval to points without a bound of their own.

    A subclass computes the intervals in `_ends`; all other estimates are returned unchanged.
    """

    level: float
    keeps_values_of = "estimator"
    stream_count = 1  # Generators that `_ends` gets

    def _ends(
        self, points: Mapping[str, float], sample: Sample, *streams: np.random.Generator
    ) -> dict[str, End]:
        """Return {estimand: (interval or None, diagnostics)} for the values of `points`."""
        raise NotImplementedError

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        notion: str | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        sample = Sample.of(p, y, notion, problem)
        estimates, parent = self._applied(sample, rng)
        points = {name: estimates[name].value for name in without_bounds(estimates)}
        if not points:
            return estimates
        if len(p) < MIN_ROWS:
            for name in points:
                estimates[name] = with_diagnostics(estimates[name], {"resamples": 0.0})
            return estimates
        streams = own_streams(parent, self.stream_count)
        for name, (ends, diagnostics) in self._ends(points, sample, *streams).items():
            e = with_diagnostics(estimates[name], diagnostics)
            if ends is not None:
                # A calibration error is at least 0.
                low, high = (max(end, 0.0) for end in ends) if is_error(name) else ends
                e = replace(e, low=float(low), high=float(high), level=float(self.level))
            estimates[name] = e
        return estimates

    def _usable(
        self, value: float, values: list[float], count: int
    ) -> tuple[bool, dict[str, float]]:
        """Return True if values on `count` samples determine an interval, and diagnostics."""
        diagnostics = {"resamples": float(count)}
        if len(values) < count:
            diagnostics["undefined_resamples"] = float(count - len(values))
        varies = is_complete(values, count) and np.ptp(values) > SAME * max(1.0, abs(value))
        return bool(varies), diagnostics


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
    the values do not vary. Points that have a bound already keep it. Classwise, rows are drawn for
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
            diagnostics["acceleration"] = acceleration = acceleration_of(np.array(left_out))
            levels = bca_levels(levels, ndtri(share), acceleration)
        low, high = np.quantile(values, levels, method="weibull")
        if self.form == "basic":
            low, high = 2 * value - high, 2 * value - low
        return (low, high), diagnostics


def is_complete(values: list[float], count: int) -> bool:
    """Return True if at most 5 % of `count` samples have no finite value."""
    return len(values) >= (1.0 - MAX_UNDEFINED_SHARE) * count


def finite_values(wrapper: Wrapper, sample: Sample, rng: np.random.Generator) -> dict[str, float]:
    """Return the finite values of a wrapper's estimator on a resample.

    There are none if the estimator raises an error of values: a half may lack a class.
    """
    seeds = wrapper.replication_rng
    stream = rng if seeds is None else seeds(int(rng.integers(2**31 - 1)))
    try:
        estimates = apply(wrapper.estimator, *sample.data, stream, sample.problem)
    except (UndefinedError, ValueError, ArithmeticError):
        return {}
    return {name: e.value for name, e in estimates.items() if math.isfinite(e.value)}


def without_bounds(estimates: dict[str, Estimate]) -> list[str]:
    """Return the names of the finite points without a bound; a p-value gets no interval."""
    return [
        name
        for name, e in estimates.items()
        if e.kind == "point" and name not in estimands.TESTS
        if e.low is None and e.high is None and is_finite(e)
    ]


def is_error(name: str) -> bool:
    """Return True if the estimand is a calibration error: at least 0, and 0 under calibration."""
    return estimands.is_distance(name) and not name.startswith(("refinement_", "sharpness_"))


def calibrated_labels(p: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels drawn from the predictions, in the shape of y.

    Bernoulli(p) for p (n,), else classes from the rows of p, one-hot if y is (n, k).
    """
    if p.ndim == 1:
        return (rng.random(len(p)) < p).astype(np.int64)
    below = p.cumsum(axis=1)
    drawn = (rng.random((len(p), 1)) * below[:, -1:] >= below[:, :-1]).sum(axis=1)
    return one_hot(drawn, p.shape[1]).astype(np.int64) if y.ndim == 2 else drawn


def own_streams(rng: np.random.Generator | int, count: int) -> list[np.random.Generator]:
    """Return streams for a wrapper itself.

    They are spawned after the estimator's call, so that the estimator's own children are the same
    as without the wrapper.
    """
    if isinstance(rng, (int, np.integer)):
        rng = np.random.default_rng([int(rng), 200])
    return rng.spawn(count)


def with_diagnostics(e: Estimate, diagnostics: dict[str, float]) -> Estimate:
    """Return the estimate with these diagnostics added to its own."""
    return replace(e, diagnostics={**(e.diagnostics or {}), **diagnostics})


def acceleration_of(left_out: np.ndarray) -> float:
    """Return c = sum d^3 / (6 (sum d^2)^(3/2)), d = mean - value of the jackknife.

    0 if the values do not vary.

    Examples
    --------
    >>> round(acceleration_of(np.array([1.0, 2.0, 6.0])), 4)
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


def no_statistic(name: str, names: Collection[str]) -> str:
    """Return the message about a statistic that an estimator does not return."""
    return f"statistic is {name!r}, which the estimator does not return; it has {', '.join(names)}."
