"""Names of columns that several rooms must agree on."""

from __future__ import annotations

# Written by harness.evaluate. A swept parameter stands in the same table and must not take one of these names.
SUMMARY_COLUMNS = [
    "problem", "notion", "n", "estimator", "estimand", "reps", "mean", "se", "sd", "truth",
    "truth_error", "bias", "rmse", "coverage", "low", "high", "kind", "status", "cells", "undefined",
    "reason", "cpu_seconds", "problem_key", "estimator_key",
]  # fmt: skip
