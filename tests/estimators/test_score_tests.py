"""Tests of calibration by scores: closed forms, other code, invariances and edge cases."""

import math

import numpy as np
import pytest
from literature import line_sample, value, values
from numpy.random import default_rng
from scipy.special import expit

import harness
from harness import BadInputError
from harness.calibrators.newton import logistic
from harness.errors import UndefinedError
from harness.estimators import (
    CalibrationBelt,
    ChiSquare,
    Cumulative,
    HosmerLemeshow,
    SafeTest,
    Spiegelhalter,
)
from harness.estimators.application import apply
from harness.math import estimands

TESTS = (Cumulative("ks"), Cumulative("kuiper"), Spiegelhalter(), ChiSquare())
CLINICAL_TESTS = [CalibrationBelt(), HosmerLemeshow(), SafeTest()]


def test_z_by_hand():
    """(.9 * .8 - .2 * .6 + .1 * -.8) / sqrt(.64 * .09 + .36 * .16 + .64 * .09), three times."""
    p, y = np.tile([0.1, 0.2, 0.9], 3), np.tile([1, 0, 1], 3)
    estimate = Spiegelhalter()(p, y)["p_value"]
    z = 3 * 0.52 / math.sqrt(3 * 0.1728)
    assert estimate.diagnostics["z"] == pytest.approx(z, rel=1e-14)
    assert estimate.value == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-12)
    assert value(Spiegelhalter(), [0.5, 0.5], [1, 1]) == 1.0  # nothing to see at 1/2


def test_chi_square_by_hand():
    """Two bins: (1 - .4)^2 / .32 + (2 - 1)^2 / .5, and P(chi^2_2 > x) = exp(-x / 2)."""
    estimate = ChiSquare(2)(np.array([0.2, 0.2, 0.5, 0.5]), np.array([1, 0, 1, 1]))["p_value"]
    assert estimate.value == pytest.approx(math.exp(-(0.36 / 0.32 + 2) / 2), rel=1e-12)
    sure = ChiSquare(3)(np.array([0.0, 0.0, 0.2, 0.2, 0.5, 0.5]), np.array([0, 0, 1, 0, 1, 1]))[
        "p_value"
    ]
    assert (
        sure.value == pytest.approx(estimate.value, rel=1e-12) and sure.diagnostics["degrees"] == 2
    )
    assert (
        value(ChiSquare(1), [0.0, 1.0], [1, 0]) == 0.0
    )  # two impossible outcomes, whose residuals cancel
    assert value(ChiSquare(1), [0.0, 1.0], [0, 1]) == 1.0
    # one of them shares a bin with other predictions
    assert value(ChiSquare(1), [0.0, 0.5, 0.5], [1, 0, 1]) == 0.0


@pytest.mark.parametrize(
    "draw", [lambda rng, n: rng.beta(0.5, 0.5, n), lambda rng, n: rng.integers(0, 11, n) / 10]
)
def test_p_values_of_calibrated_samples_are_uniform(draw):
    """Shares of 600 calibrated samples below 0.05 and 0.5 are within 4 standard errors.

    Ties and discrete steps may make those of cumulative residuals too large.
    """
    rng, p_values = default_rng(5), []
    for _ in range(600):
        p = draw(rng, 500)
        y = (rng.random(500) < p).astype(int)
        p_values.append([value(test, p, y, "p_value") for test in TESTS])
    for level in (0.05, 0.5):
        share, error = (
            (np.array(p_values) <= level).mean(axis=0),
            math.sqrt(level * (1 - level) / 600),
        )
        assert (share <= level + 4 * error).all()
        assert (share[2:] >= level - 4 * error).all()
        assert (share[:2] >= 0.5 * level - 4 * error).all()


def test_classwise_p_values_are_bonferronis():
    """Samples without rare events: for these, single tests and class-wise ones may differ."""
    rng = default_rng(3)
    p, y = rng.dirichlet([5.0, 5.0, 5.0], 500), rng.integers(0, 3, 500)
    x, hits = harness.reduce(p, y, "classwise")
    for test in TESTS:
        single = [test(x[:, j], hits[:, j]) for j in range(3)]
        together = apply(test, x, hits, "classwise", None)
        smallest = min(estimates["p_value"].value for estimates in single)
        assert together["p_value"].value == min(1.0, 3 * smallest)
        for name in set(together) - {"p_value"}:
            mean = np.mean([estimates[name].value for estimates in single])
            assert together[name].value == pytest.approx(mean, rel=1e-14)


def test_estimands_of_definitions_have_no_truth():
    for name in ("smooth_ece", "ks", "tace", "uncertainty_kl", "p_value", "interval_ce", "ckce"):
        assert estimands.check_name(name, "binary") == name and not estimands.has_truth(name)
        assert estimands.is_distance(name) == (name not in ("p_value", "uncertainty_kl"))
    assert estimands.check_name("ckce", "canonical") and estimands.check_name("p_value")
    with pytest.raises(BadInputError):
        estimands.check_name("interval_ce", "canonical")


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


@pytest.mark.parametrize("test", CLINICAL_TESTS)
def test_the_level_holds_for_calibrated_samples(test):
    """At most 5 % of 400 samples of 500 are rejected at level 0.05, up to 4 standard errors."""
    rng = default_rng(5)
    p_values = []
    for _ in range(400):
        p = rng.beta(0.7, 0.7, 500)
        p_values.append(values(test, p, (rng.random(500) < p).astype(int), rng)["p_value"])
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("test", [*TESTS, *CLINICAL_TESTS])
def test_overconfidence_is_rejected(test):
    p, y = harness.load_problem("beta_overconfident").sample(1000, default_rng(1))
    assert values(test, p, y, default_rng(0))["p_value"] < 1e-6


@pytest.mark.parametrize("test", CLINICAL_TESTS)
def test_p_values_of_classes_are_combined_by_bonferroni(test):
    """Samples without rare events: for these, single tests and class-wise ones may differ."""
    p, y = harness.load_problem("dirichlet3_overconfident").sample(2000, default_rng(3))
    x, hits = harness.reduce(p, y, "classwise")
    rng = default_rng(0)
    single = [values(test, x[:, j], hits[:, j], rng)["p_value"] for j in range(3)]
    together = values(test, x, hits, default_rng(0))["p_value"]
    assert together == pytest.approx(min(1.0, 3 * min(single)))


def test_certain_predictions_have_certain_p_values():
    for test in TESTS:
        assert value(test, [0, 1, 1], [0, 1, 1], "p_value") == 1.0
        assert value(test, [0, 1, 1], [1, 1, 1], "p_value") == 0.0
