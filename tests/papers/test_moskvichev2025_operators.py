"""Grouped and regression CKCE: two to six points by explicit operators, and known answers."""

import numpy as np
import pytest
from harness.experiments.moskvichev2025.conditional_operators import (
    grouped_ckce,
    operator_distance,
    regression_ckce,
)
from scipy.stats import norm

from harness import load_estimator
from harness.errors import BadInputError


def explicit(phi, psi, mu, ridge):
    """||(Psi - M) (K + ridge n I)^-1 Phi'||_F^2 with features as columns, as equation 4 has it."""
    n = phi.shape[1]
    inverse = np.linalg.inv(phi.T @ phi + ridge * n * np.eye(n))
    return np.linalg.norm((psi - mu) @ inverse @ phi.T) ** 2


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_distance_is_that_of_explicit_operators(n):
    rng = np.random.default_rng(n)
    phi, psi, mu = rng.normal(size=(4, n)), rng.normal(size=(3, n)), rng.normal(size=(3, n))
    gram = (psi - mu).T @ (psi - mu)
    for ridge in (0.01, 0.7):
        assert operator_distance(phi.T @ phi, gram, ridge) == pytest.approx(
            explicit(phi, psi, mu, ridge), rel=1e-10
        )


def test_one_group_is_the_estimator_and_several_are_its_sum():
    """The kernel is block diagonal: each group is a CKCE with the ridge times n / n_group."""
    rng = np.random.default_rng(1)
    p, y, a = rng.dirichlet([1, 1, 1], 6), np.array([0, 1, 2, 2, 1, 0]), np.array(list("uuvvuv"))

    def ckce(rows, ridge):
        return load_estimator("ckce", gamma=0.5, ridge=ridge)(p[rows], y[rows])["ckce"].value

    assert grouped_ckce(p, y, [7] * 6, 0.5, 0.2) == pytest.approx(ckce(np.arange(6), 0.2), rel=1e-9)
    parts = sum(ckce(np.flatnonzero(a == g), 0.2 * 6 / (a == g).sum()) for g in "uv")
    assert grouped_ckce(p, y, a, 0.5, 0.2) == pytest.approx(parts, rel=1e-9)


def test_groups_that_err_in_opposite_directions_by_hand():
    """f = (1/2, 1/2) everywhere, so the kernel is 3/2 within a group. With the mean residual r of
    a group of share w, a group adds w^2 3/2 / (3/2 w + ridge)^2 ||r||^2; without groups r = 0."""
    n, ridge = 400, 0.3
    y = np.repeat([1, 1, 1, 0, 0, 0, 0, 1], n // 8)
    a = np.repeat([0, 1], n // 2)
    expected = 2 * 0.25 * 1.5 / (0.75 + ridge) ** 2 * (2 * 0.25**2)
    assert grouped_ckce(np.full(n, 0.5), y, a, ridge=ridge) == pytest.approx(expected, rel=1e-9)
    assert grouped_ckce(np.full(n, 0.5), y, np.zeros(n), ridge=ridge) == pytest.approx(
        0.0, abs=1e-12
    )


def test_inner_products_of_normal_laws_are_means_over_draws():
    """Two points: closed form against averages over 10^6 draws of both predictions."""
    rng = np.random.default_rng(2)
    m, s, y = np.array([0.0, 1.5]), np.array([0.5, 2.0]), np.array([0.3, -1.0])
    z, w = (m[:, None] + s[:, None] * rng.normal(size=(2, 1_000_000)) for _ in range(2))

    def kernel(a, b):
        return np.exp(-((a - b) ** 2) / 2).mean()

    both = np.array([[kernel(z[i], w[j]) for j in range(2)] for i in range(2)])
    mixed = np.array([[kernel(y[i], z[j]) for j in range(2)] for i in range(2)])
    labels = np.array([[kernel(y[i], y[j]) for j in range(2)] for i in range(2)])
    square = np.diag(both)[:, None] + np.diag(both) - both - both.T
    by_draws = operator_distance(
        np.exp(-square), labels - mixed - mixed.T + (both + both.T) / 2, 0.2
    )
    assert regression_ckce(m, s, y, ridge=0.2) == pytest.approx(by_draws, rel=0.01)


def test_a_constant_prediction_has_the_mmd_of_two_normal_laws():
    """All predictions N(0, s^2), outcomes N(d, s^2): ckce is MMD^2 / (1 + ridge)^2, with
    MMD^2 = 2 w / t (1 - exp(-d^2 / (2 t^2))), t^2 = w^2 + 2 s^2. Quantiles stand for draws."""
    n, s, d, w, ridge = 600, 0.7, 1.2, 0.9, 0.25
    outcomes = d + s * norm.ppf((np.arange(n) + 0.5) / n)
    square = w**2 + 2 * s**2
    mmd = 2 * w / np.sqrt(square) * (1 - np.exp(-(d**2) / (2 * square)))
    value = regression_ckce(np.zeros(n), np.full(n, s), outcomes, width=w, ridge=ridge)
    assert value == pytest.approx(mmd / (1 + ridge) ** 2, rel=4e-3)
    calibrated = regression_ckce(np.zeros(n), np.full(n, s), outcomes - d, width=w, ridge=ridge)
    assert calibrated < 1e-4


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([0.0], [1.0, 1.0], [0.0]), "shapes"),
        (([0.0], [-1.0], [0.0]), "negative"),
        (([np.nan], [1.0], [0.0]), "finite"),
        (([0.0], [1.0], [0.0], 0.0), "width"),
    ],
)
def test_wrong_inputs_are_refused(arguments, name):
    with pytest.raises(BadInputError, match=name):
        regression_ckce(*arguments)
    with pytest.raises(BadInputError, match="groups"):
        grouped_ckce([0.5, 0.5], [0, 1], [1])
