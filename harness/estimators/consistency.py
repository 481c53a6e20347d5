"""Test of calibration by any estimator, from its values on labels drawn from the predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_callable, check_integer
from harness.estimators.resampled_interval import (
    SAME,
    Resampling,
    Sample,
    finite_values,
    spawn_streams,
    statistic_message,
)

MIN_LABELS = 19  # smallest number of draws for which a p-value can be 0.05


@dataclass(frozen=True)
class Consistency(Resampling):
    """Test of calibration by any estimator: its value compared with values on calibrated labels.

        p_value = (1 + #{b: T_b >= T}) / (resamples + 1)

    T is the value of the estimator on the sample. T_b, b = 1, ..., resamples, is its value for the
    same predictions p with labels Y_b that are drawn from p.

    Parameters
    ----------
    estimator : estimator
        The estimator that gives T. Its values should be large for miscalibrated predictions.
    statistic : str
        The estimand of the estimator that is used as T.
    resamples : int
        Number of draws of labels, at least 19. A test at a given level has exactly this size, up to
        ties, if level (resamples + 1) is an integer. For the level 0.05, 99 is such a number.

    Notes
    -----
    **Hypothesis.** Y given p has the distribution p. Then T and all T_b are exchangeable given p,
    and P(p_value <= level) <= level for every n and every estimator, biased or not. Ties count
    against rejection, and so do labels for which the estimator has no value.

    Under the class-wise notion, labels are drawn from the whole vector, so that the hypothesis is
    canonical calibration. Under the top-label notion, the correctness of the top class is drawn
    from the confidence.

    **Power.** It depends on the estimator. To debias the estimator does not raise it by itself,
    because T_b has the same bias as T.

    The table has the measured percentage of p-values of at most 0.05, with 99 draws. Each entry has
    two numbers, for n = 200 and for n = 1,000. An entry comes from 100 samples; its standard error
    is 2.2 points at 5 % and 5 points at 50 %. Entries in the column with * come from 63 or 64
    samples; their standard error is 6 points at 50 %.

                                    beta_calibrated  beta_shifted  beta_wavy*
        binned15 l1                            4, 4        13, 23      16, 67
        binned15_mass l1                       9, 1         9, 19      11, 57
        debiased15 l2_squared                  4, 3         4, 19       5, 27

    **Diagnostics.**

        statistic             T
        null_mean, null_sd    mean and standard deviation of the T_b
        resamples             number of draws of labels
        undefined_resamples   number of draws for which the estimator has no value

    **Cost.** `resamples` + 1 calls of the estimator on n rows.

    References
    ----------
    Broecker and Smith (2007), Weather and Forecasting 22; Vaicenavicius et al. (2019), AISTATS,
    Section 5 (consistency resampling); Davison and Hinkley (1997), eq. 4.11 (Monte Carlo p-value).

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

    def __post_init__(self) -> None:
        check_callable(self.estimator)
        check_integer("resamples", self.resamples, MIN_LABELS)
        names = self.inner.estimands
        if names is not None and self.statistic not in names:
            raise BadInputError(statistic_message(self.statistic, names))

    @property
    def seconds(self) -> float:
        return (1.0 + self.resamples) * self._inner_seconds

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        notion: str | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        sample = Sample.of(p, y, notion, problem)
        estimates, parent = self._apply_estimator(sample, rng)
        if self.statistic not in estimates:
            raise BadInputError(statistic_message(self.statistic, estimates))
        value = estimates[self.statistic].value
        if not math.isfinite(value):
            raise UndefinedError(f"the statistic {self.statistic} is {value}; it must be finite")
        (stream,) = spawn_streams(parent, 1)
        null_values = []
        for _ in range(int(self.resamples)):
            drawn = finite_values(self, sample.calibrated(stream), stream)
            if self.statistic in drawn:
                null_values.append(drawn[self.statistic])
        undefined = self.resamples - len(null_values)
        larger = sum(x >= value - SAME * max(1.0, abs(value)) for x in null_values)
        diagnostics = {"statistic": value, "resamples": float(self.resamples)}
        if null_values:
            diagnostics["null_mean"] = float(np.mean(null_values))
            diagnostics["null_sd"] = float(np.std(null_values))
        if undefined:
            diagnostics["undefined_resamples"] = float(undefined)
        p_value = (1 + larger + undefined) / (self.resamples + 1)
        return {"p_value": Estimate(p_value, diagnostics=diagnostics)}
