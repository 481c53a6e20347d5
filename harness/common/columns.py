"""Column names on which several rooms must agree."""

from __future__ import annotations

# Written by harness.evaluate. A swept parameter is a column of the same table, so it must not have
# one of these names.
SUMMARY_COLUMNS = [
    "problem", "notion", "n", "estimator", "estimand", "reps", "mean", "se", "sd", "truth",
    "truth_error", "bias", "rmse", "coverage", "low", "high", "kind", "status", "cells",
    "undefined", "reason", "cpu_seconds", "problem_key", "estimator_key",
]  # fmt: skip
