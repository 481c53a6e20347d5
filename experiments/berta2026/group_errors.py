"""Errors of means over groups: standard errors, and bootstrap intervals of ranks.

A group is an average of cells, such as all folds of one data set and one model. A cluster is a set
of dependent groups, such as all models of one data set.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

ERRORS = ["groups", "mean", "se", "clusters", "se_clustered", "cluster_mean", "cluster_se"]


def bootstrap_ranks(
    tables: Mapping[str, pd.DataFrame],
    names: Sequence[str],
    cluster: str,
    resamples: int,
    seed: int = 0,
) -> pd.DataFrame:
    """Rank estimators by the mean of several means, with bootstrap intervals over clusters.

    Parameters
    ----------
    tables : mapping
        {column: DataFrame (groups, estimators)}, from `aggregation.shares`. A resample takes whole
        clusters, and the same clusters for all tables. Clusters that only later tables have are
        resampled among themselves.
    names : sequence of str
        The estimators, at least two. The largest mean has rank 1.
    cluster : str
        Index level with the cluster of a group.
    resamples : int
        Number of resamples.
    seed : int
        Seed of the resamples.

    Returns
    -------
    DataFrame indexed by estimator, in the order of rank
        Columns: overall, the mean of the tables' means; rank; their 95 % intervals overall_low,
        overall_high, rank_low and rank_high; and above_next, the share of resamples in which the
        estimator lies above the next one.

    Examples
    --------
    >>> index = pd.MultiIndex.from_arrays([list("pqr")], names=["data"])
    >>> frame = pd.DataFrame({"a": [3.0, 4.0, 5.0], "b": [1.0, 2.0, 3.0]}, index)
    >>> ranks = bootstrap_ranks({"x": frame}, ["b", "a"], "data", 200)
    >>> ranks[["overall", "rank", "rank_low", "rank_high"]].to_numpy().tolist()
    [[4.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]
    """
    rng = np.random.default_rng(seed)
    # {cluster: its count in each resample}; resample 0 is the data themselves, all counts 1
    weights: dict[Hashable, np.ndarray] = {}
    totals = []
    for values in tables.values():
        clusters = values.index.get_level_values(cluster)
        new = [name for name in dict.fromkeys(clusters) if name not in weights]
        if new:
            drawn = rng.multinomial(len(new), [1 / len(new)] * len(new), size=resamples)
            weights |= dict(zip(new, np.vstack([np.ones(len(new), dtype=int), drawn]).T))
        sums, counts = (
            frame.groupby(clusters).sum()
            for frame in (values[list(names)], values[list(names)].notna())
        )
        times = np.stack([weights[name] for name in sums.index], axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            totals.append((times @ sums.to_numpy()) / (times @ counts.to_numpy()))
    means = np.mean(totals, axis=0)
    ranks = 1 + (means[:, None, :] > means[:, :, None]).sum(axis=2)
    order = np.argsort(-means[0], kind="stable")
    low, high = (
        [np.quantile(frame[1:], q, axis=0, method="inverted_cdf") for frame in (means, ranks)]
        for q in (0.025, 0.975)
    )
    intervals = {
        "overall": means[0],
        "overall_low": low[0],
        "overall_high": high[0],
        "rank": ranks[0],
        "rank_low": low[1],
        "rank_high": high[1],
    }
    ranked = pd.DataFrame(intervals, index=pd.Index(list(names), name="estimator")).iloc[order]
    above = [(means[1:, i] > means[1:, j]).mean() for i, j in zip(order, order[1:])]
    return ranked.assign(above_next=[*above, np.nan])


def mean_and_errors(values: pd.DataFrame, clusters: Sequence[str]) -> pd.DataFrame:
    """Return means over groups, with standard errors for independent and for dependent groups.

        se = sd / sqrt(N),   cluster_se = sd_g / sqrt(G)
        se_clustered = sqrt( G / (G - 1) sum_g (sum_{i in g} (x_i - mean))^2 ) / N

    N is the number of groups, and x_i the value of group i. G is the number of clusters g. sd is
    the standard deviation of the x_i, and sd_g that of the means of the clusters (both with ddof
    1). se_clustered equals se if every cluster has one group. The errors of a single group or
    cluster are NaN.

    Parameters
    ----------
    values : DataFrame (groups, estimators)
        NaN is left out.
    clusters : sequence
        The cluster of every group, in the order of the rows.

    Returns
    -------
    DataFrame indexed by estimator
        Columns: groups (N), mean, se, clusters (G), se_clustered, cluster_mean (the mean of the
        means of the clusters) and cluster_se.

    Examples
    --------
    >>> import pandas as pd
    >>> means = mean_and_errors(pd.DataFrame({"a": [1.0, 3.0]}), ["x", "y"])
    >>> means.loc["a", ["mean", "se", "se_clustered"]].tolist()
    [2.0, 1.0, 1.0]
    """
    cluster = pd.Series(list(clusters), index=values.index)
    rows = {}
    for name in values:
        x = values[name].dropna()
        by_cluster = x.groupby(cluster[x.index].to_numpy())
        n, g = len(x), by_cluster.ngroups
        means, sums = by_cluster.mean(), (x - x.mean()).groupby(cluster[x.index].to_numpy()).sum()
        rows[name] = {
            "groups": n,
            "mean": x.mean(),
            "se": x.std() / np.sqrt(n) if n > 1 else np.nan,
            "clusters": g,
            "se_clustered": np.sqrt(g / (g - 1) * (sums**2).sum()) / n if g > 1 else np.nan,
            "cluster_mean": means.mean(),
            "cluster_se": means.std() / np.sqrt(g) if g > 1 else np.nan,
        }
    return pd.DataFrame.from_dict(rows, orient="index", columns=ERRORS).rename_axis("estimator")
