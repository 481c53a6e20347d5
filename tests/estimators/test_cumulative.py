"""Cumulative residuals: closed forms, other code, invariances and edge cases."""

import math

import numpy as np
import pytest
from literature import golden, value

from harness.estimators import Cumulative
from harness.estimators.cumulative import largest_tail, range_tail


def test_cumulative_residuals_by_hand():
    """p = .2 .4 .8, y = 1 0 0: c = 0, .8, .4, -.4 over 3; sigma^2 = (.16 + .24 + .16) / 9."""
    p, y = [0.8, 0.2, 0.4], [0, 1, 0]
    assert value(Cumulative("ks"), p, y) == pytest.approx(0.8 / 3)
    assert value(Cumulative("kuiper"), p, y) == pytest.approx(1.2 / 3)
    parts = Cumulative("kuiper")(np.array(p), np.array(y))["p_value"].diagnostics
    assert parts["sigma"] == pytest.approx(math.sqrt(0.56) / 3)
    assert parts["scaled"] == pytest.approx(1.2 / math.sqrt(0.56))


def test_equal_predictions_are_added_together():
    p = [0.5] * 4 + [0.9]
    for y in ([1, 1, 0, 0, 1], [0, 1, 0, 1, 1]):
        assert (
            value(Cumulative("ks"), p, y)
            == pytest.approx(0.1 / 5)
            == value(Cumulative("kuiper"), p, y)
        )


@pytest.mark.golden
def test_cumulative_errors_of_mcgrad_and_of_the_authors_of_ks(inputs):
    rows = golden("mcgrad", "spline-calibration")
    assert len(rows) == 8
    for name, _, quantity, expected in rows:
        p, y = inputs[f"{name}_p"], inputs[f"{name}_y"]
        statistic = "ks" if quantity == "KS" else "kuiper"
        estimates = Cumulative(statistic)(p, y)
        if quantity == "ecce_sigma":
            ours = estimates["kuiper"].diagnostics["scaled"]
        else:
            ours = estimates["p_value" if quantity == "ecce_pvalue" else statistic].value
        assert ours == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(
    "tail, switch, mean",
    [(largest_tail, 1.0, math.sqrt(math.pi / 2)), (range_tail, 1.5, math.sqrt(8 / math.pi))],
)
def test_both_series_of_a_tail_agree_where_they_meet(tail, switch, mean):
    x = np.linspace(0.0, 12.0, 4001)
    of_x = np.array([tail(t) for t in x])
    assert np.trapezoid(of_x, x) == pytest.approx(mean, abs=1e-6)
    assert tail(switch - 1e-12) == pytest.approx(tail(switch), abs=1e-11)
    assert all(np.diff(of_x) <= 1e-15)
    assert of_x[0] == 1.0
    assert 0.0 < tail(10.0) < 1e-20
    assert tail(math.inf) == 0.0


@pytest.mark.parametrize("statistic", ["ks", "kuiper"])
def test_with_few_expected_events_an_unlikely_outcome_is_no_proof_but_an_impossible_one_is(
    statistic,
):
    p, y = np.append(np.zeros(5), np.full(100, 0.001)), np.arange(105) == 104
    assert value(Cumulative(statistic), p, y, "p_value") > 0.05
    assert value(Cumulative(statistic), p, y[::-1], "p_value") == 0.0
