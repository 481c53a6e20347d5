"""All calibrators: their outputs are probabilities, of any columns and names of classes."""

import numpy as np
import pytest
from samples import ODD, assert_probabilities, rng, scalars, vectors

from harness.calibrators import (
    BetaCalibration,
    DirichletCalibration,
    ExtraTrees,
    HistogramBinning,
    Identity,
    Isotonic,
    MatrixScaling,
    NadarayaWatson,
    Partition,
    Platt,
    RandomForest,
    Spline,
    Temperature,
    VectorScaling,
)
from harness.estimators import Variational

EVERY = [
    Isotonic(),
    Temperature(),
    NadarayaWatson(),
    Partition(),
    NadarayaWatson(0.01),
    Partition(3, 3, 42),
    RandomForest(5),
    ExtraTrees(5),
]


@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
@pytest.mark.parametrize(
    "p",
    [np.linspace(0, 1, 40), np.full(40, 0.3), np.zeros(40), np.ones(40), np.array([0.4])],
    ids=len,
)
def test_scalars_become_probabilities(calibrator, p):
    y = (np.arange(len(p)) % 3 == 0).astype(np.int64)
    for outcome in (y, np.zeros_like(y), np.ones_like(y)):
        x = np.array([0.0, 0.2, 0.5, 1.0])
        assert_probabilities(calibrator.fit(p, outcome, rng())(x), x, -1e-14)


@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
@pytest.mark.parametrize("n", [1, 5, 60])
def test_vectors_become_vectors_of_probabilities(calibrator, n):
    p = rng(1).dirichlet(np.full(4, 0.5), n)
    p[0] = [1.0, 0.0, 0.0, 0.0]
    y = rng(2).integers(0, 3, n)  # class 3 is never seen
    x = np.vstack([rng(3).dirichlet(np.full(4, 0.5), 20), np.eye(4)])
    q = calibrator.fit(p, y, rng())(x)
    assert q.shape == x.shape and np.isfinite(q).all() and q.min() >= 0
    if not isinstance(
        calibrator, NadarayaWatson
    ):  # which takes a denominator below 1e-12 as 1e-12: tested below
        np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    "calibrator", [Isotonic(), NadarayaWatson(), Partition(random_state=42)], ids=repr
)
def test_a_class_that_was_never_seen_gets_nothing(calibrator):
    p = rng(1).dirichlet(np.ones(3), 200)
    q = calibrator.fit(p, rng(2).integers(0, 2, 200), rng())(p)
    np.testing.assert_array_equal(q[:, 2], 0.0)


def test_no_predictions_give_no_predictions():
    for calibrator in EVERY[:4]:
        if not isinstance(
            calibrator, (Isotonic, Partition)
        ):  # scikit-learn refuses no rows; folds are never empty
            assert calibrator.fit(np.array([0.2, 0.7]), np.array([0, 1]), rng())(
                np.array([])
            ).shape == (0,)


SCALAR = [
    Platt(),
    BetaCalibration(),
    HistogramBinning(),
    HistogramBinning(5, "width", 0.0),
    Spline(),
    Identity(),
]


VECTOR = [VectorScaling(), MatrixScaling(), DirichletCalibration()]


OF_VECTORS = [c for c in SCALAR if not isinstance(c, Spline)] + VECTOR


@pytest.mark.parametrize("calibrator", SCALAR + VECTOR, ids=repr)
@pytest.mark.parametrize("name", ODD)
def test_odd_scalars_become_probabilities(calibrator, name):
    p, y = ODD[name]
    x = np.r_[0.0, 1.0, 0.5, 1e-300, 1 - 2**-53, p]
    assert_probabilities(calibrator.fit(p, y, None)(x), x)


@pytest.mark.parametrize("calibrator", OF_VECTORS, ids=repr)
@pytest.mark.parametrize("n", [1, 5, 60])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_odd_vectors_become_probabilities(calibrator, n, k):
    """Zeros and ones, an unseen class, n < k, a single class, and constant predictions."""
    p = rng(1).dirichlet(np.full(k, 0.5), n)
    p[0] = np.eye(k)[0]
    x = np.vstack([rng(3).dirichlet(np.full(k, 0.5), 20), np.eye(k)])
    unseen, single, cyclic = rng(2).integers(0, k - 1, n), np.full(n, k - 1), np.arange(n) % k
    for given, y in ((p, unseen), (p, single), (p[np.zeros(n, int)], cyclic)):
        assert_probabilities(calibrator.fit(given, y, None)(x), x)


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
