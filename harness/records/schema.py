"""Records: what every cell left behind. Append-only Parquet parts, one writer per part, any number of writers.

<out>/records/part-<random>-<digest>.parquet   one row per estimate; a cell without an estimate leaves one row that says why
<out>/truths/<problem key>.json       {"notion|estimand": [value, error, method], or null where the problem does not know it}
<out>/runs/<run id>.json              provenance

status: ok | skipped (outside the estimator's range) | failed (it raised) | undefined (no finite number for this sample) |
interrupted (the machine stopped first). Finished are ok, skipped and undefined; the others run again. Records from outside are
`imported`, or undefined; they stand beside those of a folder (harness.records.imported), not in it.

A part's name ends in a digest of its bytes, and whoever reads it compares: a bit that flipped on the disk is told, not believed.
Names of earlier versions have none. Parts that go while they are read, as `calharness doctor --compact` joins them, are looked
for again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.escaping import escape
from harness.common.writing import write_json
from harness.errors import BadInputError, system_sentence
from harness.math.estimands import has_truth
from harness.records import buckets

if TYPE_CHECKING:
    import pandas as pd

    from harness.plan.components import Component
    from harness.records.frames import Wanted

STATUSES = ("ok", "skipped", "undefined", "failed", "interrupted", "imported")
FINISHED = ("ok", "skipped", "undefined")
WITH_NUMBER = ("ok", "imported")  # the statuses of records that hold a number
COLUMNS = {
    "key": "str", "problem": "str", "problem_key": "str", "problem_parameters": "str", "notion": "str", "n": "int", "rep": "int",
    "estimator": "str", "estimator_key": "str", "estimator_parameters": "str", "seed": "int", "estimand": "str",
    "value": "float", "low": "float", "high": "float", "level": "float", "kind": "str", "diagnostics": "str",
    "status": "str", "reason": "str", "seconds": "float", "cpu_seconds": "float", "peak_mb": "float", "run_id": "str",
    "written": "float",
}  # fmt: skip
# of harness.evaluation, which summarises records; here, as a swept parameter that stands beside them must be told apart from them
SUMMARY_COLUMNS = [
    "problem", "notion", "n", "estimator", "estimand", "reps", "mean", "se", "sd", "truth", "truth_error", "bias", "rmse",
    "coverage", "low", "high", "kind", "status", "cells", "undefined", "reason", "cpu_seconds", "problem_key", "estimator_key",
]  # fmt: skip
OF_A_ROW = ("estimand", "value", "low", "high", "level", "kind", "diagnostics", "status", "reason")  # the others are of a cell
SAMPLED_BYTES = 8 * 2**20  # of parts, above which times are those of a sample of the cells
NEVER_NULL = (
    "key", "problem", "problem_key", "notion", "n", "rep", "estimator", "estimator_key", "seed", "status", "run_id", "written",
)  # fmt: skip
_KEY = re.compile(r"\w[\w.-]*")  # it becomes the name of a file
LATER = ("diagnostics",)  # columns that records of the first version lack
FORMER = {"diagnostics": "parts"}  # what earlier versions called a column
# of the attempts at a cell the best counts, of equally good ones the latest; within an attempt one number makes the cell ok
PREFERENCE = "case status when 'ok' then 0 when 'undefined' then 0 when 'skipped' then 1 when 'failed' then 1 else 2 end"
STATE = f"arg_min(status, ({PREFERENCE}, -written, status <> 'ok'))"


def schema() -> Any:
    """The Arrow schema of a part: COLUMNS, texts as dictionaries."""
    import pyarrow as pa

    kinds = {"str": pa.dictionary(pa.int32(), pa.string()), "int": pa.int64(), "float": pa.float64()}
    return pa.schema([(name, pa.string() if name == "key" else kinds[kind]) for name, kind in COLUMNS.items()])


class Part:
    """Rows gathered in memory and written as one file: temporary name, fsync, rename."""

    def __init__(self, out: Path, after: float = 0.0):
        self.after = after  # the time of what these rows replace: a clock may have been set back since
        self.folder = Path(out) / "records"
        self.cells: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []
        self.of: list[int] = []  # the cell of each row
        self.since = time.monotonic()

    def add(self, common: dict[str, Any], rows: list[dict[str, Any]], written: float | None = None) -> None:
        """Add the rows of one cell, the columns OF_A_ROW; `common` are the others, that they share. One call is one attempt."""
        stamp = max(time.time() if written is None else written, self.after + 1e-3)
        self.of += [len(self.cells)] * len(rows)
        self.cells.append({**common, "written": stamp})
        self.rows += [{name: _text(value) for name, value in row.items()} for row in rows]

    def write(self) -> None:
        """Write what was added as one part, if anything, and start anew."""
        if not self.rows:
            return
        import pyarrow as pa

        kinds, repeated = schema(), pa.array(self.of, pa.int32())
        columns = {}
        for name in COLUMNS:  # what rows share is made a column once for a cell
            own = name in OF_A_ROW
            made = pa.array([one.get(name) for one in (self.rows if own else self.cells)], kinds.field(name).type)
            columns[name] = made if own else made.take(repeated)
        write_table(self.folder, pa.table(columns, schema=kinds))
        self.cells, self.rows, self.of, self.since = [], [], [], time.monotonic()


def _text(value: Any) -> Any:
    """Escape a text; other values are returned as they are."""
    return escape(value) if isinstance(value, str) else value


def write_table(folder: Path, table: Any) -> None:
    """Write one part: temporary file, fsync, rename to a random name that ends in the digest of its bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    content = buffer.getvalue().to_pybytes()
    name = f"part-{uuid.uuid4().hex[:16]}-{_digest(content)}.parquet"
    temporary = folder / f".{name}.tmp"
    try:
        with open(temporary, "wb") as f:
            f.write(content)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, folder / name)
    except OSError as error:
        if not (isinstance(error, FileNotFoundError) and (folder / name).is_file()):  # NFS says so of a rename that it did twice
            error.filename, error.filename2 = os.fspath(folder / name), None  # the system names none where the disk is full
            raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    buckets.send(folder / name)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def put(temporary: Path) -> None:
    """Make a part of a file that is written: fsync, rename to a random name that ends in the digest of its bytes; sent to
    the store, if there is one."""
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    part = temporary.parent / f"part-{uuid.uuid4().hex[:16]}-{_digest_of(temporary)}.parquet"
    os.replace(temporary, part)
    buckets.send(part)


def changed_reason(path: Path) -> str | None:
    """Why the bytes of a part are not those that were written, or None. Without a digest in its name it was written by an
    earlier version or somebody else: its content is looked at instead."""
    told = re.fullmatch(r"part-[0-9a-f]{16}-([0-9a-f]{16})\.parquet", path.name)
    state = path.stat()
    if (path, state.st_mtime_ns, state.st_size) not in _sound:
        if told and _digest_of(path) != told[1]:
            return "its bytes are not those that were written"
        if not told and (reason := _content_reason(path)):
            return reason
        _sound.add((path, state.st_mtime_ns, state.st_size))
    return None


_sound: set[tuple[Path, int, int]] = set()  # parts that this process has compared


def part_files(out: Path) -> list[Path]:
    """The files that hold records, in the order of their names. They are listed until none has gone in between: while parts are
    joined, a single listing could miss both the new one and those that it is made of."""
    found: set[Path] = set()
    for look in range(LOOKS):
        before, found = found, set((Path(out) / "records").glob("part-*.parquet"))
        if look and before <= found:
            break
    return sorted(found)


DIGEST = "digest"  # the key of a file of truths that is none
LOOKS = 10  # times that parts are listed anew where some went in the meantime
_NEEDED = tuple(name for name in COLUMNS if name not in LATER)
_NAMES = f"""select coalesce(min(needed), 0), coalesce(list(distinct name) filter (name in {(*FORMER, *FORMER.values())}), [])
             from (select name, count(*) filter (name in {_NEEDED}) over (partition by file_name) needed
                   from parquet_schema([{{}}]))"""


def query(source: Path | list[Path], sql: str, fetch: Callable[[Any], Any] | None = None, connection: Any = None) -> Any:
    """What SQL gives over the rows of parts, as table r: of the folder of results `source`, or of these files. None where there
    are no files; `fetch` makes of DuckDB's result what is wanted, a list of tuples by default. A part that cannot be read, or is
    not as it was written, is named."""
    import duckdb

    connection = connection or duckdb.connect()
    for attempt in range(LOOKS):
        files = source if isinstance(source, list) else part_files(source)
        if not files:
            return None
        try:
            for file in files:
                if changed := changed_reason(file):
                    raise unreadable(file, changed)
            listed = ", ".join("'" + str(f).replace("'", "''") + "'" for f in files)
            needed, names = connection.execute(_NAMES.format(listed)).fetchone()
            if needed < len(_NEEDED):  # union_by_name would fill them up with nulls
                raise duckdb.InvalidInputException("columns are missing")
            columns = _present_columns(names)
            connection.execute(
                f"create or replace temp view r as select {columns} from read_parquet([{listed}], union_by_name = true)"
            )
            found = connection.execute(sql)
            return fetch(found) if fetch else found.fetchall()
        except (duckdb.Error, OSError) as error:
            if not isinstance(source, list) and attempt + 1 < LOOKS and any(not file.is_file() for file in files):
                continue
            for file in files:
                if reason := broken_reason(file):
                    raise unreadable(file, reason) from error
            raise
    return None


def unreadable(path: Path, reason: str) -> BadInputError:
    return BadInputError(
        f"{path} is not a readable record part ({reason}); nothing was changed: `calharness doctor` lists all such files, "
        f"`calharness doctor --repair` moves them aside, and their cells are computed again."
    )


def _present_columns(names: list[str]) -> str:
    """SQL for all columns of parts that have `names` among them, under the names of now."""
    renamed = {now: [name for name in (now, former) if name in names] for now, former in FORMER.items() if former in names}
    if not renamed:
        return "*"
    apart = ", ".join(name for found in renamed.values() for name in found)
    joined = ", ".join(f"coalesce({', '.join(found)}) as {now}" for now, found in renamed.items())
    return f"* exclude ({apart}), {joined}"


def broken_reason(path: Path) -> str | None:
    """Why a part cannot be read, or None."""
    try:
        return changed_reason(path) or _content_reason(path)
    except OSError as error:
        return system_sentence(error).rstrip(".")


def _content_reason(path: Path) -> str | None:
    """What a part holds that no record does, or None."""
    import pyarrow.parquet as pq

    if not path.is_file():
        return "it is no file"
    try:
        with pq.ParquetFile(path) as file:
            groups = [_rows_reason(file.read_row_group(group)) for group in range(file.num_row_groups)]
            return next(filter(None, groups), None) or (_rows_reason(file.schema_arrow.empty_table()) if not groups else None)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


def _rows_reason(found: Any) -> str | None:
    """What is wrong with rows of a part, or None."""
    names = found.column_names
    missing = [name for name in COLUMNS if name not in (*names, *LATER)]
    if missing:
        return f"columns {', '.join(missing)} are missing"
    try:
        rows = _complete(found).cast(schema())
    except Exception as error:
        return f"columns of other types: {str(error).splitlines()[0][:120]}"
    for name in NEVER_NULL:
        if rows[name].null_count:
            return f"{rows[name].null_count:,} rows have no {name}"
    for name, fits in (("status", STATUSES.__contains__), ("problem_key", _KEY.fullmatch)):
        unknown = [one for one in rows[name].unique().to_pylist() if not fits(one)]
        if unknown:
            return f"the {name} {unknown[0]!r} is unknown"
    return None


def cell_states(out: Path, run_id: str | None = None) -> dict[str, str]:
    """{key: status} of every recorded cell, by its best attempt (a cell with one number is ok, whatever its others are); with
    `run_id` of that run's records alone."""
    of_run = f"where run_id = '{run_id}'" if run_id else ""
    return dict(query(out, f"select key, {STATE} from r {of_run} group by key") or ())


def latest(out: Path) -> float:
    """The time of the latest record, 0 without any."""
    found = query(out, "select max(written) from r")
    return float(found[0][0] or 0.0) if found else 0.0


def first_failure(out: Path, run_id: str) -> str:
    """The reason of the first cell that failed in a run."""
    sql = f"select arg_min(reason, written) from r where run_id = '{run_id}' and status = 'failed'"
    return str(query(out, sql)[0][0])


def seconds_per_cell(out: Path) -> list[tuple[Any, ...]]:
    """[(estimator, its key, problem key, notion, n, median CPU seconds of a finished cell)]: what estimates of time rest on. Of
    many records a part of the cells is looked at."""
    share = 1 + sum(file.stat().st_size for file in part_files(out) if file.is_file()) // SAMPLED_BYTES
    sql = f"""select estimator, estimator_key, problem_key, notion, n, median(s) from
             (select key, any_value(estimator) estimator, any_value(estimator_key) estimator_key,
                     any_value(problem_key) problem_key, any_value(notion) notion, any_value(n) n, max(cpu_seconds) s
              from r where status in ('ok', 'undefined') and hash(key) % {share} = 0 group by key) group by all"""
    return query(out, sql) or []


def status_counts(out: Path) -> list[tuple[str, str, int]]:
    """[(estimator, status, cells)] over the best record of every cell."""
    sql = f"""select estimator, status, count(*) from
              (select key, any_value(estimator) estimator, {STATE} status from r group by key)
              group by all order by all"""
    return query(out, sql) or []


def load_records(
    path: Path | str, keys: Iterable[str] | Wanted | None = None, columns: Iterable[str] | None = None, categories: bool = True
) -> pd.DataFrame:
    """All records below `path` (a results folder, its records/ folder, or one Parquet file) as a DataFrame.

    One row per estimate, or per cell without one. Of a cell that was tried several times the best attempt is taken (ok before
    skipped and failed before interrupted; then the latest). `truth` and `truth_error` are joined from the stored truths
    (NaN where none is known).

    Parameters
    ----------
    path : path
        Where the records are.
    keys : iterable of str, optional
        Those of the cells that are wanted, or harness.records.frames.Wanted of them; all by default.
    columns : iterable of str, optional
        The columns that are wanted, in this order; all by default. The others are not kept in memory.
    categories : bool
        Whether texts that repeat are categories, in the order of the alphabet; else they are objects.

    Raises
    ------
    BadInputError
        If there is no such path or column, or a part cannot be read.
    """
    from harness.records.frames import TRUTHS, frame_of

    path = buckets.mirror(str(path)) if buckets.is_address(path) else Path(path)
    if not path.exists():
        raise BadInputError(f"path is {path}, which does not exist; give a results folder or a Parquet file of records.")
    known = [*COLUMNS, *TRUTHS]
    wanted = known if columns is None else list(dict.fromkeys([columns] if isinstance(columns, str) else columns))
    if unknown := [name for name in wanted if name not in known]:
        raise BadInputError(f"columns holds {unknown[0]!r}, which records do not have; they have {', '.join(known)}.")
    out = path.parent.parent if path.is_file() else path.parent if path.name == "records" else path
    return frame_of([path] if path.is_file() else out, out, keys, wanted, categories)


def has_number(records: pd.DataFrame) -> pd.Series:
    """Of every row whether it holds a number, computed or imported."""
    return records["status"].isin(WITH_NUMBER)


def empty_frame() -> pd.DataFrame:
    """What load_records gives where nothing is recorded."""
    import pandas as pd

    kinds = {**COLUMNS, "truth": "float", "truth_error": "float"}
    return pd.DataFrame({name: pd.Series(dtype=dtype(kind)) for name, kind in kinds.items()})


def dtype(kind: str) -> Any:
    return {"str": "object", "int": "int64", "float": "float64"}[kind]


def read_truths(out: Path, problem_key: str) -> dict[str, Any]:
    """{"notion|estimand": [value, error, method], or None where the problem does not know it} of one problem, empty if nothing is
    stored. Raises BadInputError on a broken file."""
    path = _of_truths(out, problem_key)
    if not path.is_file():
        return {}
    try:
        stored = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{path} is not valid JSON ({error}); delete it and the truths are computed again.") from error
    if reason := wrong_truths(stored):
        raise BadInputError(f"{path} {reason}; delete it and the truths are computed again.")
    return {pair: known for pair, known in stored.items() if pair != DIGEST}


def _of_truths(out: Path, problem_key: str) -> Path:
    """The file of a problem's truths. A key that would lead elsewhere, which only a foreign part has, is refused."""
    if not _KEY.fullmatch(problem_key):
        raise BadInputError(f"a record has the problem_key {problem_key!r}; letters and digits are needed.")
    return Path(out) / "truths" / f"{problem_key}.json"


def wrong_truths(stored: Any) -> str | None:
    """What is wrong with the content of a file of truths, or None. Files of earlier versions have no digest."""
    if not isinstance(stored, dict):
        return f"holds {'nothing' if stored is None else f'a {type(stored).__name__}'} and not truths by notion and estimand"
    truths = {pair: known for pair, known in stored.items() if pair != DIGEST}
    for pair, known in truths.items():
        numbers = isinstance(known, list) and len(known) == 3 and all(type(x) in (int, float) for x in known[:2])
        if known is not None and not numbers:
            return f"has {known!r} of {pair}, where value, error and method, or null, must stand"
    if DIGEST in stored and stored[DIGEST] != _truths_digest(truths):
        return "was changed after it was written"
    return None


def _truths_digest(truths: dict[str, Any]) -> str:
    return _digest(json.dumps(truths, sort_keys=True).encode())


def write_truths(out: Path, problem_key: str, truths: dict[str, Any]) -> None:
    """Replace the stored truths of a problem, with their digest."""
    plain = json.loads(json.dumps(truths))
    path = _of_truths(out, problem_key)
    write_json(path, {**plain, DIGEST: _truths_digest(plain)})
    buckets.send(path)


def missing_truths(out: Path, problem: Component, wanted: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of `wanted`, pairs (notion, estimand), of which nothing is stored though the problem could know them."""
    if not hasattr(problem.object, "truth"):
        return []
    stored = read_truths(out, problem.key)
    return [(notion, name) for notion, name in dict.fromkeys(wanted) if f"{notion}|{name}" not in stored and has_truth(name)]


def unknown_truths(out: Path, problem: Component, wanted: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those of `wanted`, pairs (notion, estimand), that a problem, a component, is to be asked. What it did not know
    before, which is stored as null, it is asked again: a later version may know it."""
    unknown = [tuple(pair.split("|")) for pair, known in read_truths(out, problem.key).items() if known is None]
    return [*missing_truths(out, problem, wanted), *(pair for pair in wanted if pair in unknown)]


def add_truths(out: Path, problem_key: str, new: dict[str, Any]) -> None:
    """Store truths, {"notion|estimand": [value, error, method] or None}, beside those that are there."""
    stored = read_truths(out, problem_key)
    if {**stored, **new} != stored:
        write_truths(out, problem_key, {**stored, **new})


def estimated(out: Path, problem_keys: list[str], estimator_keys: list[str]) -> list[tuple[str, str, str]]:
    """[(problem key, notion, estimand)] of what these estimators gave on these problems."""
    if not problem_keys:
        return []
    keys = [", ".join(f"'{key}'" for key in some) for some in (problem_keys, estimator_keys)]
    sql = f"""select distinct problem_key, notion, estimand from r
              where estimand is not null and problem_key in ({keys[0]}) and estimator_key in ({keys[1]}) order by all"""
    return query(out, sql) or []


def _complete(table: Any) -> Any:
    """The table with all columns in order, under the names of now; those that came later are empty."""
    import pyarrow as pa

    table = table.rename_columns(
        [next((now for now, former in FORMER.items() if former == name), name) for name in table.column_names]
    )
    for name in LATER:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, pa.string()))
    return table.select(list(COLUMNS))


def compact(out: Path) -> tuple[int, int]:
    """Join all readable parts into one; returns (parts before, rows). The old parts go only after the new one is in place."""
    from harness.records.compaction import join

    return join(part_files(out))
