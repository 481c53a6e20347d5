"""Formulas that the papers state and no experiment computes, tested numerically."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import xlogy

from harness import load_problem
from harness.math.losses import LogLoss, Lp, Squared
from harness.math.risk import ResidualGram, residuals, risk

# berta2026, Appendix B: general distances


def huber(x):
    """Squared up to 0.1, then linear."""
    return np.where(np.abs(x) < 0.1, x**2, 0.2 * np.abs(x) - 0.01)


def norm_gradient(q, f, p):
    """Gradient of ||q - f||_p in q, 0 at q = f."""
    d = q - f
    norm = (np.abs(d) ** p).sum(axis=1, keepdims=True) ** (1 / p)
    safe = np.where(norm > 0.0, norm, 1.0)
    return np.sign(d) * np.abs(d) ** (p - 1) / safe ** (p - 1)


# {name: (D_f(q), a subgradient of D_f at q)} of rows f and q, convex in q, and both 0 at q = f
DISTANCES = {
    "L1": (lambda q, f: np.abs(q - f).sum(axis=1), lambda q, f: np.sign(q - f)),
    "L2": (lambda q, f: np.linalg.norm(q - f, axis=1), lambda q, f: norm_gradient(q, f, 2.0)),
    "L3": (
        lambda q, f: (np.abs(q - f) ** 3).sum(axis=1) ** (1 / 3),
        lambda q, f: norm_gradient(q, f, 3.0),
    ),
    "squared": (lambda q, f: ((q - f) ** 2).sum(axis=1), lambda q, f: 2.0 * (q - f)),
    "KL": (lambda q, f: xlogy(q, q / f).sum(axis=1), lambda q, f: np.log(q / f)),
    "Huber": (
        lambda q, f: huber(q - f).sum(axis=1),
        lambda q, f: np.clip(2.0 * (q - f), -0.2, 0.2),
    ),
    "fourth power": (lambda q, f: ((q - f) ** 4).sum(axis=1), lambda q, f: 4.0 * (q - f) ** 3),
    "weighted": (
        lambda q, f: (q - f) ** 2 @ np.array([1.0, 5.0, 0.2]),
        lambda q, f: 2.0 * (q - f) * np.array([1.0, 5.0, 0.2]),
    ),
}
OURS = {"L1": Lp(1.0), "L2": Lp(2.0), "L3": Lp(3.0), "squared": Squared(), "KL": LogLoss()}


def loss(name, q, f, y):
    """Proposition 2: -D_f(q) - <y - q, gradient of D_f at q>, one value per row."""
    distance, gradient = DISTANCES[name]
    return -distance(q, f) - ((y - q) * gradient(q, f)).sum(axis=1)


def expected_loss(name, q, f, c):
    """Return the mean of the loss over outcomes of the distribution c."""
    outcomes = np.eye(c.shape[1])
    return sum(c[:, k] * loss(name, q, f, outcomes[[k] * len(c)]) for k in range(c.shape[1]))


def triples(rows=500):
    """Return random predictions f, recalibrated predictions q and truths c."""
    rng = np.random.default_rng(0)
    return (rng.dirichlet([1.0, 1.0, 1.0], rows) for _ in range(3))


@pytest.mark.parametrize("name", DISTANCES)
def test_a_general_distance_has_a_proper_loss(name):
    """No q has a smaller expected loss than the truth."""
    f, q, c = triples()
    assert (expected_loss(name, q, f, c) >= expected_loss(name, c, f, c) - 1e-12).all()
    assert (expected_loss(name, q, f, c) > expected_loss(name, c, f, c) + 1e-9).any()


@pytest.mark.parametrize("name", DISTANCES)
def test_the_gain_of_the_truth_is_the_distance(name):
    """The prediction itself loses 0, and the truth C gains D_f(C)."""
    f, _, c = triples()
    distance, _ = DISTANCES[name]
    np.testing.assert_allclose(expected_loss(name, f, f, c), 0.0, atol=1e-12)
    np.testing.assert_allclose(-expected_loss(name, c, f, c), distance(c, f), atol=1e-12)


@pytest.mark.parametrize("name", OURS)
def test_our_losses_are_of_this_form(name):
    f, q, c = triples()
    y = np.eye(3)[np.random.default_rng(1).integers(0, 3, len(f))]
    ours = OURS[name].contribution(f, q, y)
    np.testing.assert_allclose(ours, -loss(name, q, f, y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", DISTANCES)
def test_samples_find_the_general_distance_and_nothing_above_it(name):
    """With q = C the mean over samples is E D_f(C) up to 5 standard errors. Other q find less."""
    problem = load_problem("dirichlet3_overconfident")
    f, y = problem.sample(20_000, np.random.default_rng(0))
    keep = (f > 1e-9).all(axis=1)
    f, y = f[keep], np.eye(3)[y[keep]]
    c = problem.posterior(f)
    distance, _ = DISTANCES[name]
    difference = -loss(name, c, f, y) - distance(c, f)
    assert abs(difference.mean()) < 5 * difference.std() / len(y) ** 0.5
    lead = loss(name, 0.5 * c + 0.5 / 3.0, f, y) - loss(name, c, f, y)
    assert lead.mean() > -5 * lead.std() / len(y) ** 0.5


# gruber2025, Section 3.2.1: a risk estimator of linear complexity


def linear_risk(u, products):
    """Return the mean of (<u_i, u_j> - h_ij)^2 over the disjoint pairs (1, 2), (3, 4), ...

    It excludes all other index pairs of equation 20, so that n / 2 terms remain.
    """
    first, second = slice(0, None, 2), slice(1, None, 2)
    h = np.einsum("ij,ij->i", products.weighted(first), products.features[second])
    return ((np.einsum("ij,ij->i", u[first], u[second]) - h) ** 2).mean()


def reordered(products, order):
    return ResidualGram(products.features[order], products.core)


def test_the_mean_of_the_linear_risk_over_all_orders_is_the_risk():
    """Exactly, so both have the same expectation: 4! orders of four samples."""
    rng = np.random.default_rng(0)
    u, products = rng.normal(size=(4, 3)), ResidualGram(rng.normal(size=(4, 2)), np.eye(2) * 0.3)
    orders = [list(order) for order in permutations(range(4))]
    mean = np.mean([linear_risk(u[order], reordered(products, order)) for order in orders])
    assert mean == pytest.approx(risk(u, products), rel=1e-12)


def test_the_linear_risk_finds_the_truth_with_more_noise():
    """The simulation of Figure 1, 300 samples of 400: paired gap of h = 0 to the truth.

    Both risks have the same mean, and the linear one has more than twice the standard deviation.
    """
    problem = load_problem("simplex5_gruber2025")
    gaps = []
    for rep in range(300):
        p, y = problem.sample(400, np.random.default_rng(rep))
        u, c = residuals(p, y), problem.posterior(p)
        truth, zero = ResidualGram(p - c), ResidualGram(np.zeros_like(p))
        gaps.append([by(u, zero) - by(u, truth) for by in (risk, linear_risk)])
    quadratic, linear = np.array(gaps).T
    error = (linear - quadratic).std(ddof=1) / len(gaps) ** 0.5
    assert abs((linear - quadratic).mean()) < 4 * error
    assert linear.mean() > 5 * linear.std(ddof=1) / len(gaps) ** 0.5
    assert linear.std() > 2 * quadratic.std()
