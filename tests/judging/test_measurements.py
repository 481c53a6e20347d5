"""Measurements that `judge` quotes."""

import json

from harness.estimators.base import EstimatorSpec
from harness.judging.measured import measurements
from harness.plan.components import load


def test_quoted_regrets_are_of_the_present_revisions():
    """A raised revision asks for `python benchmarks/distil_arena.py join`, after the arena."""
    for name, rows in measurements("estimators").groupby("estimator"):
        now = json.dumps(EstimatorSpec.of(load("estimator", name, {})).revision)
        assert {json.dumps(revision) for revision in rows["revision"]} == {now}
