"""A limit to compare with: the RMSE of a Bayes estimate that knows the shape of an error.

benchmarks/arena_limits.py defines the generator of a family and measures the limits: the shape of
the error is known, and its size has a stated prior. The RMSE is that at the true size, not the mean
over the prior. So it is a reference and no lower bound: at small n an estimator can be below it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from harness.common.paths import CHECKOUT
from harness.evaluation.arena.rules import SETTING
from harness.evaluation.arena.trends import trends

FILE = "limits.csv"
KEYS = ["problem", "n"]
RELATIVE = {"l1": "relative_l1", "l2_squared": "relative_l2_squared"}
LIMIT_ID = "limit: the shape is known"


def read(folder: Path) -> pd.DataFrame:
    """Read the measured limits from a results folder, else from the repository's results.

    Columns: problem, n, relative_l1 and relative_l2_squared (RMSE divided by the true error), and
    largest_s. Without a file, return a frame without rows.
    """
    folders = [folder, *([CHECKOUT / "results" / "arena"] if CHECKOUT else [])]
    for path in (folder / FILE for folder in folders):
        if path.is_file():
            return pd.read_csv(path)
    return pd.DataFrame(columns=[*KEYS, *RELATIVE.values(), "largest_s"])


def limit_trends(
    settings: pd.DataFrame, measured: pd.DataFrame, development: Collection[str]
) -> pd.DataFrame:
    """Return the typical limits in the form of `trends`, as an estimator named LIMIT_ID.

    Settings whose truth is 0 have none: there the limit is 0.

    Parameters
    ----------
    settings : DataFrame
        Rows of `arena.settings` for the main estimands.
    measured : DataFrame
        The result of `read`.
    development : collection of str
        Families that do not count, as in `trends`.
    """
    places = settings[~settings["calibrated"] & settings["truth"].notna()]
    places = places.drop_duplicates(SETTING)[[*SETTING, "truth", "calibrated"]]
    relative = measured.melt(KEYS, list(RELATIVE.values()), "estimand", "relative")
    names = {column: estimand for estimand, column in RELATIVE.items()}
    relative = relative.assign(estimand=relative["estimand"].map(names))
    rows = places.merge(relative, on=[*KEYS, "estimand"])
    rows = rows.assign(rmse=rows["truth"] * rows["relative"], estimator=LIMIT_ID)
    return trends(rows, development)


def compare(recommendations: pd.DataFrame, trends: pd.DataFrame) -> pd.DataFrame:
    """Return the typical errors of `best`, its rival and the limit, by notion, estimand and n.

    Columns: notion, estimand, n, own_rmse, rival, rival_rmse, limit (where the truth is above 0),
    and times_limit, the error of `best` divided by the limit.
    """
    place = ["notion", "estimand", "n"]
    of_limit = trends[trends["estimator"].eq(LIMIT_ID) & ~trends["calibrated"].astype(bool)]
    limit = of_limit.set_index(place)["rmse"].rename("limit").reset_index()
    table = recommendations[[*place, "own_rmse", "rival", "rival_rmse"]].merge(limit, on=place)
    return table.assign(times_limit=table["own_rmse"] / table["limit"])
