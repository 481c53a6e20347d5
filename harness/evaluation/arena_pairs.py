"""Pairs of models on the same rows, with the same labels, of which one is better calibrated.

All models that name the same random stream (harness.problems.Paired) are judged on the same draws,
and any two are a pair. A trial is one replication of one pair. It is won if the model with the
smaller true error has the smaller value. Equal values are no order, and a trial in which one of the
two has no value is lost. An estimator of a quantity without truths here, such as a smooth ECE, is
judged by the order of the true L1 error.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from harness.evaluation import arena
from harness.evaluation.arena.resampling import nanmean
from harness.evaluation.rates import mean_interval, wilson
from harness.math.estimands import OF_OUTCOMES

EXPERIMENT = "arena_pairs"
POINTS = ("point", "interval", "")  # kinds of estimates whose value is an estimate
BY_DEFAULT = "l1"  # the truths that order models for a quantity without truths of its own
LEAST_APART = 1e-9  # true values that differ by less are equal
CLOSE, FAR = "close", "far"  # the half of the pairs of a stream with the smaller margins; the other
KEYS = ["stream", "notion", "k", "n", "estimand", "by", "estimator"]
COLUMNS = ["better", "worse", "margin", "half", "trials", "won", "of_rep"]
LEVEL = 0.95


def trials_of_records(
    records: pd.DataFrame, classes: Mapping[str, int], streams: Mapping[str, str]
) -> pd.DataFrame | None:
    """Return `trials` of the records of the experiment of pairs, None without any."""
    if "experiment" not in records or not records["experiment"].eq(EXPERIMENT).any():
        return None
    rows = records[records["experiment"].eq(EXPERIMENT)]
    return trials(arena.settings(rows, {"pairs": list(streams)}, classes), streams)


def trials(settings: pd.DataFrame, streams: Mapping[str, str]) -> pd.DataFrame:
    """Compute the trials of every pair.

    Parameters
    ----------
    settings : DataFrame
        From `arena.settings`.
    streams : mapping
        {problem: name of its random stream}. Problems that share it are the models.

    Returns
    -------
    DataFrame
        One row per stream, notion, k, n, estimand, by (the estimand whose truths give the order),
        estimator and pair: the better and the worse model; margin, the difference of their true
        errors; half, which is `close` for the half of the pairs of the same stream, notion and `by`
        with the smaller margins (without the middle one), else `far`; the numbers of trials and of
        those won; and of_rep, the array over replications: 1 won, 0 lost, NaN where the pair was
        not run.
    """
    part = settings[settings["problem"].isin(streams) & settings["kind"].isin(POINTS)]
    without_order = ("p_value", *OF_OUTCOMES)  # quantities of the labels alone order no models
    part = part[~part["estimand"].isin(without_order)]
    part = part.assign(stream=[streams[name] for name in part["problem"]])
    known = part.dropna(subset=["truth"])
    pairs = {
        key: pairs_of(dict(zip(rows["problem"], rows["truth"])))
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


def pairs_of(truths: Mapping[str, float]) -> list[tuple[str, str, float, str]]:
    """Return (better, worse, difference of the true errors, half), the closest pair first.

    Models with equal truths are no pair.

    Examples
    --------
    >>> pairs = pairs_of({"a": 0.1, "b": 0.3, "c": 0.15})
    >>> [(better, worse, half) for better, worse, _, half in pairs]
    [('a', 'c', 'close'), ('c', 'b', 'far'), ('a', 'b', 'far')]
    """
    order = sorted(truths, key=lambda name: (truths[name], name))
    pairs = [(a, b, truths[b] - truths[a]) for a, b in itertools.combinations(order, 2)]
    pairs = sorted((p for p in pairs if p[2] > LEAST_APART), key=lambda pair: pair[2])
    return [(*pair, CLOSE if i < len(pairs) // 2 else FAR) for i, pair in enumerate(pairs)]


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of trials that are won, over the pairs of each half.

    Parameters
    ----------
    table : DataFrame
        From `trials`.

    Returns
    -------
    DataFrame
        One row per stream, notion, k, n, estimand, by, estimator and half: pairs, trials, share,
        and its 95 % interval low, high. Replications are independent, so the interval is
        share -+ t sd / sqrt(R) of the R shares of the replications, cut to [0, 1]. If these are all
        equal, it is Wilson's interval of R trials. Then the range of the margins, least_margin and
        largest_margin.
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
    """Arrange `shares` of one order: a row per estimator, a column per (notion, k, n, half).

    The name of a row has the estimand where it differs from `by`. Rows are sorted by their mean
    distance from the mean of each column, so that an estimator without a notion is placed by the
    columns that it has.
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
