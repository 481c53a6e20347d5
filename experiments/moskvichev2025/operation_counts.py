"""Multiplications of the three ways to compute CKCE, counted while the code runs.

Times depend on the machine, its load and its libraries. So the code here is plain, and adds up the
size of every product of two arrays as it is computed. Additions, square roots and the evaluations
of the kernel are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Count:
    """Number of multiplications by the name of the step."""

    steps: dict[str, int] = field(default_factory=dict)

    def product(self, step: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a b for matrices a (m, n) and b (n, k), and count m n k multiplications."""
        self.steps[step] = self.steps.get(step, 0) + a.shape[0] * a.shape[1] * b.shape[1]
        return np.asarray(a @ b)

    def total(self, *steps: str) -> int:
        """Return the multiplications of some steps, or of all."""
        return sum(self.steps[step] for step in steps or self.steps)


def solve(count: Count, step: str, matrix: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return matrix^-1 b by Cholesky, for a positive definite matrix (m, m) and b (m, k)."""
    m = len(matrix)
    lower = np.zeros((m, m))
    for j in range(m):
        column = matrix[j:, j] - count.product(step, lower[j:, :j], lower[j, :j, None])[:, 0]
        lower[j:, j] = column / np.sqrt(column[0])
    x = np.array(b, dtype=float)
    for j in range(m):  # L x = b
        x[j] = (x[j] - count.product(step, lower[j : j + 1, :j], x[:j])[0]) / lower[j, j]
    for j in reversed(range(m)):  # L' x = b
        x[j] = (x[j] - count.product(step, lower[j + 1 :, j][None], x[j + 1 :])[0]) / lower[j, j]
    return x


def by_gram_matrix(count: Count, kernel: np.ndarray, r: np.ndarray, ridge: float) -> float:
    """Return CKCE from the kernel matrix (n, n) and residuals r (n, k), as in Section 3.1."""
    w = solve(count, "inverse", kernel + len(r) * ridge * np.eye(len(r)), r)
    return float((w * count.product("products", kernel, w)).sum())


def by_features(count: Count, features: np.ndarray, r: np.ndarray, ridge: float) -> float:
    """Return CKCE from m features (n, m) and residuals r (n, k), as in Appendix B."""
    n, m = features.shape
    system = count.product("products", features.T, features) + n * ridge * np.eye(m)
    c = solve(count, "inverse", system, count.product("products", features.T, r))
    return float((c**2).sum())


def incomplete_cholesky(
    count: Count, column: Callable[[int], np.ndarray], diagonal: np.ndarray, rank: int
) -> np.ndarray:
    """Return L (n, rank) with L L' about K, pivoting on the largest remaining diagonal.

    `column(j)` returns column j of K (n, n). Reference: Fine and Scheinberg (2002).
    """
    left = diagonal.astype(float)
    factor = np.zeros((len(left), rank))
    for j in range(rank):
        pivot = int(left.argmax())
        known = count.product("factor", factor[:, :j], factor[pivot, :j, None])[:, 0]
        factor[:, j] = (column(pivot) - known) / np.sqrt(left[pivot])
        left = np.maximum(left - factor[:, j] ** 2, 0.0)
    return factor
