"""Content of the arena's page: recommendations, leaderboards, bounds and intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.evaluation import arena
from harness.evaluation.arena import pairs as arena_pairs
from harness.evaluation.arena.limits import limit_trends
from harness.evaluation.arena.sensitivity import sensitivity
from harness.evaluation.arena.simple_rule import simple_rules
from harness.evaluation.arena.trends import trends

APART = ("arena_intervals", "arena_tests")  # their estimators are wrappers and are not ranked
BOARDS = (*arena.MAIN, "kl", "l1_over", "l1_under")  # estimands with a leaderboard on the page
NUMBERS = (2, 3, 10, 100)  # numbers of classes on the page; others are shown with the nearest


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


@dataclass(frozen=True)
class Content:
    """Content of the arena's page.

    Parameters
    ----------
    settings, every : DataFrame
        Rows of `arena.settings` for the main estimands, and for all estimands.
    board : DataFrame
        Leaderboards over all families, for the estimands in BOARDS.
    recommendations, bounds, intervals : DataFrame
        Results of `arena.recommendations`, `arena.bounds` and `arena.interval_table` for the main
        estimands.
    trends : DataFrame
        The result of `arena_trends.trends` for the main estimands.
    models : DataFrame or None
        Trials of pairs of models on the same data; None if they were not run.
    sensitivity, simple : DataFrame or None
        Results of `sensitivity` and `simple_rules` for the main estimands; None on a page that
        shows neither. `trends` of the page that shows them also has `limits.limit_trends`.
    """

    settings: pd.DataFrame
    every: pd.DataFrame
    board: pd.DataFrame
    recommendations: pd.DataFrame
    bounds: pd.DataFrame
    intervals: pd.DataFrame
    trends: pd.DataFrame
    models: pd.DataFrame | None
    sensitivity: pd.DataFrame | None = None
    simple: pd.DataFrame | None = None


def content(
    frame: pd.DataFrame,
    families: Mapping[str, Sequence[str]],
    classes: Mapping[str, int],
    development: Collection[str] = (),
    streams: Mapping[str, str] | None = None,
    limits: pd.DataFrame | None = None,
) -> Content:
    """Compute the content of the arena's page from records.

    `frame` holds the records. `families` is {family: [problem ids]}, and `classes` is {problem:
    number of classes}. `development` has the families on which published rivals are chosen.
    `streams` is {problem: name of its random stream}; problems that share a stream are models on
    the same data. `limits` is the result of `limits.read`.
    """
    every = arena.settings(ranked_rows(frame), families, classes)
    models = arena_pairs.trials_of_records(frame, classes, streams or {})
    summary = summarise(every, development, models)
    drawn = [summary.trends]
    if limits is not None and len(limits):
        drawn.append(limit_trends(summary.settings, limits, development))
    return replace(
        summary,
        trends=pd.concat(drawn, ignore_index=True),
        sensitivity=sensitivity(summary.settings, development),
        simple=simple_rules(summary.settings, development),
    )


def summarise(
    every: pd.DataFrame,
    development: Collection[str] = (),
    models: pd.DataFrame | None = None,
    own: str | None = None,
) -> Content:
    """Compute the content of the arena's page from rows of `arena.settings`.

    `development` and `models` are as in `content` and in `Content`. `own` is the id of a user's
    estimator, which is on the leaderboards but is not recommended.
    """
    main = every[every["estimand"].isin(arena.MAIN)]
    return Content(
        settings=main,
        every=every,
        board=arena.leaderboard(every[every["estimand"].isin(BOARDS)]),
        recommendations=arena.recommendations(main[main["estimator"].ne(own)], list(development)),
        bounds=arena.bounds(main),
        intervals=arena.interval_table(main),
        trends=trends(main, development),
        models=models,
    )
