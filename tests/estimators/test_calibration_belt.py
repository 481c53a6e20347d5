"""Calibration belt: closed forms, other code, invariances and edge cases."""

import math

import numpy as np
import pytest
from literature import line_sample, values
from numpy.random import default_rng
from scipy.special import expit, logit
from scipy.stats import chi2

from harness.errors import UndefinedError
from harness.estimators import CalibrationBelt
from harness.estimators.calibration_belt import _tail


def test_two_predictions_have_the_likelihood_ratio_of_their_frequencies():
    """Frequencies 0.2 and 0.5 for 0.2 and 0.7: T = 2 * 10 * KL(0.5, 0.7), p-value exp(-T / 2)."""
    p, y = np.repeat([0.2, 0.7], 10), np.repeat([1, 0, 1, 0], [2, 8, 5, 5])
    e = CalibrationBelt()(p, y)["p_value"]
    t = 20 * (0.5 * math.log(0.5 / 0.7) + 0.5 * math.log(0.5 / 0.3))
    assert e.diagnostics == pytest.approx({"statistic": t, "degree": 1.0}, rel=1e-4)
    assert e.value == pytest.approx(math.exp(-t / 2), rel=1e-4)


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_the_tail_of_the_belt_is_that_of_its_terms(terms):
    """Against 200,000 draws of chi^2_2 plus truncated chi^2_1, within 4 standard errors."""
    rng, draws = default_rng(terms), 200_000
    truncated = chi2.isf(0.05 * rng.random((draws, terms)), 1).sum(axis=1)
    total = truncated + chi2.rvs(2, size=draws, random_state=rng)
    for t in (4.0, 10.0, 16.0, 22.0):
        tail = float(_tail(np.array(t), terms))
        assert abs((total >= t).mean() - tail) <= 4 * math.sqrt(tail * (1 - tail) / draws) + 1e-9


def test_a_curve_of_the_logit_raises_the_degree():
    rng = default_rng(0)
    p = rng.uniform(0.02, 0.98, 2000)
    y = (rng.random(2000) < expit(logit(p) + 0.3 * (logit(p) ** 2 - 2))).astype(int)
    diagnostics = CalibrationBelt()(p, y)["p_value"].diagnostics
    assert diagnostics["degree"] == 2.0
    straight = CalibrationBelt(max_degree=1)(p, y)["p_value"].diagnostics
    assert straight["degree"] == 1.0 and straight["statistic"] < diagnostics["statistic"]


def test_true_predictions_of_0_and_1_change_nothing_and_false_ones_reject():
    p, y = line_sample(100, 0.5, 0.0, default_rng(2))
    more = np.concatenate([p, [0.0, 1.0, 1.0]])
    true, false = np.concatenate([y, [0, 1, 1]]), np.concatenate([y, [0, 1, 0]])
    assert CalibrationBelt()(more, true) == CalibrationBelt()(p, y)
    assert values(CalibrationBelt(), more, false)["p_value"] == 0.0


@pytest.mark.parametrize("p, y", [([0.3], [1]), ([0.2, 0.6], [1, 1]), ([0.4, 0.4], [0, 1])])
def test_a_belt_without_different_rows_is_undefined(p, y):
    with pytest.raises(UndefinedError, match="needs different ones"):
        values(CalibrationBelt(), p, y)


def test_a_class_that_never_occurs_does_not_decide_a_class_wise_belt():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([3.0, 3.0, 0.1], 200)
    y = (rng.random(200) < p[:, 1] / (1.0 - p[:, 2])).astype(int)
    belts = [CalibrationBelt()(p[:, j], (y == j).astype(int))["p_value"].value for j in range(2)]
    outcomes = np.eye(3)[y]
    whole = CalibrationBelt()(p, outcomes)["p_value"].value
    assert whole == pytest.approx(min(1.0, 3.0 * min(belts)))
    with pytest.raises(UndefinedError, match="needs different ones"):
        CalibrationBelt()(np.full((2, 2), 0.5), np.eye(2))
