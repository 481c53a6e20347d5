"""Our own estimators in the arena: their results on the development half and on the test half.

The development half consists of the families of problems on which the estimators were developed,
the test half of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from harness.evaluation import arena
from harness.evaluation.arena.rules import BOARD


def is_own(estimator: str) -> bool:
    """Return True for one of our own estimators, whose ids begin with `best`."""
    return estimator.startswith("best")


def halves(settings: pd.DataFrame, development: Sequence[str], **bootstrap: Any) -> pd.DataFrame:
    """Compute the mean and the worst regret of our own estimators over each half of the families.

    Parameters
    ----------
    settings : DataFrame
        Rows of `arena.settings` for the main estimands.
    development : sequence of str
        Families of the development half.
    bootstrap
        The arguments resamples, seed and level of `arena.leaderboard`.

    Returns
    -------
    DataFrame
        One row per notion, estimand, half (development, test) and estimator:

        role
            "own", or "published" for the published estimator with the smallest mean regret on the
            development half. Own estimators come first, in alphabetical order.
        regret, low, high, worst, worst_at, share, rank
            As in `arena.leaderboard`.

        Own estimators that were not run or give only bounds have no row.
    """
    is_development = settings["family"].isin(development)
    parts = {"development": settings[is_development], "test": settings[~is_development]}
    boards = {half: arena.leaderboard(part, **bootstrap) for half, part in parts.items()}
    ranked = boards["development"].dropna(subset="rank")
    ranked = ranked[ranked["estimator"].map(arena.is_published).astype(bool)]
    rival = ranked.drop_duplicates(BOARD).set_index(BOARD)["estimator"].to_dict()
    chosen: list[pd.DataFrame] = []
    for half, board in boards.items():
        for key, rows in board.groupby(BOARD, sort=False):
            own = rows[rows["estimator"].map(is_own).astype(bool)].sort_values("estimator")
            published = rows[rows["estimator"].eq(rival.get(key))]
            chosen += [own.assign(half=half, role="own")]
            chosen += [published.assign(half=half, role="published")]
    columns = [
        *BOARD, "half", "estimator", "role", "regret", "low", "high", "worst", "worst_at", "share",
        "rank",
    ]  # fmt: skip
    rows_of = [table for table in chosen if len(table)]
    whole = pd.concat(rows_of, ignore_index=True) if rows_of else pd.DataFrame()
    return whole.reindex(columns=columns)
