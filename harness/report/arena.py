"""The arena: how far each estimator is off, against the best published one in the same setting.

A setting is one problem under one notion, at one n, for one estimand; estimands and notions are never mixed. In a setting

    RMSE_e  = sqrt(mean over reps of (value - truth)^2)
    regret_e = max(RMSE_e, floor) / min over published f of max(RMSE_f, floor)

1 is the best published estimator of that setting. The floor, 0.1 n^(-1/2) (0.1 / n for squared quantities), is a tenth of the
sampling error of a mean: below it nobody is better than anybody, as where the truth is 0 and an estimator answers 0. Reps are
paired: all estimators saw the same draws. Where an estimator has some of the reps only, its RMSE is scaled by what the best
complete estimator of the setting has on all reps over what it has on those.

The mean regret is the geometric mean: over the problems of a cell (family, n, k), then over the cells, so that no family counts
more for having more problems. Intervals are of a bootstrap that draws problems, and reps within problems, the same for all
estimators; the best estimator of a setting stays the one of the sample. (Of a group with one problem reps alone vary.)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.errors import BadInputError
from harness.report.evaluation import ROUNDING
from harness.runs.records import has_number

if TYPE_CHECKING:
    import pandas as pd

SETTING = ["family", "problem", "k", "notion", "n", "estimand"]
MAIN = ("l1", "l2_squared")  # the estimands that the arena ranks
LEAST_SHARE = 0.8  # of the settings in which an estimator must be applicable to be ranked
OTHER = "other"  # the family of problems that are in none
ANCHORS = ("oracle", "monte_carlo_truth", "brier", "logloss", "accuracy", "auroc", "constant", "zero")
RULE = (
    "A cell that failed, or in which the estimator is undefined, counts with the largest error that any published estimator made "
    "in the same rep, though at most the largest error that an answer in the estimand's range can have; such cells are counted. "
    "A cell outside an estimator's own declared limits is not applicable: it is left out of the estimator's mean, the share of "
    "the settings in which it is applicable is shown, and below 80 % it has no rank. Bounds are no point estimates and have no "
    "regret; oracles and other anchors have a regret, and no rank."
)


def floor(estimand: str, n: Any) -> Any:
    """What an RMSE is at least taken to be: 0.1 n^(-1/2), of squared quantities 0.1 / n.

    Examples
    --------
    >>> floor("l1", 100), floor("l2_squared", 100)
    (0.01, 0.001)
    """
    n = np.asarray(n, dtype=float)
    found = 0.1 / n if is_square(estimand) else 0.1 / np.sqrt(n)
    return float(found) if found.ndim == 0 else found


def is_square(estimand: str) -> bool:
    """Whether the estimand is small of second order: l2_squared and its like, and kl."""
    return "squared" in estimand or estimand == "kl"


def largest(estimand: str, notion: str) -> float:
    """The largest value of an estimand; infinite where it has none."""
    if estimand.removeprefix("top_class_").startswith("l2_squared"):
        return 2.0 if notion == "canonical" and not estimand.startswith("top_class_") else 1.0
    if notion != "canonical" or estimand.startswith("top_class_"):
        return math.inf if estimand == "kl" else 1.0
    return {"l1": 2.0, "l2": math.sqrt(2.0), "rms": math.sqrt(2.0), "linf": 1.0}.get(estimand, math.inf)


def is_anchor(estimator: str) -> bool:
    """Whether it is no estimator, but something to compare with: an oracle, a score."""
    return estimator.startswith(ANCHORS)


def is_published(estimator: str) -> bool:
    """Whether the best of a setting may be this one: no anchor, and none of this project's own `best*`."""
    return not is_anchor(estimator) and not estimator.startswith("best")


def family_of(families: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """{problem: family}. Raises BadInputError if a problem is in two."""
    found: dict[str, str] = {}
    for family, problems in families.items():
        for problem in problems:
            if found.setdefault(problem, family) != family:
                raise BadInputError(f"arena.families has {problem} in {found[problem]} and in {family}; one of them is needed.")
    return found


def families_of(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """{family: [problem ids]} of a configuration, or of the experiment that its `arena.families` names.

    Examples
    --------
    >>> "beta_wavy" in families_of({"arena": {"families": "arena"}})["wavy"]
    True
    """
    given = _arena_of(config).get("families")
    if not isinstance(given, dict):
        raise BadInputError("arena.families names an experiment without families; give {NAME: [problem ids]}.")
    return {family: list(problems) for family, problems in given.items()}


def development_of(config: Mapping[str, Any]) -> list[str]:
    """The families on which this project's own estimators were developed; of the other ones nothing was looked at before.

    Examples
    --------
    >>> development_of({"arena": {"families": "arena"}})[:2]
    ['power', 'fitted_images']
    """
    return list(_arena_of(config).get("development") or [])


def _arena_of(config):
    """The key `arena` of a configuration, or of the experiment that its `arena.families` names."""
    from harness.runs import catalogue, options

    given = config["arena"] or {}
    named = given.get("families") or {}
    if not isinstance(named, str):
        return given
    if named not in options.ids("experiment"):
        raise BadInputError(f"arena.families is {named!r}, which is no experiment; `calharness list experiments` shows all.")
    return catalogue.config("experiment", named).get("arena") or {}


# From records to settings


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
    frame = frame.assign(family=[*map({**family_of(families)}.get, frame["problem"])]).fillna({"family": OTHER})
    absent = set(frame["problem"]) - set(classes)
    if absent:
        raise BadInputError(f"classes has no {', '.join(sorted(absent)[:3])}; the number of classes of every problem is needed.")
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
    truth, error = (_of_setting(frame, name, row, setting, start) for name in ("truth", "truth_error"))
    kind = _text(frame, "kind", number, row, shape[0])
    published_row = table["estimator"].isin(published).to_numpy() if published is not None else _is(table, is_published)
    bound = np.isin(kind, ("lower", "upper", "interval"))  # the value of an interval is no estimate
    errors = value - truth[:, None]
    errors = np.where(is_lost, _penalty(errors, published_row & ~bound, setting, start, table, truth), errors)
    table = table.assign(
        reps=(~np.isnan(value)).sum(axis=1),
        **{name: _counted(frame, status == name, row, shape) for name in ("undefined", "failed", "skipped")},
        truth=truth,
        kind=kind,
    )
    raw = np.where(is_lost, np.nan, errors)
    table["bias"], table["sd"] = _mean(raw), _sd(raw)
    squared = errors**2
    table["rmse"] = np.sqrt(_mean(squared))
    with np.errstate(invalid="ignore", divide="ignore"):
        table["rmse_se"] = _sd(squared) / (2.0 * table["rmse"] * np.sqrt((~np.isnan(squared)).sum(axis=1)))
    at_least = _floors(table)
    table["regret"], best, lead = _regret(squared, at_least, published_row & ~bound, setting, start, ~bound)
    names = table["estimator"].to_numpy(object)
    table["best"], table["lead"] = (np.where(of >= 0, names[of], None) for of in (best, lead))
    table["regret_split"] = _split_regret(squared, at_least, published_row & ~bound, setting, start, ~bound)
    table["over"] = _mean(np.where(np.isnan(raw), np.nan, raw > 0.0))
    held, width = _intervals(frame, truth[row], np.nan_to_num(error)[row], number)
    table["coverage"], table["width"] = _row_means(held, row, shape[0]), _row_means(width, row, shape[0])
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
    import pandas as pd

    frame = records[records["status"].isin(["ok", "imported", "failed", "undefined", "skipped"])]
    frame = frame.drop_duplicates([c for c in ("key", "estimand", "status", "value") if c in frame]) if "key" in frame else frame
    named, bare = frame[frame["estimand"].notna()], frame[frame["estimand"].isna()]
    if not len(bare):
        return named
    given = named[["estimator", "notion", "estimand"]].drop_duplicates()
    bare = bare.drop(columns="estimand")
    own = bare.merge(given, on=["estimator", "notion"])
    known = pd.MultiIndex.from_frame(given[["estimator", "notion"]])
    rest = bare[~pd.MultiIndex.from_frame(bare[["estimator", "notion"]]).isin(known) & bare["status"].ne("skipped")]
    elsewhere = rest.merge(given[["estimator", "estimand"]].drop_duplicates(), on="estimator")
    elsewhere = elsewhere.merge(given[["notion", "estimand"]].drop_duplicates(), on=["notion", "estimand"])
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
    return table["estimator"].map({name: test(name) for name in table["estimator"].unique()}).to_numpy(bool)


def _of_setting(frame, name, row, setting, start):
    """A number that all records of a setting have in common, by row; NaN where none has it."""
    values = frame[name].to_numpy(float) if name in frame else np.full(len(frame), np.nan)
    return np.fmax.reduceat(values, np.searchsorted(setting[row], np.arange(len(start))))[setting] if len(frame) else values


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
    total, number = (np.bincount(row[fine], weights=w, minlength=count) for w in (values[fine], np.ones(fine.sum())))
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
    inside = (np.nan_to_num(low, nan=-np.inf) - slack <= truth) & (truth <= np.nan_to_num(high, nan=np.inf) + slack)
    return np.where(have, inside, np.nan), np.where(number, high - low, np.nan)


def _floors(table):
    square = table["estimand"].map({name: is_square(name) for name in table["estimand"].unique()}).to_numpy(bool)
    n = table["n"].to_numpy(float)
    return np.where(square, 0.1 / n, 0.1 / np.sqrt(n))


def _comparable(squared, at_least, counts, setting, start):
    """RMSEs, floored and brought to the reps of the setting's best complete estimator, by row; and that estimator's row."""
    have = ~np.isnan(squared)
    reps, mse = have.sum(axis=1), _mean(squared)
    # the best complete one: most reps first, then the least error
    order = np.lexsort((np.where(counts, np.nan_to_num(mse, nan=np.inf), np.inf), -np.where(counts, reps, -1), setting))
    lead = order[start] if len(order) else order
    usable = counts[lead] & (reps[lead] > 0)
    of_lead = squared[lead][setting]
    on_all = np.maximum(np.sqrt(_mean(of_lead)), at_least)
    on_same = np.maximum(np.sqrt(_mean(np.where(have, of_lead, np.nan))), at_least)
    scaled = np.maximum(np.sqrt(mse), at_least) * on_all / on_same
    return np.where(usable[setting], np.maximum(scaled, at_least), np.nan), np.where(usable, lead, -1)


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
        chosen = np.lexsort((np.where(counts, np.nan_to_num(other, nan=np.inf), np.inf), setting))[start]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = found + 0.5 * np.log(own / own[chosen][setting])
    return np.where(points, np.exp(found), np.nan)


# From settings to statements


@dataclass(frozen=True)
class _Block:
    """The settings of one notion and estimand as arrays: S settings, E estimators, R reps.

    squared (S, E, R) squared errors, NaN where not run; at_least (S,) floors; best (S,) position of the best published estimator,
    lead (S,) of the one by which fewer reps are scaled; problem (S,) and cell (S,) codes; cells the (family, n, k).
    """

    names: list
    squared: Any
    at_least: Any
    best: Any
    lead: Any
    problem: Any
    problems: int
    cell: Any
    cells: list


def _block(part, names=None):
    """The arrays of the rows `part` with a regret."""
    names = sorted(part["estimator"].unique()) if names is None else list(names)
    setting = part.groupby(SETTING, sort=True).ngroup().to_numpy()
    column = part["estimator"].map({name: i for i, name in enumerate(names)}).to_numpy()
    errors = np.stack(part["errors"].to_numpy()) if len(part) else np.zeros((0, 1))
    count = int(setting.max(initial=-1)) + 1
    squared = np.full((count, len(names), errors.shape[1]), np.nan)
    squared[setting, column] = errors**2
    first = part.iloc[np.unique(setting, return_index=True)[1]]
    at_least = _floors(first)
    code = {name: i for i, name in enumerate(names)}
    best, lead = (first[name].map(code).fillna(-1).to_numpy(int) for name in ("best", "lead"))
    keys = list(zip(first["family"], first["n"], first["k"]))
    cells = sorted(set(keys))
    of_cell = {key: i for i, key in enumerate(cells)}
    problem = first.groupby(["family", "problem"], sort=True).ngroup().to_numpy()
    cell = np.array([of_cell[key] for key in keys], dtype=int)
    return _Block(names, squared, at_least, best, lead, problem, int(problem.max(initial=-1)) + 1, cell, cells)


def _resampled(count, reps, resamples, rng, problems=True):
    """(times each problem is drawn (B + 1, P), weights of its reps (P, B + 1, R)); the first is the sample itself."""
    times, weights = np.ones((resamples + 1, count)), np.ones((count, resamples + 1, reps))
    weights[:, 1:] = rng.multinomial(reps, [1.0 / reps] * reps, size=(count, resamples))
    if problems:
        times[1:] = rng.multinomial(count, [1.0 / count] * count, size=resamples)
    return times, weights


def _log_rmse(block, chosen, weights):
    """log of the comparable RMSEs of the settings `chosen` under weights: (S', B, E), NaN where there is none."""
    squared, at_least = block.squared[chosen], block.at_least[chosen]
    have, w = ~np.isnan(squared), weights[block.problem[chosen]]
    filled, of_lead = np.where(have, squared, 0.0), squared[np.arange(len(squared)), block.lead[chosen]]
    with np.errstate(invalid="ignore", divide="ignore"):
        total = w @ have.transpose(0, 2, 1).astype(float)
        mse = (w @ filled.transpose(0, 2, 1)) / total
        least = at_least[:, None, None]
        logs = np.log(np.maximum(np.sqrt(mse), least))
        short = np.flatnonzero((have != have[np.arange(len(have)), block.lead[chosen]][:, None]).any(axis=(1, 2)))
        if len(short):  # some estimators have some of the reps only
            known = ~np.isnan(of_lead[short])
            lead = np.where(known, of_lead[short], 0.0)
            on_all = (w[short] @ lead[:, :, None]) / (w[short] @ known[:, :, None].astype(float))
            both = (have[short] & known[:, None]).astype(float).transpose(0, 2, 1)
            on_same = (w[short] @ (both * lead[:, :, None])) / (w[short] @ both)
            on_all, on_same = (np.log(np.maximum(np.sqrt(m), least[short])) for m in (on_all, on_same))
            logs[short] = np.maximum(logs[short] + on_all - on_same, np.log(least[short]))
    return logs


def _cell_means(block, times, weights, chunk=32):
    """Mean log regret by cell, (C, B + 1, E), over its settings as often as their problems are drawn."""
    shape = (len(block.cells), times.shape[0], len(block.names))
    total, count = np.zeros(shape), np.zeros(shape)
    for start in range(0, len(block.squared), chunk):
        chosen = np.arange(start, min(start + chunk, len(block.squared)))
        logs = _log_rmse(block, chosen, weights)
        logs -= logs[np.arange(len(chosen)), :, block.best[chosen]][:, :, None]
        fine = ~np.isnan(logs)
        often = times[:, block.problem[chosen]].T[:, :, None] * fine
        np.add.at(total, block.cell[chosen], np.where(fine, logs, 0.0) * often)
        np.add.at(count, block.cell[chosen], often)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, total / count, np.nan)


def leaderboard(
    settings: pd.DataFrame,
    by: str | Sequence[str] = (),
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean and worst regret of each estimator with bootstrap intervals and ranks, one notion and estimand at a time.

    Parameters
    ----------
    settings : DataFrame
        As of `settings`, or some of its rows.
    by : str or sequence of str
        What else is kept apart: family, n, k.
    resamples, seed, level : int, int, float
        Of the bootstrap.

    Returns
    -------
    DataFrame
        One row per notion, estimand, value of `by` and estimator, by rank:

        settings, share
            In how many settings the estimator is applicable, and their share of all.
        regret, low, high
            The geometric mean regret (over the problems of a (family, n, k), then over these cells) with its interval.
        regret_split
            The same of `settings.regret_split`.
        worst, worst_low, worst_high, worst_at
            The largest mean regret of a (family, n, k), with its interval, and which one it is.
        worst_setting
            The largest regret of a single setting.
        rank, rank_low, rank_high
            By the mean regret, of those that are applicable in 80 % of the settings; NaN for others and for anchors.
        rmse, bias, over, coverage, width, cpu_seconds
            Geometric mean of the RMSE and of the CPU seconds, means of the others.
        reps, undefined, failed, skipped
            Numbers of cells.
    """
    import pandas as pd

    by = [by] if isinstance(by, str) else list(by)
    if set(by) - {"family", "n", "k"}:
        raise BadInputError(f"by is {by}; allowed are family, n, k (notions and estimands are always apart).")
    parts = []
    for (notion, estimand), part in settings.groupby(["notion", "estimand"], sort=True):
        ranked = part[part["regret"].notna()]
        if not len(ranked):
            continue
        block = _block(ranked)
        if (block.best < 0).any() or (block.lead < 0).any():
            raise BadInputError("settings lack the best estimator of a setting; give all estimators, and filter what comes out.")
        drawn = _resampled(block.problems, block.squared.shape[2], resamples, np.random.default_rng(seed))
        means = _cell_means(block, *drawn)
        groups: dict[tuple, list[int]] = {}
        for i, cell in enumerate(block.cells):
            groups.setdefault(tuple(cell[("family", "n", "k").index(name)] for name in by), []).append(i)
        for group, cells in groups.items():
            rows = _summary(block, means[cells], [block.cells[i] for i in cells], part, dict(zip(by, group)), level)
            parts.append(rows.assign(notion=notion, estimand=estimand, **dict(zip(by, group))))
    first = ["notion", "estimand", *by, "estimator"]
    if not parts:
        return pd.DataFrame(columns=[*first, *COLUMNS])
    table = pd.concat(parts, ignore_index=True).sort_values([*first[:-1], "rank", "regret"], kind="stable")
    return table[[*first, *COLUMNS]].reset_index(drop=True)


COLUMNS = [
    "settings", "share", "regret", "low", "high", "regret_split", "worst", "worst_low", "worst_high", "worst_at", "worst_setting",
    "rank", "rank_low", "rank_high", "rmse", "bias", "over", "coverage", "width", "cpu_seconds", "reps", "undefined",
    "failed", "skipped",
]  # fmt: skip


def _nanmean(values, axis=0):
    count = (~np.isnan(values)).sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, np.nansum(values, axis=axis) / count, np.nan)


def _quantiles(values, level):
    """Interval over the resamples, all but the first along axis 0."""
    found = np.full((2, values.shape[1]), np.nan)
    fine = ~np.isnan(values[0])
    if fine.any() and len(values) > 1:
        found[:, fine] = np.nanquantile(values[1:, fine], [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return found


def _summary(block, means, cells, part, group, level):
    """One group of the leaderboard."""
    import pandas as pd

    for name, value in group.items():
        part = part[part[name].eq(value)]
    mean = _nanmean(means)
    worst = np.where(np.isnan(means).all(axis=0), np.nan, np.nan_to_num(means, nan=-np.inf).max(axis=0))
    ranked = part[part["regret"].notna()]
    logs = ranked.assign(regret_split=np.log(ranked["regret_split"]), rmse=_log(ranked["rmse"]))
    logs = logs.assign(cpu_seconds=_log(logs["cpu_seconds"]))
    of = logs.groupby("estimator")
    in_cell = logs.groupby(["estimator", "family", "n", "k"])["regret_split"].mean().groupby("estimator").mean()
    total = len(ranked.groupby(SETTING))
    share = of.size() / total
    names = [name for name in block.names if name in share.index]
    column = [block.names.index(name) for name in names]
    mean, worst, means = mean[:, column], worst[:, column], means[:, :, column]
    can = np.array([share[name] >= LEAST_SHARE and not is_anchor(name) for name in names])
    value = np.where(can, np.nan_to_num(mean, nan=np.inf), np.inf)
    ranks = np.where(can, 1.0 + value.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable"), np.nan)
    low, high = _quantiles(mean, level)
    rank_low, rank_high = _quantiles(ranks, level)
    worst_low, worst_high = _quantiles(worst, level)
    at = np.nan_to_num(means[:, 0], nan=-np.inf).argmax(axis=0)
    found = pd.DataFrame(
        {
            "estimator": names, "settings": of.size()[names].to_numpy(), "share": share[names].to_numpy(),
            "regret": np.exp(mean[0]), "low": np.exp(low), "high": np.exp(high),
            "regret_split": np.exp(in_cell[names].to_numpy()),
            "worst": np.exp(worst[0]), "worst_low": np.exp(worst_low), "worst_high": np.exp(worst_high),
            "worst_at": ["{}, n = {:,}, k = {}".format(*cells[i]) for i in at],
            "worst_setting": of["regret"].max()[names].to_numpy(),
            "rank": ranks[0], "rank_low": np.floor(rank_low), "rank_high": np.ceil(rank_high),
            **{name: np.exp(of[name].mean()[names].to_numpy()) for name in ("rmse", "cpu_seconds")},
            **{name: of[name].mean()[names].to_numpy() for name in ("bias", "over", "coverage", "width")},
        }
    )  # fmt: skip
    counts = part.groupby("estimator")[["reps", "undefined", "failed", "skipped"]].sum()
    return found.join(counts, on="estimator")


def _log(values):
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(values.to_numpy(float), 1e-12))


class Statement(NamedTuple):
    """What the arena says of two estimators: `ratio` of their RMSEs (geometric mean as in `leaderboard`), its interval, and the
    verdict on the first: better | worse | undecided. `about` says what was resampled: problems, or, of fewer than MIN_PROBLEMS,
    the reps of these problems alone."""

    first: str
    second: str
    ratio: float
    low: float
    high: float
    verdict: str
    problems: int
    settings: int
    about: str
    level: float


MIN_PROBLEMS = 5  # below, a statement is about these problems


def better(
    settings: pd.DataFrame,
    first: str,
    second: str,
    comparisons: int = 1,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Statement:
    """Whether one estimator is better than another: the paired difference of their mean log regrets, with its interval

        difference -+ t * sd,    sd of the difference over resamples of problems, and of reps within

    at the level 1 - (1 - level) / comparisons, so that of all comparisons of a page the chance of any wrong "better" is at most
    1 - level (Bonferroni). t has as many degrees of freedom as there are problems, less one. With fewer than 5 problems reps
    alone are resampled, and the statement is about these problems.

    Parameters
    ----------
    settings : DataFrame
        Rows of `settings` of one notion and one estimand.
    first, second : str
        Ids of estimators; those settings count in which both are applicable, and the reps that both have.
    comparisons : int
        How many such statements are made together.
    level, resamples, seed : float, int, int
        Of the interval, and of the bootstrap.

    Raises
    ------
    BadInputError
        If notions or estimands are mixed, or the two share no setting.
    """
    from scipy import stats

    if settings.groupby(["notion", "estimand"]).ngroups > 1:
        raise BadInputError("settings mix notions or estimands; a comparison is of one of each.")
    part = settings[settings["estimator"].isin([first, second]) & settings["regret"].notna()]
    block = _block(part, [first, second])
    squared = np.where(np.isnan(block.squared).any(axis=1, keepdims=True), np.nan, block.squared)  # the reps that both have
    both = ~np.isnan(squared).all(axis=(1, 2))
    if not both.any():
        raise BadInputError(f"{first} and {second} share no setting with a regret.")
    zero = np.zeros(int(both.sum()), int)
    problem = block.problem[both]
    have, problem = np.unique(problem, return_inverse=True)
    block = _Block(
        block.names, squared[both], block.at_least[both], zero + 1, zero, problem, len(have), block.cell[both], block.cells,
    )  # fmt: skip
    many = len(have) >= MIN_PROBLEMS
    drawn = _resampled(block.problems, squared.shape[2], resamples, np.random.default_rng(seed), problems=many)
    difference = _nanmean(_cell_means(block, *drawn))[:, 0]
    reps = int((~np.isnan(block.squared[:, 0])).sum(axis=1).max())
    freedom = len(have) - 1 if many else len(have) * (reps - 1)
    one_sided = (1.0 - level) / comparisons / 2.0
    half = float(stats.t.ppf(1.0 - one_sided, max(freedom, 1))) * float(np.nanstd(difference[1:], ddof=1))
    low, ratio, high = (math.exp(difference[0] + side * half) for side in (-1, 0, 1))
    verdict = "better" if high < 1.0 else "worse" if low > 1.0 else "undecided"
    about = "problems like these" if many else "these problems"
    return Statement(first, second, ratio, low, high, verdict, len(have), int(both.sum()), about, 1.0 - 2.0 * one_sided)


def against(
    settings: pd.DataFrame, first: str, comparisons: int | None = None, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """`better` of one estimator against every other at once, by their mean log regrets; where an estimator has some of the reps
    only, it is scaled as in `settings`.

    Parameters
    ----------
    settings, first, level, resamples, seed
        As of `better`; settings hold all estimators.
    comparisons : int, optional
        By default the number of others.

    Returns
    -------
    DataFrame indexed by estimator: ratio of the RMSEs of `first` and of it, low, high, verdict on `first`.
    """
    import pandas as pd
    from scipy import stats

    if settings.groupby(["notion", "estimand"]).ngroups > 1:
        raise BadInputError("settings mix notions or estimands; a comparison is of one of each.")
    block = _block(settings[settings["regret"].notna()])
    if first not in block.names:
        raise BadInputError(f"settings have no regret of {first}.")
    own = block.names.index(first)
    block = replace(block, best=np.full(len(block.best), own))
    many = block.problems >= MIN_PROBLEMS
    reps = block.squared.shape[2]
    difference = -_nanmean(_cell_means(block, *_resampled(block.problems, reps, resamples, np.random.default_rng(seed), many)), 0)
    freedom = block.problems - 1 if many else block.problems * (reps - 1)
    others = [i for i in range(len(block.names)) if i != own]
    wrong = (1.0 - level) / (comparisons or max(len(others), 1))
    half = float(stats.t.ppf(1.0 - wrong / 2.0, max(freedom, 1))) * np.nanstd(difference[1:], axis=0, ddof=1)
    low, ratio, high = (np.exp(difference[0] + side * half)[others] for side in (-1, 0, 1))
    verdict = np.where(high < 1.0, "better", np.where(low > 1.0, "worse", "undecided"))
    names = pd.Index([block.names[i] for i in others], name="estimator")
    return pd.DataFrame({"ratio": ratio, "low": low, "high": high, "verdict": verdict}, index=names)


def frontier(cost: Sequence[float], regret: Sequence[float]) -> list[int]:
    """The positions on the Pareto frontier, cheapest first: no other is at most as dear and has at most the regret.

    Examples
    --------
    >>> frontier([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 1.5, 1.5])
    [0, 2]
    """
    order = sorted(range(len(cost)), key=lambda i: (cost[i], regret[i]))
    found: list[int] = []
    for i in order:
        if math.isfinite(regret[i]) and (not found or regret[i] < regret[found[-1]]):
            found.append(i)
    return found


def choices(settings: pd.DataFrame, by: Sequence[str], comparisons: int | None = None, **bootstrap: Any) -> pd.DataFrame:
    """The estimator to use by notion, estimand and `by`, and whether it is better than the runner-up.

    Parameters
    ----------
    settings, by
        As of `leaderboard`.
    comparisons : int, optional
        Of `better`; by default the number of rows, all of which are one set of statements. That the two were chosen by the same
        data needs no further correction: a two-sided test of the best against the second also tests that the best is the best
        (Hung and Fithian 2019, Annals of Statistics 47, exact for independent normal means).
    bootstrap
        resamples, seed and level of `leaderboard` and `better`.

    Returns
    -------
    DataFrame
        notion, estimand, `by`, then estimator, regret, low, high, rmse, cpu_seconds, runner_up, runner_regret, ratio (of the
        RMSEs of the first and the second), ratio_low, ratio_high, verdict, about, problems. A group in which nobody has a rank
        is left out.
    """
    import pandas as pd

    by = list(by)
    board = leaderboard(settings, by, **bootstrap)
    keys = ["notion", "estimand", *by]
    first, second = (board[board["rank"].eq(place)].set_index(keys) for place in (1.0, 2.0))
    parts = dict(list(settings[settings["regret"].notna()].groupby(keys)))
    rows = []
    for key, row in first.iterrows():
        found = {**dict(zip(keys, key)), **row[["estimator", "regret", "low", "high", "rmse", "cpu_seconds"]]}
        found |= {"problems": parts[key]["problem"].nunique(), "verdict": "alone", "runner_up": None}
        if key in second.index:
            other = second.loc[key]
            said = better(parts[key], row["estimator"], other["estimator"], comparisons or len(first), **bootstrap)
            found |= {"runner_up": other["estimator"], "runner_regret": other["regret"], "ratio": said.ratio}
            found |= {"ratio_low": said.low, "ratio_high": said.high, "verdict": said.verdict, "about": said.about}
        rows.append(found)
    columns = [
        *keys, "estimator", "regret", "low", "high", "rmse", "cpu_seconds", "runner_up", "runner_regret", "ratio", "ratio_low",
        "ratio_high", "verdict", "about", "problems",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


POINTS = ("point", "interval", "")  # kinds of estimates whose value is an estimate
BY_DEFAULT = "l1"  # whose truths order problems for a quantity that has no truth of its own
LEAST_APART = 1e-9  # true values that differ by less are equal


def ordered_pairs(settings: pd.DataFrame, resamples: int = 1000, seed: int = 0, level: float = 0.95) -> pd.DataFrame:
    """How often an estimator puts two problems (models) into the order of their true errors.

    A trial is a pair of problems of one notion, n and k with different truths in one rep; it is won if the values have the order
    of the truths. Equal values are no order, and a trial without an answer is lost. For a quantity without truths, such as a
    smooth ECE, the order is that of the true l1. Intervals are of a bootstrap over problems.

    Returns
    -------
    DataFrame
        notion, estimand, by (the estimand whose truths order), n, k, estimator, pairs, share, low, high.
    """
    import pandas as pd

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
        drawn = np.random.default_rng(seed).multinomial(len(truth), [1.0 / len(truth)] * len(truth), size=resamples)
        times = np.vstack([np.ones(len(i)), drawn[:, i] * drawn[:, j]])
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (times @ wins.T) / (times @ trials.T)
        bounds = _quantiles(share, level)
        frame = {"estimand": estimand, "by": by, **dict(zip(keys, key)), "estimator": names, "pairs": (trials > 0).sum(axis=1)}
        rows.append(pd.DataFrame({**frame, "share": share[0], "low": bounds[0], "high": bounds[1]}))
    columns = ["notion", "estimand", "by", "n", "k", "estimator", "pairs", "share", "low", "high"]
    return pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)
