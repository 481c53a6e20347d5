"""Soft-binned error: values by hand, its two limits, and its place between simple bounds."""

import math

import numpy as np
import pytest
from samples import scalars

import harness
from harness import BadInputError
from harness.estimators import Binned
from harness.estimators.soft_binned import SoftBinned

THIRD = 0.25 / math.log(3)  # a sample in the centre of one of two bins has weight 3/4 there


def values(estimator, p, y):
    return {name: e.value for name, e in estimator(np.asarray(p), np.asarray(y)).items()}


def test_two_samples_by_hand():
    """Residuals -3/4 and 3/4 give gaps -3/8 and 3/8; residuals 1/4 and 3/4 give 3/8 and 5/8."""
    soft = SoftBinned(2, THIRD)
    opposite = values(soft, [0.25, 0.75], [1, 0])
    assert opposite == pytest.approx({"l1": 3 / 8, "l2_squared": 9 / 64, "rms": 3 / 8})
    same = values(soft, [0.25, 0.75], [0, 0])
    assert same == pytest.approx({"l1": 0.5, "l2_squared": 17 / 64, "rms": math.sqrt(17) / 8})


def test_the_formula_with_loops():
    p, y = scalars(40, seed=3)
    bins, temperature = 7, 0.02
    l1 = squared = 0.0
    for j in range(bins):
        weight = [
            math.exp(-((x - (j + 0.5) / bins) ** 2) / temperature)
            / sum(math.exp(-((x - (m + 0.5) / bins) ** 2) / temperature) for m in range(bins))
            for x in p
        ]
        gap = sum(w * (x - hit) for w, x, hit in zip(weight, p, y)) / sum(weight)
        l1 += sum(weight) / len(p) * abs(gap)
        squared += sum(weight) / len(p) * gap**2
    ours = values(SoftBinned(bins, temperature), p, y)
    assert ours == pytest.approx({"l1": l1, "l2_squared": squared, "rms": math.sqrt(squared)})


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_cold_bins_are_hard_bins_of_equal_width(bins):
    p, y = scalars(500)
    hard = {name: e.value for name, e in Binned(bins)(p, y).items() if name != "linf"}
    assert values(SoftBinned(bins, 1e-12), p, y) == pytest.approx(hard, abs=1e-12)


def test_a_prediction_on_an_edge_is_in_both_bins():
    """Both bins of the first sample have the gap -1/2, so that the errors are those of one bin."""
    on_edge = values(SoftBinned(2, 1e-12), [0.5], [1])
    assert on_edge == pytest.approx({"l1": 0.5, "l2_squared": 0.25, "rms": 0.5})
    shared = values(SoftBinned(2, 1e-12), [0.5, 0.2], [1, 0])  # (-1/4 + 1/5) / 2 and -1/4 / 2
    assert shared["l1"] == pytest.approx((0.05 + 0.25) / 2)


def test_hot_bins_are_one_bin():
    p, y = scalars(300)
    gap = abs(p.mean() - y.mean())
    hot = values(SoftBinned(10, 1e9), p, y)
    assert hot == pytest.approx({"l1": gap, "l2_squared": gap**2, "rms": gap}, abs=1e-9)


@pytest.mark.parametrize("temperature", [1e-12, 1e-4, 0.001, 0.1, 10.0])
def test_bounds_at_every_temperature(temperature):
    """|mean p - mean y| <= l1 <= rms, and l1 <= mean |p - y|; p of 0 and 1 are as others."""
    p, y = scalars(200, seed=1)
    p[:5], p[5:10] = 0.0, 1.0
    soft = values(SoftBinned(15, temperature), p, y)
    assert abs(p.mean() - y.mean()) <= soft["l1"] + 1e-12
    assert soft["l1"] <= min(soft["rms"], np.abs(p - y).mean()) + 1e-12


def test_less_noise_than_hard_bins_on_calibrated_samples():
    problem = harness.load_problem("beta_calibrated")
    samples = [problem.sample(200, np.random.default_rng([5, i])) for i in range(100)]
    soft, hard = (
        np.array([values(estimator, p, y)["l1"] for p, y in samples])
        for estimator in (SoftBinned(15, 0.01), Binned(15))
    )
    error = (hard - soft).std(ddof=1) / 10
    assert (hard - soft).mean() > 4 * error


@pytest.mark.parametrize(
    "changed", [{"temperature": 1e-13}, {"temperature": math.inf}, {"bins": 0}]
)
def test_a_field_out_of_range_is_named(changed):
    with pytest.raises(BadInputError, match=next(iter(changed))):
        harness.load_estimator("soft_binned15", **changed)
