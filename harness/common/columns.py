"""Column names of records and of the table of `harness.evaluate`, as several packages use them."""

from __future__ import annotations

# Columns of the table that harness.evaluate returns. A sweep adds a column for each parameter that
# it varies, so no such parameter may have one of these names.
SUMMARY_COLUMNS = [
    "problem", "notion", "n", "estimator", "estimand", "reps", "mean", "se", "sd", "truth",
    "truth_error", "bias", "rmse", "coverage", "low", "high", "kind", "status", "cells",
    "undefined", "reason", "cpu_seconds", "problem_key", "estimator_key",
]  # fmt: skip

# Names that no column of a varied parameter may have: the columns of records and of summaries.
RESERVED = frozenset(
    [
        *SUMMARY_COLUMNS, "key", "problem_parameters", "rep", "estimator_parameters", "seed",
        "value", "level", "diagnostics", "arrays", "seconds", "peak_mb", "run_id", "written",
        "experiment", "problem_label", "estimator_label",
    ]
)  # fmt: skip
