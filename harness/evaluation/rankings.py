"""Rankings: in how many trials does an estimator put models into the right order of their calibration errors?

A trial is a replication in which all models of an order were judged on the same draw (harness.problems.Paired). It is a success
if every model has a smaller value than every model behind it; equal values are no order. Bounds and intervals enter by their
value. A trial in which the estimator left no number for a model (undefined or failed) counts as not ordered, and such trials are
counted beside. Cells that were skipped, or have not run, are no trials.

An order is a tuple of levels, smallest error first, each a tuple of problem ids: models of one level have equal errors, and
nothing is asked of their order.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.configure.compose import out_folder
from harness.configure.ranking import levels
from harness.configure.settings import as_list
from harness.errors import BadInputError
from harness.evaluation.selection import label
from harness.records.schema import WITH_NUMBER, has_number
from harness.records.truths import read_truths

POLICY = (
    "Share of trials in which every model has a smaller value than the models behind it; bars: 95 % Wilson intervals. Equal "
    "values are no order. A trial without a number for one of the models counts as not ordered; the table says how many. "
    "An order that is given, or by true values, is asked of every estimator, also of those that measure something else."
)
Z95 = 1.959963984540054  # the quantile of the normal distribution for 95 %
TRIED = (*WITH_NUMBER, "undefined", "failed")  # the statuses of cells that make a trial
ALL_MODELS = "all"
GROUP = ["notion", "n", "estimator", "estimand"]
COLUMNS = ["order", *GROUP, "successes", "trials", "incomplete", "share", "low", "high", "models"]


def by_value(values: dict) -> tuple:
    """{model: error} -> the order of these errors; equal ones share a level."""
    ordered = sorted(set(values.values()))
    return tuple(
        tuple(model for model, value in values.items() if value == least) for least in ordered
    )


def wilson(successes, trials, z: float = Z95):
    """Wilson's interval of a share, of s successes in n trials:

        (s + z^2/2 -+ z sqrt(s (n - s) / n + z^2/4)) / (n + z^2)

    Parameters
    ----------
    successes, trials : int or array
        s and n; NaN where there is no trial.
    z : float
        Quantile of the normal distribution; the default is that of 95 %.

    Examples
    --------
    >>> low, high = wilson(9, 10)
    >>> round(float(low), 4), round(float(high), 4)
    (0.5958, 0.9821)
    """
    s, n = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = z * np.sqrt(s * (n - s) / n + z * z / 4.0)
    return np.maximum((s + z * z / 2.0 - half) / (n + z * z), 0.0), np.minimum(
        (s + z * z / 2.0 + half) / (n + z * z), 1.0
    )


def is_ordered(values, order):
    """For every row of the frame `values` (trials, models): whether the largest value of each level is below the smallest of the
    next. A row that lacks a number is not ordered."""
    levels_of = [values[list(level)].to_numpy(dtype=float) for level in order]
    fine = ~pd.isna(
        values[[model for level in order for model in level]].to_numpy(dtype=float)
    ).any(axis=1)
    for lower, upper in zip(levels_of, levels_of[1:]):
        fine &= lower.max(axis=1) < upper.min(axis=1)
    return pd.Series(fine, index=values.index)


def score(records, orders: dict):
    """How often models were put into the right order.

    Parameters
    ----------
    records : DataFrame
        Of one plan: one cell per problem, notion, n, replication and estimator.
    orders : mapping
        {text: order}; in place of the order {notion: order}, or {(notion, estimator, estimand): order} where every estimator has
        its own.

    Returns
    -------
    DataFrame
        One row per order, notion, n, estimator and estimand: successes, trials, incomplete (trials without a number for one of
        the models), share, its Wilson bounds low and high, and `models`, the order itself; and the `keys` of the cells of the
        trials. An estimator that never gave a number has an empty estimand.
    """
    rows = []
    for (notion, n, estimator), part in records.groupby(["notion", "n", "estimator"], sort=False):
        cells = part.drop_duplicates("key")
        twice = cells.duplicated(["problem", "rep"])
        if twice.any():
            raise BadInputError(
                f"records hold {estimator} on {cells.loc[twice, 'problem'].iloc[0]} twice for one rep; give one plan's."
            )
        keys = cells[cells["status"].isin(TRIED)].pivot(
            index="rep", columns="problem", values="key"
        )
        tried = keys.notna()
        names = list(dict.fromkeys(part.loc[part["estimand"].notna(), "estimand"])) or [""]
        for estimand in names:
            fine = part[part["estimand"].eq(estimand) & has_number(part)]
            values = fine.pivot(index="rep", columns="problem", values="value")
            for name, order in orders.items():
                if isinstance(order, dict):
                    order = order.get(notion, order.get((notion, estimator, estimand)))
                models = [model for level in order or () for model in level]
                if not models or not set(models) <= set(tried.columns):
                    continue
                trials = tried.index[tried[models].all(axis=1)]
                of_order = values.reindex(index=trials, columns=models)
                successes, lost = (
                    int(is_ordered(of_order, order).sum()),
                    int(of_order.isna().any(axis=1).sum()),
                )
                used = tuple(keys.loc[trials, models].to_numpy().ravel())
                rows.append(
                    [
                        name,
                        notion,
                        n,
                        estimator,
                        estimand,
                        successes,
                        len(trials),
                        lost,
                        order,
                        used,
                    ]
                )
    frame = pd.DataFrame(rows, columns=[*COLUMNS[:8], "models", "keys"])
    frame = frame[frame["trials"].gt(0)].reset_index(drop=True)
    frame["share"] = frame["successes"] / frame["trials"]
    frame["low"], frame["high"] = wilson(frame["successes"], frame["trials"])
    frame["models"] = [
        " < ".join(" = ".join(level) for level in order) for order in frame["models"]
    ]
    return frame[[*COLUMNS, "keys"]]


def own_orders(records) -> dict:
    """{(notion, estimator, estimand): order} by the values in `records`, which hold one cell per model."""
    fine = records[has_number(records)]
    wanted = set(records["problem"])
    found = {}
    for key, part in fine.groupby(["notion", "estimator", "estimand"], sort=False):
        values = dict(zip(part["problem"], part["value"]))
        if set(values) == wanted:
            found[key] = by_value(values)
    return found


def split(records, settings):
    """(records of the trials, records of all rows), the latter empty unless the reference is `full`: the one replication of all
    rows, which `harness.plan.plan` adds to the run, is the largest n."""
    if settings.ranking.reference != "full":
        return records, records.iloc[:0]
    full = records["n"].eq(records["n"].max())
    return records[~full], records[full]


def of_settings(records, settings):
    """`score` of the trials in `records`, by the orders that settings.ranking gives or refers to."""
    ranking, (trials, full) = settings.ranking, split(records, settings)
    ranking.check_models(set(records["problem"]))
    orders = {name: levels(order) for name, order in (ranking.orders or {}).items()}
    reference = ranking.reference
    for name, models in (sets_of(records, settings) if reference else {}).items():
        if reference == "full":
            orders[f"{name} as on all rows"] = own_orders(full[full["problem"].isin(models)])
        else:
            orders[f"{name} by true {reference}"] = by_truth(
                trials[trials["problem"].isin(models)], settings
            )
    return score(trials, orders)


def sets_of(records, settings) -> dict[str, tuple[str, ...]]:
    """{name: problem ids} of the sets within which the reference orders models; one set of all problems where none is given."""
    sets = settings.ranking.sets or {ALL_MODELS: dict.fromkeys(records["problem"])}
    return {name: tuple(models) for name, models in sets.items()}


def by_truth(records, settings) -> dict:
    """{notion: the models' order by the stored truths of settings.ranking.reference}."""
    estimand, out, values = settings.ranking.reference, out_folder(settings.out), {}
    seen = records.loc[
        records["estimand"].notna(), ["problem", "problem_key", "notion"]
    ].drop_duplicates()
    for problem, key, notion in seen.itertuples(index=False):
        truth = read_truths(out, key).get(f"{notion}|{estimand}")
        if truth is None:
            raise BadInputError(
                f"ranking.reference is {estimand}, of which {problem} has no truth ({notion}); give orders."
            )
        values.setdefault(notion, {})[problem] = truth[0]
    return {notion: by_value(of_notion) for notion, of_notion in values.items()}


def one_estimand(table, settings):
    """The rows of `table` with one estimand per estimator: the figure's, else the first that it gave."""
    wanted = (as_list(settings.figure.estimand) or ["l1"])[0]
    chosen = {
        name: wanted if (part == wanted).any() else part.iloc[0]
        for name, part in table.groupby("estimator")["estimand"]
    }
    return table[table["estimand"].eq(table["estimator"].map(chosen))]


def numbers(scored, records, settings):
    """`score` with what `harness.evaluation.items.numbers` takes: `column`, the estimator's label, the `keys` of all cells of the
    estimator in `records`, and `error`, the half width of the Wilson interval in standard errors, which is never 0."""
    cells = records.drop_duplicates("key").groupby(["notion", "n", "estimator"])["key"].agg(tuple)
    keys = [cells[r.notion, r.n, r.estimator] for r in scored.itertuples()]
    columns = [label(settings, "estimator", name) for name in scored["estimator"]]
    return scored.assign(
        column=columns, keys=keys, error=(scored["high"] - scored["low"]) / (2.0 * Z95)
    )


def times_smallest(frame, of, by: str, at: str, value: str = "mean") -> int:
    """At how many of the places `at` the series `of` (in the frame's column `by`) has a smaller value than every other; 0 where
    there is no other. Places at which a series has no value do not count."""
    wide = frame.pivot(index=at, columns=by, values=value).dropna()
    return int((wide[of] < wide.drop(columns=of).min(axis=1)).sum()) if wide.shape[1] > 1 else 0


def summary(records, settings):
    """The scores with the labels beside the ids."""
    frame = of_settings(records, settings).drop(columns="keys")
    frame.insert(
        0, "estimator_label", [label(settings, "estimator", e) for e in frame["estimator"]]
    )
    return frame


def table(records, settings):
    """Rows (order, notion if several, n), one column per estimator: share [Wilson bounds], trials without a number."""
    frame = one_estimand(of_settings(records, settings), settings)
    several = frame["notion"].nunique() > 1
    rows = {}
    for r in frame.itertuples():
        key = (r.order, *((r.notion,) if several else ()), int(r.n))
        lost = f", {r.incomplete} of {r.trials} without a number" if r.incomplete else ""
        rows.setdefault(key, {})[label(settings, "estimator", r.estimator)] = entry(r) + lost
    orders, notions = list(dict.fromkeys(frame["order"])), list(dict.fromkeys(frame["notion"]))
    rows = dict(
        sorted(
            rows.items(),
            key=lambda row: (
                orders.index(row[0][0]),
                *map(notions.index, row[0][1:-1]),
                row[0][-1],
            ),
        )
    )
    columns = [label(settings, "estimator", e) for e in settings.estimator]
    names = ["order", *(["notion"] if several else []), "n"]
    index = (
        pd.MultiIndex.from_tuples(list(rows), names=names)
        if rows
        else pd.MultiIndex.from_arrays([[]] * len(names), names=names)
    )
    wide = pd.DataFrame(
        [[row.get(c, "–") for c in columns] for row in rows.values()], index, columns, dtype=object
    )
    wide.columns.name = "share of trials in the right order [95 % Wilson interval]"
    return wide


def entry(row) -> str:
    """'0.946 [0.930, 0.958]'."""
    return f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]"
