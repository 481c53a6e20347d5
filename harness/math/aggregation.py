"""One table over many problems: means of groups of cells, shares of the largest estimate, errors over groups and clusters."""

from __future__ import annotations

from harness.errors import BadInputError

CELL = ["sample", "estimator"]
ERRORS = ["groups", "mean", "se", "clusters", "se_clustered", "cluster_mean", "cluster_se"]


def group_means(cells, by: list[str]):
    """Mean of the cells' values by group and estimator -> frame (groups, estimators), NaN where there is none.

    cells   frame with the columns `by`, `sample` (which data a cell saw: problem, n, rep), `estimator`, `value` (NaN: no number)

    A sample on which no estimator gave a number is no part of its group. An estimator that lacks a number on any sample of a
    group that another one has, is NaN in that group: its mean would be over other data than theirs.
    """
    import pandas as pd

    twice = cells.duplicated([*by, *CELL])
    if twice.any():
        raise BadInputError(
            f"cells hold {cells.loc[twice, CELL].iloc[0].tolist()} twice; one value by sample and estimator is needed."
        )
    if not len(cells):
        return pd.DataFrame(index=pd.MultiIndex.from_tuples([], names=by))
    values = cells.pivot(index=[*by, "sample"], columns="estimator", values="value").dropna(how="all")
    groups = values.groupby(level=by)
    return groups.mean().where(groups.count().eq(groups.size(), axis=0))


def shares_of_largest(means, reference: list[str]):
    """100 max(mean, 0) / m in percent, m the largest mean of the `reference` estimators in the group (berta2026, Table 1).

    An estimator outside `reference` can exceed 100. NaN stays NaN; a group whose m is not positive has no shares (all NaN).
    """
    clipped = means.clip(lower=0.0)
    largest = clipped.reindex(columns=reference).max(axis=1)
    return 100.0 * clipped.div(largest.where(largest > 0.0), axis=0)


def mean_and_errors(values, clusters):
    """Mean over the groups (rows) by estimator (column) with two errors; frame indexed by estimator. `groups` counts the numbers.

    values     frame (groups, estimators)
    clusters   the cluster of every group, in the rows' order: groups of one cluster are dependent (models of one data set)

    groups N, mean, se = sd / sqrt(N) (groups taken as independent), clusters G,
    se_clustered = sqrt(G / (G - 1) sum_g (sum_{i in g} (x_i - mean))^2) / N, which is se if every cluster has one group,
    cluster_mean = mean of the clusters' means, cluster_se = their sd / sqrt(G). sd has ddof 1; the errors of one are NaN.
    """
    import numpy as np
    import pandas as pd

    of_group = pd.Series(list(clusters), index=values.index)
    rows = {}
    for name in values:
        x = values[name].dropna()
        by_cluster = x.groupby(of_group[x.index].to_numpy())
        n, g = len(x), by_cluster.ngroups
        means, sums = by_cluster.mean(), (x - x.mean()).groupby(of_group[x.index].to_numpy()).sum()
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
