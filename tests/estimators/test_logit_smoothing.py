"""LS-ECE: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import drawn, value
from monte_carlo import near
from numpy.random import default_rng
from scipy.special import expit, logit
from scipy.stats import norm

import harness
from harness.estimators import LogitSmoothed


@pytest.mark.parametrize("sigma", [0.05, 0.5, 3.0])
def test_one_sample_gives_the_mean_distance_of_its_blurred_prediction(sigma):
    t = np.linspace(-12, 12, 200_001)
    mean = np.trapezoid(np.abs(1 - expit(0.4 + sigma * t)) * norm.pdf(t), t)
    assert value(LogitSmoothed(sigma), [expit(0.4)], [1]) == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize("sigma", [1 / 15, 0.5])
def test_the_sum_over_the_grid_is_the_integral(sigma):
    p, y = drawn(40, 2)
    x = logit(p)
    t = np.linspace(x.min() - 9 * sigma, x.max() + 9 * sigma, 100_001)
    density = sum((y[i] - expit(t)) * norm.pdf(t, x[i], sigma) for i in range(40))
    integral = np.trapezoid(np.abs(density), t) / 40
    assert value(LogitSmoothed(sigma), p, y) == pytest.approx(integral, abs=1e-4)


def test_the_authors_average_of_draws():
    """Kernel regression at noisy log-odds of random samples, as in the authors' code."""
    p, y = drawn(200, 3)
    x, sigma, rng = logit(p), 0.3, default_rng(0)
    t = x[rng.integers(0, 200, 20_000)] + sigma * rng.standard_normal(20_000)
    weights = np.exp(-0.5 * ((t[:, None] - x) / sigma) ** 2)
    draws = np.abs(weights @ y / weights.sum(axis=1) - expit(t))
    assert near(draws, value(LogitSmoothed(sigma), p, y), bias=1e-4)


def test_a_wide_blur_compares_the_means_and_a_narrow_one_the_samples():
    p, y = np.array([0.3, 0.6]), np.array([1, 0])
    assert value(LogitSmoothed(0.01), p, y) == pytest.approx((0.7 + 0.6) / 2, abs=1e-3)
    same = np.full(10, 0.4), np.repeat([0, 1], 5)
    assert value(LogitSmoothed(0.01), *same) == pytest.approx(0.1, abs=1e-3)


def test_infinite_log_odds_form_groups_of_their_own():
    p, y = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 0.5]), np.array([0, 1, 1, 0, 1, 1])
    alone = value(LogitSmoothed(), [0.5], [1])
    assert value(LogitSmoothed(), p, y) == pytest.approx((1 + 1 + alone) / 6)
    assert value(LogitSmoothed(), [5e-324, 1 - 2**-53], [0, 1]) == pytest.approx(0.0, abs=1e-9)


def test_the_blurred_error_approaches_l1_with_many_samples():
    problem = harness.load_problem("beta_overconfident")
    p, y = problem.sample(100_000, default_rng(0))
    truth = problem.truth("l1", "binary").value
    assert value(LogitSmoothed(0.2), p, y) == pytest.approx(truth, abs=4 * np.sqrt(0.25 / 1e5))
