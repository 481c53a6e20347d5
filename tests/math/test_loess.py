"""Loess: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import LOESS
from numpy.random import default_rng

import harness
from harness.math import loess as loess_module
from harness.math.loess import loess


@pytest.mark.golden
@pytest.mark.parametrize("span", [0.4, 0.75, 1.0])
@pytest.mark.parametrize("name", LOESS)
def test_the_curve_is_that_of_cleveland_and_grosse(name, span):
    sample = LOESS[name]
    p, y = np.array(sample["p"]), np.array(sample["y"])
    assert loess(p, y, span) == pytest.approx(np.array(sample["curves"][str(span)]), abs=1e-11)


def test_a_quadratic_is_reproduced():
    p = default_rng(0).random(50)
    assert loess(p, p**2 - p, 0.3) == pytest.approx(p**2 - p, abs=1e-12)


def test_five_points_by_hand():
    """q is 4. At 0, h is 3/4, so that three points have a positive weight and are interpolated.

    At 1, the same holds by symmetry. At 1/2, h is 1/2, and three points have a positive weight.
    """
    p, y = np.arange(5) / 4, np.array([0, 1, 0, 1, 1])
    curve = loess(p, y, 0.8)
    assert curve[[0, 2, 4]] == pytest.approx(y[[0, 2, 4]], abs=1e-12)


def test_few_distinct_predictions_get_their_mean_outcome():
    p = np.repeat([0.1, 0.4, 0.9], [3, 2, 5])
    y = np.array([0, 1, 0, 1, 1, 0, 1, 1, 1, 0])
    means = np.repeat([1 / 3, 1.0, 3 / 5], [3, 2, 5])
    assert loess(p, y, 0.75) == pytest.approx(means, abs=1e-12)


def test_a_prediction_that_fills_the_span_gets_its_mean_outcome():
    p = np.concatenate([np.full(90, 0.5), np.linspace(0.1, 0.9, 10)])
    y = np.arange(100) % 2
    assert loess(p, y, 0.75)[:90] == pytest.approx(np.full(90, 0.5), abs=1e-12)


def test_groups_of_many_predictions_change_the_curve_little(monkeypatch):
    """Distances of about 1 / 500 are small against the bandwidth of three quarters of the rows."""
    p, y = harness.load_problem("beta_overconfident").sample(3000, default_rng(0))
    grouped = loess(p, y, 0.75)
    monkeypatch.setattr(loess_module, "MAX_VALUES", 3000)
    assert np.abs(grouped - loess(p, y, 0.75)).max() < 1e-3


def test_tiny_distances_cause_no_warning():
    p = np.array([0.0, 1e-320, 2e-320, 0.5, 1.0])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(loess(p, np.array([0, 1, 0, 1, 1]), 0.75)).all()
