"""Splines."""

import numpy as np
import pytest
from log_losses import log_loss, sklearn_loss
from samples import scalars
from scipy.interpolate import CubicSpline
from scipy.special import logit

from harness.calibrators import Platt, Spline
from harness.calibrators.splines import natural_basis, roughness


def test_the_basis_is_of_natural_cubic_splines():
    """Each function is interpolated by scipy's natural spline of its own values at the knots, and
    linear outside."""
    knots, x = np.array([-3.0, -1.0, 0.0, 0.5, 4.0]), np.linspace(-3, 4, 101)
    values, inside = natural_basis(knots, knots), natural_basis(x, knots)
    assert values.shape == (5, 5) and np.linalg.matrix_rank(values) == 5
    np.testing.assert_allclose(CubicSpline(knots, values, bc_type="natural")(x), inside, atol=1e-12)
    outside = natural_basis(np.array([5.0, 6.0, 7.0, -4.0, -5.0, -6.0]), knots)
    np.testing.assert_allclose(outside[0] + outside[2], 2 * outside[1], atol=1e-12)
    np.testing.assert_allclose(outside[3] + outside[5], 2 * outside[4], atol=1e-12)


def test_the_spline_reaches_the_least_log_loss():
    p, y = scalars(500)
    x = logit(p)
    knots = np.quantile(x, np.linspace(0.05, 0.95, 6))
    features = natural_basis(x, knots)[:, 1:]
    loss = sklearn_loss(features / features.std(axis=0), y)
    assert log_loss(Spline(ridge=0.0).fit(p, y)(p), y) == pytest.approx(loss, abs=1e-5)
    assert loss < log_loss(Spline().fit(p, y)(p), y) < log_loss(Platt().fit(p, y)(p), y)


def test_the_roughness_is_the_integral_of_squared_second_derivatives():
    """The integral is computed by central second differences on a fine grid, in units of the span.

    Swapped outcomes give the mirrored fit.
    """
    knots = np.array([-3.0, -1.0, 0.0, 0.5, 4.0])
    x = np.linspace(-3, 4, 7001)
    h = (x[1] - x[0]) / 7
    curves = np.diff(natural_basis(x, knots), 2, axis=0) / h**2
    np.testing.assert_allclose(roughness(knots), curves.T @ curves * h, rtol=1e-2, atol=1e-6)
    p, y = scalars(200)
    np.testing.assert_allclose(
        Spline().fit(1 - p, 1 - y)(1 - p), 1 - Spline().fit(p, y)(p), atol=1e-9
    )


def test_a_spline_of_two_distinct_predictions_is_platt():
    p, y = np.repeat([0.2, 0.7], [30, 50]), np.arange(80) % 3 % 2
    np.testing.assert_allclose(Spline().fit(p, y)(p), Platt().fit(p, y)(p), atol=1e-9)
