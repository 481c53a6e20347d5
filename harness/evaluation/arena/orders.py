"""How often an estimator puts problems into the order of their true errors."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.evaluation.arena.resampling import quantiles

POINTS = ("point", "interval", "")  # kinds of estimates whose value is an estimate
BY_DEFAULT = "l1"  # the truths that order problems for a quantity without truths of its own
LEAST_APART = 1e-9  # true values that differ by less are equal
COLUMNS = ["notion", "estimand", "by", "n", "k", "estimator", "pairs", "share", "low", "high"]


def ordered_pairs(
    settings: pd.DataFrame, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> pd.DataFrame:
    """Count how often an estimator puts two problems (models) into the order of their true errors.

    A trial is a pair of problems of one notion, n and k with different truths in one rep. It is won
    if the values have the order of the truths. Equal values are no order, and a trial without an
    answer is lost. A quantity without truths, such as a smooth ECE, is judged by the order of the
    true L1 error. Intervals come from a bootstrap over problems.

    Returns
    -------
    DataFrame
        notion, estimand, by (the estimand whose truths give the order), n, k, estimator, pairs,
        share, low, high.
    """
    keys = ["notion", "n", "k"]
    part = settings[settings["kind"].isin(POINTS) & settings["estimand"].ne("p_value")]
    known = part.dropna(subset=["truth"]).drop_duplicates(["estimand", "problem", *keys])
    truths = {key: rows.set_index("problem")["truth"].sort_index()
              for key, rows in known.groupby(["estimand", *keys])}  # fmt: skip
    tables = []
    for (estimand, *key), rows in part.groupby(["estimand", *keys], sort=True):
        by = estimand if (estimand, *key) in truths else BY_DEFAULT
        truth = truths.get((by, *key), pd.Series(dtype=float))
        rows = rows[rows["problem"].isin(truth.index)]
        true = truth.to_numpy()
        i, j = np.triu_indices(len(true), 1)
        apart = np.abs(true[i] - true[j]) > LEAST_APART
        i, j = i[apart], j[apart]
        if not len(i):
            continue

        # Values (estimators, problems, reps), infinite for a missing answer, NaN where not run.
        names = sorted(rows["estimator"].unique())
        values, lost = (np.stack(rows[name].to_list()) for name in ("values", "lost"))
        value = np.full((len(names), len(true), values.shape[1]), np.nan)
        place = np.searchsorted(names, rows["estimator"])
        value[place, truth.index.get_indexer(rows["problem"])] = np.where(lost, np.inf, values)

        swap = true[i] > true[j]
        low, high = value[:, np.where(swap, j, i)], value[:, np.where(swap, i, j)]
        trials = (~np.isnan(low) & ~np.isnan(high)).sum(axis=2)
        wins = ((low < high) & np.isfinite(high)).sum(axis=2)
        rng = np.random.default_rng(seed)
        drawn = rng.multinomial(len(true), [1.0 / len(true)] * len(true), size=resamples)
        times = np.vstack([np.ones(len(i)), drawn[:, i] * drawn[:, j]])
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (times @ wins.T) / (times @ trials.T)
        ends = quantiles(share, level)
        table = pd.DataFrame({"estimator": names, "pairs": (trials > 0).sum(axis=1),
                              "share": share[0], "low": ends[0], "high": ends[1]})  # fmt: skip
        tables.append(table.assign(estimand=estimand, by=by, **dict(zip(keys, key))))
    return (
        pd.concat(tables, ignore_index=True)[COLUMNS] if tables else pd.DataFrame(columns=COLUMNS)
    )
