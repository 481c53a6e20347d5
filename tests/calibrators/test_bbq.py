"""Bayesian binning into quantiles: closed forms on a few points, and agreement with the truth."""

import numpy as np
import pytest
from samples import ODD, assert_probabilities, rng
from scipy.special import beta

from harness.calibrators import BBQ


@pytest.mark.parametrize("y", [[0, 0], [0, 1], [1, 1]])
def test_one_bin_is_the_rule_of_laplace(y):
    q = BBQ().fit(np.array([0.2, 0.6]), np.array(y))
    assert q(np.array([0.0, 0.6, 1.0])) == pytest.approx(np.full(3, (sum(y) + 1) / 4))


def test_one_bin_with_a_stronger_prior():
    assert BBQ(strength=6.0).fit(np.array([0.9]), np.array([1]))(np.array([0.5])) == 4.0 / 7.0


def test_six_points_are_two_histograms_weighted_by_their_evidence():
    p, y = np.array([0.7, 0.1, 0.2, 0.3, 0.9, 0.8]), np.array([1, 0, 0, 0, 0, 1])
    one = beta(3, 5) / beta(1, 1)  # 2 of 6 in a bin with the midpoint 1/2
    # none of 3 below 1/2, with the midpoint 1/4, and 2 of 3 above, with the midpoint 3/4
    two = beta(0.5, 4.5) / beta(0.5, 1.5) * beta(3.5, 1.5) / beta(1.5, 0.5)
    below = (one * 3 / 8 + two * 0.5 / 5) / (one + two)
    above = (one * 3 / 8 + two * 3.5 / 5) / (one + two)
    q = BBQ().fit(p, y)(np.array([0.0, 0.3, 0.4999, 0.5, 0.7, 1.0]))
    assert q == pytest.approx([below] * 3 + [above] * 3)


def test_equal_points_stay_together():
    p, y = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0.8]), np.array([0, 1, 0, 0, 0, 1])
    q = BBQ().fit(p, y)(np.array([0.2, 0.8]))
    one = beta(3, 5) / beta(1, 1)
    assert q == pytest.approx([3 / 8, 3 / 8])  # two bins of three cannot be cut, as all are equal
    assert one > 0.0


@pytest.mark.parametrize("name", ODD)
def test_odd_scalars_become_probabilities(name):
    p, y = ODD[name]
    x = np.r_[0.0, 1.0, 0.5, 1e-300, 1 - 2**-53, p]
    assert_probabilities(BBQ().fit(p, y, None)(x), x)


def test_neighbours_in_floating_point_are_told_apart():
    low = 0.5
    high = np.nextafter(low, 1.0)
    p, y = np.repeat([low, high], 200), np.repeat([0, 1], 200)
    q = BBQ().fit(p, y)(np.array([low, high]))
    assert q[0] < 0.1 and q[1] > 0.9


@pytest.mark.parametrize("k", [2, 3])
def test_overconfident_vectors_come_closer_to_the_truth(k):
    truth = rng(0).dirichlet(np.ones(k), 4000)
    y = (truth.cumsum(axis=1) > rng(1).random((4000, 1))).argmax(axis=1)
    p = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    q = BBQ().fit(p, y)(p)
    assert np.abs(q - truth).mean() < 0.4 * np.abs(p - truth).mean()
    assert_probabilities(q, p)
