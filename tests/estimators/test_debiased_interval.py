"""Interval of the debiased squared error: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import ALL, NUMBERS, all_labels, probability, sample
from scipy.stats import norm

from harness.estimators import DebiasedInterval
from harness.estimators.debiased_interval import variance


@pytest.mark.golden
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bins", [5, 15])
def test_the_interval_follows_from_the_authors_statistic_and_variance(name, bins):
    (p, y), (value, v) = sample(name), NUMBERS[name][f"ci_{bins}"]
    estimate = DebiasedInterval(bins=bins)(p, y)["l2_squared"]
    index = np.searchsorted(np.arange(1, bins) / bins, p, side="right")
    sizes, sums, squares = (
        np.bincount(index, x, minlength=bins) for x in (np.ones(len(p)), y - p, (y - p) ** 2)
    )
    assert estimate.value == pytest.approx(value, abs=1e-12)
    assert variance(sizes, sums, squares) == pytest.approx(v, abs=1e-12)
    top, s = max(value, 0.0), np.sqrt(v / len(p))
    assert estimate.high == pytest.approx(top + norm.ppf(0.975) * s, abs=1e-12)
    if value < norm.ppf(0.95) * estimate.diagnostics["null_sd"]:
        assert estimate.low == 0.0
    elif top >= 2 * norm.ppf(0.975) * s:
        assert estimate.low == pytest.approx(top - norm.ppf(0.975) * s, abs=1e-12)
    else:
        assert estimate.low == pytest.approx(
            top / 2 if top >= 2 * norm.ppf(0.95) * s else max(top - norm.ppf(0.95) * s, 0),
            abs=1e-12,
        )


def test_mean_and_null_deviation_by_all_labels():
    """All 32 labels of five samples in two bins: exact mean, and null_sd under calibration."""
    p, c = np.array([0.1, 0.2, 0.4, 0.6, 0.9]), np.array([0.3, 0.6, 0.5, 0.5, 0.7])
    labels, estimator = all_labels(5), DebiasedInterval(bins=2)
    estimates = [estimator(p, y)["l2_squared"] for y in labels]
    t = np.array([e.value for e in estimates])
    d = c - p
    expected = (2 * (d[0] * d[1] + d[0] * d[2] + d[1] * d[2]) / 2 + 2 * d[3] * d[4]) / 5
    assert probability(labels, c) @ t == pytest.approx(expected, abs=1e-12)
    null = probability(labels, p)
    assert null @ t == pytest.approx(0.0, abs=1e-12)
    assert {round(e.diagnostics["null_sd"], 12) for e in estimates} == {
        round(np.sqrt(null @ t**2), 12)
    }
