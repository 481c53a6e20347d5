"""Results of the arena, read once for all pages of the site."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pandas as pd

from harness.errors import BadInputError
from harness.evaluation import arena
from harness.evaluation.arena.content import BOARDS
from harness.evaluation.arena.rules import BOUND_KINDS
from harness.records import baseline


@dataclass(frozen=True)
class ArenaResults:
    """Stored results of the arena.

    Parameters
    ----------
    settings : DataFrame
        The result of `harness.evaluation.arena.settings`.
    families : dict
        {family: [problem ids]}.
    keys : dict
        {problem id: key of the problem}.
    cells : int
        Number of computed cells.
    """

    settings: pd.DataFrame
    families: dict[str, list[str]]
    keys: dict[str, str]
    cells: int

    @functools.cached_property
    def board(self) -> pd.DataFrame:
        """The leaderboards without a filter, as on the arena's page.

        `ranked` is the number of estimators with a rank on the same leaderboard.
        """
        board = arena.leaderboard(self.settings[self.settings["estimand"].isin(BOARDS)])
        ranks = board.groupby(["notion", "estimand"])["rank"]
        return board.assign(ranked=ranks.transform("count"))


@functools.cache
def read() -> ArenaResults | None:
    """Read the stored records of the arena and compute their settings, in about 20 seconds.

    Return None if this installation has no stored records, or records of another arena.
    """
    try:
        stored = baseline.read()
    except BadInputError:
        return None
    records = stored.records(baseline.COMPARED)
    settings = arena.settings(records, stored.families, stored.classes)
    keys, cells = stored.description.keys, int(records["key"].nunique())
    return ArenaResults(settings, stored.families, keys, cells)


def points(settings: pd.DataFrame) -> pd.DataFrame:
    """Drop the rows of estimators that give bounds or intervals for the notion and estimand.

    The arena's rule gives such an estimator an RMSE where it has no answer. That RMSE is not
    comparable with those of point estimates.
    """
    by = ["estimator", "notion", "estimand"]
    bounds = settings.loc[settings["kind"].isin(BOUND_KINDS), by].drop_duplicates()
    apart = settings.set_index(by).index.isin(pd.MultiIndex.from_frame(bounds))
    rows: pd.DataFrame = settings[~apart & ~settings["estimator"].map(arena.is_bound).astype(bool)]
    return rows
