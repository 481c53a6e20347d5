"""Partitions."""

import numpy as np
from samples import rng

from harness.calibrators import Partition


def test_partition_is_the_mean_of_each_part():
    p = np.array([0.1, 0.11, 0.12, 0.8, 0.81])
    q = Partition(bins=2).fit(p, np.array([1, 0, 0, 1, 0]), rng())
    np.testing.assert_allclose(q(np.array([0.0, 0.2, 0.9])), [1 / 3, 1 / 3, 0.5], rtol=1e-15)


def test_partition_of_vectors():
    p = np.array([[0.9, 0.05, 0.05]] * 3 + [[0.05, 0.05, 0.9]] * 2)
    q = Partition(vector_bins=2).fit(p, np.array([0, 0, 1, 2, 2]), rng())
    np.testing.assert_allclose(q(p[[0, 4]]), [[2 / 3, 1 / 3, 0.0], [0.0, 0.0, 1.0]], rtol=1e-15)


def test_fewer_samples_than_parts_are_one_part():
    p, y = np.array([0.1, 0.5, 0.9]), np.array([0, 1, 1])
    np.testing.assert_allclose(
        Partition(bins=15).fit(p, y, rng())(np.array([0.0, 1.0])), [2 / 3, 2 / 3], rtol=1e-15
    )


def test_distinct_predictions_fewer_than_parts_have_a_part_each():
    y = np.arange(40) % 4 == 0
    np.testing.assert_allclose(
        Partition().fit(np.full(40, 0.3), y.astype(int), rng())(np.array([0.3])), [0.25]
    )
    p = np.repeat([0.2, 0.4, 0.9], [10, 10, 20])
    q = Partition().fit(p, y.astype(int), rng())
    np.testing.assert_allclose(
        q(np.array([0.2, 0.4, 0.9])), [y[:10].mean(), y[10:20].mean(), y[20:].mean()], rtol=1e-15
    )


def test_a_fixed_seed_makes_a_partition_exact():
    p, y = rng(1).random(200), rng(2).integers(0, 2, 200)
    fixed = Partition(random_state=42)
    assert fixed.determinism == "exact" and Partition().determinism == "statistical"
    np.testing.assert_array_equal(fixed.fit(p, y, rng(1))(p), fixed.fit(p, y, rng(2))(p))
    assert (Partition().fit(p, y, rng(1))(p) != Partition().fit(p, y, rng(2))(p)).any()
