"""Paper against ours: every reported number with ours beside it and a verdict.

experiments/<paper>/reported.csv (and reported_runs.parquet, for authors' per-run values) are typed data with the columns
item, row, column, value, unit, plus_minus (standard error), reps, precision (1 unit of the last printed digit; 0 = full).

verdict
    identical               |ours - reported| <= precision / 2 + 1e-9
    within error            |difference| <= t * sqrt(plus_minus^2 + error^2), t the two-sided 0.1 % quantile of Student's t with
                            Welch's degrees of freedom: one in a thousand true reproductions is called different
                            (never given where both sides are of the same random draws: there only equality agrees)
    differs                 otherwise
    not reproducible here   we have no number, or one of something else (other data, other hardware), or one replication and so
                            no error to judge by; the reason is given
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from harness.common.paths import EXPERIMENTS
from harness.common.writing import whole_file
from harness.errors import BadInputError

KEY = ["item", "row", "column"]
COLUMNS = [*KEY, "unit", "reported", "plus_minus", "ours", "error", "reps", "difference", "z", "verdict", "reason", "cells", "of"]
NUMBERS = ["value", "plus_minus", "reps", "precision"]  # columns of reported.csv
DIFFERS_BELOW = 0.001  # the two-sided probability, under equality, of a difference that is called one
TRUTH = "True value"


def reported(paper: str, items):
    """The reported numbers of these items."""
    import pandas as pd

    folder = EXPERIMENTS / paper
    frames = [_read(folder / "reported.csv", pd.read_csv)]
    runs = folder / "reported_runs.parquet"
    if runs.is_file():
        frames.append(_read(runs, lambda path: pd.read_parquet(path, filters=[("item", "in", list(items))])))
    frames = [frame[frame["item"].isin(list(items))] for frame in frames]
    frame = pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)
    absent = set(items) - set(frame["item"])
    if absent:
        raise BadInputError(f"compare is {', '.join(sorted(absent))}, of which {paper}'s reported numbers hold nothing.")
    return frame


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
    absent = [name for name in (*KEY, *NUMBERS, "unit") if name not in frame]
    if absent:
        raise BadInputError(f"{path} lacks the column{'s' if len(absent) > 1 else ''} {', '.join(absent)}; {mend}.")
    texts = [name for name in NUMBERS if frame[name].dtype.kind not in "fiu"]
    if texts and len(frame):
        wrong = next(value for value in frame[texts[0]] if not _is_number(value))
        raise BadInputError(f"{path} holds {wrong!r} in the column {texts[0]}, where numbers belong; {mend}.")
    twice = frame.duplicated(KEY)
    if twice.any():
        raise BadInputError(f"{path} holds {frame.loc[twice, KEY].iloc[0].tolist()} twice; {mend}.")
    return frame


def _is_number(value):
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def compare(ours, paper: str, items, reasons=None, computed=(), same_draws_as_paper=False, records=None):
    """Put our numbers beside the reported ones and judge them.

    Parameters
    ----------
    ours : DataFrame
        Columns item, row, column, value, error, reps, and, where needed, why and keys (harness.report.items makes them). `why`
        in a row without a value is the reason that there is none. In a row with a value it says that our number is of something
        else than the reported one (other data, other hardware), for which reason it is shown without a verdict. `keys` are those
        of the cells that the number is made of.
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
        COLUMNS, one row per reported number, and `keys`. `cells` is the number of cells that ours is made of and `of` names them:
        problem, notion, n and estimator, with a * for what differs between them.
    """
    frame = reported(paper, items).rename(columns={"value": "reported", "reps": "reported_reps"})
    twice = ours.duplicated(KEY)
    if twice.any():
        raise BadInputError(f"two of our numbers answer to {ours.loc[twice, KEY].iloc[0].tolist()}; the labels must be unique.")
    given = {name: ours[name] if name in ours else None for name in ("why", "keys")}
    frame = frame.merge(ours.rename(columns={"value": "ours"}).assign(**given), on=KEY, how="left", validate="one_to_one")
    frame = frame.astype({name: float for name in ("ours", "error", "reps")})  # also where there is no number at all
    frame["difference"] = frame["ours"] - frame["reported"]
    spread = np.hypot(frame["plus_minus"].fillna(0.0), frame["error"].fillna(0.0))
    frame["z"] = np.where((spread > 1e-12) & frame["error"].notna(), frame["difference"] / spread.where(spread > 0), np.nan)
    frame["verdict"] = _verdicts(frame, spread * (not same_draws_as_paper))
    frame.loc[frame["why"].notna(), ["verdict", "z"]] = ["not reproducible here", np.nan]
    frame["reason"] = [_reason(row, reasons or {}, computed, same_draws_as_paper) for row in frame.itertuples()]
    frame["keys"] = [tuple(keys) if isinstance(keys, (tuple, list)) else () for keys in frame["keys"]]
    frame["cells"] = [len(keys) for keys in frame["keys"]]
    frame["of"] = _names_of_cells(frame["keys"], records)
    return frame[[*COLUMNS, "keys"]]


def _names_of_cells(many_keys, records):
    """'beta_wavy | binary | n = 100 | binned15' of every tuple of keys of cells, with a * where the cells differ."""
    if records is None:
        return ""
    once = records.drop_duplicates("key").set_index("key")[["problem", "notion", "n", "estimator"]]
    names = dict(zip(once.index, once.itertuples(index=False, name=None)))
    said: dict[tuple, str] = {}
    for keys in dict.fromkeys(many_keys):
        held = [{str(part) for part in parts} for parts in zip(*(names[key] for key in keys if key in names))]
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
    if row.verdict == "differs" and same_draws_as_paper and row.reps != row.reported_reps:
        return f"their mean is over {row.reported_reps:g} runs, ours over {row.reps:g}"
    if row.verdict == "differs":
        return reasons.get(row.column)
    if row.verdict != "not reproducible here":
        return None
    if row.reported != row.reported:
        return "the authors' own table has no value here"
    if isinstance(row.why, str):
        return row.why
    if row.ours == row.ours:
        return "one replication has no Monte Carlo error to judge by"
    return reasons.get(row.column, "not part of this run" if row.column in computed else "this experiment does not compute it")


def _verdicts(frame, spread):
    from scipy.special import stdtrit

    a2, b2 = frame["plus_minus"].fillna(0.0) ** 2, frame["error"].fillna(0.0) ** 2
    dof_a, dof_b = frame["reported_reps"].fillna(np.inf) - 1, frame["reps"].fillna(np.inf) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        dof = (a2 + b2) ** 2 / (a2**2 / dof_a + b2**2 / dof_b)
    allowed = stdtrit(np.clip(dof.fillna(1e6), 1.0, 1e6), 1 - DIFFERS_BELOW / 2) * spread
    size = frame["difference"].abs()
    none, one_rep = frame["ours"].isna() | frame["reported"].isna(), frame["error"].isna()
    return np.select(
        [none, size <= frame["precision"] / 2 + 1e-9, one_rep, size <= allowed],
        ["not reproducible here", "identical", "not reproducible here", "within error"],
        "differs",
    )


def counts(compared) -> dict[str, int]:
    """Number of rows per verdict, in the order of the docstring."""
    order = ("identical", "within error", "differs", "not reproducible here")
    found = compared["verdict"].value_counts()
    return {verdict: int(found.get(verdict, 0)) for verdict in order}


def save(compared, experiment: str, folder: Path) -> list[Path]:
    """Write the rows of this experiment beside those of the paper's other experiments; returns the files written.

    reproduction.csv            the rows, of which `cells` and `of` say which cells our number is made of
    reproduction_runs.csv       those of authors' single runs (items *_runs)
    reproduction_cells.parquet  experiment, item, row, column, key: the cells of every number, to be joined with the records
    """
    single = compared["item"].str.contains("_runs")
    files = {"reproduction.csv": compared[~single], "reproduction_runs.csv": compared[single]}
    written = [_replace_rows(rows, experiment, folder / name) for name, rows in files.items() if len(rows)]
    cells = compared[[*KEY, "keys"]].explode("keys").dropna(subset="keys").rename(columns={"keys": "key"})
    return [*written, _replace_rows(cells, experiment, folder / "reproduction_cells.parquet")] if len(cells) else written


def _replace_rows(rows, experiment, path):
    """Put the rows in the place of those that the file has of this experiment."""
    import pandas as pd

    as_csv = path.suffix == ".csv"
    rows = rows[[name for name in rows if name != "keys"]]
    rows = rows.assign(experiment=experiment)[["experiment", *rows]]
    if path.is_file():
        others = pd.read_csv(path) if as_csv else pd.read_parquet(path)
        others = others[others["experiment"] != experiment]
        rows = pd.concat([others, rows], ignore_index=True) if len(others) else rows
    rows = rows.sort_values(["experiment"], kind="stable")
    with whole_file(path) as temporary:
        if as_csv:
            rows.to_csv(temporary, index=False, float_format="%.12g")
        else:
            rows.to_parquet(temporary, index=False)
    return path


def why_without(record) -> str:
    """Why a record holds no number: its status and the last line of its reason, whole."""
    said = last_line(record.reason)
    return f"{record.status}: {said}" if said else record.status


def last_line(reason) -> str:
    """The last line of a record's reason, which of a traceback is the message; nothing where there is none (None, NaN)."""
    lines = reason.strip().splitlines() if isinstance(reason, str) else []
    return lines[-1].strip() if lines else ""
