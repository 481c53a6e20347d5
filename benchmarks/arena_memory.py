"""Measure the peak memory of the arena's estimators by notion, n and k.

    python benchmarks/arena_memory.py [OUT.csv]        default: results/arena/memory.csv

The peak is that of a single estimate, above the resident memory just before it
(benchmarks/peak_memory.py). Every estimate runs in its own process on one thread. In that process,
an estimate on 200 rows comes first. It loads libraries and compiled code, so that these do not
count.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import sys
from pathlib import Path

import numpy as np
from peak_memory import Peak, measure_peak

from harness.common.threads import one_thread
from harness.configure.compose import compose
from harness.estimators.application import apply
from harness.estimators.base import EstimatorSpec
from harness.math.notions import reduce
from harness.plan.components import load
from harness.plan.plan import skip_reason
from harness.problems.base import ProblemSpec

PROBLEMS = {"wavy_k2": 5000, "wavy_k10": 5000, "wavy_k100": 1000}
FIRST = 200  # rows of the first estimate, which is not measured
SECONDS = 60.0
OUT = Path(__file__).parent.parent / "results" / "arena" / "memory.csv"
COLUMNS = ("estimator", "notion", "n", "k", "peak_mb", "method", "reason")


def estimators() -> list[str]:
    """Return the ids of the estimators that the arena ranks."""
    experiments = [
        "arena", "arena_hundred", "arena_scalars", "arena_costly", "arena_slow", "arena_kernels",
        "arena_canonical",
    ]  # fmt: skip
    parts = [compose([f"experiment={name}"]).estimator for name in experiments]
    return list(dict.fromkeys(name for part in parts for name in part))


def rows(names: list[str]) -> list[tuple]:
    """Return one row per estimator, problem and notion."""
    table = []
    for problem_id, n in PROBLEMS.items():
        problem = load("problem", problem_id, {})
        p, y = problem.sample(n, np.random.default_rng(0))
        for notion in ProblemSpec.of(problem).default_notions:
            sample, few = reduce(p, y, notion), reduce(p[:FIRST], y[:FIRST], notion)
            for name in names:
                estimator = load("estimator", name, {})
                reason = skip_reason(
                    ProblemSpec.of(problem), EstimatorSpec.of(estimator), notion, n
                )
                if reason is None:
                    first, call = (
                        functools.partial(
                            apply, estimator, *data, notion, np.random.default_rng(1), problem
                        )
                        for data in (few, sample)
                    )
                    with one_thread():
                        with contextlib.suppress(Exception):
                            first()  # loads and compiles before measure_peak forks this process
                        peak = measure_peak(call, SECONDS, first)
                else:
                    peak = Peak(None, "", reason)
                table.append(
                    (
                        name,
                        notion,
                        n,
                        ProblemSpec.of(problem).classes,
                        peak.mb,
                        peak.method,
                        peak.reason,
                    )
                )
                print(*table[-1], sep="\t", flush=True)
    return table


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    out.parent.mkdir(parents=True, exist_ok=True)
    table = sorted(rows(estimators()), key=lambda row: (row[3], row[2], row[1], row[0]))
    with out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(
            [*row[:4], "" if row[4] is None else f"{row[4]:.3g}", row[5], row[6] or ""]
            for row in table
        )
