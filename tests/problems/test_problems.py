"""Problems: truths against independent numbers, samples against truths, and frozen streams."""

import numpy as np
import pytest
from frozen import frozen_ids
from golden_data import rows
from harness.experiments.berta2026.authors import GRID, top_class_l1_split_at_half
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import betaln, gammaincinv, xlogy
from scipy.stats.qmc import Sobol
from slow_params import slow

import harness
from harness import BadInputError
from harness.common.seeds import data_rng
from harness.math import estimands
from harness.problems import Beta, Dirichlet
from harness.problems.base import Truth
from harness.problems.maps import Harmonic, Identity, LogitAffine, Piecewise, Power, Shifted, Wavy

BINARY = {
    "perfectly_calibrated_bin": "beta_calibrated",
    "overconfident_binary": "beta_overconfident",
    "almost_perfectly_calibrated_binary": "beta_shifted",
    "overconfident_binary_centered": "beta_overconfident_centred",
    "underconfident_binary_centered": "beta_underconfident_centred",
    "under_and_over_confident_binary_centered": "beta_mixed",
    "underconfident_binary": "beta_underconfident",
    "wavy_increasing_function_bin": "beta_wavy",
    "wavy_increasing_function_bin(unclipped)": "beta_wavy",  # its map never leaves [0, 1]
}
MULTICLASS = {
    "perfectly_calibrated_mc": "calibrated",
    "overconfident_mc": "overconfident",
    "underconfident_mc": "underconfident",
    "harmonic_distortion_mc": "harmonic",
}
QUANTITIES = {
    "L1": "l1", "L2": "l2", "sq": "l2_squared", "sqL2": "l2_squared", "KL": "kl", "Linf": "linf",
    "L1_over": "l1_over", "L1_under": "l1_under", "sq_over": "l2_squared_over",
    "sq_under": "l2_squared_under",
    "topclass_L1_fullinfo": "top_class_l1",
}  # fmt: skip
SPLIT_AT_HALF = {
    "topclass_over_L1_fullinfo": "over",
    "topclass_under_L1_fullinfo": "under",
}  # by the authors' library
BETAS = sorted(set(BINARY.values()))
DIRICHLETS = [f"dirichlet{k}_{kind}" for k in (3, 10) for kind in sorted(MULTICLASS.values())]
SLOW = ("dirichlet10_harmonic", "dirichlet10_overconfident")


# Truths


def by_setting(task):
    grouped = {}
    for row in rows("truth.csv"):
        if row["task"] == task:
            grouped.setdefault((row["h_func"], row["d"], row["alpha"]), []).append(row)
    return grouped


@pytest.mark.golden
@pytest.mark.parametrize("setting", by_setting("binary"), ids=lambda s: s[0])
def test_binary_truths_equal_an_independent_quadrature(setting):
    problem = harness.load_problem(BINARY[setting[0]])
    for row in by_setting("binary")[setting]:
        truth = problem.truth(QUANTITIES[row["quantity"]])
        bound = max(3e-14, truth.error + float(row["err_est"]))
        assert abs(truth.value - float(row["truth"])) <= bound, row["quantity"]
        assert truth.error <= 2e-14


def truth_split_at_half(problem, side):
    """E |f_t - C_t| on one side of 1/2, and its error, by 8 scrambled sets of 2^15 Sobol points."""
    values = []
    for r in range(8):
        u = Sobol(problem.classes, scramble=True, rng=np.random.default_rng([r, 7])).random_base2(
            15
        )
        g = np.maximum(gammaincinv(problem.alpha, u), np.finfo(float).tiny)
        f = g / g.sum(axis=1, keepdims=True)
        values.append(top_class_l1_split_at_half(f, problem.posterior(f), side))
    return Truth(
        float(np.mean(values)),
        float(np.std(values, ddof=1) / np.sqrt(8)),
        "randomised quasi-Monte Carlo",
    )


@pytest.mark.slow
@pytest.mark.parametrize("setting", by_setting("multiclass"), ids="-".join)
def test_multiclass_truths_equal_an_independent_integration(setting):
    """Both integrations are randomised quasi-Monte Carlo. They agree within 3 common standard
    errors.

    Rounding at 0 adds 1e-17.
    """
    problem = harness.load_problem(
        f"dirichlet{setting[1]}_{MULTICLASS[setting[0]]}", alpha=float(setting[2])
    )
    for row in by_setting("multiclass")[setting]:
        if row["quantity"] in SPLIT_AT_HALF:
            truth = truth_split_at_half(problem, SPLIT_AT_HALF[row["quantity"]])
        else:
            truth = problem.truth(QUANTITIES[row["quantity"]])
        bound = 3 * np.hypot(truth.error, float(row["err_est"])) + 1e-17
        assert abs(truth.value - float(row["truth"])) <= bound, (row["quantity"], truth)


@pytest.mark.parametrize("a, b", [(1.0, 1.0), (0.3, 2.0), (0.5, 0.5), (7.0, 3.0)])
@pytest.mark.parametrize(
    "g",
    [
        LogitAffine(0.4, 0.3),
        LogitAffine(4.0, 1.0),
        Shifted(0.02),
        Shifted(-0.05),
        Wavy(),
        Piecewise(),
    ],
)
def test_binary_truths_equal_scipy_quad(a, b, g):
    problem = Beta(a, b, g)
    distance = {
        "l1": lambda f, c: abs(f - c),
        "l2_squared": lambda f, c: (f - c) ** 2,
        "l1_over": lambda f, c: abs(f - c) * ((c < f) if f > 0.5 else (c > f)),
        "brier": lambda f, c: (f - c) ** 2 + c * (1 - c),
        "logloss": lambda f, c: -xlogy(c, f) - xlogy(1 - c, 1 - f) if 0 < f < 1 else 0.0,
    }

    def gap(t):
        return t - problem.posterior(np.array([t]))[0]

    t = np.linspace(0, 1, 1234)[1:-1]  # crossings of the diagonal, where |p - C| has its kinks
    crossings = [
        brentq(gap, low, high, xtol=1e-15)
        for low, high in zip(t, t[1:])
        if gap(low) * gap(high) < 0
    ]
    breaks = [*crossings, *(k for k in g.kinks if 0 < k < 1)]
    for name, d in distance.items():
        expected, error = expectation_by_quad(problem, d, breaks)
        truth = problem.truth(name)
        assert abs(truth.value - expected) <= truth.error + error + 1e-11, name
        assert error < 1e-8


def expectation_by_quad(problem, d, breaks):
    """Return E d(p, C) and its error.

    Each half is integrated in u = r^min(1, a), where r is the distance to its end and the density
    r^(a - 1) (1 - r)^(b - 1) is no longer singular.
    """
    value = error = 0.0
    for power, other_power, upper in ((problem.a, problem.b, False), (problem.b, problem.a, True)):
        e = min(power, 1.0)

        def integrand(u, power=power, other_power=other_power, upper=upper, e=e):
            r = u ** (1 / e)
            p = 1 - r if upper else r
            return (
                d(p, float(problem.posterior(np.array([p]))[0]))
                * r ** (power - e)
                * (1 - r) ** (other_power - 1)
                / e
            )

        inner = sorted((1 - s if upper else s) ** e for s in breaks if (s >= 0.5) == upper)
        part = quad(
            integrand, 0, 0.5**e, points=inner or None, epsabs=1e-11, epsrel=1e-11, limit=500
        )
        value, error = value + part[0], error + part[1]
    scale = np.exp(-betaln(problem.a, problem.b))
    return scale * value, scale * error


def test_truths_of_a_uniform_shift_in_closed_form():
    """p uniform, C = min(1, p + e): E|p - C| = e - e^2/2, E(p - C)^2 = e^2 - 2 e^3 / 3, over = e/2,
    sup = e."""
    problem, e = Beta(1.0, 1.0, Shifted(0.1)), 0.1
    closed = {
        "l1": e - e**2 / 2,
        "l2_squared": e**2 - 2 * e**3 / 3,
        "rms": np.sqrt(e**2 - 2 * e**3 / 3),
        "l3": e - e**2 / 2,
    }
    closed |= {"l1_over": e / 2, "l1_under": e / 2 - e**2 / 2, "linf": e}
    for name, value in closed.items():
        truth = problem.truth(name)
        assert abs(truth.value - value) <= truth.error + 1e-15, name


def test_truths_on_two_columns_are_those_of_one():
    problem = harness.load_problem("beta_overconfident")
    binary, canonical = problem.truth, lambda name: problem.truth(name, "canonical")
    assert canonical("l1").value == pytest.approx(2 * binary("l1").value, rel=1e-13)
    assert canonical("l3").value == pytest.approx(2 ** (1 / 3) * binary("l1").value, rel=1e-13)
    assert canonical("linf").value == pytest.approx(
        binary("l1").value, rel=1e-13
    )  # a mean of norms, not a supremum
    assert canonical("l2_squared").value == pytest.approx(2 * binary("l2_squared").value, rel=1e-13)
    assert canonical("kl").value == pytest.approx(binary("kl").value, rel=1e-13)
    for name in ("l1", "kl", "l1_over", "linf"):
        assert problem.truth(name, "classwise") == binary(name)
    assert problem.truth("l1", "top_label") is None


def test_brier_and_logloss_truths_decompose():
    """E (p - Y)^2 - E (C - Y)^2 = l2_squared: with C ~ p calibrated, the Brier score of Beta(1/2,
    1/2) is E p(1-p) = 1/8."""
    assert Beta().truth("brier").value == pytest.approx(0.125, abs=1e-13)
    assert Beta().truth("logloss").value == pytest.approx(
        2 * np.log(2) - 1, abs=1e-13
    )  # E[-2 p log p]
    assert Dirichlet(3, 0.5).truth("brier").value == pytest.approx(
        0.4, abs=3 * Dirichlet(3, 0.5).truth("brier").error
    )


def test_refinement_and_sharpness_truths_in_closed_form():
    """C = p ~ Beta(1/2, 1/2): E C(1 - C) = Var C = 1/8, E H(C) = 2 log 2 - 1 of log 2. C ~ Dir(1/2
    1_3): E C_j^2 = 1/5."""
    problem = Beta()
    closed = {
        "refinement_l2_squared": 1 / 8, "sharpness_l2_squared": 1 / 8,
        "refinement_kl": 2 * np.log(2) - 1, "sharpness_kl": 1 - np.log(2),
    }  # fmt: skip
    for name, value in closed.items():
        for notion in ("binary", "classwise", "canonical"):
            factor = 2 if notion == "canonical" and name.endswith("squared") else 1
            assert problem.truth(name, notion).value == pytest.approx(factor * value, abs=1e-13), (
                name,
                notion,
            )
    problem = Dirichlet(3, 0.5)
    for name, notion, value in (
        ("refinement_l2_squared", "canonical", 1 - 3 / 5),
        ("sharpness_l2_squared", "canonical", 3 / 5 - 1 / 3),
        ("refinement_l2_squared", "classwise", 1 / 3 - 1 / 5),
        ("sharpness_l2_squared", "classwise", 1 / 5 - 1 / 9),
    ):
        truth = problem.truth(name, notion)
        assert abs(truth.value - value) <= 4 * truth.error + 1e-9, (name, notion)


@pytest.mark.parametrize(
    "name", ["beta_calibrated", "dirichlet3_calibrated", *slow("dirichlet10_calibrated")]
)
def test_calibrated_problems_have_truth_zero_under_every_notion(name):
    problem = harness.load_problem(name)
    for notion in problem.notions:
        for estimand in estimands.names(notion):
            if estimand not in estimands.SCORES:
                assert problem.truth(estimand, notion).value == 0
                assert problem.truth(estimand, notion).error == 0
            else:
                assert problem.truth(estimand, notion).value > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["overconfident", "underconfident", "harmonic"])
def test_conditional_truths_of_three_classes_equal_a_quadrature(kind):
    """Given p_1 = t, the other predictions are (1 - t)(s, 1 - s) with s ~ Beta(1/2, 1/2).

    E[Y_1 | p_1 = t] is then an integral over one angle, and the truth an integral over two angles.
    The notion top_label adds the condition max(s, 1 - s)(1 - t) <= t.
    """
    problem = harness.load_problem(f"dirichlet3_{kind}")
    h = problem.map.elementwise
    x, w = np.polynomial.legendre.leggauss(400)

    def angles(low, high):
        return (high + low) / 2 + (high - low) / 2 * x, (high - low) / 2 * w

    def conditional(t, notion):
        """Return the probability that t is the largest prediction, and C(t)."""
        room = 1.0 if notion == "classwise" else min(1.0, t / (1 - t))
        if room <= 0.5:
            return 0.0, 0.0
        low, high = np.arcsin(np.sqrt(1 - room)), np.arcsin(np.sqrt(room))
        angle, weight = angles(low, high)
        s = np.sin(angle) ** 2
        first, others = h(np.array([t]))[0], h((1 - t) * s) + h((1 - t) * (1 - s))
        return (high - low) / (np.pi / 2), weight @ (first / (first + others)) / (high - low)

    for notion in ("classwise", "top_label"):
        # t ~ Beta(1/2, 1) is u^2 with u uniform; smooth between 0, 1/3, 1/2, 1
        edges = [0.0, 1 / 3, 0.5, 1.0] if notion == "classwise" else [1 / 3, 0.5, 1.0]
        total = {"l1": 0.0, "l2_squared": 0.0, "brier": 0.0}
        for low, high in zip(edges, edges[1:]):
            u, weight = angles(np.sqrt(low), np.sqrt(high))
            t = u**2
            top, c = np.array([conditional(s, notion) for s in t]).T
            law = weight * (3 * top if notion == "top_label" else 1.0)
            for name in total:
                total[name] += law @ estimands.pointwise(name, t, c, notion)
        for name, value in total.items():
            truth = problem.truth(name, notion)
            # 1e-5: Gauss-Legendre across crossings, and maps like u^0.6 at 0.
            assert abs(value - truth.value) <= 3 * truth.error + 1e-5, (notion, name)


# Samples


NAMES = [name for name in frozen_ids("problem") if name.startswith("score_")]
LAWS = [Beta(map=Wavy()), Beta(2.0, 0.3), Dirichlet(3), Dirichlet(4, 0.05), Dirichlet(5, 2.0)]
LAWS += [
    harness.load_problem(name)
    for name in (*NAMES, "simplex3_popordanoska2024", "simplex5_gruber2025")
]


@pytest.mark.parametrize("problem", LAWS, ids=str)
def test_a_small_sample_is_a_prefix_of_a_larger_one(problem):
    p, y = problem.sample(20_000, data_rng(3, "abc", 2))
    for n in (0, 1, 17, 17_000):
        p_small, y_small = problem.sample(n, data_rng(3, "abc", 2))
        np.testing.assert_array_equal(p_small, p[:n])
        np.testing.assert_array_equal(y_small, y[:n])


def test_streams_differ_by_seed_problem_and_rep():
    streams = [(0, "00", 0), (1, "00", 0), (0, "01", 0), (0, "00", 1)]
    first = [Beta().sample(1, data_rng(*s))[0][0] for s in streams]
    assert len(set(first)) == len(streams)


FROZEN = {
    "beta_overconfident": (
        [0.8988383024395452, 0.9706520513724635, 0.29874810886279995],
        [1, 1, 0],
    ),
    "score_steps_perturbed": (
        [0.5091856577820348, 0.9209923818678839, 0.4854770687487567, 0.4961879068802598],
        [1, 1, 0, 1],
    ),
    "dirichlet3_harmonic": (
        [
            [0.7563505212987038, 0.18980139780439037, 0.05384808089690587],
            [0.002424508403699835, 0.05449178167069751, 0.9430837099256026],
            [0.8981863504978768, 0.006585516782752628, 0.09522813271937078],
        ],
        [0, 2, 0],
    ),
    "simplex3_popordanoska2024": (
        [
            [0.3165933342902721, 0.3122565584591259, 0.37115010725060205],
            [0.9856010850452916, 0.007012082012950354, 0.007386832941758168],
        ],
        [2, 0],
    ),
}


@pytest.mark.parametrize("name", FROZEN)
def test_streams_are_frozen(name):
    """Frozen with numpy 2.4. Whoever changes a draw changes every record and must raise
    `version`."""
    p, y = FROZEN[name]
    drawn = harness.load_problem(name).sample(len(y), data_rng(0, "00", 0))
    np.testing.assert_allclose(drawn[0], p, rtol=1e-12)
    np.testing.assert_array_equal(drawn[1], y)


# Maps and parameters


@pytest.mark.parametrize(
    "g",
    [
        LogitAffine(0.4, 0.3),
        LogitAffine(4.0),
        LogitAffine(0.0, 0.3),
        Piecewise(),
        Piecewise(0.0, 4.0),
    ],
)
def test_maps_are_defined_at_the_ends_and_pair_agrees(g):
    p = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    c = g(p)
    assert np.isfinite(c).all() and c.min() >= 0 and c.max() <= 1
    inner = p[1:-1]
    value, rest = g.pair(inner, 1 - inner)
    np.testing.assert_allclose(value, c[1:-1], rtol=1e-14)
    np.testing.assert_allclose(rest, 1 - c[1:-1], atol=3e-16)


@pytest.mark.parametrize("g", [Power(0.3), Power(2.0), Harmonic(), Identity()])
def test_vector_maps_are_normalised_elementwise_functions(g):
    p = np.array([[0.2, 0.3, 0.5], [0.0, 0.25, 0.75]])
    np.testing.assert_allclose(
        g(p), g.elementwise(p) / g.elementwise(p).sum(axis=1, keepdims=True), rtol=1e-15
    )


def test_a_constant_map_has_its_truth():
    """C = 1/2 whatever p: E|p - 1/2| of Beta(1/2, 1/2) is 1/pi, the supremum 1/2."""
    problem = Beta(map=LogitAffine(0.0))
    assert problem.truth("l1").value == pytest.approx(1 / np.pi, abs=1e-13)
    assert problem.truth("linf").value == 0.5


def test_truths_beyond_floating_point_are_not_claimed():
    assert Beta(0.05, 0.5, LogitAffine(0.4)).truth("l1") is None
    assert Beta(0.06, 0.5, LogitAffine(0.4)).truth("l1").error < 1e-12
    assert Beta(0.05, 0.5).truth("l1").value == 0  # calibrated by construction


# The authors' stream (its values are compared in test_variational.py and test_binned.py)


def test_the_legacy_stream_refuses_samples_that_the_authors_did_not_draw():
    problem = harness.load_problem("beta_overconfident_legacy")
    with pytest.raises(BadInputError, match="n is 1000"):
        problem.sample(1000, 0)
    with pytest.raises(BadInputError, match="rng"):
        problem.sample(200, np.random.default_rng(0))


def test_the_legacy_grid_and_draws():
    np.testing.assert_array_equal(GRID, np.round(np.geomspace(200, 10000, 15)).astype(int))
    problem = harness.load_problem("beta_overconfident_legacy")
    stream = np.random.RandomState(4)
    stream.beta(0.5, 0.5, 100_000)
    p = stream.beta(0.5, 0.5, 200)
    y = stream.binomial(1, 1 / (1 + np.exp(-(0.4 * np.log(p / (1 - p)) + 0.3))))
    ours = problem.sample(200, 4)
    np.testing.assert_array_equal(ours[0], p)
    np.testing.assert_array_equal(ours[1], y)
    assert problem.truth("l1") == problem.problem.truth("l1")
    ours[0][:] = 0.0  # a copy: nobody can spoil the stream
    np.testing.assert_array_equal(problem.sample(200, 4)[0], p)
