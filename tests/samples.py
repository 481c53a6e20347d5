"""Samples for tests of calibrators: overconfident ones, and odd ones."""

import numpy as np
from scipy.special import expit, logit


def rng(seed=0):
    return np.random.default_rng(seed)


def scalars(n, seed=0):
    """Return overconfident predictions of the second of two classes, and labels."""
    p = rng(seed).beta(0.5, 0.5, n)
    return p, (rng(seed + 100).random(n) < expit(0.4 * logit(p) + 0.3)).astype(int)


def vectors(n, k, seed=0):
    """Return overconfident predictions of k classes, and labels.

    Class 0 is more frequent than predicted.
    """
    p = rng(seed).dirichlet(np.full(k, 0.5), n)
    c = p**0.5 + 0.2 * (np.arange(k) == 0)
    return p, (
        rng(seed + 100).random((n, 1)) > np.cumsum(c / c.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    ).sum(axis=1)


ODD = {
    "separable": (np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1])),
    "separable the wrong way": (np.array([0.1, 0.2, 0.7, 0.9]), np.array([1, 1, 0, 0])),
    "zeros and ones": (np.array([0.0, 1.0, 0.0, 1.0, 0.5]), np.array([0, 1, 1, 0, 1])),
    "zeros and ones, right": (np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 1, 0, 1])),
    "zeros and ones, wrong": (np.array([0.0, 1.0, 0.0, 1.0]), np.array([1, 0, 1, 0])),
    "near zero and one": (np.array([5e-324, 1e-300, 1 - 2**-53, 0.5]), np.array([0, 1, 0, 1])),
    "constant": (np.full(7, 0.3), np.array([0, 1, 0, 1, 0, 0, 0])),
    "all zero": (np.zeros(5), np.array([0, 0, 1, 0, 0])),
    "one class": (np.array([0.2, 0.6, 0.9]), np.ones(3, dtype=int)),
    "one sample": (np.array([0.2]), np.array([0])),
    "two samples": (np.array([0.2, 0.2]), np.array([1, 0])),
    "mostly saturated": (np.r_[np.zeros(50), np.ones(50), 0.3, 0.6, 0.8], np.arange(103) // 50 % 2),
}


def assert_probabilities(q, x, least=0.0):
    """Assert that q has the shape of x and holds probabilities from `least` to 1 - `least`."""
    assert q.shape == x.shape and q.dtype == np.float64
    assert np.isfinite(q).all() and q.min() >= least
    if q.ndim == 1:
        assert q.max() <= 1.0 - least
    else:
        np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)
