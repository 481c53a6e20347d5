"""Root of the Brier score: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import sample
from scipy.stats import binom

from harness.estimators import RootBrier


@pytest.mark.golden
def test_root_brier_on_two_columns_is_twice_the_scalar():
    p, y = sample("over")
    scalar, vector = RootBrier()(p, y), RootBrier()(np.column_stack([1 - p, p]), y)
    assert vector["l2_squared"].high == pytest.approx(2 * scalar["l2_squared"].high, rel=1e-12)
    assert scalar["l1"].diagnostics["rbs"] == pytest.approx(np.sqrt(np.mean((p - y) ** 2)))
    assert (
        scalar["rms"].high == scalar["l1"].high == pytest.approx(np.sqrt(scalar["l2_squared"].high))
    )
    assert set(vector) == {"l2", "rms", "l2_squared"}
    assert all(e.kind == "upper" for e in vector.values())


@pytest.mark.parametrize(("n", "c"), [(10, 0.3), (50, 0.1), (50, 0.9), (200, 0.5)])
def test_root_brier_holds_at_its_level_exactly(n, c):
    """p = 1: the error is 1 - c, the bound a function of the number of outcomes."""
    law = binom.pmf(np.arange(n + 1), n, c)
    above = [
        RootBrier()(np.ones(n), (np.arange(n) < k).astype(int))["l1"].high >= 1 - c
        for k in range(n + 1)
    ]
    assert 0.95 <= law @ above
