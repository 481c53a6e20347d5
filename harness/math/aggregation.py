"""One table over many problems: means of groups of cells, shares of the largest estimate, errors over groups and clusters."""

from __future__ import annotations

from harness.errors import BadInputError

CELL = ["sample", "estimator"]
ERRORS = ["groups", "mean", "se", "clusters", "se_clustered", "cluster_mean", "cluster_se"]


def group_means(cells, by: list[str]):
    """Mean of the cells' values by group and estimator.

    Parameters
    ----------
    cells : DataFrame
        One row per cell: the columns `by`, `sample` (which data it saw: problem, n, rep), `estimator`, `value` (NaN: no number).
    by : list of str
        The columns that make a group.

    Returns
    -------
    DataFrame (groups, estimators)
        NaN where an estimator lacks a number on a sample of the group on which another one has one: its mean would be over other
        data than theirs. A sample on which no estimator gave a number is left out.

    Raises
    ------
    BadInputError
        If a sample has two values of one estimator.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"data": "a", "sample": [0, 1], "estimator": "binned15", "value": [0.1, 0.3]})
    >>> float(group_means(cells, ["data"]).loc["a", "binned15"])
    0.2
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
    """Means in percent of the largest one of their group (berta2026, Table 1).

        100 max(mean, 0) / m,   m the largest mean of the `reference` estimators in the group

    An estimator outside `reference` can exceed 100. NaN stays NaN; a group whose m is not positive has no shares (all NaN).

    Examples
    --------
    >>> import pandas as pd
    >>> shares_of_largest(pd.DataFrame({"a": [0.1], "b": [0.4]}), ["a", "b"]).loc[0].tolist()
    [25.0, 100.0]
    """
    clipped = means.clip(lower=0.0)
    largest = clipped.reindex(columns=reference).max(axis=1)
    return 100.0 * clipped.div(largest.where(largest > 0.0), axis=0)


def mean_and_errors(values, clusters):
    """Mean over the groups by estimator, with its standard error for independent groups and for dependent ones.

        se = sd / sqrt(N),   cluster_se = sd_g / sqrt(G)
        se_clustered = sqrt( G / (G - 1) sum_g (sum_{i in g} (x_i - mean))^2 ) / N

    N groups lie in G clusters. se_clustered equals se if every cluster has one group. sd_g is that of the clusters' means. sd has
    ddof 1; the errors of a single group or cluster are NaN.

    Parameters
    ----------
    values : DataFrame (groups, estimators)
        NaN: no number, which is left out.
    clusters : sequence
        The cluster of every group, in the rows' order. Groups of one cluster are dependent (models of one data set).

    Returns
    -------
    DataFrame indexed by estimator
        Columns groups (N), mean, se, clusters (G), se_clustered, cluster_mean (mean of the clusters' means), cluster_se.

    Examples
    --------
    >>> import pandas as pd
    >>> found = mean_and_errors(pd.DataFrame({"a": [1.0, 3.0]}), ["x", "y"])
    >>> found.loc["a", ["mean", "se", "se_clustered"]].tolist()
    [2.0, 1.0, 1.0]
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
