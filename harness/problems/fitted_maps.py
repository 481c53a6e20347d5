"""Fit the kinds of calibration maps that the problem `Fitted` chooses from."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from harness.calibrators import Isotonic, StructuredMatrixScaling, Temperature
from harness.calibrators.base import CalibrationMap
from harness.math.notions import one_hot
from harness.math.softmax import softmax

MAPS = ("temperature", "vector", "matrix", "isotonic", "curves", "curves_of_vector")
LEAST = 1e-6  # smaller probabilities are raised to this value, because maps need their logarithm
MATRIX_CLASSES = 30  # a matrix has k (k + 1) coefficients; it is fitted up to this many classes
RIDGE = 1e-4  # penalty that draws the coefficients of `vector` to the identity
GRID = np.arange(-14.0, 14.0 + 1e-9, 0.05)  # logits of the confidence, at which curves are stored
WIDTH = 0.4  # standard deviation of the smoothing kernel of `curves`, in logits
# Each class's curve is a mean with the curve of all classes, which counts as this many samples.
PSEUDO = 30.0


def mean_log_likelihood(q: np.ndarray, y: np.ndarray) -> float:
    """Return the mean of log q_y for probabilities q (n, k) and labels y (n,)."""
    return float(np.log(np.maximum(q[np.arange(len(y)), y], LEAST)).mean())


def _logs(p: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities; those below 1e-6 are replaced by 1e-6."""
    return np.log(np.maximum(p, LEAST))


def _temperature(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    """Return the map of temperature scaling, fitted to probabilities p (n, k) and labels y (n,)."""
    q = Temperature().fit(np.maximum(p, LEAST), y)
    return lambda x: q(np.maximum(x, LEAST))


def _matrix(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    """Return the map of structured matrix scaling, fitted to p (n, k) and labels y (n,)."""
    q = StructuredMatrixScaling().fit(np.maximum(p, LEAST), y)
    return lambda x: q(np.maximum(x, LEAST))


def _isotonic(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    """Return the mean of two maps, isotonic regression and temperature scaling.

    Both are fitted to probabilities p (n, k) and labels y (n,).
    """
    isotonic, temperature = Isotonic().fit(p, y), _temperature(p, y)
    return lambda x: (isotonic(x) + temperature(x)) / 2.0


def _vector(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    """Return the map softmax(w_j log p_j + b_j) that minimises the mean log-loss.

    It is fitted to probabilities p (n, k) and labels y (n,). A ridge penalty draws the coefficients
    to w = 1 and b = 0.
    """
    z, (n, k) = _logs(p), p.shape
    rows, hit = np.arange(n), one_hot(y, k)
    mean_hit_logs, shares = (z * hit).sum(axis=0) / n, hit.mean(axis=0)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = 1.0 + v[:k], v[k:]
        s = w * z + b
        s -= s.max(axis=1, keepdims=True)
        target = s[rows, y].mean()
        np.exp(s, out=s)
        total = s.sum(axis=1)
        value = np.log(total).mean() - target + 0.5 * RIDGE * v @ v
        s /= total[:, None]
        gradient = [(s * z).sum(axis=0) / n - mean_hit_logs, s.mean(axis=0) - shares]
        return value, np.concatenate(gradient) + RIDGE * v

    options = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8}
    v = minimize(loss, np.zeros(2 * k), jac=True, method="L-BFGS-B", options=options).x
    return lambda x: softmax((1.0 + v[:k]) * _logs(x) + v[k:])


def _curves(p: np.ndarray, y: np.ndarray) -> CalibrationMap:
    """Return a map in which the accuracy is a smooth function of the confidence.

    There is one function per predicted class, fitted to probabilities p (n, k) and labels y (n,).
    Other classes share the remaining probability in their original proportions.
    """
    k = p.shape[1]
    top, t = p.argmax(axis=1), p.max(axis=1)
    hit = (top == y).astype(np.float64)
    reach = int(round(4 * WIDTH / 0.05))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * 0.05 / WIDTH) ** 2)
    index = np.rint((_logit(t) - GRID[0]) / 0.05).astype(np.int64)

    def smooth(rows: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        counts, hits = (
            np.bincount(index[rows], weights, minlength=len(GRID)) for weights in (None, hit[rows])
        )
        return np.convolve(counts, kernel, "same"), np.convolve(hits, kernel, "same")

    counts, hits = smooth(slice(None))
    overall = (hits + 1.0 / (1.0 + np.exp(-GRID))) / (counts + 1.0)
    table = np.empty((k, len(GRID)))
    for j in range(k):
        counts, hits = smooth(top == j)
        table[j] = (hits + PSEUDO * overall) / (counts + PSEUDO)

    def q(x: np.ndarray) -> np.ndarray:
        rows, top = np.arange(len(x)), x.argmax(axis=1)
        place = (_logit(x[rows, top]) - GRID[0]) / 0.05
        low = np.minimum(place.astype(np.int64), len(GRID) - 2)
        share = place - low
        right = (1.0 - share) * table[top, low] + share * table[top, low + 1]
        c = np.array(np.maximum(x, 1e-12))  # in a one-hot row, all other classes become equal
        c[rows, top] = 0.0
        c *= ((1.0 - right) / c.sum(axis=1))[:, None]
        c[rows, top] = right
        return c

    return q


def _logit(t: np.ndarray) -> np.ndarray:
    """Return the logits of confidences t, clipped to the range of GRID."""
    return np.clip(np.log(t) - np.log(np.maximum(1.0 - t, LEAST / 10)), GRID[0], GRID[-1])


def fit_map(
    name: str, p: np.ndarray, y: np.ndarray, fitted_maps: dict[str, CalibrationMap]
) -> CalibrationMap:
    """Return the map of kind `name` (one of MAPS), fitted to probabilities p and labels y.

    `fitted_maps` is a cache {kind: map} for this sample, to which the function adds new maps.
    """
    if name == "curves_of_vector":
        first = fit_map("vector", p, y, fitted_maps)
        second = _curves(first(p), y)
        return lambda x: second(first(x))
    fits = {
        "temperature": _temperature,
        "vector": _vector,
        "matrix": _matrix,
        "isotonic": _isotonic,
        "curves": _curves,
    }
    if name not in fitted_maps:
        fitted_maps[name] = fits[name](p, y)
    return fitted_maps[name]
