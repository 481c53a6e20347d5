"""Measure CPU seconds by n and k of estimators for which the arena has none at n = 5,000.

    python benchmarks/estimator_costs.py [ID ...]     writes harness/pages/costs.csv

Existing rows are kept. Every estimator sees the same samples of dirichlet3_overconfident and
dirichlet10_overconfident. It is measured under the first notion that it supports, in the order
canonical, top_label, binary, classwise. Under binary, it sees beta_overconfident instead.

Before the first measurement, a call with n = 50 imports and compiles. The value is the smallest CPU
time of three calls, or of a single call that takes more than a second. A size with an expected time
above LIMIT is not measured, and its row holds the reason.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import harness  # noqa: E402
from harness.estimators.application import apply  # noqa: E402
from harness.estimators.base import EstimatorSpec  # noqa: E402
from harness.math.notions import reduce  # noqa: E402
from harness.records import baseline  # noqa: E402

FILE = Path(harness.__file__).parent / "pages" / "costs.csv"
COLUMNS = ("estimator", "revision", "notion", "k", "n", "cpu_seconds", "reason")
PLACES = ((10, 200), (10, 1000), (10, 5000), (3, 200), (3, 1000), (3, 5000))
ORDER = ("canonical", "top_label", "binary", "classwise")
LIMIT = 8.0  # CPU seconds of a call


def main() -> None:
    rows = list(csv.DictReader(FILE.open())) if FILE.is_file() else []
    records = baseline.load().dropna(subset=["value"])
    measured = records.loc[records["n"].ge(max(n for _, n in PLACES)), "estimator"].unique()
    done = {row["estimator"] for row in rows} | set(measured)
    for name in sys.argv[1:] or harness.list_estimators():
        if name not in done:
            new_rows = list(costs(name))
            print(
                *(f"{name} k={r[3]} n={r[4]}: {r[5]} {r[6]}" for r in new_rows),
                sep="\n",
                flush=True,
            )
            rows += [dict(zip(COLUMNS, row)) for row in new_rows]
            with FILE.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


def costs(name: str):
    """Yield the rows of an estimator, one per k and n."""
    estimator = harness.load_estimator(name)
    spec = EstimatorSpec.of(estimator)
    notion = next(n for n in ORDER if n in spec.notions)
    if spec.unavailable:
        yield name, spec.revision, notion, "", "", "", spec.unavailable
        return
    last: dict[int, tuple[int, float]] = {}
    for k, n in PLACES:
        if notion == "binary" and k == 10:
            continue
        if k in last and last[k][1] * n / last[k][0] > LIMIT:
            yield name, spec.revision, notion, k, n, "", f"expected to take more than {LIMIT:g} s"
            continue
        reason = spec.out_of_range(notion, n, k)
        if reason is None:
            try:
                seconds = timed(estimator, spec, notion, k, n, warm=not last)
                last[k] = n, seconds
                yield name, spec.revision, notion, k, n, f"{seconds:.3g}", ""
                continue
            except Exception as error:
                reason = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        yield name, spec.revision, notion, k, n, "", reason


def timed(estimator, spec, notion: str, k: int, n: int, warm: bool) -> float:
    """Return the smallest CPU time, in seconds, of up to three calls.

    With `warm`, a small call that is not timed comes first.
    """
    problem = harness.load_problem(
        "beta_overconfident" if notion == "binary" else f"dirichlet{k}_overconfident"
    )
    p, y = reduce(*problem.sample(n, np.random.default_rng(0)), notion)
    rng = (
        (lambda: np.random.default_rng(1))
        if spec.replication_rng is None
        else (lambda: spec.replication_rng(1))
    )
    if warm:
        apply(estimator, p[:50], y[:50], notion, rng(), problem)
    timings = []
    while len(timings) < 3 and (not timings or timings[0] < 1.0):
        start = time.process_time()
        apply(estimator, p, y, notion, rng(), problem)
        timings.append(time.process_time() - start)
    return min(timings)


if __name__ == "__main__":
    main()
