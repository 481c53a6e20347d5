"""Kernel densities: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import ALL, NUMBERS, sample, values

from harness.estimators import KDETopLabel


@pytest.mark.golden
@pytest.mark.parametrize("name", ALL)
def test_kernel_densities_equal_the_authors(name):
    estimates = KDETopLabel()(*sample(name))
    assert estimates["l1"].value == pytest.approx(NUMBERS[name]["kde_l1"], abs=1e-9)
    assert estimates["l2_squared"].value == pytest.approx(NUMBERS[name]["kde_l2_squared"], abs=1e-9)
    assert estimates["l1"].diagnostics["bandwidth"] == pytest.approx(
        NUMBERS[name]["kde_bandwidth"], rel=1e-12
    )


@pytest.mark.parametrize("p", [0.05, 0.3, 0.97])
def test_kernel_densities_of_constant_predictions(p):
    errors = values(KDETopLabel(), np.full(10, p), [1] * 6 + [0] * 4)
    assert errors["l1"] == pytest.approx(abs(p - 0.6), abs=1e-3)
    assert values(KDETopLabel(), np.full(10, p), [0] * 10)["l1"] == pytest.approx(p, abs=1e-3)
