"""Cross-fitted stacks of calibrators.

A stack is a weighted mean of recalibration maps. Neither the maps nor the weights that are applied
to a fold use the labels of that fold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from harness.calibrators.base import Calibrator, fit_each
from harness.math.notions import one_hot

SUM_WEIGHT = 1e4  # weight of the least-squares equation "the weights sum to 1"


def cross_fit_pairs(
    calibrators: Sequence[Calibrator],
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Return the predictions of every calibrator, from fits that leave out pairs of folds.

    Parameters
    ----------
    calibrators : sequence of calibrators
        The M calibrators.
    p, y : arrays (n,) or (n, k), and (n,)
        Predictions and labels.
    fold : array (n,)
        Fold of every sample, from 0 to K - 1, with K >= 3.
    rng : numpy.random.Generator
        Random stream of the calibrators.

    Returns
    -------
    array (K, M, n) or (K, M, n, k)
        Entry [v, m, i] is the prediction of calibrator m at p_i. With u the fold of sample i, the
        calibrator is fitted without the folds u and v. If u = v, it is fitted to all other folds.

    Notes
    -----
    One fit without the folds u and v predicts the samples of both. So there are K (K + 1) / 2 fits
    of every calibrator instead of K^2.
    """
    folds = int(fold.max()) + 1
    predictions = np.empty((folds, len(calibrators), *p.shape))
    rows = [np.flatnonzero(fold == v) for v in range(folds)]
    pairs = [(v, u) for v in range(folds) for u in range(v + 1)]
    training = np.array([(fold != u) & (fold != v) for v, u in pairs])
    for m, calibrator in enumerate(calibrators):
        for (v, u), q in zip(pairs, fit_each(calibrator, p, y, training, rng)):
            predictions[v, m, rows[u]] = q(p[rows[u]])
            if u != v:
                predictions[u, m, rows[v]] = q(p[rows[v]])
    return predictions


def convex_weights(p: np.ndarray, outcome: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the weights (M,) of a stack of recalibrated predictions, by least squares.

    The weights w_m minimise the squared error of p + sum_m w_m (q_m - p) against the outcomes,
    subject to w_m >= 0 and sum_m w_m <= 1. The identity has the remaining weight 1 - sum_m w_m.

    Parameters
    ----------
    p, outcome : arrays (n,) or (n, k)
        Predictions, and the outcomes as 0 and 1.
    q : array (M, n) or (M, n, k)
        Recalibrated predictions, by each of M maps.

    Examples
    --------
    >>> convex_weights(np.full(4, 0.5), np.array([1, 1, 1, 0]), np.full((1, 4), 1.0)).round(6)
    array([0.5])
    """
    gram, target = stack_products(p, outcome, q)
    return solve_weights(gram / len(p), target / len(p))


def stack_products(
    p: np.ndarray, outcome: np.ndarray, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Gram matrix (M, M) of q_m - p, and its products (M,) with outcome - p.

    The arguments are those of `convex_weights`. Products of several blocks of samples can be added.
    """
    moves = (q - p).reshape(len(q), -1)
    return moves @ moves.T, moves @ (outcome - p).ravel()


def solve_weights(gram: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the weights of `convex_weights` from the means of `stack_products`."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-12 * max(values[-1], 1e-300)
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    goal = (vectors[:, kept].T @ target) / np.sqrt(values[kept])
    if not kept.any() or values[-1] < 1e-28:
        return np.zeros(len(gram))
    scale = np.sqrt(values[-1])
    slack = np.zeros((len(root), 1))
    rows = np.vstack([np.hstack([root / scale, slack]), np.full((1, len(gram) + 1), SUM_WEIGHT)])
    w, _ = nnls(rows, np.append(goal / scale, SUM_WEIGHT))
    return w[:-1] / max(w.sum(), 1.0)


def stack_predictions(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, predictions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the held-out predictions of a stack, shaped like p, and its weights (K, M).

    Parameters
    ----------
    p, y : arrays (n,) or (n, k), and (n,)
        Predictions and labels.
    fold : array (n,)
        Fold of every sample, from 0 to K - 1.
    predictions : array (K, M, n) or (K, M, n, k)
        Result of `cross_fit_pairs`. The weights for fold v are fitted to predictions[v] on the
        other folds.
    """
    outcome = y.astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])
    held_out, weights = np.empty(p.shape), np.empty(predictions.shape[:2])
    for v, q in enumerate(predictions):
        rows = fold == v
        weights[v] = convex_weights(p[~rows], outcome[~rows], q[:, ~rows])
        held_out[rows] = p[rows] + np.tensordot(weights[v], q[:, rows] - p[rows], axes=1)
    return np.clip(held_out, 0.0, 1.0), weights
