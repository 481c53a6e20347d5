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
from harness.evaluation.arena.rules import SETTING, floors, is_published, largest
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
        regret
            Regret as defined in `harness.evaluation.arena`. NaN where the truth is unknown, where
            the estimator is not applicable, and for bounds.
        best
            The best published estimator of the setting.
        lead
            An estimator that has all replications of the setting. An estimator with fewer ones is
            compared with it on those that both have, and its RMSE is scaled accordingly.
        regret_split
            Regret against the estimator that is best on the other half of the replications.
            `regret` is biased upwards, as it compares with the smallest of many noisy RMSEs.
            `regret_split` is not, as choice and comparison share no replications.
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
    >>> rows = [("a", 0, 0.2), ("a", 1, 0.4), ("b", 0, 0.3), ("b", 1, 0.5)]
    >>> cells = pd.DataFrame(rows, columns=["estimator", "rep", "value"])
    >>> cells = cells.assign(problem="p", notion="binary", n=100, estimand="l1", status="ok")
    >>> cells = cells.assign(truth=0.3, low=None, high=None, kind="point", cpu_seconds=0.0)
    >>> table = settings(cells, {"power": ["p"]}, {"p": 2})
    >>> table[["estimator", "bias", "rmse", "regret"]].round(3).values.tolist()
    [['a', 0.0, 0.1, 1.0], ['b', 0.1, 0.141, 1.414]]
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
    kind = frame.get("kind", pd.Series("", frame.index)).astype(object).where(numbered)
    table["kind"] = kind.groupby(row).first().fillna("").to_numpy()
    is_point = ~table["kind"].isin(("lower", "upper", "interval")).to_numpy()
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
    least = floors(table)
    regret, best, lead = _regret(squared, least, candidates, setting)
    names = table["estimator"].to_numpy(object)
    table["regret"] = np.where(is_point, regret, np.nan)
    table["best"] = np.where(best >= 0, names[best], None)
    table["lead"] = np.where(lead >= 0, names[lead], None)
    split = _split_regret(squared, least, candidates, setting)
    table["regret_split"] = np.where(is_point, split, np.nan)

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
    "reps", *COUNTED, "truth", "kind", "bias", "sd", "rmse", "rmse_se", "regret", "best", "lead",
    "regret_split", "over", "coverage", "width", "power", "cpu_seconds", "values", "errors", "lost",
]  # fmt: skip


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


def _comparable(
    squared: Floats, least: Floats, candidates: Mask, setting: Ints
) -> tuple[Floats, Ints]:
    """Return the RMSE of each row, and the row of the lead of its setting.

    A row stands for an estimator in a setting, and `squared` (rows, replications) holds its
    squared errors. The lead is the published estimator (`candidates`) with the most replications.
    If there are several, it is the one with the smallest RMSE. The RMSE of an estimator that lacks
    replications is multiplied by

        (RMSE of the lead over all replications) / (RMSE of the lead over the common replications)

    No RMSE is below `least`. Rows of settings without a lead have NaN and -1.
    """
    have = ~np.isnan(squared)
    reps, mse = have.sum(axis=1), nanmean(squared, axis=1)
    lead = _first(setting, _among(candidates, mse), -np.where(candidates, reps, -1))
    usable = (candidates[lead] & (reps[lead] > 0))[setting]
    of_lead = squared[lead][setting]
    on_all = np.maximum(np.sqrt(nanmean(of_lead, axis=1)), least)
    on_same = nanmean(np.where(have, of_lead, np.nan), axis=1)
    scaled = np.maximum(np.sqrt(mse), least) * on_all / np.maximum(np.sqrt(on_same), least)
    rmse = np.where(usable, np.maximum(scaled, least), np.nan)
    return rmse, np.where(usable, lead[setting], -1)


def _regret(
    squared: Floats, least: Floats, candidates: Mask, setting: Ints
) -> tuple[Floats, Ints, Ints]:
    """Return for each row its regret, the row of the best estimator and the row of the lead.

    The best estimator is the published one (`candidates`) with the smallest RMSE in the setting.
    The lead is the one by which `_comparable` scales RMSEs. The regret is NaN and the row of the
    best estimator -1 in settings without a best estimator.
    """
    rmse, lead = _comparable(squared, least, candidates, setting)
    errors = _among(candidates, rmse)
    best = _first(setting, errors)[setting]
    known = np.isfinite(errors[best])
    with np.errstate(invalid="ignore"):
        regret = np.where(known, rmse / errors[best], np.nan)
    return regret, np.where(known, best, -1), lead


def _split_regret(squared: Floats, least: Floats, candidates: Mask, setting: Ints) -> Floats:
    """Return the regret against the estimator that is best on the other half of the replications.

    It is the geometric mean over both halves of RMSE / (RMSE of the estimator that is best on the
    other half).
    """
    even = np.arange(squared.shape[1]) % 2 == 0
    halves = [np.where(mask, squared, np.nan) for mask in (even, ~even)]
    rmses = [_comparable(half, least, candidates, setting)[0] for half in halves]
    logs = []
    for here, other in (rmses, rmses[::-1]):
        chosen = _first(setting, _among(candidates, other))[setting]
        with np.errstate(invalid="ignore", divide="ignore"):
            logs.append(0.5 * np.log(here / here[chosen]))
    result: Floats = np.exp(logs[0] + logs[1])
    return result
