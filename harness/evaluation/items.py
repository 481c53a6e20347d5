"""Building blocks for the figures and tables of a paper: numbers from records, beside the paper's.

An item is a figure or table. It is a module experiments/<paper>/<item>.py with the functions
render(records, settings) -> Figure and reproduced(records, settings) -> DataFrame. It may also
define table(records, settings) and summary(records, settings), if the usual tables do not fit. It
samples, fits and estimates nothing. Most items are a chain of the functions of this module:

    means = items.means(items.values(records, settings), ["model", "n", "column"])
    ours = items.numbers(means, "{model}, n = {n}", "{column}")
    return items.answers(ours, settings)

The column `keys` of a frame holds the keys of the cells behind each number, so that every number in
reproduction.csv can be traced to its records. harness.evaluation.text_tables makes tables of texts,
and harness.figures.panels makes common drawings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import reproduction
from harness.evaluation.missing import explain_missing
from harness.evaluation.selection import label
from harness.evaluation.summary import GROUP, evaluate
from harness.records.schema import has_number

ANSWER = ["item", "row", "column", "value", "error", "reps", "why", "keys"]


# Records -> numbers


def with_number(
    records: pd.DataFrame,
    estimands: str | Iterable[str] | None = None,
    notion: str | None = None,
    kinds: str | Iterable[str] | None = None,
) -> pd.DataFrame:
    """Keep the rows of records that hold a number.

    Parameters
    ----------
    records : DataFrame
        Records as `harness.load_records` returns them.
    estimands, kinds : str or iterable of str, optional
        Keep only rows of these estimands, and only estimates of these kinds (point, lower, upper,
        interval).
    notion : str, optional
        Keep only rows of this notion.
    """
    rows = records[has_number(records)]
    for column, wanted in (("estimand", estimands), ("notion", notion), ("kind", kinds)):
        if wanted is not None:
            rows = rows[rows[column].isin([wanted] if isinstance(wanted, str) else list(wanted))]
    return rows


def labelled(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Add the labels of problem and estimator as the columns `model` and `column`."""
    return frame.assign(
        model=[label(settings, "problem", name) for name in frame["problem"]],
        column=[label(settings, "estimator", name) for name in frame["estimator"]],
    )


def values(
    records: pd.DataFrame,
    settings: Settings,
    estimands: str | Iterable[str] | None = None,
    notion: str | None = None,
) -> pd.DataFrame:
    """Return the records that hold a number, with labels in the columns `model` and `column`.

    `model` is the label of the problem, `column` the label of the estimator.
    """
    return labelled(with_number(records, estimands, notion), settings)


def diagnostics(records: pd.DataFrame) -> pd.DataFrame:
    """Return the diagnostics of the estimates, one column for each; NaN where one is missing."""
    rows = [json.loads(text) if isinstance(text, str) else {} for text in records["diagnostics"]]
    return pd.DataFrame(rows, index=records.index)


def with_diagnostics(frame: pd.DataFrame, *names: str, **renamed: str) -> pd.DataFrame:
    """Add diagnostics of the estimates as columns, NaN where an estimate lacks one.

    `names` are diagnostics whose column has the same name. `renamed` is {column: diagnostic}.
    """
    columns = {**dict(zip(names, names)), **renamed}
    added = diagnostics(frame).reindex(columns=list(columns.values()))
    return frame.join(added.set_axis(list(columns), axis=1))


def parameters(records: pd.DataFrame, group: str, *names: str) -> pd.DataFrame:
    """Return parameters of the records' problems or estimators as columns, NaN where not set.

    `group` is "problem" or "estimator". `names` are the names of the parameters.
    """
    texts = records[f"{group}_parameters"]
    known = {t: json.loads(t) if isinstance(t, str) else {} for t in texts.unique()}
    rows = [[known[text].get(name, np.nan) for name in names] for text in texts]
    return pd.DataFrame(rows, index=records.index, columns=list(names))


def means(frame: pd.DataFrame, by: Sequence[str], value: str = "value") -> pd.DataFrame:
    """Average a column within groups of equal values in the columns `by`.

    The average runs over everything that `by` does not name, such as replications, seeds and
    folds.

    Returns
    -------
    DataFrame
        The columns `by`, mean, sd (ddof 1), reps (number of rows) and se = sd / sqrt(reps). sd and
        se are NaN for one row. If the frame has a column `key` or `keys`, `keys` holds the keys of
        all cells of the group. Groups are in the order of their first row. A missing value in a
        column of `by` makes a group of its own.
    """
    grouped = frame.groupby(list(by), sort=False, dropna=False)
    table = grouped[value].agg(mean="mean", sd="std", reps="size")
    table["se"] = table["sd"] / np.sqrt(table["reps"])
    column = next((name for name in ("keys", "key") if name in frame), None)
    if column is not None:
        table["keys"] = grouped[column].agg(reproduction.merge_keys)
    return table.reset_index()


def evaluated(
    records: pd.DataFrame,
    settings: Settings,
    estimands: str | Iterable[str] | None = None,
    notion: str | None = None,
) -> pd.DataFrame:
    """Return `harness.evaluate` of the records with a number, with labels and keys.

    The columns `model` and `column` hold the labels of problem and estimator, `keys` the keys of
    the cells.
    """
    rows = with_number(records, estimands, notion)
    table = labelled(evaluate(rows), settings)
    keys = rows.groupby(GROUP, sort=False)["key"].agg(tuple) if len(rows) else {}
    places = zip(*(table[name] for name in GROUP))
    return table.assign(keys=[tuple(dict.fromkeys(keys[place])) for place in places])


def labels(settings: Settings, group: str, among: Iterable[str] | None = None) -> list[str]:
    """Return the distinct labels of the configured problems or estimators, in configured order.

    `group` is "problem" or "estimator". With `among` only labels that it contains are returned.
    """
    named = dict.fromkeys(label(settings, group, name) for name in settings.chosen(group))
    wanted = set(named if among is None else among)
    return [name for name in named if name in wanted]


def chosen(settings: Settings, frame: pd.DataFrame, group: str = "estimator") -> list[str]:
    """Return the configured ids that occur in the frame, in configured order.

    `group` is "problem" or "estimator". Estimators are restricted to `settings.figure.estimators`
    if that is set.
    """
    drawn = settings.figure.estimators if group == "estimator" else None
    present = set(frame[group])
    return [name for name in drawn or settings.chosen(group) if name in present]


def in_order(frame: pd.DataFrame, settings: Settings, *groups: str) -> pd.DataFrame:
    """Sort the rows by the configured order of their ids in the columns `groups`.

    The default groups are problem and estimator.
    """
    groups = groups or ("problem", "estimator")
    return in_orders(frame, {group: settings.chosen(group) for group in groups})


def in_orders(frame: pd.DataFrame, orders: Mapping[str, Iterable[Any]]) -> pd.DataFrame:
    """Sort the rows of a frame by given orders of values.

    `orders` is {column: values in order}; the first column is the primary key. The sort is stable.
    Values that are not in the list come last.
    """
    keys = []
    for column, known in orders.items():
        ranks = {value: i for i, value in enumerate(known)}
        keys.append([ranks.get(value, len(ranks)) for value in frame[column]])
    return frame.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


# Numbers -> rows for the comparison with the paper


def numbers(
    frame: pd.DataFrame,
    row: str,
    column: str,
    value: str = "mean",
    error: str | float | None = "se",
    reps: str | float | None = "reps",
    why: str | None = None,
) -> pd.DataFrame:
    """Return our numbers as rows for `reproduction.compare`.

    Parameters
    ----------
    frame : DataFrame
        One number per row, as `means`, `evaluated` or `values` return it.
    row, column : str
        Formats such as "{model}, n = {n}", whose fields are columns of the frame. They give the
        row and the column under which the paper reports the number.
    value : str
        The frame's column of the numbers.
    error, reps : str or number, optional
        The frame's columns of the standard errors and of the numbers of replications, or one
        number for all rows. None means unknown. An exact number has error 0 and reps infinity.
    why : str, optional
        Reason why our numbers measure something else than the reported ones, and so get no
        verdict.
    """
    if not len(frame):
        return pd.DataFrame(columns=ANSWER[1:])
    table = pd.DataFrame({"row": formatted(frame, row), "column": formatted(frame, column)})
    for name, given in (("value", value), ("error", error), ("reps", reps)):
        table[name] = frame[given].to_numpy(float) if isinstance(given, str) else given
    table = table.astype({"value": float, "error": float, "reps": float}).assign(why=why)
    if "keys" in frame:
        return table.assign(keys=list(frame["keys"]))
    return table.assign(
        keys=[(key,) for key in frame["key"]] if "key" in frame else [()] * len(frame)
    )


def exact(
    frame: pd.DataFrame, row: str, column: str, value: str = "value", error: str | float = 0.0
) -> pd.DataFrame:
    """Return rows for `reproduction.compare` of values that are not means over replications.

    `error` is their known standard error. The other arguments are those of `numbers`.
    """
    return numbers(frame, row, column, value, error, np.inf)


def formatted(frame: pd.DataFrame, text: str) -> list[str]:
    """Format each row of a frame: "{model}, n = {n:,}" gives ["Sine, n = 1,000", ...]."""
    return [text.format_map(row) for row in frame.to_dict("records")]


def without_number(
    records: pd.DataFrame, settings: Settings, row: str, columns: str | Iterable[str]
) -> pd.DataFrame:
    """Return rows for `reproduction.compare` that explain why cells gave no number.

    The result has the columns row, column, why and keys, one row per place in the paper's table.
    `row` and `columns` are formats of the names of these places. Their fields are columns of the
    records, or the labels `model` and `column`. With several formats in `columns`, a cell without a
    number leaves several places empty, and each of them has a row.
    """
    lost = labelled(records[~has_number(records)], settings)
    lost = lost.assign(
        row_name=formatted(lost, row), why=[explain_missing(r) for r in lost.itertuples()]
    )
    tables = [
        lost.assign(column_name=formatted(lost, column))
        for column in ([columns] if isinstance(columns, str) else columns)
    ]
    names = {"row_name": "row", "column_name": "column"}
    if lost.empty or not tables:
        return pd.DataFrame(columns=[*names.values(), "why", "keys"])
    grouped = pd.concat(tables, ignore_index=True).groupby(list(names), sort=False)
    table = grouped.agg(why=("why", "first"), keys=("key", reproduction.merge_keys))
    return table.reset_index().rename(columns=names)


def whys(records: pd.DataFrame, settings: Settings, *groups: str) -> dict[Any, str]:
    """Return {label: reason why the first cell without a number has none}.

    `groups` names the columns with the ids, such as "estimator". With several groups the keys are
    tuples of labels.
    """
    lost = records[~has_number(records)].drop_duplicates(list(groups))
    reasons = {}
    for r in lost.itertuples():
        names = tuple(label(settings, group, getattr(r, group)) for group in groups)
        reasons[names if len(groups) > 1 else names[0]] = explain_missing(r)
    return reasons


def together(*frames: pd.DataFrame) -> pd.DataFrame:
    """Join results of `numbers` and `without_number`. The first row for each place is kept."""
    joined_frames = joined(frames).drop(columns="item")
    return joined_frames.drop_duplicates(["row", "column"], ignore_index=True)


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate our numbers for several items."""
    some = [frame for frame in frames if len(frame)]
    frame = pd.concat(some, ignore_index=True) if some else pd.DataFrame()
    return frame.reindex(columns=ANSWER)


def answers(
    ours: pd.DataFrame,
    settings: Settings,
    otherwise: str | Mapping[str, str] | Callable[[str, str], str | None] | None = None,
    items: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Return our numbers for the reported items, with a reason where a number is missing.

    Parameters
    ----------
    ours : DataFrame
        Result of `numbers`, `without_number` or `together`.
    otherwise : str, mapping or callable, optional
        Reason why we have no number to compare with a reported one: one sentence for all reported
        numbers, {row: sentence}, or a function of row and column. With None the settings'
        `reasons` are used.
    items : iterable of str, optional
        The reported items. Default: all of `settings.compare`.
    """

    def reason(row: str, column: str) -> str | None:
        if otherwise is None or isinstance(otherwise, str):
            return otherwise
        return otherwise.get(row) if isinstance(otherwise, Mapping) else otherwise(row, column)

    places = set(zip(ours["row"], ours["column"]))
    frames = []
    for item in (settings.compare or []) if items is None else items:
        asked = reproduction.reported(settings.paper, [item])
        absent = [
            {"item": item, "row": row, "column": column, "why": reason(row, column)}
            for row, column in zip(asked["row"], asked["column"])
            if (row, column) not in places
        ]
        explained = pd.DataFrame(absent, columns=["item", "row", "column", "why"])
        frames += [ours.assign(item=item), explained.dropna(subset="why")]
    return joined(frames)


def bias_numbers(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Return the biases of the estimates, for each item of `settings.compare`.

    The row of a number is '<problem label>, n = <n>', and its column the estimator's label. The
    error is the standard error over the replications.
    """
    row = "{model}, n = {n}"
    known = evaluated(records, settings, estimand).dropna(subset="bias")
    lost = without_number(records, settings, row, "{column}")
    ours = together(numbers(known, row, "{column}", value="bias"), lost)
    return joined(ours.assign(item=item) for item in settings.compare or [])


def convergence_numbers(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Return our numbers for a figure of estimates against n, for each item of `settings.compare`.

    The row of a number is '<problem label>, n = <n>', and its column the estimator's label. The
    error is the standard error over the replications. The column 'True value' holds the true value
    with its error, unless an estimator has that label.

    An item named <figure>_runs holds single runs, in rows '..., seed = <rep>' without an error. An
    item <figure>_runs_<estimand> holds single runs of that estimand.
    """
    frames = []
    for item in settings.compare or []:
        figure, _, suffix = item.partition("_runs")
        wanted = suffix.removeprefix("_") or estimand
        if item == figure:
            row = "{model}, n = {n}"
            table = evaluated(records, settings, wanted)
            ours = numbers(table, row, "{column}")
        else:
            row = "{model}, n = {n}, seed = {rep}"
            table = values(records, settings, wanted)
            ours = numbers(table, row, "{column}", value="value", error=0.0, reps=1)
        parts = [ours]
        if reproduction.TRUTH not in settings.labels.estimator.values():
            parts.append(exact(table, row, reproduction.TRUTH, "truth", "truth_error"))
        lost = without_number(records, settings, row, "{column}")
        frames.append(together(*parts, lost).assign(item=item))
    return joined(frames)


def first_reason(records: pd.DataFrame) -> str | None:
    """Return the reason of the first cell without a number, or None if all cells have one."""
    lost = records[~has_number(records)]
    return explain_missing(lost.iloc[0]) if len(lost) else None


def printed(settings: Settings, *items: str) -> pd.DataFrame:
    """Return the reported numbers of some items, by default of all items in `settings.compare`.

    The columns are item, row, column, value, plus_minus and the others of reported.csv.
    """
    return reproduction.reported(settings.paper, items or settings.compare)
