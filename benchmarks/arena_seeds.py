"""Do the arena's statements hold with another base seed? Cheap estimators on all problems, seed 1 beside the stored seed 0:
results/arena/seeds.csv. About 15 CPU minutes, resumable.

    python benchmarks/arena_seeds.py FOLDER_OF_RECORDS [OUT.csv]
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from harness.commands.experiment import Experiment
from harness.configure.compose import compose
from harness.evaluation import arena, arena_seeds
from harness.evaluation.arena_content import near
from harness.records import baseline

ESTIMATORS = (
    "binned15,binned15_mass,binned_cube_root,kmeans15,sweep_mass,sweep_width,tuned_binned,crossfit_binned15,debiased15,debiased15_l1,"
    "debiased_cube_root,kde_binning15,kde_top_label,simplex_ece,corp,variational_isotonic,variational_isotonic_insample,"
    "variational_histogram,variational_spline,variational_qs,variational_temperature,variational_temperature_insample,"
    "gain_temperature,best_fast"
)
SEED = 1
OUT = Path(__file__).parent.parent / "results" / "arena" / arena_seeds.FILE


def computed(out: str) -> pd.DataFrame:
    """The records of seed 1."""
    frames = []
    for name in ("arena_hundred", "arena"):
        problems = ",".join(compose([f"experiment={name}"]).problem)
        chosen = [
            f"experiment={name}",
            f"seed={SEED}",
            f"problem=[{problems}]",
            f"estimator=[{ESTIMATORS}]",
            "jobs=1",
        ]
        run = Experiment.of([*chosen, f"out={out}"])
        run.compute()
        frames.append(run.records())
    return pd.concat(frames, ignore_index=True)


def main(out: str, path: Path) -> None:
    held = baseline.read()
    again = computed(out)
    cells = ["problem", "notion", "n", "rep", "estimator"]
    same = held.records.merge(again[cells].drop_duplicates(), on=cells)
    both = [arena.settings(frame, held.families, held.classes) for frame in (same, again)]
    first, second = (
        frame[frame["estimand"].isin(arena.MAIN)].assign(k=lambda of: near(of["k"]))
        for frame in both
    )
    table = arena_seeds.statements(first, second)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.4g")
    print(arena_seeds.summary(table))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else OUT)
