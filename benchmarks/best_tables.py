"""Compare `best` with published estimators on the predictions of real models for 27 tables.

    calharness data make tabular_oof                                # three minutes
    python benchmarks/best_tables.py FOLDER [OUT.csv] [--jobs 2]    # half an hour on two cores

The default of OUT.csv is results/arena/tables.csv.

Most test families of the arena are synthetic. Here a family is a table, with the out-of-fold
predictions of six models. TABLES are all tables of `data make tabular_oof` with at least 500 rows,
except adult and connect_4, on which `best` was developed.

A table has two problems. The event of the first is that the label is the most frequent class, and
that of the second that the top class is right. Their predictions are the probability of this class,
and the largest probability. The true probability of the event is a smoothed curve that is fitted to
the labels (the map `curves` of `Fitted`). No map of `best` is of this kind. Labels are drawn from
this curve, so that the truth is a finite sum over the rows. Both are judged as scores. If n exceeds
the number of rows, predictions repeat.

The published estimators are those of the arena's boards of binary and top-label errors. FOLDER
keeps all estimates in one file per problem, so that an interrupted run goes on. Its subfolder has
the name of the estimators' keys: after a new revision, everything is computed again. The comparison
is that of the arena (`arena.recommendations`), on the tables alone and together with the arena's
test families. OUT.csv has its lines.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import harness
from harness.common.seeds import data_rng, digest
from harness.common.threads import one_thread
from harness.common.writing import whole_file
from harness.configure.options import option
from harness.errors import UndefinedError
from harness.evaluation import arena
from harness.evaluation.arena.better_or_worse import holm, verdicts
from harness.evaluation.arena.rules import is_published
from harness.evaluation.arena.sensitivity import compared_lines
from harness.pages.arena import data as arena_data
from harness.plan.components import component
from harness.problems import Fitted, Predictions, TabRepoTasks

TABLES = (
    "abalone3", "anneal", "balance_scale", "banknote", "breast_cancer", "breast_w", "car",
    "credit_a", "credit_default", "credit_g", "cylinder_bands", "diabetes", "digits", "dry_bean",
    "eeg_eye_state", "letter", "magic", "mammography", "mushroom", "nursery", "seismic_bumps",
    "soybean", "spambase", "tic_tac_toe", "titanic", "wilt", "wine_quality_white",
)  # fmt: skip
NOTIONS = ("binary", "top_label")
SIZES = (50, 100, 200, 1_000, 5_000, 20_000)
SEED, REPS = 13, 40
OUT = Path(__file__).parent.parent / "results" / "arena" / "tables.csv"
LINE = ["notion", "estimand", "n"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=OUT)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    stored = arena_data.read()
    assert stored is not None, "there is no stored arena"
    settings = stored.settings[stored.settings["notion"].isin(NOTIONS)]
    settings = settings[settings["estimand"].isin(arena.MAIN)]
    names = sorted({"best", *filter(is_published, settings["estimator"])})
    settings = settings[settings["estimator"].isin(names)]

    keys = [component("estimator", name, harness.load_estimator(name)).key for name in names]
    folder = arguments.folder / digest("|".join(keys))
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        (table, notion): folder / f"{table}_{notion}.parquet"
        for table in TABLES
        for notion in NOTIONS
    }
    missing = [place for place, path in files.items() if not path.is_file()]
    tasks = (delayed(records)(*place, names, files[place]) for place in missing)
    begun = time.monotonic()
    run = Parallel(arguments.jobs, return_as="generator_unordered")
    for done, _ in enumerate(run(tasks), 1):
        left = (time.monotonic() - begun) / done * (len(missing) - done) / 60.0
        print(f"{done} of {len(missing)} problems, about {left:.0f} min left", flush=True)

    estimated = pd.concat(pd.read_parquet(path) for path in files.values())
    problems = {table: [f"{table}_{notion}" for notion in NOTIONS] for table in TABLES}
    classes = {name: 2 for of_table in problems.values() for name in of_table}
    of_tables = arena.settings(estimated, problems, classes)
    development = option("experiment", "arena").config["arena"]["development"]
    of_arena = settings["family"].isin(development)
    parts = [
        lines(pd.concat([rows, of_tables], ignore_index=True), development).assign(families_of=name)
        for name, rows in (("tables", settings[of_arena]), ("tables and arena", settings))
    ]
    whole = pd.concat(parts)
    intervals = arena.interval_table(of_tables).query("estimator == 'best'")
    whole = whole.merge(intervals[[*LINE, "coverage", "share"]], "left", LINE)
    whole.to_csv(arguments.out, index=False, float_format="%.4g")
    print(whole.to_string())


def records(table: str, notion: str, names: list[str], path: Path) -> None:
    """Write the estimates of all estimators on all samples of a problem, as records."""
    p, y = scores(table, notion)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, one_thread():
        np.savez(Path(folder, "scores.npz"), p=p, y=y)
        problem = Fitted(Predictions(str(Path(folder, "scores.npz"))), maps=("curves",))
        truths = {name: problem.truth(name, "binary").value for name in arena.MAIN}
        for n in SIZES:
            for rep in range(REPS):
                rng = data_rng(SEED, digest(f"{table}|{notion}|{n}"), rep)
                sample = problem.sample(n, rng)
                cell = {"problem": f"{table}_{notion}", "notion": notion, "n": n, "rep": rep}
                for name in names:
                    for estimand, x in estimates(name, *sample, rep).items():
                        row = cell | {"estimator": name, "estimand": estimand}
                        rows.append(row | {"truth": truths[estimand]} | x)
    with whole_file(path) as part:
        pd.DataFrame(rows).assign(cpu_seconds=0.0).to_parquet(part)


def estimates(name: str, p: np.ndarray, y: np.ndarray, seed: int) -> dict[str, dict[str, Any]]:
    """Return the columns of a record for each of the main estimands of an estimator."""
    try:
        answer = harness.estimate(name, p, y, "binary", seed)
    except UndefinedError:
        nothing = {"value": np.nan, "low": None, "high": None, "kind": "point"}
        return {estimand: nothing | {"status": "undefined"} for estimand in arena.MAIN}
    return {
        estimand: {"value": x.value, "low": x.low, "high": x.high, "kind": x.kind, "status": "ok"}
        for estimand, x in answer.items()
        if estimand in arena.MAIN
    }


def scores(table: str, notion: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of an event by all models of a table, and whether the event happened."""
    members = TabRepoTasks("tabular_oof", datasets=(table,)).members().values()
    parts = [member.sample(member.n_max, np.random.default_rng(0)) for member in members]
    p, y = (np.concatenate(columns) for columns in zip(*parts))
    p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    if notion == "top_label":
        return harness.reduce(p, y, "top_label")
    event = np.bincount(y).argmax()
    return p[:, event], (y == event).astype(int)


def lines(settings: pd.DataFrame, development: list[str]) -> pd.DataFrame:
    """Compare `best` with two rivals in each line, on all families that are not `development`.

    The columns `rival` to `verdict` are those of `arena.recommendations`, whose rival is chosen on
    the development families. The columns `lucky_*` have the rival with the smallest mean regret on
    the compared families themselves.
    """
    shown = arena.recommendations(settings, development)
    shown = shown[[*LINE, "rival", "ratio", "low", "high", "p_holm", "verdict", "families"]]
    compared = set(settings["family"]) - set(development)
    lucky = compared_lines(settings, development, "best", compared)
    corrected = lucky.groupby(["notion", "estimand"])["p_value"].transform(holm)
    lucky = lucky.assign(verdict=verdicts(lucky["ratio"], corrected)).drop(columns="p_value")
    names = {name: f"lucky_{name}" for name in ("rival", "ratio", "verdict")}
    return shown.merge(lucky.rename(columns=names), "left", LINE)


if __name__ == "__main__":
    main()
