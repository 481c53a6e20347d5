"""Distances of conditional mean operators: explicit features, quadrature, and known answers."""

import numpy as np
import pytest
from scipy.stats import norm

from harness.errors import BadInputError
from harness.math.mean_operators import embedding_products, operator_distance, regression_ckce


def explicit(phi, psi, mu, ridge):
    """||(Psi - M) (K + ridge n I)^-1 Phi'||_F^2 with features as columns, as equation 4 has it."""
    n = phi.shape[1]
    inverse = np.linalg.inv(phi.T @ phi + ridge * n * np.eye(n))
    return np.linalg.norm((psi - mu) @ inverse @ phi.T) ** 2


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_distance_is_that_of_explicit_operators(n):
    rng = np.random.default_rng(n)
    phi, psi, mu = rng.normal(size=(4, n)), rng.normal(size=(3, n)), rng.normal(size=(3, n))
    gram = (psi - mu).T @ (psi - mu)
    for ridge in (0.01, 0.7):
        assert operator_distance(phi.T @ phi, gram, ridge) == pytest.approx(
            explicit(phi, psi, mu, ridge), rel=1e-10
        )


def test_weights_count_equal_rows():
    """Rows that occur 1, 2 and 3 times are the same as weights 1/6, 2/6 and 3/6."""
    rng = np.random.default_rng(1)
    phi, gap = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    rows = np.repeat([0, 1, 2], [1, 2, 3])
    repeated = explicit(phi[:, rows], gap[:, rows], np.zeros((2, 6)), 0.2)
    weights = np.array([1.0, 2.0, 3.0]) / 6.0
    assert operator_distance(phi.T @ phi, gap.T @ gap, 0.2, weights) == pytest.approx(
        repeated, rel=1e-10
    )


def test_no_ridge_gives_the_gaps_and_none_gives_that_of_the_paper():
    """K = I and no ridge: the sum of ||d_i||^2, whatever the weights. With the ridge 16^-1/4 = 1/2
    and K = 1: (sum_i d_i / 16)^2 / (1 + 1/2)^2 = 4 / 9 for d_i = 1."""
    d = np.array([[1.0], [3.0]])
    weights = np.array([0.1, 0.9])
    assert operator_distance(np.eye(2), d @ d.T, 0.0, weights) == pytest.approx(10.0)
    ones = np.ones((16, 16))
    assert operator_distance(ones, ones) == pytest.approx(4 / 9)


def hermite(function, mean, sd):
    """E function(N(mean, sd^2)) by Gauss-Hermite quadrature."""
    x, w = np.polynomial.hermite_e.hermegauss(80)
    return np.sum(w * function(mean + sd * x)) / np.sqrt(2 * np.pi)


def test_regression_by_quadrature():
    """Five points, from Sections 3.1 and 3.2: Tr((K + a I)^-1 [M'M + L - M'Psi - Psi'M]
    (K + a I)^-1 K) with a = ridge n. Every inner product is an integral over the predictions."""
    m, s = [0.0, 0.4, 1.5, -1.0, 0.3], [0.5, 1.0, 2.0, 0.7, 0.0]
    y, w, rate, ridge = [0.3, -0.2, 1.0, -2.0, 0.1], 0.8, 1.3, 0.2

    def k(a, b):
        return np.exp(-((a - b) ** 2) / (2 * w**2))

    def embedded(points, mean, sd):
        return np.array([hermite(lambda b, x=x: k(x, b), mean, sd) for x in points])

    pairs = [(i, j) for i in range(5) for j in range(5)]
    mm, mpsi, ll, k_q = (np.zeros((5, 5)) for _ in range(4))
    for i, j in pairs:
        mm[i, j] = hermite(lambda a, j=j: embedded(a, m[j], s[j]), m[i], s[i])
        mpsi[i, j] = embedded([y[j]], m[i], s[i])[0]
        ll[i, j] = k(y[i], y[j])
    for i, j in pairs:
        k_q[i, j] = np.exp(-rate * (mm[i, i] + mm[j, j] - 2 * mm[i, j]))
    inverse = np.linalg.inv(k_q + ridge * 5 * np.eye(5))
    expected = np.trace(inverse @ (mm + ll - mpsi - mpsi.T) @ inverse @ k_q)
    assert regression_ckce(m, s, y, w, rate, ridge) == pytest.approx(expected, rel=1e-9)


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


def test_sure_predictions_that_are_right_have_no_error():
    """A standard deviation of 0 and y = mean: the feature of the outcome is the embedding."""
    y = np.array([0.0, 1.0, 1.0, -2.0])
    assert regression_ckce(y, np.zeros(4), y) == pytest.approx(0.0, abs=1e-15)
    assert embedding_products(y, np.zeros(4), y, np.zeros(4), 1.0).diagonal().tolist() == [1.0] * 4


def test_the_unit_of_the_outcome_and_the_order_of_rows_do_not_matter():
    rng = np.random.default_rng(3)
    m, s, y = rng.normal(size=7), rng.uniform(0.2, 1, 7), rng.normal(size=7)
    value = regression_ckce(m, s, y, width=0.5)
    scaled = regression_ckce(10 * m + 3, 10 * s, 10 * y + 3, width=5.0)
    order = rng.permutation(7)
    assert scaled == pytest.approx(value, rel=1e-10)
    assert regression_ckce(m[order], s[order], y[order], width=0.5) == pytest.approx(value)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([0.0], [1.0, 1.0], [0.0]), "shapes"),
        (([], [], []), "shapes"),
        (([0.0], [-1.0], [0.0]), "negative"),
        (([np.nan], [1.0], [0.0]), "finite"),
        (([0.0], [1.0], [0.0], 0.0), "width"),
    ],
)
def test_wrong_inputs_are_refused(arguments, name):
    with pytest.raises(BadInputError, match=name):
        regression_ckce(*arguments)


@pytest.mark.parametrize(
    "options", [{"width": np.inf}, {"rate": np.inf}, {"ridge": 0.0}, {"ridge": "cross_validation"}]
)
def test_regression_refuses_parameters_that_are_not_positive_numbers(options):
    with pytest.raises(BadInputError, match=f"{next(iter(options))} is"):
        regression_ckce([0.0, 0.0], [0.0, 0.0], [0.0, 1.0], **options)
