"""Content of the arena's page: leaderboards, choices by n and k, pairs of models, statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.evaluation import arena, arena_pairs

APART = ("arena_intervals", "arena_tests")  # experiments with wrappers, which are not ranked
RESAMPLES = 1000
NUMBERS = (2, 3, 10, 100)  # numbers of classes; others are shown with the nearest by logarithm
CHOICES = (("n", "k"), ("n",), ("family", "n", "k"))  # groups with an estimator to use


def ranked_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop the records of intervals, tests and pairs of models, which are not ranked."""
    if "experiment" not in frame:
        return frame
    return frame[~frame["experiment"].isin((*APART, arena_pairs.EXPERIMENT))]


def near(k: Any) -> NDArray[np.int64]:
    """Return the nearest of NUMBERS to each number of classes, by the logarithm.

    Examples
    --------
    >>> near([2, 3, 7, 26, 100]).tolist()
    [2, 3, 10, 10, 100]
    """
    distance = np.abs(np.log(np.asarray(k, dtype=float))[:, None] - np.log(NUMBERS))
    nearest: NDArray[np.int64] = np.array(NUMBERS)[distance.argmin(axis=1)]
    return nearest


def count_statements(settings: pd.DataFrame) -> int:
    """Count the statements of a page: choices, and the best of each leaderboard against the others.

    All of them are tested together.
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
        Settings of the main estimands, and of all.
    board, by_family : DataFrame
        Leaderboards.
    by_n_k, by_n, cells : DataFrame
        Choices by (n, k), by n, and by (family, n, k).
    models : DataFrame or None
        Trials of pairs of models on the same rows; None if they were not run.
    over : dict
        {(notion, estimand): the best of the board against each other estimator}.
    statements : int
        Number of statements that are tested together.
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
    """Compute everything for the page; `streams` maps models on the same rows to their stream."""
    every = arena.settings(ranked_rows(frame), families, classes)
    main = every[every["estimand"].isin(arena.MAIN)]
    board = arena.leaderboard(main, resamples=resamples, seed=seed)
    coarse = main.assign(k=near(main["k"]))
    statements = count_statements(coarse)
    options: dict[str, Any] = {"comparisons": statements, "resamples": resamples, "seed": seed}
    parts = dict(list(main.groupby(["notion", "estimand"])))
    over = {}
    for row in board[board["rank"].eq(1.0)].itertuples():
        key = (row.notion, row.estimand)
        over[key] = arena.against(parts[key], row.estimator, **options)
    by_n_k, by_n, cells = (arena.choices(coarse, by, **options) for by in CHOICES)
    by_family = arena.leaderboard(main, "family", resamples, seed)
    models = arena_pairs.trials_of_records(frame, classes, streams or {})
    return Content(main, every, board, by_family, by_n_k, by_n, cells, models, over, statements)
