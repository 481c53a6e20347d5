"""Bounds and intervals in the arena: right side, distance, coverage and width, by hand."""

import math

import numpy as np
from test_arena import of, rows, settings_of

from harness.evaluation import arena
from harness.evaluation.arena.bounds import narrowest_width


def test_bounds_by_hand():
    """The truth is 0.3. `low` is below it on p and above it on q, `high` always above it."""
    low = [rows("low", values, name, kind="lower", low=0.0)
           for name, values in (("p", [0.2, 0.2]), ("q", [0.4, 0.4]))]  # fmt: skip
    high = [rows("high", [0.35, 0.35], name, kind="upper", high=0.35) for name in "pq"]
    wide = [rows("wide", [0.3, 0.3], name, kind="interval", low=0.1, high=0.6) for name in "pq"]
    point = [rows("a", [0.31, 0.29], name) for name in "pq"]
    table = arena.bounds(settings_of(*low, *high, *wide, *point))
    assert table["estimator"].tolist() == ["wide", "high", "low"]
    assert table["kind"].tolist() == ["interval", "upper", "lower"]
    assert table["valid"].tolist() == [1.0, 1.0, 0.5] and table["settings"].tolist() == [2] * 3
    assert np.allclose(table["gap"], [0.5, 0.05, 0.1]) and np.allclose(table["cpu_seconds"], 0.5)


def test_a_lower_bound_in_expectation_may_exceed_the_truth_by_chance():
    """Values 0.1 and 0.52 around a truth of 0.3: their mean 0.31 is within two of its errors."""
    table = arena.bounds(settings_of(rows("variational_isotonic", [0.1, 0.52])))
    assert (of(table, "variational_isotonic", "kind"), table["valid"][0]) == ("lower", 1.0)


def test_a_truth_of_zero_counts_for_no_bound():
    assert not len(arena.bounds(settings_of(rows("x", [0.0], kind="lower", low=0.0, truth=0.0))))


def test_intervals_by_hand():
    """Two families: the interval covers in both replications of p, and in none of q.

    The errors are -0.1 and 0.1 on p, and 0.3 and 0.5 on q, so that [value - 0.5, value + 0.1] is
    the narrowest interval of fixed width that covers all.
    """
    table = settings_of(
        rows("a", [0.2, 0.4], low=0.1, high=0.5),
        rows("a", [0.6, 0.8], "q", low=0.5, high=0.9),
        rows("a", [0.0, 0.0], "r", truth=0.0, low=0.0, high=0.9),
        rows("b", [0.3, 0.3]),
    )
    row = arena.interval_table(table).iloc[0]
    assert (row["coverage"], row["lowest"], row["lowest_family"]) == (0.5, 0.0, "wavy")
    assert (row["families"], row["problems"], row["share"]) == (2, 2, 0.5)
    assert row["coverage_calibrated"] == 1.0 and math.isclose(row["width"], 0.4)
    assert math.isclose(row["relative_width"], 0.4 / 0.6)
    assert len(arena.interval_table(table)) == 1


def test_the_narrowest_interval():
    """Of ten values, nine are within 1; the weight of one value can make it indispensable."""
    values, even = np.array([*np.linspace(0, 1, 9), 50.0]), np.full(10, 0.1)
    assert narrowest_width(values, even, 0.9) == 1.0
    assert narrowest_width(values, even, 0.93) == 50.0
    heavy = np.array([*np.full(9, 0.05), 0.55])
    assert narrowest_width(values, heavy, 0.5) == 0.0
    assert narrowest_width(np.array([3.0]), np.array([1.0])) == 0.0
