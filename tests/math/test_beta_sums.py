"""Kernel sums in nearly linear time, of near pairs, and Krylov ridges equal the direct ones."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from harness import load_problem, reduce
from harness.estimators import DirichletKernel, KernelRidge, kernel_ridge
from harness.math import beta_sums, kernels, near_pairs
from harness.math.beta_intervals import WIDTH, distinct
from harness.math.divergences import Bregman
from harness.math.kernels import two_columns
from harness.math.notions import one_hot
from harness.math.shifted import shifted_solutions

BANDWIDTHS = (1e-5, 1e-3, 0.03, 1.0)
rng = default_rng(0)
N = 300
SCALARS = {
    "uniform": rng.random(N),
    "crowded at both ends": rng.beta(0.1, 0.05, N),
    "powers of ten": np.concatenate(
        [10.0 ** -rng.uniform(0, 9, N // 2), 1.0 - 10.0 ** -rng.uniform(0, 9, N // 2)]
    ),
    "saturated": np.where(rng.random(N) < 0.5, 1.0, rng.random(N)),
    "tied": np.round(rng.random(N), 2),
    "constant": np.full(N, 0.3),
    "two values": np.where(rng.random(N) < 0.5, 0.0, 1.0),
    "clumps far apart": np.repeat([0.2, 0.9], N // 2) + 1e-3 * rng.random(N),
    "a few alone": np.concatenate([0.5 + 1e-6 * rng.random(N - 20), rng.random(20)]),
    "two": np.array([0.2, 0.7]),
}


def clipped(p, floor=1e-7):
    return np.clip(two_columns(p), floor, 1.0 - floor)


def outcomes(p):
    return (default_rng(1).random(len(p)) < p).astype(float)[:, None]


def assert_same(sums, expected):
    assert sums[0] == pytest.approx(expected[0], rel=0, abs=1e-10)
    assert sums[1] == pytest.approx(
        expected[1], rel=0, abs=1e-8
    )  # rounding of exponents of 1e5 in both


@pytest.mark.parametrize("name", SCALARS)
def test_beta_sums_are_those_of_all_pairs(name):
    z, hits = clipped(SCALARS[name]), outcomes(SCALARS[name])
    for leave_out in (None, np.arange(len(z))):
        for b in BANDWIDTHS:
            wanted = kernels.all_pairs(z, z, hits, (b,), leave_out)
            assert_same(beta_sums.regressions(z, z, hits, b, leave_out), [x[0] for x in wanted])


@given(st.integers(2, 40), st.floats(-5.0, 1.0), st.floats(0.02, 3.0), st.integers(0, 10**6))
def test_small_samples_of_any_shape(n, log_b, shape, seed):
    p = default_rng(seed).beta(shape, 1.0, n)
    z, hits, itself = clipped(p), outcomes(p), np.arange(n)
    assert_same(
        beta_sums.regressions(z, z, hits, 10.0**log_b, itself),
        [x[0] for x in kernels.all_pairs(z, z, hits, (10.0**log_b,), itself)],
    )


def test_other_points_than_the_centres_and_unclipped_ones():
    """Points lie between clumps of centres and far from all centres. Some centres are 0 and 1."""
    t = np.concatenate([np.zeros(5), 0.3 + 1e-3 * rng.random(100), np.ones(5)])
    z = two_columns(np.concatenate([np.linspace(0.01, 0.99, 60), 10.0 ** -np.arange(1.0, 12.0)]))
    hits = outcomes(t)
    for b in BANDWIDTHS:
        wanted = kernels.all_pairs(z, two_columns(t), hits, (b,))
        assert_same(beta_sums.regressions(z, two_columns(t), hits, b), [x[0] for x in wanted])


def test_bounds_of_sums_hold_and_catch_wide_intervals(monkeypatch):
    """A tolerance of 0 makes every point be summed directly, which gives exact sums."""
    p = np.sort(SCALARS["uniform"])
    z, b = clipped(p), 1e-3
    sample, _ = distinct(z, np.ones((N, 1, 1)))
    theta = np.log(z[:, 1]) - np.log(z[:, 0])

    def sums(tolerance, width=WIDTH):
        monkeypatch.setattr(beta_sums, "TOLERANCE", tolerance)
        return beta_sums.beta_sums(theta, sample, b, width=width)

    exact = sums(0.0)
    for width in (WIDTH, 2.0, 5.0, 8.0):
        fast = sums(1.0, width)  # no point is summed again
        values, error = fast.values[:, 0, 0], fast.error[:, 0]
        off = np.abs(
            values - exact.values[:, 0, 0] * np.exp(exact.log_scale - fast.log_scale)[:, 0]
        )
        assert (off <= error + 1e-11 * values).all()  # both lose 1e-11 to exponents of 1e3
        assert width > WIDTH or np.median(error / values) < 1e-10  # the bound is of use
    assert (off > 1e-8 * values).any()
    monkeypatch.undo()
    fast = beta_sums.beta_sums(theta, sample, b, width=8.0)
    assert fast.values[:, 0, 0] * np.exp(fast.log_scale - exact.log_scale)[:, 0] == pytest.approx(
        exact.values[:, 0, 0], rel=1e-10
    )


@pytest.mark.parametrize("name", ["uniform", "saturated", "a few alone"])
def test_all_folds_at_once_are_the_folds_one_by_one(name, monkeypatch):
    p = SCALARS[name]
    y = outcomes(p)[:, 0].astype(int)
    by_method = []
    for cheaper in (False, True):
        monkeypatch.setattr(beta_sums, "cheaper", lambda m, n, b, cheaper=cheaper: cheaper)
        estimates = [
            *DirichletKernel("risk")(p, y, default_rng(0)).values(),
            *DirichletKernel("likelihood", form="risk")(p, y).values(),
        ]
        by_method.append(
            [e.value for e in estimates] + [e.diagnostics["bandwidth"] for e in estimates]
        )
    assert by_method[1] == pytest.approx(by_method[0], rel=1e-9)


def test_an_own_divergence_sees_ratios_that_are_nearly_0(monkeypatch):
    """A user's divergence may take the logarithm of a ratio, for which all pairs count."""
    monkeypatch.setattr(beta_sums, "cheaper", lambda m, n, b: True)
    seen = []

    def cubes(r):
        seen.append(r)
        return (r**3).sum(axis=1)

    divergence = Bregman("bregman_cubes", cubes, lambda p: 3 * p**2)
    p, y = np.array([0.2, 0.21, 0.22, 0.8]), np.array([0, 0, 0, 1])
    DirichletKernel(2e-3, generators=(divergence,))(p, y)
    assert any(((0.0 < r) & (r < 1e-100)).any() for r in seen)


@pytest.mark.parametrize("classes", [3, 7])
@pytest.mark.parametrize(
    "few, block, long_run", [(0.5, 4000, 4), (0.12, 900, 1000), (0.0, 1 << 17, 4)]
)
def test_near_pairs_are_all_pairs(classes, few, block, long_run, monkeypatch):
    for name, value in {
        "BLOCK_ENTRIES": block,
        "MAX_PAIR_SHARE": few,
        "LONG_RUN": long_run,
        "MIN_KERNELS": 0,
        "MAX_PENDING": 500,
    }.items():
        monkeypatch.setattr(near_pairs, name, value)
    p = default_rng(classes).dirichlet(np.full(classes, 0.3), 120)
    p[:20] = p[20:40]  # ties
    p[40:60] = one_hot(np.arange(20) % classes, classes)
    z, y = (
        np.clip(p, 1e-7, 1 - 1e-7),
        default_rng(0).integers(0, classes - 1, 120),
    )  # a class is absent
    # Five of them halve in a row.
    bandwidths = (0.5, 1e-4, 1e-2, 1.0, 0.02, 0.25, 0.125, 1e-3, 0.6, 5e-3, 0.0625)
    for leave_out in (None, np.arange(120)):
        for hits in (one_hot(y, classes), np.empty((120, 0)), rng.random((120, 2))):
            fast = near_pairs.sums(z, z, hits, bandwidths, leave_out, kernels.all_pairs)
            assert_same(fast, kernels.all_pairs(z, z, hits, bandwidths, leave_out))
            alone = [kernels.all_pairs(z, z, hits, (b,), leave_out) for b in bandwidths]
            assert_same(fast, [np.concatenate(parts) for parts in zip(*alone)])


def test_constants_too_far_apart_are_summed_over_all_pairs(monkeypatch):
    """With hundreds of columns, exp(g) would underflow at small bandwidths."""
    monkeypatch.setattr(near_pairs, "MIN_KERNELS", 0)
    p = np.concatenate(
        [
            np.full((5, 400), 1 / 400),
            one_hot(np.arange(15), 400),
            default_rng(0).dirichlet(np.ones(400), 20),
        ]
    )
    z, y = np.clip(p, 1e-7, 1 - 1e-7), np.arange(40) % 400
    bandwidths = (1e-5, 0.5, 1e-3, 0.25)
    fast = near_pairs.sums(z, z, one_hot(y, 400), bandwidths, np.arange(40), kernels.all_pairs)
    assert_same(fast, kernels.all_pairs(z, z, one_hot(y, 400), bandwidths, np.arange(40)))


def test_solutions_of_several_shifts():
    a = default_rng(0).normal(size=(300, 300)) * np.geomspace(1.0, 1e-9, 300)
    a, b = a @ a.T, default_rng(1).normal(size=(300, 4))
    b[:, 3] = b[:, 0]  # dependent, as residuals that sum to 0 are
    shifts = [10.0, 0.1, 1e-3]
    for c, x in zip(shifts, shifted_solutions(a, b, shifts)):
        assert x == pytest.approx(
            np.linalg.solve(a + c * np.eye(300), b), rel=1e-7, abs=1e-10 * np.abs(x).max()
        )
    assert shifted_solutions(np.diag(np.linspace(0, 1, 300)), b, [1e-14]) is None


def test_more_right_hand_sides_than_dimensions_have_no_krylov_space(monkeypatch):
    for d in (3, 5, 9):
        assert shifted_solutions(np.eye(5), np.ones((5, d)), [0.1]) is None
    monkeypatch.setattr(kernel_ridge, "KRYLOV_MIN_SHARE", 0)
    monkeypatch.setattr(
        kernel_ridge, "SVD_MAX_RANK", 10
    )  # of 40 samples of 60 classes, a rank below the number of classes
    p, y = (default_rng(0).dirichlet(np.full(60, 0.1), 40), default_rng(1).integers(0, 60, 40))
    estimate = KernelRidge(gamma=5.0)(p, y, default_rng(0))["l2_squared"]
    assert estimate.diagnostics["rank"] > 10 and np.isfinite(estimate.value)
    monkeypatch.undo()
    assert estimate.value == pytest.approx(
        KernelRidge(gamma=5.0)(p, y, default_rng(0))["l2_squared"].value, rel=1e-9
    )


@pytest.mark.slow
def test_ridges_by_krylov_are_those_by_eigenvectors(monkeypatch):
    monkeypatch.setattr(kernel_ridge, "KRYLOV_MIN_SHARE", 10)
    solved = []
    monkeypatch.setattr(
        kernel_ridge,
        "shifted_solutions",
        lambda *a: solved.append(shifted_solutions(*a)) or solved[-1],
    )
    p, y = reduce(
        *load_problem("dirichlet10_overconfident").sample(600, default_rng(0)), "canonical"
    )
    fast = KernelRidge()(p, y, default_rng(0))
    assert any(solution is not None for solution in solved)
    monkeypatch.setattr(kernel_ridge, "shifted_solutions", lambda *a: None)
    slow = KernelRidge()(p, y, default_rng(0))
    assert fast["l2_squared"].diagnostics["rank"] > kernel_ridge.SVD_MAX_RANK
    assert fast["l2_squared"].value == pytest.approx(slow["l2_squared"].value, rel=1e-9)
    assert fast["l2_squared"].diagnostics == pytest.approx(slow["l2_squared"].diagnostics, rel=1e-9)
    given = dataclasses.replace(KernelRidge(), ridge=1e-13)  # too small for the Krylov space
    assert np.isfinite(given(p, y, default_rng(0))["l2_squared"].value)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["risk", "likelihood"])
def test_ten_thousand_samples_are_those_of_all_pairs(rule, monkeypatch):
    p, y = reduce(*load_problem("beta_overconfident").sample(10_000, default_rng(0)), "binary")
    fast = DirichletKernel(rule)(p, y, default_rng(0))
    monkeypatch.setattr(beta_sums, "cheaper", lambda m, n, b: False)
    b = fast["l1"].diagnostics["bandwidth"]
    slow = DirichletKernel(b)(p, y)
    assert {k: e.value for k, e in fast.items()} == pytest.approx(
        {k: e.value for k, e in slow.items()}, rel=1e-10
    )
    near = [b / 1.3, b, b * 1.3]
    some = DirichletKernel("likelihood").log_likelihoods(p, near)
    monkeypatch.undo()
    assert DirichletKernel("likelihood").log_likelihoods(p, near) == pytest.approx(some, rel=1e-10)
