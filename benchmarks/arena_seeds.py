"""Compare the arena's statements for base seed 1 with those of the stored records, seed 0.

    python benchmarks/arena_seeds.py FOLDER_OF_RECORDS [OUT.csv]

The arena's page makes two kinds of statements. The first kind compares the recommended estimator
with the runner-up, by (n, k), by n and by (family, n, k). The second kind compares the leader of
each leaderboard with every other estimator. The stored records determine which pairs are compared.
This script compares the same pairs with the records of seed 1.

It runs the cheap estimators on all problems and writes results/arena/seeds.csv. It takes about 15
CPU minutes and resumes after an interruption.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from harness.commands.experiment import Experiment
from harness.configure.compose import compose
from harness.evaluation import arena
from harness.evaluation.arena_content import CHOICES, count_statements, near
from harness.records import baseline

ESTIMATORS = (
    "binned15,binned15_mass,binned_cube_root,kmeans15,sweep_mass,sweep_width,tuned_binned,"
    "crossfit_binned15,debiased15,debiased15_l1,debiased_cube_root,kde_binning15,"
    "kde_top_label,simplex_ece,corp,variational_isotonic,variational_isotonic_insample,"
    "variational_histogram,variational_spline,variational_qs,variational_temperature,"
    "variational_temperature_insample,gain_temperature,best_fast"
)
SEED = 1
OUT = Path(__file__).parent.parent / "results" / "arena" / "seeds.csv"

COLUMNS = [
    "about", "notion", "estimand", "family", "n", "k", "first", "second", "ratio", "verdict",
    "ratio_again", "verdict_again", "problems",
]  # fmt: skip


def statements(
    first: pd.DataFrame, second: pd.DataFrame, resamples: int = 1000, level: float = 0.95
) -> pd.DataFrame:
    """Return every statement of the first run, with the result of the second run for the same pair.

    Parameters
    ----------
    first, second : DataFrame
        Settings of the main estimands, as `arena.settings` returns them. Both have the same
        problems, sample sizes and estimators.
    resamples, level : int, float
        See `arena.choices` and `arena.better`. The level holds for all statements of a run
        together.

    Returns
    -------
    DataFrame
        One row per statement, with these columns. `about` names the groups that were compared, or
        is "leaderboard". notion, estimand, family, n and k describe the group. `first` and `second`
        are the two estimators. `ratio` is the ratio of their RMSEs, and `verdict` says whether the
        first is better. `ratio_again` and `verdict_again` are the same in the second run.
        `problems` is the number of problems.
    """
    options = {"comparisons": count_statements(first), "resamples": resamples, "level": level}
    again = second[second["regret"].notna()]
    rows = []
    for by in CHOICES:
        keys = ["notion", "estimand", *by]
        parts = dict(list(again.groupby(keys)))
        chosen = arena.choices(first, by, **options)
        for row in chosen[chosen["verdict"].ne("alone")].to_dict("records"):
            pair = row["estimator"], row["runner_up"]
            part = parts.get(tuple(row[name] for name in keys))
            if part is not None and {*pair} <= set(part["estimator"]):
                other = arena.better(part, *pair, **options)
                rows.append({
                    "about": "by " + ", ".join(by), **{name: row[name] for name in keys},
                    "first": pair[0], "second": pair[1], "ratio": row["ratio"],
                    "verdict": row["verdict"], "ratio_again": other.ratio,
                    "verdict_again": other.verdict,
                })  # fmt: skip
    board = arena.leaderboard(first, resamples=0)
    runs = [dict(list(run.groupby(["notion", "estimand"]))) for run in (first, again)]
    for leader in board[board["rank"].eq(1.0)].itertuples():
        key = (leader.notion, leader.estimand)
        if key in runs[1] and leader.estimator in set(runs[1][key]["estimator"]):
            in_first, in_second = (
                arena.against(run[key], leader.estimator, **options) for run in runs
            )
            pairs = in_first.join(in_second.add_suffix("_again"), how="inner").reset_index(
                names="second"
            )
            pairs = pairs.assign(about="leaderboard", notion=key[0], estimand=key[1])
            rows += pairs.assign(first=leader.estimator).to_dict("records")
    return pd.DataFrame(rows, columns=COLUMNS).assign(problems=first["problem"].nunique())


def summary(table: pd.DataFrame) -> dict[str, Any]:
    """Count the statements of a table by their verdicts in both runs.

    A statement is established if it says "better" or "worse". The keys of the result are:

        statements    number of all statements
        established   statements that are established in the first run
        undecided     statements that are undecided in the first run
        again         established statements with the same verdict in the second run
        lost          established statements that are undecided in the second run
        reversed      established statements with the opposite verdict in the second run
        turned        established statements whose ratio crosses 1 in the second run
        new           undecided statements that are established in the second run
    """
    established = table[table["verdict"].isin(["better", "worse"])]
    again = established["verdict_again"]
    undecided = table[table["verdict"].eq("undecided")]
    same, lost = again.eq(established["verdict"]), again.eq("undecided")
    turned = established["ratio"].lt(1.0) != established["ratio_again"].lt(1.0)
    return {
        "statements": len(table),
        "established": len(established),
        "again": int(same.sum()),
        "lost": int(lost.sum()),
        "reversed": int((~same & ~lost).sum()),
        "turned": int(turned.sum()),
        "new": int(undecided["verdict_again"].ne("undecided").sum()),
        "undecided": len(undecided),
    }


def computed(out: str) -> pd.DataFrame:
    """Compute the records of seed 1 in the folder `out`, and return them."""
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
    stored = baseline.read()
    again = computed(out)
    cells = ["problem", "notion", "n", "rep", "estimator"]
    same = stored.records.merge(again[cells].drop_duplicates(), on=cells)
    pairs = [arena.settings(frame, stored.families, stored.classes) for frame in (same, again)]
    first, second = (
        frame[frame["estimand"].isin(arena.MAIN)].assign(k=lambda of: near(of["k"]))
        for frame in pairs
    )
    table = statements(first, second)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.4g")
    print(summary(table))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else OUT)
