"""CKCE, SKCE, UCME, MMCE and the binned error on the simplex."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.spatial.distance import cdist
from slow_params import slow

from harness import load_estimator, reduce
from harness.errors import UndefinedError
from harness.estimators import CKCE, MMCE, SKCE, UCME, Binned, SimplexECE
from harness.estimators.ckce_solvers import System, solve_by_cholesky, solve_by_low_rank
from harness.estimators.kernel_errors import ucme_at_places
from harness.math import kernels
from harness.math.kernels import median_distance, rbf, rbf_form, rbf_times
from harness.math.low_rank import complete_cholesky, pivoted_cholesky
from harness.math.notions import one_hot

METHODS = ("cholesky", "low_rank", "auto")


def value(estimator, p, y, rng=0):
    (estimate,) = estimator(p, y, default_rng(rng)).values()
    return estimate.value


def sample(n, k=10, seed=0, alpha=0.1, power=2.0):
    """Sample predictions that are sharper than the law of y."""
    rng = default_rng(seed)
    p = rng.dirichlet(np.full(k, alpha), n)
    y = np.minimum((p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    q = p**power
    return q / q.sum(axis=1, keepdims=True), y


def gram(q, gamma):
    distance = ((q[:, None] - q[None]) ** 2).sum(axis=2)
    return q @ q.T + np.exp(-distance / (2 * gamma**2))


def by_hand(q, y, gamma, ridge):
    """Return the literal trace of the paper, with an inverse."""
    n, k = gram(q, gamma), one_hot(y, q.shape[1])
    a = np.linalg.inv(n + ridge * len(q) * np.eye(len(q)))
    return np.trace(a @ (q @ q.T + k @ k.T - q @ k.T - k @ q.T) @ a @ n)


# CKCE


@given(st.integers(1, 25), st.integers(2, 5), st.integers(0, 1000))
def test_ckce_is_the_trace(n, k, seed):
    q, y = sample(n, k, seed, alpha=0.7)
    for gamma, ridge in ((0.7, None), (0.2, 0.3), ("median", 0.01)):
        width = gamma if gamma != "median" else median_distance(q)
        expected = by_hand(q, y, width, n**-0.25 if ridge is None else ridge)
        for method in METHODS:
            assert value(CKCE(gamma, ridge, method), q, y) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("n, k", [(40, 2), (700, 3), (3000, 10)])
@pytest.mark.parametrize("gamma", ["median", "median_of_positive", "median_squared", 1e-3, 100.0])
def test_equal_predictions_have_a_closed_form_whatever_gamma(n, k, gamma):
    rng = default_rng(n)
    f, y = rng.dirichlet(np.ones(k)), rng.integers(0, k, n)
    kappa, mean = f @ f + 1, (one_hot(y, k) - f).mean(axis=0)
    lam = n**-0.25
    p = np.tile(f, (n, 1))
    expected = kappa / (kappa + lam) ** 2 * mean @ mean
    for method in METHODS:
        assert value(CKCE(gamma, method=method), p, y) == pytest.approx(expected, rel=1e-9)
    assert value(CKCE(gamma, method="features"), p, y) == pytest.approx(expected, rel=1e-9)
    r = one_hot(y, k) - f
    pairs = (r.sum(axis=0) ** 2).sum() - (r * r).sum()
    assert value(SKCE(gamma), p, y) == pytest.approx(kappa * pairs / (n * (n - 1)), rel=1e-9)


def test_the_toy_in_exact_proportions():
    """Appendix A has f = 0.3 or 0.6, C = 1/2 and a kernel of equality.

    The squared distances are 0.08 and 0.02.
    """
    d = np.array([0.08, 0.02])
    for p in (0.05, 0.3, 0.5, 0.95):
        n = 2000
        f, y = np.repeat([0.3, 0.6], [round(p * n), n - round(p * n)]), np.tile([0, 1], n // 2)
        share = np.array([p, 1 - p])
        for ridge in (1e-9, 0.01, 1000**-0.25):
            expected = (d * (share / (share + ridge)) ** 2).sum()
            toy = value(CKCE(ridge=ridge, kernel="kronecker"), f, y)
            assert toy == pytest.approx(expected, rel=1e-9)
        assert value(CKCE(ridge=1e-9, kernel="kronecker"), f, y) == pytest.approx(0.1, rel=1e-6)
        assert value(SKCE(form="biased", kernel="kronecker"), f, y) == pytest.approx(
            0.1 * p**2 - 0.04 * p + 0.02
        )
        assert value(SimplexECE(2), f, y) == pytest.approx(
            0.2 + 0.2 * p
        )  # the paper's 0.4 - 0.2 p swaps the weights


def test_kronecker_is_the_limit_of_the_trace():
    """Group sums equal the matrix formula, with ties."""
    q, y = sample(30, 3, alpha=1.0)
    q[10:20], q[20:25] = q[0], q[1]
    same = (q[:, None] == q[None]).all(axis=2).astype(float)
    r = one_hot(y, 3) - q
    w = np.linalg.solve(same + 0.2 * 30 * np.eye(30), r)
    assert value(CKCE(ridge=0.2, kernel="kronecker"), q, y) == pytest.approx(np.vdot(w, same @ w))
    h = same * (r @ r.T)
    assert value(SKCE(kernel="kronecker"), q, y) == pytest.approx((h.sum() - h.trace()) / (30 * 29))
    a = np.linalg.inv(same + 0.2 * 30 * np.eye(30))
    floor = CKCE(ridge=0.2, kernel="kronecker")(q, y)["ckce"].diagnostics["noise_floor"]
    assert floor == pytest.approx((a @ same @ a).diagonal() @ (1 - (q * q).sum(axis=1)))


@pytest.mark.parametrize(
    "k, alpha, power",
    [(2, 0.5, 2.0), (3, 0.1, 1.0), (10, 0.1, 1.0), (10, 0.1, 0.5), *slow((60, 0.3, 2.0))],
)
@pytest.mark.parametrize("ridge", [None, 1e-3, 10.0])
def test_low_rank_is_cholesky_within_its_bound(k, alpha, power, ridge):
    q, y = sample(800, k, 1, alpha, power)
    exact = value(CKCE(ridge=ridge, method="cholesky"), q, y)
    for accuracy in (1e-2, 1e-6, 1e-9):
        estimate = CKCE(ridge=ridge, method="low_rank", accuracy=accuracy)(q, y)["ckce"]
        assert (
            abs(estimate.value - exact) <= estimate.diagnostics["error"] + 1e-11 * exact
        )  # rounding, of Cholesky too
        assert estimate.diagnostics["error"] <= accuracy * estimate.value
    assert estimate.value == pytest.approx(exact, rel=1e-9) == value(CKCE(ridge=ridge), q, y)


def test_the_bound_without_products_holds():
    """Scalars: the omitted rank changes the value by at most e (1 + e / c)^2 ||X||^2."""
    q, y = sample(600, 2, 3, 0.5)
    estimate = CKCE(1.0, method="low_rank")(q, y)["ckce"]
    assert estimate.diagnostics["products"] == 0
    assert estimate.diagnostics["rank"] < 20
    assert estimate.diagnostics["residual"] < 1e-13
    assert estimate.value == pytest.approx(value(CKCE(1.0, method="cholesky"), q, y), rel=1e-9)


def test_a_tiny_ridge_is_undefined_in_low_rank_and_left_to_cholesky():
    q, y = sample(700, 10, 0)
    with pytest.raises(UndefinedError, match="ridge"):
        CKCE(ridge=1e-13, method="low_rank")(q, y)
    assert value(CKCE(ridge=1e-13), q, y) == value(CKCE(ridge=1e-13, method="cholesky"), q, y)


def test_low_rank_allocates_no_matrix_of_all_pairs():
    q, y = sample(5000, 10)
    CKCE()(q[:600], y[:600])
    tracemalloc.start()
    for estimator in (CKCE(), SKCE(), CKCE(method="features")):
        value(estimator, q, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5000**2 * 8 / 3


def test_without_residuals_there_is_no_error():
    q = np.eye(4)[np.arange(800) % 4]
    for method in METHODS:
        assert value(CKCE(method=method), q, np.arange(800) % 4) == 0.0
    assert value(SKCE(), q, np.arange(800) % 4) == 0.0


def test_noise_floor_is_the_diagonal_of_the_trace():
    q, y = sample(50, 4, alpha=1.0)
    k, spread = gram(q, 0.5), 1 - (q * q).sum(axis=1)
    a = np.linalg.inv(k + 5.0 * np.eye(50))
    expected = (a @ k @ a).diagonal() @ spread
    assert CKCE(0.5, 0.1)(q, y)["ckce"].diagnostics["noise_floor"] == pytest.approx(
        expected, rel=1e-9
    )
    r = one_hot(y, 4) - q
    assert solve_by_cholesky(q, r, 0.5, 5.0, spread)[0] == pytest.approx(
        solve_by_low_rank(q, r, 0.5, 5.0, spread, 1e-9)[0], rel=1e-9
    )


def test_values_depend_on_n():
    """c = n^(3/4): the same samples ten times over are more miscalibrated."""
    q, y = sample(50, 10)
    many = np.tile(q, (10, 1)), np.tile(y, 10)
    assert CKCE()(*many)["ckce"].diagnostics["ridge"] == pytest.approx(500**-0.25)
    assert value(CKCE(0.7), *many) > 1.5 * value(CKCE(0.7), q, y)
    assert value(CKCE(0.7, 0.3), *many) == pytest.approx(value(CKCE(0.7, 0.3), q, y), rel=1e-9)


# Rounding in floating point


@pytest.mark.parametrize("eps", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_nearly_certain_predictions(eps):
    """Residuals are proportional to eps, and so both errors to eps^2."""
    y = np.arange(60) % 3
    ratios = {}
    for e in (1e-3, eps):
        q = np.full((60, 3), e / 2)
        q[np.arange(60), y] = 1 - e
        r = one_hot(y, 3) - q
        assert r[0, 1] == -e / 2
        ratios[e] = (
            np.array([value(CKCE(1.0, method=m), q, y) for m in METHODS] + [value(SKCE(1.0), q, y)])
            / e**2
        )
    assert ratios[eps] == pytest.approx(ratios[1e-3], rel=0.05) and (ratios[eps] > 0).all()


@pytest.mark.parametrize("ridge", [1e2, 1e6, 1e10])
def test_a_huge_ridge_does_not_cancel(ridge):
    """(K + c I)^-1 R -> R / c: ckce -> tr(R' K R) / c^2."""
    q, y = sample(120, 5, alpha=0.5)
    r = one_hot(y, 5) - q
    k = gram(q, 0.5)
    expected = np.vdot(r, k @ r) / (120 * ridge) ** 2
    for method in METHODS:
        assert value(CKCE(0.5, ridge, method), q, y) == pytest.approx(
            expected, rel=max(1e-12, 5 / ridge)
        )
    w = np.linalg.solve(k + 120 * ridge * np.eye(120), r)
    assert value(CKCE(0.5, ridge), q, y) == pytest.approx(np.vdot(w, k @ w), rel=1e-12)


def test_duplicates_under_a_small_ridge():
    """Equal rows make K singular. The value is then that of the distinct rows with weights."""
    q, y = sample(20, 3, 1, alpha=1.0)
    many, labels = np.repeat(q, 3, axis=0), np.concatenate([[a, (a + 1) % 3, a] for a in y])
    sums = (one_hot(labels, 3) - many).reshape(20, 3, 3).sum(axis=1)
    k = 3 * gram(q, 0.2)
    for ridge in (0.1, 1e-3, 1e-6):
        w = np.linalg.solve(k + 60 * ridge * np.eye(20), sums / math.sqrt(3))
        for method in METHODS:
            assert value(CKCE(0.2, ridge, method), many, labels) == pytest.approx(
                np.vdot(w, k @ w), rel=1e-7
            )
    assert value(CKCE(0.2, 1e-14), many, labels) < 1e9


def test_float32_predictions_are_taken_as_they_are():
    q, y = sample(300, 10)
    single = q.astype(np.float32)
    for estimator in (CKCE(), SKCE(), SimplexECE()):
        assert value(estimator, single, y) == value(estimator, single.astype(float), y)
        assert value(estimator, single, y) == pytest.approx(value(estimator, q, y), rel=1e-5)


ON_COLUMNS = [
    CKCE(), CKCE(method="low_rank"), CKCE(method="features"), CKCE(kernel="kronecker"), SKCE(),
    SKCE(form="biased"),
    SKCE(form="block"), SKCE(method="features"), SKCE(kernel="kronecker"), UCME(), SimplexECE(),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ON_COLUMNS)
def test_one_column_counts_as_two(estimator):
    p = np.round(default_rng(0).random(90), 2)
    y = (default_rng(1).random(90) < p**2).astype(int)
    columns = np.column_stack([1 - p, p])
    assert value(estimator, p, y) == pytest.approx(value(estimator, columns, y), rel=1e-12)
    assert value(estimator, *reduce(p, y, "canonical")) == pytest.approx(
        value(estimator, p, y), rel=1e-12
    )


def test_on_two_columns_distances_are_root_two_longer():
    p = np.array([0.1, 0.4, 0.8])
    assert (
        median_distance(p)
        == pytest.approx(math.sqrt(2) * 0.4)
        == median_distance(np.column_stack([1 - p, p]))
    )


# Random Fourier features


@pytest.mark.slow
def test_fourier_features_vary_about_the_exact_value():
    """The spread halves with four times as many features (Appendix B)."""
    q, y = sample(400, 10)
    exact, draws = value(CKCE(), q, y), {}
    for count in (25, 100, 400):
        estimator = CKCE(method="features", features=count)
        draws[count] = np.array([value(estimator, q, y, seed) for seed in range(20)]) / exact
    assert abs(draws[100].mean() - 1) < 0.02 and draws[100].std() < 0.03
    assert abs(draws[400].mean() - 1) < 0.01 and draws[400].std() < 0.5 * draws[25].std()


# SKCE


def test_skce_needs_two_samples():
    q, y = np.array([[0.7, 0.2, 0.1]]), np.array([0])
    with pytest.raises(UndefinedError, match="at least 2 samples"):
        SKCE()(q, y)
    assert value(SKCE(1.0, form="biased"), q, y) == pytest.approx(1.54 * 0.14)


@given(
    st.integers(2, 40), st.integers(2, 5), st.integers(0, 500), st.sampled_from([0.05, 0.5, 2.0])
)
def test_skce_is_the_sum_over_pairs(n, k, seed, gamma):
    q, y = sample(n, k, seed, alpha=0.7)
    r = one_hot(y, k) - q
    h = gram(q, gamma) * (r @ r.T)
    assert value(SKCE(gamma), q, y) == pytest.approx(
        (h.sum() - h.trace()) / (n * (n - 1)), rel=1e-8, abs=1e-11
    )
    assert value(SKCE(gamma, form="biased"), q, y) == pytest.approx(h.mean(), rel=1e-8)
    assert value(SKCE(gamma, form="block", blocksize=n), q, y) == pytest.approx(
        (h.sum() - h.trace()) / (n * (n - 1)), abs=1e-12
    )


def test_the_unbiased_form_is_0_on_average_over_all_outcomes():
    """Exact expectation over all pairs of outcomes of two samples."""
    q = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    chance = {(a, b): q[0, a] * q[1, b] for a, b in itertools.product(range(3), repeat=2)}
    for form, expected in (
        ("unbiased", 0.0),
        ("block", 0.0),
        ("biased", (1.38 * (1 - 0.38) + 1.46 * (1 - 0.46)) / 4),
    ):
        mean = sum(w * value(SKCE(0.4, form=form), q, np.array(y)) for y, w in chance.items())
        assert mean == pytest.approx(expected, abs=1e-15)


def test_low_rank_and_tiles_give_one_sum(monkeypatch):
    q, y = sample(300, 2, alpha=0.5)
    low_rank = SKCE(0.5)(q, y)["skce"]
    assert low_rank.diagnostics["rank"] < 30
    # None is the answer where the rank is too high.
    monkeypatch.setattr("harness.estimators.kernel_errors.complete_cholesky", lambda *_: None)
    tiles = SKCE(0.5)(q, y)["skce"]
    assert "rank" not in tiles.diagnostics and tiles.value == pytest.approx(
        low_rank.value, rel=1e-9
    )


def test_blocks_average_to_the_sum_over_pairs():
    q, y = sample(501, 3, alpha=0.5)
    estimate = SKCE(form="block", blocksize=10)(q, y, default_rng(0))["skce"]
    assert (estimate.diagnostics["blocks"], estimate.diagnostics["left_out"]) == (50, 1)
    whole = value(SKCE(), q, y)
    many = [SKCE(form="block", blocksize=10)(q, y, seed)["skce"] for seed in range(60)]
    values = np.array([e.value for e in many])
    assert abs(values.mean() - whole) < 4 * values.std(ddof=1) / math.sqrt(60)
    with pytest.raises(UndefinedError, match="10 samples"):
        SKCE(form="block", blocksize=10)(q[:9], y[:9], 0)


def test_the_standard_error_of_blocks_is_the_spread_over_samples():
    """The squared standard error is unbiased for the variance over 240 samples."""
    estimates = [
        SKCE(form="block", blocksize=10)(*sample(501, 3, seed, 0.5), seed)["skce"]
        for seed in range(240)
    ]
    variance = np.var([e.value for e in estimates], ddof=1)
    mean = np.mean([e.diagnostics["standard_error"] ** 2 for e in estimates])
    assert abs(mean - variance) < 4 * math.sqrt(2 / 239) * variance


# UCME


def test_ucme_at_given_places():
    q, y = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]), np.array([0, 1, 1])
    t, c = np.array([[1.0, 0.0], [0.4, 0.6]]), np.array([1, 0])
    expected = 0.0
    for place, label in zip(t, c):
        terms = [
            (f @ place + math.exp(-((f - place) ** 2).sum() / 0.5)) * ((a == label) - f[label])
            for f, a in zip(q, y)
        ]
        expected += np.mean(terms) ** 2 / 2
    assert ucme_at_places(q, one_hot(y, 2) - q, t, c, 0.5) == pytest.approx(expected)


@pytest.mark.slow
def test_ucme_grows_with_miscalibration_and_shrinks_with_n():
    """UCME of a calibrated model is the variance of a mean, proportional to 1 / n."""
    values = {
        (n, power): np.array(
            [value(UCME(0.5), *sample(n, 3, seed, 0.5, power), seed) for seed in range(200)]
        )
        for n, power in itertools.product((200, 3200), (1.0, 3.0))
    }
    mean = {key: v.mean() for key, v in values.items()}
    error = {key: v.std(ddof=1) / math.sqrt(200) for key, v in values.items()}
    assert mean[200, 3.0] > 2 * mean[200, 1.0]
    assert abs(16 * mean[3200, 1.0] - mean[200, 1.0]) < 4 * math.hypot(
        16 * error[3200, 1.0], error[200, 1.0]
    )
    assert (
        16 * error[3200, 1.0] < 0.1 * mean[200, 1.0] > error[200, 1.0]
    )  # so that this tells 1 / n from other rates


# MMCE


@given(st.integers(1, 60), st.integers(0, 500), st.sampled_from([0.002, 0.05, 0.4, 10.0]))
def test_mmce_is_the_sum_over_pairs(n, seed, width):
    rng = default_rng(seed)
    p, y = np.round(rng.random(n), 1 + seed % 4), rng.integers(0, 2, n)
    u = y - p
    squared = (np.outer(u, u) * np.exp(-np.abs(p[:, None] - p) / width)).sum() / n**2
    assert value(MMCE(width), p, y) ** 2 == pytest.approx(squared, rel=1e-9, abs=1e-14)


# Bins on the simplex


def test_bins_by_hand():
    """Bins (2, 0, 0), (0, 2, 0) and (1, 1, 0) of thirds."""
    q = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.4, 0.4, 0.2]])
    y = np.array([0, 1, 1, 2])
    sums = [[1 - 1.5, 1 - 0.3, -0.2], [-0.2, 1 - 0.7, -0.1], [-0.4, -0.4, 1 - 0.2]]
    estimate = SimplexECE()(q, y)["l1"]
    assert estimate.value == pytest.approx(np.abs(sums).sum() / 4) and estimate.diagnostics == {
        "bins": 3
    }


def test_an_edge_is_in_the_upper_bin_and_1_in_the_last():
    third = 1 / 3
    q = np.array([[third, 1 - third], [0.34, 0.66], [1.0, 0.0], [0.7, 0.3]])
    assert SimplexECE()(q, np.zeros(4, dtype=int))["l1"].diagnostics == {
        "bins": 3
    }  # 2/3 opens the last interval, 0.66 is below
    assert SimplexECE(1)(q, np.zeros(4, dtype=int))["l1"].diagnostics == {"bins": 1}


def test_two_columns_are_twice_the_binned_error_of_one():
    rng = default_rng(0)
    p, y = rng.random(500), rng.integers(0, 2, 500)
    assert value(SimplexECE(), p, y) == pytest.approx(2 * Binned(3)(p, y)["l1"].value)
    assert SimplexECE.notions == ("canonical",)  # where l1 is the norm of both columns


def test_empty_bins_cost_no_memory():
    """Three intervals per class and 1,000 classes make 3^1000 bins."""
    q = default_rng(0).dirichlet(np.full(1000, 0.01), 50)
    y = np.arange(50)
    assert SimplexECE()(q, y)["l1"].diagnostics["bins"] <= 50
    assert value(SimplexECE(), np.full((1000, 1000), 1e-3), np.arange(1000)) == pytest.approx(
        0.0, abs=1e-12
    )


# The median distance, and products of the kernel matrix


def test_median_rules_by_hand():
    p = np.array(
        [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    )  # distances 0, 1, 1, 1/2, 1/2, 1/2 times root 2
    root = math.sqrt(2)
    assert median_distance(p, "median") == pytest.approx(root / 2)
    assert median_distance(p, "median_with_diagonal") == pytest.approx(root / 2)
    assert median_distance(p, "median_of_positive") == pytest.approx(root / 2)
    assert median_distance(p, "median_squared") == pytest.approx(0.5)
    assert median_distance(p, "sqrt_half_median_squared") == pytest.approx(0.5)
    assert median_distance(p[:3], "median_with_diagonal") == 1.0  # 5 of 9 are 0: no width
    assert median_distance(p[:3], "median") == pytest.approx(root)
    assert median_distance(p[:3], "median_of_positive") == pytest.approx(root)


def test_without_distances_the_width_is_1():
    for p in (
        np.full((50, 3), 1 / 3),
        np.array([0.2]),
        np.full(3000, 0.1),
        np.float32([[0.1, 0.9]] * 9),
    ):
        for rule in kernels.MEDIAN_RULES:
            assert median_distance(p, rule) == 1.0
    nearly = np.full((3, 2), 0.5)
    nearly[0] += [1e-9, -1e-9]
    assert median_distance(nearly) == pytest.approx(
        math.sqrt(2) * 1e-9, rel=1e-6
    )  # not 1e-8 of noise


def test_the_median_of_many_rows_does_not_depend_on_their_order():
    q, _ = sample(3000, 10)
    everything = np.median(np.sqrt(np.maximum(((q[:, None] - q[None, ::7]) ** 2).sum(axis=2), 0)))
    width = median_distance(q)
    assert width == pytest.approx(everything, rel=0.02)
    rng = default_rng(0)
    assert median_distance(q[rng.permutation(3000)]) == width
    assert median_distance(q[:, rng.permutation(10)]) == pytest.approx(width, rel=1e-9)
    certain = np.eye(5)[rng.integers(0, 5, 3000)]
    assert median_distance(certain) == pytest.approx(math.sqrt(2)) == median_distance(certain[::-1])


@pytest.mark.parametrize("gamma", [0.5, 30.0, 3e5])
@pytest.mark.parametrize("n", [1, 7, 8, 50])
def test_products_in_tiles_equal_the_dense_product(n, gamma, monkeypatch):
    monkeypatch.setattr(kernels, "TILE_ROWS", 8)
    rng = default_rng(n)
    x, v = np.repeat(rng.dirichlet(np.ones(4), n), 2, axis=0), rng.normal(size=(2 * n, 3))
    dense = np.exp(-gamma * ((x[:, None] - x[None]) ** 2).sum(axis=2))
    assert rbf_times(x, gamma, v) == pytest.approx(dense @ v, rel=1e-9, abs=1e-9)
    assert rbf(x, x, gamma) == pytest.approx(dense, abs=1e-9)


def test_a_sharp_kernel_sees_equal_rows_as_equal():
    x = np.array([[0.3, 0.7], [0.3, 0.7], [0.3 + 1e-9, 0.7 - 1e-9]])
    assert rbf(x, x, 1e20)[0, 1] == 1.0
    assert rbf(x, x, 1e17)[0, 2] == pytest.approx(math.exp(-0.2), rel=1e-6)


@pytest.mark.parametrize("kind", ["ckce", "skce"])
def test_every_median_rule_is_configured(kind):
    rules = {load_estimator(f"{kind}_{rule}").gamma for rule in kernels.MEDIAN_RULES[1:]}
    assert rules == set(kernels.MEDIAN_RULES[1:])


@pytest.mark.parametrize("gamma", [300.0, 1e4, *slow(1e6)])
def test_exponents_that_would_underflow_change_nothing(gamma):
    q, _ = sample(300, 3, alpha=0.5)
    exact = np.exp(-gamma * cdist(q, q, "sqeuclidean"))
    assert rbf(q, q, gamma) == pytest.approx(exact, rel=1e-9, abs=1e-10)
    assert rbf_times(q, gamma, q) == pytest.approx(exact @ q, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("rank", [35, 50])
def test_one_product_corrects_a_low_rank_to_third_order(rank):
    rng = default_rng(0)
    q = rng.dirichlet(np.ones(5), 300)
    r = np.eye(5)[rng.integers(5, size=300)] - q
    c, gamma = 75.0, 0.6
    low = pivoted_cholesky(q, 0.5 / gamma**2, max_rank=rank)
    value, diagnostics = solve_by_low_rank(q, r, gamma, c, np.zeros(300), 1e-6, low)
    uncorrected = System(np.column_stack([q, low.factor]), c).primal(r)
    k = q @ q.T + rbf(q, q, 0.5 / gamma**2)
    w = np.linalg.solve(k + c * np.eye(300), r)
    exact = np.vdot(w, k @ w)
    assert diagnostics["products"] == 1
    assert abs(value - exact) <= diagnostics["error"] < 1e-4 * abs(uncorrected - exact)


@pytest.mark.parametrize("n", [100, 600])
def test_rbf_form_is_the_sum_over_all_pairs(n):
    rng = default_rng(0)
    x, v = rng.dirichlet(np.ones(4), n), rng.standard_normal((n, 3))
    assert rbf_form(x, 2.0, v) == pytest.approx(np.vdot(v, rbf(x, x, 2.0) @ v))


def test_a_low_rank_that_cannot_be_complete_is_given_up():
    rng = default_rng(0)
    many, few = rng.dirichlet(np.ones(10), 1000), np.tile(rng.dirichlet(np.ones(10), 20), (50, 1))
    assert complete_cholesky(many, 2.0, 1e-12, 64) is None
    assert complete_cholesky(few, 2.0, 1e-12, 64).residual <= 1e-12
