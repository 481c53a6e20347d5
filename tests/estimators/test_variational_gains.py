"""Gains of recalibration: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import sample
from numpy.random import default_rng

from harness import load_estimator
from harness.estimators.variational import cross_fit
from harness.math.folds import assign_folds


@pytest.mark.golden
@pytest.mark.parametrize("name", ["isotonic", "temperature"])
def test_gains_are_losses_before_minus_losses_after(name):
    p, y = sample("over")
    estimator = load_estimator(f"gain_{name}")
    gains = estimator(p, y, default_rng(0))
    stream = default_rng(0)
    q = cross_fit(estimator.calibrator, p, y, assign_folds(y, 5, False, stream), stream)
    before, after = (-np.log(np.where(y == 1, x, 1 - x)).mean() for x in (p, q))
    assert gains["kl"].value == pytest.approx(before - after, abs=1e-12)
    assert np.isfinite(gains["kl"].value)
    assert gains["l2_squared"].value == pytest.approx(
        np.mean((p - y) ** 2 - (q - y) ** 2), abs=1e-12
    )
    assert gains["l2_squared"].low < gains["l2_squared"].value
