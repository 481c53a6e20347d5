"""Truths and samples of all synthetic problems: identities, and agreement within their errors."""

import numpy as np
import pytest
from frozen import frozen_ids
from scipy.special import logit
from slow_params import slow

import harness
from harness.math import estimands

BETAS = [
    name for name in frozen_ids("problem") if name.startswith("beta_") and "legacy" not in name
]
DIRICHLETS = [
    f"dirichlet{k}_{kind}"
    for k in (3, 10)
    for kind in ("calibrated", "harmonic", "overconfident", "underconfident")
]
SCORES = [name for name in frozen_ids("problem") if name.startswith("score_")]
SIMPLEX = ["simplex3_popordanoska2024", "simplex5_gruber2025"]
COSTLY = ("dirichlet10_harmonic", "dirichlet10_overconfident", *SIMPLEX)
QUICK = [*BETAS, *SCORES, "simplex2_popordanoska2024"]


@pytest.mark.parametrize(
    "name",
    [*QUICK, *slow("dirichlet3_calibrated", "dirichlet3_overconfident", SIMPLEX[0], COSTLY[1])],
)
def test_truths_of_scores_are_calibration_plus_refinement(name):
    """The sum of the truths is an identity, to rounding, as all use the same nodes or points.

    Over- and underconfidence sum to the whole L1 error.
    """
    problem = harness.load_problem(name)
    for notion in problem.notions:
        for score, distance in (("brier", "l2_squared"), ("logloss", "kl")):
            total = problem.truth(score, notion)
            if total is None:  # infinite
                continue
            parts = [problem.truth(e, notion) for e in (distance, f"refinement_{distance}")]
            assert total.value == pytest.approx(sum(t.value for t in parts), abs=1e-9), notion
        if "l1_over" in estimands.names(notion) and problem.truth("l1_over", notion):
            # Predictions of 1/2 have no side.
            half = {"score_coin": 0.01, "score_ties": 0.01, "score_steps": 0.016}.get(name, 0.0)
            sides = [problem.truth(f"l1_{side}", notion).value for side in ("over", "under")]
            assert sum(sides) + half == pytest.approx(problem.truth("l1", notion).value, abs=1e-12)


@pytest.mark.parametrize(
    "name", [*QUICK, *(d for d in DIRICHLETS if d not in COSTLY), *slow(*COSTLY)]
)
def test_samples_carry_the_truth(name):
    """Means of d(p, C) within 4 standard errors of the truth.

    In every tenth of the sample, sorted by the first column, the frequencies of the labels are
    within 4.5 standard errors of C.
    """
    problem, n = harness.load_problem(name), 40_000
    p, y = problem.sample(n, np.random.default_rng(11))
    assert p.dtype == np.float64 and y.dtype == np.int64
    assert set(np.unique(y)) == set(range(problem.classes))
    c = problem.posterior(p)
    notion = "binary" if p.ndim == 1 else "canonical"
    distances = ("l1",) if name not in SIMPLEX else ("l2_squared", "kl", "refinement_kl", "logloss")
    for estimand in distances:
        d = estimands.pointwise(estimand, p, c, notion)
        truth = problem.truth(estimand, notion)
        error = np.hypot(d.std() / np.sqrt(n), truth.error)
        assert abs(d.mean() - truth.value) <= 4 * error + 1e-12, estimand
    hits = y if p.ndim == 1 else (y[:, None] == np.arange(problem.classes))
    for part in np.array_split(np.argsort(p if p.ndim == 1 else p[:, 0]), 10):
        variance = (c * (1 - c))[part].sum(axis=0)
        residual = (hits - c)[part].sum(axis=0)
        assert (np.abs(residual) <= 4.5 * np.sqrt(variance) + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "dirichlet3_overconfident",
        "dirichlet10_overconfident",
        "dirichlet10_underconfident",
        *SIMPLEX,
    ],
)
def test_conditional_truths_equal_brute_force(name):
    """400,000 samples in 400 bins of the conditioning probability; d of the means of p and C.

    Bound: 4 standard errors, of the mean of d and of the bin means of C (their noise s times the
    derivative of d), and the bias that s adds: s^2 to a square, s^2 / C(1 - C) to a divergence,
    0.8 s to |p - C| within 3 s of 0.
    """
    problem = harness.load_problem(name)
    p, _ = problem.sample(400_000, np.random.default_rng(5))
    c, top, every = problem.posterior(p), p.argmax(axis=1), np.arange(len(p))
    for notion, t, hit in (
        ("classwise", p[:, 0], c[:, 0]),
        ("top_label", p[every, top], c[every, top]),
    ):
        order = np.argsort(t)
        noise = hit[order].reshape(400, 1000).std(axis=1) / np.sqrt(1000)
        t, hit = (a[order].reshape(400, 1000).mean(axis=1) for a in (t, hit))
        near = 0.8 * noise * (abs(t - hit) < 3 * noise)
        squares = noise**2
        bias = {"l2_squared": squares, "refinement_l2_squared": squares}
        bias["kl"] = squares / (hit * (1 - hit))
        slope = {"l2_squared": 2 * abs(t - hit), "kl": abs(logit(t) - logit(hit))}
        slope["refinement_l2_squared"] = abs(1 - 2 * hit)
        for estimand in ("l1", "l2_squared", "kl", "l1_over", "l1_under", "refinement_l2_squared"):
            d = estimands.pointwise(estimand, t, hit, notion)
            truth = problem.truth(estimand, notion)
            of_means = np.sqrt(((slope.get(estimand, 1.0) * noise) ** 2).sum()) / len(d)
            error = np.linalg.norm([d.std() / np.sqrt(len(p)), of_means, truth.error])
            least = 4 * error + bias.get(estimand, near).mean()
            assert abs(d.mean() - truth.value) <= least, (notion, estimand)
