"""Compare weights of `Best` that were trained under different priors, on development families.

    python tools/train_best.py FOLDER /tmp/calibrated.npz --prior calibrated
    python tools/train_best.py FOLDER /tmp/wide.npz --prior wide
    python benchmarks/best_priors.py harness/estimators/best_weights.npz /tmp/calibrated.npz \
        /tmp/wide.npz

For every file, notion and n, print the typical RMSE of the L1 error (geometric mean over the
families with an error), the median of mean / truth over their problems, and the root mean square of
the values where the truth is 0. All files see the same samples. It takes about five CPU minutes
for three files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.random import default_rng

import harness
from harness.configure.options import option
from harness.errors import BadInputError
from harness.estimators import Best, learned
from harness.problems.base import ProblemSpec

REPS = 20
SIZES = 200, 1_000, 5_000
NOTIONS = "binary", "top_label", "canonical"  # vectors have the last one, scalars the others


def problems() -> list[tuple[str, str]]:
    """Return (family, problem) for the problems of the development families on this machine."""
    arena = option("experiment", "arena").config["arena"]
    return [
        (family, name)
        for family in arena["development"]
        for name in arena["families"][family]
        if not name.endswith("_k100")
    ]


def errors(notion: str, n: int) -> dict[str, list[tuple[float, np.ndarray]]]:
    """Return {family: [(truth, values of L1)]} for one notion and n; truth 0 is "calibrated"."""
    by_family: dict[str, list[tuple[float, np.ndarray]]] = {}
    for family, name in problems():
        try:
            problem = harness.load_problem(name)
            truth = problem.truth("l1", notion)
        except BadInputError:  # not of this notion, or its data are not on this machine
            continue
        if truth is None or (notion == "canonical" and ProblemSpec.of(problem).classes == 2):
            continue
        values = []
        for rep in range(REPS):
            p, y = harness.reduce(*problem.sample(n, default_rng([9, rep])), notion)
            values.append(Best(repeats=1)(p, y, default_rng(rep))["l1"].value)
        key = "calibrated" if truth.value < 1e-12 else family
        by_family.setdefault(key, []).append((truth.value, np.array(values)))
    return by_family


def main() -> None:
    print("weights | notion | n | RMSE | mean / truth | RMSE, truth 0")
    for path in sys.argv[1:]:
        learned.WEIGHTS = str(Path(path).resolve())
        learned.load_ensemble.cache_clear()
        learned.ensemble_networks.cache_clear()
        for notion in NOTIONS:
            for n in SIZES:
                by_family = errors(notion, n)
                zero = np.concatenate([x for _, x in by_family.pop("calibrated", [])] or [[np.nan]])
                pairs = [pair for members in by_family.values() for pair in members]
                logs = [0.5 * np.log(np.mean((x - truth) ** 2)) for truth, x in pairs]
                ratio = np.median([x.mean() / truth for truth, x in pairs])
                print(
                    f"{Path(path).stem} | {notion} | {n:,} | {np.exp(np.mean(logs)):.4f} | "
                    f"{ratio:.2f} | {np.sqrt(np.mean(zero**2)):.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
