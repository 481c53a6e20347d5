"""Cross-fitted stacks of calibrators, whose weights do not see the held-out labels either."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from harness.calibrators.base import Calibrator, fit_each
from harness.math.notions import one_hot

SUM_WEIGHT = 1e4  # weight of the least-squares row by which all weights sum to 1


def cross_fit_pairs(
    calibrators: Sequence[Calibrator],
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Return held-out predictions of every calibrator, for every fold v, of all samples.

    Parameters
    ----------
    calibrators : sequence of calibrators
    p, y : arrays (n,) or (n, k), and (n,)
    fold : array (n,)
        Fold of every sample, 0..K-1, K >= 3.
    rng : numpy.random.Generator

    Returns
    -------
    array (K, M, n) or (K, M, n, k)
        [v, m, i]: calibrator m at p_i, fitted without fold v and without the fold u of i. Samples
        of fold v itself are predicted by the fit on all other folds.

    Notes
    -----
    The fit without {u, v} serves fold v for the samples of u and fold u for those of v: K (K - 1) /
    2 fits and K instead of K^2.
    """
    folds = int(fold.max()) + 1
    predictions = np.empty((folds, len(calibrators), *p.shape))
    rows = [np.flatnonzero(fold == v) for v in range(folds)]
    pairs = [(v, u) for v in range(folds) for u in range(v + 1)]
    seen = np.array([(fold != u) & (fold != v) for v, u in pairs])
    for m, calibrator in enumerate(calibrators):
        for (v, u), q in zip(pairs, fit_each(calibrator, p, y, seen, rng)):
            predictions[v, m, rows[u]] = q(p[rows[u]])
            if u != v:
                predictions[u, m, rows[v]] = q(p[rows[v]])
    return predictions


def convex_weights(p: np.ndarray, outcome: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return weights w >= 0 of maps q (M, ...), of sum at most 1, by least squares.

    They minimise the squared error of p + sum_m w_m (q_m - p); the remainder of 1 is the weight of
    the identity.

    Parameters
    ----------
    p, outcome : arrays (n,) or (n, k)
        Predictions, and the outcomes as 0 and 1.
    q : array (M, n) or (M, n, k)

    Examples
    --------
    >>> convex_weights(np.full(4, 0.5), np.array([1, 1, 1, 0]), np.full((1, 4), 1.0)).round(6)
    array([0.5])
    """
    moves = (q - p).reshape(len(q), -1)
    gram = moves @ moves.T / len(p)
    target = moves @ (outcome - p).ravel() / len(p)
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-12 * max(values[-1], 1e-300)
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    goal = (vectors[:, kept].T @ target) / np.sqrt(values[kept])
    if not kept.any() or values[-1] < 1e-28:
        return np.zeros(len(q))
    scale = np.sqrt(values[-1])
    slack = np.zeros((len(root), 1))
    rows = np.vstack([np.hstack([root / scale, slack]), np.full((1, len(q) + 1), SUM_WEIGHT)])
    w, _ = nnls(rows, np.append(goal / scale, SUM_WEIGHT))
    return w[:-1] / max(w.sum(), 1.0)


def stacked(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, predictions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the stack's held-out predictions, shaped like p, and its weights (K, M).

    For fold v the weights minimise the squared error of `predictions[v]` (of `cross_fit_pairs`) on
    the other folds.
    """
    outcome = y.astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])
    held_out, weights = np.empty(p.shape), np.empty(predictions.shape[:2])
    for v, q in enumerate(predictions):
        judged = fold == v
        weights[v] = convex_weights(p[~judged], outcome[~judged], q[:, ~judged])
        held_out[judged] = p[judged] + np.tensordot(weights[v], q[:, judged] - p[judged], axes=1)
    return np.clip(held_out, 0.0, 1.0), weights
