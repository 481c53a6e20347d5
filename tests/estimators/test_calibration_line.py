"""Calibration slope and intercept: closed forms, other code, invariances and edge cases."""

import math

import numpy as np
import pytest
from literature import line_sample, values
from monte_carlo import covers
from numpy.random import default_rng
from scipy.special import expit, logit
from scipy.stats import t as student

from harness.errors import UndefinedError
from harness.estimators import CalibrationLine
from harness.math import estimands


def test_the_line_goes_through_the_frequencies_of_two_scores():
    """20 % events at p = 0.1 and 60 % at p = 0.7: the slope is in closed form."""
    p, y = np.repeat([0.1, 0.7], 100), np.repeat([1, 0, 1, 0], [20, 80, 60, 40])
    slope, intercept = CalibrationLine()(p, y).values()
    rise = logit(0.6) - logit(0.2)
    assert slope.value == pytest.approx(rise / (logit(0.7) - logit(0.1)), abs=1e-4)
    a = logit(0.2) - slope.value * logit(0.1)
    assert slope.diagnostics["a"] == pytest.approx(a, abs=1e-4)
    # The variance of the logit of a frequency f of m rows is 1 / (m f (1 - f)). The leverage of
    # each row is 1 / m, so that HC3 multiplies it by (m / (m - 1))^2.
    variance = sum((100 / 99) ** 2 / (100 * f * (1 - f)) for f in (0.2, 0.6))
    half = student.ppf(0.975, 198) * math.sqrt(variance) / (logit(0.7) - logit(0.1))
    assert slope.high - slope.value == pytest.approx(half, rel=0.02)
    assert expit(intercept.value + logit(p)).mean() == pytest.approx(0.4)
    assert intercept.low < intercept.value < intercept.high


@pytest.mark.parametrize("slope, shift", [(1.0, 0.0), (0.5, 0.0), (1.0, 0.5)])
def test_intervals_of_the_line_cover(slope, shift):
    """With slope 0.5 and shift 0 the intercept is 0, because scores are symmetric about 1/2."""
    rng = default_rng(0)
    lines = [CalibrationLine()(*line_sample(200, slope, shift, rng)) for _ in range(400)]
    for name, truth in (("slope", slope), ("intercept", shift)):
        assert covers([line[name].low <= truth <= line[name].high for line in lines], 0.95)


def test_a_slope_without_value_is_undefined_in_one_sentence():
    p = np.linspace(0.1, 0.9, 200)
    separated, half = (p > 0.5).astype(int), np.arange(200) % 2
    cases = (
        (p, np.ones(200, dtype=int), "all 200 labels are 1"),
        (np.full(200, 0.3), half, "all 200 predictions are about 0.3"),
        (p, separated, "a threshold on p separates"),
        (np.array([0.3]), np.array([1]), "all 1 labels are 1"),
        (half.astype(float), half, "all 200 predictions are 0 or 1"),
    )
    for predictions, y, words in cases:
        with pytest.raises(UndefinedError, match=words):
            CalibrationLine()(predictions, y)


def test_few_events_have_no_interval():
    few = np.repeat([1, 0, 1], [8, 191, 1])
    slope = CalibrationLine()(np.linspace(0.1, 0.9, 200), few)["slope"]
    assert slope.low is None and math.isfinite(slope.value)


def test_predictions_of_0_and_1_are_left_out_and_counted():
    p, y = line_sample(300, 0.7, 0.4, default_rng(3))
    groups = np.arange(300) // 3
    more_p, more_y = np.r_[0.0, p, 1.0, 1.0], np.r_[1, y, 1, 0]
    more_groups = np.r_[5, groups, 200, 7]
    pairs = (
        (CalibrationLine()(p, y), CalibrationLine()(more_p, more_y)),
        (
            CalibrationLine()(p, y, groups=groups),
            CalibrationLine()(more_p, more_y, groups=more_groups),
        ),
    )
    for without, with_certain in pairs:
        for name in ("slope", "intercept"):
            assert with_certain[name].value == without[name].value
            assert with_certain[name].high == without[name].high
            counts = with_certain[name].diagnostics
            assert (counts["left_out"], counts["left_out_wrong"]) == (3, 2)
            assert without[name].diagnostics["left_out"] == 0


def test_one_wrong_certain_prediction_leaves_the_slope_of_multiples_of_a_tenth():
    rng = default_rng(0)
    p = rng.integers(0, 11, 4000) / 10.0
    y = (rng.random(4000) < p).astype(int)
    y[np.flatnonzero(p == 0.0)[0]] = 1
    slope = CalibrationLine()(p, y)["slope"]
    assert slope.low < 1.0 < slope.high and abs(slope.value - 1.0) < 0.15


def test_swapping_the_outcomes_keeps_the_slope_and_turns_the_intercept():
    p, y = line_sample(300, 0.7, 0.4, default_rng(3))
    first, second = values(CalibrationLine(), p, y), values(CalibrationLine(), 1 - p, 1 - y)
    assert first["slope"] == pytest.approx(second["slope"])
    assert first["intercept"] == pytest.approx(-second["intercept"])


def test_slope_and_intercept_are_no_errors_and_have_no_truth():
    for name in ("slope", "intercept"):
        assert not estimands.is_distance(name) and not estimands.has_truth(name)
        assert estimands.check_name(name, "top_label") == name
