"""How often an estimator puts problems into the order of their true errors."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.evaluation.arena.resampling import quantiles

POINTS = ("point", "interval", "")  # kinds of estimates whose value is an estimate
BY_DEFAULT = "l1"  # whose truths order problems for a quantity that has no truth of its own
LEAST_APART = 1e-9  # true values that differ by less are equal


def ordered_pairs(
    settings: pd.DataFrame, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> pd.DataFrame:
    """How often an estimator puts two problems (models) into the order of their true errors.

    A trial is a pair of problems of one notion, n and k with different truths in one rep; it is won if the values have the order
    of the truths. Equal values are no order, and a trial without an answer is lost. For a quantity without truths, such as a
    smooth ECE, the order is that of the true l1. Intervals are of a bootstrap over problems.

    Returns
    -------
    DataFrame
        notion, estimand, by (the estimand whose truths order), n, k, estimator, pairs, share, low, high.
    """
    keys = ["notion", "n", "k"]
    rows = []
    part = settings[settings["kind"].isin(POINTS) & settings["estimand"].ne("p_value")]
    known = part.dropna(subset=["truth"]).drop_duplicates(["estimand", "problem", *keys])
    truths = known.set_index(["estimand", *keys, "problem"])["truth"].sort_index()
    for (estimand, *key), of in part.groupby(["estimand", *keys], sort=True):
        by = estimand if (estimand, *key) in truths.index.droplevel("problem") else BY_DEFAULT
        if (by, *key) not in truths.index.droplevel("problem"):
            continue
        truth = truths.loc[(by, *key)]
        of = of[of["problem"].isin(truth.index)]
        names = sorted(of["estimator"].unique())
        position = of["estimator"].map({name: i for i, name in enumerate(names)}).to_numpy()
        column = of["problem"].map({name: i for i, name in enumerate(truth.index)}).to_numpy()
        values, lost = (np.stack(of[name].to_numpy()) for name in ("values", "lost"))
        value = np.full((len(names), len(truth), values.shape[1]), np.nan)
        value[position, column] = np.where(lost, np.inf, values)
        i, j = np.triu_indices(len(truth), 1)
        true = truth.to_numpy()
        apart = np.abs(true[i] - true[j]) > LEAST_APART
        i, j = i[apart], j[apart]
        if not len(i):
            continue
        swap = true[i] > true[j]
        low, high = value[:, np.where(swap, j, i)], value[:, np.where(swap, i, j)]
        tried = ~np.isnan(low) & ~np.isnan(high)
        with np.errstate(invalid="ignore"):
            won = (low < high) & np.isfinite(low) & np.isfinite(high)
        wins, trials = won.sum(axis=2), tried.sum(axis=2)
        drawn = np.random.default_rng(seed).multinomial(
            len(truth), [1.0 / len(truth)] * len(truth), size=resamples
        )
        times = np.vstack([np.ones(len(i)), drawn[:, i] * drawn[:, j]])
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (times @ wins.T) / (times @ trials.T)
        bounds = quantiles(share, level)
        frame = {
            "estimand": estimand,
            "by": by,
            **dict(zip(keys, key)),
            "estimator": names,
            "pairs": (trials > 0).sum(axis=1),
        }
        rows.append(pd.DataFrame({**frame, "share": share[0], "low": bounds[0], "high": bounds[1]}))
    columns = ["notion", "estimand", "by", "n", "k", "estimator", "pairs", "share", "low", "high"]
    return pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)
