"""Statements of moskvichev2025 on regression and on costs, decided by computation.

See `propositions` for the others.
"""

from __future__ import annotations

import numpy as np

from harness.estimators.residual_kernels import fourier_features
from harness.evaluation.propositions import Proposition, smallest_margin
from harness.math.kernels import rbf
from harness.math.mean_operators import embedding_products, kernel_of_embeddings, operator_distance

from .normal_predictions import NormalPredictions
from .operation_counts import Count, by_features, by_gram_matrix, incomplete_cholesky

GAMMA, RIDGE, CLASSES = 0.3, 0.1, 3
SAMPLES, FEATURES, RANKS = (100, 200, 400), (10, 20), (10, 30)


def regression(size: int) -> Proposition:
    """Check that the CKCE of normal predictions sees wrong means and wrong standard deviations."""
    rng = np.random.default_rng(4)
    right, wrong = [], []
    for shift, factor in ((0.5, 1.0), (0.0, 0.5), (0.0, 0.8), (0.0, 1.25), (0.0, 2.0)):
        for _ in range(max(size // 10_000, 2)):
            m, s, w = rng.normal(0, 2, 3), rng.uniform(0.5, 2.0, 3), rng.dirichlet(np.full(3, 5.0))
            law = NormalPredictions(tuple(m), tuple(s), tuple(w), shift, factor)
            kernel = kernel_of_embeddings(embedding_products(m, s, m, s, 1.0), 1.0)
            right.append(law.ckce(ridge=RIDGE) - 1e-6)
            means = np.full((3, 3), shift**2)  # with the kernel y y', d_i is the error of the mean
            wrong.append(operator_distance(kernel, means, RIDGE, w) - 1e-6)
    return Proposition(
        place="Section 3.2, regression",
        quote="The CKCE can likewise be applied for regression problems",
        says="with Gaussian kernels, the CKCE of normal predictions with a wrong mean or standard "
        "deviation is above 0",
        computed="the CKCE of random laws of three normal predictions, in closed form; 1e-6 is "
        "subtracted",
        cases=len(right),
        result=smallest_margin(right),
        variant="the kernel y y' of outcomes, which compares means alone",
        variant_result=smallest_margin(wrong),
    )


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw predictions q (n, k) and residuals (n, k) of a calibrated model."""
    rng = np.random.default_rng(n)
    q = rng.dirichlet(np.ones(CLASSES), n)
    y = (rng.random((n, 1)) > np.cumsum(q, axis=1)).sum(axis=1).clip(0, CLASSES - 1)
    return q, np.eye(CLASSES)[y] - q


def cost_of_features(size: int) -> Proposition:
    """Count the multiplications of the estimate with random features (Appendix B)."""
    right, wrong = [], []
    for n in SAMPLES:
        q, r = sample(n)
        for d in FEATURES:
            phi, count = fourier_features(q, GAMMA, d, np.random.default_rng(0)), Count()
            by_features(count, phi, r, RIDGE)
            m = phi.shape[1]
            right.append(1.0 - count.total("inverse") / m**3)
            wrong.append(1.0 - count.total() / m**3)
    return Proposition(
        place="Appendix B",
        quote="reduced the computational cost from O(n^3) to O(m^3) with m << n",
        says="with m random features, the inverse takes at most m^3 multiplications, whatever n",
        computed="1 less the multiplications, counted while they are done, over m^3, for 100 to "
        "400 samples, and 23 and 43 features",
        cases=len(right),
        result=smallest_margin(right),
        variant="the whole estimate, with the products of n rows",
        variant_result=smallest_margin(wrong),
    )


def cost_of_incomplete_cholesky(size: int) -> Proposition:
    """Count the multiplications of the estimate with an incomplete Cholesky factor."""
    right, wrong, ratio = [], [], 0.0
    for n in SAMPLES:
        q, r = sample(n)
        kernel = rbf(q, q, 0.5 / GAMMA**2)
        gram = Count()
        by_gram_matrix(gram, kernel + q @ q.T, r, RIDGE)
        for rank in RANKS:
            count = Count()
            factor = incomplete_cholesky(
                count, lambda j, matrix=kernel: matrix[:, j], np.ones(n), rank
            )
            by_features(count, np.column_stack([q, factor]), r, RIDGE)
            m = rank + CLASSES
            right.append(1.0 - count.total() / (2 * n * m**2))
            wrong.append(1.0 - count.total() / (2 * m**3))
        ratio = gram.total() / count.total()
    return Proposition(
        place="Section 3.2, low rank",
        quote="low-rank approximations of the Gram matrix K_QQ such as incomplete Cholesky",
        says="with an incomplete Cholesky factor, the whole estimate takes at most 2 n m^2 "
        "multiplications; m counts its columns and the classes",
        computed="1 less the multiplications, counted while they are done, over 2 n m^2, for 100 "
        "to 400 samples and m = 13 and 33; the Gram matrix takes "
        f"{ratio:.0f} times as many at n = 400, m = 33",
        cases=len(right),
        result=smallest_margin(right),
        variant="at most 2 m^3, whatever n",
        variant_result=smallest_margin(wrong),
    )
