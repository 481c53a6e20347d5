"""Rankings: how often an estimator sorts models correctly by their calibration error.

A trial is one replication in which all models were evaluated on the same random draw
(harness.problems.Paired). It is a success if the estimated errors are in the right order: each
model has a smaller value than every model behind it. Equal values are not in order. Bounds and
intervals enter by their value.

A trial in which the estimator failed or is undefined for some model counts as not ordered. Such
trials are also counted as incomplete. Cells that were skipped or have not run make no trial.

An order is a tuple of levels, the smallest error first. A level is a tuple of problem ids with
equal errors, whose order among themselves does not matter.
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
from harness.evaluation.selection import label
from harness.math.rates import Z95, wilson
from harness.records.schema import WITH_NUMBER, has_number
from harness.records.truths import read_truths

Order: TypeAlias = tuple[tuple[str, ...], ...]

POLICY = (
    "Share of trials in which every model has a smaller value than the models behind it. Bars: "
    "95 % Wilson intervals. Equal values count as not ordered, and so does a trial without a "
    "number for one of the models; the table has the number of such trials. Every estimator is "
    "compared with the same order, even if it estimates another quantity."
)
TRIED = (*WITH_NUMBER, "undefined", "failed")  # cells with these statuses make a trial
GROUP = ["notion", "n", "estimator", "estimand"]
COLUMNS = ["order", *GROUP, "successes", "trials", "incomplete", "share", "low", "high", "models"]


def order_by_value(values: Mapping[str, float]) -> Order:
    """Return the order of the models in {model: error}; models with equal errors share a level."""
    return tuple(
        tuple(model for model, value in values.items() if value == error)
        for error in sorted(set(values.values()))
    )


def is_ordered(values: pd.DataFrame, order: Order) -> pd.Series:
    """Return the mask of the trials whose values are in the given order.

    `values` has one row per trial and one column per model. A trial is in order if the largest
    value of each level is below the smallest value of the next level. A trial that lacks a value
    is not in order.
    """
    models = [model for level in order for model in level]
    ordered = values[models].notna().all(axis=1)
    for lower, upper in zip(order, order[1:]):
        below = values[[*lower]].astype(float).max(axis=1)
        ordered &= below < values[[*upper]].astype(float).min(axis=1)
    return ordered


def score(records: pd.DataFrame, orders: Mapping[str, Any]) -> pd.DataFrame:
    """Count how often each estimator put the models into the right order.

    Parameters
    ----------
    records : DataFrame
        Records of one plan: one cell per problem, notion, n, replication and estimator.
    orders : mapping
        {name: order}. Instead of an order, the value may be {notion: order}. It may also be
        {(notion, estimator, estimand): order} if the order differs between estimators.

    Returns
    -------
    DataFrame
        One row per order, notion, n, estimator and estimand, with the further columns

        successes, trials
            Number of trials in the right order, and of all trials.
        incomplete
            Number of trials without a number for at least one model.
        share, low, high
            successes / trials, and the ends of its 95 % Wilson interval.
        models
            The order as text.
        keys
            Tuple of the keys of the cells of the trials.

        The estimand is "" for an estimator without any number.
    """
    rows = []
    for (notion, n, estimator), part in records.groupby(["notion", "n", "estimator"], sort=False):
        cells = part.drop_duplicates("key")
        twice = cells.loc[cells.duplicated(["problem", "rep"]), "problem"]
        if len(twice):
            raise BadInputError(
                f"records have two values of {estimator} on {twice.iloc[0]} for one replication; "
                "give the records of one run."
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


def order_by_estimates(records: pd.DataFrame) -> dict[tuple[str, str, str], Order]:
    """Return {(notion, estimator, estimand): order of the models by the estimator's values}.

    `records` must have one cell per model. Estimators that lack a value for some model are left
    out.
    """
    problems = set(records["problem"])
    orders = {}
    numbered = records[has_number(records)]
    for key, part in numbered.groupby(["notion", "estimator", "estimand"], sort=False):
        values = dict(zip(part["problem"], part["value"]))
        if set(values) == problems:
            orders[key] = order_by_value(values)
    return orders


def split(records: pd.DataFrame, settings: Settings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the records into those of the trials and those of the runs on all rows.

    `settings.ranking.reference == "full"` means that the right order comes from one run on all
    rows of the file. `harness.plan.plan` adds this run; it has the largest n. For any other
    reference the second frame is empty.
    """
    if _ranking(settings).reference != "full":
        return records, records.iloc[:0]
    full = records["n"].eq(records["n"].max())
    return records[~full], records[full]


def _ranking(settings: Settings) -> Any:
    assert settings.ranking is not None
    return settings.ranking


def score_settings(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the `score` of the trials for the orders that `settings.ranking` defines.

    The orders are those listed in `ranking.orders`. If `ranking.reference` is set, the orders by
    the estimates on all rows or by the true values are added.
    """
    ranking = _ranking(settings)
    trials, full = split(records, settings)
    ranking.check_models(set(records["problem"]))
    orders: dict[str, Any] = {name: levels(order) for name, order in (ranking.orders or {}).items()}
    sets = list_model_sets(records, settings) if ranking.reference else {}
    for name, models in sets.items():
        if ranking.reference == "full":
            rows = full[full["problem"].isin(models)]
            orders[f"{name} as on all rows"] = order_by_estimates(rows)
        else:
            rows = trials[trials["problem"].isin(models)]
            orders[f"{name} by true {ranking.reference}"] = _order_by_truth(rows, settings)
    return score(trials, orders)


def list_model_sets(records: pd.DataFrame, settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the sets of models (`settings.ranking.sets`) as {name: problem ids}.

    `score_settings` orders the models of each set by `settings.ranking.reference`. If the settings
    define no sets, one set named `all` holds all problems.
    """
    sets = _ranking(settings).sets or {"all": records["problem"].unique()}
    return {name: tuple(models) for name, models in sets.items()}


def _order_by_truth(records: pd.DataFrame, settings: Settings) -> dict[str, Order]:
    """Return {notion: order of the models by their true error}.

    The true errors are the stored truths of the estimand `settings.ranking.reference`.
    """
    estimand, out = _ranking(settings).reference, out_folder(settings.out)
    values: dict[str, dict[str, float]] = {}
    rows = records.loc[records["estimand"].notna(), ["problem", "problem_key", "notion"]]
    for problem, key, notion in rows.drop_duplicates().itertuples(index=False):
        truth = read_truths(out, key).get(f"{notion}|{estimand}")
        if truth is None:
            raise BadInputError(
                f"ranking.reference is {estimand}, but {problem} has no known true {estimand} "
                f"({notion}); set ranking.orders instead."
            )
        values.setdefault(notion, {})[problem] = truth[0]
    return {notion: order_by_value(errors) for notion, errors in values.items()}


def select_estimand(table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Keep one estimand per estimator: that of the figure, else the first that was estimated."""
    wanted = (as_list(settings.figure.estimand) or ["l1"])[0]
    chosen = {
        name: wanted if (estimands == wanted).any() else estimands.iloc[0]
        for name, estimands in table.groupby("estimator")["estimand"]
    }
    return table[table["estimand"].eq(table["estimator"].map(chosen))]


def numbers(scored: pd.DataFrame, records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Add the columns that `harness.evaluation.items.numbers` needs to a result of `score`.

    `column` is the estimator's label. `keys` holds the keys of all cells of the estimator in
    `records`. `error` is half the width of the Wilson interval divided by 1.96, which is never 0.
    """
    cells = records.drop_duplicates("key").groupby(["notion", "n", "estimator"])["key"].agg(tuple)
    places = zip(scored["notion"], scored["n"], scored["estimator"])
    return scored.assign(
        column=[label(settings, "estimator", name) for name in scored["estimator"]],
        keys=[cells[place] for place in places],
        error=(scored["high"] - scored["low"]) / (2.0 * Z95),
    )


def summary(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the scores of the rankings with the label of each estimator next to its id."""
    frame = score_settings(records, settings).drop(columns="keys")
    labels = [label(settings, "estimator", name) for name in frame["estimator"]]
    frame.insert(0, "estimator_label", labels)
    return frame


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one column per estimator.

    The rows are sorted by order, by notion if there are several, and by n. An entry is the share
    of trials in the right order with its Wilson interval. If a model has no estimate in some of
    the trials, the text also states how many trials these are.
    """
    frame = select_estimand(score_settings(records, settings), settings)
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
    """Format the share and its interval in a row of `score`, as '0.946 [0.930, 0.958]'."""
    return f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]"
