"""Results of the arena, read once for all pages: settings, and leaderboards for all filters."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.evaluation import arena, arena_content
from harness.records import baseline

NOTIONS = ("top_label", "binary", "canonical")  # in the order of the pages
FILTERS = ("family", "n", "k")
ALL = "all"  # the value of a filter that is not set
RESAMPLES = 200  # bootstrap resamples; enough for intervals with two or three digits
BOUNDS = ("lower", "upper", "interval")


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


def leaderboards(settings: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Compute the leaderboards for every combination of the filters family, n and k.

    Each notion and estimand has leaderboards of its own. k is the number of classes.

    Parameters
    ----------
    settings : DataFrame
        The result of `harness.evaluation.arena.settings`. Numbers of classes are replaced by the
        nearest of 2, 3, 10 and 100.
    resamples : int
        Number of bootstrap resamples in `harness.evaluation.arena.leaderboard`.

    Returns
    -------
    DataFrame
        Rows of `harness.evaluation.arena.leaderboard`. A filter that is not set has the value
        "all". `ranked` is the number of estimators with a rank on the same leaderboard. For
        estimands other than l1 and l2_squared, at most one filter is set.
    """
    coarse = points(settings)
    coarse = coarse[coarse["regret"].notna()]
    coarse = coarse.assign(k=arena_content.near(coarse["k"]))
    main = coarse[coarse["estimand"].isin(arena.MAIN)]
    few, many = (
        [by for size in sizes for by in itertools.combinations(FILTERS, size)]
        for sizes in ((0, 1), (2, 3))
    )
    boards = [
        *zip(few, arena.leaderboards(coarse, few, resamples)),
        *zip(many, arena.leaderboards(main, many, resamples)),
    ]
    parts = [
        board.assign(**{name: ALL for name in FILTERS if name not in by}) for by, board in boards
    ]
    whole = pd.concat(parts, ignore_index=True).astype(dict.fromkeys(FILTERS, str))
    ranks = whole.groupby(["notion", "estimand", *FILTERS])["rank"]
    return whole.assign(ranked=ranks.transform("count"))


def points(settings: pd.DataFrame) -> pd.DataFrame:
    """Drop the rows of estimators that give bounds or intervals for the notion and estimand.

    The arena's rule gives such an estimator a regret where it has no answer. That regret is not
    comparable with the regrets of point estimates.
    """
    by = ["estimator", "notion", "estimand"]
    bounds = settings.loc[settings["kind"].isin(BOUNDS), by].drop_duplicates()
    rows: pd.DataFrame = settings[
        ~settings.set_index(by).index.isin(pd.MultiIndex.from_frame(bounds))
    ]
    return rows


def bounds(settings: pd.DataFrame) -> pd.DataFrame:
    """Summarise each estimator of bounds or certified intervals by notion and estimand.

    Returns
    -------
    DataFrame
        One row per notion, estimand, estimator and kind (lower, upper, interval), with the columns

        settings, reps
            Number of settings, and of samples with an answer.
        coverage, worst
            Share of these samples in which the bound or interval contains the truth, and the
            smallest such share in a setting.
        width, seconds
            Mean width of the intervals, and geometric mean of the CPU seconds.
    """
    part = settings[settings["kind"].isin(BOUNDS)]
    logs = np.log(part["cpu_seconds"].clip(lower=1e-6))
    part = part.assign(seconds=logs, covered=part["reps"] * part["coverage"])
    table = part.groupby(["notion", "estimand", "estimator", "kind"], as_index=False).agg(
        settings=("problem", "size"), reps=("reps", "sum"), covered=("covered", "sum"),
        worst=("coverage", "min"), width=("width", "mean"), seconds=("seconds", "mean"),
    )  # fmt: skip
    return table.assign(coverage=table["covered"] / table["reps"], seconds=np.exp(table["seconds"]))
