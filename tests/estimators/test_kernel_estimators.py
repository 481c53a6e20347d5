"""Dirichlet-kernel, binning-kernel and kernel ridge estimators, and tuning by the risk."""

import math

import numpy as np
import pytest
from harness.experiments.gruber2025 import authors
from monte_carlo import near
from numpy.random import default_rng
from refusals import refuses
from scipy.stats import beta
from slow_params import slow

import harness
from harness import load_estimator, load_problem, reduce
from harness.calibrators import Isotonic, TabPFN, Temperature
from harness.errors import BadInputError, UndefinedError
from harness.estimators import (
    Binned,
    BinningKernel,
    DirichletKernel,
    KernelRidge,
    Tuned,
    Variational,
    kernel_ridge,
)
from harness.estimators.kernel_ridge import GRIDS, POWERS
from harness.estimators.selection import grid_settings, validation_risks
from harness.math.divergences import ENTROPY, SQUARED, Bregman
from harness.math.kernels import dirichlet_sums, rbf
from harness.math.notions import one_hot
from harness.math.risk import residuals
from harness.plan.components import build_component, load


def values(estimates):
    return {name: e.value for name, e in estimates.items()}


def sample(name, n, seed=0, notion=None):
    problem = load_problem(name)
    return reduce(*problem.sample(n, default_rng(seed)), notion or problem.default_notions[0])


# Bregman divergences


def test_squares_and_entropy():
    r, g = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.25, 0.75], [0.5, 0.5]])
    assert SQUARED.divergence(r, g) == pytest.approx([0.125, 0.5])
    kl = [0.5 * math.log(2) + 0.5 * math.log(2 / 3), math.log(2)]
    assert ENTROPY.divergence(r, g) == pytest.approx(kl)


# kernel regression


def test_each_of_two_samples_gets_the_outcome_of_the_other():
    """The regression at each sample is the outcome of the other."""
    p, y = np.array([0.2, 0.6]), np.array([1, 0])
    estimates = values(DirichletKernel(0.1)(p, y))
    assert estimates["l1"] == pytest.approx((0.2 + 0.4) / 2)
    assert estimates["l2_squared"] == pytest.approx((0.2**2 + 0.4**2) / 2)
    assert estimates["rms"] == pytest.approx(math.sqrt(0.1))
    assert estimates["kl"] == pytest.approx(-(math.log(0.8) + math.log(0.6)) / 2)
    assert estimates["refinement_l2_squared"] == estimates["refinement_kl"] == pytest.approx(0.0)
    assert estimates["sharpness_l2_squared"] == pytest.approx(0.25)
    assert estimates["sharpness_kl"] == pytest.approx(math.log(2))
    through_risk = values(DirichletKernel(0.1, form="risk")(p, y))
    assert through_risk["l2_squared"] == pytest.approx((0.8**2 + 0.6**2) / 2)  # Brier score - 0
    assert "l1" not in through_risk


def test_equal_predictions_take_the_mean_of_the_others():
    p, y = np.full(4, 0.5), np.array([1, 1, 1, 0])
    r = np.array([2 / 3, 2 / 3, 2 / 3, 1.0])
    for bandwidth in (1e-3, 0.1, 1.0):
        estimates = values(DirichletKernel(bandwidth)(p, y))
        assert estimates["l2_squared"] == pytest.approx(((r - 0.5) ** 2).mean())
        assert estimates["refinement_l2_squared"] == pytest.approx((r * (1 - r)).mean())


def test_a_huge_bandwidth_on_vectors_takes_all_others_alike():
    rng = default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 20), rng.integers(0, 3, 20)
    others = (one_hot(y, 3).sum(axis=0) - one_hot(y, 3)) / 19
    estimates = values(DirichletKernel(1e9)(p, y))
    assert estimates["l2_squared"] == pytest.approx(
        ((others - p) ** 2).sum(axis=1).mean(), rel=1e-6
    )
    assert estimates["l2"] == pytest.approx(
        np.sqrt(((others - p) ** 2).sum(axis=1)).mean(), rel=1e-6
    )


def test_both_forms_differ_by_the_gradient_term():
    """direct - risk = mean <grad F(g), e_y - r> (popordanoska2024, eqs. 9 and 14)."""
    rng = default_rng(1)
    p, y = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    direct, through_risk = (DirichletKernel(0.05, form=form)(p, y) for form in ("direct", "risk"))
    r = DirichletKernel(0.05)._ratios(p, p, y, (0.05,), leave_one_out=True)[0]
    e = one_hot(y, 4)
    for name, gradient in (("l2_squared", 2 * p), ("kl", np.log(p) + 1)):
        gap = (gradient * (e - r)).sum(axis=1).mean()
        assert direct[name].value - through_risk[name].value == pytest.approx(gap, rel=1e-9)


def test_the_score_is_calibration_error_plus_refinement_on_average():
    """The risk form is exact: brier = l2_squared + refinement, and logloss = kl + refinement."""
    for notion, name in (
        ("binary", "beta_overconfident"),
        ("canonical", "dirichlet3_overconfident"),
    ):
        p, y = sample(name, 300, notion=notion)
        p = np.clip(p, 1e-6, 1 - 1e-6) if notion == "binary" else p
        estimates = values(DirichletKernel(0.05, form="risk", floor=1e-12)(p, y))
        scores = {
            **values(load_estimator("brier")(p, y)),
            **values(load_estimator("logloss")(p, y)),
        }
        assert estimates["l2_squared"] + estimates["refinement_l2_squared"] == pytest.approx(
            scores["brier"], rel=1e-9
        )
        assert estimates["kl"] + estimates["refinement_kl"] == pytest.approx(
            scores["logloss"], rel=1e-9
        )


def test_scalars_are_half_of_their_two_columns():
    p, y = sample("beta_overconfident", 200)
    scalar, columns = (
        values(DirichletKernel(0.02)(p, y)),
        values(DirichletKernel(0.02)(np.column_stack([1 - p, p]), y)),
    )
    for name in ("l2_squared", "refinement_l2_squared", "sharpness_l2_squared", "l1"):
        assert 2 * scalar[name] == pytest.approx(columns[name], rel=1e-9)
    for name in ("kl", "refinement_kl", "sharpness_kl"):
        assert scalar[name] == pytest.approx(columns[name], rel=1e-6)


def test_one_sample_has_no_others():
    for estimator in (DirichletKernel(), BinningKernel()):
        with pytest.raises(UndefinedError, match="one sample"):
            estimator(np.array([0.3]), np.array([1]))


def test_a_users_own_divergence():
    """F = sum p^3 has D_F(r, g) = sum r^3 - g^3 - 3 g^2 (r - g)."""
    cubes = Bregman(
        "bregman_cubes", lambda p: (p**3).sum(axis=1), lambda p: 3 * p**2, interior=False
    )
    rng = default_rng(2)
    p, y = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    estimator = DirichletKernel(0.1, generators=(cubes,))
    z = np.clip(p, estimator.floor, 1.0 - estimator.floor)
    r = dirichlet_sums(z, z, one_hot(y, 3), (0.1,), leave_out=np.arange(40))[0][0]
    estimates = values(estimator(p, y))
    assert estimates["bregman_cubes"] == pytest.approx(
        (r**3 - p**3 - 3 * p**2 * (r - p)).sum(axis=1).mean()
    )
    share = one_hot(y, 3).mean(axis=0)
    assert estimates["sharpness_bregman_cubes"] == pytest.approx(
        (r**3).sum(axis=1).mean() - (share**3).sum()
    )
    assert set(estimates) == set(estimator.estimands)


def test_an_own_divergence_in_a_run(out, module):
    """Records of a user's divergence have values and no truth."""
    module(
        "own_divergence",
        """
from harness.math.divergences import Bregman
from harness.estimators import DirichletKernel

def kernel(p, y):
    cubes = Bregman("bregman_cubes", lambda p: (p**3).sum(axis=1), lambda p: 3 * p**2,
                    interior=False)
    return DirichletKernel(0.1, generators=(cubes,))(p, y)
""",
    )
    run = [
        "problem=beta_overconfident",
        "estimator=[]",
        "+estimator.own._target_=own_divergence.kernel",
        "n=50",
        "reps=1",
    ]
    records = harness.run([*run, "engine=serial"]).set_index("estimand")
    assert records.loc["bregman_cubes", "status"] == "ok"
    assert np.isnan(records.loc["bregman_cubes", "truth"])
    assert records.loc["kl", "truth"] == pytest.approx(
        load_problem("beta_overconfident").truth("kl").value
    )


@pytest.mark.slow
def test_bandwidth_rules():
    p, y = sample("beta_overconfident", 400)
    likelihood = DirichletKernel("likelihood")
    scores = likelihood.log_likelihoods(p, (1e-4, 1e-3, 1e-2, 1e-1))
    by_hand = []
    for b in (1e-4, 1e-3, 1e-2, 1e-1):
        z = np.clip(p, 1e-7, 1 - 1e-7)
        k = beta.pdf(z[:, None], z / b + 1, (1 - z) / b + 1)
        np.fill_diagonal(k, 0.0)
        by_hand.append(np.log(k.sum(axis=1) / 399).sum())
    assert scores == pytest.approx(by_hand, rel=1e-6)
    p, y = sample("beta_overconfident", 4001)
    many = likelihood.log_likelihoods(p, (1e-3, 1e-2))
    again = likelihood.log_likelihoods(p[::-1], (1e-3, 1e-2))
    assert again == pytest.approx(many, rel=1e-12)  # in any order
    kept = np.sort(p)[np.linspace(0, 4000, 2000).astype(int)]
    z = np.clip(kept, 1e-7, 1 - 1e-7)
    k = beta.pdf(
        z[:, None],
        np.clip(p, 1e-7, 1 - 1e-7) / 1e-2 + 1,
        (1 - np.clip(p, 1e-7, 1 - 1e-7)) / 1e-2 + 1,
    )
    k[kept[:, None] == p] = 0.0
    assert many[1] == pytest.approx(np.log(k.sum(axis=1) / 4000).sum(), rel=1e-9)
    p, y = sample("beta_overconfident", 2000, 1)
    tuned = DirichletKernel("risk")
    b = tuned.select_bandwidth(p, y, default_rng(0))
    assert 1e-3 < b < 0.3  # smooth map: neither end of the grid
    assert tuned(p, y, default_rng(0))["kl"].diagnostics == {"bandwidth": b}


def test_binning_kernel_by_hand():
    p, y = np.array([0.1, 0.2, 0.3, 0.9]), np.array([0, 1, 1, 1])
    r = np.array([1.0, 0.5, 0.5, 2 / 3])  # the last is alone: all others
    estimates = values(BinningKernel(2)(p, y))
    assert estimates["l2_squared"] == pytest.approx(((r - p) ** 2).mean())
    assert estimates["l1"] == pytest.approx(np.abs(r - p).mean())


# kernel ridge


@pytest.mark.parametrize("kind", ["kkr", "ukkr"])
@pytest.mark.parametrize("notion", ["top_label", "canonical"])
def test_kernel_ridge_is_the_formula(kind, notion):
    """Equals the n x n matrices of the equations."""
    p, y = sample("dirichlet3_overconfident", 160, notion=notion)
    train, rest = slice(0, 120), slice(120, 160)
    k, across = rbf(p[train], p[train], 0.5), rbf(p[rest], p[train], 0.5)
    u = residuals(p, y)
    values_, vectors = np.linalg.eigh(k)
    values_ = values_.clip(0)
    settings = [{"ridge": r} for r in GRIDS[kind, notion != "canonical"] if r >= 1e-6]
    for setting, (products,) in zip(
        settings, KernelRidge(kind).products(p[train], y[train], [p[rest]], settings)
    ):
        c = setting["ridge"] * 120 ** POWERS[kind]
        if kind == "kkr":
            target = vectors.T @ u[train] @ u[train].T @ vectors
            h = (
                across
                @ vectors
                @ (target / (np.outer(values_, values_) + c))
                @ vectors.T
                @ across.T
            )
        else:
            g = across @ np.linalg.solve(k + c * np.eye(120), u[train])
            h = g @ g.T
        assert products.weighted() @ products.features.T == pytest.approx(
            h, rel=1e-5, abs=1e-7 * np.abs(h).max()
        )


def test_kkr_is_the_solution_of_the_kronecker_system():
    """h = vec(U U')' (K (x) K + c I)^-1 (k (x) k') (gruber2025, eq. 28) on five points."""
    rng = default_rng(0)
    p, y, points = rng.random(5), rng.integers(0, 2, 5), np.array([0.2, 0.9])
    ridge = 1e-3
    c = ridge * 5**1.5
    k, u = rbf(p, p, 0.5), residuals(p, y)
    solved = np.linalg.solve(np.kron(k, k) + c * np.eye(25), (u @ u.T).ravel())
    across = rbf(points, p, 0.5)
    h = np.array([[solved @ np.kron(a, b) for b in across] for a in across])
    (products,) = next(KernelRidge("kkr").products(p, y, [points], [{"ridge": ridge}]))
    assert products.weighted() @ products.features.T == pytest.approx(h, rel=1e-7)


@pytest.mark.parametrize("ridge", [1e3, 1.0, 1e-3, 1e-6])
def test_kkr_of_a_high_rank_is_the_formula(ridge):
    """The features have signs if signs save columns. Otherwise there is a matrix between the
    features.
    """
    rng = default_rng(0)
    p, y = rng.dirichlet(np.ones(8), 400), rng.integers(0, 8, 400)
    points, c = rng.dirichlet(np.ones(8), 7), ridge * 400 ** POWERS["kkr"]
    (products,) = next(KernelRidge("kkr").products(p, y, [points], [{"ridge": ridge}]))
    assert products.diagnostics["rank"] > kernel_ridge.FEW_DIMENSIONS
    k, across, u = rbf(p, p, 0.5), rbf(points, p, 0.5), residuals(p, y)
    eigenvalues, vectors = np.linalg.eigh(k)
    target = vectors.T @ u @ u.T @ vectors / (np.outer(eigenvalues, eigenvalues).clip(0) + c)
    h = across @ vectors @ target @ vectors.T @ across.T
    assert products.weighted() @ products.features.T == pytest.approx(
        h, rel=1e-6, abs=1e-7 * np.abs(h).max()
    )
    assert products.core.ndim == (1 if ridge > 1e-6 else 2)


# Algorithm 1


def test_settings_are_all_combinations():
    assert grid_settings({}) == [{}]
    assert grid_settings({"a": (1, 2), "b": (3,)}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]


def test_tuned_by_hand():
    """The steps of Algorithm 1 on bins, with the same random stream."""
    p, y = sample("beta_overconfident", 100)
    tuned = Tuned(Binned(), grid={"bins": (2, 8)}, folds=4)(p, y, default_rng(7))["l2_squared"]
    rng = default_rng(7)
    order = rng.permutation(100)
    test, rest = order[:20], order[20:]
    shuffled = rng.permutation(80)
    fold = np.empty(80, dtype=int)
    fold[shuffled] = np.repeat(np.arange(4), 20)
    risks, means = np.zeros((2, 4)), np.zeros((2, 4))
    for j in range(4):
        train, held_out = rest[fold != j], rest[fold == j]
        for i, bins in enumerate((2, 8)):
            bin_of = np.minimum((p * bins).astype(int), bins - 1)
            inside = [train[bin_of[train] == b] for b in range(bins)]
            gap = np.array([(p - y)[rows if len(rows) else train].mean() for rows in inside])
            u, v = (p - y)[held_out], gap[bin_of[held_out]]
            square = (np.outer(u, u) - np.outer(v, v)) ** 2
            risks[i, j] = (square.sum() - square.trace()) / (20 * 19)
            means[i, j] = (gap[bin_of[test]] ** 2).mean()
    best = risks.mean(axis=1).argmin()
    assert tuned.value == pytest.approx(means[best].mean())
    assert tuned.diagnostics["choice"] == best and tuned.diagnostics["bins"] == (2, 8)[best]
    assert tuned.diagnostics["risk"] == pytest.approx(risks[best].mean())
    assert tuned.arrays["bins"].tolist() == [2, 8]
    assert tuned.arrays["risk"] == pytest.approx(risks.mean(axis=1))
    assert tuned.diagnostics["root_risk_se"] == pytest.approx(np.sqrt(risks[best]).std(ddof=1) / 2)
    assert tuned.diagnostics["rms_sd"] == pytest.approx(np.sqrt(means[best]).std(ddof=1))


@pytest.mark.parametrize(
    "name", ["tuned_binned", *slow("tuned_kde"), "tuned_kkr", "tuned_ukkr", "tuned_variational"]
)
def test_every_tuned_estimator_finds_a_plain_miscalibration(name):
    """The bias is below a tenth of the truth."""
    problem = load_problem("beta_overconfident")
    truth = problem.truth("l2_squared").value
    estimates = []
    for rep in range(6):
        p, y = problem.sample(2000, default_rng([4, rep]))
        estimates.append(load_estimator(name)(p, y, default_rng(rep))["l2_squared"].value)
    assert near(estimates, truth, 0.1 * truth)


def test_the_better_calibrator_is_chosen():
    """The risk tells isotonic regression from temperature scaling where C has two slopes."""
    p, y = sample("beta_mixed", 8000)
    grid = {"calibrator": (Temperature(), Isotonic())}
    risks = validation_risks(
        Variational(), grid_settings(grid), p, y, np.arange(8000) % 5, default_rng(0)
    )
    assert risks.mean(axis=1).argmin() == 1
    tuned = Tuned(Variational(), grid)(p, y, default_rng(0))["l2_squared"]
    assert tuned.diagnostics["choice"] == 1


def test_vectors_by_kmeans_bins():
    """Bins average what differs inside them, the more the fewer they are."""
    problem = load_problem("dirichlet3_overconfident")
    truth = problem.truth("l2_squared", "canonical").value
    estimates = {bins: [] for bins in (3, 30)}
    for rep in range(6):
        p, y = problem.sample(2000, default_rng([8, rep]))
        for bins, values_ in estimates.items():
            tuned = Tuned(Binned(rule="kmeans"), grid={"bins": (bins,)})(p, y, default_rng(rep))
            values_.append(tuned["l2_squared"].value)
    assert np.mean(estimates[3]) < np.mean(estimates[30])
    assert near(estimates[30], truth, 0.25 * truth)


def test_too_few_samples():
    p, y = sample("beta_overconfident", 11)
    with pytest.raises(UndefinedError, match="11 samples"):
        Tuned(Binned())(p, y, default_rng(0))
    with pytest.raises(UndefinedError, match="need 10"):
        KernelRidge()(p[:9], y[:9], default_rng(0))
    with pytest.raises(UndefinedError, match="more than 9"):
        authors.Tuned(Binned())(p[:9], y[:9])


@pytest.mark.parametrize(
    ("estimator", "grid", "says"),
    [
        (DirichletKernel(), {"foo": (1, 2)}, "grid holds 'foo'"),
        (DirichletKernel(), {"bandwidth": (0.1,), "floor": (0.3,)}, "grid holds 'floor'"),
        (DirichletKernel(), {"bandwidth": (-1, 0.1)}, "bandwidth is -1"),
        (DirichletKernel(), {"bandwidth": 0.1}, "grid.bandwidth is 0.1"),
        (DirichletKernel(), (0.1,), "grid is (0.1,)"),
        (KernelRidge(), {"ridge": (-1e-3,)}, "ridge is -0.001"),
        (KernelRidge(), {"ridge": ()}, "grid.ridge is ()"),
        (Binned(), {"bandwidth": (0.1,)}, "cannot be tuned for Binned"),
        (Binned(), {"bins": (0,)}, "bins is 0"),
        (Binned(), {"bins": "abc"}, "grid.bins is 'abc'"),
    ],
)
def test_a_grid_is_checked_when_it_is_made(estimator, grid, says):
    for wrapper in (Tuned, authors.Tuned):
        refuses(lambda: wrapper(estimator, grid), says)  # noqa: B023


def test_a_setting_needs_a_number():
    p, y = sample("beta_overconfident", 100)
    for estimator, grid in (
        (DirichletKernel(), {"bandwidth": ("risk",)}),
        (KernelRidge(), {"gamma": (0.5,)}),
    ):
        with pytest.raises(BadInputError, match="grid"):
            Tuned(estimator, grid)(p, y, default_rng(0))


def test_every_field_of_a_grid_is_used():
    p, y = sample("beta_overconfident", 400)
    for gamma in (0.5, 50.0):
        alone = Tuned(KernelRidge(gamma=gamma), {"ridge": (1e-3,)})(p, y, default_rng(0))
        in_grid = Tuned(KernelRidge(), {"ridge": (1e-3,), "gamma": (gamma,)})(p, y, default_rng(0))
        assert in_grid["l2_squared"].value == alone["l2_squared"].value
    both = Tuned(KernelRidge(), {"gamma": (0.5, 50.0), "ridge": (1e-3,)})(p, y, default_rng(0))[
        "l2_squared"
    ]
    assert both.diagnostics["gamma"] in (0.5, 50.0)
    given = Tuned(KernelRidge(ridge=1e8))(p, y, default_rng(0))["l2_squared"]
    assert given.diagnostics["ridge"] == 1e8 and given.value < 1e-9


@pytest.mark.slow
def test_the_residual_of_a_capped_rank_is_reported():
    """Ten classes have full rank. At most 40 pivots leave a residual and change the estimate."""
    p, y = sample("dirichlet10_overconfident", 800)
    exact = KernelRidge(ridge=1e-3)(p, y, default_rng(0))["l2_squared"]
    capped = KernelRidge(ridge=1e-3, max_rank=40)(p, y, default_rng(0))["l2_squared"]
    assert exact.diagnostics["rank"] > 500 and exact.diagnostics["residual"] <= 1e-14
    assert capped.diagnostics["rank"] == 40
    assert capped.diagnostics["residual"] > 1e-4
    assert capped.value != exact.value
    tuned = Tuned(KernelRidge(max_rank=40))(p, y, default_rng(0))["l2_squared"]
    assert tuned.diagnostics["rank"] == 40 and tuned.diagnostics["residual"] > 1e-4


def test_tuned_is_as_available_as_its_calibrators():
    tuned = Tuned(Variational(), {"calibrator": (Isotonic(), TabPFN())})
    assert tuned.max_n == TabPFN().max_n and tuned.unavailable == TabPFN().unavailable


def test_tuned_is_revised_with_its_estimator(monkeypatch):
    for wrapper in (Tuned, authors.Tuned):
        before = wrapper(KernelRidge()).revision
        monkeypatch.setattr(KernelRidge, "revision", KernelRidge.revision + 1)
        assert wrapper(KernelRidge()).revision == before + 1


def test_own_divergences_are_checked():
    cubes = Bregman("kl", lambda p: (p**3).sum(axis=1), lambda p: 3 * p**2)
    for bad, says in (((cubes,), "named 'kl'"), ((3,), "generators holds 3")):
        for kind in (DirichletKernel, BinningKernel):
            with pytest.raises(BadInputError, match=says):
                kind(generators=bad)
    p, y = np.array([0.2, 0.6]), np.array([1, 0])
    # Of scalars linf is a supremum, and no mean.
    assert "linf" not in DirichletKernel(0.1, norms=(math.inf,))(p, y)


def test_keys_tell_grids_and_calibrators_apart():
    def key(grid):
        config = {
            "_target_": "harness.estimators.Tuned",
            "estimator": {"_target_": "harness.estimators.Variational"},
            "grid": grid,
        }
        return build_component("estimator", "t", config).key

    def partition(bins):
        return {"_target_": "harness.calibrators.Partition", "bins": bins}

    assert key({"calibrator": [partition(5)]}) != key({"calibrator": [partition(6)]})
    assert key({"calibrator": [partition(5)]}) == key({"calibrator": [partition(5)]})
    assert isinstance(load("estimator", "tuned_variational", {}).grid["calibrator"][0], Isotonic)


def test_the_authors_split_depends_on_the_order_of_rows():
    """The permutation is fixed: another order of rows gives another split."""
    p, y = sample("dirichlet3_overconfident", 300, notion="top_label")
    estimator = load_estimator("tuned_ukkr_gruber2025")
    assert values(estimator(p, y)) == values(estimator(p, y)) != values(estimator(p[::-1], y[::-1]))
