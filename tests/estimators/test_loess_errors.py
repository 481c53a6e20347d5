"""Errors from a loess curve: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import LOESS, values
from numpy.random import default_rng

import harness
from harness.estimators import LoessErrors


def test_errors_by_hand():
    """Two groups with mean outcomes 1/2 and 1, so that d is 0.3, 0.3, 0.4, 0.4."""
    numbers = values(LoessErrors(), [0.2, 0.2, 0.6, 0.6], [0, 1, 1, 1])
    assert numbers == pytest.approx(
        {"l1": 0.35, "e50": 0.35, "e90": 0.4, "linf": 0.4, "l2_squared": 0.125}
    )
    assert values(LoessErrors(), [0.3], [1])["l1"] == pytest.approx(0.7)  # a single row


@pytest.mark.golden
def test_errors_follow_the_curve_of_r():
    """Means, quantiles of type 7 and maxima of |p - curve|, from the curve of the golden file."""
    for sample in LOESS.values():
        p = np.array(sample["p"])
        d = np.sort(np.abs(p - np.array(sample["curves"]["0.75"])))
        numbers = values(LoessErrors(), p, sample["y"])
        place = 0.9 * (len(d) - 1)
        below = int(place)
        assert numbers["e90"] == pytest.approx(
            d[below] + (place - below) * (d[below + 1] - d[below]), abs=1e-11
        )
        assert numbers["l1"] == pytest.approx(d.mean(), abs=1e-11)
        assert numbers["linf"] == pytest.approx(d[-1], abs=1e-11)
        assert numbers["l2_squared"] == pytest.approx((d**2).mean(), abs=1e-11)


def test_relabelling_outcomes_keeps_the_errors():
    p, y = harness.load_problem("beta_overconfident").sample(200, default_rng(1))
    assert values(LoessErrors(), 1 - p, 1 - y) == pytest.approx(values(LoessErrors(), p, y))


def test_perfect_predictions_of_0_and_1():
    assert values(LoessErrors(), [0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1])["linf"] == pytest.approx(0.0)


def test_smooth_miscalibration_is_estimated_well():
    """The mean over 20 samples of 2,000 has a standard error of about 0.003, a bias of 0.004."""
    problem = harness.load_problem("beta_overconfident")
    samples = [problem.sample(2000, default_rng(seed)) for seed in range(20)]
    mean = np.mean([LoessErrors()(p, y)["l1"].value for p, y in samples])
    assert abs(mean - problem.truth("l1").value) < 0.015
