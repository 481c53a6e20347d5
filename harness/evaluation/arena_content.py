"""What the arena's page is made of: leaderboards, choices by n and k, orders of problems, statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation import arena, arena_pairs

APART = (
    "arena_intervals",
    "arena_tests",
)  # experiments whose estimators are wrappers: of intervals and tests, not of the ranks
RESAMPLES = 1000
NUMBERS = (2, 3, 10, 100)  # of classes: others are shown with the nearest, by the logarithm


def ranked_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The records that are ranked: neither those of intervals and tests, nor those of pairs of models."""
    return (
        frame[~frame["experiment"].isin((*APART, arena_pairs.EXPERIMENT))]
        if "experiment" in frame
        else frame
    )


def near(k: Any) -> Any:
    """The nearest of NUMBERS to every number of classes, by the logarithm.

    Examples
    --------
    >>> near([2, 3, 7, 26, 100]).tolist()
    [2, 3, 10, 10, 100]
    """
    distance = np.abs(np.log(np.asarray(k, dtype=float))[:, None] - np.log(NUMBERS))
    return np.array(NUMBERS)[distance.argmin(axis=1)]


@dataclass(frozen=True)
class Content:
    """What the arena's page shows.

    Parameters
    ----------
    settings, every : DataFrame
        Settings of the main estimands, and of all.
    board, by_family : DataFrame
        Leaderboards.
    by_n_k, by_n, cells : DataFrame
        Choices by (n, k), by n, and by (family, n, k).
    pairs, models : DataFrame
        Orders of problems, and of models on the same rows (None: not run).
    over : dict
        {(notion, estimand): how often the best of the board is better than the others}.
    statements : int
        The number of statements that are tested together.
    """

    settings: Any
    every: Any
    board: Any
    by_family: Any
    by_n_k: Any
    by_n: Any
    cells: Any
    pairs: Any
    models: Any
    over: dict[tuple[str, str], Any] = field(default_factory=dict)
    statements: int = 0


def content(
    frame: pd.DataFrame,
    families: dict[str, list[str]],
    classes: dict[str, int],
    resamples: int = RESAMPLES,
    seed: int = 0,
    streams: dict[str, Any] | None = None,
) -> Content:
    """All that is computed for the page; `streams` says which problems are models on the same rows."""
    rows = ranked_rows(frame)
    every = arena.settings(rows, families, classes)
    main = every[every["estimand"].isin(arena.MAIN)]
    board = arena.leaderboard(main, resamples=resamples, seed=seed)
    ranked = main[main["regret"].notna()]
    boards = list(ranked.groupby(["notion", "estimand"]))
    coarse = main.assign(k=near(main["k"]))
    ranked_coarse = coarse[coarse["regret"].notna()].groupby
    counts = [
        ranked_coarse(["notion", "estimand", *by]).ngroups
        for by in (("n", "k"), ("n",), ("family", "n", "k"))
    ]
    statements = sum(counts) + sum(part["estimator"].nunique() - 1 for _, part in boards)
    options = {"comparisons": statements, "resamples": resamples, "seed": seed}
    by_n_k, by_n, cells = (
        arena.choices(coarse, by, **options) for by in (("n", "k"), ("n",), ("family", "n", "k"))
    )
    over = {}
    for key, part in boards:
        first = board[
            board["notion"].eq(key[0]) & board["estimand"].eq(key[1]) & board["rank"].eq(1.0)
        ]["estimator"]
        if len(first):
            over[key] = arena.against(part, first.iloc[0], **options)
    return Content(
        main, every, board, arena.leaderboard(main, "family", resamples, seed), by_n_k, by_n, cells,
        arena.ordered_pairs(every, resamples, seed), arena_pairs.of_records(frame, classes, streams or {}), over, statements,
    )  # fmt: skip
