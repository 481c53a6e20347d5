"""Isotonic regression, one-versus-rest for vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Isotonic:
    """q minimises sum_i (q(p_i) - y_i)^2 over non-decreasing q; between the fitted points it interpolates linearly and outside
    it is constant (scikit-learn's IsotonicRegression, out_of_bounds="clip"). Vectors: one q_j per class on p_j against
    1{y = j}, divided by the row sum (1/k where all are 0). O(k n log n). berta2026, Section 4."""

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
