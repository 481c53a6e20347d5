"""Vector, matrix and Dirichlet scaling."""

import time

import numpy as np
import pytest
from log_losses import log_loss, sklearn_loss
from samples import rng, scalars, vectors
from scipy.optimize import minimize
from scipy.special import log_softmax, logit

from harness.calibrators import (
    DirichletCalibration,
    MatrixScaling,
    Platt,
    VectorScaling,
)
from harness.calibrators.logits import centred_logits, floored_log
from harness.calibrators.newton import RIDGE
from harness.estimators import Variational


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


def test_vector_scaling_of_ten_classes_is_fast():
    """The fit took 0.05 s of CPU when this test was written. The bound allows for a busy
    machine.
    """
    p, y = vectors(5000, 10)
    start = time.process_time()
    result = Variational(VectorScaling())(p, y, rng(), notion="canonical")
    assert time.process_time() - start < 1.0 and result["kl"].value > 0.1
