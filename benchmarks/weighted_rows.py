"""Judgements of calibrated rows with weights: `python benchmarks/weighted_rows.py`, 2 CPU minutes.

300 calibrated rows have log-normal weights, the logarithm of which has a standard deviation of 1.5.
Printed are the share of 200 samples in which the 95 % interval of the mean gap misses 0, before it
is extended to 0, and the share in which question 1 rejects.
"""

from __future__ import annotations

import numpy as np

from harness.judging.data import from_arrays
from harness.judging.direction import direction
from harness.judging.judge import judge_data
from harness.judging.weights import repeated

DRAWS, ROWS, SPREAD = 200, 300, 1.5
SCORES = {"uniform scores": (1.0, 1.0), "rare events": (1.0, 12.0)}  # parameters of Beta


def main() -> None:
    for i, (name, (a, b)) in enumerate(SCORES.items()):
        worth, missed, rejected = [], 0, 0
        for seed in range(DRAWS):
            rng = np.random.default_rng([i, seed])
            p = rng.beta(a, b, ROWS)
            y = (rng.random(ROWS) < p).astype(int)
            weights = np.exp(SPREAD * rng.standard_normal(ROWS))
            worth.append(weights.sum() ** 2 / (weights**2).sum())
            data = from_arrays(p, y, sample_weight=weights)
            missed += direction(repeated(data, seed), 0.95).gap.sign != 0
            answer = judge_data([data], seed=seed, questions=["calibrated"]).calibrated
            rejected += bool(answer and answer.rejected)
        print(
            f"{name}: worth {np.mean(worth):.0f} rows of equal weight, gap missed in "
            f"{100 * missed / DRAWS:.1f} %, rejected in {100 * rejected / DRAWS:.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
