"""Distance between the conditional mean operators of outcomes and of predictions.

Both operators are ridge regressions on the prediction: one of the outcome, and one of a draw from
the prediction. `harness.estimators.CKCE` computes their distance for classifiers. The functions of
this module take Gram matrices, so that predictions and outcomes can be anything with a kernel.
"""

from __future__ import annotations

import numbers
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError

Floats: TypeAlias = NDArray[np.float64]


def operator_distance(
    kernel: Floats,
    residuals: Floats,
    ridge: float | None = None,
    weights: Floats | None = None,
) -> float:
    """Return the squared Hilbert-Schmidt distance of two conditional mean operators.

        ckce = tr(A D A K),   A = W^(1/2) (W^(1/2) K W^(1/2) + ridge I)^-1 W^(1/2)

    W is the diagonal matrix of the weights. With equal weights 1 / n this is the estimate of the
    paper, A = (K + ridge n I)^-1. With the probabilities of finitely many predictions it is the
    value of the population.

    Parameters
    ----------
    kernel : ndarray (n, n)
        K, the kernel between n predictions.
    residuals : ndarray (n, n)
        D_ij = <d_i, d_j>. In a sample, d_i = psi(y_i) - mu_i. Here psi(y) is the feature of an
        outcome y, and mu_i is the mean of psi(Z) for a draw Z from prediction i. D is the bracket
        M'M + L - M'Psi - Psi'M of Section 3.1. In a population, d_i = E[psi(Y) given prediction i]
        - mu_i.
    ridge : float, optional
        The regularisation; `None` uses n^-1/4, as the paper does for a sample. With 0, K must be
        invertible.
    weights : ndarray (n,), optional
        Weights of the predictions. They are positive and sum to 1. Default: 1 / n each.

    Returns
    -------
    float
        The distance, at least 0 up to rounding. In a sample it is biased upwards by the noise of
        the outcomes. It costs O(n^3).

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
    root = np.sqrt(np.full(n, 1.0 / n) if weights is None else weights)
    scaled = root[:, None] * kernel * root
    system = scaled + ridge * np.eye(n)
    half = np.linalg.solve(system, root[:, None] * residuals * root)
    return float(np.sum(np.linalg.solve(system, half.T) * scaled))  # residuals are symmetric


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
    form (`embedding_products`), so no draws are needed.

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

    Returns
    -------
    float
        The distance, at least 0 up to rounding. It tends to 0 as n grows if the outcomes have the
        predicted laws. It is biased upwards by the noise of the outcomes. It costs O(n^3).

    Raises
    ------
    BadInputError
        If the arrays are not finite and of one shape (n,), sd is negative, or width, rate or
        ridge is not positive and finite.

    Notes
    -----
    This is a function and no estimator: estimators of this library take probabilities and labels,
    and a real outcome has neither.

    References
    ----------
    moskvichev2025, end of Section 3.2, with the squared MMD as the distance of predictions.

    Examples
    --------
    >>> calibrated = regression_ckce([0.0, 0.0], [1.0, 1.0], [-1.0, 1.0])
    >>> shifted = regression_ckce([3.0, 3.0], [1.0, 1.0], [-1.0, 1.0])
    >>> calibrated < 0.02 < 0.2 < shifted
    True
    """
    m, s, outcomes = (np.asarray(values, dtype=np.float64) for values in (mean, sd, y))
    if m.ndim != 1 or len(m) == 0 or not m.shape == s.shape == outcomes.shape:
        raise BadInputError(
            f"mean, sd and y have shapes {m.shape}, {s.shape} and {outcomes.shape}; one shape (n,) "
            "is needed."
        )
    if not (np.isfinite([m, s, outcomes]).all() and (s >= 0.0).all()):
        raise BadInputError("mean, sd and y must be finite numbers, and sd must not be negative.")
    given = {"width": width, "rate": rate, **({} if ridge is None else {"ridge": ridge})}
    for name, value in given.items():
        if not (isinstance(value, numbers.Real) and 0.0 < value < np.inf):
            raise BadInputError(f"{name} is {value!r}; a positive finite number is needed.")
    zero = np.zeros_like(s)
    embeddings = embedding_products(m, s, m, s, width)
    mixed = embedding_products(outcomes, zero, m, s, width)
    features = embedding_products(outcomes, zero, outcomes, zero, width)
    kernel = kernel_of_embeddings(embeddings, rate)
    return operator_distance(kernel, features - mixed - mixed.T + embeddings, ridge)


def embedding_products(
    m: Floats, s: Floats, other_m: Floats, other_s: Floats, width: float
) -> Floats:
    """Return the inner products (n, n') of the embeddings of N(m, s^2) and N(other_m, other_s^2).

        <mu_i, mu_j> = width / t exp(-(m_i - m_j)^2 / (2 t^2)),   t^2 = width^2 + s_i^2 + s_j^2

    The kernel is exp(-(y - y')^2 / (2 width^2)). A standard deviation of 0 gives the feature psi(y)
    of the outcome y = m.

    Examples
    --------
    >>> zero = np.zeros(1)
    >>> embedding_products(zero, zero, zero, np.ones(1), 1.0).round(4).tolist()
    [[0.7071]]
    """
    square = width**2 + s[:, None] ** 2 + other_s**2
    difference = m[:, None] - other_m
    return np.asarray(width / np.sqrt(square) * np.exp(-(difference**2) / (2.0 * square)))


def kernel_of_embeddings(embeddings: Floats, rate: float) -> Floats:
    """Return exp(-rate ||mu_i - mu_j||^2) from the inner products of the embeddings mu_i, (n, n).

    ||mu_i - mu_j|| is the maximum mean discrepancy (MMD) of two predictions.
    """
    norms = np.diag(embeddings)
    squares = np.maximum(norms[:, None] + norms - 2.0 * embeddings, 0.0)
    return np.asarray(np.exp(-rate * squares))
