"""Powers of a Dirichlet draw: truths against integrals of others, our problems, and samples."""

import csv

import numpy as np
import pytest
from golden_data import FOLDER
from scipy.integrate import quad
from scipy.special import betaln, expit, logit

import harness
from harness.common.seeds import data_rng
from harness.math import estimands
from harness.plan.components import build_component
from harness.problems import Beta, Dirichlet, TemperedDirichlet
from harness.problems.maps import LogitAffine, Power

SIMPLEX = [f"simplex{k}_popordanoska2024" for k in (2, 3, 4, 5, 10, 20)] + ["simplex5_gruber2025"]


def golden(paper, classes):
    with open(FOLDER.parent / paper / "truth.csv", newline="") as f:
        return [row for row in csv.DictReader(f) if row["classes"] == str(classes)]


def gaps(problem, rows):
    """Yield the distance of the two truths, their common error, the golden row and our truth."""
    for row in rows:
        name, notion = row["estimand"], row["notion"]
        truth = (
            problem.truth_of_vector(name) if notion == "of_vector" else problem.truth(name, notion)
        )
        yield (
            abs(truth.value - float(row["value"])),
            np.hypot(truth.error, float(row["se"] or 0.0)),
            row,
            truth,
        )


# Truths


@pytest.mark.golden
def test_truths_of_two_classes_equal_an_independent_quadrature():
    """The golden canonical and class-wise integrals of one quantity agree to 2e-11, which is the
    bound.
    """
    problem = harness.load_problem("simplex2_popordanoska2024")
    for gap, error, row, _ in gaps(problem, golden("popordanoska2024", 2)):
        assert gap <= (4 * error if row["se"] else 2e-11), row


@pytest.mark.slow
@pytest.mark.parametrize(
    "classes, notions",
    [(3, ["canonical", "classwise", "of_vector"]), (5, ["classwise"]), (20, ["classwise"])],
)
def test_truths_of_more_classes_equal_an_independent_integration(classes, notions):
    """Truths agree within 4 common standard errors. Quadratures have no standard error."""
    problem = harness.load_problem(f"simplex{classes}_popordanoska2024")
    rows = [row for row in golden("popordanoska2024", classes) if row["notion"] in notions]
    assert len(rows) >= 4
    for gap, error, row, truth in gaps(problem, rows):
        assert gap <= 4 * error, row
        assert truth.error < 1e-3 * truth.value, row


@pytest.mark.slow
def test_truths_of_five_peaked_classes_equal_an_independent_integration():
    """The top-label value of their 4,000,000 samples in 2,000 cells has no error of its own: 4e-5
    is 4 standard errors of a mean of (f - C)^2, whose standard deviation is below 0.02 as |f - C|
    <= 0.3."""
    problem = harness.load_problem("simplex5_gruber2025")
    for gap, error, row, _ in gaps(problem, golden("gruber2025", 5)):
        assert gap <= (
            4e-5 * (1 if row["estimand"] == "l2_squared" else 3)
            if "cells" in row["method"]
            else 4 * error
        ), row
    assert problem.truth("refinement_l2_squared", "canonical").error < 1e-9


def test_two_classes_are_a_beta_problem():
    """Dir(alpha 1_2) with prediction power 1 is Beta(alpha, alpha), and C = f^a, normalised, is
    sigma(a logit f)."""
    ours, beta = TemperedDirichlet(2, 0.5, 0.4, 1.0), Beta(0.5, 0.5, LogitAffine(0.4))
    for notion in beta.notions:
        for name in (*estimands.names(notion), "l3"):
            a, b = ours.truth(name, notion), beta.truth(name, notion)
            assert abs(a.value - b.value) <= max(a.error + b.error, 2e-13), (notion, name)


@pytest.mark.parametrize(
    "alpha, a, b", [(0.04, 1.0, 0.3), (1.0, 1 / 0.9, 1 / 0.54), (2.0, 0.5, 3.0)]
)
def test_two_classes_equal_scipy_quad(alpha, a, b):
    problem = TemperedDirichlet(2, alpha, a, b)

    def of_upper_half(d):
        """Return E d(f, C) for a symmetric d by an integral over x = log(s_2 / s_1) > 0.

        The coordinate is e^(-alpha x / 2).
        """

        def integrand(v):
            x = -2.0 * np.log(v) / alpha
            density = np.exp(-alpha * x - 2 * alpha * np.log1p(np.exp(-x)) - betaln(alpha, alpha))
            return 2.0 * d(expit(b * x), expit(a * x)) * density * 2.0 / (alpha * v)

        return quad(integrand, 0.0, 1.0, epsabs=1e-12, epsrel=1e-12, limit=500)[0]

    distances = {
        "l1": lambda f, c: abs(f - c),
        "l2_squared": lambda f, c: (f - c) ** 2,
        "refinement_l2_squared": lambda f, c: c - c * c,
    }
    for name, d in distances.items():
        for notion in ("binary", "top_label", "classwise"):
            assert problem.truth(name, notion).value == pytest.approx(
                of_upper_half(d), abs=1e-10
            ), (name, notion)
    x = np.linspace(0, 40 / min(a, b), 100_001)
    assert problem.truth("linf", "binary").value == pytest.approx(
        abs(expit(a * x) - expit(b * x)).max(), abs=1e-6
    )


@pytest.mark.slow
def test_three_classes_are_a_dirichlet_problem():
    """With prediction power 1, f is the Dirichlet draw itself.

    Truths agree within 4 common standard errors, suprema over nodes within 1e-3.
    """
    ours, theirs = TemperedDirichlet(3, 0.5, 0.3, 1.0), Dirichlet(3, 0.5, Power(0.3))
    for notion in theirs.notions:
        for name in estimands.names(notion):
            a, b = ours.truth(name, notion), theirs.truth(name, notion)
            bound = (
                1e-3
                if name == "linf" and notion != "canonical"
                else 4 * np.hypot(a.error, b.error) + 1e-12
            )
            assert abs(a.value - b.value) <= bound, (notion, name, a, b)
    assert ours.truth("l3", "canonical").value == pytest.approx(
        theirs.truth("l3", "canonical").value, rel=1e-4
    )


@pytest.mark.slow
def test_equal_powers_are_calibrated_but_neither_refined_nor_sharp():
    """C ~ Dir(1_3): E ||C||^2 = 1/2; C_1 ~ Beta(1, 2) has variance 1/18."""
    problem = TemperedDirichlet(3)
    for notion in problem.notions:
        for name in estimands.names(notion):
            assert (problem.truth(name, notion).value == 0) == (name not in estimands.SCORES), (
                notion,
                name,
            )
    assert problem.truth_of_vector("kl").value == 0
    for name, notion, value in (
        ("refinement_l2_squared", "canonical", 1 / 2),
        ("sharpness_l2_squared", "canonical", 1 / 6),
        ("sharpness_l2_squared", "classwise", 1 / 18),
        ("refinement_kl", "canonical", 5 / 6),  # H_3 - 1, H_3 = 1 + 1/2 + 1/3
    ):
        truth = problem.truth(name, notion)
        assert abs(truth.value - value) <= 4 * truth.error, (name, notion)


# Samples


@pytest.mark.parametrize(
    "name, notion", [("simplex2_popordanoska2024", "binary"), ("simplex5_gruber2025", "canonical")]
)
def test_the_oracle_gives_refinement_and_sharpness(name, notion):
    problem = harness.load_problem(name)
    p, y = harness.reduce(*problem.sample(400, data_rng(0, "00", 0)), notion)
    result = harness.load_estimator("oracle")(p, y, notion=notion, problem=problem)
    assert set(result) == set(estimands.names(notion)) - {"brier", "logloss"}
    c = problem.posterior(p)
    for part in ("refinement", "sharpness"):
        for distance in ("l2_squared", "kl"):
            centre = np.broadcast_to(c.mean(axis=0), c.shape) if part == "sharpness" else c
            which = (
                distance
                if part == "sharpness"
                else {"l2_squared": "brier", "kl": "logloss"}[distance]
            )
            assert result[f"{part}_{distance}"].value == pytest.approx(
                estimands.value(which, centre, c, notion), rel=1e-9
            )


@pytest.mark.parametrize("name", SIMPLEX)
def test_predictions_are_probabilities_and_powers_of_each_other(name):
    problem = harness.load_problem(name)
    p, y = problem.sample(20_000, data_rng(0, "00", 0))
    c = problem.posterior(p)
    for q in (p, c):
        assert np.isfinite(q).all() and q.min() >= 0
        np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-14)
    assert p.min() > 0 and y.dtype == np.int64 and set(np.unique(y)) == set(range(problem.classes))
    ratio = problem.truth_power / problem.prediction_power
    inside = (c[:, 0] > 1e-200) & (c[:, 1] > 1e-200)
    odds = np.log(p[inside, 1]) - np.log(p[inside, 0])
    np.testing.assert_allclose(
        np.log(c[inside, 1]) - np.log(c[inside, 0]), ratio * odds, rtol=1e-9, atol=1e-9
    )


def test_draws_are_those_of_a_dirichlet():
    """With prediction power 1 and alpha = 0.5, f_1 ~ Beta(1/2, 1), so that f_1^(1/2) is uniform.

    Kolmogorov's distance of n = 20,000 samples exceeds 1.95 / sqrt(n) once in 1,000 draws.
    """
    p, _ = TemperedDirichlet(3, 0.5, 1.0, 1.0).sample(20_000, data_rng(3, "00", 0))
    u = np.sort(np.sqrt(p[:, 0]))
    assert np.abs(u - (np.arange(20_000) + 0.5) / 20_000).max() < 1.95 / np.sqrt(20_000)


def test_powers_of_tiny_draws_neither_vanish_nor_fail():
    """At alpha = 0.002, log s is about -500 and less, and s itself would be 0 / 0 in whole rows."""
    problem = TemperedDirichlet(4, 0.002, 1.0, 0.01)
    p, _ = problem.sample(5000, data_rng(0, "00", 0))
    assert np.isfinite(p).all() and p.max(axis=1).min() >= 0.25
    assert np.isfinite(problem.posterior(np.eye(4))).all()


def test_one_column_of_two_is_enough():
    problem = harness.load_problem("simplex2_popordanoska2024")
    p, _ = problem.sample(100, data_rng(0, "00", 0))
    np.testing.assert_allclose(problem.posterior(p[:, 1]), problem.posterior(p)[:, 1], rtol=1e-13)
    np.testing.assert_allclose(problem.posterior(p[:, 1]), expit(0.6 * logit(p[:, 1])), rtol=1e-12)


# Parameters


def test_the_notions_that_a_run_takes_by_default_do_not_identify_the_problem():
    config = {"_target_": "harness.problems.TemperedDirichlet", "classes": 2}
    usual = build_component("problem", "x", config)
    other = build_component("problem", "x", {**config, "default_notions": ["binary", "classwise"]})
    assert usual.key == other.key and other.object.default_notions == ("binary", "classwise")
    assert build_component("problem", "x", {**config, "alpha": 0.5}).key != usual.key


def test_a_foreign_notion_has_no_truth():
    assert TemperedDirichlet(3, 1.0, 2.0).truth("l1", "binary") is None


@pytest.mark.slow
def test_no_truth_where_predictions_underflow():
    """f prop. to s^3 with s ~ Dir(0.02): one prediction in 200 is below all floating-point numbers,
    and log f is not known."""
    problem = TemperedDirichlet(5, 0.02, 1.0, 3.0)
    assert problem.truth("kl", "canonical") is None
    assert problem.truth("logloss", "canonical") is None
    assert np.isfinite(problem.truth("l2_squared", "canonical").error)
