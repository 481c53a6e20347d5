"""Histogram binning."""

import numpy as np
import pytest
from samples import rng

from harness.calibrators import HistogramBinning


def test_histogram_by_hand():
    p, y = np.array([0.1, 0.2, 0.2, 0.2, 0.9, 1.0]), np.array([1, 0, 0, 1, 1, 1])
    q = HistogramBinning(2, "mass", 0.0).fit(
        p, y
    )  # the cut falls on 0.2, which goes above it as a whole
    np.testing.assert_allclose(q(np.array([0.0, 0.15, 0.2, 1.0])), [1, 1, 3 / 5, 3 / 5])
    q = HistogramBinning(4, "width", 2.0).fit(p, y)
    np.testing.assert_allclose(
        q(np.array([0.2, 0.3, 0.6, 0.75, 1.0])), [4 / 8, 1 / 2, 1 / 2, 4 / 6, 4 / 6]
    )


def test_histogram_of_vectors_by_hand():
    p = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    q = HistogramBinning(2, "width", 1.0).fit(p, np.array([0, 1, 1, 2]))(p[:1])
    scores = np.array(
        [2 / 5, 2 / 6, 1 / 6]
    )  # (1 + 1) / (2 + 3), (1 + 1) / (3 + 3), (0 + 1) / (3 + 3)
    np.testing.assert_allclose(q[0], scores / scores.sum())


@pytest.mark.parametrize("n", [1, 14, 15, 16, 1000])
def test_histogram_of_equal_mass_has_equal_mass(n):
    p = rng().random(n)
    (edges,), (sizes,) = HistogramBinning()._bins(p[None])
    np.testing.assert_array_equal(
        np.bincount(np.searchsorted(edges, p, side="right"), minlength=15), sizes
    )
    full = sizes[sizes > 0]
    assert len(full) == min(n, 15) and full.max() - full.min() <= 1
