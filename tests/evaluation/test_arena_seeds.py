"""Statements of two runs with other draws: kept, lost and reversed ones, by hand and for equals."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from harness.evaluation import arena

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from arena_seeds import statements, summary  # noqa: E402


def run(seed, scales, problems=8, reps=12):
    """Settings of estimators whose errors are normal with these scales."""
    rng = np.random.default_rng(seed)
    names = [f"p{i}" for i in range(problems)]
    index = pd.MultiIndex.from_product(
        [names, scales, range(reps)], names=["problem", "estimator", "rep"]
    )
    frame = index.to_frame(index=False)
    frame["value"] = 0.3 + frame["estimator"].map(scales) * rng.normal(size=len(frame))
    frame = frame.assign(notion="binary", n=100, estimand="l1", truth=0.3, status="ok")
    frame = frame.assign(kind="point", cpu_seconds=0.1, low=np.nan, high=np.nan)
    return arena.settings(frame, {"power": names}, dict.fromkeys(names, 2))


def test_a_clear_difference_is_established_again_and_a_swapped_one_is_reversed():
    good, swapped = {"a": 0.05, "b": 0.2, "c": 0.21}, {"a": 0.2, "b": 0.05, "c": 0.21}
    same = statements(run(0, good), run(1, good), resamples=200)
    counts = summary(same)
    assert len(same) == 5 and counts["again"] == counts["established"] >= 4
    assert counts["reversed"] == counts["lost"] == 0 and set(same["first"]) == {"a"}
    assert same.loc[same["about"].eq("leaderboard"), "second"].tolist() == ["b", "c"]
    other = statements(run(0, good), run(1, swapped), resamples=200)
    worse = other["second"].eq("b")
    assert other.loc[worse, "verdict_again"].eq("worse").all()
    assert summary(other)["reversed"] == worse.sum() >= 1


def test_equals_are_not_established_again():
    equal = {"a": 0.1, "b": 0.1}
    counts = summary(statements(run(2, equal), run(3, equal), resamples=200))
    assert counts["established"] == counts["new"] == 0
    assert counts["undecided"] == counts["statements"] == 4
