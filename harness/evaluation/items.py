"""What an item of a paper is made of: numbers out of records, and our numbers beside the reported ones.

An item is a module experiments/<paper>/<item>.py with the functions render(records, settings) -> Figure and
reproduced(records, settings) -> DataFrame, and where its table is one of its own kind also table(records, settings) and
summary(records, settings). It samples, fits and estimates nothing. Most items are a chain of the functions here,

    found = items.means(items.values(records, settings), ["model", "n", "column"])
    ours = items.numbers(found, "{model}, n = {n}", "{column}")
    return items.answers(ours, settings)

Frames carry the keys of the cells that a number is made of in the column `keys`, from `means` and `evaluated` to
reproduction.csv, so that every number leads to its records. Tables of texts are in harness.evaluation.text_tables, and what
is drawn again and again in harness.figures.panels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.configure.compose import out_folder
from harness.configure.settings import Settings
from harness.evaluation import reproduction
from harness.evaluation.missing import why_without
from harness.evaluation.selection import label
from harness.evaluation.summary import GROUP, evaluate
from harness.records import provenance
from harness.records.schema import has_number

ANSWER = ["item", "row", "column", "value", "error", "reps", "why", "keys"]


# Records -> numbers


def with_number(
    records: pd.DataFrame,
    estimands: str | Iterable[str] | None = None,
    notion: str | None = None,
    kinds: str | Iterable[str] | None = None,
) -> pd.DataFrame:
    """The rows of records that hold a number.

    Parameters
    ----------
    records : DataFrame
        As of `harness.load_records`.
    estimands, kinds : str or iterable of str, optional
        Only these estimands, and only these kinds of estimate (point, lower, upper, interval).
    notion : str, optional
        Only this notion.
    """
    fine = records[has_number(records)]
    for column, wanted in (("estimand", estimands), ("notion", notion), ("kind", kinds)):
        if wanted is not None:
            fine = fine[fine[column].isin([wanted] if isinstance(wanted, str) else list(wanted))]
    return fine


def labelled(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The frame with the labels of the configuration beside the ids: `model` of the problem, `column` of the estimator."""
    found = frame.assign(model=[label(settings, "problem", name) for name in frame["problem"]])
    return found.assign(column=[label(settings, "estimator", name) for name in found["estimator"]])


def values(
    records: pd.DataFrame,
    settings: Settings,
    estimands: Iterable[str] | None = None,
    notion: str | None = None,
):
    """The rows that hold a number, with the labels `model` and `column`: `labelled` of `with_number`."""
    return labelled(with_number(records, estimands, notion), settings)


def diagnostics(records: pd.DataFrame) -> pd.DataFrame:
    """What the estimates say about how they were made: one column per name, NaN where an estimate does not have it; the index
    is that of the records."""
    made = [json.loads(text) if isinstance(text, str) else {} for text in records["diagnostics"]]
    return pd.DataFrame(made, index=records.index)


def with_diagnostics(frame: pd.DataFrame, *names: str, **renamed: str) -> pd.DataFrame:
    """The frame with these diagnostics as columns, NaN where an estimate does not have one; renamed: {column: diagnostic}."""
    columns = {**dict(zip(names, names)), **renamed}
    return frame.join(
        diagnostics(frame).reindex(columns=list(columns.values())).set_axis(list(columns), axis=1)
    )


def by_diagnostic(records: pd.DataFrame, estimator: str, **named: str) -> pd.DataFrame:
    """The diagnostics of one estimator at the largest n, one row per problem and diagnostic.

    Parameters
    ----------
    records : DataFrame
        As of `harness.load_records`.
    estimator : str
        The estimator's id.
    named : str
        {column: parameter of the problem} of the parameters that become columns; the rows are in the order of the first.

    Returns
    -------
    DataFrame
        The columns `named`; key, of the cell; column, the name of the diagnostic; value.
    """
    held = with_number(records[records["estimator"].eq(estimator)])
    held = held[held["n"].eq(held["n"].max())].drop_duplicates("problem")
    found = (
        parameters(held, "problem", *named.values())
        .set_axis(list(named), axis=1)
        .assign(key=held["key"])
    )
    known = found.join(diagnostics(held)).melt([*named, "key"], var_name="column")
    return known.sort_values(next(iter(named)), kind="stable", ignore_index=True)


def parameters(records: pd.DataFrame, of: str, *names: str) -> pd.DataFrame:
    """The values of these parameters of the records' problems or estimators (`of`: problem, estimator); NaN where one is not
    set; the index is that of the records."""
    known = {
        text: json.loads(text) if isinstance(text, str) else {}
        for text in records[f"{of}_parameters"].unique()
    }
    rows = [
        [known[text].get(name, np.nan) for name in names] for text in records[f"{of}_parameters"]
    ]
    return pd.DataFrame(rows, index=records.index, columns=list(names))


def means(frame: pd.DataFrame, by: Sequence[str], value: str = "value") -> pd.DataFrame:
    """Mean of a column by others: over replications, seeds, folds, whatever `by` does not name.

    Returns
    -------
    DataFrame
        The columns `by`; mean, sd (ddof 1), reps (how many there are), se = sd / sqrt(reps), both NaN for one; and, where the
        frame has `key` or `keys`, the `keys` of the cells that went into the mean. Groups stand in the order of their first
        row, and a group without a name in one of the columns is a group of its own.
    """
    grouped = frame.groupby(list(by), sort=False, dropna=False)
    table = grouped[value].agg(mean="mean", sd="std", reps="size")
    table["se"] = table["sd"] / np.sqrt(table["reps"])
    for column in ("keys", "key"):
        if column in frame:
            table["keys"] = grouped[column].agg(_together)
            break
    return table.reset_index()


def _together(keys) -> tuple[str, ...]:
    """The different keys of a column of keys or of tuples of keys."""
    return tuple(
        dict.fromkeys(
            k
            for key in keys
            for k in ([key] if isinstance(key, str) else key if _is_some(key) else ())
        )
    )


def _is_some(keys) -> bool:
    return isinstance(keys, (tuple, list))


def evaluated(
    records: pd.DataFrame, settings: Settings, estimands=None, notion: str | None = None
) -> pd.DataFrame:
    """`harness.evaluate` of the rows that hold a number, with the labels `model` and `column` and the `keys` of the cells."""
    fine = with_number(records, estimands, notion)
    table = labelled(evaluate(fine), settings)
    keys = (
        fine.groupby([*GROUP], sort=False)["key"].agg(_together)
        if len(fine)
        else pd.Series(dtype=object)
    )
    return table.assign(
        keys=[keys.get(place, ()) for place in zip(*(table[name] for name in GROUP))]
    )


def labels(settings: Settings, group: str, among: Iterable[str] | None = None) -> list[str]:
    """The labels of the configuration's problems or estimators (`group`) in its order, each once; of `among` (labels) alone, if
    that is given."""
    have = None if among is None else set(among)
    named = dict.fromkeys(label(settings, group, name) for name in settings.chosen(group))
    return [name for name in named if have is None or name in have]


def chosen(settings: Settings, frame: pd.DataFrame, group: str = "estimator") -> list[str]:
    """The ids of the configuration, in its order, that occur in the frame. Of the estimators those of `figure.estimators` alone,
    where the configuration has them."""
    wanted = (settings.figure.estimators if group == "estimator" else None) or list(
        settings.chosen(group)
    )
    have = set(frame[group])
    return [name for name in wanted if name in have]


def in_order(frame: pd.DataFrame, settings: Settings, *groups: str) -> pd.DataFrame:
    """The rows in the order of the configuration's ids in the columns `groups` (default problem, estimator), otherwise as they
    were; ids that it does not have come last."""
    return in_orders(
        frame, {group: settings.chosen(group) for group in groups or ("problem", "estimator")}
    )


def in_orders(frame: pd.DataFrame, orders: Mapping[str, Iterable[Any]]) -> pd.DataFrame:
    """Sort the rows by the columns that `orders` names, each by the place of its values in the list given. Rows that are alike
    stay as they were; values that a list lacks come last."""
    keys = []
    for column, values in orders.items():
        ranks = {value: i for i, value in enumerate(values)}
        keys.append([ranks.get(value, len(ranks)) for value in frame[column]])
    return frame.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


def ranked(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The names, each once, in the order of `known`; others after them, as they came."""
    places = {name: i for i, name in enumerate(dict.fromkeys(known))}
    return sorted(dict.fromkeys(names), key=lambda name: places.get(name, len(places)))


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
    """Our numbers as rows that reproduction.compare takes.

    Parameters
    ----------
    frame : DataFrame
        One number per row, as of `means`, `evaluated` or `values`.
    row, column : str
        Formats over the frame's columns, as in "{model}, n = {n}": the names under which the number is reported.
    value : str
        The frame's column that holds the numbers.
    error, reps : str or number, optional
        The columns of the standard errors and of the numbers of replications, or one number for all; None for unknown. An error
        of 0 with infinitely many replications is that of an exact number.
    why : str, optional
        Why our numbers are of something else than the reported ones, and so are shown without a verdict.
    """
    if not len(frame):
        return pd.DataFrame(columns=ANSWER[1:])
    given = {"value": value, "error": error, "reps": reps}
    found = {
        name: frame[one].to_numpy(float) if isinstance(one, str) else one
        for name, one in given.items()
    }
    named = {"row": formatted(frame, row), "column": formatted(frame, column)}
    keys = (
        frame["keys"]
        if "keys" in frame
        else frame["key"].map(lambda key: (key,))
        if "key" in frame
        else [()] * len(frame)
    )
    made = pd.DataFrame({**named, **found, "why": why, "keys": list(keys)})
    return made.astype({name: float for name in given})


def exact(
    frame: pd.DataFrame, row: str, column: str, value: str = "value", error: str | float = 0.0
) -> pd.DataFrame:
    """`numbers` of values that are not means over replications, with the error that is known of them."""
    return numbers(frame, row, column, value, error, np.inf)


def formatted(frame: pd.DataFrame, text: str) -> list[str]:
    """The text with the columns of every row put in: "{model}, n = {n:,}" -> ["Sine, n = 1,000", ...]."""
    return [text.format_map(row) for row in frame.to_dict("records")]


def without_number(
    records: pd.DataFrame, settings: Settings, row: str, columns: str | Iterable[str]
) -> pd.DataFrame:
    """Why cells gave no number: rows (row, column, why, keys), one per place in the table, named as in `numbers`; the formats
    are over the columns of the records and the labels `model` and `column`. A list of columns stands for what each cell would
    have given."""
    lost = labelled(records[~has_number(records)], settings)
    whys = [why_without(r) for r in lost.itertuples()]
    frames = [
        pd.DataFrame(
            {
                "row": formatted(lost, row),
                "column": formatted(lost, column),
                "why": whys,
                "key": list(lost["key"]),
            }
        )
        for column in ([columns] if isinstance(columns, str) else columns)
    ]
    if not len(lost) or not frames:
        return pd.DataFrame(columns=["row", "column", "why", "keys"])
    grouped = pd.concat(frames, ignore_index=True).groupby(["row", "column"], sort=False)
    return grouped.agg(why=("why", "first"), keys=("key", _together)).reset_index()


def whys(records: pd.DataFrame, settings: Settings, *groups: str) -> dict[Any, str]:
    """{label: why cells of it gave no number}, the first of its reasons; of several groups, as problem and estimator, by the
    tuple of labels."""
    lost = records[~has_number(records)].drop_duplicates(list(groups))
    names = [
        tuple(label(settings, group, getattr(r, group)) for group in groups)
        for r in lost.itertuples()
    ]
    return {
        name if len(groups) > 1 else name[0]: why_without(r)
        for name, r in zip(names, lost.itertuples())
    }


def together(*frames: pd.DataFrame) -> pd.DataFrame:
    """The rows of `numbers` and `without_number` in this order; of two with the same row and column the first holds."""
    frames = tuple(frame for frame in frames if len(frame))
    made = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return made.reindex(columns=ANSWER[1:]).drop_duplicates(["row", "column"], ignore_index=True)


def answers(
    ours: pd.DataFrame,
    settings: Settings,
    otherwise: str | Mapping[str, str] | Callable[[str, str], str | None] | None = None,
    items: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Our numbers for the reported items.

    Parameters
    ----------
    ours : DataFrame
        As of `numbers`, `without_number` or `together`.
    otherwise : str, mapping or callable, optional
        Why there is no number of ours for a reported one that `ours` lacks: one sentence for all, by the row, or a function of
        row and column. None leaves it to the experiment's `reasons` by column.
    items : iterable of str, optional
        The reported items; default all of settings.compare.
    """
    frames = []
    for item in settings.compare if items is None else items:
        frames.append(ours.assign(item=item))
        if otherwise is not None:
            asked = reproduction.reported(settings.paper, [item])
            mine = set(zip(ours["row"], ours["column"]))
            absent = asked[[place not in mine for place in zip(asked["row"], asked["column"])]][
                ["row", "column"]
            ]
            whys = [_why(otherwise, *place) for place in zip(absent["row"], absent["column"])]
            frames.append(absent.assign(item=item, why=whys).dropna(subset="why"))
    return joined(frames)


def _why(otherwise, row, column):
    if isinstance(otherwise, str):
        return otherwise
    return otherwise.get(row) if isinstance(otherwise, Mapping) else otherwise(row, column)


def convergence_numbers(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Our numbers for a figure of estimates against n, one answer to each item of settings.compare.

    The row is '<problem label>, n = <n>' and the column the estimator's label; the error is the standard error over the
    replications. The column 'True value' is the problem's truth with its error, unless an estimator bears that label. An item
    named <figure>_runs is of single runs, its rows '..., seed = <rep>' without an error; <figure>_runs_<estimand> is of that
    estimand.
    """
    frames = []
    for item in settings.compare:
        figure, _, named = item.partition("_runs")
        wanted = named.removeprefix("_") or estimand
        row = "{model}, n = {n}" if item == figure else "{model}, n = {n}, seed = {rep}"
        if item == figure:
            found = evaluated(records, settings, wanted)
            ours = numbers(found, row, "{column}")
        else:
            found = values(records, settings, wanted)
            ours = numbers(found, row, "{column}", value="value", error=0.0, reps=1)
        exact = numbers(
            found, row, reproduction.TRUTH, value="truth", error="truth_error", reps=np.inf
        )
        if reproduction.TRUTH in settings.labels.estimator.values():
            exact = exact.head(0)
        frames.append(
            together(ours, exact, without_number(records, settings, row, "{column}")).assign(
                item=item
            )
        )
    return joined(frames)


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The answers to several items as one frame."""
    held = [frame for frame in frames if len(frame)]
    return (
        pd.concat(held, ignore_index=True).reindex(columns=ANSWER)
        if held
        else pd.DataFrame(columns=ANSWER)
    )


def first_reason(records: pd.DataFrame) -> str | None:
    """Why the first cell without a number has none; None where all have one."""
    lost = records[~has_number(records)]
    return why_without(lost.iloc[0]) if len(lost) else None


def answers_or_reason(
    ours: pd.DataFrame, records: pd.DataFrame, settings: Settings, otherwise: str | None = None
) -> pd.DataFrame:
    """`answers` of numbers that are computed from files: reported ones that `ours` lacks are answered by `otherwise`, where there
    are none of ours by the first reason; settings.reasons["data"] says why ours are of something else. Without `otherwise` it is
    settings.reasons["absent"], or a sentence on what is at hand and the command that says what is missing."""
    reasons = settings.reasons
    reason = None if len(ours) else first_reason(records)
    of_others = (
        f"{reasons['data']}; none of them stands for this one" if reasons.get("data") else None
    )
    unheld = f"the files at hand do not hold it; `calharness info {settings.name}` lists those that it needs"
    return answers(
        ours.assign(why=reasons.get("data")),
        settings,
        reason or otherwise or reasons.get("absent") or of_others or unheld,
    )


def printed(settings: Settings, *items: str, alike: bool = True) -> pd.DataFrame:
    """The reported numbers of these items (default all of settings.compare): item, row, column, value, plus_minus, ... With
    alike=False none where the experiment is on other data than the paper's (settings.reasons["data"] says so)."""
    found = reproduction.reported(settings.paper, items or settings.compare)
    return found if alike or not settings.reasons.get("data") else found[:0]


def wall_clock(records: pd.DataFrame, settings: Settings) -> float:
    """Wall-clock seconds of the runs that left these records, drawing the samples included, from their provenance; NaN unless all
    of them were runs of this very experiment that came to an end."""
    found = [
        provenance.read(out_folder(settings.out), run_id)
        for run_id in records["run_id"].dropna().unique()
    ]
    own = all(
        run.get("config", {}).get("name") == settings.name and run.get("state") == "finished"
        for run in found
    )
    return float(sum(run["seconds"] for run in found)) if found and own else float("nan")


def numbers_by_id(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Our means in rows '<problem id>, n = <n>' and columns '<estimator id>'; cells that gave none leave their reason."""
    of_it = ("{problem}, n = {n}", "{estimator}")
    return together(
        numbers(evaluated(records, settings, estimand), *of_it),
        without_number(records, settings, *of_it),
    )
