"""k-means equals scikit-learn's, whose random numbers and arithmetic it uses."""

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.cluster import KMeans

from harness.math import kmeans, kmeans_kernels


def theirs(points, bins, seed):
    return KMeans(n_clusters=bins, random_state=seed, n_init=1).fit(points)


@pytest.mark.parametrize(
    ("n", "d", "bins"),
    [(60, 1, 15), (700, 1, 15), (700, 2, 7), (300, 3, 30), (700, 12, 30), (40, 60, 2)],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_clusters_are_those_of_scikit_learn(n, d, bins, seed):
    rng = default_rng(seed)
    points = rng.beta(0.7, 0.5, (n, 1)) if d == 1 else rng.dirichlet(np.full(d, 0.4), n)
    assign_bins, count = kmeans.fit(points, bins, seed)
    expected, new = theirs(points, bins, seed), rng.random((50, d))
    assert count == bins
    np.testing.assert_array_equal(assign_bins(points), expected.predict(points))
    np.testing.assert_array_equal(assign_bins(new), expected.predict(new))


def test_read_only_and_transposed_points_are_the_same_points():
    points = default_rng(0).random((3, 80)).T
    expected = kmeans.fit(np.ascontiguousarray(points), 5, 0)[0](points)
    points.flags.writeable = False
    np.testing.assert_array_equal(kmeans.fit(points, 5, 0)[0](points), expected)


def test_few_points_and_few_distinct_ones():
    points = np.repeat([[0.1], [0.5], [0.9]], 10, axis=0)
    assign_bins, count = kmeans.fit(points, 15, 0)
    assert count == 3 and len(np.unique(assign_bins(points))) == 3
    for few, bins in ((points[:5], 15), (points[:10], 5), (points, 1)):
        assign_bins, count = kmeans.fit(few, bins, 0)
        assert count == 1 and not assign_bins(points).any()


def test_a_centre_that_loses_its_points_is_moved_as_the_library_does_it(monkeypatch):
    """An update that leaves a centre without points is too rare to occur by chance."""
    points = default_rng(0).random((50, 2))

    def emptied(x, centres, squares, labels, sizes):
        sizes[:] = [0, 10, 20, 20]
        return centres, True, 1.0

    monkeypatch.setattr(kmeans_kernels, "update", emptied)
    np.testing.assert_array_equal(
        kmeans.fit(points, 4, 3)[0](points), theirs(points, 4, 3).predict(points)
    )
