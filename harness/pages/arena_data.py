"""What the arena measured, read once for all pages: settings, leaderboards of every combination of filters, and truths."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.evaluation import arena, arena_content
from harness.records import baseline, stored

NOTIONS = ("top_label", "binary", "canonical")  # in the order of the pages
BY = ("family", "n", "k")
RESAMPLES = 200  # of the bootstrap: its intervals are shown with two or three digits
ALL = "all"
FEW = (
    (),
    ("family",),
    ("n",),
    ("k",),
)  # the filters of estimands that the arena does not rank: one at a time
BOUNDS = ("lower", "upper", "interval")


@dataclass(frozen=True)
class ArenaResults:
    """What the arena measured.

    Parameters
    ----------
    settings : DataFrame
        As of `harness.evaluation.arena.settings`.
    families : dict
        {family: [problem ids]}.
    classes, keys : dict
        {problem id: number of classes}, {problem id: its key}.
    truths : dict
        {problem id: {"notion|estimand": (value, error, method)}}.
    cells : int
        How many cells it computed.
    """

    settings: pd.DataFrame
    families: dict[str, list[str]]
    classes: dict[str, int]
    keys: dict[str, str]
    truths: dict[str, dict[str, Any]]
    cells: int

    @functools.cached_property
    def boards(self) -> pd.DataFrame:
        """`leaderboards` of the settings that have a regret."""
        return leaderboards(self.settings)

    @functools.cached_property
    def overall(self) -> pd.DataFrame:
        """The rows of `boards` without a filter."""
        return _chosen(self.boards)

    def by(self, *names: str) -> pd.DataFrame:
        """The rows of `boards` that are kept apart by exactly these filters."""
        return _chosen(self.boards, *names)


def _chosen(boards: pd.DataFrame, *names: str) -> pd.DataFrame:
    fits = [boards[name].ne(ALL) if name in names else boards[name].eq(ALL) for name in BY]
    found: pd.DataFrame = boards[fits[0] & fits[1] & fits[2]]
    return found


@functools.cache
def read() -> ArenaResults | None:
    """The arena's stored records (some 20 seconds, once); None where the installation has none, or those of another arena."""
    try:
        found = baseline.read()
    except BadInputError:
        return None
    settings = arena.settings(found.records, found.families, found.classes)
    keys = {name: one.key for plan in found.plans.values() for name, one in plan.problems.items()}
    stored_truths: dict[str, Any] = {}
    for name in baseline.experiments():
        stored_truths |= stored.metadata(stored.path_of(baseline.folder_of(), name))["truths"]
    truths = {
        name: {what: said for what, said in stored_truths.get(key, {}).items() if said}
        for name, key in keys.items()
    }
    return ArenaResults(
        settings, found.families, found.classes, keys, truths, int(found.records["key"].nunique())
    )


def leaderboards(settings: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """The leaderboard of every combination of filters, one notion and estimand at a time.

    Parameters
    ----------
    settings : DataFrame
        As of `harness.evaluation.arena.settings`. Numbers of classes are taken to the nearest of 2, 3, 10, 100.
    resamples : int
        Of the bootstrap of `harness.evaluation.arena.leaderboard`.

    Returns
    -------
    DataFrame
        The rows of `harness.evaluation.arena.leaderboard` for every subset of the filters family, n, k; a filter that is not set
        has the value "all". Estimands other than l1 and l2_squared have the subsets FEW only.
    """
    coarse = points(settings)
    coarse = coarse[coarse["regret"].notna()]
    coarse = coarse.assign(k=arena_content.near(coarse["k"]))
    main = coarse["estimand"].isin(arena.MAIN)
    parts = []
    for by in itertools.chain.from_iterable(
        itertools.combinations(BY, size) for size in range(len(BY) + 1)
    ):
        part = coarse if by in FEW else coarse[main]
        board = arena.leaderboard(part, by, resamples=resamples)
        parts.append(board.assign(**{name: ALL for name in BY if name not in by}))
    whole = pd.concat(parts, ignore_index=True)
    return whole.assign(**{name: whole[name].astype(str) for name in BY})


def points(settings: pd.DataFrame) -> pd.DataFrame:
    """The settings without those of estimators that give bounds or intervals for that notion and estimand: where such a one has
    no answer it has a regret by the rule, and nothing to compare it with."""
    by = ["estimator", "notion", "estimand"]
    of_bounds = pd.MultiIndex.from_frame(
        settings.loc[settings["kind"].isin(BOUNDS), by].drop_duplicates()
    )
    found: pd.DataFrame = settings[~pd.MultiIndex.from_frame(settings[by]).isin(of_bounds)]
    return found


def bounds(settings: pd.DataFrame) -> pd.DataFrame:
    """Of every bound and certified interval by notion and estimand: how many settings, share of samples in which it holds the
    truth, its mean width (of intervals), and CPU seconds (geometric mean)."""
    part = settings[settings["kind"].isin(BOUNDS)]
    part = part.assign(
        seconds=np.log(part["cpu_seconds"].clip(lower=1e-6)), size=part["reps"] * part["coverage"]
    )
    grouped = part.groupby(["notion", "estimand", "estimator", "kind"])
    found = grouped.agg(
        settings=("problem", "size"), reps=("reps", "sum"), held=("size", "sum"), worst=("coverage", "min"),
        width=("width", "mean"), seconds=("seconds", "mean"),
    )  # fmt: skip
    found["coverage"] = found["held"] / found["reps"]
    return found.assign(seconds=np.exp(found["seconds"])).drop(columns="held").reset_index()


def notions(found: ArenaResults) -> Iterator[str]:
    """Those that have a leaderboard, in the order of the pages."""
    have = set(found.boards["notion"])
    return (notion for notion in NOTIONS if notion in have)
