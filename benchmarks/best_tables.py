"""Compare `best` with published estimators on the predictions of real models for many tables.

    calharness data make tabular_oof                   # about five minutes
    python benchmarks/best_tables.py [OUT.csv] [--jobs 2]       default: results/arena/tables.csv

The arena has 16 test families of scores, most of them synthetic. Here a family is a table: the
out-of-fold predictions of six models for one table of TABLES. All tables of `data make tabular_oof`
with at least 500 rows are in TABLES, except adult and connect_4, on which `best` was developed.

Each family has two problems: the scores of the event "the label is the most frequent class", and
the largest probabilities, with the event "the top class is right". The true probability of the
event is a smoothed curve that is fitted to the labels (the map `curves` of `Fitted`). No map of
`best` is of this kind. Labels are drawn from it, and the truth is the finite sum over the rows.

The rivals are those of the arena, chosen on its development families. So nothing is chosen by these
tables. The test over families and Holm's correction are those of the arena's recommendations, and
its errors count only above the same floors. The file has the RMSE of both for each family, notion,
estimand and n.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import harness
from harness.common.seeds import data_rng, digest
from harness.common.threads import one_thread
from harness.configure.options import option
from harness.evaluation import arena
from harness.pages.arena import data as arena_data
from harness.problems import Fitted, Predictions, TabRepoTasks

TABLES = (
    "abalone3", "anneal", "balance_scale", "banknote", "breast_cancer", "breast_w", "car",
    "credit_a", "credit_default", "credit_g", "cylinder_bands", "diabetes", "digits", "dry_bean",
    "eeg_eye_state", "letter", "magic", "mammography", "mushroom", "nursery", "seismic_bumps",
    "soybean", "spambase", "tic_tac_toe", "titanic", "wilt", "wine_quality_white",
)  # fmt: skip
NOTIONS = ("binary", "top_label")
SEED, REPS = 13, 40
OUT = Path(__file__).parent.parent / "results" / "arena" / "tables.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", default=OUT)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    stored = arena_data.read()
    assert stored is not None, "there is no stored arena"
    settings = stored.settings[stored.settings["notion"].isin(NOTIONS)]
    settings = settings[settings["estimand"].isin(arena.MAIN)]
    development = option("experiment", "arena").config["arena"]["development"]
    lines = arena.recommendations(settings, development)[["notion", "estimand", "n", "rival"]]
    tasks = [
        (table, notion, lines[lines["notion"].eq(notion)]) for table in TABLES for notion in NOTIONS
    ]
    parts = Parallel(arguments.jobs, verbose=5)(delayed(errors)(*task) for task in tasks)
    pd.DataFrame(sum(parts, [])).to_csv(arguments.out, index=False, float_format="%.4g")


def errors(table: str, notion: str, lines: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the RMSE of `best` and of the rival on a table, for each of the lines of a notion."""
    p, y = scores(table, notion)
    with tempfile.TemporaryDirectory() as folder, one_thread():
        path = Path(folder, "scores.npz")
        np.savez(path, p=p, y=y)
        problem = Fitted(Predictions(str(path)), maps=("curves",))
        truths = {name: problem.truth(name, "binary").value for name in arena.MAIN}
        rows = []
        for n, of_n in lines.groupby("n"):
            values: dict[str, list[dict[str, float]]] = {}
            for rep in range(REPS):
                rng = data_rng(SEED, digest(f"{table}|{notion}|{n}"), rep)
                sample = problem.sample(int(n), rng)
                for name in {"best", *of_n["rival"]}:
                    found = harness.estimate(name, *sample, "binary", rep)
                    values.setdefault(name, []).append({e: x.value for e, x in found.items()})
            for line in of_n.itertuples():
                truth = truths[line.estimand]
                row = {"table": table, "notion": notion, "estimand": line.estimand, "n": n}
                row |= {"truth": truth, "rival": line.rival}
                for column, name in (("best", "best"), ("published", line.rival)):
                    off = np.array([found[line.estimand] for found in values[name]]) - truth
                    row[column] = float(np.sqrt(np.mean(off**2)))
                rows.append(row)
    return rows


def scores(table: str, notion: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of an event by all models of a table, and whether the event happened."""
    members = TabRepoTasks("tabular_oof", datasets=(table,)).members().values()
    whole = [member.sample(member.n_max, np.random.default_rng(0)) for member in members]
    p, y = (np.concatenate(parts) for parts in zip(*whole))
    p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    if notion == "top_label":
        return harness.reduce(p, y, "top_label")
    event = np.bincount(y).argmax()
    return p[:, event], (y == event).astype(int)


if __name__ == "__main__":
    main()
