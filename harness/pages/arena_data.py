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
RESAMPLES = 200  # of the bootstrap: intervals are shown with two or three digits
BOUNDS = ("lower", "upper", "interval")


@dataclass(frozen=True)
class ArenaResults:
    """Results of the arena.

    Parameters
    ----------
    settings : DataFrame
        `harness.evaluation.arena.settings`.
    families : dict
        {family: [problem ids]}.
    keys : dict
        {problem id: key}.
    cells : int
        Number of computed cells.
    """

    settings: pd.DataFrame
    families: dict[str, list[str]]
    keys: dict[str, str]
    cells: int

    @functools.cached_property
    def boards(self) -> pd.DataFrame:
        """Leaderboards for all combinations of filters."""
        return leaderboards(self.settings)

    @property
    def notions(self) -> list[str]:
        """Notions that have a leaderboard, in the order of the pages."""
        return [notion for notion in NOTIONS if self.boards["notion"].eq(notion).any()]


def filtered_by(boards: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the rows of leaderboards that set exactly these filters."""
    fits = [boards[name].ne(ALL) == (name in names) for name in FILTERS]
    rows: pd.DataFrame = boards[np.logical_and.reduce(fits)]
    return rows


@functools.cache
def read() -> ArenaResults | None:
    """Read the arena's stored records, which takes some 20 seconds.

    Returns None if the installation has none, or those of another arena.
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
    """Compute a leaderboard for every combination of filters, one notion and estimand at a time.

    Parameters
    ----------
    settings : DataFrame
        `harness.evaluation.arena.settings`. Numbers of classes are taken to the nearest of 2, 3,
        10, 100.
    resamples : int
        Of the bootstrap of `harness.evaluation.arena.leaderboard`.

    Returns
    -------
    DataFrame
        Rows of `harness.evaluation.arena.leaderboard` for every subset of the filters family, n
        and k, and `ranked`, the number of estimators that have a rank there. A filter that is not
        set has the value "all". Estimands other than l1 and l2_squared have one filter at a time.
    """
    coarse = points(settings)
    coarse = coarse[coarse["regret"].notna()]
    coarse = coarse.assign(k=arena_content.near(coarse["k"]))
    main = coarse[coarse["estimand"].isin(arena.MAIN)]
    parts = []
    for size in range(len(FILTERS) + 1):
        for by in itertools.combinations(FILTERS, size):
            board = arena.leaderboard(coarse if size < 2 else main, by, resamples=resamples)
            parts.append(board.assign(**{name: ALL for name in FILTERS if name not in by}))
    boards = pd.concat(parts, ignore_index=True).astype(dict.fromkeys(FILTERS, str))
    ranks = boards.groupby(["notion", "estimand", *FILTERS])["rank"]
    return boards.assign(ranked=ranks.transform("count"))


def points(settings: pd.DataFrame) -> pd.DataFrame:
    """Leave out estimators that give bounds or intervals for a notion and estimand.

    Where such an estimator has no answer, it has a regret by the rule of the arena, but there is
    nothing to compare it with.
    """
    by = ["estimator", "notion", "estimand"]
    bounds = settings.loc[settings["kind"].isin(BOUNDS), by].drop_duplicates()
    rows: pd.DataFrame = settings[
        ~settings.set_index(by).index.isin(pd.MultiIndex.from_frame(bounds))
    ]
    return rows


def bounds(settings: pd.DataFrame) -> pd.DataFrame:
    """Summarise every bound and certified interval by notion and estimand.

    Returns
    -------
    DataFrame
        settings: their number; coverage: share of samples in which it holds the truth; worst: the
        smallest coverage in a setting; width: mean width of intervals; seconds: geometric mean of
        CPU seconds.
    """
    part = settings[settings["kind"].isin(BOUNDS)]
    logs = np.log(part["cpu_seconds"].clip(lower=1e-6))
    part = part.assign(seconds=logs, covered=part["reps"] * part["coverage"])
    table = part.groupby(["notion", "estimand", "estimator", "kind"], as_index=False).agg(
        settings=("problem", "size"), reps=("reps", "sum"), covered=("covered", "sum"),
        worst=("coverage", "min"), width=("width", "mean"), seconds=("seconds", "mean"),
    )  # fmt: skip
    return table.assign(coverage=table["covered"] / table["reps"], seconds=np.exp(table["seconds"]))
