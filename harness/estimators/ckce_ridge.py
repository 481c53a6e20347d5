"""Choice of the ridge of `CKCE` by cross-validation."""

from __future__ import annotations

import numpy as np

from harness.estimators.residual_kernels import group_sums, rbf_rate
from harness.math.low_rank import pivoted_cholesky

CROSS_VALIDATION = "cross_validation"
RIDGES = 10.0 ** np.arange(-6.0, 1.25, 0.5)  # candidates, from 1e-6 to 10
MAX_RANK = 256  # of the low rank of the kernel matrix, with which candidates are compared
ROUNDING = 1e-9  # errors whose relative difference is smaller are equal
LEAST_REST = 1e-12  # smallest 1 - H_ii; below, a sample determines its own fit


def cross_validated_ridge(q: np.ndarray, r: np.ndarray, gamma: float | None) -> float:
    """Return the largest candidate ridge whose leave-one-out error is near the smallest.

    By linearity, the difference of both operators is the ridge regression of the residuals r_i on
    the predictions f_i. With its hat matrix H = K (K + ridge n I)^-1, the error is

        mean_i ||(r_i - (H r)_i) / (1 - H_ii)||^2.

    An error is near the smallest if their difference is at most its standard error over the samples
    (the one-standard-error rule). The smallest error itself would sometimes choose a tiny ridge for
    a calibrated model, where noise alone decides, and CKCE would then be huge.

    Parameters
    ----------
    q, r : ndarray (n, k)
        Predictions and residuals.
    gamma : float, optional
        Bandwidth of the kernel of `CKCE`. None takes the kernel 1{f_i = f_j}.

    Returns
    -------
    float
        One of RIDGES. Its place in the grid tells how much structure the residuals have: for a
        calibrated model the largest ridges win, because there is nothing to fit.

    Notes
    -----
    K is replaced by a low rank of at most 256 and k more, in O(n (256 + k)^2) for all candidates.

    References
    ----------
    Gruenewaelder et al. (2012), "Conditional mean embeddings as regressors", choose the ridge of a
    conditional mean operator by cross-validation.

    Examples
    --------
    >>> q = np.column_stack([np.full(40, 0.5), np.full(40, 0.5)])
    >>> cross_validated_ridge(q, np.tile([[0.5, -0.5]], (40, 1)), 1.0)  # the same gap everywhere
    1e-06
    >>> cross_validated_ridge(q, np.tile([[0.5, -0.5], [-0.5, 0.5]], (20, 1)), 1.0)  # noise alone
    10.0
    """
    n = len(q)
    if gamma is None:
        group, sums, sizes = group_sums(q, r)
        fits = [
            (sums[group] / (sizes[group] + n * ridge)[:, None], 1.0 / (sizes[group] + n * ridge))
            for ridge in RIDGES
        ]
    else:
        low = pivoted_cholesky(q, rbf_rate(gamma), max_rank=min(MAX_RANK, n))
        u, s, _ = np.linalg.svd(np.column_stack([q, low.factor]), full_matrices=False)
        projected = u.T @ r
        shrunk = [s**2 / (s**2 + n * ridge) for ridge in RIDGES]
        fits = [(u @ (h[:, None] * projected), (u * u) @ h) for h in shrunk]
    errors = np.array(
        [
            (((r - fit) / np.maximum(1.0 - hat, LEAST_REST)[:, None]) ** 2).sum(axis=1)
            for fit, hat in fits
        ]
    )
    excess = errors - errors[errors.sum(axis=1).argmin()]
    error = excess.std(axis=1) / np.sqrt(n)
    equal = ROUNDING * errors.mean(axis=1)
    return float(RIDGES[excess.mean(axis=1) <= error + equal].max())
