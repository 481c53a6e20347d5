"""Estimators of clinical statistics: closed forms, R's numbers, invariances and edge cases."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from monte_carlo import covers
from numpy.random import default_rng
from scipy.special import expit, logit
from scipy.stats import chi2
from scipy.stats import t as student

import harness
from harness.calibrators.newton import logistic
from harness.errors import UndefinedError
from harness.estimators import (
    CalibrationBelt,
    CalibrationLine,
    ChiSquare,
    HosmerLemeshow,
    LoessErrors,
    SafeTest,
)
from harness.estimators.calibration_belt import _tail
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


# Calibration belt


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


# Hosmer and Lemeshow


def test_hosmer_lemeshow_by_hand():
    """Bins {0.1, 0.3}, {0.6, 0.8} with outcomes 1, 0, 1, 1: terms of both outcomes of each bin."""
    p, y = np.array([0.1, 0.3, 0.6, 0.8]), np.array([1, 0, 1, 1])
    e = HosmerLemeshow(2)(p, y)["p_value"]
    x = (1 - 0.4) ** 2 / 0.4 + (1 - 1.6) ** 2 / 1.6 + (2 - 1.4) ** 2 / 1.4 + (0 - 0.6) ** 2 / 0.6
    assert e.diagnostics == pytest.approx({"chi_square": x, "degrees": 2.0})
    assert e.value == pytest.approx(math.exp(-x / 2))
    exact = ChiSquare(2)(p, y)["p_value"]
    assert exact.diagnostics["chi_square"] > x  # its variances are smaller


def test_a_fitted_model_takes_two_degrees_of_freedom():
    p, y = line_sample(200, 1.0, 0.0, default_rng(4))
    external, inside = (HosmerLemeshow(in_sample=flag)(p, y)["p_value"] for flag in (False, True))
    assert external.diagnostics["chi_square"] == inside.diagnostics["chi_square"]
    assert (external.diagnostics["degrees"], inside.diagnostics["degrees"]) == (10.0, 8.0)
    with pytest.raises(UndefinedError, match="2 bins"):
        HosmerLemeshow(2, in_sample=True)(p, y)


def test_hosmer_lemeshow_refuses_impossible_outcomes():
    """Their residuals cancel in a bin of both."""
    assert HosmerLemeshow(1)([0.0, 1.0], [1, 0])["p_value"].value == 0.0
    assert HosmerLemeshow(1)([0.0, 1.0], [0, 1])["p_value"].value == 1.0


def test_a_logistic_regression_passes_on_its_own_samples():
    """Share of 400 fitted models with a p-value of at most 0.05, within 4 standard errors."""
    rng, rejected = default_rng(6), 0
    for _ in range(400):
        x = rng.normal(size=300)
        y = (rng.random(300) < expit(x - 0.5)).astype(int)
        features = np.column_stack([np.ones(300), x])
        fitted = expit(features @ logistic(features, y, centre=np.zeros(2)))
        rejected += values(HosmerLemeshow(in_sample=True), fitted, y)["p_value"] <= 0.05
    assert abs(rejected / 400 - 0.05) <= 4 * math.sqrt(0.05 * 0.95 / 400)


# The safe test


def test_the_e_value_of_one_split_by_hand():
    """Two rows of 0.5 with outcome 1: each half predicts 1 for the other, so q = 0.75, e = 1.5."""
    e = SafeTest(splits=3)([0.5, 0.5], [1, 1], default_rng(0))["p_value"]
    assert e.diagnostics["log_e"] == pytest.approx(math.log(1.5))
    assert e.value == pytest.approx(1 / 1.5)
    against = SafeTest()([0.5, 0.5], [0, 1], default_rng(0))["p_value"]
    assert against.diagnostics["log_e"] == pytest.approx(math.log(0.5)) and against.value == 1.0


def test_the_mean_e_value_of_calibrated_samples_is_at_most_1():
    """Mean of 400 e-values within 4 of its standard errors; no approximation for n = 20."""
    rng, e_values = default_rng(8), []
    for _ in range(400):
        p = rng.random(20)
        y = (rng.random(20) < p).astype(int)
        e_values.append(math.exp(SafeTest(2)(p, y, rng)["p_value"].diagnostics["log_e"]))
    assert np.mean(e_values) <= 1.0 + 4 * np.std(e_values) / 20


def test_edges_of_the_safe_test():
    rng = default_rng(0)
    assert values(SafeTest(), [0.0, 1.0], [0, 1], rng)["p_value"] == 1.0
    impossible = SafeTest()(np.array([0.0, 0.5]), np.array([1, 0]), rng)["p_value"]
    assert impossible.value == 0.0 and impossible.diagnostics["log_e"] == math.inf
    with np.errstate(all="raise", under="ignore"):
        tiny = SafeTest()(np.full(4, 1e-320), np.ones(4, dtype=int), rng)["p_value"]
    assert 0.0 <= tiny.value < 1e-300
    with pytest.raises(UndefinedError, match="two halves"):
        values(SafeTest(), [0.5], [1], rng)


# All tests of calibration


CLINICAL_TESTS = [CalibrationBelt(), HosmerLemeshow(), SafeTest()]


@pytest.mark.parametrize("test", CLINICAL_TESTS)
def test_the_level_holds_for_calibrated_samples(test):
    """At most 5 % of 400 samples of 500 are rejected at level 0.05, up to 4 standard errors."""
    rng = default_rng(5)
    p_values = []
    for _ in range(400):
        p = rng.beta(0.7, 0.7, 500)
        p_values.append(values(test, p, (rng.random(500) < p).astype(int), rng)["p_value"])
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("test", CLINICAL_TESTS)
def test_overconfidence_is_rejected(test):
    p, y = harness.load_problem("beta_overconfident").sample(1000, default_rng(1))
    assert values(test, p, y, default_rng(0))["p_value"] < 1e-6


@pytest.mark.parametrize("test", CLINICAL_TESTS)
def test_p_values_of_classes_are_combined_by_bonferroni(test):
    p, y = harness.load_problem("dirichlet3_overconfident").sample(100, default_rng(3))
    x, hits = harness.reduce(p, y, "classwise")
    rng = default_rng(0)
    single = [values(test, x[:, j], hits[:, j], rng)["p_value"] for j in range(3)]
    together = values(test, x, hits, default_rng(0))["p_value"]
    assert together == pytest.approx(min(1.0, 3 * min(single)))
