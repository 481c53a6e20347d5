"""Comparison of every reported number of a paper with ours, with a verdict.

experiments/<paper>/reported.csv holds the reported numbers, reported_runs.parquet single runs that
the authors published. Their columns:

    item, row, column   place of the number: a figure or table, and its row and column
    value, unit         the number and its unit
    plus_minus          its standard error
    reps                number of replications behind it
    precision           one unit of the last printed digit, 0 for full precision
    source              a key of SOURCES
    place               optional: where the paper states it
    quote               optional: the sentence of a claim
    given_by            optional: "formula" if a formula or a known truth gives the number, so that
                        no estimate is behind it

A column named '<column> (standard error)' holds the printed standard error of the number in
'<column>'. It is compared with the standard error of our number. A row with the source `claim` is a
conclusion of the paper: its value is a threshold, its unit `above` or `below`, and our number is a
statistic with an interval (harness.evaluation.claims). harness.evaluation.verdicts defines the
verdicts.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.common.module_names import paper_folder
from harness.common.writing import difference
from harness.errors import BadInputError
from harness.evaluation import verdicts

KEY = ["item", "row", "column"]
COLUMNS = [
    *KEY, "source", "unit", "reported", "plus_minus", "ours", "error", "low", "high", "reps",
    "difference", "z", "power", "verdict", "reason", "where", "cells", "of",
]  # fmt: skip
PRINTED, CLAIM, PREDICTED = "printed", "claim", "predicted"
RECOMPUTED = ("recomputed by authors' code", "recomputed by independent code")
SOURCES = {
    PRINTED: "printed in the paper's text or tables",
    "authors' data": "taken from a file that the authors published",
    "read off a figure": "measured in a figure of the paper",
    RECOMPUTED[0]: "not in the paper: computed by running the authors' published code again",
    RECOMPUTED[1]: (
        "not in the paper: computed by code that others than the authors and this project wrote"
    ),
    PREDICTED: "not in a paper: the prediction of a theory",
    CLAIM: "a sentence of the paper",
}
SIDES = ("above", "below")
STANDARD_ERROR, STANDARD_DEVIATION = " (standard error)", " (standard deviation)"
NUMBERS = ["value", "plus_minus", "reps", "precision"]  # columns of reported.csv
TRUTH = "True value"
REMEDY = "correct the file or restore it from the repository"


# Reported numbers


def reported_path(paper: str | None) -> Path:
    """Return the path of a paper's reported.csv."""
    return paper_folder(str(paper)) / "reported.csv"


def reported(paper: str | None, items: Iterable[str] | None) -> pd.DataFrame:
    """Return the reported numbers of some figures and tables (`items`) of a paper."""
    items, path = list(items or ()), reported_path(paper)
    tables = [_read(path)]
    runs = path.with_name("reported_runs.parquet")
    if runs.is_file():
        tables.append(_read(runs, [("item", "in", items)]))
    tables = [table[table["item"].isin(items)] for table in tables]
    absent = sorted(set(items).difference(*(table["item"] for table in tables)))
    if absent:
        raise BadInputError(
            f"compare names {', '.join(absent)}, but {path} has no such item; correct the name or "
            "add the numbers."
        )
    some = [table for table in tables if len(table)]
    return pd.concat(some or tables[:1], ignore_index=True)


def examine(paper: str) -> None:
    """Raise BadInputError if a paper's reported.csv has a mistake."""
    _read(reported_path(paper))


def _read(path: Path, filters: list[Any] | None = None) -> pd.DataFrame:
    """Read and check a file of reported numbers. `filters` restricts the rows of a Parquet file."""
    try:
        csv = path.suffix == ".csv"
        frame = pd.read_csv(path) if csv else pd.read_parquet(path, filters=filters)
    except FileNotFoundError:
        raise BadInputError(
            f"{path} does not exist; add it, restore it from the repository, or leave out compare."
        ) from None
    except Exception as error:
        cause = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        raise BadInputError(f"{path} cannot be read ({cause}); {REMEDY}.") from error
    mistake = _mistake(frame)
    if mistake:
        raise BadInputError(f"{path} {mistake}; {REMEDY}.")
    return frame.reindex(columns=list(dict.fromkeys([*frame, "place", "quote"])))


def _mistake(frame: pd.DataFrame) -> str | None:
    """Describe the first mistake in a table of reported numbers, or return None if it has none."""
    absent = [name for name in (*KEY, *NUMBERS, "unit", "source") if name not in frame]
    if absent:
        return f"lacks the column{'s' * (len(absent) > 1)} {', '.join(absent)}"
    for name in NUMBERS:
        texts = frame.loc[pd.to_numeric(frame[name], errors="coerce").isna(), name].dropna()
        if len(texts):
            return f"holds {texts.iloc[0]!r} in the column {name}, where numbers belong"
    twice = frame.loc[frame.duplicated(KEY), KEY]
    if len(twice):
        return f"holds {twice.iloc[0].tolist()} twice"
    unknown = frame.loc[~frame["source"].isin(SOURCES), "source"].map(repr)
    if len(unknown):
        return f"holds {unknown.iloc[0]} in the column source, which takes {', '.join(SOURCES)}"
    claims = frame[frame["source"].eq(CLAIM)].reindex(columns=[*KEY, "unit", "value", "quote"])
    words = claims["quote"].astype(object).fillna("").astype(str).str.strip()
    for rule, mask in (
        ("is there twice", claims.duplicated(["item", "row"])),
        (f"has a unit other than {' or '.join(SIDES)}", ~claims["unit"].isin(SIDES)),
        ("has no threshold in the column value", claims["value"].isna()),
        ("has no quote of the paper, in one line", words.eq("") | words.str.contains("\n")),
    ):
        if mask.any():
            return f"holds a claim ({claims.loc[mask, 'row'].iloc[0]}) that {rule}"
    return None


# Comparison


def merge_keys(keys: Iterable[Any]) -> tuple[str, ...]:
    """Return the distinct keys, in order of appearance, from keys and tuples or lists of keys.

    Examples
    --------
    >>> merge_keys(["a", ("b", "a"), None])
    ('a', 'b')
    """
    groups = ([key] if isinstance(key, str) else key for key in keys if not _is_missing(key))
    return tuple(dict.fromkeys(key for group in groups for key in group))


def _is_missing(key: Any) -> bool:
    return key is None or isinstance(key, float)


def compare(
    ours: pd.DataFrame,
    paper: str | None,
    items: Iterable[str] | None,
    reasons: Mapping[str, str] | None = None,
    computed: Collection[str] = (),
    same_draws_as_paper: bool = False,
    records: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compare our numbers with the reported ones.

    Parameters
    ----------
    ours : DataFrame
        Our numbers, one per row, as `harness.evaluation.items` or, for claims,
        `harness.evaluation.claims` makes them. Columns: item, row, column, value, error and reps;
        optionally why and keys, for claims low, high and where, and for networks trained again low,
        high and widest. `why` in a row without a value
        is the reason for that. In a row with a value it says that our number measures something
        else than the reported one (other data, other hardware); the number is then shown without a
        verdict. For a claim, `why` tells what was compared. `keys` holds the keys of the cells
        behind the number.
    paper : str
        Id of the paper.
    items : list of str
        Items of experiments/<paper>/reported.csv.
    reasons : mapping, optional
        {label of a column: reason why we have no number in it}.
    computed : collection of str
        Labels of the columns that this experiment computes. A number that is missing in such a
        column was not part of this run.
    same_draws_as_paper : bool
        True if both sides have the same random draws, so that only equality is agreement.
    records : DataFrame, optional
        The records that `keys` belong to, for the columns `cells` and `of`.

    Returns
    -------
    DataFrame
        The columns COLUMNS and `keys`, one row per reported number. low and high are set for
        claims and for networks trained again, where for claims only. `cells` is the number of cells
        behind our number. `of` names these cells by problem, notion, n and estimator, with a * for
        what differs between them.

    Notes
    -----
    A paper may report the standard error of a number. If `ours` has no row for it, it is compared
    with `error` of our number. The error of this standard error is error / sqrt(2 (reps - 1)).
    """
    if absent := [name for name in (*KEY, "value") if name not in ours]:
        raise BadInputError(
            f"reproduced() of {paper}'s item returns a table without {', '.join(absent)}; "
            "it needs item, row, column and value, and may have error and reps."
        )
    twice = ours.loc[ours.duplicated(KEY), KEY]
    if len(twice):
        raise BadInputError(
            f"ours has two rows for {twice.iloc[0].tolist()}; make item, row and column unique."
        )
    frame = reported(paper, items).rename(columns={"value": "reported", "reps": "reported_reps"})
    optional = ("why", "keys", "low", "high", "where", "widest")
    ours = ours.reindex(columns=[*KEY, "value", "error", "reps", *optional])
    ours = ours.astype(frame[KEY].dtypes.to_dict())  # the columns of a frame without rows are float
    ours = _with_standard_errors(ours, frame[KEY]).rename(columns={"value": "ours"})
    frame = frame.merge(ours, on=KEY, how="left", validate="one_to_one")
    frame = frame.astype(
        {name: float for name in ("ours", "error", "reps", "low", "high", "widest")}
    )
    frame["difference"] = difference(frame["ours"], frame["reported"])

    claims = frame["source"].eq(CLAIM)
    frame = verdicts.judge(frame, claims, same_draws_as_paper)
    no_interval = ~np.isfinite(frame["high"] - frame["low"]) | frame["low"].eq(frame["high"])
    frame.loc[no_interval, ["low", "high"]] = np.nan

    why = [_reason(row, reasons or {}, computed, same_draws_as_paper) for row in frame.itertuples()]
    frame["reason"] = pd.Series(why, frame.index, dtype=object)  # None, never NaN, for no reason
    frame["where"] = frame["where"].astype(object).where(frame["where"].notna(), None)
    frame["keys"] = [merge_keys([keys]) for keys in frame["keys"]]
    frame["cells"] = frame["keys"].map(len)
    frame["of"] = _name_cells(frame["keys"], records)
    return frame[[*COLUMNS, "keys"]]


def rows_of_variation(compared: pd.DataFrame, changed: Collection[str]) -> pd.DataFrame:
    """Return the rows in which a variation of an experiment can be compared with the paper.

    `compared` is a table of `compare`, and `changed` holds the paths of the changed settings. Rows
    are dropped if the variation has computed no number for them. If the variation changes n, rows
    whose label does not state n are dropped too.
    """
    kept = compared["ours"].notna()
    if "n" in changed:
        kept &= (compared["row"] + ", " + compared["column"]).str.contains("n = ", regex=False)
    return compared[kept].reset_index(drop=True)


def _with_standard_errors(ours: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """Add a row with our standard error for every reported standard error that `ours` lacks.

    If our number has no standard error, the new row has the reason in `why`. `asked` lists the
    reported numbers by item, row and column.
    """
    asked = asked[asked["column"].str.endswith(STANDARD_ERROR)]
    numbered = pd.MultiIndex.from_frame(ours.loc[ours["value"].notna(), KEY])
    asked = asked[~pd.MultiIndex.from_frame(asked).isin(numbered)]
    rows = asked.assign(column=asked["column"].str.removesuffix(STANDARD_ERROR)).merge(ours, on=KEY)
    if rows.empty:
        return ours
    number, error, reps = (rows[name].astype(float) for name in ("value", "error", "reps"))
    reason = np.select(
        [number.isna(), error.isna() | (reps <= 1), np.isinf(reps), reps.isna()],
        ["", "one replication has no standard error",
         "our number is not a mean over replications, and so has no standard error",
         "the number of replications behind our standard error is unknown"],
        "",
    )  # fmt: skip
    without = number.isna() | error.isna() | (reps <= 1) | np.isinf(reps)
    reasons = pd.Series(reason, rows.index, dtype=object).replace("", None)
    rows["why"] = rows["why"].where(rows["why"].notna(), reasons)
    rows["value"] = error.mask(without)
    rows["error"] = (error / np.sqrt(2 * (reps - 1).clip(lower=1))).mask(without)
    rows["column"] += STANDARD_ERROR
    rows = rows[rows["value"].notna() | rows["why"].notna()]
    parts = [part for part in (rows, ours) if len(part)]
    return pd.concat(parts, ignore_index=True).drop_duplicates(KEY, ignore_index=True)


def _name_cells(many_keys: pd.Series, records: pd.DataFrame | None) -> list[str] | str:
    """Return a text that names the cells behind each number.

    An example is 'beta_wavy | binary | n = 100 | binned15'. A * stands for what differs between
    the cells. `many_keys` holds one tuple of keys per number.
    """
    if records is None:
        return ""
    once = records.drop_duplicates("key").set_index("key")[["problem", "notion", "n", "estimator"]]
    names = dict(zip(once.index, once.itertuples(index=False, name=None)))
    texts: dict[tuple[str, ...], str] = {}
    for keys in dict.fromkeys(many_keys):
        cells = [names[key] for key in keys if key in names]
        columns = [_common({str(part) for part in parts}) for parts in zip(*cells)]
        texts[keys] = "{} | {} | n = {} | {}".format(*columns) if columns else ""
    return [texts[keys] for keys in many_keys]


def _common(names: set[str]) -> str:
    """Return the common beginning and end of some names around a *.

    {a_seed1, a_seed2} gives 'a_seed*'.
    """
    first, *others = sorted(names)
    if not others:
        return first
    start = os.path.commonprefix([first, *others])
    end = os.path.commonprefix([name[len(start) :][::-1] for name in (first, *others)])[::-1]
    return f"{start}*{end}"


def _reason(
    row: Any, reasons: Mapping[str, str], computed: Collection[str], same_draws: bool
) -> str | None:
    """Explain the verdict of a row of the comparison; None if it needs no explanation."""
    column = row.column.removesuffix(STANDARD_ERROR).removesuffix(STANDARD_DEVIATION)
    given = reasons.get(row.column, reasons.get(column))
    why = row.why if isinstance(row.why, str) else None
    has_number = not np.isnan(row.ours)
    if row.source == CLAIM and has_number:
        return why
    if row.verdict != verdicts.UNJUDGED and np.isfinite(row.widest):
        return (
            f"the 95 % prediction interval of {row.reps:.0f} seeds is {row.high - row.low:.3g} "
            f"wide, and the paper's numbers beside this one differ by {row.widest:.3g}"
        )
    if row.verdict == "differs":
        if same_draws and row.reps != row.reported_reps:
            return f"the reported mean is over {row.reported_reps:g} runs, ours over {row.reps:g}"
        return given
    if row.verdict == "no test":
        if row.reported != 0:
            return "a difference of more than half of the reported number would have been accepted"
        if abs(row.ours) <= row.precision / 2 + 1e-9:
            return "both numbers are 0"
        return "the reported number is 0, so that no difference is small relative to it"
    if row.verdict != verdicts.UNJUDGED:
        return None
    if np.isnan(row.reported):
        if row.source == "read off a figure":
            return "the paper shows this number only in a figure"
        return "the authors' table has no value here"
    if why is not None:
        return why
    if has_number:
        return "our number comes from one replication and has no Monte Carlo error"
    if given:
        return given
    if {row.column, column} & set(computed):
        return "not part of this run"
    return "this experiment does not compute this number"
