"""Test-based error: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import drawn, value
from numpy.random import default_rng
from scipy.stats import binomtest

from harness.estimators import RejectionShare
from harness.estimators.rejection_share import binomial_p_values, pool


def test_p_values_are_those_of_the_exact_binomial_test():
    rng = default_rng(0)
    m = rng.integers(1, 80, 400)
    k = rng.integers(0, m + 1)
    p = np.where(
        rng.random(400) < 0.3, rng.choice([0.0, 0.1, 0.25, 0.5, 1.0], 400), rng.random(400)
    )
    exact = [binomtest(int(a), int(b), c).pvalue for a, b, c in zip(k, m, p)]
    assert binomial_p_values(k, m, p) == pytest.approx(np.array(exact), abs=1e-12)


def bins(hits, least, most, counts=None):
    hits = np.array(hits)
    counts = np.ones_like(hits) if counts is None else np.array(counts)
    return [part.tolist() for part in pool(counts, hits, least, most)]


def test_bins_by_hand():
    """Without bounds, isotonic regression, but that the last sample joins the bin before it."""
    assert bins([0, 1, 0, 1, 1, 1], 1, 6) == [[1, 2, 3], [0, 1, 3], [1, 2, 3]]
    # Bins of at least two: the last two samples are a bin, which joins the one before it.
    assert bins([0, 0, 0, 1, 1, 1, 1], 2, 7) == [[3, 4], [0, 4], [3, 4]]
    assert bins([0, 0, 0, 1, 1, 1, 1], 2, 3) == [[3, 2, 2], [0, 2, 2], [3, 2, 2]]
    # Falling outcomes: the bins are as large as allowed.
    assert bins([1, 1, 1, 0, 0, 0, 0], 1, 3)[0] == [3, 3, 1]
    # Equal predictions stay together even if they exceed the bound.
    assert bins([4, 1, 2], 2, 3, counts=[5, 1, 4])[0] == [5, 1 + 4]
    assert bins([1], 1, 1) == [[1], [1], [1]]


@pytest.mark.parametrize("n", [20, 57, 400])
def test_sizes_of_bins_are_within_their_bounds(n):
    for seed in range(20):
        p, y = drawn(n, seed)
        sizes, successes, _ = pool(np.ones(n, dtype=int), y[np.argsort(p)], n // 20, n // 5)
        assert sizes.sum() == n and successes.sum() == y.sum()
        assert sizes.min() >= n // 20 and sizes[:-1].max() <= n // 5


def test_rejected_predictions_by_hand():
    """One bin of 20 samples, all of them 1: p-values 2 * 0.5^20 and at least 0.95^20 = 0.36."""
    p = np.append(np.full(10, 0.5), np.full(10, 0.95))
    assert value(RejectionShare(smallest=1.0, largest=1.0), p, np.ones(20, dtype=int)) == 0.5
    assert value(RejectionShare(), [0.04], [1]) == 1.0 and value(RejectionShare(), [0.06], [1]) == 0


def test_the_share_of_rejections_tends_to_that_of_wrong_predictions():
    rng = default_rng(0)
    p = rng.uniform(0.1, 0.9, 20_000)
    shifted = np.where(p < 0.5, p, p - 0.1)
    estimate = RejectionShare()(p, (rng.random(20_000) < shifted).astype(int))["tce"]
    assert 0.4 < estimate.value < 0.8 and estimate.diagnostics["bins"] >= 5
