"""Synthetic records of the arena: estimators with known errors on eight families of problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

# {estimator: error at n = 100 as a multiple of the sampling error}
SCALES = {"best": 0.5, "binned15": 2.0, "debiased15_l1": 1.0, "kmeans15": 2.5, "oracle": 0.3}
OWN = "best"  # has intervals of level 0.95


def records(
    families: Mapping[str, Sequence[str]],
    notions: Sequence[str] = ("binary",),
    sizes: Sequence[int] = (50, 200, 1000),
    scales: Mapping[str, float] = SCALES,
    reps: int = 8,
    estimands: Sequence[str] = ("l1", "l2_squared"),
    seed: int = 0,
) -> pd.DataFrame:
    """Return records whose errors are normal with standard deviation scale / sqrt(n).

    Problems whose id ends in "calibrated" have the truth 0; there the values are absolute errors.
    The first family is harder than the others. A lower bound by `best_lower` is right with
    certainty.
    """
    rng = np.random.default_rng(seed)
    rows = []
    hardest = next(iter(families))
    for family, problems in families.items():
        for problem in problems:
            truth = 0.0 if problem.endswith("calibrated") else 0.1
            harder = 3.0 if family == hardest else 1.0
            for notion in notions:
                for n in sizes:
                    for rep in range(reps):
                        place = {"problem": problem, "notion": notion, "n": n, "rep": rep}
                        for name, scale in scales.items():
                            size = harder * scale / np.sqrt(n)
                            error = size * rng.normal()
                            for estimand in estimands:
                                exact = truth**2 if estimand == "l2_squared" else truth
                                value = abs(error) if truth == 0.0 else exact + error
                                row = {**place, "estimator": name, "estimand": estimand,
                                       "value": value, "truth": exact, "kind": "point"}  # fmt: skip
                                if name == OWN:
                                    row |= {"low": value - 2 * size, "high": value + 2 * size,
                                            "level": 0.95}  # fmt: skip
                                rows.append(row)
                        rows.append({**place, "estimator": "best_lower", "estimand": "l1",
                                     "value": truth / 2, "low": truth / 2, "truth": truth,
                                     "kind": "lower", "level": 0.95})  # fmt: skip
    columns = ["problem", "notion", "n", "rep", "estimator", "estimand", "value", "low", "high",
               "level", "truth", "kind"]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    place = ["problem", "notion", "n", "rep", "estimator"]
    keys = frame[place].astype(str).agg("|".join, axis=1)
    return frame.assign(
        key=keys, status="ok", cpu_seconds=1e-6 * frame["n"], truth_error=0.0, seed=0, reason=None
    )
