"""The comparison on tables of real predictions: records of an estimate, and its scores."""

import sys
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.evaluation import arena

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import best_tables  # noqa: E402


def test_an_estimate_becomes_a_record_of_each_main_estimand():
    p, y = np.array([0.2, 0.4, 0.6, 0.8] * 10), np.array([0, 0, 1, 1] * 10)
    rows = best_tables.estimates("binned15", p, y, 0)
    assert list(rows) == list(arena.MAIN)
    assert rows["l1"]["value"] == pytest.approx(0.3) and rows["l1"]["status"] == "ok"
    own = harness.estimate("best", p, y, "binary", 3)["l1"]
    found = best_tables.estimates("best", p, y, 3)["l1"]
    assert (found["value"], found["low"], found["high"]) == (own.value, own.low, own.high)


def test_the_scores_of_a_table_are_those_of_its_most_frequent_or_top_class(monkeypatch):
    class Member:
        n_max = 3

        def sample(self, n, rng):
            return np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6]]), [1, 1, 2]

    class Tasks:
        def __init__(self, repository, datasets):
            assert datasets == ("one",)

        def members(self):
            return {"one/0/a": Member(), "one/0/b": Member()}

    monkeypatch.setattr(best_tables, "TabRepoTasks", Tasks)
    p, y = best_tables.scores("one", "binary")
    assert p.tolist() == [0.3, 0.7, 0.2] * 2 and y.tolist() == [1, 1, 0] * 2
    p, y = best_tables.scores("one", "top_label")
    assert p.tolist() == [0.5, 0.7, 0.6] * 2 and y.tolist() == [0, 1, 1] * 2
