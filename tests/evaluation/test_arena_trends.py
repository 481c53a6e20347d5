"""Typical errors by n: geometric mean over families, root mean square where the truth is 0."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.evaluation.arena.trends import trends


def settings(*rows):
    """Settings of one estimator from (family, problem, truth, rmse)."""
    table = pd.DataFrame(rows, columns=["family", "problem", "truth", "rmse"])
    table = table.assign(notion="binary", estimand="l1", n=100, estimator="a")
    return table.assign(calibrated=table["truth"].eq(0.0))


def test_problems_of_a_family_count_together():
    """Family p has the RMSEs 0.1 and 0.4, so 0.2; family q has 0.05."""
    table = settings(("p", "p1", 0.1, 0.1), ("p", "p2", 0.1, 0.4), ("q", "q1", 0.1, 0.05))
    (row,) = trends(table).to_dict("records")
    assert row["rmse"] == pytest.approx(0.1) and row["families"] == 2
    half = stats.t.ppf(0.975, 1) * math.log(2.0)  # sd of log 0.2 and log 0.05 is sqrt(2) log 2
    ends = [0.1 * math.exp(-half), 0.1 * math.exp(half)]
    assert [row["low"], row["high"]] == pytest.approx(ends)


def test_calibrated_problems_have_a_root_mean_square_of_their_own():
    """The squares 0.01 and 0.03 have the mean 0.02 and, over two families, the error 0.01."""
    table = settings(
        ("p", "p1", 0.0, 0.1), ("q", "q1", 0.0, math.sqrt(0.03)), ("q", "q2", 0.1, 0.5)
    )
    rows = trends(table).set_index("calibrated")
    assert rows["rmse"].to_dict() == pytest.approx({True: math.sqrt(0.02), False: 0.5})
    half = stats.t.ppf(0.975, 1) * 0.5 * 0.01 / 0.02  # delta method for log sqrt(mean)
    assert rows.loc[True, "high"] == pytest.approx(math.sqrt(0.02) * math.exp(half))
    assert np.isnan(rows.loc[False, ["low", "high"]].to_numpy(float)).all()  # one family


def test_equal_problems_of_one_family_are_no_evidence():
    """A family that is repeated ten times has as wide an interval as if it were there once."""
    once = [("p", "p0", 0.0, 0.1), ("q", "q0", 0.0, 0.3)]
    many = [(family, f"{family}{i}", truth, rmse) for family, _, truth, rmse in once
            for i in range(10)]  # fmt: skip
    columns = ["rmse", "low", "high", "families"]
    first, second = (trends(settings(*rows))[columns] for rows in (once, many))
    pd.testing.assert_frame_equal(first, second)


def test_development_families_count_only_where_the_truth_is_0():
    table = settings(("p", "p1", 0.1, 0.4), ("p", "p2", 0.0, 0.1), ("q", "q1", 0.1, 0.05))
    rows = trends(table, ["p"]).set_index("calibrated")
    assert rows["rmse"].to_dict() == pytest.approx({False: 0.05, True: 0.1})


def test_unknown_truths_and_missing_errors_are_left_out():
    table = settings(("p", "p1", math.nan, 0.1), ("q", "q1", 0.1, math.nan))
    assert trends(table).empty and list(trends(table))[-1] == "families"
    exact = trends(settings(("p", "p1", 0.0, 0.0), ("q", "q1", 0.0, 0.0)))
    assert exact["rmse"].between(0.0, 1e-9).all()
