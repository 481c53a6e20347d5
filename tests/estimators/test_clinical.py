"""Estimators of clinical statistics: closed forms, R's numbers, invariances and edge cases."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from monte_carlo import covers
from numpy.random import default_rng
from scipy.special import expit, logit
from scipy.stats import t

import harness
from harness.errors import UndefinedError
from harness.estimators import CalibrationLine, LoessErrors
from harness.math import estimands
from harness.math import loess as loess_module
from harness.math.loess import loess

LOESS = json.loads((Path(__file__).parents[1] / "golden" / "literature" / "loess.json").read_text())


def values(estimator, p, y, rng=None):
    return {name: e.value for name, e in estimator(np.asarray(p), np.asarray(y), rng).items()}


# Loess


@pytest.mark.parametrize("span", [0.4, 0.75, 1.0])
@pytest.mark.parametrize("name", LOESS)
def test_the_curve_is_that_of_cleveland_and_grosse(name, span):
    sample = LOESS[name]
    p, y = np.array(sample["p"]), np.array(sample["y"])
    assert loess(p, y, span) == pytest.approx(np.array(sample["curves"][str(span)]), abs=1e-11)


def test_a_quadratic_is_reproduced():
    p = default_rng(0).random(50)
    assert loess(p, p**2 - p, 0.3) == pytest.approx(p**2 - p, abs=1e-12)


def test_five_points_by_hand():
    """q is 4. At 0, h is 3/4, so that three points have a positive weight and are interpolated.

    At 1, the same holds by symmetry. At 1/2, h is 1/2, and three points have a positive weight.
    """
    p, y = np.arange(5) / 4, np.array([0, 1, 0, 1, 1])
    curve = loess(p, y, 0.8)
    assert curve[[0, 2, 4]] == pytest.approx(y[[0, 2, 4]], abs=1e-12)


def test_few_distinct_predictions_get_their_mean_outcome():
    p = np.repeat([0.1, 0.4, 0.9], [3, 2, 5])
    y = np.array([0, 1, 0, 1, 1, 0, 1, 1, 1, 0])
    means = np.repeat([1 / 3, 1.0, 3 / 5], [3, 2, 5])
    assert loess(p, y, 0.75) == pytest.approx(means, abs=1e-12)


def test_a_prediction_that_fills_the_span_gets_its_mean_outcome():
    p = np.concatenate([np.full(90, 0.5), np.linspace(0.1, 0.9, 10)])
    y = np.arange(100) % 2
    assert loess(p, y, 0.75)[:90] == pytest.approx(np.full(90, 0.5), abs=1e-12)


def test_groups_of_many_predictions_change_the_curve_little(monkeypatch):
    """Distances of about 1 / 500 are small against the bandwidth of three quarters of the rows."""
    p, y = harness.load_problem("beta_overconfident").sample(3000, default_rng(0))
    grouped = loess(p, y, 0.75)
    monkeypatch.setattr(loess_module, "MAX_VALUES", 3000)
    assert np.abs(grouped - loess(p, y, 0.75)).max() < 1e-3


def test_tiny_distances_cause_no_warning():
    p = np.array([0.0, 1e-320, 2e-320, 0.5, 1.0])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(loess(p, np.array([0, 1, 0, 1, 1]), 0.75)).all()


# ICI, E50, E90, Emax and ECI


def test_errors_by_hand():
    """Two groups with mean outcomes 1/2 and 1, so that d is 0.3, 0.3, 0.4, 0.4."""
    numbers = values(LoessErrors(), [0.2, 0.2, 0.6, 0.6], [0, 1, 1, 1])
    assert numbers == pytest.approx(
        {"l1": 0.35, "e50": 0.35, "e90": 0.4, "linf": 0.4, "l2_squared": 0.125}
    )
    assert values(LoessErrors(), [0.3], [1])["l1"] == pytest.approx(0.7)  # a single row


def test_errors_follow_the_curve_of_r():
    """Means, quantiles of type 7 and maxima of |p - curve|, from the curve of the golden file."""
    for sample in LOESS.values():
        p = np.array(sample["p"])
        d = np.sort(np.abs(p - np.array(sample["curves"]["0.75"])))
        numbers = values(LoessErrors(), p, sample["y"])
        place = 0.9 * (len(d) - 1)
        below = int(place)
        assert numbers["e90"] == pytest.approx(
            d[below] + (place - below) * (d[below + 1] - d[below]), abs=1e-11
        )
        assert numbers["l1"] == pytest.approx(d.mean(), abs=1e-11)
        assert numbers["linf"] == pytest.approx(d[-1], abs=1e-11)
        assert numbers["l2_squared"] == pytest.approx((d**2).mean(), abs=1e-11)


def test_relabelling_outcomes_keeps_the_errors():
    p, y = harness.load_problem("beta_overconfident").sample(200, default_rng(1))
    assert values(LoessErrors(), 1 - p, 1 - y) == pytest.approx(values(LoessErrors(), p, y))


def test_perfect_predictions_of_0_and_1():
    assert values(LoessErrors(), [0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1])["linf"] == pytest.approx(0.0)


def test_smooth_miscalibration_is_estimated_well():
    """The mean over 20 samples of 2,000 has a standard error of about 0.003, a bias of 0.004."""
    problem = harness.load_problem("beta_overconfident")
    samples = [problem.sample(2000, default_rng(seed)) for seed in range(20)]
    mean = np.mean([LoessErrors()(p, y)["l1"].value for p, y in samples])
    assert abs(mean - problem.truth("l1").value) < 0.015


# Calibration slope and intercept


def line_sample(n, slope, shift, rng):
    """Return uniform scores p (n,) and labels whose logit is shift + slope logit(p)."""
    p = rng.uniform(size=n)
    return p, (rng.uniform(size=n) < expit(shift + slope * logit(p))).astype(int)


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
    half = t.ppf(0.975, 198) * math.sqrt(variance) / (logit(0.7) - logit(0.1))
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
    )
    for predictions, y, words in cases:
        with pytest.raises(UndefinedError, match=words):
            CalibrationLine()(predictions, y)


def test_few_events_have_no_interval():
    few = np.repeat([1, 0, 1], [8, 191, 1])
    slope = CalibrationLine()(np.linspace(0.1, 0.9, 200), few)["slope"]
    assert slope.low is None and math.isfinite(slope.value)


def test_wrong_predictions_of_0_and_1_draw_the_slope_to_0():
    certain = np.repeat([0.0, 1.0], 100)
    assert CalibrationLine()(certain, np.arange(200) % 2)["slope"].high < 0.1


def test_swapping_the_outcomes_keeps_the_slope_and_turns_the_intercept():
    p, y = line_sample(300, 0.7, 0.4, default_rng(3))
    first, second = values(CalibrationLine(), p, y), values(CalibrationLine(), 1 - p, 1 - y)
    assert first["slope"] == pytest.approx(second["slope"])
    assert first["intercept"] == pytest.approx(-second["intercept"])


def test_slope_and_intercept_are_no_errors_and_have_no_truth():
    for name in ("slope", "intercept"):
        assert not estimands.is_distance(name) and not estimands.has_truth(name)
        assert estimands.check_name(name, "top_label") == name
