"""Isotonic regression."""

import numpy as np
import pytest
from samples import rng

from harness.calibrators import Isotonic


def test_isotonic_pools_adjacent_violators():
    """The fit is linear between the fitted points and constant outside.

    The sample is y = 0, 1, 0, 1, 1 at p = .1, .3, .5, .7, .9. The violators 1, 0 pool to 1/2.
    """
    q = Isotonic().fit(np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([0, 1, 0, 1, 1]))
    x = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    np.testing.assert_allclose(q(x), [0, 0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, 1, 1, 1], atol=1e-15)


def test_isotonic_vectors_are_one_versus_rest_and_normalised():
    p = rng(1).dirichlet(np.ones(3), 50)
    y = rng(2).integers(0, 3, 50)
    scores = np.column_stack(
        [Isotonic().fit(p[:, j], (y == j).astype(int))(p[:, j]) for j in range(3)]
    )
    q = Isotonic().fit(p, y)(p)
    np.testing.assert_allclose(q, scores / scores.sum(axis=1, keepdims=True), rtol=1e-14)


def test_isotonic_is_uniform_where_every_class_has_zero():
    p = np.array([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]])
    q = Isotonic().fit(p, np.array([0, 1]))(np.array([[0.3, 0.3, 0.4]]))
    np.testing.assert_allclose(q, [[1 / 3, 1 / 3, 1 / 3]], rtol=1e-15)


@pytest.mark.parametrize(
    "draw",
    [
        lambda r, n: r.random(n),
        lambda r, n: r.integers(0, 8, n) / 7,
        lambda r, n: (
            1.0 - r.integers(0, 40, n) * 2.0**-53
        ),  # closer to each other than scikit-learn tells apart
        lambda r, n: r.integers(0, 60, n) * 1e-16,
        lambda r, n: 10.0 ** -r.uniform(13, 17, n),
        lambda r, n: 10.0 ** -r.uniform(15, 40, n),  # all but a few in one place
        lambda r, n: np.concatenate([r.random(n // 2), np.ones(n - n // 2)]),
    ],
)
def test_isotonic_regression_is_that_of_scikit_learn(draw):
    from sklearn.isotonic import IsotonicRegression

    r = np.random.default_rng(0)
    for n in (1, 3, 500):
        p = draw(r, n)
        y = (r.random(n) < p).astype(int)
        x = np.concatenate([p, r.random(20), [0.0, 1.0], r.integers(0, 60, 9) * 1e-16])
        theirs = IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(x)
        np.testing.assert_allclose(Isotonic().fit(p, y)(x), theirs, rtol=0, atol=1e-14)
