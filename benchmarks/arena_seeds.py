"""Compare the arena's verdicts for base seed 1 with those of the stored records, seed 0.

    python benchmarks/arena_seeds.py FOLDER_OF_RECORDS [OUT.csv]

The verdicts are those of `arena.recommendations`: `best_fast` against the best published estimator
of each notion, estimand and n. The stored records determine the rivals. This script compares the
same pairs with the records of seed 1.

It runs the cheap estimators on all problems and writes results/arena/seeds.csv. It takes about half
a CPU hour and resumes after an interruption.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.commands.experiment import Experiment
from harness.configure.arena import Arena
from harness.configure.compose import compose
from harness.evaluation import arena
from harness.evaluation.arena.recommendations import BOARD
from harness.evaluation.arena.statements import verdicts
from harness.records import baseline

ESTIMATORS = (
    "binned15,binned15_mass,binned_cube_root,kmeans15,sweep_mass,sweep_width,crossfit_binned15,"
    "debiased15,debiased15_l1,debiased_cube_root,kde_binning15,kde_top_label,simplex_ece,corp,"
    "variational_temperature_insample,best_fast"
)
OWN = "best_fast"
SEED = 1
OUT = Path(__file__).parent.parent / "results" / "arena" / "seeds.csv"


def statements(
    first: pd.DataFrame, second: pd.DataFrame, development: Collection[str], own: str = OWN
) -> pd.DataFrame:
    """Return the recommendations of the first run, with the result of the second run.

    Parameters
    ----------
    first, second : DataFrame
        Settings of the main estimands, as `arena.settings` returns them. Both have the same
        problems, sample sizes and estimators.
    development : collection of str
        Families on which the rivals are chosen, with the first run alone.
    own : str
        Id of our estimator.

    Returns
    -------
    DataFrame
        One row per notion, estimand and n with a rival. Columns: own, rival, ratio, p_holm and
        verdict of the first run, and ratio_again and verdict_again of the second.
    """
    table = arena.recommendations(first, development, own).dropna(subset="rival")
    outside = second[~second["family"].isin(development)]
    parts = dict(list(outside.groupby(BOARD)))
    again = [
        arena.better(parts[tuple(row[name] for name in BOARD)], own, row["rival"])
        for row in table.to_dict("records")
    ]
    p_value = pd.Series([item.p_value for item in again], index=table.index, dtype=float)
    corrected = p_value.groupby([table[name] for name in BOARD[:2]]).transform(arena.holm)
    ratio = np.array([item.ratio for item in again])
    table = table.assign(ratio_again=ratio, verdict_again=verdicts(ratio, corrected))
    columns = ["own", "rival", "ratio", "p_holm", "verdict", "ratio_again", "verdict_again"]
    return table[[*BOARD, *columns]].reset_index(drop=True)


def summary(table: pd.DataFrame) -> dict[str, Any]:
    """Count the statements of a table by their verdicts in both runs.

    A statement is established if it says "better" or "worse". The keys of the result are:

        statements    number of all statements
        established   statements that are established in the first run
        undecided     statements that are undecided in the first run
        again         established statements with the same verdict in the second run
        lost          established statements that are undecided in the second run
        reversed      established statements with the opposite verdict in the second run
        new           undecided statements that are established in the second run
    """
    established = table[table["verdict"].isin(["better", "worse"])]
    again = established["verdict_again"]
    undecided = table[table["verdict"].eq("undecided")]
    same, lost = again.eq(established["verdict"]), again.eq("undecided")
    return {
        "statements": len(table),
        "established": len(established),
        "again": int(same.sum()),
        "lost": int(lost.sum()),
        "reversed": int((~same & ~lost).sum()),
        "new": int(undecided["verdict_again"].ne("undecided").sum()),
        "undecided": len(undecided),
    }


def computed(out: str) -> pd.DataFrame:
    """Compute the records of seed 1 in the folder `out`, and return them."""
    problems = ",".join(compose(["experiment=arena"]).problem)
    run = Experiment.of([
        "experiment=arena", f"seed={SEED}", f"problem=[{problems}]", f"estimator=[{ESTIMATORS}]",
        "jobs=1", f"out={out}",
    ])  # fmt: skip
    run.compute()
    return run.records()


def main(out: str, path: Path) -> None:
    stored = baseline.read()
    again = computed(out)
    cells = ["problem", "notion", "n", "rep", "estimator"]
    same = stored.records().merge(again[cells].drop_duplicates(), on=cells)
    first, second = (
        arena.settings(frame[frame["estimand"].isin(arena.MAIN)], stored.families, stored.classes)
        for frame in (same, again)
    )
    table = statements(first, second, arena.read_development(Arena("arena")))
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.4g")
    print(summary(table))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else OUT)
