"""Residuals, and the linear plus Gaussian kernel of `CKCE` and `SKCE`.

f (n, k) are predictions, and the kernel is K_ij = f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2)).
"""

from __future__ import annotations

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import generator, is_positive
from harness.math.kernels import (
    MEDIAN_RULES,
    median_distance,
    rbf_times,
    two_columns,
)
from harness.math.notions import checked, one_hot

KERNELS = ("linear_rbf", "kronecker")


def check_gamma(gamma: float | str) -> None:
    """Raise BadInputError unless gamma is a positive number or the name of a median rule."""
    if not (is_positive(gamma) or gamma in MEDIAN_RULES):
        raise BadInputError(
            f"gamma is {gamma!r}; give a positive number or one of the rules "
            f"{', '.join(MEDIAN_RULES)}."
        )


def check_residuals(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return checked predictions f (n, k) and residuals e_y - f (n, k).

    e_y is the one-hot vector of the label. Scalars p (n,) become the two columns (1 - p, p).
    """
    p, y = checked(p, y)
    q = two_columns(p)
    return q, one_hot(y, q.shape[1]) - q


def resolve_gamma(gamma: float | str, q: np.ndarray) -> float:
    """Return gamma if it is a number, or the result of the rule `gamma` on predictions q."""
    return median_distance(q, gamma) if isinstance(gamma, str) else float(gamma)


def rbf_rate(gamma: float) -> float:
    """Return 1 / (2 gamma^2), the parameter of `harness.math.kernels.rbf`."""
    return 0.5 / gamma**2


def kernel_product(q: np.ndarray, gamma: float, v: np.ndarray) -> np.ndarray:
    """Return K v for the kernel matrix K of the predictions f_i, the rows of q.

    K_ij = f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2)). K is computed in tiles, so that the memory
    is O(n).
    """
    return rbf_times(q, rbf_rate(gamma), v) + q @ (q.T @ v)


def fourier_features(
    q: np.ndarray, gamma: float, count: int, rng: np.random.Generator | None
) -> np.ndarray:
    """Return random features phi (n, k + 2 count) of predictions q (n, k), with phi phi' about K.

    K_ij = f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2)). The features of f are f itself, and
    cos(w_j.f) / sqrt(count) and sin(w_j.f) / sqrt(count) for random w_j ~ N(0, I / gamma^2),
    j = 1, ..., count (moskvichev2025, Appendix B).
    """
    rng = generator(rng, "draws the features")
    angle = q @ (rng.standard_normal((q.shape[1], count)) / gamma)
    return np.column_stack([q, np.cos(angle) / np.sqrt(count), np.sin(angle) / np.sqrt(count)])


def group_sums(q: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Collect equal rows of q (n, ...) into groups, and sum the residuals r (n, k) of each group.

    Returns
    -------
    group : array (n,)
        Number of the group of every row.
    sums : array (groups, k)
        Sum of the residuals in every group.
    sizes : array (groups,)
        Number of rows in every group.
    """
    _, group, sizes = np.unique(q, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    sums = np.column_stack([np.bincount(group, column, minlength=len(sizes)) for column in r.T])
    return group, sums, sizes
