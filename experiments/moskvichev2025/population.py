"""Population values on two classes, by sums over nodes: weights w (m,), predictions p = Q(Y = 1), c = P(Y = 1 given p).

With d_i = (p_i - c_i)(1, -1), the difference of the conditional means, and M = W^(1/2) K W^(1/2), W = diag(w),

    CKCE(ridge) = tr(B' M B), B = (M + ridge I)^-1 W^(1/2) d     the regularised operators' distance (eq. 5, ridge of eq. 4)
    JKCE        = tr(d' W K W d)                                 (eq. 7)
    ECE         = sum_i w_i ||d_i||_1                            (eq. 6)

moskvichev2025 defines CKCE without the ridge and estimates it with n^(-1/4).
"""

import numpy as np


def linear_and_gaussian(gamma):
    """Kernel of two-column predictions: p . q + exp(-||p - q||^2 / (2 gamma^2)) (Section 3.2)."""

    def kernel(p):
        vectors = np.column_stack([1.0 - p, p])
        return vectors @ vectors.T + np.exp(-((p[:, None] - p) ** 2) / gamma**2)  # ||p - q||^2 is twice that of one column

    return kernel


def same(p):
    """The kernel 1{p = q} of Appendix A."""
    return (p[:, None] == p).astype(float)


def difference(p, c):
    return np.column_stack([c - p, p - c])


def ckce(w, p, c, kernel, ridges):
    """CKCE at every ridge, from one eigendecomposition."""
    root = np.sqrt(w)
    values, vectors = np.linalg.eigh(root[:, None] * kernel(p) * root)
    values = np.maximum(values, 0.0)
    along = ((vectors.T @ (root[:, None] * difference(p, c))) ** 2).sum(axis=1)
    return [float((values / (values + ridge) ** 2 * along).sum()) for ridge in ridges]


def jkce(w, p, c, kernel):
    d = w[:, None] * difference(p, c)
    return float((d * (kernel(p) @ d)).sum())


def ece(w, p, c):
    return float(w @ np.abs(difference(p, c)).sum(axis=1))


def ece_of_thirds(w, p, c):
    """What the estimator with three intervals per class converges to: the mean within a cell is taken before the distance."""
    first, second = (np.minimum(np.floor(3 * v), 2) for v in (1.0 - p, p))
    d = w[:, None] * difference(p, c)
    return float(sum(np.abs(d[(first == a) & (second == b)].sum(axis=0)).sum() for a in range(3) for b in range(3)))


def median_distance(w, p):
    """Population median of ||q - q'||_2 for two independent predictions on two columns, by pairs of nodes."""
    distance = np.sqrt(2.0) * np.abs(p[:, None] - p).ravel()
    order = np.argsort(distance)
    mass = np.cumsum(np.outer(w, w).ravel()[order])
    return float(distance[order][np.searchsorted(mass, 0.5)])
