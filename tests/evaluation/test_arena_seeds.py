"""Verdicts of two runs with other draws: kept, lost and reversed ones, by hand and for equals."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from harness.evaluation import arena

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from arena_seeds import statements, summary  # noqa: E402

DEVELOPMENT = ["f0", "f1"]


def run(seed, scales, families=10, reps=12):
    """Settings of estimators whose errors are normal with these scales, one problem per family."""
    rng = np.random.default_rng(seed)
    names = [f"p{i}" for i in range(families)]
    index = pd.MultiIndex.from_product(
        [names, scales, range(reps)], names=["problem", "estimator", "rep"]
    )
    frame = index.to_frame(index=False)
    frame["value"] = 0.3 + frame["estimator"].map(scales) * rng.normal(size=len(frame))
    frame = frame.assign(notion="binary", n=100, estimand="l1", truth=0.3, status="ok")
    frame = frame.assign(kind="point", cpu_seconds=0.1, low=np.nan, high=np.nan)
    groups = {f"f{i}": [name] for i, name in enumerate(names)}
    return arena.settings(frame, groups, dict.fromkeys(names, 2))


def test_a_clear_difference_is_established_again_and_a_swapped_one_is_reversed():
    good, swapped = {"best_fast": 0.05, "b": 0.2, "c": 0.5}, {"best_fast": 0.5, "b": 0.1, "c": 0.5}
    same = statements(run(0, good), run(1, good), DEVELOPMENT)
    assert same["rival"].tolist() == ["b"] and same["verdict"].tolist() == ["better"]
    counts = summary(same)
    assert counts["again"] == counts["established"] == counts["statements"] == 1
    other = statements(run(0, good), run(1, swapped), DEVELOPMENT)
    assert other["verdict_again"].tolist() == ["worse"] and summary(other)["reversed"] == 1


def test_equals_are_not_established_again():
    equal = {"best_fast": 0.1, "b": 0.1}
    counts = summary(statements(run(2, equal), run(3, equal), DEVELOPMENT))
    assert counts["established"] == counts["new"] == 0
    assert counts["undecided"] == counts["statements"] == 1
