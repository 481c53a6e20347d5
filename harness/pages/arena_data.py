"""Results of the arena, read once for all pages: settings, answers, and filtered leaderboards."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.configure.arena import Arena
from harness.errors import BadInputError
from harness.evaluation import arena, arena_content
from harness.evaluation.arena.rules import BOUND_KINDS
from harness.records import baseline

NOTIONS = ("binary", "top_label", "classwise", "canonical")  # in the order of the pages
FILTERS = ("family", "n", "k")
# Combinations of filters that have leaderboards. More of them would make the pages too large.
FEW: tuple[tuple[str, ...], ...] = ((), ("family",), ("n",), ("k",))
PAIRS = (("n", "k"), ("family", "n"))  # for the main estimands only
RESAMPLES = 200  # of families, for the intervals of ranks
ALL = "all"  # the value of a filter that is not set


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
    def boards(self) -> pd.DataFrame:
        """The leaderboards of these settings for all combinations of filters."""
        return leaderboards(self.settings)

    @functools.cached_property
    def main(self) -> pd.DataFrame:
        """The settings of the main estimands, l1 and l2_squared."""
        return self.settings[self.settings["estimand"].isin(arena.MAIN)]

    @functools.cached_property
    def recommendations(self) -> pd.DataFrame:
        """The result of `arena.recommendations` for the main estimands."""
        return arena.recommendations(self.main, arena.read_development(Arena("arena")))

    @property
    def notions(self) -> list[str]:
        """The notions that have a leaderboard, in the order of the pages."""
        return [notion for notion in NOTIONS if self.boards["notion"].eq(notion).any()]


def filtered_by(boards: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the rows of the leaderboards in which exactly these filters are set.

    `boards` is the result of `leaderboards`. Without names, no filter is set.
    """
    fits = [boards[name].ne(ALL) == (name in names) for name in FILTERS]
    rows: pd.DataFrame = boards[np.logical_and.reduce(fits)]
    return rows


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
    problems = [item for plan in stored.plans.values() for item in plan.problems.items()]
    keys = {name: problem.key for name, problem in problems}
    return ArenaResults(settings, stored.families, keys, int(records["key"].nunique()))


def leaderboards(settings: pd.DataFrame) -> pd.DataFrame:
    """Compute the leaderboards for the combinations of filters in FEW and PAIRS.

    Each notion and estimand has leaderboards of its own. k is the number of classes.

    Parameters
    ----------
    settings : DataFrame
        The result of `harness.evaluation.arena.settings`. Numbers of classes are replaced by the
        nearest of 2, 3, 10 and 100.

    Returns
    -------
    DataFrame
        Rows of `harness.evaluation.arena.leaderboard`. A filter that is not set has the value
        "all". `ranked` is the number of estimators with a rank on the same leaderboard. Estimands
        other than l1 and l2_squared have only the combinations in FEW.
    """
    coarse = points(settings)
    coarse = coarse.assign(k=arena_content.near(coarse["k"]))
    main = coarse[coarse["estimand"].isin(arena.MAIN)]
    boards = [
        *zip(FEW, arena.leaderboards(coarse, FEW, RESAMPLES)),
        *zip(PAIRS, arena.leaderboards(main, PAIRS, RESAMPLES)),
    ]
    parts = [
        board.assign(**{name: ALL for name in FILTERS if name not in by}) for by, board in boards
    ]
    whole = pd.concat(parts, ignore_index=True).astype(dict.fromkeys(FILTERS, str))
    ranks = whole.groupby(["notion", "estimand", *FILTERS])["rank"]
    return whole.assign(ranked=ranks.transform("count"))


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
