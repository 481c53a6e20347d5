"""Print the table of docs/explanation/best.md on a square wave that few rows cannot show.

    python benchmarks/best_square_wave.py

Scores p are uniform. The true probability is p plus or minus HEIGHT in a square wave of PERIODS
periods, but within 0 and 1. It takes four CPU seconds.
"""

from __future__ import annotations

import numpy as np

from harness.estimators import Best, BestPlain

HEIGHT, PERIODS = 0.08, 20
SIZES = 200, 1_000, 5_000, 20_000
SAMPLES, SEED = 30, 77


def wave(p: np.ndarray) -> np.ndarray:
    """Return the true probabilities of scores p."""
    return np.clip(p + HEIGHT * np.sign(np.sin(2.0 * np.pi * PERIODS * p)), 0.0, 1.0)


def main() -> None:
    grid = (np.arange(2_000_000) + 0.5) / 2e6
    truth = float(np.abs(wave(grid) - grid).mean())
    print(f"L1 error: {truth:.4f}")
    print("n | best, mean and sd | share of intervals with the error | best_plain, mean")
    for n in SIZES:
        values, covered, plain = [], [], []
        for seed in range(SAMPLES):
            rng = np.random.default_rng([SEED, seed])
            p = rng.random(n)
            y = (rng.random(n) < wave(p)).astype(int)
            error = Best()(p, y, np.random.default_rng(seed))["l1"]
            values.append(error.value)
            covered.append(error.low <= truth <= error.high)
            plain.append(BestPlain()(p, y)["l1"].value)
        print(f"{n:,} | {np.mean(values):.3f} ± {np.std(values, ddof=1):.3f} | "
              f"{np.mean(covered):.0%} | {np.mean(plain):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
