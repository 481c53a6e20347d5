"""Solve (A + c I) X = B for several c at once, from one Krylov space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TOLERANCE = 1e-13  # largest error of a solution, relative to its norm
CHECKED_EVERY = 5  # blocks between two checks of the residuals
LARGEST_SHARE = 0.5  # of the dimension; a larger space costs more than a full eigendecomposition


def shifted_solutions(
    a: np.ndarray, b: np.ndarray, shifts: Sequence[float]
) -> list[np.ndarray] | None:
    """Solve (A + c I) X = B for every shift c by the block Lanczos method.

        X_c = Q (Q' A Q + c I)^-1 Q' B

    Q is an orthonormal basis of the span of B, A B, ..., A^(s-1) B.

    Parameters
    ----------
    a : ndarray of shape (r, r)
        Symmetric, positive semi-definite.
    b : ndarray of shape (r, d)
        Right-hand sides.
    shifts : list of float
        The c, positive.

    Returns
    -------
    list of ndarray of shape (r, d), or None
        One solution per shift; None if half of all dimensions are not enough.

    Notes
    -----
    The error is certified: ||X - X_c|| <= ||B - (A + c I) X_c|| / c, as A is positive
    semi-definite. The residual lies in the next block of the basis and is known at every s. The
    basis grows until this bound is below 1e-13 ||X_c|| for every c. About (number of eigenvalues
    above c) / d blocks are needed. Each costs O(r^2 d), and all together O(r (s d)^2) to keep the
    basis orthogonal.

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
        if s % CHECKED_EVERY and s < blocks:
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
