"""Normal predictions with exact errors, and counted multiplications of three ways to CKCE."""

import numpy as np
import pytest
from harness.experiments.moskvichev2025.normal_predictions import NormalPredictions
from harness.experiments.moskvichev2025.operation_counts import (
    Count,
    by_features,
    by_gram_matrix,
    incomplete_cholesky,
    solve,
)

from harness.errors import BadInputError
from harness.estimators import CKCE
from harness.math.kernels import rbf
from harness.math.mean_operators import regression_ckce


def test_one_prediction_by_hand():
    """N(0, s^2) against N(d, t^2), width w, K = 1: MMD^2 / (1 + ridge)^2. MMD^2 is w / sqrt(w^2 +
    2 s^2) + w / sqrt(w^2 + 2 t^2) - 2 w / u exp(-d^2 / (2 u^2)), with u^2 = w^2 + s^2 + t^2."""
    s, t, d, w = 1.0, 1.5, 0.7, 0.8
    law = NormalPredictions((0.0,), (s,), (1.0,), shift=d, factor=t / s)
    u = w**2 + s**2 + t**2
    mmd = w / (w**2 + 2 * s**2) ** 0.5 + w / (w**2 + 2 * t**2) ** 0.5
    mmd -= 2 * w / u**0.5 * np.exp(-(d**2) / (2 * u))
    for ridge in (0.0, 0.3):
        assert law.ckce(width=w, ridge=ridge) == pytest.approx(mmd / (1 + ridge) ** 2, rel=1e-10)


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (0.8, 1.0), (0.0, 2.0)])
def test_estimates_tend_to_the_exact_value(shift, factor):
    """Eight samples of 600, ridge 0.1: within four standard errors and the noise of a calibrated
    model, which is below 2 tr(A K A) <= 2 / (4 ridge n) for outcomes whose kernel is at most 1."""
    law, n = NormalPredictions(shift=shift, factor=factor), 600
    samples = [law.sample(n, np.random.default_rng(seed)) for seed in range(8)]
    values = [regression_ckce(m, s, y, ridge=0.1) for m, s, y in samples]
    error = np.std(values, ddof=1) / 8**0.5
    exact = law.ckce(ridge=0.1)
    assert (exact == 0.0) == (shift == 0.0 and factor == 1.0)
    assert abs(np.mean(values) - exact) < 4 * error + 2 / (4 * 0.1 * n)


def test_samples_have_the_stated_moments():
    law, n = NormalPredictions(shift=0.5, factor=2.0), 60_000
    m, s, y = law.sample(n, np.random.default_rng(0))
    z = (y - m - 0.5) / (2.0 * s)
    assert abs(z.mean()) < 4.5 / n**0.5
    assert z.var() == pytest.approx(1.0, abs=4.5 * (2 / n) ** 0.5)
    assert np.mean(m == 1.5) == pytest.approx(0.3, abs=4.5 * 0.5 / n**0.5)


def test_laws_that_are_none_are_refused():
    for wrong in ({"sds": (1.0,)}, {"weights": (0.5, 0.5, 0.5)}, {"factor": 0.0}):
        with pytest.raises(BadInputError):
            NormalPredictions(**wrong)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1, 1, 1], 30)
    y = rng.integers(3, size=30)
    return q, y, np.eye(3)[y] - q


def test_what_is_counted_computes_ckce(sample):
    """The Gram matrix, and an incomplete Cholesky factor of full rank."""
    q, y, r = sample
    kernel = rbf(q, q, 0.5 / 0.4**2)
    expected = CKCE(gamma=0.4, ridge=0.1, method="cholesky")(q, y)["ckce"].value
    assert by_gram_matrix(Count(), kernel + q @ q.T, r, 0.1) == pytest.approx(expected, rel=1e-9)
    factor = incomplete_cholesky(Count(), lambda j: kernel[:, j], np.ones(30), 20)
    value = by_features(Count(), np.column_stack([q, factor]), r, 0.1)
    assert value == pytest.approx(expected, rel=1e-3)


def test_counts_by_hand():
    """A product (2, 3) (3, 4) has 24. A Cholesky decomposition of size m has sum_j j (m - j) and
    two triangular systems with k right-hand sides have m (m - 1) k. A factor has n j per column."""
    count = Count()
    count.product("a", np.ones((2, 3)), np.ones((3, 4)))
    assert count.total("a") == count.total() == 24
    m, k = 5, 2
    matrix = np.diag(np.arange(1.0, m + 1)) + 0.1
    x = solve(count, "b", matrix, np.ones((m, k)))
    assert matrix @ x == pytest.approx(np.ones((m, k)))
    assert count.total("b") == sum(j * (m - j) for j in range(m)) + m * (m - 1) * k
    incomplete_cholesky(count, lambda j: matrix[:, j], matrix.diagonal(), 3)
    assert count.total("factor") == m * (0 + 1 + 2)
