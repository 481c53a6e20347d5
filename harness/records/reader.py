"""Records, read by DuckDB.

Every reader sees two views: `r`, all rows of all parts, and `cells`, one row of every cell with the
status and the time of the attempt that counts.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from harness.common import buckets
from harness.common.writing import SMALLEST, stated_error
from harness.errors import BadInputError
from harness.records import parts
from harness.records.schema import COLUMNS, FORMER, TRUTHS, dtype
from harness.records.truths import read_truths

ORDER = ("problem", "notion", "n", "rep", "estimator", "estimand", "key")  # of rows
UNIQUE = ("diagnostics",)  # texts that hardly repeat
SAMPLED_BYTES = 8 * 2**20  # of parts, above which times are those of a sample of the cells
T = TypeVar("T")
Columns = dict[str, NDArray[Any]]
Texts = dict[str, list[str]]

# The attempt that counts: ok and undefined before skipped and failed, these before interrupted; of
# equally good ones the latest. Rows of a cell that were written at the same time are one attempt,
# and one number makes it ok.
_CELLS = """create view cells as
    select key, estimator,
           coalesce(greatest(ok, undefined), greatest(skipped, failed), interrupted) as written,
           case written when ok then 'ok' when undefined then 'undefined' when skipped then 'skipped'
                when failed then 'failed' else 'interrupted' end as status
    from (select key, any_value(estimator) as estimator,
                 max(written) filter (status = 'ok') as ok,
                 max(written) filter (status = 'undefined') as undefined,
                 max(written) filter (status = 'skipped') as skipped,
                 max(written) filter (status = 'failed') as failed,
                 max(written) as interrupted
          from r group by key)"""
_SQL = {"str": "varchar", "int": "bigint", "float": "double"}
_EMPTY = ", ".join(
    f"null::{_SQL[kind]} as {name}"
    for name, kind in (COLUMNS | dict.fromkeys(FORMER, "str")).items()
)
_NAMES = {name: name for name in COLUMNS} | {
    name: f"coalesce({name}, {former}) as {name}" for former, name in FORMER.items()
}


def read(
    source: Path | list[Path],
    use: Callable[[duckdb.DuckDBPyConnection], T],
    where: str = "true",
    keys: pa.Array | None = None,
) -> T | None:
    """Return what `use` makes of the records of a results folder, or of these parts.

    `where` is a condition on the rows; with `keys`, only rows of these cells are there. Returns
    None if there are no parts. Parts that were joined in the meantime are looked for again.

    Raises
    ------
    BadInputError
        If a part cannot be read or is not as it was written; it is named.
    """
    deadline = time.monotonic() + parts.RACE_SECONDS
    while True:
        files = source if isinstance(source, list) else parts.part_files(source)
        if not files:
            return None
        try:
            for file in files:
                if reason := parts.broken_reason(file):
                    raise parts.unreadable(file, reason)
            with _opened(files, where, keys) as connection:
                return use(connection)
        except (duckdb.Error, OSError, BadInputError) as error:
            gone = any(not file.is_file() for file in files)
            if gone and not isinstance(source, list) and time.monotonic() < deadline:
                continue
            if isinstance(error, BadInputError):
                raise
            for file in files:
                if reason := parts.broken_reason(file):
                    raise parts.unreadable(file, reason) from error
            raise


def _opened(files: list[Path], where: str, keys: pa.Array | None) -> duckdb.DuckDBPyConnection:
    """Return a connection with the views r and cells, and `every`, r without its conditions.

    The empty row source gives every column its type, and parts of before the columns they lack.
    """
    connection = duckdb.connect(config={"threads": 1})  # of two, the second saved no time
    if keys is not None:
        connection.register("wanted", pa.table({"key": keys}))
        where = f"({where}) and key in (select key from wanted)"
    listed = ", ".join(quoted(str(file)) for file in files)
    connection.execute(
        f"""create view every as select {", ".join(_NAMES.values())} from (
            select {_EMPTY} where false
            union all by name select * from read_parquet([{listed}], union_by_name = true))"""
    )
    connection.execute(f"create view r as select * from every where {where}")
    connection.execute(_CELLS)
    return connection


def quoted(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def of_run(run_id: str | None) -> str:
    """Return the condition on rows of one run; of None, no condition."""
    return "true" if run_id is None else f"run_id = {quoted(run_id)}"


def query(
    source: Path | list[Path], sql: str, given: Iterable[Any] = (), where: str = "true"
) -> list[Any]:
    """Return the rows that SQL gives over the views r and cells, [] if there are no parts."""
    rows = read(source, lambda opened: opened.execute(sql, [*given]).fetchall(), where)
    return rows or []


def cell_states(out: Path, run_id: str | None = None) -> dict[str, str]:
    """Return {key: status} of every recorded cell; with `run_id` by that run's records alone."""
    return dict(query(out, "select key, status from cells", where=of_run(run_id)))


def failures(out: Path, run_id: str, alone: bool) -> int:
    """Return the number of cells of `run_id` that failed and that no other attempt has fixed.

    With `alone`, only attempts of this run count.
    """
    sql = """select count(*) from cells where status = 'failed'
             and key in (select key from r where run_id = ? and status = 'failed')"""
    rows = query(out, sql, [run_id], of_run(run_id if alone else None))
    return int(rows[0][0]) if rows else 0


def first_failure(out: Path, run_id: str) -> str:
    """Return the reason of the first cell that failed in a run."""
    sql = "select arg_min(reason, written) from r where status = 'failed'"
    return str(query(out, sql, where=of_run(run_id))[0][0])


def latest(out: Path) -> float:
    """Return the time of the latest record, 0 without any."""
    rows = query(out, "select max(written) from r")
    return float(rows[0][0] or 0.0) if rows else 0.0


def seconds_per_cell(out: Path) -> list[tuple[Any, ...]]:
    """Return (estimator, its key, problem key, notion, n, median CPU seconds of a finished cell).

    Estimates of time rest on them. Of many records a part of the cells is looked at.
    """
    size = sum(file.stat().st_size for file in parts.part_files(out) if file.is_file())
    sql = f"""select estimator, estimator_key, problem_key, notion, n, median(s) from
              (select key, any_value(estimator) as estimator, any_value(estimator_key) as
               estimator_key, any_value(problem_key) as problem_key, any_value(notion) as notion,
               any_value(n) as n, max(cpu_seconds) as s from r
               where status in ('ok', 'undefined') and hash(key) % {1 + size // SAMPLED_BYTES} = 0
               group by key) group by all"""
    return query(out, sql)


def status_counts(out: Path) -> list[tuple[str, str, int]]:
    """Return (estimator, status, number of cells)."""
    return query(out, "select estimator, status, count(*) from cells group by all order by all")


def estimated(
    out: Path, problem_keys: list[str], estimator_keys: list[str]
) -> list[tuple[str, str, str]]:
    """Return (problem key, notion, estimand) of what these estimators gave on these problems."""
    if not problem_keys:
        return []
    sql = """select distinct problem_key, notion, estimand from r where estimand is not null
             and list_contains(?, problem_key) and list_contains(?, estimator_key) order by all"""
    return query(out, sql, [problem_keys, estimator_keys])


def empty_frame() -> pd.DataFrame:
    """Return what `load_records` gives where nothing is recorded."""
    kinds = COLUMNS | dict.fromkeys(TRUTHS, "float")
    return pd.DataFrame({name: pd.Series(dtype=dtype(kind)) for name, kind in kinds.items()})


def keys_of(keys: Iterable[str]) -> pa.Array:
    """Return keys for `load_records`, each once."""
    return pc.unique(pa.array(keys, pa.string()))


def load_records(
    path: Path | str,
    keys: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    categories: bool = True,
) -> pd.DataFrame:
    """Load all records below `path`: a results folder, its records/ folder, or one Parquet file.

    One row per estimate, or per cell without one. Of a cell that was tried several times the best
    attempt is taken (ok before skipped and failed before interrupted; then the latest). `truth` and
    `truth_error` are joined from the stored truths (NaN where none is known).

    Parameters
    ----------
    path : path
        Where the records are.
    keys : iterable of str, optional
        Keys of the cells that are wanted; all by default.
    columns : iterable of str, optional
        The columns that are wanted, in this order; all by default. The others take no memory.
    categories : bool
        True: texts that repeat are categories in alphabetical order. False: they are objects.

    Raises
    ------
    BadInputError
        If there is no such path or column, or a part cannot be read.
    """
    path = buckets.folder_of(str(path)) if buckets.is_address(path) else Path(path)
    if not path.exists():
        raise BadInputError(
            f"path is {path}, which does not exist; give a results folder or a Parquet file of records."
        )
    known = [*COLUMNS, *TRUTHS]
    given = known if columns is None else [columns] if isinstance(columns, str) else columns
    names = list(dict.fromkeys(given))
    if unknown := [name for name in names if name not in known]:
        raise BadInputError(
            f"columns holds {unknown[0]!r}, which records do not have; they have {', '.join(known)}."
        )
    out = path if path.is_dir() else path.parent.parent
    if path.is_dir() and path.name == "records":
        out = path.parent
    wanted = keys if keys is None or isinstance(keys, pa.Array) else keys_of(keys)
    source = [path] if path.is_file() else out
    held = read(source, lambda connection: _columns(connection, names), keys=wanted)
    return empty_frame()[names] if held is None else _frame(*held, out, names, categories)


def _columns(connection: duckdb.DuckDBPyConnection, names: list[str]) -> tuple[Columns, Texts]:
    """Return the rows of the attempts that count as columns of numbers.

    Those of texts are codes of the sorted texts that are returned beside them, -1 for none.
    """
    needed = {*names, *ORDER, *(("problem_key",) if {*names} & {*TRUTHS} else ())} & COLUMNS.keys()
    connection.execute(
        """create temp table chosen as select key, written,
           (row_number() over (order by key) - 1)::integer as cell from cells"""
    )
    texts = {name: _values(connection, name, "every") for name in needed if _is_coded(name)}
    sql = {name: _code(name, texts[name]) if name in texts else name for name in needed} | {
        "key": "cell"
    }
    texts["key"] = _values(connection, "key", "chosen") if "key" in names else []
    selected = ", ".join(f"{code} as {name}" for name, code in sql.items())
    size = connection.execute("select count(*) from every").fetchall()[0][0]
    relation = connection.sql(f"select {selected} from r join chosen using (key, written)")
    batches, end = pa.RecordBatchReader.from_stream(relation), 0
    held = {field.name: np.empty(size, field.type.to_pandas_dtype()) for field in batches.schema}
    for batch in batches:
        begin, end = end, end + batch.num_rows
        for name, column in held.items():
            column[begin:end] = batch[name].to_numpy(zero_copy_only=False)
    return {name: column[:end] for name, column in held.items()}, texts


def _frame(
    held: Columns, texts: Texts, out: Path, names: list[str], categories: bool
) -> pd.DataFrame:
    """Return the frame of `load_records`, made column by column: two copies would not fit."""
    rows = np.lexsort([_sortable(held[name], texts.get(name)) for name in reversed(ORDER)])
    cell, estimand = held["key"][rows], held["estimand"][rows]
    again = (cell[1:] == cell[:-1]) & (estimand[1:] == estimand[:-1])
    if again.any():  # a joined part and its sources are there at the same time
        rows = rows[np.r_[True, ~again]]
    del cell, estimand, again
    frame: dict[str, Any] = {}
    if {*names} & {*TRUTHS}:
        frame |= zip(TRUTHS, _truths(out, held, texts, rows), strict=True)
    for name in [*held]:
        column = held.pop(name)
        if name in names:
            column = column[rows]
            frame[name] = _texts(column, texts[name], categories) if name in texts else column
    return pd.DataFrame({name: frame.pop(name) for name in names}, copy=False)


def _sortable(column: NDArray[Any], values: list[str] | None) -> NDArray[Any]:
    """Return what a column is sorted by; cells without a text come last."""
    return np.where(column < 0, len(values), column) if values else column


def _is_coded(name: str) -> bool:
    return COLUMNS.get(name) == "str" and name not in ("key", *UNIQUE)


def _values(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> list[str]:
    """Return the texts of a column in alphabetical order; of a coded one, also make them a type."""
    distinct = f"select distinct {name} from {table} where {name} is not null order by 1"
    values: list[str] = connection.execute(distinct).fetchnumpy()[name].tolist()
    if values and _is_coded(name):
        connection.execute(f"create type {name}_text as enum ({distinct})")
    return values


def _code(name: str, values: list[str]) -> str:
    """Return SQL for the codes of a column, -1 where there is no text."""
    kind = "tinyint" if len(values) < 2**7 else "integer"
    return f"coalesce(enum_code({name}::{name}_text), -1)::{kind}" if values else f"(-1)::{kind}"


def _texts(codes: NDArray[Any], values: list[str], categories: bool) -> Any:
    """Return a column of texts as categories, or as objects of which equal ones are one."""
    used = np.flatnonzero(np.bincount(codes.astype(np.int64) + 1, minlength=len(values) + 1)[1:])
    if categories:
        place = np.full(len(values) + 1, -1, dtype=codes.dtype)
        place[used] = np.arange(len(used))
        index = pd.Index([values[code] for code in used], dtype=object)
        return pd.Categorical.from_codes(place[codes], categories=index)
    nothing = np.nan if len(used) else None  # as pandas reads texts, and a column without any
    return pd.Series(np.array([*values, nothing], dtype=object)[codes], dtype=object)


def _truths(
    out: Path, held: Columns, texts: Texts, rows: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the stored truths and their errors, NaN where none is known."""
    columns = [(texts[name], held[name]) for name in ("problem_key", "notion", "estimand")]
    sizes = [len(values) + 1 for values, _ in columns]
    place = np.zeros(len(rows), dtype=np.int64)
    for size, (_, codes) in zip(sizes, columns):
        place *= size
        place += codes[rows]
        place += 1
    truths = np.full((2, np.prod(sizes)), np.nan)
    used = np.flatnonzero(np.bincount(place))
    stored: dict[str, dict[str, Any]] = {}
    for at, triple in zip(used, zip(*np.unravel_index(used, sizes))):
        problem, notion, estimand = (
            values[code - 1] if code else "" for code, (values, _) in zip(triple, columns)
        )
        if problem not in stored:
            stored[problem] = read_truths(out, problem)
        if truth := stored[problem].get(f"{notion}|{estimand}"):
            truths[:, at] = float(truth[0]), stated_error(float(truth[1]))
    return truths[0][place], truths[1][place]


def digest_of(frame: pd.DataFrame, texts: Iterable[str], numbers: Iterable[str]) -> str:
    """Return sixteen digits that identify the rows by these columns, in whatever order they are.

    Numbers count to eight digits: at twelve, one of so many would differ between processors.
    """
    columns: dict[str, Any] = {}
    for name in texts:
        column = frame[name]
        if not isinstance(column.dtype, pd.CategoricalDtype):
            column = column.fillna("").astype(str)
        elif column.isna().any():
            column = column.cat.add_categories([""]).fillna("")
        columns[name] = column
    for name in numbers:
        columns[name] = _rounded(frame[name].to_numpy(dtype=float))
    hashes = np.sort(
        pd.util.hash_pandas_object(pd.DataFrame(columns, copy=False), index=False).to_numpy()
    )
    return hashlib.blake2b(hashes.tobytes().hex().encode(), digest_size=8).hexdigest()


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values to eight significant digits, 0 below 1e-12 and -inf for none."""
    values = np.where(np.abs(values) < SMALLEST, 0.0, values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place = 10.0 ** (7 - np.floor(np.log10(np.where(values != 0.0, np.abs(values), 1.0))))
        rounded = np.round(values * place) / place
    return np.where(np.isnan(rounded), -np.inf, rounded)
