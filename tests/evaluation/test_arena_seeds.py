"""Statements of two runs with other draws: what is kept, lost and reversed, by hand and where two estimators are equals."""

import numpy as np
import pandas as pd
import pytest

from harness.errors import BadInputError
from harness.evaluation import arena, arena_seeds


def run(seed, scales, problems=8, reps=12):
    """Estimators whose errors are normal with these scales."""
    rng = np.random.default_rng(seed)
    rows = []
    for problem in range(problems):
        for estimator, scale in scales.items():
            for rep in range(reps):
                one = {
                    "problem": f"p{problem}",
                    "notion": "binary",
                    "n": 100,
                    "rep": rep,
                    "estimator": estimator,
                    "estimand": "l1",
                }
                one |= {
                    "value": 0.3 + scale * rng.normal(),
                    "truth": 0.3,
                    "status": "ok",
                    "kind": "point",
                    "cpu_seconds": 0.1,
                }
                rows.append(one | {"low": np.nan, "high": np.nan})
    names = [f"p{i}" for i in range(problems)]
    return arena.settings(pd.DataFrame(rows), {"power": names}, dict.fromkeys(names, 2))


def test_a_clear_difference_is_found_again_and_a_swapped_one_is_reversed():
    good, swapped = {"a": 0.05, "b": 0.2, "c": 0.21}, {"a": 0.2, "b": 0.05, "c": 0.21}
    same = arena_seeds.statements(run(0, good), run(1, good), resamples=200)
    told = arena_seeds.summary(same)
    assert (
        len(same) == 5
        and told["again"] == told["established"] >= 4
        and told["reversed"] == told["lost"] == 0
    )
    assert set(same["first"]) == {"a"} and same.loc[
        same["about"].eq("leaderboard"), "second"
    ].tolist() == ["b", "c"]
    other = arena_seeds.statements(run(0, good), run(1, swapped), resamples=200)
    worse = other["second"].eq("b")
    assert (
        other.loc[worse, "verdict_again"].eq("worse").all()
        and arena_seeds.summary(other)["reversed"] == worse.sum() >= 1
    )


def test_equals_are_not_established_again():
    told = arena_seeds.summary(
        arena_seeds.statements(
            run(2, {"a": 0.1, "b": 0.1}), run(3, {"a": 0.1, "b": 0.1}), resamples=200
        )
    )
    assert told["established"] == told["new"] == 0 and told["undecided"] == told["statements"] == 4


def test_the_table_is_read_where_it_is(tmp_path):
    table = arena_seeds.statements(
        run(0, {"a": 0.05, "b": 0.2}), run(1, {"a": 0.05, "b": 0.2}), resamples=50
    )
    table.to_csv(tmp_path / "seeds.csv", index=False)
    assert arena_seeds.read(tmp_path) == {
        **arena_seeds.summary(table),
        "estimators": 2,
        "problems": 8,
    }
    table.drop(columns="ratio").to_csv(tmp_path / "seeds.csv", index=False)
    with pytest.raises(BadInputError, match="no column ratio"):
        arena_seeds.read(tmp_path)
