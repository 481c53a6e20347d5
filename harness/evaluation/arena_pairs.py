"""Pairs of models on the same rows, with the same labels: how often does an estimator say which of the two is better calibrated?

All models that name the same random stream (harness.problems.Paired) are judged on the same draws, and any two are a pair.
A trial is one replication of one pair: it is won if the model whose true error is smaller has the smaller value. Equal values are
no order, and a trial in which one of the two has no value is lost. An estimator of a quantity without truths here, such
as a smooth ECE, is judged by the order of the true l1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from harness.evaluation import arena
from harness.evaluation.rankings import wilson
from harness.math.estimands import OF_OUTCOMES

EXPERIMENT = "arena_pairs"
FAMILY = "pairs"
CLOSE, FAR = (
    "close",
    "far",
)  # the half of the pairs of a stream with the smaller differences, and the other
KEYS = ["stream", "notion", "k", "n", "estimand", "by", "estimator"]
COLUMNS = ["better", "worse", "margin", "half", "trials", "won", "of_rep"]
LEVEL = 0.95


def of_records(
    records: pd.DataFrame, classes: Mapping[str, int], streams: Mapping[str, str]
) -> pd.DataFrame | None:
    """`trials` of the records of the experiment of pairs; None where there are none."""
    rows = (
        records[records["experiment"].eq(EXPERIMENT)]
        if "experiment" in records
        else records.iloc[:0]
    )
    return (
        trials(arena.settings(rows, {FAMILY: list(streams)}, classes), streams)
        if len(rows)
        else None
    )


def trials(settings: pd.DataFrame, streams: Mapping[str, str]) -> pd.DataFrame:
    """The trials of every pair.

    Parameters
    ----------
    settings : DataFrame
        Of `arena.settings`.
    streams : mapping
        {problem: name of its random stream}; problems that share it are the models.

    Returns
    -------
    DataFrame
        One row per stream, notion, k, n, estimand, by (the estimand whose truths are the order), estimator and pair: the better
        and the worse model, margin (the difference of their true errors), half (`close` for the half of the pairs of the same
        stream, notion and `by` with the smaller margins, without the middle one; else `far`), the numbers of trials and of those
        won, and of_rep, the array over replications: 1 won, 0 lost, NaN where the pair was not run.
    """
    part = settings[settings["problem"].isin(streams) & settings["kind"].isin(arena.POINTS)]
    part = part[
        ~part["estimand"].isin(("p_value", *OF_OUTCOMES))
    ]  # what depends on the labels alone orders no models
    part = part.assign(stream=[streams[name] for name in part["problem"]])
    known = part.dropna(subset=["truth"]).drop_duplicates(
        ["stream", "notion", "estimand", "problem"]
    )
    truths = {
        key: dict(zip(of["problem"], of["truth"]))
        for key, of in known.groupby(["stream", "notion", "estimand"])
    }
    rows: list[list[Any]] = []
    for (stream, notion, k, n, estimand), of in part.groupby(
        ["stream", "notion", "k", "n", "estimand"], sort=True
    ):
        by = estimand if (stream, notion, estimand) in truths else arena.BY_DEFAULT
        pairs = pairs_of(truths.get((stream, notion, by), {}))
        for estimator, own in of.groupby("estimator", sort=True):
            values = dict(
                zip(own["problem"], own["values"])
            )  # NaN where the cell was not run, or has no answer
            run = {
                name: ~np.isnan(values[name]) | lost
                for name, lost in zip(own["problem"], own["lost"])
            }
            for better, worse, margin, half in pairs:
                if better in values and worse in values:
                    with np.errstate(invalid="ignore"):
                        won = (values[better] < values[worse]).astype(float)
                    of_rep = np.where(run[better] & run[worse], won, np.nan)
                    count = int((~np.isnan(of_rep)).sum())
                    key = [stream, notion, k, n, estimand, by, estimator]
                    rows.append(
                        [*key, better, worse, margin, half, count, int(np.nansum(of_rep)), of_rep]
                    )
    return pd.DataFrame(rows, columns=[*KEYS, *COLUMNS])


def pairs_of(truths: Mapping[str, float]) -> list[tuple[str, str, float, str]]:
    """[(better, worse, difference of their true errors, half)], the closest pair first; pairs with equal truths are none.

    Examples
    --------
    >>> [(*pair[:2], round(pair[2], 3), pair[3]) for pair in pairs_of({"a": 0.1, "b": 0.3, "c": 0.15})]
    [('a', 'c', 0.05, 'close'), ('c', 'b', 0.15, 'far'), ('a', 'b', 0.2, 'far')]
    """
    order = sorted(truths, key=lambda name: (truths[name], name))
    pairs = [(a, b, truths[b] - truths[a]) for i, a in enumerate(order) for b in order[i + 1 :]]
    pairs = sorted(
        (pair for pair in pairs if pair[2] > arena.LEAST_APART), key=lambda pair: pair[2]
    )
    return [(*pair, CLOSE if i < len(pairs) // 2 else FAR) for i, pair in enumerate(pairs)]


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """The share of trials that are won, over the pairs of each half.

    Parameters
    ----------
    table : DataFrame
        Of `trials`.

    Returns
    -------
    DataFrame
        One row per stream, notion, k, n, estimand, by, estimator and half: pairs, trials, share, and its 95 % interval low, high:
        the replications are independent, so that it is share -+ t sd / sqrt(R) of the R shares of the replications; where all of
        these are equal, Wilson's interval of R trials. Also the range of the margins.
    """
    rows = []
    for key, part in table.groupby([*KEYS, "half"], sort=True):
        of_rep = np.stack(part["of_rep"].to_numpy())
        of_rep = of_rep[:, ~np.isnan(of_rep).all(axis=0)]
        if not of_rep.size:
            continue
        each = np.nanmean(of_rep, axis=0)
        reps, share = len(each), float(part["won"].sum() / part["trials"].sum())
        spread = each.std(ddof=1) if reps > 1 else 0.0
        if spread > 0.0:
            half = float(stats.t.ppf((1.0 + LEVEL) / 2.0, reps - 1) * spread / np.sqrt(reps))
            low, high = max(share - half, 0.0), min(share + half, 1.0)
        else:
            low, high = (float(bound) for bound in wilson(share * reps, reps))
        told = [
            len(part),
            int(part["trials"].sum()),
            share,
            low,
            high,
            part["margin"].min(),
            part["margin"].max(),
        ]
        rows.append([*key, *told])
    columns = [
        *KEYS,
        "half",
        "pairs",
        "trials",
        "share",
        "low",
        "high",
        "least_margin",
        "largest_margin",
    ]
    return pd.DataFrame(rows, columns=columns)


def wide(found: pd.DataFrame, by: str) -> pd.DataFrame:
    """`shares` of one order: a row per estimator (with its estimand where that is another), a column per (notion, k, n, half);
    rows by how far they are from the mean of each column."""
    part = found[found["by"].eq(by)]
    names = [
        e if what in (by, e) else f"{e} ({what})"
        for e, what in zip(part["estimator"], part["estimand"])
    ]
    table = part.assign(name=names).pivot(
        index="name", columns=["notion", "k", "n", "half"], values="share"
    )
    notions = [
        notion
        for notion in ("binary", "top_label", "canonical")
        if notion in table.columns.get_level_values(0)
    ]
    columns = sorted(
        table.columns, key=lambda c: (notions.index(c[0]), c[1], [CLOSE, FAR].index(c[3]), c[2])
    )
    table = table[columns]
    # an estimator without a notion is placed by how it does beside the others of the columns that it has
    place = (table - table.mean(axis=0)).mean(axis=1)
    return table.loc[place.sort_values(ascending=False, kind="stable").index]
