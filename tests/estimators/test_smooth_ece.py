"""Smooth calibration error: closed forms, other code, invariances and edge cases."""

import itertools
import math

import numpy as np
import pytest
from literature import golden, value
from numpy.random import default_rng
from scipy.special import ndtr

import harness
from harness.estimators import SmoothECE


def smoothed(p, residual, sigma, mesh=801, mass=1.0):
    """Integrate |sum_i residual_i K(t, p_i)| / sum mass by mirror images, for sigma <= 1."""
    t = np.linspace(0, 1, mesh)
    total = np.zeros(mesh)
    for shift, side in itertools.product((-4, -2, 0, 2, 4), (-1, 1)):
        total += np.exp(-0.5 * ((t[:, None] - side * p - shift) / sigma) ** 2) @ residual
    return np.trapezoid(np.abs(total), t) / (
        math.sqrt(2 * math.pi) * sigma * np.sum(np.broadcast_to(mass, p.shape))
    )


def test_smoothing_keeps_what_has_one_sign():
    """Residuals of one sign give |mean (y - p)| for every bandwidth."""
    for p, y in (([0.3], [1]), ([0.0], [1]), ([1.0], [0]), ([0.2, 0.5, 1.0], [1, 1, 1])):
        expected = abs(np.mean(np.subtract(y, p)))
        for sigma in (None, 0.01, 0.3, 2.0):
            assert value(SmoothECE(sigma), p, y) == pytest.approx(expected, abs=1e-9)


def test_two_opposite_errors_at_the_ends():
    """p = 0, 1 with y = 1, 0: a sum of differences of normal probabilities."""
    sigma = 0.4
    inside = sum(
        2 * (ndtr((0.5 - k) / sigma) - ndtr(-k / sigma)) for k in range(-20, 21, 2)
    )  # of K(t, 0) in [0, 1/2]
    assert value(SmoothECE(sigma), [0, 1], [1, 0]) == pytest.approx(2 * inside - 1, abs=1e-6)


def test_nearly_certain_predictions_have_a_tiny_error():
    """The fixed point is below the spacing of the grid for p = 1e-4 with y = 0 and its mirror."""
    p, y = [1e-4, 1.0 - 1e-4] * 25, [0, 1] * 25
    assert value(SmoothECE(), p, y) == pytest.approx(1e-4, rel=0.05)


def test_the_fixed_point_is_one_and_errors_that_cancel_at_one_place_are_none():
    p, y = harness.load_problem("beta_wavy").sample(300, default_rng(0))
    estimate = SmoothECE()(p, y)["smooth_ece"]
    assert estimate.diagnostics["bandwidth"] == pytest.approx(estimate.value, abs=1e-9)
    assert value(SmoothECE(estimate.value), p, y) == pytest.approx(estimate.value, abs=1e-9)
    assert value(SmoothECE(), [0.5, 0.5], [0, 1]) == 0.0
    assert value(SmoothECE(), [0, 0, 1], [0, 0, 1]) == 0.0


@pytest.mark.golden
@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.7])
def test_the_grid_is_as_exact_as_said(sigma, inputs):
    p, y = inputs["tied_p"][:60], inputs["tied_y"][:60]
    exact = smoothed(p, (y - p), sigma, mesh=20001, mass=1.0)
    assert value(SmoothECE(sigma), p, y) == pytest.approx(exact, abs=2e-5)


@pytest.mark.golden
@pytest.mark.parametrize(
    "source, tolerance", [("relplot 1.0.3, 20001", 2e-5), ("relplot 1.0.3", 7e-4)]
)
def test_smooth_errors_of_relplot(source, tolerance, inputs):
    """relplot sums over 200 points and knows the fixed point to 1/1024. Finer runs agree better."""
    rows = [row for row in golden(source) if row[0] == "calibrated"]
    assert len(rows) >= 4
    for name, sigma, _, expected in rows:
        ours = value(
            SmoothECE(float(sigma) if sigma else None), inputs[f"{name}_p"], inputs[f"{name}_y"]
        )
        assert ours == pytest.approx(expected, abs=tolerance)


@pytest.mark.golden
@pytest.mark.parametrize("name", ["tied", "miscalibrated"])
def test_relplot_halves_the_weight_of_predictions_at_the_ends(name, inputs):
    """Mirror images in relplot leave out the end points of its grid of step 1/1000."""
    p, y = inputs[f"{name}_p"], inputs[f"{name}_y"]
    weight = 1.0 - np.maximum(0.0, 1.0 - 1000.0 * np.minimum(p, 1.0 - p)) / 2.0
    rows = [row for row in golden("relplot 1.0.3, 20001") if row[0] == name and row[1]]
    assert len(rows) == 3
    for _, sigma, _, expected in rows:
        assert smoothed(p, weight * (y - p), float(sigma), mass=weight) == pytest.approx(
            expected, abs=2e-4
        )
        assert (
            value(SmoothECE(float(sigma)), p, y) < expected - 1e-4
        )  # it is further from ours than that


@pytest.mark.golden
def test_more_smoothing_never_makes_it_larger(inputs):
    p, y = inputs["miscalibrated_p"], inputs["miscalibrated_y"]
    errors = [value(SmoothECE(sigma), p, y) for sigma in (0.005, 0.02, 0.1, 0.5, 3.0)]
    assert all(np.diff(errors) < 1e-9) and errors[-1] == pytest.approx(
        abs((y - p).mean()), abs=1e-6
    )
