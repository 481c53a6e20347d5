"""Read records with DuckDB.

Every query can use two views. `r` contains all rows of all parts. `cells` contains one row per
cell, with the status and the time of the attempt that counts.
"""

from __future__ import annotations

import os
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
from harness.common.reading import refuse_special
from harness.errors import BadInputError
from harness.records import parts
from harness.records.parameters import add_parameters
from harness.records.schema import COLUMNS, FORMER, TRUTHS, array_mappings, dtype
from harness.records.truths import read_table

ORDER = ("problem", "notion", "n", "rep", "estimator", "estimand", "key")  # columns to sort rows by
# Columns of texts that repeat. They are read as DuckDB enums, which become pandas categories.
ENUMS = tuple(name for name, kind in COLUMNS.items() if kind == "str" and name != "diagnostics")
SAMPLED_BYTES = 8 * 2**20  # size of all parts above which only times of some cells are read
T = TypeVar("T")

# Rows of a cell that were written at the same time form one attempt. Its status is ok if one of its
# rows has a number. The best attempt at a cell counts: ok and undefined are better than skipped and
# failed, and these are better than interrupted. Among equally good attempts, the latest counts.
_CELLS = """create view cells as
    select key, estimator, problem,
           coalesce(greatest(ok, undefined), greatest(skipped, failed), interrupted) as written,
           case written when ok then 'ok' when undefined then 'undefined'
                when skipped then 'skipped' when failed then 'failed'
                else 'interrupted' end as status
    from (select key, any_value(estimator) as estimator, any_value(problem) as problem,
                 max(written) filter (status = 'ok') as ok,
                 max(written) filter (status = 'undefined') as undefined,
                 max(written) filter (status = 'skipped') as skipped,
                 max(written) filter (status = 'failed') as failed,
                 max(written) as interrupted
          from r group by key)"""
_SQL = {
    "str": "varchar", "int": "bigint", "float": "double", "arrays": "map(varchar, double[])",
}  # fmt: skip
# Query without rows. It gives every column its type, and adds columns that old parts lack.
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
    """Open the records of a folder, call a function with the connection, and return its result.

    If another process joins parts in the meantime, the parts are listed again and the function is
    called again.

    Parameters
    ----------
    source : path or list of paths
        A folder of results, or a list of parts.
    use : callable
        Function that takes a DuckDB connection with the views `r` and `cells`.
    where : str
        Condition that rows must fulfil, as SQL.
    keys : pyarrow.Array, optional
        Keys of the wanted cells. By default, all cells are wanted.

    Returns
    -------
    object
        Result of `use`, or None if there are no parts.

    Raises
    ------
    BadInputError
        If a part cannot be read, or was changed after it was written. The message names the part.
    """
    deadline = time.monotonic() + parts.RACE_SECONDS
    while True:
        files = source if isinstance(source, list) else parts.part_files(source)
        if not files:
            return None
        try:
            parts.check_files(files)
            with _connect(files, where, keys) as connection:
                return use(connection)
        except (duckdb.Error, OSError, BadInputError) as error:
            gone = not all(map(os.path.lexists, files))
            if gone and not isinstance(source, list) and time.monotonic() < deadline:
                continue
            if not isinstance(error, BadInputError):
                parts.check_files(files)  # a part may have been damaged since the first check
            raise


def _connect(files: list[Path], where: str, keys: pa.Array | None) -> duckdb.DuckDBPyConnection:
    """Return a connection to these parts that has the views `r` and `cells`."""
    connection = duckdb.connect(config={"threads": 1})  # a second thread saved no time
    # DuckDB's progress bar, in interactive processes. In Jupyter without ipywidgets it shows none,
    # and refuses even to turn it off.
    if connection.execute("select current_setting('enable_progress_bar')").fetchall()[0][0]:
        connection.execute("set enable_progress_bar = false")
    if keys is not None:
        connection.register("wanted", pa.table({"key": keys}))
        where = f"({where}) and key in (select key from wanted)"
    names = ", ".join(quoted(str(file)) for file in files)
    connection.execute(
        f"""create view r as select {", ".join(_NAMES.values())} from (
            select {_EMPTY} where false
            union all by name select * from read_parquet([{names}], union_by_name = true))
            where {where}"""
    )
    connection.execute(_CELLS)
    return connection


def quoted(text: str) -> str:
    """Return a text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def run_condition(run_id: str | None) -> str:
    """Return the SQL condition for rows of a run. For None, return one that always holds."""
    return "true" if run_id is None else f"run_id = {quoted(run_id)}"


def query(
    source: Path | list[Path], sql: str, given: Iterable[Any] = (), where: str = "true"
) -> list[Any]:
    """Return the rows of an SQL query over the views `r` and `cells`, or [] without parts.

    `given` are the parameters of the query, and `where` is a condition that records must fulfil.
    """
    rows = read(source, lambda connection: connection.execute(sql, [*given]).fetchall(), where)
    return rows or []


def failures(out: Path, run_id: str, alone: bool) -> int:
    """Return the number of cells that failed in a run and have no better attempt in another run.

    With `alone`, attempts of other runs are ignored.
    """
    sql = """select count(*) from cells where status = 'failed'
             and key in (select key from r where run_id = ? and status = 'failed')"""
    rows = query(out, sql, [run_id], run_condition(run_id if alone else None))
    return int(rows[0][0]) if rows else 0


def first_failure(out: Path, run_id: str) -> str:
    """Return the reason of the cell that failed first in a run."""
    sql = "select arg_min(reason, written) from r where status = 'failed'"
    return str(query(out, sql, where=run_condition(run_id))[0][0])


def latest(out: Path) -> float:
    """Return the time of the latest record in seconds since 1970, or 0 without records."""
    rows = query(out, "select max(written) from r")
    return float(rows[0][0] or 0.0) if rows else 0.0


def seconds_per_cell(out: Path) -> list[tuple[Any, ...]]:
    """Return the median CPU seconds of finished cells, for each kind of cell.

    A row is (estimator key, problem key, notion, n, seconds). If there are many records, only a
    sample of the cells is read. Of two cells, the faster one counts: the other may have imported
    modules. Cells without seconds, such as copies of stored records, do not count.
    """
    size = sum(file.stat().st_size for file in parts.part_files(out) if file.is_file())
    sql = f"""select estimator_key, problem_key, notion, n, quantile_disc(s, 0.5) from
              (select key, any_value(estimator_key) as estimator_key, any_value(problem_key) as
               problem_key, any_value(notion) as notion, any_value(n) as n, max(cpu_seconds) as s
               from r
               where status in ('ok', 'undefined') and cpu_seconds is not null
               and hash(key) % {1 + size // SAMPLED_BYTES} = 0
               group by key) group by all"""
    return query(out, sql)


def status_counts(out: Path) -> list[tuple[str, str, str, int]]:
    """Return the numbers of cells, as (estimator, problem, status, number)."""
    sql = "select estimator, problem, status, count(*) from cells group by all order by all"
    return query(out, sql)


def recorded_counts(out: Path, run_ids: list[str]) -> list[tuple[str, str, str, int]]:
    """Return the numbers of cells that runs have recorded, skipped cells excluded.

    A row is (run id, estimator, problem, number).
    """
    sql = """select run_id, estimator, problem, count(distinct key) from r
             where list_contains(?, run_id) and status != 'skipped' group by all"""
    return query(out, sql, [run_ids]) if run_ids else []


def estimated(
    out: Path, problem_keys: list[str], estimator_keys: list[str]
) -> list[tuple[str, str, str]]:
    """Return all (problem key, notion, estimand) for which records have an estimate.

    Only records with these keys of problems and estimators count.
    """
    if not problem_keys:
        return []
    sql = """select distinct problem_key, notion, estimand from r where estimand is not null
             and list_contains(?, problem_key) and list_contains(?, estimator_key) order by all"""
    return query(out, sql, [problem_keys, estimator_keys])


def empty_frame() -> pd.DataFrame:
    """Return a frame with the columns of `load_records` and without rows."""
    kinds = COLUMNS | dict.fromkeys(TRUTHS, "float")
    return pd.DataFrame({name: pd.Series(dtype=dtype(kind)) for name, kind in kinds.items()})


def key_array(keys: Iterable[str]) -> pa.Array:
    """Return the distinct keys as an Arrow array, which `load_records` takes."""
    return pc.unique(pa.array(keys, pa.string()))


def load_records(
    path: Path | str,
    keys: Iterable[str] | None = None,
    columns: Iterable[str] | None = None,
    categories: bool = True,
) -> pd.DataFrame:
    """Load records as a DataFrame, with their truths.

    The frame has one row per estimate, or per cell without an estimate. If a cell was tried several
    times, the best attempt counts: ok and undefined are better than skipped and failed, and these
    are better than interrupted. Among equally good attempts, the latest counts. The columns `truth`
    and `truth_error` come from the stored truths, and are NaN where a truth is unknown. The column
    `arrays` has {name: array} for estimates with arrays, and None for others. If all columns are
    loaded, each parameter with several values for one id, as in a sweep, has a column of its own
    (`harness.records.parameters`).

    Parameters
    ----------
    path : path
        A results folder, its folder records/, one Parquet file, or the address of a bucket.
    keys : iterable of str, optional
        Keys of the wanted cells. By default, all cells are loaded.
    columns : iterable of str, optional
        Wanted columns, in this order. By default, all columns are loaded.
    categories : bool
        If True, texts that repeat are categories in alphabetical order. If False, they are objects.

    Raises
    ------
    BadInputError
        If there is no such path or column, or if a part cannot be read.
    """
    path = buckets.resolve_bucket(str(path)) if buckets.is_address(path) else Path(path)
    refuse_special(path)
    if not path.exists():
        raise BadInputError(
            f"path is {path}, which does not exist; give a results folder or a Parquet file of "
            "records."
        )
    known = [*COLUMNS, *TRUTHS]
    given = known if columns is None else [columns] if isinstance(columns, str) else columns
    names = list(dict.fromkeys(given))
    if unknown := [name for name in names if name not in known]:
        raise BadInputError(
            f"columns contains {unknown[0]!r}, which is not a column of records; choose among "
            f"{', '.join(known)}."
        )
    out = path if path.is_dir() else path.parent.parent
    if path.is_dir() and path.name == "records":
        out = path.parent
    frame = read(
        [path] if path.is_file() else out,
        lambda connection: _frame(connection, out, names, categories),
        keys=keys if keys is None or isinstance(keys, pa.Array) else key_array(keys),
    )
    if frame is None:
        return empty_frame()[names]
    return add_parameters(frame) if columns is None else frame


def _frame(
    connection: duckdb.DuckDBPyConnection, out: Path, names: list[str], categories: bool
) -> pd.DataFrame | None:
    """Return the rows of the attempts that count, with truths, sorted by ORDER.

    Return None if there are no rows. `names` are the wanted columns.
    """
    selected = {name: name for name in {*names, *ORDER, "problem_key"} & COLUMNS.keys()}
    for name in selected.keys() & {*ENUMS} - {"key"}:
        texts_sql = f"select distinct {name} from r where {name} is not null order by 1"
        connection.execute(f"create type {name}_text as enum ({texts_sql})")
        selected[name] = f"{name}::{name}_text"
    # Keys are replaced by numbers: an enum of 300,000 keys took 90 MB more and twice the time.
    connection.execute(
        """create temp table chosen as select key, written,
           (row_number() over (order by key) - 1)::integer as cell from cells"""
    )
    selected["key"] = "cell"
    listed = ", ".join(f"{sql} as {name}" for name, sql in selected.items())
    sql = f"select * from (select {listed} from r join chosen using (key, written))"
    if {*names} & {*TRUTHS}:
        problems = connection.execute("select distinct problem_key from r").fetchall()
        connection.register("truths", read_table(out, [problem for (problem,) in problems]))
        sql += " left join truths using (problem_key, notion, estimand)"
    columns, dtypes = _columns(connection, sql)
    if not columns:
        return None
    keys = connection.execute("select key from chosen order by cell").fetchnumpy()["key"]
    connection.close()  # frees memory, which the columns need
    # An absent text has the code -1. As an unsigned number it is the largest and sorts last.
    codes = [columns[name] for name in reversed(ORDER)]
    order = np.lexsort([c.astype("uint32") if c.dtype.itemsize < 8 else c for c in codes])
    del codes
    for name in list(columns):  # sort one column at a time, because two copies of all are too large
        columns[name] = columns[name].take(order)
    # While parts are being joined, both the new part and its sources contain the same rows.
    same = [columns[name][1:] == columns[name][:-1] for name in ("key", "estimand")]
    is_new = np.append(True, ~(same[0] & same[1]))
    frame: dict[str, Any] = {}
    for name in names:
        values = columns.pop(name)
        values = values if is_new.all() else values[is_new]
        if name in ENUMS:
            texts = pd.Index(keys if name == "key" else dtypes[name].categories, dtype=object)
            used = pd.Categorical.from_codes(values, texts).remove_unused_categories()
            frame[name] = used if categories else pd.Series(used, dtype=object)
        else:
            frame[name] = values
            if name == "diagnostics":
                frame[name] = pd.array(values, dtypes[name])
            elif name == "arrays":
                frame[name] = pd.Series(array_mappings(values), dtype=object)
    return pd.DataFrame(frame, copy=False)


def _columns(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the columns of a query as arrays, and their pandas dtypes; categories become codes.

    The columns are copied batch by batch, so that DuckDB can free each batch. A table of all
    batches would stay in memory until its last column is deleted.
    """
    total = connection.execute(f"select count(*) from ({sql})").fetchall()[0][0]
    columns: dict[str, NDArray[Any]] = {}
    dtypes: dict[str, Any] = {}
    start = 0
    for batch in pa.RecordBatchReader.from_stream(connection.sql(sql)):
        for name, column in zip(batch.schema.names, batch.columns):
            part = column.to_pandas()
            dtypes[name] = part.dtype
            is_coded = isinstance(part.dtype, pd.CategoricalDtype)
            values = part.cat.codes.to_numpy() if is_coded else part.to_numpy()
            target = columns.setdefault(name, np.empty(total, values.dtype))
            target[start : start + len(values)] = values
        start += batch.num_rows
    return columns, dtypes
