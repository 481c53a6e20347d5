"""Pairs of models on the same data, of which one is better calibrated than the other.

Models that name the same random stream (harness.problems.Paired) are evaluated on the same draws,
so any two of them make a pair. A trial is one replication of one pair. An estimator wins the trial
if it gives the smaller value to the model with the smaller true error. Equal values do not win,
and neither does a trial in which one of the two values is missing. If no true value is known for
an estimand, such as a smooth ECE, the order of the true L1 errors is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from harness.evaluation import arena
from harness.evaluation.arena.resampling import nanmean
from harness.math.estimands import OF_OUTCOMES
from harness.math.rates import mean_interval, wilson

EXPERIMENT = "arena_pairs"
POINTS = ("point", "interval", "")  # kinds whose value is a point estimate, not a bound
BY_DEFAULT = "l1"  # orders the models if the estimand has no known true values
LEAST_APART = 1e-9  # true values that differ by less count as equal
CLOSE, FAR = "close", "far"  # halves of the pairs of a stream, with smaller and larger margins
KEYS = ["stream", "notion", "k", "n", "estimand", "by", "estimator"]
COLUMNS = ["better", "worse", "margin", "half", "trials", "won", "of_rep"]
LEVEL = 0.95


def trials_of_records(
    records: pd.DataFrame, classes: Mapping[str, int], streams: Mapping[str, str]
) -> pd.DataFrame | None:
    """Return the result of `trials` for the records of the experiment `arena_pairs`.

    Return None if `records` has no record of this experiment.
    """
    if "experiment" not in records or not records["experiment"].eq(EXPERIMENT).any():
        return None
    rows = records[records["experiment"].eq(EXPERIMENT)]
    return trials(arena.settings(rows, {"pairs": list(streams)}, classes), streams)


def trials(settings: pd.DataFrame, streams: Mapping[str, str]) -> pd.DataFrame:
    """Count the trials that each estimator wins on every pair of models.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`.
    streams : mapping
        {problem: name of its random stream}. Problems that share a stream are models on the same
        data.

    Returns
    -------
    DataFrame
        One row per stream, notion, k (number of classes), n, estimand, `by`, estimator and pair:

        by
            The estimand whose true values order the models.
        better, worse, margin
            The two models, and the difference of their true errors.
        half
            `close` for the half of the pairs with the smaller margins, else `far`. The pairs of the
            same stream, notion and `by` are compared. With an odd number the middle pair is `far`.
        trials, won
            Number of trials, and of trials that the estimator wins.
        of_rep
            Array over replications: 1 for won, 0 for lost, NaN where the pair was not run.
    """
    part = settings[settings["problem"].isin(streams) & settings["kind"].isin(POINTS)]
    without_order = ("p_value", *OF_OUTCOMES)  # quantities of the labels alone order no models
    part = part[~part["estimand"].isin(without_order)]
    part = part.assign(stream=[streams[name] for name in part["problem"]])
    known = part.dropna(subset=["truth"])
    pairs = {
        key: build_pairs(dict(zip(rows["problem"], rows["truth"])))
        for key, rows in known.groupby(["stream", "notion", "estimand"])
    }
    rows = []
    groups = part.groupby(["stream", "notion", "k", "n", "estimand", "estimator"], sort=True)
    for (stream, notion, k, n, estimand, estimator), members in groups:
        by = estimand if (stream, notion, estimand) in pairs else BY_DEFAULT
        values = dict(zip(members["problem"], members["values"]))  # NaN: not run, or no answer
        run = {name: ~np.isnan(values[name]) | lost
               for name, lost in zip(members["problem"], members["lost"])}  # fmt: skip
        for better, worse, margin, half in pairs.get((stream, notion, by), []):
            if better in values and worse in values:
                won = (values[better] < values[worse]).astype(float)
                of_rep = np.where(run[better] & run[worse], won, np.nan)
                counts = [int((~np.isnan(of_rep)).sum()), int(np.nansum(of_rep)), of_rep]
                key = [stream, notion, k, n, estimand, by, estimator]
                rows.append([*key, better, worse, margin, half, *counts])
    return pd.DataFrame(rows, columns=[*KEYS, *COLUMNS])


def build_pairs(truths: Mapping[str, float]) -> list[tuple[str, str, float, str]]:
    """Return all pairs of models as (better, worse, margin, half), the closest pair first.

    `truths` is {model: true error}. The margin is the difference of the true errors. `half` is
    `close` for the half of the pairs with the smaller margins, else `far`. Two models with equal
    true errors are not a pair.

    Examples
    --------
    >>> pairs = build_pairs({"a": 0.1, "b": 0.3, "c": 0.15})
    >>> [(better, worse, half) for better, worse, _, half in pairs]
    [('a', 'c', 'close'), ('c', 'b', 'far'), ('a', 'b', 'far')]
    """
    order = sorted(truths, key=lambda name: (truths[name], name))
    pairs = [(a, b, truths[b] - truths[a]) for a, b in itertools.combinations(order, 2)]
    pairs = sorted((p for p in pairs if p[2] > LEAST_APART), key=lambda pair: pair[2])
    return [(*pair, CLOSE if i < len(pairs) // 2 else FAR) for i, pair in enumerate(pairs)]


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of trials that each estimator wins, for the close and the far pairs.

    Parameters
    ----------
    table : DataFrame
        The result of `trials`.

    Returns
    -------
    DataFrame
        One row per stream, notion, k, n, estimand, by, estimator and half, with the columns

        pairs, trials
            Number of pairs and of trials.
        share, low, high
            Share of trials won, with its 95 % interval. Replications are independent, so the
            interval is share -+ t sd / sqrt(R), clipped to [0, 1], where sd is the standard
            deviation of the shares of the R replications. If these shares are all equal, it is
            Wilson's interval for R trials.
        least_margin, largest_margin
            Range of the differences of the true errors.
    """
    rows = []
    for key, part in table.groupby([*KEYS, "half"], sort=True):
        by_rep = nanmean(np.stack(part["of_rep"].to_list()))
        by_rep = by_rep[~np.isnan(by_rep)]
        if not len(by_rep):
            continue
        share = part["won"].sum() / part["trials"].sum()
        if len(by_rep) > 1 and by_rep.std(ddof=1) > 0.0:
            mean, low, high = mean_interval(by_rep, LEVEL)
            low, high = max(share - (mean - low), 0.0), min(share + (high - mean), 1.0)
        else:
            low, high = wilson(share * len(by_rep), len(by_rep))
        margins = part["margin"]
        numbers = [len(part), int(part["trials"].sum()), share, float(low), float(high)]
        rows.append([*key, *numbers, margins.min(), margins.max()])
    columns = ["pairs", "trials", "share", "low", "high", "least_margin", "largest_margin"]
    return pd.DataFrame(rows, columns=[*KEYS, "half", *columns])


def wide(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Arrange `shares` as a table with a row per estimator and a column per (notion, k, n, half).

    Only models that are ordered by the true estimand `by` enter. A row is named after its
    estimator, followed by the estimand if this is not `by`. Rows are sorted by their mean
    difference from the column means, so that missing entries do not change the place of an
    estimator.
    """
    part = table[table["by"].eq(by)]
    names = [
        name if estimand in (by, name) else f"{name} ({estimand})"
        for name, estimand in zip(part["estimator"], part["estimand"])
    ]
    columns = ["notion", "k", "n", "half"]
    table = part.assign(name=names).pivot(index="name", columns=columns, values="share")
    notions, halves = ("binary", "top_label", "canonical"), (CLOSE, FAR)
    order = sorted(table, key=lambda c: (notions.index(c[0]), c[1], halves.index(c[3]), c[2]))
    table = table[order]
    place = (table - table.mean(axis=0)).mean(axis=1)
    return table.loc[place.sort_values(ascending=False, kind="stable").index]
