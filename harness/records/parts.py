"""Parts: records as they are written, and what is wrong with a part that is not as it was written.

A part's name ends in a digest of its bytes, with which every reader compares. Page checksums of
Parquet would not do: they cover no footer. Of 1,000 flipped bits in a part of 231 kB one gave other
numbers without an error, of 1,000 in a part of 9 kB fifteen; the digest caught all.
Parts without a digest in the name are by earlier versions, or by somebody else: their content is
looked at instead.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.common import buckets
from harness.common.escaping import escape
from harness.errors import BadInputError, system_sentence
from harness.records.schema import COLUMNS, FORMER, LATER, STATUSES, schema

OF_A_ROW = (  # the other columns are of a cell
    "estimand", "value", "low", "high", "level", "kind", "diagnostics", "status", "reason",
)  # fmt: skip
NEVER_NULL = (
    "key", "problem", "problem_key", "notion", "n", "rep", "estimator", "estimator_key", "seed",
    "status", "run_id", "written",
)  # fmt: skip
KEY = re.compile(r"\w[\w.-]*")  # a problem's key becomes the name of a file
RACE_SECONDS = 60.0  # how long a reader lists parts anew while other processes join them


class Part:
    """Rows gathered in memory and written as one part.

    `after` is the time of what these rows replace: the clock may have been set back since.
    """

    def __init__(self, out: Path, after: float = 0.0):
        self.out, self.after = Path(out), after
        self.cells: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []
        self.of: list[int] = []  # the cell of each row
        self.since = time.monotonic()

    def add(self, common: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Add the rows of one attempt at a cell: OF_A_ROW, and `common`, the columns they share."""
        self.of += [len(self.cells)] * len(rows)
        self.cells.append({**common, "written": max(time.time(), self.after + 1e-3)})
        self.rows += rows

    def write(self) -> None:
        """Write what was added as one part, if anything, and start anew."""
        if not self.rows:
            return
        kinds, repeated = schema(), pa.array(self.of, pa.int32())
        columns = {}
        for name in COLUMNS:
            kind = kinds.field(name).type
            if name in OF_A_ROW:
                columns[name] = pa.array([_safe(row.get(name)) for row in self.rows], kind)
            else:
                column = pa.array([cell.get(name) for cell in self.cells], kind)
                columns[name] = column.take(repeated)
        write_table(self.out, pa.table(columns, schema=kinds))
        self.cells, self.rows, self.of, self.since = [], [], [], time.monotonic()


def _safe(value: Any) -> Any:
    return escape(value) if isinstance(value, str) else value


def write_table(out: Path, table: pa.Table) -> None:
    """Write one part: temporary file, fsync, rename to a random name that ends in its digest."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    with buckets.scratch(out) as temporary:
        temporary.write_bytes(buffer.getvalue())
        put(temporary, out)


def put(temporary: Path, out: Path) -> None:
    """Make a written file a part of a folder of results."""
    buckets.put(temporary, out, f"records/part-{os.urandom(8).hex()}-{_digest(temporary)}.parquet")


def part_files(out: Path) -> list[Path]:
    """Return the files that hold records, in the order of their names.

    They are listed until none has gone in between: while parts are joined, one listing could miss
    both the new part and its sources.
    """
    deadline = time.monotonic() + RACE_SECONDS
    files: set[Path] | None = None
    while True:
        before = files
        try:
            files = set(buckets.paths(out, "records", "part-*.parquet"))
        except FileNotFoundError:
            if time.monotonic() > deadline:
                raise
            continue
        if before is not None and (before <= files or time.monotonic() > deadline):
            return sorted(files)


def unreadable(path: Path, reason: str) -> BadInputError:
    """Return the error that names a broken part."""
    return BadInputError(
        f"{buckets.shown(path)} is not a readable record part ({reason}); nothing was changed: "
        "`calharness doctor` lists all such files, `calharness doctor --repair` moves them aside, "
        "and their cells are computed again."
    )


_sound: set[tuple[Path, int, int]] = set()  # parts that this process has looked at


def broken_reason(path: Path) -> str | None:
    """Return why a part cannot be read or is not as it was written, or None."""
    try:
        state = path.stat()
        known = (path, state.st_mtime_ns, state.st_size)
        if known in _sound:
            return None
        digest = re.fullmatch(r"part-[0-9a-f]{16}-([0-9a-f]{16})\.parquet", path.name)
        if digest and path.is_file():
            wrong = _digest(path) != digest[1]
            reason = "its bytes are not those that were written" if wrong else None
        else:
            reason = _content_reason(path)
    except OSError as error:
        return system_sentence(error).rstrip(".")
    if reason is None:
        _sound.add(known)
    return reason


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def _content_reason(path: Path) -> str | None:
    """Return what a part holds that no record does, or None."""
    if not path.is_file():
        return "it is no file"
    try:
        with pq.ParquetFile(path) as file:
            names = [FORMER.get(name, name) for name in file.schema_arrow.names]
            if missing := [name for name in COLUMNS if name not in (*names, *LATER)]:
                return f"columns {', '.join(missing)} are missing"
            groups = [
                _rows_reason(file.read_row_group(at).rename_columns(names))
                for at in range(file.num_row_groups)
            ]
        return next(filter(None, groups), None)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


def _rows_reason(rows: pa.Table) -> str | None:
    """Return what is wrong with rows of a part, or None."""
    try:
        columns = {
            field.name: rows[field.name].cast(field.type)
            for field in schema()
            if field.name in rows.column_names
        }
    except Exception as error:
        return f"columns of other types: {str(error).splitlines()[0][:120]}"
    for name in NEVER_NULL:
        if columns[name].null_count:
            return f"{columns[name].null_count:,} rows have no {name}"
    for name, fits in (("status", STATUSES.__contains__), ("problem_key", KEY.fullmatch)):
        unknown = [text for text in columns[name].unique().to_pylist() if not fits(text)]
        if unknown:
            return f"the {name} {unknown[0]!r} is unknown"
    return None
