"""Debiased L1 error: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import CONTINUOUS, NUMBERS, sample, values
from scipy.stats import binom, norm

from harness.estimators import NormalDebiased
from harness.estimators.binned import bin_means
from harness.estimators.normal_debiased import folded_mean


def test_folded_mean_is_the_integral():
    x = np.linspace(-12, 12, 200001)
    for mean, deviation in ((0.0, 1.0), (0.4, 0.7), (2.0, 0.3)):
        expected = np.trapezoid(np.abs(mean + deviation * x) * norm.pdf(x), x)
        assert folded_mean(np.array([mean]), np.array([deviation]))[0] == pytest.approx(
            expected, rel=1e-7
        )
    assert folded_mean(np.array([0.3]), np.array([0.0]))[0] == 0.3


@pytest.mark.golden
@pytest.mark.parametrize("name", CONTINUOUS)
def test_debiased_l1_equals_the_package_up_to_its_resampling(name):
    expected, error, plug_in = NUMBERS[name]["normal_debiased"]
    p, y = sample(name)
    sizes, mean_p, mean_y = bin_means(p, y, 15, "mass")
    assert sizes / len(p) @ np.abs(mean_p - mean_y) == pytest.approx(plug_in, abs=1e-12)
    assert values(NormalDebiased(), p, y)["l1"] == pytest.approx(expected, abs=4 * error)


def test_debiased_l1_keeps_a_known_share_of_the_excess():
    """One bin of 400 samples of probability 1/2 keeps 2 - sqrt 2 of the plug-in's excess."""
    n, estimator = 400, NormalDebiased(bins=1)
    law = binom.pmf(np.arange(n + 1), n, 0.5)
    likely = np.flatnonzero(law > 1e-9)
    p = np.full(n, 0.5)
    debiased = np.array([values(estimator, p, np.arange(n) < k)["l1"] for k in likely])
    assert law[likely] @ debiased / (law[likely] @ np.abs(likely / n - 0.5)) == pytest.approx(
        2 - np.sqrt(2), abs=0.005
    )
