"""Parametric calibrators, histograms and splines: closed forms, other optimisers, and edges."""

import time

import numpy as np
import pytest
from samples import ODD, assert_probabilities, rng, scalars, vectors
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit

from harness.calibrators import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    Identity,
    MatrixScaling,
    Platt,
    Spline,
    VectorScaling,
)
from harness.calibrators.logits import centred_logits, floored_log
from harness.calibrators.newton import RIDGE
from harness.calibrators.splines import natural_basis, roughness
from harness.estimators import Variational

SCALAR = [
    Platt(),
    BetaCalibration(),
    HistogramBinning(),
    HistogramBinning(5, "width", 0.0),
    Spline(),
    Identity(),
]
VECTOR = [VectorScaling(), MatrixScaling(), DirichletCalibration()]
OF_VECTORS = [c for c in SCALAR if not isinstance(c, Spline)] + VECTOR


def log_loss(q, y):
    right = np.where(y == 1, q, 1 - q) if q.ndim == 1 else q[np.arange(len(y)), y]
    return -np.log(right).mean()


# The edges


@pytest.mark.parametrize("calibrator", SCALAR + VECTOR, ids=repr)
@pytest.mark.parametrize("name", ODD)
def test_odd_scalars_become_probabilities(calibrator, name):
    p, y = ODD[name]
    x = np.r_[0.0, 1.0, 0.5, 1e-300, 1 - 2**-53, p]
    assert_probabilities(calibrator.fit(p, y, None)(x), x)


@pytest.mark.parametrize("calibrator", OF_VECTORS, ids=repr)
@pytest.mark.parametrize("n", [1, 5, 60])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_odd_vectors_become_probabilities(calibrator, n, k):
    """Zeros and ones, an unseen class, n < k, a single class, and constant predictions."""
    p = rng(1).dirichlet(np.full(k, 0.5), n)
    p[0] = np.eye(k)[0]
    x = np.vstack([rng(3).dirichlet(np.full(k, 0.5), 20), np.eye(k)])
    unseen, single, cyclic = rng(2).integers(0, k - 1, n), np.full(n, k - 1), np.arange(n) % k
    for given, y in ((p, unseen), (p, single), (p[np.zeros(n, int)], cyclic)):
        assert_probabilities(calibrator.fit(given, y, None)(x), x)


@pytest.mark.parametrize("calibrator", OF_VECTORS, ids=repr)
def test_two_columns_are_one(calibrator):
    p, y = scalars(150)
    both = np.column_stack([1 - p, p])
    np.testing.assert_allclose(
        calibrator.fit(both, y)(both)[:, 1], calibrator.fit(p, y)(p), rtol=1e-9
    )


@pytest.mark.parametrize(
    "calibrator", [c for c in OF_VECTORS if not isinstance(c, Identity)], ids=repr
)
def test_classes_may_be_renamed(calibrator):
    p, y = vectors(200, 3)
    order = np.array([2, 0, 1])
    q, again = (
        calibrator.fit(p, y)(p),
        calibrator.fit(p[:, order], np.argsort(order)[y])(p[:, order]),
    )
    np.testing.assert_allclose(again, q[:, order], atol=1e-8)


# The optimum, by an optimiser that shares no code with ours


def sklearn_loss(features, y):
    """Mean log-loss of scikit-learn's unpenalised logistic regression."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=20_000).fit(features, y)
    return -fitted.predict_log_proba(features)[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("seed", [0, 1])
def test_platt_and_vectors_reach_the_least_log_loss(seed):
    p, y = scalars(400, seed)
    assert log_loss(Platt().fit(p, y)(p), y) == pytest.approx(
        sklearn_loss(logit(p)[:, None], y), abs=1e-6
    )
    p, y = vectors(400, 3, seed)
    z = centred_logits(p)

    def value(v):
        return -log_softmax(z * v[:3] + v[3:], axis=1)[np.arange(len(y)), y].mean()

    best = minimize(value, np.r_[np.ones(3), np.zeros(3)], method="BFGS", options={"gtol": 1e-7})
    assert log_loss(VectorScaling().fit(p, y)(p), y) == pytest.approx(best.fun, abs=1e-6)


@pytest.mark.parametrize("k", [3, 8])
def test_matrices_without_penalty_reach_the_least_log_loss(k):
    """8 classes take the other optimiser."""
    p, y = vectors(1500, k)
    ours = log_loss(DirichletCalibration(off_diagonal=0.0).fit(p, y)(p), y)
    assert ours == pytest.approx(sklearn_loss(np.log(p), y), abs=1e-6)
    assert log_loss(MatrixScaling(ridge=0.0).fit(p, y)(p), y) == pytest.approx(
        sklearn_loss(centred_logits(p), y), abs=1e-6
    )


@pytest.mark.parametrize(("off_diagonal", "intercept"), [(0.5, None), (0.1, 3.0)])
def test_dirichlet_minimises_its_objective(off_diagonal, intercept):
    """ODIR as Kull et al. write it, minimised by BFGS with numerical gradients."""
    p, y = vectors(150, 3)
    mu = off_diagonal if intercept is None else intercept

    def value(v):
        w, b = v[:9].reshape(3, 3), v[9:]
        loss = -log_softmax(np.log(p) @ w.T + b, axis=1)[np.arange(len(y)), y].mean()
        return (
            loss + off_diagonal / 6 * (w[~np.eye(3, dtype=bool)] ** 2).sum() + mu / 3 * (b**2).sum()
        )

    best = minimize(
        value, np.r_[np.eye(3).ravel(), np.zeros(3)], method="BFGS", options={"gtol": 1e-7}
    ).x
    expected = np.exp(log_softmax(np.log(p) @ best[:9].reshape(3, 3).T + best[9:], axis=1))
    np.testing.assert_allclose(
        DirichletCalibration(off_diagonal, intercept).fit(p, y)(p), expected, atol=2e-4
    )


def test_matrix_minimises_its_objective():
    p, y = vectors(150, 3)
    z = centred_logits(p)

    def value(v):
        w, b = v[:9].reshape(3, 3), v[9:]
        loss = -log_softmax(z @ w.T + b, axis=1)[np.arange(len(y)), y].mean()
        return loss + 5.0 / 150 * ((w[~np.eye(3, dtype=bool)] ** 2).sum() + (b**2).sum())

    best = minimize(
        value, np.r_[np.eye(3).ravel(), np.zeros(3)], method="BFGS", options={"gtol": 1e-7}
    ).x
    expected = np.exp(log_softmax(z @ best[:9].reshape(3, 3).T + best[9:], axis=1))
    np.testing.assert_allclose(MatrixScaling(5.0).fit(p, y)(p), expected, atol=2e-4)


@pytest.mark.parametrize("k", [31, 6])
def test_large_matrices_have_no_gradient_at_the_answer(k):
    """Matrices of more than 30 classes are fitted in other coordinates, with the same minimum.

    The map q gives the weights up to a constant in each column, which the penalty decides.
    """
    p, y = vectors(800, k)
    q = DirichletCalibration(off_diagonal=1e-2 * k * (k - 1), intercept=1e-2 * k).fit(p, y)(p)
    x = np.column_stack([floored_log(p), np.ones(len(p))])
    penalty = np.where(np.eye(k, k + 1, dtype=bool), 0.0, 1e-2)
    logs = np.log(q)
    w = np.linalg.lstsq(x, logs - logs.mean(axis=1, keepdims=True), rcond=None)[0].T
    pull = 2 * penalty * w + RIDGE * (w - np.eye(k, k + 1))
    w -= pull.sum(axis=0) / (2 * penalty + RIDGE).sum(axis=0)
    gradient = (q - np.eye(k)[y]).T @ x / len(y) + 2 * penalty * w + RIDGE * (w - np.eye(k, k + 1))
    assert np.abs(gradient).max() < 1e-4


CASES = {
    "as it is": scalars(300),
    "the wrong way": (lambda p, y: (1 - p, y))(*scalars(300)),
    "one slope": (
        np.repeat([0.05, 0.5, 0.95], 100),
        np.arange(300) % 100 < np.repeat([50, 50, 99], 100),
    ),
    "other slope": (
        np.repeat([0.05, 0.5, 0.95], 100),
        np.arange(300) % 100 < np.repeat([1, 50, 50], 100),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_beta_is_the_minimum_on_the_quadrant(name):
    p, y = CASES[name]
    features = np.column_stack([np.log(p), -np.log1p(-p), np.ones_like(p)])

    def value(w):
        t = features @ w
        return np.logaddexp(0, t).mean() - (t * y).mean(), features.T @ (expit(t) - y) / len(y)

    bounds = [(0, None), (0, None), (None, None)]
    best = minimize(
        value,
        [1, 1, 0],
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"gtol": 1e-10, "ftol": 1e-15},
    )
    w = BetaCalibration().coefficients(p, y)
    assert w[0] >= 0 and w[1] >= 0
    assert value(w)[0] == pytest.approx(best.fun, abs=1e-6)
    if name == "the wrong way":
        np.testing.assert_allclose(w[:2], 0.0)
    if name in ("one slope", "other slope"):
        assert (w[:2] == 0).sum() == 1


# Histogram


def test_histogram_by_hand():
    p, y = np.array([0.1, 0.2, 0.2, 0.2, 0.9, 1.0]), np.array([1, 0, 0, 1, 1, 1])
    q = HistogramBinning(2, "mass", 0.0).fit(
        p, y
    )  # the cut falls on 0.2, which goes above it as a whole
    np.testing.assert_allclose(q(np.array([0.0, 0.15, 0.2, 1.0])), [1, 1, 3 / 5, 3 / 5])
    q = HistogramBinning(4, "width", 2.0).fit(p, y)
    np.testing.assert_allclose(
        q(np.array([0.2, 0.3, 0.6, 0.75, 1.0])), [4 / 8, 1 / 2, 1 / 2, 4 / 6, 4 / 6]
    )


def test_histogram_of_vectors_by_hand():
    p = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    q = HistogramBinning(2, "width", 1.0).fit(p, np.array([0, 1, 1, 2]))(p[:1])
    scores = np.array(
        [2 / 5, 2 / 6, 1 / 6]
    )  # (1 + 1) / (2 + 3), (1 + 1) / (3 + 3), (0 + 1) / (3 + 3)
    np.testing.assert_allclose(q[0], scores / scores.sum())


@pytest.mark.parametrize("n", [1, 14, 15, 16, 1000])
def test_histogram_of_equal_mass_has_equal_mass(n):
    p = rng().random(n)
    (edges,), (sizes,) = HistogramBinning()._bins(p[None])
    np.testing.assert_array_equal(
        np.bincount(np.searchsorted(edges, p, side="right"), minlength=15), sizes
    )
    full = sizes[sizes > 0]
    assert len(full) == min(n, 15) and full.max() - full.min() <= 1


# Spline


def test_the_basis_is_of_natural_cubic_splines():
    """Each function is interpolated by scipy's natural spline of its own values at the knots, and
    linear outside."""
    knots, x = np.array([-3.0, -1.0, 0.0, 0.5, 4.0]), np.linspace(-3, 4, 101)
    values, inside = natural_basis(knots, knots), natural_basis(x, knots)
    assert values.shape == (5, 5) and np.linalg.matrix_rank(values) == 5
    np.testing.assert_allclose(CubicSpline(knots, values, bc_type="natural")(x), inside, atol=1e-12)
    outside = natural_basis(np.array([5.0, 6.0, 7.0, -4.0, -5.0, -6.0]), knots)
    np.testing.assert_allclose(outside[0] + outside[2], 2 * outside[1], atol=1e-12)
    np.testing.assert_allclose(outside[3] + outside[5], 2 * outside[4], atol=1e-12)


def test_the_spline_reaches_the_least_log_loss():
    p, y = scalars(500)
    x = logit(p)
    knots = np.quantile(x, np.linspace(0.05, 0.95, 6))
    features = natural_basis(x, knots)[:, 1:]
    loss = sklearn_loss(features / features.std(axis=0), y)
    assert log_loss(Spline(ridge=0.0).fit(p, y)(p), y) == pytest.approx(loss, abs=1e-5)
    assert loss < log_loss(Spline().fit(p, y)(p), y) < log_loss(Platt().fit(p, y)(p), y)


def test_the_roughness_is_the_integral_of_squared_second_derivatives():
    """The integral is computed by central second differences on a fine grid, in units of the span.

    Swapped outcomes give the mirrored fit.
    """
    knots = np.array([-3.0, -1.0, 0.0, 0.5, 4.0])
    x = np.linspace(-3, 4, 7001)
    h = (x[1] - x[0]) / 7
    curves = np.diff(natural_basis(x, knots), 2, axis=0) / h**2
    np.testing.assert_allclose(roughness(knots), curves.T @ curves * h, rtol=1e-2, atol=1e-6)
    p, y = scalars(200)
    np.testing.assert_allclose(
        Spline().fit(1 - p, 1 - y)(1 - p), 1 - Spline().fit(p, y)(p), atol=1e-9
    )


def test_a_spline_of_two_distinct_predictions_is_platt():
    p, y = np.repeat([0.2, 0.7], [30, 50]), np.arange(80) % 3 % 2
    np.testing.assert_allclose(Spline().fit(p, y)(p), Platt().fit(p, y)(p), atol=1e-9)


def test_the_identity_contributes_nothing():
    p, y = scalars(100)
    assert all(e.value == 0.0 for e in Variational(Identity())(p, y, rng()).values())


def test_vector_scaling_of_ten_classes_is_fast():
    """The fit took 0.05 s of CPU when this test was written. The bound allows for a busy
    machine.
    """
    p, y = vectors(5000, 10)
    start = time.process_time()
    result = Variational(VectorScaling())(p, y, rng(), notion="canonical")
    assert time.process_time() - start < 1.0 and result["kl"].value > 0.1
