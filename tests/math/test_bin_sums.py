"""Bins of many predictions are those of a search and of a sort, to the last bit."""

import numpy as np
import pytest

from harness.math.bin_sums import (
    BLOCK,
    bin_finder,
    mass_edges,
    mass_sums,
    width_edges,
    width_sums,
)

MANY = 2 * BLOCK + 7  # more than two blocks


def near(values, steps):
    """Return values in [0, 1] and the `steps` floats on either side of each."""
    places = [values]
    for end in (0.0, 1.0):
        place = values
        for _ in range(steps):
            place = np.nextafter(place, end)
            places.append(place)
    return np.concatenate(places)


def predictions(kind, bins, rng):
    return {
        "plain": lambda: rng.random(MANY),
        "rare": lambda: rng.beta(0.3, 300.0, MANY),
        "certain": lambda: rng.beta(0.01, 0.01, MANY),
        "single precision": lambda: rng.random(MANY, dtype=np.float32).astype(float),
        "one value": lambda: np.full(MANY, 0.3),
        "ties": lambda: rng.integers(0, bins + 1, MANY) / bins,
        "few values": lambda: rng.choice([0.0, 5e-324, 0.2, 1.0], MANY),
    }[kind]()


KINDS = ["plain", "rare", "certain", "single precision", "one value", "ties", "few values"]


@pytest.mark.parametrize("bins", range(1, 101))
def test_bins_near_edges_are_those_of_a_search(bins):
    rng = np.random.default_rng(bins)
    for edges in (width_edges(bins), np.unique(rng.beta(0.2, 2.0, bins - 1))):
        fine = np.arange(2**12 + 1) / 2**12  # steps of the table
        p = np.concatenate([near(edges, 4), near(fine, 1), rng.random(20_000), [0.0, 5e-324, 1.0]])
        expected = np.searchsorted(edges, p, side="right")
        np.testing.assert_array_equal(bin_finder(edges, n=len(p))(p), expected)


@pytest.mark.parametrize("bins", [1, 2, 15, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_those_of_a_search(kind, bins):
    rng = np.random.default_rng(bins)
    p = predictions(kind, bins, rng)
    y = (rng.random(MANY) < p).astype(int)
    for sums, edges in ((width_sums, width_edges(bins)), (mass_sums, mass_edges(p, bins))):
        index, count = np.searchsorted(edges, p, side="right"), len(edges) + 1
        sizes, sum_p, sum_y = sums(p, y, bins)
        np.testing.assert_array_equal(sizes, np.bincount(index, minlength=count))
        np.testing.assert_array_equal(sum_y, np.bincount(index[y == 1], minlength=count))
        by_outcome = [np.bincount(index[y == v], p[y == v], minlength=count) for v in (0, 1)]
        np.testing.assert_array_equal(sum_p, by_outcome[0] + by_outcome[1])


@pytest.mark.parametrize("bins", [1, 2, 15, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_edges_of_equal_mass_are_those_of_a_sort(kind, bins):
    p = predictions(kind, bins, np.random.default_rng(bins))
    firsts = [part[0] for part in np.array_split(np.sort(p), bins)]
    np.testing.assert_array_equal(mass_edges(p, bins), np.unique(firsts[1:]))
