"""Does another base seed change what the arena says? The same statements of two runs that differ in their random draws alone.

A statement is one of those of the arena's page: the estimator to use by (n, k), by n and by (family, n, k) against the runner-up,
and the best of a leaderboard against every other. The first run makes them; the second is asked about the same two estimators.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.paths import CHECKOUT
from harness.errors import BadInputError
from harness.evaluation import arena

FILE = "seeds.csv"
GROUPS = (("n", "k"), ("n",), ("family", "n", "k"))
COLUMNS = [
    "about", "notion", "estimand", "family", "n", "k", "first", "second", "ratio", "verdict", "ratio_again", "verdict_again",
    "problems",
]  # fmt: skip
LEADERBOARD = "leaderboard"


def statements(
    first: pd.DataFrame, second: pd.DataFrame, resamples: int = 1000, level: float = 0.95
) -> pd.DataFrame:
    """Every statement of the first run, and what the second says of the same two estimators.

    Parameters
    ----------
    first, second : DataFrame
        `arena.settings` of the main estimands, of the same problems, sizes and estimators.
    resamples, level : int, float
        Of `arena.choices` and `arena.better`: level holds for all statements of a run together.

    Returns
    -------
    DataFrame
        One row per statement: about (what was compared: by n and k, by n, by family, n and k, or leaderboard), notion, estimand,
        family, n, k, the two estimators, the ratio of their RMSEs and the verdict on the first, and both again in the second run;
        and problems, how many the runs have.
    """
    parts = [
        dict(list(run[run["regret"].notna()].groupby(["notion", "estimand"])))
        for run in (first, second)
    ]
    boards = arena.leaderboard(first, resamples=0)
    leaders = {
        key: part.loc[part["rank"].eq(1.0), "estimator"].iloc[0]
        for key, part in boards.groupby(["notion", "estimand"])
        if part["rank"].eq(1.0).any()
    }
    ranked = first[first["regret"].notna()]
    count = sum(ranked.groupby(["notion", "estimand", *by]).ngroups for by in GROUPS)
    count += sum(parts[0][key]["estimator"].nunique() - 1 for key in leaders)
    options: dict[str, Any] = {"comparisons": count, "resamples": resamples, "level": level}
    rows: list[dict[str, Any]] = []
    for by in GROUPS:
        chosen = arena.choices(first, by, comparisons=count, resamples=resamples, level=level)
        keys = ["notion", "estimand", *by]
        again = dict(list(second[second["regret"].notna()].groupby(keys)))
        for row in chosen[chosen["verdict"].ne("alone")].to_dict("records"):
            other = again.get(tuple(row[name] for name in keys))
            if other is None or not {row["estimator"], row["runner_up"]} <= set(other["estimator"]):
                continue
            said = arena.better(other, row["estimator"], row["runner_up"], **options)
            told = {
                "about": "by " + ", ".join(by),
                "first": row["estimator"],
                "second": row["runner_up"],
                "ratio": row["ratio"],
            }
            told |= {
                "verdict": row["verdict"],
                "ratio_again": said.ratio,
                "verdict_again": said.verdict,
            }
            rows.append({**{name: row[name] for name in keys}, **told})
    for key, leader in leaders.items():
        if key in parts[1] and leader in set(parts[1][key]["estimator"]):
            here, there = (arena.against(run[key], leader, **options) for run in parts)
            both = here.join(there.add_suffix("_again"), how="inner")
            for name, row in both.iterrows():
                told = {
                    "about": LEADERBOARD,
                    "notion": key[0],
                    "estimand": key[1],
                    "first": leader,
                    "second": name,
                }
                rows.append(
                    {**told, **row[["ratio", "verdict", "ratio_again", "verdict_again"]].to_dict()}
                )
    return pd.DataFrame(rows, columns=COLUMNS).assign(problems=first["problem"].nunique())


def summary(table: pd.DataFrame) -> dict[str, Any]:
    """Counts of `statements`: all; those that establish a difference in the first run (established), and of these the ones that
    are established again, lost (undecided in the second), reversed (the opposite is established), and turned (the ratio is on the
    other side of 1, established or not); and those undecided in the first run, of which some are established in the second (new).
    """
    sure = table[table["verdict"].isin(["better", "worse"])]
    again = sure["verdict_again"]
    turned = (sure["ratio"] < 1.0) != (sure["ratio_again"] < 1.0)
    undecided = table[table["verdict"].eq("undecided")]
    return {
        "statements": len(table),
        "established": len(sure),
        "again": int(again.eq(sure["verdict"]).sum()),
        "lost": int(again.eq("undecided").sum()),
        "reversed": int((again.ne("undecided") & again.ne(sure["verdict"])).sum()),
        "turned": int(turned.sum()),
        "new": int(undecided["verdict_again"].ne("undecided").sum()),
        "undecided": len(undecided),
    }


def read(folder: Path) -> dict[str, Any] | None:
    """`summary` of the table of a results folder, else of the checkout's; None where there is none."""
    for path in (folder / FILE, *([CHECKOUT / "results" / "arena" / FILE] if CHECKOUT else [])):
        if path.is_file():
            table = pd.read_csv(path)
            if not set(COLUMNS) <= set(table.columns):
                raise BadInputError(
                    f"{path} has no column {min(set(COLUMNS) - set(table.columns))}; put back an earlier one."
                )
            return {
                **summary(table),
                "estimators": len({*table["first"], *table["second"]}),
                "problems": int(table["problems"].max()),
            }
    return None
