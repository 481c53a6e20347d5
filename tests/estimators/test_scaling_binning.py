"""Scaling-binning: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import CONTINUOUS, NUMBERS, all_labels, probability, sample, values

from harness.estimators import ScalingBinning


@pytest.mark.golden
@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_root_equals_the_package(name):
    p, y = sample(name)
    assert values(ScalingBinning(), p, y)["rms"] == pytest.approx(
        NUMBERS[name]["rms_scaling_binning"], abs=1e-12
    )
    assert values(ScalingBinning(bins=10), p, y)["rms"] == pytest.approx(
        NUMBERS[name]["rms_scaling_binning_10"], abs=1e-12
    )


@pytest.mark.golden
def test_the_package_switches_to_the_values_of_a_binned_model():
    p, y = sample("nine")
    assert values(ScalingBinning(rule="auto"), p, y)["rms"] == pytest.approx(
        NUMBERS["nine"]["rms_values"], abs=1e-12
    )
    p, y = sample("over")
    assert values(ScalingBinning(rule="auto"), p, y) == values(ScalingBinning(), p, y)


def test_the_squared_error_of_values_is_unbiased_by_all_labels():
    """Ten samples of two values, each five times."""
    p, c, labels = np.repeat([0.2, 0.7], 5), np.repeat([0.4, 0.6], 5), all_labels(10)
    squared = np.array([values(ScalingBinning(rule="auto"), p, y)["l2_squared"] for y in labels])
    assert probability(labels, c) @ squared == pytest.approx((0.2**2 + 0.1**2) / 2, abs=1e-12)
