"""Measure the coverage of the interval of the error of stated confidences.

    python benchmarks/stated_coverage.py        writes harness/judging/coverage_few_values.csv

Stated confidences have few different values, such as 0.5, 0.6 ... 1. The table has the columns of
coverage.csv. Draws of VALUES have the probabilities beside them; an answer of confidence p is right
with the probability TRUTHS[kind](p). Calibrated answers of confidence 1 are always right.
"""

from __future__ import annotations

import csv
from collections.abc import Callable

import numpy as np

from harness.common.threads import one_thread
from harness.estimators.best import Best
from harness.judging.measured import FEW_COVERAGE, FEW_QUANTITY

ROWS = (50, 200, 1_000, 5_000)
DRAWS = 60
VALUES = {
    "six": (np.linspace(0.5, 1.0, 6), np.array([5, 5, 10, 20, 35, 25]) / 100),
    "eleven": (np.linspace(0.5, 1.0, 11), np.array([3, 2, 5, 5, 8, 7, 15, 10, 20, 10, 15]) / 100),
}
TRUTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda p: p,
    "too_high": lambda p: p - 0.03,
    "steep": lambda p: 0.5 + 0.45 * (p - 0.5),
    "flat": lambda p: np.full_like(p, 0.71),
}


def measure(n: int, values: str, kind: str, draws: int = DRAWS) -> tuple[float, int, float]:
    """Return the true L1 error, the number of draws that cover it, and the mean width."""
    p, share = VALUES[values]
    c = TRUTHS[kind](p)
    truth = float(share @ np.abs(p - c))
    covered, widths = 0, []
    for i in range(draws):
        seed = [n, list(VALUES).index(values), list(TRUTHS).index(kind), i]
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(p), n, p=share)
        y = (rng.random(n) < c[rows]).astype(np.int64)
        e = Best()(p[rows], y, rng)["l1"]
        covered += e.low - 1e-12 <= truth <= e.high + 1e-12
        widths.append(e.high - e.low)
    return truth, covered, float(np.mean(widths))


def main() -> None:
    with FEW_COVERAGE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("k n kind quantity truth draws covered mean_width".split())
        for n in ROWS:
            for values in VALUES:
                for kind in TRUTHS:
                    truth, covered, width = measure(n, values, kind)
                    name = f"{values}_{kind}"
                    row = [2, n, name, FEW_QUANTITY, f"{truth:.6g}", DRAWS, covered, f"{width:.4g}"]
                    writer.writerow(row)
                    print(*row, flush=True)


if __name__ == "__main__":
    with one_thread():
        main()
