"""Intervals and p-values of any estimator, from its own values on samples drawn again: the textbook ways, beside `Bootstrap`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, Wrapper, apply
from harness.estimators.bootstrap import (
    MAX_UNDEFINED_SHARE,
    MIN_ROWS,
    calibrated_labels,
    check_callable,
    check_count,
    check_level,
    finite_values,
    is_error,
    notion_of,
    own_streams,
    with_diagnostics,
    without_bounds,
)

OWN_REVISION = 1
FORMS = ("percentile", "basic", "bca")
MIN_LABELS = 19  # redrawn labels with which a p-value can be as small as 0.05
SAME = 1e-12  # relative: the same value up to the order of a sum
SECONDS = 1e-3  # of an estimator that does not say


class _Resampling(Wrapper):
    """What the wrappers of this file have in common: the values are the estimator's, from its own stream."""

    determinism = "statistical"
    wants = ("notion", "problem")
    takes_classwise = True

    @property
    def revision(self):
        """Raised with that of the estimator, whose values these are."""
        return (OWN_REVISION, self.inner.revision)

    @property
    def _inner_seconds(self):
        return SECONDS if self.inner.seconds is None else self.inner.seconds

    def _applied(self, p, y, rng, notion, problem):
        """The notion and the estimator's own estimates."""
        if rng is None:
            raise BadInputError("rng is missing; give a numpy Generator, which draws the samples.")
        notion = notion_of(p, y) if notion is None else notion
        return notion, apply(self.estimator, p, y, notion, rng, problem)

    def _on_rows(self, p, y, notion, problem, rng, samples):
        """{estimand: finite values on these samples, arrays of row numbers}"""
        values: dict[str, list[float]] = {}
        for rows in samples:
            for name, value in finite_values(self, p[rows], y[rows], notion, problem, rng).items():
                values.setdefault(name, []).append(value)
        return values


class _Interval(_Resampling):
    """Points without a bound of their own are given the interval that `_ends` finds; all else is as the estimator says."""

    keeps_values_of = "estimator"

    def __call__(self, p, y, rng=None, notion=None, problem=None):
        notion, found = self._applied(p, y, rng, notion, problem)
        points = {name: found[name].value for name in without_bounds(found)}
        if not points:
            return found
        if len(p) < MIN_ROWS:
            return {**found, **{name: with_diagnostics(found[name], {"resamples": 0.0}) for name in points}}
        (own,) = own_streams(rng, 1)
        for name, (ends, diagnostics) in self._ends(points, p, y, notion, problem, own).items():
            e = with_diagnostics(found[name], diagnostics)
            if ends is not None:
                low, high = (max(end, 0.0) for end in ends) if is_error(name) else ends  # the truth of an error is not below 0
                e = replace(e, low=float(low), high=float(high), level=float(self.level))
            found[name] = e
        return found

    def _usable(self, value, values, asked):
        """(whether values on samples tell an interval, diagnostics)."""
        diagnostics = {"resamples": float(asked)}
        if len(values) < asked:
            diagnostics["undefined_resamples"] = float(asked - len(values))
        enough = len(values) >= (1.0 - MAX_UNDEFINED_SHARE) * asked
        return enough and np.ptp(values) > SAME * max(1.0, abs(value)), diagnostics


@dataclass(frozen=True)
class RowBootstrap(_Interval):
    """The estimates of another estimator, to the last bit, with the bootstrap interval of rows drawn with replacement.

    theta is the value on the n rows, theta_b that on n rows drawn from them with replacement, Q the quantiles of the theta_b,
    a = (1 - level) / 2:

        percentile:  [Q(a), Q(1 - a)]
        basic:       [2 theta - Q(1 - a), 2 theta - Q(a)]
        bca:         [Q(a_low), Q(a_high)],  a_low = Phi(z0 + (z0 + z_a) / (1 - c (z0 + z_a))), a_high with z_(1-a)

    where Phi(z0) is the share of theta_b below theta (equal ones count half; (share B + 1/2) / (B + 1), so that z0 is finite)
    and c = sum d^3 / (6 (sum d^2)^(3/2)) the acceleration, d the jackknife's mean less its values.

    Parameters
    ----------
    estimator : estimator
        Whose estimates these are.
    resamples : int
        How many samples are drawn, at least 20.
    level : float
        Confidence level of the intervals.
    form : {"percentile", "basic", "bca"}
        Which interval.
    groups : int
        The jackknife of bca leaves out one of so many random groups of rows at a time (single rows where n is smaller). Its
        acceleration has a standard error of about 0.4 / groups.

    Notes
    -----
    **These intervals are here to be compared, not to be trusted.** Drawing with replacement repeats rows; a plug-in error
    then grows by a second helping of the noise that it is biased by, and copies of a row get on both sides of a cross-fit.
    Near calibration the percentile interval lies above theta, which lies above the truth already; basic mirrors it, and is
    right in so far as the bias on a resample equals that of the sample. `Bootstrap` says why halves do better. What is covered
    is in any case the value to which the estimator tends as n grows.

    Measured coverage of the truth at 95 %, 200 resamples, in % (200 samples: +- 1.5 at 95, +- 3.5 at 50), as percentile / basic
    / bca:

                                       n  beta_calibrated  beta_overconfident        beta_wavy
        binned15 l1                  500      0 / 32 /  0         84 / 91 / 89      2 / 90 / 19
                                   2,000      0 / 39 /  0         93 / 95 / 93     78 / 79 / 75
        binned15 l2_squared          500      0 /100 /  0         69 / 93 / 82      0 / 98 /  2
                                   2,000      0 /100 /  0         92 / 92 / 93     68 / 79 / 68
        debiased15 l2_squared        500     92 /100 / 99         94 / 81 / 83     97 / 51 / 53

    None of the three is right everywhere. bca is the narrowest where it is wrong: of l1 by binned15 on beta_calibrated, n = 500,
    it is 0.014 wide (percentile 0.047; basic, cut at 0, 0.044).

    Errors are cut at 0; the value of a biased estimator may lie outside its interval. There is no interval with fewer than 20
    rows, where more than 5 % of the samples have no finite value, and where the values do not vary; points that have a bound
    already keep it. Classwise, rows are drawn for all classes together.

    **Diagnostics.** resamples, undefined_resamples, share_below (of theta_b below theta, as above), acceleration (bca).

    **Cost.** `resamples` calls on n rows, with bca `groups` more.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, eqs. 13.5 (percentile), 14.9 to 14.15 (bca); Davison and
    Hinkley (1997), eq. 2.10 (basic).

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

    def __post_init__(self):
        check_callable(self.estimator)
        check_count("resamples", self.resamples, MIN_ROWS, 200)
        check_level(self.level)
        check_count("groups", self.groups, MIN_ROWS, 100)
        if self.form not in FORMS:
            raise BadInputError(f"form is {self.form!r}; allowed are {', '.join(FORMS)} (Bootstrap has half and pivotal).")

    @property
    def seconds(self):
        return (1.0 + self.resamples + (self.groups if self.form == "bca" else 0)) * self._inner_seconds

    def _ends(self, points, p, y, notion, problem, rng):
        n = len(p)
        drawn = (rng.integers(n, size=n) for _ in range(self.resamples))
        values = self._on_rows(p, y, notion, problem, rng, drawn)
        left_out = self._jackknife(p, y, notion, problem, rng) if self.form == "bca" else {}
        return {name: self._of_one(value, values.get(name, []), left_out.get(name, [])) for name, value in points.items()}

    def _jackknife(self, p, y, notion, problem, rng):
        """{estimand: values without one group of rows}; what is missing in more than 5 % of them is left out."""
        order = rng.permutation(len(p))
        groups = np.array_split(order, min(self.groups, len(p)))
        found = self._on_rows(p, y, notion, problem, rng, (np.setdiff1d(order, group) for group in groups))
        return {name: v for name, v in found.items() if len(v) >= (1.0 - MAX_UNDEFINED_SHARE) * len(groups)}

    def _of_one(self, value, values, left_out):
        usable, diagnostics = self._usable(value, values, self.resamples)
        if not usable or (self.form == "bca" and not left_out):
            return None, diagnostics
        values = np.array(values)
        equal = np.abs(values - value) <= SAME * max(1.0, abs(value))
        share = ((values < value)[~equal].sum() + equal.sum() / 2 + 0.5) / (len(values) + 1)
        diagnostics["share_below"] = float(share)
        levels = np.array([(1.0 - self.level) / 2, (1.0 + self.level) / 2])
        if self.form == "bca":
            diagnostics["acceleration"] = acceleration = acceleration_of(np.array(left_out))
            levels = bca_levels(levels, ndtri(share), acceleration)
        low, high = np.quantile(values, levels, method="weibull")
        return ((2 * value - high, 2 * value - low) if self.form == "basic" else (low, high)), diagnostics


def acceleration_of(left_out):
    """c = sum d^3 / (6 (sum d^2)^(3/2)), d = mean - value of the jackknife; 0 where the values do not vary.

    Examples
    --------
    >>> round(acceleration_of(np.array([1.0, 2.0, 6.0])), 4)
    -0.0573
    """
    d = left_out.mean() - left_out
    spread = float((d**2).sum())
    return 0.0 if spread == 0.0 else float((d**3).sum() / (6.0 * spread**1.5))


def bca_levels(levels, z0, acceleration):
    """The levels at which BCa takes the quantiles in place of `levels`: the same for z0 = 0 and no acceleration.

    Examples
    --------
    >>> bca_levels(np.array([0.025, 0.975]), 0.0, 0.0).round(6).tolist()
    [0.025, 0.975]
    """
    shifted = z0 + ndtri(levels)
    rest = 1.0 - acceleration * shifted
    with np.errstate(divide="ignore"):
        beyond = np.where(shifted > 0.0, np.inf, -np.inf)  # the pole, where nothing is left of a tail
        moved = np.where(rest > 0.0, shifted / rest, beyond)
    return ndtr(z0 + moved)


@dataclass(frozen=True)
class Subsampling(_Interval):
    """The estimates of another estimator, to the last bit, with an interval from subsamples of n^gamma rows.

    theta_b is the value on m = n^gamma rows drawn without replacement, a = (1 - level) / 2, Q the quantiles of

        d_b = (m / (n - m))^rate (theta_b - theta),        interval [theta - Q(1 - a), theta - Q(a)]

    Parameters
    ----------
    estimator : estimator
        Whose estimates these are.
    resamples : int
        How many subsamples, at least 20.
    level : float
        Confidence level of the intervals.
    gamma : float
        Of the size of the subsamples, between 0 and 1.
    rate : float
        The error of theta falls as n^-rate: 1/2, or 1 for a squared error at calibration, where theta is degenerate.

    Notes
    -----
    Valid where n^rate (theta - limit) has a limiting distribution, bias included, m grows and m / n falls to 0; n - m in place
    of n is the correction for drawing from a finite sample, exact for the variance of a mean. Nothing else is assumed, and
    much data needed: with m = 63 rows (n = 500) 15 bins are another estimator than with 500. A bias that falls at another rate
    than n^-rate moves the interval.

    Measured coverage of the truth at 95 %, gamma 2/3, 200 resamples, in % (200 samples: +- 1.5 at 95, +- 3.5 at 50):

                                       n  beta_calibrated  beta_overconfident   beta_wavy
        binned15 l1                  500               65                  72          71
                                   2,000               80                  82          32
        binned15 l2_squared          500              100                  66          48
                                   2,000              100                  65          16
        debiased15 l2_squared        500              100                  98         100

    Errors are cut at 0; when there is no interval, and what keeps its bound: as of `RowBootstrap`.

    **Diagnostics.** resamples, undefined_resamples, subsample (rows).

    **Cost.** `resamples` calls on n^gamma rows.

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

    def __post_init__(self):
        check_callable(self.estimator)
        check_count("resamples", self.resamples, MIN_ROWS, 200)
        check_level(self.level)
        if not (isinstance(self.gamma, (int, float)) and 0.0 < self.gamma < 1.0):
            raise BadInputError(f"gamma is {self.gamma!r}; a number between 0 and 1 is needed, such as 0.67.")
        if not (isinstance(self.rate, (int, float)) and 0.0 < self.rate <= 2.0):
            raise BadInputError(f"rate is {self.rate!r}; a number between 0 and 2 is needed, such as 0.5.")

    @property
    def seconds(self):
        """At most; what a call costs apart from its rows is most of the cost of a cheap estimator."""
        return (1.0 + self.resamples) * self._inner_seconds

    def _ends(self, points, p, y, notion, problem, rng):
        n = len(p)
        size = min(max(int(round(n**self.gamma)), 2), n - 1)
        drawn = (rng.permutation(n)[:size] for _ in range(self.resamples))
        values = self._on_rows(p, y, notion, problem, rng, drawn)
        scale, tail = (size / (n - size)) ** self.rate, (1.0 - self.level) / 2
        found = {}
        for name, value in points.items():
            usable, diagnostics = self._usable(value, values.get(name, []), self.resamples)
            ends = None
            if usable:
                change = scale * (np.array(values[name]) - value)
                below, above = np.quantile(change, [tail, 1.0 - tail], method="weibull")
                ends = (value - above, value - below)
            found[name] = ends, {**diagnostics, "subsample": float(size)}
        return found


@dataclass(frozen=True)
class HulC(_Interval):
    """The estimates of another estimator, to the last bit, with the hull of its values on disjoint batches of the rows.

        [min_b theta_b, max_b theta_b],   theta_b the value on batch b of B

    P(miss) = 2^(1 - B) if no theta_b is above the truth with a probability other than 1/2. B is the least number for which
    that is at most 1 - level, and with the probability that makes the level exact one batch less: at 0.95 6 batches, with
    probability 3/5 5.

    Parameters
    ----------
    estimator : estimator
        Whose estimates these are.
    level : float
        Confidence level of the intervals.

    Notes
    -----
    It needs no more than an estimator without median bias, and an estimator of a calibration error rarely is one: a plug-in
    on a sixth of the rows is far too large. For a median bias of D, P(miss) is (1/2 - D)^B + (1/2 + D)^B, and 1 at D = 1/2.

    Measured coverage of the truth at 95 %, in % (200 samples: +- 1.5 at 95, +- 3.5 at 50):

                                       n  beta_calibrated  beta_overconfident   beta_wavy
        binned15 l1                  500                0                  32           0
                                   2,000                0                  80           5
        binned15 l2_squared          500                0                   7           0
                                   2,000                0                  65           2
        debiased15 l2_squared        500               99                  94          93

    Errors are cut at 0; no interval with fewer than 20 rows or where a batch has no finite value; points that have a bound
    already keep it. Diagnostics: resamples, the number of batches.

    **Cost.** One more call in all, on batches.

    References
    ----------
    Kuchibhotla, Balakrishnan and Wasserman (2024), The HulC: confidence regions from convex hulls, JRSS B 86, Algorithm 1.

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

    def __post_init__(self):
        check_callable(self.estimator)
        check_level(self.level)

    @property
    def seconds(self):
        return 2.0 * self._inner_seconds + 5 * 1e-4

    def batches(self, rng):
        """How many batches: at random one of two neighbouring numbers."""
        alpha = 1.0 - self.level
        most = max(2, math.ceil(1.0 - math.log2(alpha) - 1e-9))
        fewer = (alpha - 2.0 ** (1 - most)) / 2.0 ** (1 - most)  # P(miss) doubles with one less
        return most - int(most > 2 and rng.random() < fewer)

    def _ends(self, points, p, y, notion, problem, rng):
        batches = self.batches(rng)
        drawn = np.array_split(rng.permutation(len(p)), batches)
        values = self._on_rows(p, y, notion, problem, rng, drawn)
        found = {}
        for name, value in points.items():
            of_it = values.get(name, [])
            usable, diagnostics = self._usable(value, of_it, batches)
            found[name] = (min(of_it), max(of_it)) if usable else None, diagnostics
        return found


@dataclass(frozen=True)
class Consistency(_Resampling):
    """A test of calibration by any estimator: how often labels drawn from the predictions give a value as large as it found.

        p_value = (1 + #{b: T_b >= T}) / (resamples + 1),   T_b the value at the same p with labels Y_b ~ p

    Parameters
    ----------
    estimator : estimator
        Whose value is the test statistic: large where predictions are miscalibrated.
    statistic : str
        Which of its estimands.
    resamples : int
        How many times labels are drawn, at least 19. Where level (resamples + 1) is an integer, as with 99 and 0.05, the size
        is exact up to ties.

    Notes
    -----
    Null hypothesis: Y given p is distributed as p says. Then T and all T_b are exchangeable given p, and
    P(p_value <= level) <= level for every n and every estimator, biased or not; equal values count against rejection, and so
    do labels for which the estimator has no value. Classwise, labels are drawn from the whole vector, so that the hypothesis
    is canonical calibration; top-label, whether the top class is right is drawn from the confidence. Power is that of the
    statistic: a debiased one gains nothing here by its debiasing but what it subtracts from noise.

    Measured share of p-values of at most 0.05 with 99 draws, in % (100 samples: +- 2.2 at 5, +- 5 at 50; * 63 or 64 samples:
    +- 6 at 50), for n = 200 and 1,000:

                                    beta_calibrated  beta_shifted  beta_wavy*
        binned15 l1                            4, 4        13, 23      16, 67
        binned15_mass l1                       9, 1         9, 19      11, 57
        debiased15 l2_squared                  4, 3         4, 19       5, 27

    **Diagnostics.** statistic, its value; null_mean and null_sd, of the values at drawn labels; resamples; undefined_resamples.

    **Cost.** `resamples` + 1 calls on n rows.

    References
    ----------
    Broecker and Smith (2007), Weather and Forecasting 22; Vaicenavicius et al. (2019), AISTATS, Section 5 (consistency
    resampling); Davison and Hinkley (1997), eq. 4.11 (Monte Carlo p-value).

    Examples
    --------
    >>> import harness
    >>> from harness.estimators import Binned
    >>> p, y = harness.load_problem("beta_overconfident").sample(500, np.random.default_rng(0))
    >>> Consistency(Binned())(p, y, np.random.default_rng(1))["p_value"].value
    0.01
    """

    estimator: Any
    statistic: str = "l1"
    resamples: int = 99

    estimands = ("p_value",)

    def __post_init__(self):
        check_callable(self.estimator)
        check_count("resamples", self.resamples, MIN_LABELS, 99)
        names = self.inner.estimands
        if names is not None and self.statistic not in names:
            raise BadInputError(_no_statistic(self.statistic, names))

    @property
    def seconds(self):
        return (1.0 + self.resamples) * self._inner_seconds

    def __call__(self, p, y, rng=None, notion=None, problem=None):
        notion, found = self._applied(p, y, rng, notion, problem)
        if self.statistic not in found:
            raise BadInputError(_no_statistic(self.statistic, found))
        value = found[self.statistic].value
        if not math.isfinite(value):
            raise UndefinedError(f"the statistic {self.statistic} is {value}, which has no p-value")
        (own,) = own_streams(rng, 1)
        at_null = []
        for _ in range(self.resamples):
            drawn = finite_values(self, p, calibrated_labels(p, y, own), notion, problem, own)
            if self.statistic in drawn:
                at_null.append(drawn[self.statistic])
        lost = self.resamples - len(at_null)
        larger = sum(x >= value - SAME * max(1.0, abs(value)) for x in at_null)
        diagnostics = {"statistic": value, "resamples": float(self.resamples)}
        if at_null:
            diagnostics |= {"null_mean": float(np.mean(at_null)), "null_sd": float(np.std(at_null))}
        if lost:
            diagnostics["undefined_resamples"] = float(lost)
        return {"p_value": Estimate((1 + larger + lost) / (self.resamples + 1), diagnostics=diagnostics)}


def _no_statistic(name, names):
    return f"statistic is {name!r}, which the estimator does not return; it has {', '.join(names)}."
