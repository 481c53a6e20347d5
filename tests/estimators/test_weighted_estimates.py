"""Weighted samples: equal weights change nothing, whole numbers repeat rows, 0 leaves them out."""

import numpy as np
import pytest

import harness
from harness import BadInputError
from harness.estimators import Binned, Debiased
from harness.judging.ece import WEIGHTED
from harness.math import bin_sums
from harness.math.weights import takes_weights

# The variance of a mean outcome is smaller with repeated rows than with weighted ones.
DEBIASED = ("debiased15", "debiased15_l1")
VALUES = {"debiased15": "l2_squared", "debiased15_l1": "l1"}
SIZES = [40, 700, 20_000]  # fewer rows than bins times 3, some, and enough for the fine bins


def draw(n, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.9, n)
    p = p.round(2).clip(0.01, 0.99) if ties else p
    y = (rng.random(n) < 0.8 * p + 0.1).astype(int)
    return p, y, rng.integers(0, 4, n)


def values(name, p, y, weights=None, notion="binary"):
    estimates = harness.estimate(name, p, y, notion, sample_weight=weights)
    return {estimand: e.value for estimand, e in estimates.items()}


def test_the_message_names_estimators_with_weights():
    """`WEIGHTED` lists the ids of these estimators, besides k-means, variants and wrappers."""
    others = [
        name
        for name in ("kde", "smooth_ece", "best", "ckce", "interval_ce", "calibration_belt")
        if takes_weights(harness.load_estimator(name))
    ]
    assert all(takes_weights(harness.load_estimator(name)) for name in WEIGHTED) and not others
    with pytest.raises(BadInputError, match="kde.* has no weighted form.*binned15, "):
        values("kde", *draw(50))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", WEIGHTED)
def test_equal_weights_give_the_unweighted_number(name, n):
    p, y, _ = draw(n)
    assert values(name, p, y, np.full(n, 0.1)) == values(name, p, y)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", [name for name in WEIGHTED if name not in DEBIASED])
def test_whole_numbers_repeat_rows(name, n, ties):
    p, y, w = draw(n, ties=ties)
    repeated = values(name, np.repeat(p, w), np.repeat(y, w))
    assert values(name, p, y, w) == pytest.approx(repeated, rel=1e-11, abs=1e-14)
    assert values(name, p, y, w) != pytest.approx(values(name, p, y), rel=1e-6)


@pytest.mark.parametrize("notion", ["top_label", "classwise", "canonical"])
def test_vectors(notion):
    problem = harness.load_problem("dirichlet3_overconfident")
    p, y = problem.sample(300, np.random.default_rng(0))
    w = np.random.default_rng(1).integers(0, 3, 300)
    for name in ("binned15", "brier", "logloss", "accuracy"):
        if notion in harness.load_estimator(name).notions:
            repeated = values(name, np.repeat(p, w, axis=0), np.repeat(y, w), notion=notion)
            assert values(name, p, y, w, notion) == pytest.approx(repeated, rel=1e-11)


@pytest.mark.parametrize("name", WEIGHTED)
def test_rows_of_weight_0_are_left_out(name):
    p, y, _ = draw(500)
    w = np.random.default_rng(3).random(500)
    w[::3] = 0.0
    kept = w > 0.0
    assert values(name, p, y, w) == values(name, p[kept], y[kept], w[kept])
    w[kept] = 2.0
    assert values(name, p, y, w) == values(name, p[kept], y[kept])


@pytest.mark.parametrize("name", WEIGHTED)
def test_the_unit_of_weights_does_not_matter(name):
    p, y, _ = draw(500)
    w = np.random.default_rng(3).random(500)
    assert values(name, p, y, 1024.0 * w) == pytest.approx(values(name, p, y, w), rel=1e-12)


@pytest.mark.parametrize("bins", [1, 2, 7, 15, 50])
def test_edges_of_equal_mass(bins):
    for seed in range(20):
        p, _, w = draw(int(np.random.default_rng(seed).integers(3, 90)), seed, ties=seed % 2 == 0)
        p, w = p[w > 0], w[w > 0].astype(float)
        expected = bin_sums.mass_edges(np.repeat(p, w.astype(int)), bins)
        assert np.array_equal(bin_sums.weighted_mass_edges(p, w, bins), expected)


def test_debiased_by_hand():
    """One bin: mean p .5, mean y .75, effective count 16 / 6."""
    p, y, w = np.full(3, 0.5), np.array([1, 0, 1]), np.array([2.0, 1.0, 1.0])
    expected = 0.25**2 - 0.75 * 0.25 / (16 / 6 - 1)
    e = Debiased(bins=1)(p, y, sample_weight=w)["l2_squared"]
    assert e.value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_the_debiased_error_has_no_bias_in_a_bin(spread):
    """Weights that depend on p only, with one p per bin: the mean is the error, .1 squared."""
    rng = np.random.default_rng(0)
    draws, n = 1000, 12
    w = np.exp(spread * rng.standard_normal(n))
    y = (rng.random((draws, n)) < 0.6).astype(int)
    p = np.full(n, 0.5)
    found = [Debiased(bins=1)(p, hit, sample_weight=w)["l2_squared"].value for hit in y]
    plain = [Binned(bins=1)(p, hit, sample_weight=w)["l2_squared"].value for hit in y]
    error = np.std(found) / np.sqrt(draws)
    assert abs(np.mean(found) - 0.01) < 4 * error < abs(np.mean(plain) - 0.01)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "shape"),
        ([[1, 1, 1]], "shape"),
        ([1, -1, 1], "-1 in row 1"),
        ([1, np.nan, 1], "nan in row 1"),
        ([1, 1, np.inf], "inf in row 2"),
        ([0, 0, 0], "zero in all rows"),
        (["a", "b", "c"], "numbers are needed"),
        (np.ma.masked_array([1, 2, 3], [0, 1, 0]), "masked"),
    ],
)
def test_other_weights_are_refused(weights, message):
    p, y = [0.2, 0.4, 0.9], [0, 1, 1]
    with pytest.raises(BadInputError, match=message):
        harness.ece(p, y, "binary", sample_weight=weights)
    with pytest.raises(BadInputError, match=message):
        Binned()(np.array(p), np.array(y), sample_weight=weights)


def test_weights_have_no_place_in_k_means_and_in_groups():
    p, y, w = draw(60)
    with pytest.raises(BadInputError, match="k-means have no weighted form"):
        values("kmeans15", p, y, w)
    with pytest.raises(BadInputError, match="group_rows"):
        harness.estimate("binned15", p, y, "binary", group_rows=w, sample_weight=w)


def test_ece_and_own_functions_take_weights():
    p, y, w = draw(200)
    expected = harness.ece(np.repeat(p, w), np.repeat(y, w), "binary", binning="mass")
    found = harness.ece(p, y, "binary", binning="mass", sample_weight=w)
    assert float(found) == pytest.approx(float(expected), rel=1e-12)

    def gap(p, y, sample_weight=None):
        return abs(np.average(p - y, weights=sample_weight))

    expected = abs(np.average(p - y, weights=w))
    assert values(gap, p, y, w)["l1"] == pytest.approx(expected, rel=1e-12)
