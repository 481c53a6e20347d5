"""(A + c I)^-1 B for several c at once, from one Krylov space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TOLERANCE = 1e-13  # of the error of a solution, relative to its norm
CHECKED_EVERY = 5  # blocks between two looks at the residuals
LARGEST_SHARE = 0.5  # of the dimension; a larger space costs more than all eigenvectors


def shifted_solutions(
    a: np.ndarray, b: np.ndarray, shifts: Sequence[float]
) -> list[np.ndarray] | None:
    """Solutions X_c of (A + c I) X = B by the block Lanczos method.

        X_c = Q (Q' A Q + c I)^-1 Q' B,   Q an orthonormal basis of the span of B, A B, ..., A^(s-1) B

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
        By shift; None where half of all dimensions are not enough.

    Notes
    -----
    Its error is certified: ||X - X_c|| <= ||B - (A + c I) X_c|| / c as A is positive semi-definite, and the residual, which is in
    the next block of the basis alone, is known at every s; s grows until this is below 1e-13 ||X_c|| for every c. Some
    (number of eigenvalues above c) / d blocks: O(r^2 d) each, beside O(r (s d)^2) in all for an orthogonal basis.

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
    basis[:, :d], of_b = np.linalg.qr(b)
    for s in range(1, blocks + 1):
        known, last, new = basis[:, : s * d], slice((s - 1) * d, s * d), slice(s * d, (s + 1) * d)
        image = a @ basis[:, last]
        projected[: s * d, last] = known.T @ image
        projected[last, : s * d] = projected[: s * d, last].T
        for _ in range(2):
            image -= known @ (known.T @ image)
        block, coupling = np.linalg.qr(image)
        block -= known @ (
            known.T @ block
        )  # where A has no more to give, a column is rounding alone
        basis[:, new], turned = np.linalg.qr(block)
        coupling = turned @ coupling
        if s % CHECKED_EVERY and s < blocks:
            continue
        values, vectors = np.linalg.eigh(projected[: s * d, : s * d])
        start = vectors[:d].T @ of_b
        solved = [vectors @ (start / (values + c)[:, None]) for c in shifts]
        if all(
            np.linalg.norm(coupling @ x[last]) <= TOLERANCE * c * np.linalg.norm(x)
            for c, x in zip(shifts, solved)
        ):
            return [known @ x for x in solved]
    return None
