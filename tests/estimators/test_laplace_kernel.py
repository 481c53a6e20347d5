"""Error with Laplace's kernel: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import ALL, NUMBERS, sample, values

from harness.estimators import LaplaceKCE


def test_laplace_closed_form():
    errors = values(LaplaceKCE(), [0.0, 1.0], [1, 0])  # residuals 1 and -1 at distance 1
    assert errors["laplace_kce"] == pytest.approx(np.sqrt((1 - np.exp(-1)) / 2))
    assert errors["laplace_kce_squared"] == pytest.approx(-np.exp(-1))
    assert np.isnan(values(LaplaceKCE(), [0.3], [1])["laplace_kce_squared"])  # no pair


@pytest.mark.golden
@pytest.mark.parametrize("width", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ALL)
def test_laplace_sums_equal_the_double_sum(name, width):
    p, y = sample(name)
    products = np.outer(y - p, y - p) * np.exp(-np.abs(p[:, None] - p) / width)
    errors, n = values(LaplaceKCE(width), p, y), len(p)
    assert errors["laplace_kce"] == pytest.approx(np.sqrt(products.sum()) / n, abs=1e-10)
    assert errors["laplace_kce_squared"] == pytest.approx(
        (products.sum() - np.trace(products)) / n / (n - 1), abs=1e-10
    )


@pytest.mark.golden
@pytest.mark.parametrize("name", ALL)
def test_laplace_error_equals_the_package_over_all_pairs(name):
    assert values(LaplaceKCE(), *sample(name))["laplace_kce"] == pytest.approx(
        NUMBERS[name]["laplace"], abs=1e-9
    )
