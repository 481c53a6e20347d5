"""Platt scaling and beta calibration."""

import numpy as np
import pytest
from samples import scalars
from scipy.optimize import minimize
from scipy.special import expit

from harness.calibrators import BetaCalibration

CASES = {
    "as it is": scalars(300),
    "the wrong way": (lambda p, y: (1 - p, y))(*scalars(300)),
    "one slope": (
        np.repeat([0.05, 0.5, 0.95], 100),
        np.arange(300) % 100 < np.repeat([50, 50, 99], 100),
    ),
    "other slope": (
        np.repeat([0.05, 0.5, 0.95], 100),
        np.arange(300) % 100 < np.repeat([1, 50, 50], 100),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_beta_is_the_minimum_on_the_quadrant(name):
    p, y = CASES[name]
    features = np.column_stack([np.log(p), -np.log1p(-p), np.ones_like(p)])

    def value(w):
        t = features @ w
        return np.logaddexp(0, t).mean() - (t * y).mean(), features.T @ (expit(t) - y) / len(y)

    bounds = [(0, None), (0, None), (None, None)]
    best = minimize(
        value,
        [1, 1, 0],
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"gtol": 1e-10, "ftol": 1e-15},
    )
    w = BetaCalibration().coefficients(p, y)
    assert w[0] >= 0 and w[1] >= 0
    assert value(w)[0] == pytest.approx(best.fun, abs=1e-6)
    if name == "the wrong way":
        np.testing.assert_allclose(w[:2], 0.0)
    if name in ("one slope", "other slope"):
        assert (w[:2] == 0).sum() == 1
