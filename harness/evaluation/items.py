"""Building blocks of a paper's items: numbers out of records, and ours beside the reported ones.

An item is a module experiments/<paper>/<item>.py with the functions
render(records, settings) -> Figure and reproduced(records, settings) -> DataFrame, and, where its
table is of its own kind, table(records, settings) and summary(records, settings). It samples, fits
and estimates nothing. Most items are a chain of the functions here,

    means = items.means(items.values(records, settings), ["model", "n", "column"])
    ours = items.numbers(means, "{model}, n = {n}", "{column}")
    return items.answers(ours, settings)

The column `keys` of a frame holds the keys of the cells behind each number, from `means` and
`evaluated` to reproduction.csv, so that every number leads to its records. Tables of texts are in
harness.evaluation.text_tables, common drawings in harness.figures.panels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import reproduction
from harness.evaluation.missing import why_without
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
        As `harness.load_records` returns them.
    estimands, kinds : str or iterable of str, optional
        Keep only these estimands, and only these kinds of estimate (point, lower, upper, interval).
    notion : str, optional
        Keep only this notion.
    """
    rows = records[has_number(records)]
    for column, wanted in (("estimand", estimands), ("notion", notion), ("kind", kinds)):
        if wanted is not None:
            rows = rows[rows[column].isin([wanted] if isinstance(wanted, str) else list(wanted))]
    return rows


def labelled(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Add the labels of the configuration: `model` of the problem, `column` of the estimator."""
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
    """Return `labelled` of `with_number`: rows with a number, and labels `model` and `column`."""
    return labelled(with_number(records, estimands, notion), settings)


def diagnostics(records: pd.DataFrame) -> pd.DataFrame:
    """Return the diagnostics of the estimates, one column per name and NaN where one is missing."""
    rows = [json.loads(text) if isinstance(text, str) else {} for text in records["diagnostics"]]
    return pd.DataFrame(rows, index=records.index)


def with_diagnostics(frame: pd.DataFrame, *names: str, **renamed: str) -> pd.DataFrame:
    """Add diagnostics as columns, also as {column: diagnostic}; NaN where one is missing."""
    columns = {**dict(zip(names, names)), **renamed}
    added = diagnostics(frame).reindex(columns=list(columns.values()))
    return frame.join(added.set_axis(list(columns), axis=1))


def parameters(records: pd.DataFrame, group: str, *names: str) -> pd.DataFrame:
    """Return parameters of the records' problems or estimators (`group`), NaN where not set."""
    texts = records[f"{group}_parameters"]
    known = {t: json.loads(t) if isinstance(t, str) else {} for t in texts.unique()}
    rows = [[known[text].get(name, np.nan) for name in names] for text in texts]
    return pd.DataFrame(rows, index=records.index, columns=list(names))


def means(frame: pd.DataFrame, by: Sequence[str], value: str = "value") -> pd.DataFrame:
    """Average a column by others: over replications, seeds, folds, whatever `by` does not name.

    Returns
    -------
    DataFrame
        The columns `by`; mean, sd (ddof 1), reps (the number of rows), se = sd / sqrt(reps), both
        NaN for one row; and, if the frame has `key` or `keys`, the `keys` of the cells. Groups
        stand in the order of their first row. A missing value in a column of `by` makes a group of
        its own.
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
    """Return `harness.evaluate` of the rows with a number, with `model`, `column` and `keys`."""
    rows = with_number(records, estimands, notion)
    table = labelled(evaluate(rows), settings)
    keys = rows.groupby(GROUP, sort=False)["key"].agg(tuple) if len(rows) else {}
    places = zip(*(table[name] for name in GROUP))
    return table.assign(keys=[tuple(dict.fromkeys(keys[place])) for place in places])


def labels(settings: Settings, group: str, among: Iterable[str] | None = None) -> list[str]:
    """Return the labels of the configuration's problems or estimators (`group`) in its order.

    Each stands once; with `among` only the labels given there.
    """
    named = dict.fromkeys(label(settings, group, name) for name in settings.chosen(group))
    wanted = set(named if among is None else among)
    return [name for name in named if name in wanted]


def chosen(settings: Settings, frame: pd.DataFrame, group: str = "estimator") -> list[str]:
    """Return the configured ids, in their order, that occur in the frame.

    Of the estimators only those of `figure.estimators`, if the configuration has that option.
    """
    drawn = settings.figure.estimators if group == "estimator" else None
    present = set(frame[group])
    return [name for name in drawn or settings.chosen(group) if name in present]


def in_order(frame: pd.DataFrame, settings: Settings, *groups: str) -> pd.DataFrame:
    """Sort the rows by the configuration's ids in the columns `groups` (problem, estimator)."""
    groups = groups or ("problem", "estimator")
    return in_orders(frame, {group: settings.chosen(group) for group in groups})


def in_orders(frame: pd.DataFrame, orders: Mapping[str, Iterable[Any]]) -> pd.DataFrame:
    """Sort the rows by the columns that `orders` names, each by the place of its values there.

    The order is stable; values that a list lacks come last.
    """
    keys = []
    for column, known in orders.items():
        ranks = {value: i for i, value in enumerate(known)}
        keys.append([ranks.get(value, len(ranks)) for value in frame[column]])
    return frame.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


# Numbers -> rows beside the reported ones


def numbers(
    frame: pd.DataFrame,
    row: str,
    column: str,
    value: str = "mean",
    error: str | float | None = "se",
    reps: str | float | None = "reps",
    why: str | None = None,
) -> pd.DataFrame:
    """Return our numbers as rows for reproduction.compare.

    Parameters
    ----------
    frame : DataFrame
        One number per row, from `means`, `evaluated` or `values`.
    row, column : str
        Formats over the frame's columns, as in "{model}, n = {n}": the names under which the number
        is reported.
    value : str
        The frame's column of the numbers.
    error, reps : str or number, optional
        The columns of the standard errors and of the numbers of replications, or one number for
        all; None if unknown. An exact number has the error 0 and infinitely many replications.
    why : str, optional
        The reason why our numbers are of something else than the reported ones, and so are shown
        without a verdict.
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
    """Return `numbers` of values that are not means over replications, with a known error."""
    return numbers(frame, row, column, value, error, np.inf)


def formatted(frame: pd.DataFrame, text: str) -> list[str]:
    """Format each row: "{model}, n = {n:,}" -> ["Sine, n = 1,000", ...]."""
    return [text.format_map(row) for row in frame.to_dict("records")]


def without_number(
    records: pd.DataFrame, settings: Settings, row: str, columns: str | Iterable[str]
) -> pd.DataFrame:
    """Explain why cells gave no number, in rows for reproduction.compare.

    Returns row, column, why and keys, one row per place in the table. `row` and `columns` are
    formats over the columns of the records and the labels `model` and `column`; several columns
    stand for the numbers that each cell would have given.
    """
    lost = labelled(records[~has_number(records)], settings)
    lost = lost.assign(
        row_name=formatted(lost, row), why=[why_without(r) for r in lost.itertuples()]
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
    """Return {label: first reason why a cell of it gave no number}.

    With several groups, such as problem and estimator, the keys are tuples of labels.
    """
    lost = records[~has_number(records)].drop_duplicates(list(groups))
    reasons = {}
    for r in lost.itertuples():
        names = tuple(label(settings, group, getattr(r, group)) for group in groups)
        reasons[names if len(groups) > 1 else names[0]] = why_without(r)
    return reasons


def together(*frames: pd.DataFrame) -> pd.DataFrame:
    """Join results of `numbers` and `without_number`; of equal places the first counts."""
    joined_frames = joined(frames).drop(columns="item")
    return joined_frames.drop_duplicates(["row", "column"], ignore_index=True)


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Join the answers to several items."""
    some = [frame for frame in frames if len(frame)]
    frame = pd.concat(some, ignore_index=True) if some else pd.DataFrame()
    return frame.reindex(columns=ANSWER)


def answers(
    ours: pd.DataFrame,
    settings: Settings,
    otherwise: str | Mapping[str, str] | Callable[[str, str], str | None] | None = None,
    items: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Return our numbers for the reported items.

    Parameters
    ----------
    ours : DataFrame
        From `numbers`, `without_number` or `together`.
    otherwise : str, mapping or callable, optional
        The reason for a reported number without one of ours: one sentence for all, by the row, or a
        function of row and column. None leaves it to the experiment's `reasons` by column.
    items : iterable of str, optional
        The reported items; default all of settings.compare.
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


def convergence_numbers(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Return our numbers for a figure of estimates against n: an answer to each compared item.

    The row is '<problem label>, n = <n>' and the column the estimator's label. The error is the
    standard error over the replications. The column 'True value' is the problem's truth with its
    error, unless an estimator bears that label. An item <figure>_runs holds single runs, in rows
    '..., seed = <rep>' without an error; <figure>_runs_<estimand> is of that estimand.
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
    """Return the reason of the first cell without a number, None if all have one."""
    lost = records[~has_number(records)]
    return why_without(lost.iloc[0]) if len(lost) else None


def printed(settings: Settings, *items: str) -> pd.DataFrame:
    """Return the reported numbers of these items (default: all of settings.compare).

    Columns: item, row, column, value, plus_minus, ...
    """
    return reproduction.reported(settings.paper, items or settings.compare)
