"""Solve (A + c I) X = B for several shifts c with one Krylov space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TOLERANCE = 1e-13  # largest error of a solution, relative to its norm
CHECK_INTERVAL = 5  # number of blocks between two checks of the residuals
# Largest basis, as a share of the r dimensions. A full eigendecomposition is cheaper than a larger
# basis.
LARGEST_SHARE = 0.5


def shifted_solutions(
    a: np.ndarray, b: np.ndarray, shifts: Sequence[float]
) -> list[np.ndarray] | None:
    """Solve (A + c I) X = B for every shift c by the block Lanczos method.

    The approximate solution in step s, with I the identity, is

        X_c = Q (Q' A Q + c I)^-1 Q' B

    Q is an orthonormal basis of the span of B, A B, ..., A^(s-1) B.

    Parameters
    ----------
    a : ndarray of shape (r, r)
        The matrix A, symmetric and positive semi-definite.
    b : ndarray of shape (r, d)
        The right-hand sides B, one per column.
    shifts : list of float
        The shifts c, all positive.

    Returns
    -------
    list of ndarray of shape (r, d), or None
        One solution per shift. None if a basis of r / 2 columns is still too small.

    Notes
    -----
    A is positive semi-definite, so the residual bounds the error:

        ||X - X_c|| <= ||B - (A + c I) X_c|| / c

    The next block of the basis gives this residual without further work. The basis grows until the
    bound is below 1e-13 ||X_c|| for every c.

    Let m be the number of eigenvalues of A above c. About m / d steps are needed. A step costs
    O(r^2 d), and keeping the basis orthogonal costs O(r (s d)^2) in total.

    Examples
    --------
    >>> a = np.diag(np.geomspace(1.0, 1e-12, 100))
    >>> (x,) = shifted_solutions(a, np.ones((100, 2)), [0.1])
    >>> np.allclose((a + 0.1 * np.eye(100)) @ x, 1.0)
    True
    """
    r, d = b.shape
    blocks = int(LARGEST_SHARE * r / d)
    if blocks < 1:
        return None
    basis = np.empty((r, (blocks + 1) * d), order="F")
    projected = np.zeros((blocks * d, blocks * d))
    basis[:, :d], b_on_basis = np.linalg.qr(b)
    for s in range(1, blocks + 1):
        built, last, new = basis[:, : s * d], slice((s - 1) * d, s * d), slice(s * d, (s + 1) * d)
        image = a @ basis[:, last]
        projected[: s * d, last] = built.T @ image
        projected[last, : s * d] = projected[: s * d, last].T
        for _ in range(2):
            image -= built @ (built.T @ image)
        block, coupling = np.linalg.qr(image)
        # Once the Krylov space is exhausted, a column consists of rounding errors only.
        block -= built @ (built.T @ block)
        basis[:, new], rotation = np.linalg.qr(block)
        coupling = rotation @ coupling
        if s % CHECK_INTERVAL and s < blocks:
            continue
        values, vectors = np.linalg.eigh(projected[: s * d, : s * d])
        start = vectors[:d].T @ b_on_basis
        solved = [vectors @ (start / (values + c)[:, None]) for c in shifts]
        if all(
            np.linalg.norm(coupling @ x[last]) <= TOLERANCE * c * np.linalg.norm(x)
            for c, x in zip(shifts, solved)
        ):
            return [built @ x for x in solved]
    return None
