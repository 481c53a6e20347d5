"""Confidence intervals for any estimator, from its values on random halves of the sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from harness.estimators.base import check_callable, check_choice, check_integer, check_level
from harness.estimators.resampled_interval import (
    MIN_ROWS,
    End,
    ResampledInterval,
    Sample,
    finite_values,
    is_complete,
)
from harness.math import estimands

FORMS = ("half", "pivotal")
# If the bias falls as 1 / sqrt(n): bias on all rows, divided by bias on a half minus bias on all.
SLOW_BIAS_FACTOR = 1.0 / (math.sqrt(2.0) - 1.0)


@dataclass(frozen=True)
class Bootstrap(ResampledInterval):
    """The estimates of another estimator, with an interval from random halves of the rows.

    The values of the estimates are unchanged. Every point estimate without a bound gets an interval
    for the population quantity:

        theta     the value on all n rows
        theta_b   the value on a random half of the rows, drawn without replacement
        d_b       theta_b - theta, times sqrt(half / (n - half)), which is 1 for even n
        z         the normal quantile at (1 + level) / 2

        half:     [theta - larger bias - z sd(d), theta - smaller bias + z sd(d)],
                  where the two biases are mean(d) and 2.41 mean(d)
        pivotal:  [theta - Q((1 + level) / 2), theta - Q((1 - level) / 2)], Q the quantiles of d

    Parameters
    ----------
    estimator : estimator
        The wrapped estimator.
    resamples : int
        Number of halves, at least 20.
    level : float
        Confidence level of the intervals.
    form : {"half", "pivotal"}
        Which of the two formulas. "half" also tests calibration, at the level (1 - level) / 2, and
        sets the lower end of a calibration error to 0 unless calibration is rejected. The test
        draws labels Y ~ p for the given predictions. The number of draws is 4 / (1 - level) - 1,
        which is 79 at level 0.95. The test rejects if at most one draw has a value as large as
        theta. It is exact. "pivotal" has no test. Its intervals are narrower by 5 to 25 %, but
        right only far from calibration. For example, the intervals for l1 by binned15 on
        beta_calibrated at n = 500 cover the truth in 36 % of the samples.

    Notes
    -----
    **Why halves.** d varies over the halves as theta varies over samples: for a mean, both have the
    same standard deviation. Resampling with replacement has two defects. Repeated rows enlarge the
    plug-in error of a debiased estimate, and copies of a row appear on both sides of a cross-fit.
    On beta_wavy with n = 500, a pivotal interval of debiased15 then covers 53 % instead of 95 %,
    and a percentile interval of binned15 covers 1 %.

    **Why two biases.** If the bias of theta is O(1 / n), a half has twice the bias, and mean(d) is
    the bias. If it is O(1 / sqrt(n)), as that of a plug-in distance near calibration, the bias is
    1 / (sqrt(2) - 1) = 2.41 times mean(d).

    **Coverage.** The interval covers the limit of the estimator as n grows. This limit is the true
    error if the bins, bandwidth or calibrator of the estimator can resolve it. No resampling can
    see a bias that remains as n grows; coverage of the truth then falls with n. Intervals of
    calibration errors are clipped at 0. The value of a biased estimator may lie outside its
    interval.

    The table has the measured coverage of the truth at level 95 %, in %, by form "half".

        entry   samples   resamples   standard error at 95 %
        plain       300         200   1.3
        *           150         100   1.8
        **          100         100   2.2

    The coverage of the limit of the estimator is in brackets. On beta_wavy the limit of l1 by 15
    bins is 0.0336, and the truth is 0.0401.

                                       n  beta_calibrated  beta_overconfident   beta_wavy
        binned15 l1                  500               98           95          98
                                   2,000               98           95          84 (95)
                                 10,000*               99           95          56 (95)
        binned15 l2_squared          500              100           95          100
                                   2,000              100           93          89 (100)
                                 10,000*              100      83 (98)          39 (97)
        binned15 linf                500               98           96          98
                                   2,000               98           95          91
                                 10,000*               97           92          69
        debiased15 l2_squared        500              100           94          98
                                   2,000              100           96          78 (98)
                                 10,000*              100           95
        kmeans15 l1                500**               98
        variational_isotonic l1     500*               96           93          84
          (stratified folds: no bound)
          l2_squared                500*              100           94          92

    For l1 by binned15 at n = 500 (100 samples, 60 resamples, standard error 2.2): class-wise
    coverage is 96 % on dirichlet3_calibrated and 93 % on dirichlet3_overconfident. Top-label
    coverage is 97 % on dirichlet3_calibrated.

    **Rows.** Under the class-wise notion, rows are drawn for all classes together, and the interval
    is for the mean over the classes. There is no interval with fewer than 20 rows, if more than 5 %
    of the halves have no finite value, or if all values are equal. The random streams of the halves
    and of the test are spawned from rng after the estimator has used it.

    **Diagnostics.**

        resamples             number of halves
        bootstrap_se          standard deviation of d (form "half")
        bootstrap_bias        mean of d (form "half")
        undefined_resamples   number of halves without a finite value

    **Cost.** `resamples` calls of the estimator on n / 2 rows. If an error is positive, form "half"
    needs up to 79 more calls on n rows, at level 0.95.

    References
    ----------
    Politis and Romano (1994), Ann. Stat. 22, with half of the rows; Davison and Hinkley (1997),
    Section 5.2 (pivotal); Broecker and Smith (2007), Weather and Forecasting 22 (calibrated
    labels).

    Examples
    --------
    >>> import harness
    >>> from harness.estimators import Binned
    >>> p, y = harness.load_problem("beta_overconfident").sample(500, np.random.default_rng(0))
    >>> e = Bootstrap(Binned(), resamples=20)(p, y, np.random.default_rng(1))["l1"]
    >>> e.kind, 0.0 < e.low < e.high, e.level
    ('point', True, 0.95)
    """

    estimator: Any
    resamples: int = 200
    level: float = 0.95
    form: str = "half"

    stream_count = 2  # one stream for the halves, one for the calibrated labels

    def __post_init__(self) -> None:
        check_callable(self.estimator)
        check_integer("resamples", self.resamples, MIN_ROWS)
        check_level(self.level)
        check_choice("form", self.form, FORMS)

    @property
    def seconds(self) -> float:
        """CPU seconds of a cell.

        A call on half of the rows counts as half a call. A draw of the test counts as one call.
        """
        calls = 1.0 + self.resamples / 2 + (self._null_draws if self.form == "half" else 0)
        return calls * self._inner_seconds

    @property
    def _null_draws(self) -> int:
        """Number of draws of the test of calibration, 79 at level 0.95.

        With this number, the test that allows one draw as large as theta has size (1 - level) / 2.
        """
        return math.ceil(4.0 / (1.0 - self.level) - 1e-9) - 1

    def _ends(
        self, points: Mapping[str, float], sample: Sample, *streams: np.random.Generator
    ) -> dict[str, End]:
        halves, null = streams
        n = len(sample.p)
        draws = (halves.permutation(n)[: n // 2] for _ in range(int(self.resamples)))
        values = self._on_rows(sample, halves, draws)
        ends = {
            name: self._interval(value, values.get(name, []), n) for name, value in points.items()
        }
        if self.form == "half":
            positive = {
                name: points[name]
                for name, (interval, _) in ends.items()
                if interval is not None and estimands.is_error(name) and interval[0] > 0.0
            }
            for name in self._names_not_rejected(sample, null, positive):
                interval, diagnostics = ends[name]
                assert interval is not None  # `positive` names only estimands with an interval
                ends[name] = (0.0, interval[1]), diagnostics
        return ends

    def _interval(self, value: float, values: list[float], n: int) -> End:
        """Return (interval or None, diagnostics) of one estimand.

        `value` is the estimate on all n rows, `values` are the finite estimates on the halves.
        """
        usable, diagnostics = self._usable(value, values, int(self.resamples))
        if not usable:
            if is_complete(values, int(self.resamples)):  # all values are equal
                diagnostics["bootstrap_se"] = 0.0
            return None, diagnostics
        half = n // 2
        scale = math.sqrt(half / (n - half))  # 1 except for an odd n
        change = scale * (np.array(values) - value)
        if self.form == "pivotal":
            tail = (1.0 - self.level) / 2.0
            above, below = np.quantile(change, [tail, 1.0 - tail], method="weibull")
            return (value - below, value - above), diagnostics
        bias, spread = float(change.mean()), float(change.std(ddof=1))
        biases = bias, SLOW_BIAS_FACTOR * bias
        reach = float(ndtri((1.0 + self.level) / 2.0)) * spread
        diagnostics |= {"bootstrap_se": spread, "bootstrap_bias": bias}
        return (value - max(biases) - reach, value - min(biases) + reach), diagnostics

    def _names_not_rejected(
        self, sample: Sample, rng: np.random.Generator, values: Mapping[str, float]
    ) -> list[str]:
        """Return the names of the values for which the test does not reject calibration.

        The test draws labels Y ~ p for the predictions p of the sample, `_null_draws` times. It
        does not reject if at least two draws give a value that is as large. A draw without a finite
        value counts as larger.
        """
        larger = dict.fromkeys(values, 0)
        for _ in range(self._null_draws):
            pending = [name for name, count in larger.items() if count < 2]
            if not pending:
                break
            drawn = finite_values(self, sample.calibrated(rng), rng)
            for name in pending:
                larger[name] += drawn.get(name, math.inf) >= values[name]
        return [name for name, count in larger.items() if count > 1]
