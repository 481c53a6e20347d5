"""Nadaraya-Watson."""

import numpy as np
import pytest
from samples import rng

from harness.calibrators import NadarayaWatson
from harness.calibrators.nadaraya_watson import DENSE


def textbook(x, p, y, bandwidth):
    kernel = np.exp(-((x[:, None] - p) ** 2) / (2 * bandwidth**2))
    total = kernel.sum(axis=1)
    return np.where(total > 0, (kernel @ y) / np.maximum(total, 1e-12), 0.5)


def test_nadaraya_watson_closed_form():
    q = NadarayaWatson(0.1).fit(np.array([0.0, 0.1]), np.array([0, 1]))
    w = np.exp(-0.5)
    np.testing.assert_allclose(
        q(np.array([0.0, 0.1, 0.05])), [w / (1 + w), 1 / (1 + w), 0.5], rtol=1e-14
    )


POINTS = {
    "spread": lambda r, n: r.beta(0.5, 0.5, n),
    "one cluster": lambda r, n: np.clip(0.1 + 0.005 * r.standard_normal(n), 0, 1),
    "two points": lambda r, n: np.where(r.random(n) < 0.5, 0.05, 0.93),
    "constant": lambda r, n: np.full(n, 0.7),
    "ends": lambda r, n: r.integers(0, 2, n).astype(float),
}


@pytest.mark.parametrize("bandwidth", [0.01, 0.03, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("points", POINTS)
def test_the_expansion_equals_the_dense_sum(points, bandwidth):
    """The sum of kernels far from all points is small compared with n.

    Rounding errors would show there, so that such rows are summed directly.
    """
    r, n = rng(3), 5000
    p = POINTS[points](r, n)
    y = (r.random(n) < 0.5 * p + 0.2).astype(np.int64)
    x = np.concatenate([np.linspace(0, 1, 601), p[:100]])
    assert len(x) * n > DENSE and len(x) + n >= 2 * (
        7.5 / bandwidth + 20
    )  # so the expansion is used
    ours, expected = (
        NadarayaWatson(bandwidth).fit(p, y)(x),
        textbook(x, p, y.astype(float), bandwidth),
    )
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [3, 400])
def test_few_samples_are_summed_directly(n):
    p, y = rng(1).random(n), rng(2).integers(0, 2, n)
    x = np.linspace(0, 1, 51)
    np.testing.assert_allclose(
        NadarayaWatson(0.05).fit(p, y)(x),
        textbook(x, p, y.astype(float), 0.05),
        rtol=1e-13,
        atol=1e-15,
    )


def test_nadaraya_watson_vectors_equal_the_textbook():
    p, y, x = (
        rng(1).dirichlet(np.ones(3), 300),
        rng(2).integers(0, 3, 300),
        rng(3).dirichlet(np.ones(3), 40),
    )
    kernel = np.exp(-((x[:, None] - p) ** 2).sum(axis=2) / (2 * 0.1**2))
    expected = kernel @ np.eye(3)[y] / kernel.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(NadarayaWatson(0.1).fit(p, y)(x), expected, rtol=1e-11)


def test_nadaraya_watson_far_from_everything():
    """A denominator below 1e-12 is replaced by 1e-12, so that q falls towards 0.

    Without any weight q is uniform.
    """
    q = NadarayaWatson(0.1).fit(np.array([0.0, 0.0]), np.array([1, 1]))
    weight = 2 * np.exp(-0.5 * (0.8 / 0.1) ** 2)
    assert weight < 1e-12
    np.testing.assert_allclose(q(np.array([0.8])), [weight / 1e-12], rtol=1e-12)
    assert NadarayaWatson(0.01).fit(np.array([0.0]), np.array([1]))(np.array([1.0]))[0] == 0.5
    far = NadarayaWatson(0.01).fit(np.array([[1.0, 0.0, 0.0]]), np.array([0]))(
        np.array([[0.0, 0.5, 0.5]])
    )
    np.testing.assert_array_equal(far, np.full((1, 3), 1 / 3))
    vectors = NadarayaWatson(0.1).fit(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1, 1]))(
        np.array([[0.4, 0.6]])
    )
    np.testing.assert_allclose(vectors, [[0.0, 2 * np.exp(-0.5 * 0.72 / 0.01) / 1e-12]], rtol=1e-12)
