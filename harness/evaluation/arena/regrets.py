"""From records to settings: how far each estimator is off in each setting, against the best published one there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.evaluation.arena.rules import OTHER, SETTING, family_of, floors, is_published, largest
from harness.evaluation.summary import ROUNDING
from harness.records.schema import has_number


def settings(
    records: pd.DataFrame,
    families: Mapping[str, Iterable[str]],
    classes: Mapping[str, int],
    published: Collection[str] | None = None,
) -> pd.DataFrame:
    """How far each estimator is off in each setting.

    Parameters
    ----------
    records : DataFrame
        One row per estimate, as of `harness.load_records`, of any experiments; a cell may occur twice if it is the same.
    families : mapping
        {family: [problem ids]}; problems in none are of the family `other`.
    classes : mapping
        {problem: number of classes k}.
    published : collection of str, optional
        The estimators among which the best of a setting is; by default those of `is_published`.

    Returns
    -------
    DataFrame
        One row per family, problem, k, notion, n, estimand and estimator:

        reps, undefined, failed, skipped
            Cells with a number, and without one, by their status.
        truth, bias, sd
            Of the numbers; sd with ddof 1.
        rmse, rmse_se
            Over all reps, those without an answer counted by the rule (`RULE`), with the Monte Carlo error by the delta method:
            sd of the squared errors / (2 RMSE sqrt(reps)).
        regret, best, lead
            As the module says, the published estimator that is the best of the setting, and the one by which fewer reps are
            scaled. NaN where the truth is unknown, for bounds, and where the estimator is not applicable.
        regret_split
            The regret against the estimator that is best on the other half of the reps: regret is against the best of many noisy
            RMSEs, and so rather high; this one has no such bias, as the choice and the comparison do not share reps.
        over, coverage, width
            Share of values above the truth; share of intervals and bounds that hold the truth (up to its error
            and rounding); mean width of intervals.
        power
            Of the estimand p_value: the share of values of at most 0.05.
        kind, cpu_seconds
            Kind of the estimates (point, interval, lower, upper); mean CPU seconds of a cell with a number.
        values, errors, lost
            Arrays over the reps, NaN where the cell was not run: the values; value - truth, and in the place of an answer what
            the rule says; and whether there was none. `leaderboard`, `better` and `ordered_pairs` resample them.

    Raises
    ------
    BadInputError
        If a problem's number of classes is not given, or records hold two different values for one cell.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", 0, 0.2), ("a", 1, 0.4), ("b", 0, 0.3), ("b", 1, 0.5)]
    >>> cells = pd.DataFrame(rows, columns=["estimator", "rep", "value"]).assign(problem="p", notion="binary", n=100)
    >>> cells = cells.assign(estimand="l1", status="ok", truth=0.3, low=None, high=None, kind="point", cpu_seconds=0.0)
    >>> settings(cells, {"power": ["p"]}, {"p": 2})[["estimator", "bias", "rmse", "regret"]].round(3).values.tolist()
    [['a', 0.0, 0.1, 1.0], ['b', 0.1, 0.141, 1.414]]
    """
    frame = _with_estimand(records)
    frame = frame.assign(family=[*map({**family_of(families)}.get, frame["problem"])]).fillna(
        {"family": OTHER}
    )
    absent = set(frame["problem"]) - set(classes)
    if absent:
        raise BadInputError(
            f"classes has no {', '.join(sorted(absent)[:3])}; the number of classes of every problem is needed."
        )
    frame["k"] = frame["problem"].map(classes).astype(int)
    draws = ["seed", "rep"] if "seed" in frame and frame["seed"].notna().all() else ["rep"]
    by = [*SETTING, "estimator"]
    frame = frame.sort_values(by, kind="stable")
    row = frame.groupby(by, sort=True).ngroup().to_numpy()
    rep = frame.groupby(draws, sort=True).ngroup().to_numpy()
    shape = (int(row.max(initial=-1)) + 1, int(rep.max(initial=-1)) + 1)
    status, number = frame["status"].to_numpy(), has_number(frame).to_numpy()
    lost = np.isin(status, ("failed", "undefined"))
    value = _filled(shape, row[number], rep[number], frame["value"].to_numpy(float)[number])
    again = value[row[number], rep[number]]
    differs = again != frame["value"].to_numpy(float)[number]
    if differs.any():
        one = frame[number].iloc[int(differs.argmax())]
        raise BadInputError(
            f"records have two values of {one['estimator']} on {one['problem']}, n = {one['n']}, rep {one['rep']}."
        )
    is_lost = _filled(shape, row[lost], rep[lost], 1.0) == 1.0
    is_lost &= np.isnan(value)  # a cell that failed and was run again has a number
    table = frame[by].iloc[_first(row, shape[0])].reset_index(drop=True)
    setting = table.groupby(SETTING, sort=True).ngroup().to_numpy()
    start = _first(setting, int(setting.max(initial=-1)) + 1)
    truth, error = (
        _of_setting(frame, name, row, setting, start) for name in ("truth", "truth_error")
    )
    kind = _text(frame, "kind", number, row, shape[0])
    published_row = (
        table["estimator"].isin(published).to_numpy()
        if published is not None
        else _is(table, is_published)
    )
    bound = np.isin(kind, ("lower", "upper", "interval"))  # the value of an interval is no estimate
    errors = value - truth[:, None]
    errors = np.where(
        is_lost, _penalty(errors, published_row & ~bound, setting, start, table, truth), errors
    )
    table = table.assign(
        reps=(~np.isnan(value)).sum(axis=1),
        **{
            name: _counted(frame, status == name, row, shape)
            for name in ("undefined", "failed", "skipped")
        },
        truth=truth,
        kind=kind,
    )
    raw = np.where(is_lost, np.nan, errors)
    table["bias"], table["sd"] = _mean(raw), _sd(raw)
    squared = errors**2
    table["rmse"] = np.sqrt(_mean(squared))
    with np.errstate(invalid="ignore", divide="ignore"):
        table["rmse_se"] = _sd(squared) / (
            2.0 * table["rmse"] * np.sqrt((~np.isnan(squared)).sum(axis=1))
        )
    at_least = floors(table)
    table["regret"], best, lead = _regret(
        squared, at_least, published_row & ~bound, setting, start, ~bound
    )
    names = table["estimator"].to_numpy(object)
    table["best"], table["lead"] = (np.where(of >= 0, names[of], None) for of in (best, lead))
    table["regret_split"] = _split_regret(
        squared, at_least, published_row & ~bound, setting, start, ~bound
    )
    table["over"] = _mean(np.where(np.isnan(raw), np.nan, raw > 0.0))
    held, width = _intervals(frame, truth[row], np.nan_to_num(error)[row], number)
    table["coverage"], table["width"] = (
        _row_means(held, row, shape[0]),
        _row_means(width, row, shape[0]),
    )
    small = np.where(np.isnan(value), np.nan, value <= 0.05)
    table["power"] = np.where(table["estimand"].eq("p_value"), _mean(small), np.nan)
    seconds = np.where(number, frame["cpu_seconds"].to_numpy(float), np.nan)
    table["cpu_seconds"] = _row_means(seconds, row, shape[0])
    table["values"], table["errors"], table["lost"] = list(value), list(errors), list(is_lost)
    some = np.maximum.reduceat(table["reps"].to_numpy(), start)[setting] > 0 if len(table) else []
    return table[some].reset_index(drop=True)


def _with_estimand(records):
    """The records with an estimand in every row: a cell without any stands for all that its estimator gives under that notion,
    or, if it never gives any there, elsewhere; a cell that was skipped by an estimator without that notion for none."""
    frame = records[records["status"].isin(["ok", "imported", "failed", "undefined", "skipped"])]
    frame = (
        frame.drop_duplicates([c for c in ("key", "estimand", "status", "value") if c in frame])
        if "key" in frame
        else frame
    )
    named, bare = frame[frame["estimand"].notna()], frame[frame["estimand"].isna()]
    if not len(bare):
        return named
    given = named[["estimator", "notion", "estimand"]].drop_duplicates()
    bare = bare.drop(columns="estimand")
    own = bare.merge(given, on=["estimator", "notion"])
    known = pd.MultiIndex.from_frame(given[["estimator", "notion"]])
    rest = bare[
        ~pd.MultiIndex.from_frame(bare[["estimator", "notion"]]).isin(known)
        & bare["status"].ne("skipped")
    ]
    elsewhere = rest.merge(given[["estimator", "estimand"]].drop_duplicates(), on="estimator")
    elsewhere = elsewhere.merge(
        given[["notion", "estimand"]].drop_duplicates(), on=["notion", "estimand"]
    )
    parts = [part[named.columns] for part in (named, own, elsewhere) if len(part)]
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else named


def _filled(shape, row, rep, values):
    found = np.full(shape, np.nan)
    found[row, rep] = values
    return found


def _first(codes, count):
    """The position of the first of every code; codes are sorted."""
    return np.searchsorted(codes, np.arange(count))


def _is(table, test):
    """Of every row whether `test` holds of its estimator."""
    return (
        table["estimator"]
        .map({name: test(name) for name in table["estimator"].unique()})
        .to_numpy(bool)
    )


def _of_setting(frame, name, row, setting, start):
    """A number that all records of a setting have in common, by row; NaN where none has it."""
    values = frame[name].to_numpy(float) if name in frame else np.full(len(frame), np.nan)
    return (
        np.fmax.reduceat(values, np.searchsorted(setting[row], np.arange(len(start))))[setting]
        if len(frame)
        else values
    )


def _text(frame, name, number, row, count):
    found = np.full(count, "", dtype=object)
    if name in frame:
        found[row[number][::-1]] = frame[name].to_numpy(object)[number][::-1]
    return found


def _counted(frame, chosen, row, shape):
    """Cells by row: one cell may have several attempts in the records only if these are of several seeds."""
    return np.bincount(row[chosen], minlength=shape[0])


def _mean(values):
    count = (~np.isnan(values)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, np.nansum(values, axis=1) / count, np.nan)


def _sd(values):
    count = (~np.isnan(values)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.nansum((values - _mean(values)[:, None]) ** 2, axis=1) / (count - 1)
        return np.where(count > 1, np.sqrt(spread), np.nan)


def _row_means(values, row, count):
    fine = ~np.isnan(values)
    total, number = (
        np.bincount(row[fine], weights=w, minlength=count)
        for w in (values[fine], np.ones(fine.sum()))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(number > 0, total / number, np.nan)


def _penalty(errors, counts, setting, start, table, truth):
    """By row and rep: the largest absolute error of the estimators that count, at most what an answer in range can have."""
    size = np.where(counts[:, None], np.abs(errors), np.nan)
    worst = np.fmax.reduceat(size, start, axis=0)[setting] if len(size) else size
    pairs = table[["estimand", "notion"]].drop_duplicates().itertuples(index=False)
    top = {(estimand, notion): largest(estimand, notion) for estimand, notion in pairs}
    cap = np.array([top[pair] for pair in zip(table["estimand"], table["notion"])])
    cap = np.fmax(truth, cap - truth)[:, None]
    return np.where(np.isnan(worst), np.where(np.isinf(cap), np.nan, cap), np.fmin(worst, cap))


def _intervals(frame, truth, error, number):
    slack = error + ROUNDING
    low, high = (frame[name].to_numpy(float) for name in ("low", "high"))
    have = number & ~(np.isnan(low) & np.isnan(high)) & ~np.isnan(truth)
    inside = (np.nan_to_num(low, nan=-np.inf) - slack <= truth) & (
        truth <= np.nan_to_num(high, nan=np.inf) + slack
    )
    return np.where(have, inside, np.nan), np.where(number, high - low, np.nan)


def _comparable(squared, at_least, counts, setting, start):
    """RMSEs, floored and brought to the reps of the setting's best complete estimator, by row; and that estimator's row."""
    have = ~np.isnan(squared)
    reps, mse = have.sum(axis=1), _mean(squared)
    # the best complete one: most reps first, then the least error
    order = np.lexsort(
        (
            np.where(counts, np.nan_to_num(mse, nan=np.inf), np.inf),
            -np.where(counts, reps, -1),
            setting,
        )
    )
    lead = order[start] if len(order) else order
    usable = counts[lead] & (reps[lead] > 0)
    of_lead = squared[lead][setting]
    on_all = np.maximum(np.sqrt(_mean(of_lead)), at_least)
    on_same = np.maximum(np.sqrt(_mean(np.where(have, of_lead, np.nan))), at_least)
    scaled = np.maximum(np.sqrt(mse), at_least) * on_all / on_same
    return np.where(usable[setting], np.maximum(scaled, at_least), np.nan), np.where(
        usable, lead, -1
    )


def _regret(squared, at_least, counts, setting, start, points):
    """(regret, row of the best, row of the one by which fewer reps are scaled) by row; NaN and -1 where there is none."""
    if not len(squared):
        return np.zeros(0), np.zeros(0, int), np.zeros(0, int)
    rmse, lead = _comparable(squared, at_least, counts, setting, start)
    candidates = np.where(counts, rmse, np.inf)
    candidates = np.nan_to_num(candidates, nan=np.inf)
    best = np.lexsort((candidates, setting))[start]
    least = candidates[best]
    with np.errstate(invalid="ignore"):
        regret = np.where(points & np.isfinite(least[setting]), rmse / least[setting], np.nan)
    return regret, np.where(np.isfinite(least), best, -1)[setting], lead[setting]


def _split_regret(squared, at_least, counts, setting, start, points):
    """exp of the mean over both halves of the reps of log(RMSE there / RMSE there of the best of the other half)."""
    if not len(squared):
        return np.zeros(0)
    even = np.arange(squared.shape[1]) % 2 == 0
    halves = [np.where(mask, squared, np.nan) for mask in (even, ~even)]
    rmses = [_comparable(half, at_least, counts, setting, start)[0] for half in halves]
    found = 0.0
    for own, other in (rmses, rmses[::-1]):
        chosen = np.lexsort((np.where(counts, np.nan_to_num(other, nan=np.inf), np.inf), setting))[
            start
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = found + 0.5 * np.log(own / own[chosen][setting])
    return np.where(points, np.exp(found), np.nan)
