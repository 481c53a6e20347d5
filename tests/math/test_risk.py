"""The calibration-estimation risk, and kernels in blocks and in low rank."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.stats import beta as beta_law
from scipy.stats import dirichlet as dirichlet_law
from slow_params import slow

from harness.errors import UndefinedError
from harness.math import kernels
from harness.math.kernels import dirichlet_sums, rbf, two_columns
from harness.math.low_rank import pivoted_cholesky
from harness.math.risk import ResidualGram, residuals, risk


def by_hand(u, h):
    n = len(u)
    return sum((u[i] @ u[j] - h[i, j]) ** 2 for i in range(n) for j in range(n) if i != j) / (
        n * (n - 1)
    )


def test_two_samples():
    u = np.array([[0.5], [-0.25]])
    v = np.array([[0.1], [0.2]])
    assert risk(u, ResidualGram(v)) == pytest.approx((0.5 * -0.25 - 0.1 * 0.2) ** 2)


def test_three_samples_with_a_core_that_is_not_positive():
    u = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    f = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]])
    core = np.array([[0.0, 1.0], [1.0, -0.5]])
    assert risk(u, ResidualGram(f, core)) == pytest.approx(by_hand(u, f @ core @ f.T))
    assert risk(u, ResidualGram(f, np.array([2.0, -1.0]))) == pytest.approx(
        by_hand(u, f @ np.diag([2.0, -1.0]) @ f.T)
    )
    assert ResidualGram(f, core).diagonal() == pytest.approx(np.diag(f @ core @ f.T))


@given(st.integers(2, 12), st.integers(1, 15), st.integers(1, 4), st.integers(0, 1000))
def test_moments_and_blocks_give_the_sum_over_pairs(n, r, d, seed):
    rng = default_rng(seed)
    u, f = rng.normal(size=(n, d)), rng.normal(size=(n, r))
    core = rng.normal(size=(r, r))
    core = core + core.T
    for products in (ResidualGram(f), ResidualGram(f, core), ResidualGram(f, core[0])):
        h = products.weighted() @ f.T
        assert risk(u, products) == pytest.approx(by_hand(u, h), rel=1e-9)
        order = rng.permutation(n)
        assert risk(u[order], ResidualGram(f[order], products.core)) == pytest.approx(
            risk(u, products), rel=1e-9
        )


def test_fewer_than_two_samples_have_no_pair():
    with pytest.raises(UndefinedError):
        risk(np.ones((1, 1)), ResidualGram(np.ones((1, 1))))


def test_the_risk_is_unbiased():
    """u in {-1, 1} with P(1) = 0.7, h = 0.1: E (u u' - h)^2 = 1 - 2 * 0.16 * 0.1 + 0.01."""
    rng = default_rng(3)
    truth = 1 - 2 * 0.4**2 * 0.1 + 0.01
    risks = []
    for _ in range(2000):
        u = np.where(rng.random(10) < 0.7, 1.0, -1.0)[:, None]
        risks.append(risk(u, ResidualGram(np.full((10, 1), math.sqrt(0.1)))))
    error = np.std(risks, ddof=1) / math.sqrt(len(risks))
    assert abs(np.mean(risks) - truth) < 4 * error


def test_the_least_risk_is_at_the_truth():
    """Among h = t^2 <p - C, p' - C> the true one, t = 1, has the smallest expected risk."""
    rng = default_rng(1)
    p = rng.random(20_000)
    y = (rng.random(20_000) < p**2).astype(int)
    u, v = residuals(p, y), (p - p**2)[:, None]
    risks = {t: risk(u, ResidualGram(t * v)) for t in (0.0, 0.5, 0.9, 1.0, 1.1, 1.5)}
    assert min(risks, key=risks.get) in (0.9, 1.0, 1.1)
    assert risks[0.5] > risks[1.0] < risks[1.5]


def test_residuals():
    assert residuals(np.array([0.2, 0.9]), np.array([0, 1])).tolist() == pytest.approx(
        np.array([[0.2], [-0.1]])
    )
    p = np.array([[0.2, 0.3, 0.5]])
    assert residuals(p, np.array([2])) == pytest.approx(np.array([[0.2, 0.3, -0.5]]))


def test_one_kernel_is_the_density_of_its_law():
    t, b = np.array([[0.2, 0.3, 0.5]]), 0.05
    z = np.array([[0.1, 0.6, 0.3]])
    log_density = dirichlet_sums(z, t, np.ones((1, 1)), (b,))[1]
    assert log_density[0, 0] == pytest.approx(dirichlet_law.logpdf(z[0], t[0] / b + 1))
    log_density = dirichlet_sums(
        two_columns(np.array([0.7])), two_columns(np.array([0.4])), np.ones((1, 1)), (b,)
    )[1]
    assert log_density[0, 0] == pytest.approx(beta_law.logpdf(0.7, 0.4 / b + 1, 0.6 / b + 1))


def test_leaving_one_out_of_three():
    g = two_columns(np.array([0.2, 0.5, 0.6]))
    y = np.array([[1.0], [0.0], [1.0]])
    ratio = dirichlet_sums(g, g, y, (0.1,), leave_out=np.arange(len(g)))[0][0]
    k = np.array(
        [[beta_law.pdf(z, t / 0.1 + 1, (1 - t) / 0.1 + 1) for t in g[:, 1]] for z in g[:, 1]]
    )
    assert ratio[0, 0] == pytest.approx(k[0, 2] / (k[0, 1] + k[0, 2]))
    assert ratio[1, 0] == pytest.approx(1.0)
    assert ratio[2, 0] == pytest.approx(k[2, 0] / (k[2, 0] + k[2, 1]))


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_many_bandwidths_at_once_and_any_block_agree(classes, monkeypatch):
    rng = default_rng(classes)
    g, hits = rng.dirichlet(np.ones(classes), 60), rng.random((60, 2))
    bandwidths = (1e-4, 0.01, 0.5)
    together = dirichlet_sums(g, g, hits, bandwidths, leave_out=np.arange(len(g)))
    monkeypatch.setattr(kernels, "BLOCK_ENTRIES", 500)
    for i, b in enumerate(bandwidths):
        alone = dirichlet_sums(g, g, hits, (b,), leave_out=np.arange(len(g)))
        assert together[0][i] == pytest.approx(alone[0][0], rel=1e-9)
        assert together[1][i] == pytest.approx(alone[1][0], rel=1e-9)


def test_the_smallest_bandwidth_neither_overflows_nor_divides_by_zero():
    g = two_columns(np.array([1e-7, 1e-3, 0.5, 1 - 1e-7]))
    ratio, density = dirichlet_sums(
        g, g, np.array([[0.0], [1.0], [0.0], [1.0]]), (1e-9,), leave_out=np.arange(len(g))
    )
    assert np.isfinite(ratio).all() and np.isfinite(density).all()
    assert ratio[0, 0, 0] == 1.0  # all weight on the nearest


@pytest.mark.parametrize("x", ["scalars", *slow("vectors"), "ties", "one"])
def test_pivoted_cholesky_leaves_what_it_says(x):
    rng = default_rng(0)
    x = {"scalars": rng.random(300), "vectors": rng.dirichlet(np.ones(4), 300),
         "ties": np.repeat([0.1, 0.5], 40),
         "one": np.array([0.3])}[x]  # fmt: skip
    dense = rbf(x, x, 0.5)
    for tolerance in (1e-3, 1e-8, 1e-14):
        low_rank = pivoted_cholesky(x, 0.5, tolerance)
        error = dense - low_rank.factor @ low_rank.factor.T
        assert low_rank.residual <= tolerance
        assert error.trace() / len(x) == pytest.approx(low_rank.residual, abs=1e-14)
        assert np.linalg.eigvalsh(error)[0] > -1e-12
        assert np.abs(error).max() <= error.diagonal().max() + 1e-14
        features = low_rank.features(x)
        assert features @ low_rank.factor.T == pytest.approx(
            low_rank.factor @ low_rank.factor.T, abs=1e-7
        )


def test_the_rank_of_scalars_does_not_grow_with_them():
    ranks = [
        pivoted_cholesky(np.linspace(0, 1, n), 0.5).factor.shape[1] for n in (100, 1000, 10_000)
    ]
    assert max(ranks) <= 12


def test_rank_is_capped_and_the_rest_reported():
    x = default_rng(0).dirichlet(np.ones(10), 400)
    low_rank = pivoted_cholesky(x, 0.5, max_rank=50)
    assert low_rank.factor.shape == (400, 50) and 0 < low_rank.residual < 1
    error = rbf(x, x, 0.5) - low_rank.factor @ low_rank.factor.T
    assert error.trace() / 400 == pytest.approx(low_rank.residual, rel=1e-9)
