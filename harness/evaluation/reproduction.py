"""Paper against ours: every reported number with ours beside it and a verdict.

experiments/<paper>/reported.csv (and reported_runs.parquet, for authors' per-run values) are typed data with the columns
item, row, column, value, unit, plus_minus (standard error), reps, precision (1 unit of the last printed digit; 0 = full), source
(where the number comes from, a key of SOURCES) and, where known, place (in the paper), quote (of a claim) and given_by ("formula"
where a number follows from a formula or a known truth, so that no estimate is behind it).

A column '<column> (standard error)' is the printed standard error of that column's number, and answered by the error of ours.
A row of source `claim` is something that the paper concludes: its value is a threshold, its unit above or below, and ours is a
statistic with an interval (harness.evaluation.claims).

power is half the width of what would have been accepted as agreement, relative to the reported number: 0.02 is a test to 2 %. It
has three digits, is there where a number was judged, and is infinite where the reported number is 0.

verdict of a number
    identical               |ours - reported| <= precision / 2 + 1e-9
    within error            |difference| <= t * sqrt(plus_minus^2 + error^2), t the two-sided 0.1 % quantile of Student's t with
                            Welch's degrees of freedom: one in a thousand true reproductions is called different
                            (never given where both sides are of the same random draws: there only equality agrees)
    differs                 otherwise
    no test                 one of the two first, but of no worth: power, to its three digits, is above 0.5, or the reported
                            number is 0. Power is 0.5, and a test, of a number such as 0.001 that is printed to 0.001
    not reproducible here   we have no number, or one of something else (other data, other hardware), or one replication and so
                            no error to judge by; the reason is given
verdict of a claim
    holds                   the whole interval of our statistic is on the claimed side of the threshold
    fails                   it is on the other side, the threshold included
    undecided               the threshold is inside
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from harness.common.paths import EXPERIMENTS
from harness.common.writing import difference, whole_file, write_csv
from harness.errors import BadInputError

KEY = ["item", "row", "column"]
COLUMNS = [
    *KEY, "source", "unit", "reported", "plus_minus", "ours", "error", "low", "high", "reps", "difference", "z", "power",
    "verdict", "reason", "where", "cells", "of",
]  # fmt: skip
PRINTED, CLAIM = "printed", "claim"
SOURCES = {
    PRINTED: "stands in the paper's text or tables",
    "authors' data": "a file that the authors published",
    "read off a figure": "measured in the paper's figure, to the precision of the reading",
    "recomputed by authors' code": "not in the paper: the authors' published code, run again",
    "recomputed by independent code": "not in the paper: code written from the paper by others than the authors and this project",
    CLAIM: "a sentence of the paper",
}
RECOMPUTED = ("recomputed by authors' code", "recomputed by independent code")
SIDES = ("above", "below")
STANDARD_ERROR, STANDARD_DEVIATION = " (standard error)", " (standard deviation)"
VERDICTS = {
    "identical": "equal to the reported number to its printed precision, or to 1e-9",
    "within error": "the difference is within what both Monte Carlo errors explain (0.1 % two-sided, Welch)",
    "differs": "the difference is larger than that",
    "no test": "an agreement of no worth: more than half of the reported number would have been accepted, or that number is 0",
    "holds": "the whole 99 % interval of our statistic is on the claimed side of the threshold",
    "fails": "the whole 99 % interval of our statistic is on the other side of the threshold",
    "undecided": "the 99 % interval of our statistic has the threshold inside",
    "not reproducible here": "there is no number of ours, or none that can be judged, for the reason given",
}
LARGEST_POWER = 0.5  # a test that accepts more, relative to the reported number, is none
OPTIONAL = (
    "why",
    "keys",
    "low",
    "high",
    "where",
)  # columns of our answers that are there where they are needed
NUMBERS = ["value", "plus_minus", "reps", "precision"]  # columns of reported.csv
DIFFERS_BELOW = (
    0.001  # the two-sided probability, under equality, of a difference that is called one
)
TRUTH = "True value"


def reported(paper: str, items):
    """The reported numbers of these items."""
    folder = EXPERIMENTS / paper
    frames = [_read(folder / "reported.csv", pd.read_csv)]
    runs = folder / "reported_runs.parquet"
    if runs.is_file():
        frames.append(
            _read(runs, lambda path: pd.read_parquet(path, filters=[("item", "in", list(items))]))
        )
    frames = [frame[frame["item"].isin(list(items))] for frame in frames]
    frame = pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)
    absent = set(items) - set(frame["item"])
    if absent:
        raise BadInputError(
            f"compare is {', '.join(sorted(absent))}, of which {paper}'s reported numbers hold nothing."
        )
    return frame


def examine(paper: str) -> None:
    """Raises BadInputError on a mistake in a paper's reported.csv."""
    _read(EXPERIMENTS / paper / "reported.csv", pd.read_csv)


def _read(path, reader):
    """A table of reported numbers. Raises BadInputError, with the remedy, if it cannot be read, lacks a column, holds text where
    numbers belong, or the same number twice."""
    mend = "mend the file, or put back the one of the repository"
    if not path.is_file():
        raise BadInputError(f"{path} is not there; {mend}.")
    try:
        frame = reader(path)
    except Exception as error:
        raise BadInputError(
            f"{path} cannot be read ({type(error).__name__}: {str(error).splitlines()[0][:120]}); {mend}."
        ) from error
    absent = [name for name in (*KEY, *NUMBERS, "unit", "source") if name not in frame]
    if absent:
        raise BadInputError(
            f"{path} lacks the column{'s' if len(absent) > 1 else ''} {', '.join(absent)}; {mend}."
        )
    texts = [name for name in NUMBERS if frame[name].dtype.kind not in "fiu"]
    if texts and len(frame):
        wrong = next(value for value in frame[texts[0]] if not _is_number(value))
        raise BadInputError(
            f"{path} holds {wrong!r} in the column {texts[0]}, where numbers belong; {mend}."
        )
    twice = frame.duplicated(KEY)
    if twice.any():
        raise BadInputError(f"{path} holds {frame.loc[twice, KEY].iloc[0].tolist()} twice; {mend}.")
    unknown = frame.loc[~frame["source"].isin(SOURCES), "source"]
    if len(unknown):
        found = repr(unknown.iloc[0]) if isinstance(unknown.iloc[0], str) else "nothing"
        raise BadInputError(
            f"{path} holds {found} in the column source, which takes {', '.join(SOURCES)}; {mend}."
        )
    wrong = _mistake_of_a_claim(frame[frame["source"].eq(CLAIM)])
    if wrong:
        raise BadInputError(f"{path} holds a claim {wrong}; {mend}.")
    return frame.reindex(columns=list(dict.fromkeys([*frame, "place", "quote"])))


def _mistake_of_a_claim(claims):
    """What is wrong with the first of these rows that is not sound; None where all are."""
    twice = claims.loc[claims.duplicated(["item", "row"]), "row"]
    if len(twice):
        return f"({twice.iloc[0]}) twice, whose names must be unique"
    for claim in claims.itertuples():
        quote = getattr(claim, "quote", None)
        if claim.unit not in SIDES:
            return f"({claim.row}) whose unit is {claim.unit!r}, which takes {' or '.join(SIDES)}"
        if claim.value != claim.value:
            return f"({claim.row}) without a threshold in the column value"
        if not isinstance(quote, str) or not quote.strip() or len(quote.splitlines()) > 1:
            return f"({claim.row}) without the paper's words, one line in the column quote"
    return None


def _is_number(value):
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def compare(
    ours, paper: str, items, reasons=None, computed=(), same_draws_as_paper=False, records=None
):
    """Put our numbers beside the reported ones and judge them.

    Parameters
    ----------
    ours : DataFrame
        Columns item, row, column, value, error, reps, and, where needed, why and keys (harness.evaluation.items makes them).
        `why` in a row without a value is the reason that there is none. In a row with a value it says that our number is of
        something else than the reported one (other data, other hardware), for which reason it is shown without a verdict. `keys`
        are those of the cells that the number is made of. Answers to claims have low, high and where besides, and `why` says
        what was compared (harness.evaluation.claims makes them). A reported standard error that has no number here is answered
        by the error of our number, with error / sqrt(2 (reps - 1)) as its own error.
    paper : str
        The paper's id.
    items : list of str
        Items of experiments/<paper>/reported.csv.
    reasons : mapping, optional
        By the label of a column: why there is no number of ours in it.
    computed : collection of str
        The labels of the columns that this experiment computes: a number that lacks in one of these is not part of this run.
    same_draws_as_paper : bool
        Whether both sides are of the same random draws, so that nothing but equality is agreement.
    records : DataFrame, optional
        The records that `keys` are of, for the columns `cells` and `of`.

    Returns
    -------
    DataFrame
        COLUMNS, one row per reported number, and `keys`. low, high and where are those of claims. `cells` is the number of cells
        that ours is made of and `of` names them: problem, notion, n and estimator, with a * for what differs between them.
    """
    frame = reported(paper, items).rename(columns={"value": "reported", "reps": "reported_reps"})
    twice = ours.duplicated(KEY)
    if twice.any():
        raise BadInputError(
            f"two of our numbers answer to {ours.loc[twice, KEY].iloc[0].tolist()}; the labels must be unique."
        )
    ours = ours.reindex(columns=[*KEY, "value", "error", "reps", *OPTIONAL])
    ours = _with_standard_errors(ours, frame[KEY]).rename(columns={"value": "ours"})
    frame = frame.merge(ours, on=KEY, how="left", validate="one_to_one")
    numbers = ("ours", "error", "reps", "low", "high")
    frame = frame.astype({name: float for name in numbers})  # also where there is no number at all
    frame["difference"] = difference(frame["ours"], frame["reported"])
    spread = np.hypot(frame["plus_minus"].fillna(0.0), frame["error"].fillna(0.0))
    frame["z"] = np.where(
        (spread > 1e-12) & frame["error"].notna(),
        frame["difference"] / spread.where(spread > 0),
        np.nan,
    )
    claim = frame["source"].eq(CLAIM)
    accepted = _accepted(frame, spread * (not same_draws_as_paper))
    frame["verdict"] = np.where(claim, _verdicts_of_claims(frame), _verdicts(frame, accepted))
    frame.loc[frame["why"].notna() & ~claim, "verdict"] = "not reproducible here"
    judged = frame["verdict"].ne("not reproducible here") & ~claim
    frame["power"] = _power(frame, accepted).where(judged)
    frame.loc[claim | frame["why"].notna(), "z"] = np.nan
    why = [_reason(row, reasons or {}, computed, same_draws_as_paper) for row in frame.itertuples()]
    frame["reason"] = pd.Series(
        why, index=frame.index, dtype=object
    )  # None where there is none, never NaN
    frame["where"] = frame["where"].astype(object).where(frame["where"].notna(), None)
    frame["keys"] = [
        tuple(keys) if isinstance(keys, (tuple, list)) else () for keys in frame["keys"]
    ]
    frame["cells"] = [len(keys) for keys in frame["keys"]]
    frame["of"] = _names_of_cells(frame["keys"], records)
    return frame[[*COLUMNS, "keys"]]


def _with_standard_errors(ours, asked):
    """Our answers, and for each reported standard error that has no number among them the error of our number, or why there is
    none."""
    asked = asked[asked["column"].str.endswith(STANDARD_ERROR)]
    numbered = set(ours.loc[ours["value"].notna(), KEY].itertuples(index=False, name=None))
    asked = asked[[key not in numbered for key in asked.itertuples(index=False, name=None)]]
    if not len(asked) or not len(ours):
        return ours
    made = asked.assign(column=asked["column"].str.removesuffix(STANDARD_ERROR)).merge(ours, on=KEY)
    number, error, reps = (made[name].astype(float) for name in ("value", "error", "reps"))
    reason = np.select(
        [number.isna(), error.isna() | (reps <= 1), np.isinf(reps), reps.isna()],
        [None, "one replication has no standard error", "our number is no mean over replications and has no standard error",
         "the number of replications behind our standard error is not known"],
        None,
    )  # fmt: skip
    has_none = number.isna() | error.isna() | (reps <= 1) | np.isinf(reps)
    made["why"] = made["why"].where(
        made["why"].notna(), pd.Series(reason, index=made.index, dtype=object)
    )
    made["value"] = error.mask(has_none)
    made["error"] = (error / np.sqrt(2 * (reps - 1).clip(lower=1))).mask(has_none)
    made["column"] += STANDARD_ERROR
    made = made[made["value"].notna() | made["why"].notna()]
    return (
        pd.concat([made, ours], ignore_index=True).drop_duplicates(KEY, ignore_index=True)
        if len(made)
        else ours
    )


def _names_of_cells(many_keys, records):
    """'beta_wavy | binary | n = 100 | binned15' of every tuple of keys of cells, with a * where the cells differ."""
    if records is None:
        return ""
    once = records.drop_duplicates("key").set_index("key")[["problem", "notion", "n", "estimator"]]
    names = dict(zip(once.index, once.itertuples(index=False, name=None)))
    said: dict[tuple, str] = {}
    for keys in dict.fromkeys(many_keys):
        held = [
            {str(part) for part in parts}
            for parts in zip(*(names[key] for key in keys if key in names))
        ]
        said[keys] = "{} | {} | n = {} | {}".format(*map(_glob, held)) if held else ""
    return [said[keys] for keys in many_keys]


def _glob(names: set[str]) -> str:
    """What names have in common at both ends, with a * for what differs: {a_seed1, a_seed2} -> 'a_seed*'."""
    first, *others = sorted(names)
    if not others:
        return first
    start = os.path.commonprefix([first, *others])
    end = os.path.commonprefix([name[len(start) :][::-1] for name in (first, *others)])[::-1]
    return f"{start}*{end}"


def _reason(row, reasons, computed, same_draws_as_paper):
    column = row.column.removesuffix(STANDARD_ERROR).removesuffix(STANDARD_DEVIATION)
    if row.source == CLAIM and row.ours == row.ours:
        return row.why if isinstance(row.why, str) else None
    if row.verdict == "differs" and same_draws_as_paper and row.reps != row.reported_reps:
        return f"their mean is over {row.reported_reps:g} runs, ours over {row.reps:g}"
    if row.verdict == "differs":
        return reasons.get(row.column, reasons.get(column))
    if row.verdict == "no test":
        if row.reported == 0:
            equal = abs(row.ours) <= row.precision / 2 + 1e-9
            return (
                "0 is compared with 0"
                if equal
                else "the reported number is 0, of which any difference is more than half"
            )
        return "more than half of the reported number would have been accepted"
    if row.verdict != "not reproducible here":
        return None
    if row.reported != row.reported:
        drawn = row.source == "read off a figure"
        return (
            "the paper draws it and states no number"
            if drawn
            else "the authors' own table has no value here"
        )
    if isinstance(row.why, str):
        return row.why
    if row.ours == row.ours:
        return "one replication has no Monte Carlo error to judge by"
    known = {row.column, column} & set(computed)
    return reasons.get(row.column, reasons.get(column)) or (
        "not part of this run" if known else "this experiment does not compute it"
    )


def _accepted(frame, spread):
    """The largest |ours - reported| that agrees; `spread` is the standard error of the difference, 0 where only equality does.
    Without an error of ours it is equality as well."""
    a2, b2 = frame["plus_minus"].fillna(0.0) ** 2, frame["error"].fillna(0.0) ** 2
    dof_a, dof_b = frame["reported_reps"].fillna(np.inf) - 1, frame["reps"].fillna(np.inf) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        dof = (a2 + b2) ** 2 / (a2**2 / dof_a + b2**2 / dof_b)
    allowed = stdtrit(np.clip(dof.fillna(1e6), 1.0, 1e6), 1 - DIFFERS_BELOW / 2) * spread
    return np.maximum(_equal(frame), allowed.where(frame["error"].notna(), 0.0))


def _power(frame, accepted):
    """What is accepted relative to the reported number, to three digits: the 1e-9 of `_equal` makes 0.5 no more than half."""
    with np.errstate(divide="ignore"):
        return (accepted / frame["reported"].abs()).map(lambda share: float(f"{share:.3g}"))


def _equal(frame):
    return frame["precision"].fillna(0.0) / 2 + 1e-9


def _verdicts(frame, accepted):
    size = frame["difference"].abs()
    none, one_rep = frame["ours"].isna() | frame["reported"].isna(), frame["error"].isna()
    worthless = _power(frame, accepted) > LARGEST_POWER
    equal = size <= _equal(frame)
    return np.select(
        [none, one_rep & ~equal, worthless & (size <= accepted), equal, size <= accepted],
        ["not reproducible here", "not reproducible here", "no test", "identical", "within error"],
        "differs",
    )


def _verdicts_of_claims(frame):
    above = frame["unit"].eq("above")
    holds = (frame["low"] > frame["reported"]).where(above, frame["high"] < frame["reported"])
    fails = (frame["high"] <= frame["reported"]).where(above, frame["low"] >= frame["reported"])
    return np.select(
        [frame["ours"].isna(), holds, fails],
        ["not reproducible here", "holds", "fails"],
        "undecided",
    )


def counts(compared) -> dict[str, int]:
    """Number of rows per verdict, in the order of VERDICTS."""
    found = compared["verdict"].value_counts()
    return {verdict: int(found.get(verdict, 0)) for verdict in VERDICTS}


def counts_by_source(compared) -> dict[str, dict[str, int]]:
    """{source: {verdict: number of rows}}, in the orders of SOURCES and VERDICTS, of what there is."""
    found = {source: counts(compared[compared["source"].eq(source)]) for source in SOURCES}
    kept = {
        source: {verdict: count for verdict, count in held.items() if count}
        for source, held in found.items()
    }
    return {source: held for source, held in kept.items() if held}


def said(verdicts) -> str:
    """{verdict: count} as a text.

    Examples
    --------
    >>> said({"identical": 12, "differs": 3, "no test": 0})
    '12 identical, 3 differ'
    """
    many = {"differs": "differ", "holds": "hold", "fails": "fail"}
    return ", ".join(
        f"{n:,} {many.get(verdict, verdict) if n > 1 else verdict}"
        for verdict, n in verdicts.items()
        if n
    )


def save(compared, experiment: str, folder: Path) -> list[Path]:
    """Write the rows of this experiment beside those of the paper's other experiments; returns the files written.

    reproduction.csv            the rows, of which `cells` and `of` say which cells our number is made of
    reproduction_runs.csv       those of authors' single runs (items *_runs)
    reproduction_cells.parquet  experiment, item, row, column, key: the cells of every number, to be joined with the records
    """
    single = compared["item"].str.contains("_runs")
    files = {"reproduction.csv": compared[~single], "reproduction_runs.csv": compared[single]}
    written = [
        _replace_rows(rows, experiment, folder / name) for name, rows in files.items() if len(rows)
    ]
    cells = (
        compared[[*KEY, "keys"]]
        .explode("keys")
        .dropna(subset="keys")
        .rename(columns={"keys": "key"})
    )
    return (
        [*written, _replace_rows(cells, experiment, folder / "reproduction_cells.parquet")]
        if len(cells)
        else written
    )


def _replace_rows(rows, experiment, path):
    """Put the rows in the place of those that the file has of this experiment."""
    as_csv = path.suffix == ".csv"
    rows = rows[[name for name in rows if name != "keys"]]
    rows = rows.assign(experiment=experiment)[["experiment", *rows]]
    if path.is_file():
        others = pd.read_csv(path) if as_csv else pd.read_parquet(path)
        others = others.reindex(columns=list(rows))[others["experiment"] != experiment]
        rows = pd.concat([others, rows], ignore_index=True) if len(others) else rows
    rows = rows.sort_values(["experiment"], kind="stable")
    with whole_file(path) as temporary:
        if as_csv:
            write_csv(rows, temporary)
        else:
            rows.to_parquet(temporary, index=False)
    return path
