"""All calibrators: their outputs are probabilities, of any columns and names of classes."""

import numpy as np
import pytest
from samples import ODD, assert_probabilities, rng, scalars, vectors

from harness.calibrators import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    Identity,
    Isotonic,
    MatrixScaling,
    NadarayaWatson,
    Partition,
    Platt,
    Temperature,
    VectorScaling,
)
from harness.estimators import Variational

# Odd samples of all calibrators as they are by default are in test_degenerate.py.
OTHERS = [NadarayaWatson(0.01), Partition(3, 3, 42), HistogramBinning(5, "width", 0.0)]


@pytest.mark.parametrize("calibrator", OTHERS, ids=repr)
@pytest.mark.parametrize("name", ODD)
def test_odd_scalars_become_probabilities(calibrator, name):
    p, y = ODD[name]
    x = np.r_[0.0, 1.0, 0.5, 1e-300, 1 - 2**-53, p]
    assert_probabilities(calibrator.fit(p, y, rng())(x), x, -1e-14)


@pytest.mark.parametrize(
    "calibrator", [Isotonic(), NadarayaWatson(), Partition(random_state=42)], ids=repr
)
def test_a_class_that_was_never_seen_gets_nothing(calibrator):
    p = rng(1).dirichlet(np.ones(3), 200)
    q = calibrator.fit(p, rng(2).integers(0, 2, 200), rng())(p)
    np.testing.assert_array_equal(q[:, 2], 0.0)


def test_no_predictions_give_no_predictions():
    for calibrator in (Temperature(), NadarayaWatson()):
        q = calibrator.fit(np.array([0.2, 0.7]), np.array([0, 1]), rng())
        assert q(np.array([])).shape == (0,)


OF_VECTORS = [
    Platt(),
    BetaCalibration(),
    HistogramBinning(),
    HistogramBinning(5, "width", 0.0),
    Identity(),
    VectorScaling(),
    MatrixScaling(),
    DirichletCalibration(),
]


@pytest.mark.parametrize("calibrator", OF_VECTORS, ids=repr)
def test_two_columns_are_one(calibrator):
    p, y = scalars(150)
    both = np.column_stack([1 - p, p])
    np.testing.assert_allclose(
        calibrator.fit(both, y)(both)[:, 1], calibrator.fit(p, y)(p), rtol=1e-9
    )


@pytest.mark.parametrize(
    "calibrator", [c for c in OF_VECTORS if not isinstance(c, Identity)], ids=repr
)
def test_classes_may_be_renamed(calibrator):
    p, y = vectors(200, 3)
    order = np.array([2, 0, 1])
    q, again = (
        calibrator.fit(p, y)(p),
        calibrator.fit(p[:, order], np.argsort(order)[y])(p[:, order]),
    )
    np.testing.assert_allclose(again, q[:, order], atol=1e-8)


def test_the_identity_contributes_nothing():
    p, y = scalars(100)
    assert all(e.value == 0.0 for e in Variational(Identity())(p, y, rng()).values())
