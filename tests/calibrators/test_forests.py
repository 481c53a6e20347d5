"""Random forests."""

import numpy as np
import pytest
from samples import rng

from harness.calibrators import ExtraTrees, RandomForest

FORESTS = [RandomForest(20), ExtraTrees(20)]


@pytest.mark.parametrize("calibrator", FORESTS, ids=repr)
@pytest.mark.parametrize("k", [2, 3])
def test_forests_are_those_of_scikit_learn(calibrator, k):
    """The forests have scikit-learn's defaults.

    The seed is the field `seed`, or else the given integer, or else a draw from the given stream.
    """
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    kind = RandomForestClassifier if isinstance(calibrator, RandomForest) else ExtraTreesClassifier
    p, y, x = (rng(i).random(60) if k == 2 else rng(i).dirichlet(np.ones(3), 60) for i in (1, 2, 3))
    y = rng(2).integers(0, k, 60)
    columns = (lambda a: a[:, None]) if k == 2 else (lambda a: a)
    for seed, given_rng, fixed in (
        (5, 5, None),
        (int(rng(4).integers(2**31 - 1)), rng(4), None),
        (3, rng(4), 3),
    ):
        expected = (
            kind(n_estimators=20, random_state=seed).fit(columns(p), y).predict_proba(columns(x))
        )
        q = type(calibrator)(20, fixed).fit(p, y, given_rng)(x)
        np.testing.assert_array_equal(q, expected[:, 1] if k == 2 else expected)


@pytest.mark.parametrize("calibrator", FORESTS, ids=repr)
def test_a_forest_of_extremely_randomised_trees_remembers(calibrator):
    """Fully grown trees: without bootstrap each distinct prediction gets the share of its own
    labels back."""
    p, y = np.repeat([0.1, 0.2, 0.7], [3, 2, 1]), np.array([1, 0, 0, 1, 0, 1])
    q = calibrator.fit(p, y, 0)(np.array([0.1, 0.2, 0.7]))
    if isinstance(calibrator, ExtraTrees):
        np.testing.assert_allclose(q, [1 / 3, 1 / 2, 1.0], rtol=1e-12)
    else:
        assert (q != [1 / 3, 1 / 2, 1.0]).any()  # a bootstrap sample leaves some out


@pytest.mark.parametrize("calibrator", FORESTS, ids=repr)
def test_forests_keep_the_columns_of_unseen_classes(calibrator):
    """A class that the fit never sees keeps its column, filled with 0. A single class has q = 1."""
    p = rng(1).dirichlet(np.ones(4), 50)
    for seen in ([1, 3], [0, 2], [3]):
        q = calibrator.fit(p, np.resize(seen, 50), 0)(p)
        assert q.shape == p.shape
        np.testing.assert_array_equal(np.delete(q, seen, axis=1), 0.0)
        np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
    for label in (0, 1):
        np.testing.assert_array_equal(
            calibrator.fit(p[:, 0], np.full(50, label), 0)(p[:, 0]), np.full(50, float(label))
        )
