"""Smooth calibration, LS-ECE and the test-based error: closed forms, other solvers, edge cases."""

import numpy as np
import pytest
from monte_carlo import near
from numpy.random import default_rng
from scipy.optimize import linprog
from scipy.special import expit, logit
from scipy.stats import binomtest, norm

import harness
from harness.estimators import Binned, IntervalCE, LogitSmoothed, RejectionShare, SmoothCalibration
from harness.estimators.rejection_share import binomial_p_values, pool
from harness.estimators.smooth_calibration import largest_sum


def value(estimator, p, y):
    (estimate,) = estimator(np.asarray(p, dtype=float), np.asarray(y)).values()
    return estimate.value


def drawn(n, seed, power=1.5):
    """Return n predictions from Beta(1/2, 1/2), and outcomes with P(Y = 1) = p^power."""
    rng = default_rng(seed)
    p = rng.beta(0.5, 0.5, n)
    return p, (rng.random(n) < p**power).astype(np.int64)


THREE = [SmoothCalibration(), LogitSmoothed(), RejectionShare()]


@pytest.mark.parametrize("estimator", THREE)
def test_order_and_names_of_the_outcomes_do_not_matter(estimator):
    p, y = drawn(300, 0)
    p = np.round(p, 2)  # with ties
    order = default_rng(1).permutation(len(p))
    first = value(estimator, p, y)
    assert value(estimator, p[order], y[order]) == pytest.approx(first, abs=1e-12)
    mirrored = value(estimator, 1 - p, 1 - y)
    if isinstance(estimator, SmoothCalibration):
        assert mirrored == pytest.approx(first, abs=1e-12)
    if isinstance(estimator, LogitSmoothed):  # up to the grid
        assert mirrored == pytest.approx(first, abs=1e-4)


@pytest.mark.parametrize("estimator", THREE)
def test_predictions_of_zero_and_one(estimator):
    p, y = np.repeat([0.0, 1.0], 20), np.repeat([0, 1], 20)
    assert value(estimator, p, y) == 0.0
    assert value(estimator, p, 1 - y) == pytest.approx(
        0.5 if isinstance(estimator, SmoothCalibration) else 1.0
    )


# Smooth calibration


def test_smooth_calibration_of_one_and_of_two_predictions():
    """One prediction: w = +-1. Two with opposite residuals: w differs by their distance."""
    assert value(SmoothCalibration(), [0.3], [1]) == pytest.approx(0.7)
    assert value(SmoothCalibration(), [0.3, 0.3], [1, 0]) == pytest.approx(0.2)
    assert value(SmoothCalibration(), [0.4, 0.6], [1, 0]) == pytest.approx(0.6 * 0.2 / 2)
    # Residuals 0.5, -0.8 and -0.9: w is -1 at the last two, and rises by their distance of 0.3.
    p, y = [0.5, 0.8, 0.9], [1, 0, 0]
    assert value(SmoothCalibration(), p, y) == pytest.approx((0.5 * -0.7 + 0.8 + 0.9) / 3)


@pytest.mark.parametrize("length", [0.2, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_dynamic_programming_solves_the_linear_program(length, seed):
    """Longer intervals than [0, 1] make both ends of |w| <= 1 bind."""
    rng = default_rng(seed)
    x, r = np.sort(rng.random(25)) * length, rng.normal(size=25) * (rng.random(25) < 0.8)
    steps = np.diff(np.eye(25), axis=0)
    program = linprog(
        -r, np.vstack([steps, -steps]), np.tile(np.diff(x), 2), bounds=[(-1.0, 1.0)] * 25
    )
    assert largest_sum(x, r) == pytest.approx(-program.fun, abs=1e-9)
    assert largest_sum(x, -r) == pytest.approx(-program.fun, abs=1e-9)  # by w -> -w


def lower_distance(p, y, grid):
    """Return the smallest E|p - q| over calibrated q with values in `grid`, by a linear program.

    The variables are the masses that each sample gives to each value of q.
    """
    n, m = len(p), len(grid)
    cost = np.abs(grid[None, :] - p[:, None]).ravel()
    mass = np.kron(np.eye(n), np.ones(m))
    calibrated = np.hstack([np.diag(outcome - grid) for outcome in y])
    program = linprog(
        cost, A_eq=np.vstack([mass, calibrated]), b_eq=np.append(np.ones(n) / n, np.zeros(m))
    )
    return program.fun


@pytest.mark.parametrize("seed", range(6))
def test_smooth_calibration_is_the_lower_distance_up_to_two(seed):
    rng = default_rng(seed)
    p, y = rng.random(6), rng.integers(0, 2, 6)
    distance = lower_distance(p, y, np.linspace(0.0, 1.0, 121))
    smooth = value(SmoothCalibration(), p, y)
    assert smooth <= 2 * distance + 1e-9  # a finer grid can only lower the distance ...
    assert distance <= 2 * smooth + 1 / 120  # ... by about a step


def test_smooth_calibration_is_below_the_other_errors():
    for seed in range(5):
        p, y = drawn(400, seed)
        smooth = value(SmoothCalibration(), p, y)
        assert abs((y - p).mean()) <= smooth + 1e-12  # w = +-1
        assert smooth <= value(IntervalCE(), p, y) * 2
        assert smooth <= np.abs(y - p).mean()


def test_smooth_calibration_converges_at_the_rate_of_a_mean():
    """A shift by 0.1 has w = 1, so that the value tends to 0.1; calibrated ones tend to 0."""
    rng = default_rng(0)
    shifted, calibrated = [], []
    for _ in range(50):
        p = rng.uniform(0.2, 0.8, 4000)
        u = rng.random(4000)
        shifted.append(value(SmoothCalibration(), p, u < p + 0.1))
        calibrated.append(value(SmoothCalibration(), p, u < p))
    assert near(shifted, 0.1, bias=2 * np.sqrt(0.25 / 4000))
    assert 0.0 < np.mean(calibrated) < 2 * np.sqrt(0.25 / 4000)


# LS-ECE


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


# The test-based error


def test_p_values_are_those_of_the_exact_binomial_test():
    rng = default_rng(0)
    m = rng.integers(1, 80, 400)
    k = rng.integers(0, m + 1)
    p = np.where(
        rng.random(400) < 0.3, rng.choice([0.0, 0.1, 0.25, 0.5, 1.0], 400), rng.random(400)
    )
    exact = [binomtest(int(a), int(b), c).pvalue for a, b, c in zip(k, m, p)]
    assert binomial_p_values(k, m, p) == pytest.approx(np.array(exact), abs=1e-12)


def bins(hits, least, most, counts=None):
    hits = np.array(hits)
    counts = np.ones_like(hits) if counts is None else np.array(counts)
    return [part.tolist() for part in pool(counts, hits, least, most)]


def test_bins_by_hand():
    """Without bounds, isotonic regression, but that the last sample joins the bin before it."""
    assert bins([0, 1, 0, 1, 1, 1], 1, 6) == [[1, 2, 3], [0, 1, 3], [1, 2, 3]]
    # Bins of at least two: the last two samples are a bin, which joins the one before it.
    assert bins([0, 0, 0, 1, 1, 1, 1], 2, 7) == [[3, 4], [0, 4], [3, 4]]
    assert bins([0, 0, 0, 1, 1, 1, 1], 2, 3) == [[3, 2, 2], [0, 2, 2], [3, 2, 2]]
    # Falling outcomes: the bins are as large as allowed.
    assert bins([1, 1, 1, 0, 0, 0, 0], 1, 3)[0] == [3, 3, 1]
    # Equal predictions stay together even if they exceed the bound.
    assert bins([4, 1, 2], 2, 3, counts=[5, 1, 4])[0] == [5, 1 + 4]
    assert bins([1], 1, 1) == [[1], [1], [1]]


@pytest.mark.parametrize("n", [20, 57, 400])
def test_sizes_of_bins_are_within_their_bounds(n):
    for seed in range(20):
        p, y = drawn(n, seed)
        sizes, successes, _ = pool(np.ones(n, dtype=int), y[np.argsort(p)], n // 20, n // 5)
        assert sizes.sum() == n and successes.sum() == y.sum()
        assert sizes.min() >= n // 20 and sizes[:-1].max() <= n // 5


def test_rejected_predictions_by_hand():
    """One bin of 20 samples, all of them 1: p-values 2 * 0.5^20 and at least 0.95^20 = 0.36."""
    p = np.append(np.full(10, 0.5), np.full(10, 0.95))
    assert value(RejectionShare(smallest=1.0, largest=1.0), p, np.ones(20, dtype=int)) == 0.5
    assert value(RejectionShare(), [0.04], [1]) == 1.0 and value(RejectionShare(), [0.06], [1]) == 0


def test_the_share_of_rejections_tends_to_that_of_wrong_predictions():
    rng = default_rng(0)
    p = rng.uniform(0.1, 0.9, 20_000)
    shifted = np.where(p < 0.5, p, p - 0.1)
    estimate = RejectionShare()(p, (rng.random(20_000) < shifted).astype(int))["tce"]
    assert 0.4 < estimate.value < 0.8 and estimate.diagnostics["bins"] >= 5


@pytest.mark.parametrize("estimator", THREE)
def test_no_error_exceeds_the_largest_possible_one(estimator):
    for n in (1, 2, 3, 19):
        p, y = drawn(n, n)
        largest = 1.0 if isinstance(estimator, RejectionShare) else np.abs(y - p).mean()
        assert 0.0 <= value(estimator, p, y) <= largest + 0.05
    assert Binned(10**6)(p, y)["l1"].value == pytest.approx(np.abs(y - p).mean())
