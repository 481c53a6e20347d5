"""The error and the regret of each estimator in each setting of the arena, from records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation.arena.record_arrays import (
    Floats,
    Ints,
    Mask,
    add_estimands,
    add_family_and_classes,
    build_arrays,
)
from harness.evaluation.arena.resampling import nanmean
from harness.evaluation.arena.rules import (
    BOUND_KINDS,
    CALIBRATED,
    SETTING,
    floors,
    is_published,
    largest,
)
from harness.evaluation.summary import covers, with_texts
from harness.records.schema import has_number

COUNTED = ("undefined", "failed", "skipped")


def settings(
    records: pd.DataFrame,
    families: Mapping[str, Iterable[str]],
    classes: Mapping[str, int],
    published: Collection[str] | None = None,
) -> pd.DataFrame:
    """Compute the error and the regret of each estimator in each setting.

    Parameters
    ----------
    records : DataFrame
        One row per estimate, as `harness.load_records` returns them, from any experiments. A cell
        may occur twice if its values are equal.
    families : mapping
        {family: [problem ids]}. Other problems belong to the family `other`.
    classes : mapping
        {problem: number of classes k}.
    published : collection of str, optional
        Ids of the estimators that can be the best of a setting. Default: those for which
        `is_published` is true.

    Returns
    -------
    DataFrame
        One row per family, problem, k, notion, n, estimand and estimator. "Replications" below are
        those of one row.

        reps, undefined, failed, skipped
            Number of cells with a number, and of cells with each of the three statuses.
        truth, bias, sd
            True value; mean and standard deviation (ddof 1) of value - truth.
        rmse, rmse_se
            Root mean squared error over all replications. A cell that failed or is undefined
            counts with a large error (see the text `arena.RULE`).
            Its Monte Carlo error (delta method) is the standard deviation of the squared errors
            divided by 2 rmse sqrt(reps).
        calibrated
            True where the truth is 0 (up to rounding).
        regret
            Cross-fitted regret as defined in `harness.evaluation.arena`. NaN where the truth is 0
            or unknown, where the estimator is not applicable, for bounds, and in settings with
            fewer than two replications.
        best
            The published estimator with the smallest RMSE over all replications of the setting.
        over, coverage, width
            Share of values above the truth; share of intervals and bounds that contain the truth
            (up to its error and rounding); mean width of the intervals.
        power
            For the estimand p_value: the share of values of at most 0.05.
        kind, cpu_seconds
            Kind of the estimates (point, interval, lower, upper); mean CPU seconds of a cell with
            a number.
        values, errors, lost
            Arrays over the replications. values: NaN where there is none. errors: value - truth,
            the large error of `arena.RULE` for a cell that failed or is undefined, and NaN for a
            cell that was not run. lost: mask of the cells that failed or are undefined.

    Raises
    ------
    BadInputError
        If `classes` lacks a problem, or if one cell has two different values.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", 0, 0.2), ("a", 1, 0.4), ("b", 0, 0.5), ("b", 1, 0.5)]
    >>> cells = pd.DataFrame(rows, columns=["estimator", "rep", "value"])
    >>> cells = cells.assign(problem="p", notion="binary", n=100, estimand="l1", status="ok")
    >>> cells = cells.assign(truth=0.3, low=None, high=None, kind="point", cpu_seconds=0.0)
    >>> table = settings(cells, {"power": ["p"]}, {"p": 2})
    >>> table[["estimator", "bias", "rmse", "regret"]].round(3).values.tolist()
    [['a', 0.0, 0.1, 1.0], ['b', 0.2, 0.2, 2.0]]
    """
    by = [*SETTING, "estimator"]
    frame = add_family_and_classes(add_estimands(records), families, classes)
    frame = frame.sort_values(by, kind="stable", ignore_index=True)
    rows = frame.groupby(by, sort=True)
    row = rows.ngroup().to_numpy()
    table = with_texts(rows.head(1)[by]).reset_index(drop=True)
    setting = table.groupby(SETTING, sort=True).ngroup().to_numpy()

    # Arrays (rows of the table, reps): the values, and the cells without an answer.
    numbered = has_number(frame).to_numpy()
    values, lost = build_arrays(frame, row, numbered)

    # Properties of a setting or of an estimator.
    truth, truth_error = (_of_setting(frame, name, row, setting) for name in TRUTHS)
    table["kind"] = _kinds(frame, table, row, numbered)
    is_point = ~table["kind"].isin(BOUND_KINDS).to_numpy()
    if published is None:
        published = [name for name in table["estimator"].unique() if is_published(name)]
    candidates = table["estimator"].isin(published).to_numpy() & is_point

    # Errors of the answers, then with the penalty for missing ones.
    table["reps"], table["truth"] = (~np.isnan(values)).sum(axis=1), truth
    for name in COUNTED:
        table[name] = frame["status"].eq(name).groupby(row).sum().to_numpy()
    answered = np.where(lost, np.nan, values - truth[:, None])
    errors = np.where(lost, _penalties(answered, candidates, setting, table), answered)
    squared = errors**2
    table["bias"], table["sd"] = nanmean(answered, axis=1), _sd(answered)
    table["rmse"] = np.sqrt(nanmean(squared, axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt((~np.isnan(squared)).sum(axis=1))
        table["rmse_se"] = _sd(squared) / (2.0 * table["rmse"] * root)

    # Regret.
    table["calibrated"] = np.abs(truth) <= CALIBRATED
    complete = _complete(squared, candidates, setting)
    least = floors(table)
    best = _first(setting, _among(complete, _rmse(squared, least)))[setting]
    table["best"] = np.where(complete[best], table["estimator"].to_numpy(object)[best], None)
    regret = _cross_fitted(squared, least, complete, setting)
    table["regret"] = np.where(is_point & ~table["calibrated"], regret, np.nan)

    # Shares, widths and costs.
    table["over"] = nanmean(np.where(np.isnan(answered), np.nan, answered > 0.0), axis=1)
    low, high = (frame[name].to_numpy(float) for name in ("low", "high"))
    covered = covers(low, high, truth[row], truth_error[row])
    table["coverage"] = _means(np.where(numbered, covered, np.nan), row)
    table["width"] = _means(np.where(numbered, high - low, np.nan), row)
    rejects = np.where(np.isnan(values), np.nan, values <= 0.05)
    table["power"] = np.where(table["estimand"].eq("p_value"), nanmean(rejects, axis=1), np.nan)
    seconds = frame["cpu_seconds"].to_numpy(float)
    table["cpu_seconds"] = _means(np.where(numbered, seconds, np.nan), row)
    table["values"], table["errors"], table["lost"] = list(values), list(errors), list(lost)
    run = table["reps"].groupby(setting).transform("max") > 0
    return table[[*by, *COLUMNS]][run].reset_index(drop=True)


TRUTHS = ("truth", "truth_error")
COLUMNS = [
    "reps", *COUNTED, "truth", "calibrated", "kind", "bias", "sd", "rmse", "rmse_se", "regret",
    "best", "over", "coverage", "width", "power", "cpu_seconds", "values", "errors", "lost",
]  # fmt: skip


def _kinds(frame: pd.DataFrame, table: pd.DataFrame, row: Ints, numbered: Mask) -> Any:
    """Return the kind of the estimates of each row, "" if the estimator never gave a number.

    A row without a number has the kind that its estimator has elsewhere, for the same estimand.
    """
    kind = frame.get("kind", pd.Series("", frame.index)).astype(object).where(numbered)
    kinds = kind.groupby(row).first().fillna("").reset_index(drop=True)
    by = [table["estimator"], table["notion"], table["estimand"]]
    elsewhere = kinds.groupby(by).transform("max")
    return kinds.where(kinds.ne(""), elsewhere).to_numpy()


def _of_setting(frame: pd.DataFrame, name: str, row: Ints, setting: Ints) -> Floats:
    """Return the largest number in the column `name` among the records of each setting.

    The column is constant within a setting, or NaN. `row` is the row of each record in the table
    of results, `setting` the setting of each such row. The result has one entry per row of the
    table, NaN if all records of its setting have NaN.
    """
    if name not in frame:
        return np.full(len(setting), np.nan)
    by_row = frame[name].astype(float).groupby(row).max()
    result: Floats = by_row.groupby(setting).transform("max").to_numpy(float)
    return result


def _means(values: Floats, row: Ints) -> Floats:
    """Return the mean of the values of each row of the table, ignoring NaN."""
    result: Floats = pd.Series(values).groupby(row).mean().to_numpy()
    return result


def _sd(values: Floats) -> Floats:
    """Return the standard deviation (ddof 1) along the second axis, ignoring NaN."""
    count = (~np.isnan(values)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviations = values - nanmean(values, axis=1)[:, None]
        spread = np.nansum(deviations**2, axis=1) / (count - 1)
        return np.where(count > 1, np.sqrt(spread), np.nan)


def _penalties(errors: Floats, candidates: Mask, setting: Ints, table: pd.DataFrame) -> Floats:
    """Return the error that counts for a missing answer, as an array (rows, replications).

    It is the largest absolute error of the published estimators (`candidates`) in the same
    replication. It is reduced to the largest error that a value in the range of the estimand can
    have, if it is above that.
    """
    sizes = pd.DataFrame(np.where(candidates[:, None], np.abs(errors), np.nan))
    worst = sizes.groupby(setting).transform("max").to_numpy()
    limits = [largest(*pair) for pair in zip(table["estimand"], table["notion"])]
    truth = table["truth"].to_numpy(float)
    limit = np.fmax(truth, np.array(limits) - truth)[:, None]
    without = np.where(np.isinf(limit), np.nan, limit)
    return np.where(np.isnan(worst), without, np.fmin(worst, limit))


def _first(setting: Ints, *keys: Any) -> Ints:
    """Return one row for each setting: the first one if rows are sorted by `keys`.

    `setting` is the setting of each row. As in `numpy.lexsort`, the last key is the primary one.
    """
    order = np.lexsort((*keys, setting))
    first: Ints = order[np.flatnonzero(np.diff(setting[order], prepend=-1))]
    return first


def _among(candidates: Mask, values: Floats) -> Floats:
    """Return `values`, with infinity in place of NaN and in rows that are no candidates."""
    return np.where(candidates & ~np.isnan(values), values, np.inf)


def _rmse(squared: Floats, least: Floats) -> Floats:
    """Return the root mean of the squared errors of each row, and `least` where it is smaller."""
    return np.maximum(np.sqrt(nanmean(squared, axis=1)), least)


def _complete(squared: Floats, candidates: Mask, setting: Ints) -> Mask:
    """Return the mask of the candidates that have all replications of their setting.

    These are the replications that any candidate has. Only such rows enter a denominator.
    """
    have = ~np.isnan(squared)
    of_candidates = pd.DataFrame(have & candidates[:, None])
    required = of_candidates.groupby(setting).transform("max").to_numpy(bool)
    result: Mask = candidates & required.any(axis=1) & (have | ~required).all(axis=1)
    return result


def _cross_fitted(squared: Floats, least: Floats, complete: Mask, setting: Ints) -> Floats:
    """Return the regret against the estimator that is best on the other half of the replications.

    The halves are the replications with even and with odd index. The complete row with the smallest
    RMSE on one half is chosen. A row's RMSE on the other half is divided by that of the chosen row,
    over the replications that both have. The regret is the geometric mean of both directions, or
    the only one for which there are replications.
    """
    even = np.arange(squared.shape[1]) % 2 == 0
    logs = []
    for choosing, judging in ((even, ~even), (~even, even)):
        errors = _among(complete, _rmse(squared[:, choosing], least))
        chosen = _first(setting, errors)[setting]
        mine, theirs = squared[:, judging], squared[chosen][:, judging]
        theirs = np.where(np.isnan(mine), np.nan, theirs)
        mine = np.where(np.isnan(theirs), np.nan, mine)
        log = np.log(_rmse(mine, least) / _rmse(theirs, least))
        logs.append(np.where(np.isfinite(errors[chosen]), log, np.nan))
    return np.exp(nanmean(np.array(logs)))
