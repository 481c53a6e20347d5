"""Content of the arena's page: leaderboards, recommended estimators, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.evaluation import arena, arena_pairs

APART = ("arena_intervals", "arena_tests")  # their estimators are wrappers and are not ranked
RESAMPLES = 1000
NUMBERS = (2, 3, 10, 100)  # numbers of classes on the page; others are shown with the nearest
CHOICES = (("n", "k"), ("n",), ("family", "n", "k"))  # groups with a recommended estimator


def ranked_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop the records of the experiments on intervals, tests and pairs of models.

    Their estimators are not ranked on the leaderboards.
    """
    if "experiment" not in frame:
        return frame
    return frame[~frame["experiment"].isin((*APART, arena_pairs.EXPERIMENT))]


def near(k: Any) -> NDArray[np.int64]:
    """Return the element of NUMBERS that is nearest on the log scale to each number of classes.

    Examples
    --------
    >>> near([2, 3, 7, 26, 100]).tolist()
    [2, 3, 10, 10, 100]
    """
    distance = np.abs(np.log(np.asarray(k, dtype=float))[:, None] - np.log(NUMBERS))
    nearest: NDArray[np.int64] = np.array(NUMBERS)[distance.argmin(axis=1)]
    return nearest


def count_statements(settings: pd.DataFrame) -> int:
    """Count the comparisons that the arena's page makes.

    There is one for each recommended estimator, and one for each leaderboard and estimator that is
    compared with the best of the leaderboard.
    """
    ranked = settings[settings["regret"].notna()]
    boards = ranked.groupby(["notion", "estimand"])
    choices = sum(ranked.groupby(["notion", "estimand", *by]).ngroups for by in CHOICES)
    return int(choices + (boards["estimator"].nunique() - 1).sum())


@dataclass(frozen=True)
class Content:
    """Content of the arena's page.

    Parameters
    ----------
    settings, every : DataFrame
        Rows of `arena.settings` for the main estimands, and for all estimands.
    board, by_family : DataFrame
        Leaderboards over all families, and one for each family.
    by_n_k, by_n, cells : DataFrame
        Recommended estimators by (n, k), by n, and by (family, n, k), where k is the number of
        classes.
    models : DataFrame or None
        Trials of pairs of models on the same data; None if they were not run.
    over : dict
        {(notion, estimand): comparison of the best estimator with each other}.
    statements : int
        Number of comparisons on the page.
    """

    settings: pd.DataFrame
    every: pd.DataFrame
    board: pd.DataFrame
    by_family: pd.DataFrame
    by_n_k: pd.DataFrame
    by_n: pd.DataFrame
    cells: pd.DataFrame
    models: pd.DataFrame | None
    over: dict[tuple[str, str], pd.DataFrame]
    statements: int


def content(
    frame: pd.DataFrame,
    families: Mapping[str, Sequence[str]],
    classes: Mapping[str, int],
    resamples: int = RESAMPLES,
    seed: int = 0,
    streams: Mapping[str, str] | None = None,
) -> Content:
    """Compute the content of the arena's page from records.

    `frame` holds the records. `families` is {family: [problem ids]}, and `classes` is {problem:
    number of classes}. `streams` is {problem: name of its random stream}; problems that share a
    stream are models on the same data. `resamples` is the number of bootstrap resamples, and
    `seed` the seed of the bootstrap.
    """
    every = arena.settings(ranked_rows(frame), families, classes)
    main = every[every["estimand"].isin(arena.MAIN)]
    board = arena.leaderboard(main, resamples=resamples, seed=seed)
    coarse = main.assign(k=near(main["k"]))
    statements = count_statements(coarse)
    parts = dict(list(main.groupby(["notion", "estimand"])))
    over = {}
    for row in board[board["rank"].eq(1.0)].itertuples():
        key = (row.notion, row.estimand)
        over[key] = arena.against(parts[key], row.estimator)
    by_n_k, by_n, cells = (arena.choices(coarse, by) for by in CHOICES)
    by_family = arena.leaderboard(main, "family", resamples, seed)
    models = arena_pairs.trials_of_records(frame, classes, streams or {})
    return Content(main, every, board, by_family, by_n_k, by_n, cells, models, over, statements)
