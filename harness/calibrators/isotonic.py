"""Isotonic regression, one-versus-rest for vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Isotonic:
    """Isotonic regression; one-versus-rest for vectors.

        q minimises sum_i (q(p_i) - y_i)^2 over non-decreasing q

    Between the fitted points q interpolates linearly, outside them it is constant (scikit-learn's IsotonicRegression with
    out_of_bounds="clip"). Vectors: one q_j per class, on p_j against 1{y = j}, divided by the row's sum (1/k where all are 0).

    Notes
    -----
    No parameter to choose. Its error decreases with n^(-1/3) where E[Y given p] increases with p. Determinism: exact. Cost:
    O(k n log n).

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability estimates.
    berta2026, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> q = Isotonic().fit(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 1, 0, 1]))
    >>> q(np.array([0.0, 0.2, 0.6, 0.75, 0.9]))
    array([0.  , 0.5 , 0.5 , 0.75, 1.  ])
    """

    determinism = "exact"

    def fit(self, p, y, rng=None):
        from sklearn.isotonic import IsotonicRegression

        def one(x, hit):
            return IsotonicRegression(out_of_bounds="clip").fit(x, hit).predict

        if p.ndim == 1:
            return one(p, y)
        per_class = [one(p[:, j], y == j) for j in range(p.shape[1])]

        def q(x):
            scores = np.column_stack([predict(x[:, j]) for j, predict in enumerate(per_class)])
            total = scores.sum(axis=1, keepdims=True)
            return np.divide(scores, total, out=np.full_like(scores, 1.0 / scores.shape[1]), where=total > 0)

        return q
