"""Rankings: how often an estimator puts models into the right order of their errors.

A trial is a replication in which all models of an order were judged on the same draw
(harness.problems.Paired). It is a success if every model has a smaller value than every model
behind it; equal values are no order. Bounds and intervals enter by their value. A trial without a
number for one of the models (undefined or failed) counts as not ordered, and is counted as
incomplete. Cells that were skipped, or have not run, are no trials.

An order is a tuple of levels, smallest error first, each a tuple of problem ids. Models of one
level have equal errors, and their order does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import pandas as pd

from harness.common.wording import DASH
from harness.configure.compose import out_folder
from harness.configure.ranking import levels
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.evaluation import text_tables
from harness.evaluation.rates import Z95, wilson
from harness.evaluation.selection import label
from harness.records.schema import WITH_NUMBER, has_number
from harness.records.truths import read_truths

Order: TypeAlias = tuple[tuple[str, ...], ...]

POLICY = (
    "Share of trials in which every model has a smaller value than the models behind it; bars: 95 "
    "% Wilson intervals. Equal values are no order. A trial without a number for one of the models "
    "counts as not ordered; the table says how many. An order that is given, or by true values, is "
    "asked of every estimator, also of those that measure something else."
)
TRIED = (*WITH_NUMBER, "undefined", "failed")  # the statuses of cells that make a trial
GROUP = ["notion", "n", "estimator", "estimand"]
COLUMNS = ["order", *GROUP, "successes", "trials", "incomplete", "share", "low", "high", "models"]


def by_value(values: Mapping[str, float]) -> Order:
    """Return the order of {model: error}; equal errors share a level."""
    return tuple(
        tuple(model for model, value in values.items() if value == error)
        for error in sorted(set(values.values()))
    )


def is_ordered(values: pd.DataFrame, order: Order) -> pd.Series:
    """Return the mask of the rows of `values` (trials, models) that have the order.

    The largest value of each level is below the smallest of the next. A row that lacks a number is
    not ordered.
    """
    models = [model for level in order for model in level]
    ordered = values[models].notna().all(axis=1)
    for lower, upper in zip(order, order[1:]):
        below = values[[*lower]].astype(float).max(axis=1)
        ordered &= below < values[[*upper]].astype(float).min(axis=1)
    return ordered


def score(records: pd.DataFrame, orders: Mapping[str, Any]) -> pd.DataFrame:
    """Count how often models were put into the right order.

    Parameters
    ----------
    records : DataFrame
        Of one plan: one cell per problem, notion, n, replication and estimator.
    orders : mapping
        {text: order}. In place of an order: {notion: order}, or
        {(notion, estimator, estimand): order} where every estimator has its own.

    Returns
    -------
    DataFrame
        One row per order, notion, n, estimator and estimand: successes, trials, incomplete (trials
        without a number for one of the models), share, its Wilson bounds low and high, `models`,
        the order itself, and the `keys` of the cells of the trials. An estimator without any number
        has an empty estimand.
    """
    rows = []
    for (notion, n, estimator), part in records.groupby(["notion", "n", "estimator"], sort=False):
        cells = part.drop_duplicates("key")
        twice = cells.loc[cells.duplicated(["problem", "rep"]), "problem"]
        if len(twice):
            raise BadInputError(
                f"{estimator} has two values on {twice.iloc[0]} for one rep; give the records of "
                "one run."
            )
        tried = cells[cells["status"].isin(TRIED)]
        keys = tried.pivot(index="rep", columns="problem", values="key")
        estimands = part["estimand"].dropna().unique()
        for estimand in estimands if len(estimands) else [""]:
            numbered = part[part["estimand"].eq(estimand) & has_number(part)]
            values = numbered.pivot(index="rep", columns="problem", values="value")
            for name, order in orders.items():
                if isinstance(order, dict):
                    order = order.get(notion, order.get((notion, estimator, estimand), ()))
                models = [model for level in order for model in level]
                if not models or not set(models) <= set(keys.columns):
                    continue
                trials = keys[models].dropna()
                of_order = values.reindex(index=trials.index, columns=models)
                rows.append({
                    "order": name, "notion": notion, "n": n, "estimator": estimator,
                    "estimand": estimand, "successes": int(is_ordered(of_order, order).sum()),
                    "trials": len(trials), "incomplete": int(of_order.isna().any(axis=1).sum()),
                    "models": " < ".join(" = ".join(level) for level in order),
                    "keys": tuple(trials.to_numpy().ravel()),
                })  # fmt: skip
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "keys"])
    frame = frame[frame["trials"].gt(0)].reset_index(drop=True)
    frame["share"] = frame["successes"] / frame["trials"]
    frame["low"], frame["high"] = wilson(frame["successes"], frame["trials"])
    return frame


def own_orders(records: pd.DataFrame) -> dict[tuple[str, str, str], Order]:
    """Return {(notion, estimator, estimand): order of the models by value}.

    The records must have one cell per model. An estimator that lacks a value for some model is left
    out.
    """
    problems = set(records["problem"])
    orders = {}
    numbered = records[has_number(records)]
    for key, part in numbered.groupby(["notion", "estimator", "estimand"], sort=False):
        values = dict(zip(part["problem"], part["value"]))
        if set(values) == problems:
            orders[key] = by_value(values)
    return orders


def split(records: pd.DataFrame, settings: Settings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the records of the trials, and those of all rows.

    The latter are empty unless the reference is `full`. `harness.plan.plan` adds that one
    replication of all rows to the run; it has the largest n.
    """
    if _ranking(settings).reference != "full":
        return records, records.iloc[:0]
    full = records["n"].eq(records["n"].max())
    return records[~full], records[full]


def _ranking(settings: Settings) -> Any:
    assert settings.ranking is not None
    return settings.ranking


def of_settings(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return `score` of the trials by the orders that settings.ranking gives or refers to."""
    ranking = _ranking(settings)
    trials, full = split(records, settings)
    ranking.check_models(set(records["problem"]))
    orders: dict[str, Any] = {name: levels(order) for name, order in (ranking.orders or {}).items()}
    sets = sets_of(records, settings) if ranking.reference else {}
    for name, models in sets.items():
        if ranking.reference == "full":
            rows = full[full["problem"].isin(models)]
            orders[f"{name} as on all rows"] = own_orders(rows)
        else:
            rows = trials[trials["problem"].isin(models)]
            orders[f"{name} by true {ranking.reference}"] = _by_truth(rows, settings)
    return score(trials, orders)


def sets_of(records: pd.DataFrame, settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return {name: problem ids} of the sets within which the reference orders models.

    Without sets in the settings: one set `all` of all problems.
    """
    sets = _ranking(settings).sets or {"all": records["problem"].unique()}
    return {name: tuple(models) for name, models in sets.items()}


def _by_truth(records: pd.DataFrame, settings: Settings) -> dict[str, Order]:
    """Return {notion: order} by the stored truths of settings.ranking.reference."""
    estimand, out = _ranking(settings).reference, out_folder(settings.out)
    values: dict[str, dict[str, float]] = {}
    rows = records.loc[records["estimand"].notna(), ["problem", "problem_key", "notion"]]
    for problem, key, notion in rows.drop_duplicates().itertuples(index=False):
        truth = read_truths(out, key).get(f"{notion}|{estimand}")
        if truth is None:
            raise BadInputError(
                f"ranking.reference is {estimand}, of which {problem} has no truth ({notion}); "
                "give orders."
            )
        values.setdefault(notion, {})[problem] = truth[0]
    return {notion: by_value(errors) for notion, errors in values.items()}


def one_estimand(table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Keep one estimand per estimator: that of the figure, else the first that it gave."""
    wanted = (as_list(settings.figure.estimand) or ["l1"])[0]
    chosen = {
        name: wanted if (estimands == wanted).any() else estimands.iloc[0]
        for name, estimands in table.groupby("estimator")["estimand"]
    }
    return table[table["estimand"].eq(table["estimator"].map(chosen))]


def numbers(scored: pd.DataFrame, records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Add to `score` the columns that `harness.evaluation.items.numbers` takes.

    `column` is the estimator's label; `keys` are those of all cells of the estimator in `records`;
    `error` is the half width of the Wilson interval in standard errors, which is never 0.
    """
    cells = records.drop_duplicates("key").groupby(["notion", "n", "estimator"])["key"].agg(tuple)
    places = zip(scored["notion"], scored["n"], scored["estimator"])
    return scored.assign(
        column=[label(settings, "estimator", name) for name in scored["estimator"]],
        keys=[cells[place] for place in places],
        error=(scored["high"] - scored["low"]) / (2.0 * Z95),
    )


def summary(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the scores with the labels beside the ids."""
    frame = of_settings(records, settings).drop(columns="keys")
    labels = [label(settings, "estimator", name) for name in frame["estimator"]]
    frame.insert(0, "estimator_label", labels)
    return frame


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return rows (order, notion if several, n) with one column per estimator.

    An entry is the share with its Wilson bounds, and the trials without a number.
    """
    frame = one_estimand(of_settings(records, settings), settings)
    index = ["order", *(["notion"] if frame["notion"].nunique() > 1 else []), "n"]
    ranks = {name: list(frame[name].unique()) for name in index[:-1]}
    frame = frame.sort_values(
        index, key=lambda c: c.map(ranks[c.name].index) if c.name in ranks else c, kind="stable"
    )
    rows: dict[Any, dict[str, str]] = {}
    for r in frame.itertuples():
        key = tuple(getattr(r, level) for level in index)
        lost = f", {r.incomplete} of {r.trials} without a number" if r.incomplete else ""
        rows.setdefault(key, {})[label(settings, "estimator", r.estimator)] = entry(r) + lost
    columns = [label(settings, "estimator", name) for name in settings.estimator]
    heading = "share of trials in the right order [95 % Wilson interval]"
    wide = text_tables.wide(rows, index, heading, columns)
    return wide.reindex(columns=columns, fill_value=DASH) if rows else wide


def entry(row: Any) -> str:
    """Return the share of a row of `score` with its interval, as '0.946 [0.930, 0.958]'."""
    return f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]"
