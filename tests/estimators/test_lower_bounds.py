"""Variational estimators on every synthetic problem: mean at most the truth, valid bounds."""

import numpy as np
import pandas as pd
import pytest
from frozen import frozen_ids
from scipy import stats
from slow_params import slow

import harness

SYNTHETIC = [
    name
    for name in frozen_ids("problem")
    if name.startswith(("beta_", "dirichlet")) and not name.endswith("_legacy")
]
QUICK = ["isotonic", "temperature", "nadaraya_watson", "partition", "qs", "sms"]


def judged(out, estimators, *overrides):
    """Return evaluate() of a run on all synthetic problems, for estimands with known truth."""
    chosen = ",".join(f"variational_{name}" for name in estimators)
    records = harness.run(
        [f"problem=[{','.join(SYNTHETIC)}]", f"estimator=[{chosen}]", f"out={out}", *overrides]
    )
    table = harness.evaluate(records)
    failed = table[table["status"].eq("failed")]
    assert not len(failed), failed["reason"].iloc[0]
    table = table[table["status"].eq("ok") & table["truth"].notna()]
    assert len(table)
    return table


def exceeding(table):
    """Return rows whose mean exceeds the truth by more than 3 standard errors (Student's t)."""
    critical = stats.t.isf(stats.norm.sf(3.0), table["reps"] - 1)
    return table[
        table["mean"]
        > table["truth"] + critical * np.hypot(table["se"], table["truth_error"]) + 1e-12
    ]


def too_rare(table, level=0.95):
    """Return rows whose coverage is below the level less 3 standard errors.

    One row for each problem, and one for all problems of an estimator and estimand together: their
    samples are independent, so that the pooled bound is 5 times as near to the level.
    """
    bounded = table[table["coverage"].notna()]
    assert len(bounded)
    estimands = bounded.groupby(["estimator", "notion", "estimand"], as_index=False)
    pooled = estimands.agg(coverage=("coverage", "mean"), reps=("reps", "sum"))
    rows = pd.concat([bounded, pooled], ignore_index=True)
    return rows[rows["coverage"] < level - 3.0 * np.sqrt(level * (1.0 - level) / rows["reps"])]


MANY = pytest.mark.hours


@pytest.mark.parametrize(
    "n, reps",
    [*slow((200, 60), (1000, 30)), *(pytest.param(n, 500, marks=MANY) for n in (200, 1000))],
)
def test_quick_calibrators_on_every_problem(tmp_path, n, reps):
    table = judged(tmp_path, QUICK, f"n={n}", f"reps={reps}")
    columns = ["problem", "estimator", "estimand", "mean", "se", "truth", "coverage"]
    assert not len(too_rare(table)), too_rare(table)[columns].to_string()
    allowed = 0.003 * len(
        table
    )  # of so many comparisons at 3 standard errors a few fall out by chance
    assert len(exceeding(table)) <= allowed, exceeding(table)[columns].to_string()


@pytest.mark.parametrize("reps", [*slow(60), pytest.param(500, marks=MANY)])
def test_all_notions(tmp_path, reps):
    table = judged(tmp_path, ["isotonic", "temperature"], "n=300", f"reps={reps}", "notion=all")
    assert set(table["notion"]) == {"binary", "top_label", "classwise", "canonical"}
    assert not len(too_rare(table)), too_rare(table).to_string()
    assert len(exceeding(table)) <= 0.003 * len(table), exceeding(table).to_string()


@pytest.mark.hours
def test_warm_started_trees_on_every_problem(tmp_path):
    table = judged(tmp_path, ["catboost_ws", "lightgbm_ws"], "n=200", "reps=100")
    assert not len(too_rare(table)), too_rare(table).to_string()
    assert len(exceeding(table)) <= 0.003 * len(table), exceeding(table).to_string()


@pytest.mark.hours
def test_trees_from_scratch_on_every_problem(tmp_path):
    table = judged(
        tmp_path, ["catboost", "lightgbm", "random_forest", "extra_trees"], "n=200", "reps=10"
    )
    assert not len(too_rare(table)), too_rare(table).to_string()
    assert len(exceeding(table)) <= 0.003 * len(table), exceeding(table).to_string()
