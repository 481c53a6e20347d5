"""How fast errors fall, which of two estimators is closer, how often bounds hold: slopes, ratios and shares over replications."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import DASH
from harness.records.schema import has_number


def log_slope(wide: pd.DataFrame) -> dict[str, float]:
    """Slope of log10(mean over the replications) on log10 n, by least squares.

    Parameters
    ----------
    wide : DataFrame (replications, sizes)
        Positive errors; the columns are the sample sizes n, ascending. Samples of different n may share their beginnings.

    Returns
    -------
    dict
        slope, and se, its jackknife error over the replications; first and last: the slope over the first and the last decade of
        the sizes (the nearest size at least ten times away); n_min, n_max, reps. The slopes are NaN where there are fewer than
        three sizes or a mean is not positive, the error for one replication.

    Examples
    --------
    >>> wide = pd.DataFrame([[1.0, 0.1, 0.01]], columns=[100, 1000, 10000])
    >>> round(float(log_slope(wide)["slope"]), 6)
    -1.0
    """
    n, count = wide.columns.to_numpy(float), len(wide)
    found = dict.fromkeys(("slope", "se", "first", "last"), np.nan) | {"reps": count}
    found |= {"n_min": n.min() if len(n) else np.nan, "n_max": n.max() if len(n) else np.nan}
    if len(n) < 3 or not count or not (wide.mean() > 0.0).all():
        return found
    x = np.log10(n)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    values = wide.to_numpy()
    y = np.log10(values.mean(axis=0))
    found |= {"slope": weights @ y, "first": _decade(x, y), "last": _decade(x[::-1], y[::-1])}
    if count > 1:
        others = (values.sum(axis=0) - values) / (count - 1)
        if (others > 0.0).all():
            found["se"] = _jackknife(np.log10(others) @ weights)
    return found


def ratio_of_means(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """mean(a) / mean(b) of two estimators on the same samples.

    Parameters
    ----------
    a, b : ndarray (reps,)
        Positive values, a pair per sample.

    Returns
    -------
    dict
        mean, se (jackknife; NaN for one sample), least and largest (of a / b on one sample), reps.

    Examples
    --------
    >>> found = ratio_of_means(np.array([0.2, 0.4]), np.array([0.5, 0.7]))
    >>> round(float(found["mean"]), 3), round(float(found["largest"]), 3)
    (0.5, 0.571)
    """
    if not len(a):
        return dict.fromkeys(("mean", "se", "least", "largest"), np.nan) | {"reps": 0}
    se = _jackknife((a.sum() - a) / (b.sum() - b)) if len(a) > 1 else np.nan
    return {
        "mean": a.mean() / b.mean(),
        "se": se,
        "least": (a / b).min(),
        "largest": (a / b).max(),
        "reps": len(a),
    }


def _jackknife(each: np.ndarray) -> float:
    """The standard error of a statistic from its values `each` with one replication left out."""
    return np.sqrt((len(each) - 1) / len(each) * ((each - each.mean()) ** 2).sum())


def _decade(x: np.ndarray, y: np.ndarray) -> float:
    far = np.flatnonzero(np.abs(x - x[0]) >= 1.0 - 1e-3)  # 3,162 is not quite half a decade
    return (y[far[0]] - y[0]) / (x[far[0]] - x[0]) if len(far) else np.nan


def pareto(points: np.ndarray) -> np.ndarray:
    """Which points no other betters.

    Parameters
    ----------
    points : ndarray (n, d)
        Less is better in every column.

    Returns
    -------
    ndarray (n,) of bool
        Whether no other point is nowhere worse and somewhere better.

    Examples
    --------
    >>> pareto(np.array([[1, 3], [2, 2], [2, 3]])).tolist()
    [True, True, False]
    """
    nowhere_worse = (points[None] <= points[:, None]).all(axis=2)
    better = (points[None] < points[:, None]).any(axis=2)
    return ~(nowhere_worse & better).any(axis=1)


def wilson(successes: Any, n: Any, z: float = 1.959963984540054) -> tuple[Any, Any]:
    """Wilson's score interval of a binomial share, by default of level 95 %.

        (s + z^2 / 2 -+ z sqrt(s (n - s) / n + z^2 / 4)) / (n + z^2)

    Examples
    --------
    >>> tuple(round(float(end), 4) for end in wilson(5, 10))
    (0.2366, 0.7634)
    """
    middle, half = successes + z**2 / 2, z * np.sqrt(successes * (n - successes) / n + z**2 / 4)
    return np.maximum((middle - half) / (n + z**2), 0.0), np.minimum(
        (middle + half) / (n + z**2), 1.0
    )


def least_coverage(level: Any, samples: Any) -> Any:
    """The smallest coverage of so many samples that passes for a bound of this level.

    level - 3 sqrt(level (1 - level) / samples)
    """
    return level - 3.0 * np.sqrt(level * (1.0 - level) / samples)


def coverage(records: pd.DataFrame, *more: str) -> pd.DataFrame:
    """How often bounds and intervals hold the true value.

    Returns
    -------
    DataFrame
        By problem, estimator, n, level and the columns `more`: samples, coverage (low <= truth <= high, up to the error of the
        truth), margin, that of the closest sample (min over samples of min(high - truth, truth - low)), truth, low and high
        (means), vacuous (share of the samples that say no more than 0 <= value <= 1), keys of the cells, without (cells that gave
        no number), least (`least_coverage`) and passes.
    """
    by = ["problem", "estimator", "n", "level", *more]
    fine = records[
        has_number(records)
        & records["kind"].isin(["upper", "lower", "interval"])
        & records["truth"].notna()
    ]
    margin = np.minimum(
        fine["high"].fillna(np.inf) - fine["truth"], fine["truth"] - fine["low"].fillna(-np.inf)
    )
    fine = fine.assign(margin=margin, covered=margin >= -fine["truth_error"].fillna(0.0))
    fine["vacuous"] = fine["high"].fillna(1.0).ge(1.0 - 1e-9) & fine["low"].fillna(0.0).le(0.0)
    table = fine.groupby(by, sort=False).agg(
        samples=("covered", "size"), coverage=("covered", "mean"), margin=("margin", "min"), truth=("truth", "first"),
        low=("low", "mean"), high=("high", "mean"), vacuous=("vacuous", "mean"), keys=("key", tuple),
    ).reset_index()  # fmt: skip
    without = records[~has_number(records)].drop_duplicates("key").groupby(by[:3]).size()
    table["without"] = [
        int(without.get(key, 0)) for key in zip(table["problem"], table["estimator"], table["n"])
    ]
    table["least"] = least_coverage(table["level"], table["samples"])
    return table.assign(passes=table["coverage"] >= table["least"])


def excess(records: pd.DataFrame) -> pd.DataFrame:
    """Records that hold a number with `excess`, how far it is from the truth on its side of it: bound - truth of an upper bound,
    truth - bound of a lower one, |estimate - truth| of others; and `vacuous`, whether a bound says no more than
    0 <= truth <= 1."""
    upper, lower = records["kind"].eq("upper"), records["kind"].eq("lower")
    difference = records["value"] - records["truth"]
    vacuous = (upper & records["value"].ge(1.0 - 1e-9)) | (lower & records["value"].le(0.0))
    return records.assign(
        excess=np.where(upper, difference, np.where(lower, -difference, difference.abs())),
        vacuous=vacuous,
    )


def excess_slopes(records: pd.DataFrame) -> pd.DataFrame:
    """How fast estimates approach the truth: `log_slope` of their `excess`.

    Returns
    -------
    DataFrame
        By problem and estimator: slope, se, first, last, n_min, n_max, reps, as of `log_slope`; left_out, how many sizes are left
        out because a sample's bound is vacuous there or the truth is not known; keys of the cells.
    """
    rows = []
    for (problem, estimator), part in excess(records).groupby(["problem", "estimator"], sort=False):
        good = part.groupby("n")["vacuous"].transform("any").eq(False) & part["truth"].notna()
        wide = part[good].pivot(index="rep", columns="n", values="excess").dropna(axis=0)
        of_it = {"problem": problem, "estimator": estimator, "keys": tuple(part["key"])}
        rows.append({**of_it, **log_slope(wide), "left_out": part.loc[~good, "n"].nunique()})
    columns = [
        "problem",
        "estimator",
        "keys",
        "slope",
        "se",
        "first",
        "last",
        "n_min",
        "n_max",
        "reps",
        "left_out",
    ]
    return pd.DataFrame(rows, columns=columns)


def paired_ratios(records: pd.DataFrame, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """How one bound compares with another on the samples that both have.

    Parameters
    ----------
    records : DataFrame
        Rows that hold a number, of one estimand.
    pairs : iterable of (str, str)
        The ids of two estimators.

    Returns
    -------
    DataFrame
        By problem, n and pair ('<first> / <second>'): mean, se, least, largest, reps, as of `ratio_of_means`; vacuous, how many
        samples are left out because both bounds are 1; keys of the cells.
    """
    rows = []
    for pair in pairs:
        for (problem, n), part in records[records["estimator"].isin(pair)].groupby(
            ["problem", "n"], sort=True
        ):
            wide = (
                part.pivot(index="rep", columns="estimator", values="value")
                .reindex(columns=list(pair))
                .dropna()
            )
            if len(wide):
                vacuous = wide.ge(1.0 - 1e-9).all(axis=1)
                row = {
                    "problem": problem,
                    "n": n,
                    "pair": " / ".join(pair),
                    "vacuous": int(vacuous.sum()),
                }
                rows.append(
                    {
                        **row,
                        "keys": tuple(part["key"]),
                        **ratio_of_means(*wide[~vacuous].to_numpy().T),
                    }
                )
    return pd.DataFrame(
        rows,
        columns=[
            "problem",
            "n",
            "pair",
            "vacuous",
            "keys",
            "mean",
            "se",
            "least",
            "largest",
            "reps",
        ],
    )


def smaller_on_all(part: pd.DataFrame, from_n: int, word: str = "smaller") -> str:
    """Whether the first bound of a pair is the smaller one on every sample of at least so many observations, or on which sizes it
    is not; a dash where there is no such sample.

    Parameters
    ----------
    part : DataFrame
        As of `paired_ratios`, of one problem and pair.
    from_n : int
        The least n that counts.
    word : str
        What the first is then said to be.

    Examples
    --------
    >>> part = pd.DataFrame({"n": [100, 1000], "reps": [4, 4], "largest": [1.2, 0.9]})
    >>> smaller_on_all(part, 1000), smaller_on_all(part, 100)
    ('smaller on all 4 samples', 'not on every sample of n = 100')
    """
    large = part[part["n"].ge(from_n) & part["reps"].gt(0)]
    worse = [f"{n:,}" for n in large.loc[~large["largest"].lt(1.0), "n"]]
    if worse:
        return f"not on every sample of n = {', '.join(worse)}"
    return f"{word} on all {large['reps'].sum():,} samples" if len(large) else DASH


def mean_intervals(records: pd.DataFrame) -> pd.DataFrame:
    """By problem and n: the mean ends `low` and `high` of intervals, and `covers`, the share of those that hold the truth."""
    held = records.assign(
        covers=records["low"].le(records["truth"]) & records["truth"].le(records["high"])
    )
    return held.groupby(["problem", "n"], as_index=False)[["low", "high", "covers"]].mean()


def rank_agreement(
    found: pd.DataFrame, by: str, of: Sequence[str], metric: str, first: str
) -> pd.DataFrame:
    """Spearman's rank correlation of every metric with the metric `first`.

    Parameters
    ----------
    found : DataFrame
        With the column `rank`: of what the columns `of` name, among those of the same metric (column `metric`) and of the same
        value of `by`.

    Returns
    -------
    DataFrame
        Indexed by `by`, a column per metric.

    Examples
    --------
    >>> found = pd.DataFrame({"net": "a", "class": [0, 1] * 2, "metric": ["x", "x", "y", "y"], "rank": [1, 2, 2, 1]})
    >>> float(rank_agreement(found, "net", ["class"], "metric", "x").loc["a", "y"].round(6))
    -1.0
    """
    wide = found.pivot(index=[by, *of], columns=metric, values="rank")
    return (
        wide.groupby(level=by, sort=False).apply(lambda w: w.corrwith(w[first]))
        if len(wide)
        else wide
    )


def below(mean: float, error: float, limit: float) -> str:
    """Whether a mean is below a limit: yes or no beyond two standard errors, else open.

    Examples
    --------
    >>> below(0.0005, 0.0002, 0.001), below(0.0005, 0.0003, 0.001)
    ('yes', 'open')
    """
    if mean + 2 * error < limit:
        return "yes"
    return "no" if mean - 2 * error > limit else "open"


def gap(records: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """|bias of the first estimator| - |bias of the second| on the same samples, positive where the second is closer to the truth.

    Parameters
    ----------
    records : DataFrame
        Records of one estimand that hold a number and the truth.
    first, second : str
        Ids of the estimators.

    Returns
    -------
    DataFrame
        By (problem, n): gap, and se, the standard error of the paired difference over the replications.
    """
    errors = records.assign(error=records["value"] - records["truth"])
    wide = errors.pivot(index=["problem", "n", "rep"], columns="estimator", values="error")
    wide = wide.reindex(columns=[first, second]).dropna()
    rows = {}
    for key, part in wide.groupby(level=["problem", "n"], sort=False):
        sign = np.sign(part.mean())
        d = sign[first] * part[first] - sign[second] * part[second]
        rows[key] = {"gap": d.mean(), "se": d.std() / np.sqrt(len(d)) if len(d) > 1 else np.nan}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["gap", "se"])
