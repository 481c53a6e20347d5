"""Statistics of vector predictions that `Best` weights: products of the residuals of neighbours."""

import numpy as np
import pytest
from numpy.random import default_rng

from harness.estimators.ingredients import compute_ingredients
from harness.estimators.vector_ingredients import NEIGHBOURS, neighbour_products
from harness.math.notions import one_hot


def drawn(c, rng):
    """Return one-hot labels drawn from the rows of c."""
    return one_hot((rng.random(len(c))[:, None] > np.cumsum(c, axis=1)).sum(axis=1), c.shape[1])


def test_products_are_those_of_the_nearest_rows():
    rng = default_rng(3)
    p, r = rng.dirichlet(np.ones(4), 60), rng.normal(size=(60, 4))
    distance = ((p[:, None] - p) ** 2).sum(axis=2) + np.diag(np.full(60, np.inf))
    nearest = np.argsort(distance, axis=1)
    expected = [
        np.mean([[r[i] @ r[j] for j in nearest[i, :m]] for i in range(60)]) for m in NEIGHBOURS
    ]
    assert neighbour_products(p, r, rng.permutation(60)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_few_rows_have_the_products_that_there_are(n):
    p = default_rng(1).dirichlet(np.ones(3), n)
    gap = np.array([0.1, -0.1, 0.0])
    expected = 0.0 if n == 1 else 0.02
    assert neighbour_products(p, np.tile(gap, (n, 1)), np.arange(n)) == pytest.approx(
        [expected] * 2
    )


def test_equal_rows_sorted_by_class_have_no_error_if_they_are_calibrated():
    """Each product has a standard deviation of at most 1, and neighbours share rows."""
    n, k = 3000, 3
    p = np.full((n, k), 1.0 / k)
    rng = default_rng(5)
    y = one_hot(np.sort(rng.integers(0, k, n)), k)
    assert np.abs(neighbour_products(p, y - p, rng.permutation(n))).max() < 4.0 / np.sqrt(n)


def test_the_random_numbers_of_the_estimator_decide_which_equal_rows_are_neighbours():
    """Rows sorted by class, without an error; the bound is that of the test above."""
    n, k = 900, 3
    p, y = np.full((n, k), 1.0 / k), np.repeat(np.arange(k), n // k)
    products = [
        compute_ingredients(p, y, np.arange(n) % 5, default_rng(seed)).candidates["l2_squared"][-2:]
        for seed in (0, 1)
    ]
    assert np.abs(products).max() < 4.0 / np.sqrt(n)
    assert (products[0] != products[1]).all()


def test_a_wave_that_smooth_maps_average_away_is_seen():
    """The mean of 20 estimates is above 0, and not above the truth, by four standard errors."""
    rng, truths, values = default_rng(7), [], []
    for _ in range(20):
        p = rng.dirichlet(np.full(3, 4.0), 4000)
        d = 0.1 * np.sin(2 * np.pi * 8 * p[:, :1]) * np.array([[1.0, -1.0, 0.0]])
        c = np.clip(p + d, 0.0, 1.0)
        c /= c.sum(axis=1, keepdims=True)
        truths.append(((c - p) ** 2).sum(axis=1).mean())
        residual = drawn(c, rng) - p
        values.append(neighbour_products(p, residual, rng.permutation(len(p)))[0])
    error = np.std(values) / np.sqrt(20)
    assert 4 * error < np.mean(values) < np.mean(truths) + 4 * error
