"""Smooth calibration: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import drawn, value
from monte_carlo import near
from numpy.random import default_rng
from scipy.optimize import linprog

from harness.estimators import Binned, IntervalCE, LogitSmoothed, RejectionShare, SmoothCalibration
from harness.estimators.smooth_calibration import largest_sum

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


@pytest.mark.parametrize("estimator", THREE)
def test_no_error_exceeds_the_largest_possible_one(estimator):
    for n in (1, 2, 3, 19):
        p, y = drawn(n, n)
        largest = 1.0 if isinstance(estimator, RejectionShare) else np.abs(y - p).mean()
        assert 0.0 <= value(estimator, p, y) <= largest + 0.05
    assert Binned(10**6)(p, y)["l1"].value == pytest.approx(np.abs(y - p).mean())
