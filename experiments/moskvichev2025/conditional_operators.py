"""Distance between the conditional mean operators of outcomes and predictions (moskvichev2025).

The conditional kernel calibration error (CKCE) compares two ridge regressions on the prediction:
one of the outcome, and one of a draw from the prediction. `harness.estimators.CKCE` computes it
for classifiers. This module takes any Gram matrices. It covers two extensions that the paper
describes without a formula:

    grouped_ckce      a classifier within groups (Section 3.3): the kernel compares pairs of a
                      prediction and a group
    regression_ckce   real outcomes (end of Section 3.2): predictions are normal laws

All functions build an n x n matrix for n samples and cost O(n^3).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError
from harness.math.kernels import median_distance, rbf, two_columns
from harness.math.notions import checked, one_hot

Floats: TypeAlias = NDArray[np.float64]


def operator_distance(kernel: Floats, residuals: Floats, ridge: float | None = None) -> float:
    """Return the squared Hilbert-Schmidt distance of two conditional mean operators.

        ckce = tr(A D A K),   A = (K + ridge n I)^-1

    Parameters
    ----------
    kernel : ndarray (n, n)
        K, the kernel between the predictions of n samples.
    residuals : ndarray (n, n)
        D_ij = <psi(y_i) - mu_i, psi(y_j) - mu_j>. Here psi(y) is the feature of an outcome y, and
        mu_i is the mean of psi(Z) for a draw Z from prediction i. This is the bracket M'M + L -
        M'Psi - Psi'M of Section 3.1.
    ridge : float, optional
        The regularisation; `None` uses n^-1/4, as the paper does.

    Returns
    -------
    float
        The distance, at least 0 up to rounding. It is biased upwards by the noise of the outcomes.

    References
    ----------
    moskvichev2025, Section 3.1.

    Examples
    --------
    >>> operator_distance(np.ones((1, 1)), np.full((1, 1), 0.5), ridge=1.0)
    0.125
    """
    n = len(kernel)
    ridge = n**-0.25 if ridge is None else ridge
    system = kernel + ridge * n * np.eye(n)
    half = np.linalg.solve(system, residuals)  # A D
    return float(np.sum(np.linalg.solve(system, half.T) * kernel))  # tr(A D A K); D is symmetric


def grouped_ckce(
    p: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike,
    gamma: float | str = "median",
    ridge: float | None = None,
) -> float:
    """Return the conditional kernel calibration error (CKCE) within groups of samples.

        K_ij = (f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2))) 1{a_i = a_j}

    f_i are the predictions, and a_i the groups. The paper requires a kernel on pairs (f, a) without
    naming one. This kernel is the product of the paper's kernel on f (Section 3.2) and 1{a = a'}.
    As n grows, the value tends to 0 if the model is calibrated within every group.

    Parameters
    ----------
    p : array (n,) or (n, k)
        Predictions. Shape (n,) is converted to two columns 1 - p and p.
    y : array (n,)
        Labels 0..k-1.
    groups : array (n,)
        Group of each sample: numbers or texts, which are only compared for equality.
    gamma : float or str
        Bandwidth, or a rule of `harness.math.kernels.median_distance` on all predictions.
    ridge : float, optional
        As for `operator_distance`.

    Raises
    ------
    BadInputError
        If there is not one group per sample.

    References
    ----------
    moskvichev2025, Section 3.3.

    Examples
    --------
    Two groups with errors of opposite sign, which cancel without the groups:

    >>> p, y, a = [0.5] * 4, [1, 1, 0, 0], ["a", "a", "b", "b"]
    >>> round(grouped_ckce(p, y, a, ridge=0.1), 4)
    0.519
    >>> abs(grouped_ckce(p, y, [0] * 4, ridge=0.1)) < 1e-12
    True
    """
    p, y = checked(p, y)
    f = two_columns(p)
    names = np.asarray(groups)
    if names.shape != (len(f),):
        raise BadInputError(
            f"groups has shape {names.shape}; one group per sample, shape ({len(f)},), is needed."
        )
    bandwidth = median_distance(f, gamma) if isinstance(gamma, str) else float(gamma)
    kernel = (f @ f.T + rbf(f, f, 0.5 / bandwidth**2)) * (names[:, None] == names)
    residuals = one_hot(y, f.shape[1]) - f
    return operator_distance(kernel, residuals @ residuals.T, ridge)


def regression_ckce(
    mean: ArrayLike,
    sd: ArrayLike,
    y: ArrayLike,
    width: float = 1.0,
    rate: float = 1.0,
    ridge: float | None = None,
) -> float:
    """Return the conditional kernel calibration error (CKCE) of normal predictions N(mean, sd^2).

    l is the kernel of outcomes, with feature map psi, and K the kernel of predictions:

        l(y, y') = <psi(y), psi(y')> = exp(-(y - y')^2 / (2 width^2))
        K_ij     = exp(-rate ||mu_i - mu_j||^2)

    mu_i is the mean of psi(Z) for a draw Z from prediction i. All inner products have a closed
    form, so no draws are needed:

        <mu_i, mu_j>   = width / s exp(-(mean_i - mean_j)^2 / (2 s^2)),
                         s^2 = width^2 + sd_i^2 + sd_j^2
        <psi(y), mu_j>   the same with mean_i = y and sd_i = 0

    Parameters
    ----------
    mean, sd, y : array (n,)
        Means and standard deviations (at least 0) of the predictions, and the outcomes.
    width : float
        Width of the kernel of outcomes, in the unit of y.
    rate : float
        Rate in the kernel of predictions.
    ridge : float, optional
        As for `operator_distance`.

    Raises
    ------
    BadInputError
        If the arrays are not finite and of one shape (n,), sd is negative, or width or rate is not
        positive.

    References
    ----------
    moskvichev2025, end of Section 3.2.

    Examples
    --------
    >>> calibrated = regression_ckce([0.0, 0.0], [1.0, 1.0], [-1.0, 1.0])
    >>> shifted = regression_ckce([3.0, 3.0], [1.0, 1.0], [-1.0, 1.0])
    >>> calibrated < 0.02 < 0.2 < shifted
    True
    """
    m, s, outcomes = (np.asarray(values, dtype=np.float64) for values in (mean, sd, y))
    if m.ndim != 1 or not m.shape == s.shape == outcomes.shape:
        raise BadInputError(
            f"mean, sd and y have shapes {m.shape}, {s.shape} and {outcomes.shape}; one shape (n,) "
            "is needed."
        )
    if not (np.isfinite([m, s, outcomes]).all() and (s >= 0.0).all()):
        raise BadInputError("mean, sd and y must be finite numbers, and sd must not be negative.")
    if not (width > 0.0 and rate > 0.0):
        raise BadInputError(f"width is {width!r} and rate is {rate!r}; both must be positive.")
    zero = np.zeros_like(s)
    embeddings = _inner_products(m, s, m, s, width)
    mixed = _inner_products(outcomes, zero, m, s, width)
    features = _inner_products(outcomes, zero, outcomes, zero, width)
    norms = np.diag(embeddings)
    kernel = np.exp(-rate * np.maximum(norms[:, None] + norms - 2.0 * embeddings, 0.0))
    return operator_distance(kernel, features - mixed - mixed.T + embeddings, ridge)


def _inner_products(m: Floats, s: Floats, other_m: Floats, other_s: Floats, width: float) -> Floats:
    """Return the inner products (n, n) of the embeddings of N(m, s^2) and N(other_m, other_s^2)."""
    square = width**2 + s[:, None] ** 2 + other_s**2
    difference = m[:, None] - other_m
    return np.asarray(width / np.sqrt(square) * np.exp(-(difference**2) / (2.0 * square)))
