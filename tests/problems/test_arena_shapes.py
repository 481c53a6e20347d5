"""Families of shapes: truths against a simulation, samples, and the maps at a few points."""

import numpy as np
import pytest
from frozen import frozen_ids
from refusals import refuses

from harness import load_problem
from harness.configure.arena import Arena
from harness.evaluation import arena
from harness.math import estimands
from harness.problems import (
    BetaLaw,
    BinaryProblem,
    DirichletLaw,
    MeanOfTwo,
    Mixture,
    MovedMass,
    NormalLaw,
    Rounded,
    TopLaw,
    TopScores,
    VectorProblem,
    VoteLaw,
    Votes,
    maps,
)
from harness.problems.base import ProblemSpec
from harness.problems.vector_laws import points

OLD = """power wavy stepped local nonmonotone sparse ties saturated rare mixed fitted_images
fitted_tabular""".split()
CANONICAL_ONLY = "simplex_wave dirichlet_map confused regions".split()
FAMILIES = arena.read_families(Arena("arena"))
SHAPES = sorted(
    name
    for name in frozen_ids("problem")
    if name.rpartition("_k")[0] in set(FAMILIES) - set(OLD)
    or name in ("saturated_k2_calibrated", "rare_k2_calibrated", "ties_k2_calibrated")
)
CALIBRATED = [name for name in SHAPES if name.endswith("_calibrated")]
WRONG = [name for name in SHAPES if name not in CALIBRATED]
DRAWS = 200_000


def slow_if_costly(name):
    return pytest.param(name, marks=pytest.mark.slow) if "_k2" not in name else name


def given_confidence(problem, p, t):
    """E[the top label is right given the confidence t], or None without a formula."""
    if isinstance(problem, MovedMass):
        return problem.curve(t)
    if isinstance(problem.map, maps.LabelNoise):
        return problem.map.rate / problem.classes + (1.0 - problem.map.rate) * t
    return None


def check_by_halves(problem, p, c):
    """Compare top-label errors with means over halves of 1,000 groups of neighbours in t.

    The sign of a mean gap in one half does not depend on the gap in the other half. Products of
    both are unbiased for the square.
    """
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    t, gap = p[rows, top], p[rows, top] - c[rows, top]
    gap = gap[np.argsort(t, kind="stable")][: len(p) // 1000 * 1000].reshape(1000, -1)
    first, second = gap[:, ::2].mean(axis=1), gap[:, 1::2].mean(axis=1)
    for estimand, values in (("l1", first * np.sign(second)), ("l2_squared", first * second)):
        known = problem.truth(estimand, "top_label")
        # The smallest gaps may get the wrong sign.
        error = known.error + gap[:, ::2].std() / np.sqrt(gap.size / 2)
        assert abs(values.mean() - known.value) < 4.0 * error, (estimand, values.mean(), known)


@pytest.mark.parametrize("name", [slow_if_costly(name) for name in WRONG])
def test_truths_by_simulation(name):
    """Truths agree with means over many draws of the distance to the posterior."""
    problem = load_problem(name)
    p, _ = problem.sample(DRAWS, np.random.default_rng([28, 0]))
    c = problem.posterior(p)
    pairs = {"binary": (p, c)} if p.ndim == 1 else {"canonical": (p, c)}
    over = {"binary": "l1_over", "canonical": "top_class_l1_over", "top_label": "l1_over"}
    if "top_label" in problem.notions:
        t = p.max(axis=1)
        mean = given_confidence(problem, p, t)
        if mean is None:
            check_by_halves(problem, p, c)
        else:
            pairs["top_label"] = (t, mean)
    for notion, (f, mean) in pairs.items():
        for estimand in ("l1", "l2_squared", over[notion], "refinement_l2_squared"):
            d = estimands.pointwise(estimand, f, mean, notion)
            known = problem.truth(estimand, notion)
            error = np.hypot(d.std() / np.sqrt(DRAWS), known.error)
            assert abs(d.mean() - known.value) < 4.0 * error + 1e-7, (notion, estimand, known)
            assert estimand != "l1" or known.error < 2e-3 * known.value


@pytest.mark.parametrize("name", [name for name in SHAPES if "_k10" in name])
def test_samples_carry_the_posterior_and_small_ones_are_prefixes(name):
    """The contract shows it for fewer classes."""
    problem = load_problem(name)
    p, y = problem.sample(6_000, np.random.default_rng([28, 9]))
    few = problem.sample(50, np.random.default_rng([28, 9]))
    assert np.array_equal(few[0], p[:50]) and np.array_equal(few[1], y[:50])
    c = problem.posterior(p)
    assert c.min() >= -1e-12 and c.max() <= 1.0 + 1e-9 and p.min() >= 0.0
    assert np.allclose(p.sum(axis=1), 1.0, atol=1e-9)
    assert np.allclose(c.sum(axis=1), 1.0, atol=1e-9)
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    f, hit, mean = p[rows, top], y == top, c[rows, top]
    for rows in np.array_split(np.argsort(f, kind="stable"), 12):
        spread = np.sqrt((mean[rows] * (1.0 - mean[rows])).sum())
        assert abs((hit[rows] - mean[rows]).sum()) < 5.0 * spread + 5.0


@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_members_are_calibrated(name):
    problem = load_problem(name)
    p, _ = problem.sample(1_000, np.random.default_rng(28))
    assert np.allclose(problem.posterior(p), p, atol=1e-9)
    for notion in problem.notions:
        for estimand in ("l1", "l2_squared", "kl", "rms"):
            assert problem.truth(estimand, notion).value == 0.0


def test_each_family_has_two_classes_and_more():
    assert len(FAMILIES) == 44
    for family, members in FAMILIES.items():
        classes = {load_problem(name).classes for name in members} - {100}
        if family in CANONICAL_ONLY:
            (only,) = members
            assert ProblemSpec.of(load_problem(only)).default_notions == ("canonical",)
        elif family != "fitted_images":
            assert 2 in classes and len(classes) > 1 and classes <= {2, 3, 10}
    errors = {name: load_problem(name).truth("l1").value for name in WRONG if "_k2" in name}
    assert 0.01 <= min(errors.values()) and max(errors.values()) <= 0.15


def test_the_staircase_is_flat_in_the_middle_and_like_itself():
    g = maps.Cantor(6)
    p = np.linspace(0.0, 1.0, 200)
    assert np.allclose(g(np.linspace(1 / 3, 2 / 3, 9)), 0.5)
    assert np.allclose(g(1.0 - p), 1.0 - g(p))
    assert np.allclose(g(p / 3.0), maps.Cantor(5)(p) / 2.0)
    assert len(g.kinks) == 2**7 - 2
    assert np.allclose(maps.Cantor(6, weight=0.0)(p), p)


def test_teeth_spikes_and_jumps_by_hand():
    assert np.allclose(
        maps.Sawtooth(0.1, 4)(np.array([0.25, 0.375, 0.4999999])), [0.15, 0.375, 0.6]
    )
    assert np.allclose(maps.Spiky(6, 0.03, 0.3)(np.array([1.5, 2.5]) / 6), [0.5, 2.5 / 6 - 0.3])
    assert np.allclose(maps.Jump(0.5, 0.1)(np.array([0.0, 0.4, 0.5, 1.0])), [0.0, 0.3, 0.6, 1.0])
    assert np.allclose(maps.Bent(0.2)(np.array([0.25, 0.5, 1.0])), [0.3, 0.5, 0.8])
    zone = maps.Zone(0.3, 0.7, 0.5)
    assert zone(np.array([0.3, 0.31, 0.7, 0.71])).tolist() == [0.3, 0.5, 0.5, 0.71]


def test_the_path_starts_and_ends_on_the_diagonal_and_depends_on_its_seed():
    p = np.linspace(0.0, 1.0, 257)
    first, second = maps.Rough(0.2, 1)(p), maps.Rough(0.2, 2)(p)
    assert first[0] == 0.0 and first[-1] == 1.0 and not np.allclose(first, second)
    steps = np.diff(first - p)  # variance of a step: 0.2^2 / 256, but for clipping
    assert 0.5 < steps.var() / (0.04 / 256) < 1.5


def test_curves_in_the_log_odds_by_hand():
    half = np.array([0.5])
    for g in (maps.Groups(), maps.NoisyLogits(1.0), maps.Chirp(), maps.Averaged(1.0)):
        assert np.allclose(g(half), 0.5)
        p = np.array([0.1, 0.3])
        if not isinstance(g, maps.Groups):  # its share depends on p
            assert np.allclose(g(1.0 - p), 1.0 - g(p), atol=1e-9)
    p = np.array([0.1, 0.5, 0.8])
    assert np.allclose(maps.BetaCurve(0.7, 0.7, 0.2)(p), maps.LogitAffine(0.7, 0.2)(p))
    assert np.allclose(maps.WrongLink("cauchit")(np.array([1 / (1 + np.e**-1)])), 0.75)
    assert np.allclose(
        maps.CubicLogit(0.0, 0.0, 1.0)(np.array([1 / (1 + np.e**-1)])), 1 / (1 + np.e**-1)
    )
    assert np.allclose(maps.NoisyLogits(1e-9)(p), p)
    ends = np.array([0.0, 1.0])
    for g in (maps.Groups(), maps.BetaCurve(0.5, 2.0), maps.CubicLogit(), maps.Chirp()):
        assert np.allclose(g(ends), ends)


def test_the_mean_of_two_predictors_is_right_as_often_as_its_curve_says():
    """Labels that are drawn with the predictors have the frequencies of the curve."""
    rng, d, n = np.random.default_rng(3), 1.2, 400_000
    y = rng.random(n) < 0.5
    s = [1.0 / (1.0 + np.exp(-d * (d * (y - 0.5) + rng.standard_normal(n)))) for _ in range(2)]
    s = (s[0] + s[1]) / 2.0
    c = maps.Averaged(d)(s)
    for rows in np.array_split(np.argsort(s), 10):
        spread = np.sqrt((c[rows] * (1.0 - c[rows])).sum())
        assert abs((y[rows] - c[rows]).sum()) < 4.5 * spread
    nodes, weight = MeanOfTwo(d).nodes(np.array([0.0, 1.0]), 16)
    assert abs(weight @ nodes**2 - (s**2).mean()) < 4.5 * (s**2).std() / np.sqrt(n)


@pytest.mark.parametrize(
    "law",
    [
        NormalLaw(0.9, 0.1),
        Mixture(NormalLaw(0.2, 0.03), BetaLaw(2.0, 1.0), 0.3),
        Rounded(BetaLaw(2.0, 3.0), 1),
        Votes(2.0, 3.5, 25),
        MeanOfTwo(2.0),
    ],
)
def test_moments_of_the_laws_are_those_of_their_draws(law):
    s = law.draw(200_000, np.random.default_rng(0))
    nodes, weight = law.nodes(np.linspace(0.0, 1.0, 33), 16)
    assert weight.sum() == pytest.approx(1.0, abs=1e-6)
    for u in (lambda s: s, lambda s: (s - 0.3) ** 2, lambda s: np.cos(9.0 * s)):
        assert abs(u(s).mean() - weight @ u(nodes)) < 4.5 * u(s).std() / np.sqrt(len(s)) + 1e-6


def test_votes_regress_to_the_mean():
    """The posterior of eta given the votes, by counting."""
    law, rng = Votes(2.0, 3.5, 5), np.random.default_rng(1)
    eta = rng.beta(2.0, 3.5, 200_000)
    s = rng.binomial(5, eta) / 5
    problem = BinaryProblem(maps.Affine(2.0 / 10.5, 5.0 / 10.5), law)
    for m in range(6):
        rows = s == m / 5
        c = problem.curve(np.array([m / 5]))[0]
        assert abs(eta[rows].mean() - c) < 4.5 * eta[rows].std() / np.sqrt(rows.sum())
    # of three classes
    vectors = points(VoteLaw(3, 1.0, 4), 0)
    assert len(vectors.p) == 15 and np.allclose(vectors.weight, 1.0 / 15)
    assert np.bincount(vectors.group).tolist() == [6, 6, 3]  # by 2, 3 and 4 votes for the top class


def test_the_largest_entry_has_the_law_of_the_scores():
    law = TopScores(3, scores=Rounded(BetaLaw(4.0, 1.5)))
    p = law.draw(20_000, np.random.default_rng(0))
    t = p.max(axis=1)
    assert np.array_equal(t, np.round(t, 2)) and t.min() == law.floor == 0.34
    nodes = law.nodes((), 16)
    assert abs(t.mean() - nodes.weight @ nodes.t) < 4.5 * t.std() / np.sqrt(len(t))
    assert TopScores(10).floor == 0.11


def test_maps_of_vectors_by_hand():
    f = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]])
    assert np.allclose(maps.LabelShift((1.0, 1.0, 1.0))(f), f)
    assert np.allclose(maps.LabelNoise(1.0)(f), 1.0 / 3.0)
    assert np.allclose(maps.DirichletMap(1.0, 0.0)(f), f)
    assert np.allclose(maps.SimplexWave(0.0)(f), f)
    assert np.allclose(maps.Confused(0.5, 0.0)(f), [[0.2, 0.35, 0.45], [0.6, 0.3, 0.1]])
    regions = maps.Regions(3, 1.0, cells=1, shift=0.0)
    assert np.allclose(regions(f), 1.0 / 3.0, atol=0.01)
    rolled = maps.Regions(3, 1.0, cells=5, shift=1.0)(f)
    assert np.allclose(np.roll(rolled, -1, axis=1), maps.Regions(3, 1.0, 5, 0.0)(f))


def test_a_constant_truth_of_vectors_has_the_mean_error_of_the_law():
    """E |t - 1/3| of the confidence, by the moments of TopLaw."""
    law = TopLaw(3, a=2.0, b=3.0)
    problem = VectorProblem(law, maps.Constant((1 / 3, 1 / 3, 1 / 3)))
    known = problem.truth("l1", "top_label")
    assert known.value == pytest.approx(2.0 / 3.0 * 2.0 / 5.0, abs=4.0 * known.error)
    assert problem.truth("linf", "top_label") is None


def test_what_cannot_be_used_is_refused():
    for make, says in (
        (lambda: VectorProblem(BetaLaw()), "law is BetaLaw"),
        (lambda: VectorProblem(TopLaw(3, float32=True)), "atoms or float32"),
        (lambda: VectorProblem(DirichletLaw(4), maps.Constant()), "vectors of 4 classes"),
        (lambda: DirichletLaw(3, 0.0), "alpha=0"),
        (lambda: VoteLaw(10, 1.0, 25), "use fewer"),
        (lambda: TopScores(3, a=2.0), "remove them"),
        (lambda: Votes(votes=0), "votes=0"),
        (lambda: NormalLaw(2.0), "mean=2"),
        (lambda: Mixture(share=0.0), "share is 0"),
        (lambda: Rounded(digits=7), "digits is 7"),
        (lambda: maps.WrongLink("cloglog"), "probit, cauchit"),
        (lambda: maps.Cantor(0), "level is 0"),
        (lambda: maps.Spiky(6, 0.2), "overlap"),
        (lambda: maps.Averaged(9.0), "separation is 9"),
        (lambda: maps.Constant((0.5, 0.2)), "sum 1"),
        (lambda: maps.Zone(0.5, 0.4), "low=0.5"),
    ):
        refuses(make, says)
