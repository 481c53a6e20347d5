"""Statistics of certified bounds over replications: coverage, rates of convergence, ratios."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import DASH, format_fixed
from harness.configure.compose import out_folder
from harness.configure.settings import Settings
from harness.evaluation import items
from harness.math.rates import least_coverage
from harness.records import provenance
from harness.records.schema import has_number


def coverage(records: pd.DataFrame, *more: str) -> pd.DataFrame:
    """Return how often bounds and intervals hold the true value.

    Returns
    -------
    DataFrame
        One row per problem, estimator, n, level and value of the columns `more`. Further columns:

        samples   number of samples
        coverage  share of samples with low <= truth <= high, up to the error of the truth
        margin    the least over the samples of min(high - truth, truth - low)
        truth     the true value
        low, high  mean ends
        vacuous   share of samples whose bound says no more than 0 <= value <= 1
        keys      keys of the cells
        without   number of cells without a number
        least     the smallest coverage that passes, from `least_coverage`
        passes    True if the coverage is at least `least`
    """
    by = ["problem", "estimator", "n", "level", *more]
    is_bound = records["kind"].isin(["upper", "lower", "interval"])
    rows = records[has_number(records) & is_bound & records["truth"].notna()]
    above = rows["high"].fillna(np.inf) - rows["truth"]
    below = rows["truth"] - rows["low"].fillna(-np.inf)
    rows = rows.assign(margin=np.minimum(above, below))
    rows["covered"] = rows["margin"] >= -rows["truth_error"].fillna(0.0)
    rows["vacuous"] = rows["high"].fillna(1.0).ge(1.0 - 1e-9) & rows["low"].fillna(0.0).le(0.0)
    table = rows.groupby(by, sort=False).agg(
        samples=("covered", "size"), coverage=("covered", "mean"), margin=("margin", "min"),
        truth=("truth", "first"), low=("low", "mean"), high=("high", "mean"),
        vacuous=("vacuous", "mean"), keys=("key", tuple),
    ).reset_index()  # fmt: skip
    without = records[~has_number(records)].drop_duplicates("key").groupby(by[:3]).size()
    places = zip(table["problem"], table["estimator"], table["n"])
    table["without"] = [int(without.get(place, 0)) for place in places]
    table["least"] = least_coverage(table["level"], table["samples"])
    return table.assign(passes=table["coverage"] >= table["least"])


def excess(records: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `excess` and `vacuous` to records that hold a number.

    `excess` is the distance from the true value: bound - truth for an upper bound, truth - bound
    for a lower one, and |estimate - truth| for others. `vacuous` is True for bounds that say no
    more than 0 <= truth <= 1.
    """
    upper, lower = records["kind"].eq("upper"), records["kind"].eq("lower")
    difference = records["value"] - records["truth"]
    vacuous = (upper & records["value"].ge(1.0 - 1e-9)) | (lower & records["value"].le(0.0))
    distance = np.where(upper, difference, np.where(lower, -difference, difference.abs()))
    return records.assign(excess=distance, vacuous=vacuous)


def excess_slopes(records: pd.DataFrame) -> pd.DataFrame:
    """Return how fast estimates approach the true value: `log_slope` of their `excess`.

    A sample size is left out if the true value is unknown, or if the bound is vacuous on some
    sample.

    Returns
    -------
    DataFrame
        One row per problem and estimator: the columns of `log_slope`, `left_out` (the number of
        sizes that were left out) and `keys` of the cells.
    """
    rows = []
    for (problem, estimator), part in excess(records).groupby(["problem", "estimator"], sort=False):
        good = part.groupby("n")["vacuous"].transform("any").eq(False) & part["truth"].notna()
        wide = part[good].pivot(index="rep", columns="n", values="excess").dropna(axis=0)
        place = {"problem": problem, "estimator": estimator, "keys": tuple(part["key"])}
        rows.append({**place, **log_slope(wide), "left_out": part.loc[~good, "n"].nunique()})
    columns = [
        "problem", "estimator", "keys", "slope", "se", "first", "last", "n_min", "n_max", "reps",
        "left_out",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def log_slope(wide: pd.DataFrame) -> dict[str, float]:
    """Return the least squares slope of log10(mean error) on log10 n.

    The mean is taken over the replications.

    Parameters
    ----------
    wide : DataFrame (replications, sizes)
        Positive errors. The columns are the sample sizes n, ascending. A sample of one size may
        contain those of smaller sizes.

    Returns
    -------
    dict
        slope         NaN for fewer than three sizes, or a mean that is not positive
        se            its jackknife error over the replications, NaN for one replication
        first, last   the slope over the first and over the last decade of the sizes; each goes to
                      the nearest size that is at least ten times away
        n_min, n_max  smallest and largest size
        reps          number of replications

    Examples
    --------
    >>> wide = pd.DataFrame([[1.0, 0.1, 0.01]], columns=[100, 1000, 10000])
    >>> round(float(log_slope(wide)["slope"]), 6)
    -1.0
    """
    n, count = wide.columns.to_numpy(float), len(wide)
    fit = dict.fromkeys(("slope", "se", "first", "last"), np.nan) | {"reps": count}
    fit |= {"n_min": n.min() if len(n) else np.nan, "n_max": n.max() if len(n) else np.nan}
    if len(n) < 3 or not count or not (wide.mean() > 0.0).all():
        return fit
    x = np.log10(n)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    values = wide.to_numpy()
    y = np.log10(values.mean(axis=0))
    fit |= {"slope": weights @ y, "first": _decade(x, y), "last": _decade(x[::-1], y[::-1])}
    if count > 1:
        left_out = (values.sum(axis=0) - values) / (count - 1)
        if (left_out > 0.0).all():
            fit["se"] = _jackknife(np.log10(left_out) @ weights)
    return fit


def _jackknife(values: np.ndarray) -> float:
    """Return the jackknife standard error of a statistic.

    `values` has the statistic without the first replication, without the second, and so on.
    """
    n = len(values)
    return np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())


def _decade(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope from the first point to the nearest one with |x - x[0]| of at least 1.

    It is NaN without such a point. Coordinates are logarithms to the base 10.
    """
    far = np.flatnonzero(np.abs(x - x[0]) >= 1.0 - 1e-3)  # 3,162 is not quite half a decade
    return (y[far[0]] - y[0]) / (x[far[0]] - x[0]) if len(far) else np.nan


def ratio_of_means(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Return the ratio mean(a) / mean(b) of the values of two estimators on the same samples.

    Parameters
    ----------
    a, b : ndarray (reps,)
        Positive values, a pair per sample.

    Returns
    -------
    dict
        mean            the ratio
        se              its jackknife error, NaN for one sample
        least, largest  smallest and largest ratio a / b on one sample
        reps            number of samples

    Examples
    --------
    >>> ratio = ratio_of_means(np.array([0.2, 0.4]), np.array([0.5, 0.7]))
    >>> round(float(ratio["mean"]), 3), round(float(ratio["largest"]), 3)
    (0.5, 0.571)
    """
    if not len(a):
        return dict.fromkeys(("mean", "se", "least", "largest"), np.nan) | {"reps": 0}
    se = _jackknife((a.sum() - a) / (b.sum() - b)) if len(a) > 1 else np.nan
    ends = {"least": (a / b).min(), "largest": (a / b).max()}
    return {"mean": a.mean() / b.mean(), "se": se, **ends, "reps": len(a)}


def paired_ratios(records: pd.DataFrame, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return ratios of two bounds, on the samples that both have.

    Parameters
    ----------
    records : DataFrame
        Rows that hold a number, of one estimand.
    pairs : iterable of (str, str)
        The ids of two estimators.

    Returns
    -------
    DataFrame
        One row per problem, n and `pair`, named '<first> / <second>'. `mean`, `se`, `least`,
        `largest` and `reps` are those of `ratio_of_means`. `vacuous` is the number of samples that
        are left out because both bounds are 1. `keys` are those of the cells.
    """
    rows = []
    for pair in pairs:
        mine = records[records["estimator"].isin(pair)]
        for (problem, n), part in mine.groupby(["problem", "n"], sort=True):
            wide = part.pivot(index="rep", columns="estimator", values="value")
            wide = wide.reindex(columns=list(pair)).dropna()
            if len(wide):
                vacuous = wide.ge(1.0 - 1e-9).all(axis=1)
                row = {"problem": problem, "n": n, "pair": " / ".join(pair),
                       "vacuous": int(vacuous.sum()), "keys": tuple(part["key"])}  # fmt: skip
                rows.append(row | ratio_of_means(*wide[~vacuous].to_numpy().T))
    columns = [
        "problem", "n", "pair", "vacuous", "keys", "mean", "se", "least", "largest", "reps",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def smaller_on_all(part: pd.DataFrame, from_n: int, word: str = "smaller") -> str:
    """Return a text that says if the first bound of a pair is smaller on every large sample.

    If it is not, the text names the sample sizes. Without a large sample, return a dash.

    Parameters
    ----------
    part : DataFrame
        From `paired_ratios`, for one problem and pair.
    from_n : int
        Samples of this size or more are large.
    word : str
        The adjective for the first bound, such as "tighter".

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
    """Return the mean ends `low` and `high` of intervals, and their coverage `covers`.

    There is one row per problem and n.
    """
    covers = records["low"].le(records["truth"]) & records["truth"].le(records["high"])
    rows = records.assign(covers=covers)
    return rows.groupby(["problem", "n"], as_index=False)[["low", "high", "covers"]].mean()


def below(mean: float, error: float, limit: float) -> str:
    """Return "yes" if a mean is below a limit, "no" if it is above, else "open".

    "yes" and "no" need a distance of more than two standard errors. `error` is the standard error.

    Examples
    --------
    >>> below(0.0005, 0.0002, 0.001), below(0.0005, 0.0003, 0.001)
    ('yes', 'open')
    """
    if mean + 2 * error < limit:
        return "yes"
    return "no" if mean - 2 * error > limit else "open"


def slope_entries(fit: Mapping[str, Any]) -> dict[str, str]:
    """Return the slopes in a row of `excess_slopes` as texts of a table's row.

    The texts are the slope with its error, and the slopes over the first and the last decade. If
    sizes were left out, the smallest n that counts stands after the slope.
    """
    is_partial = fit["left_out"] and not np.isnan(fit["slope"])
    first = f" (n ≥ {fit['n_min']:,.0f})" if is_partial else ""
    decades = {f"{end} decade": format_fixed(fit[end], digits=3) for end in ("first", "last")}
    return {"slope": format_fixed(fit["slope"], fit["se"], 3) + first, **decades}


def size_columns(frame: pd.DataFrame) -> list[str]:
    """Return the names of a table's columns, such as 'n = 1,000', with ascending n."""
    return [f"n = {n:,}" for n in sorted(frame["n"].unique())]


def numbers_by_id(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Return our mean estimates in rows '<problem id>, n = <n>' and columns '<estimator id>'.

    A cell without a number gives its reason instead.
    """
    names = ("{problem}, n = {n}", "{estimator}")
    means = items.numbers(items.evaluated(records, settings, estimand), *names)
    return items.together(means, items.without_number(records, settings, *names))


def wall_clock(records: pd.DataFrame, settings: Settings) -> float:
    """Return the wall-clock seconds of the runs that made the records.

    They include the drawing of samples. They are NaN unless all these runs have finished and belong
    to this experiment.
    """
    ids = records["run_id"].dropna().unique()
    runs = [provenance.read(out_folder(settings.out), run_id) for run_id in ids]
    all_finished = all(
        run.get("config", {}).get("name") == settings.name and run.get("state") == "finished"
        for run in runs
    )
    return float(sum(run["seconds"] for run in runs)) if runs and all_finished else float("nan")
