"""Coverage of judge's intervals for rows in groups: `python benchmarks/group_rows.py`.

Every group has five nearly equal scores and one draw of its label, which is the worst case. The
command prints the table of docs/how-to/several-rows-per-patient.md.
"""

from __future__ import annotations

import numpy as np

from harness.judging.data import from_arrays
from harness.judging.judge import judge_data

SAMPLES, SIZE = 150, 5
CASES = ((200, 1.0), (200, 1.5), (50, 1.5), (50, 0.7))  # number of groups, power


def draw(count: int, power: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return p, y and the group of each row, with P(Y = 1) = p^power for the score of the group."""
    group = np.repeat(np.arange(count), SIZE)
    score = rng.uniform(0.05, 0.95, count)
    p = (score[group] + rng.normal(0.0, 0.001, count * SIZE)).clip(0.0, 1.0)
    return p, (rng.random(count) < score**power).astype(int)[group], group


def measure(count: int, power: float, is_grouped: bool) -> dict[str, float]:
    """Return the shares of samples, in %, in which intervals cover and the test rejects."""
    x = np.linspace(0.05, 0.95, 100_001)
    truths = {"L1 error": np.abs(x**power - x).mean(), "gap": (x - x**power).mean()}
    hits: dict[str, list[bool]] = {"L1 error": [], "gap": [], "rejected": []}
    for seed in range(SAMPLES):
        p, y, group = draw(count, power, np.random.default_rng([17, seed]))
        data = from_arrays(p, y, group_rows=group if is_grouped else None)
        judgement = judge_data([data], questions=["calibrated", "how_far"])
        intervals = {
            "L1 error": judgement.how_far.errors[0].interval,
            "gap": judgement.how_far.direction.gap,
        }
        for name, interval in intervals.items():
            hits[name].append(interval.low <= truths[name] + 1e-9 and truths[name] <= interval.high)
        hits["rejected"].append(bool(judgement.calibrated.rejected))
    return {name: 100.0 * float(np.mean(values)) for name, values in hits.items()}


if __name__ == "__main__":
    for count, power in CASES:
        for is_grouped in (True, False):
            shares = measure(count, power, is_grouped)
            how = "in groups" if is_grouped else "as if independent"
            numbers = ", ".join(f"{name} {share:.0f} %" for name, share in shares.items())
            print(f"{count} groups, P(Y = 1) = p^{power:g}, {how}: {numbers}", flush=True)
