"""Parts: the files of records, and the checks that find a damaged one.

A part's name ends in a digest of its bytes, which every reader checks. Page checksums of Parquet
would not do, because they do not cover the footer: of 1,000 flipped bits in a part of 231 kB one
changed numbers without an error, and fifteen in a part of 9 kB; the digest caught all.
Parts without a digest in the name are from earlier versions or from elsewhere. Their columns,
types, statuses and keys are checked instead.
"""

from __future__ import annotations

import functools
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

NEVER_NULL = (
    "key", "problem", "problem_key", "notion", "n", "rep", "estimator", "estimator_key", "seed",
    "status", "run_id", "written",
)  # fmt: skip
KEY = re.compile(r"\w[\w.-]*")  # a problem's key becomes the name of a file
RACE_SECONDS = 60.0  # how long a reader lists parts again while other processes join them


class Part:
    """Rows that are gathered in memory and written as one part.

    `after`: time of the records that these rows replace. The clock may have been set back since.
    """

    def __init__(self, out: Path, after: float = 0.0):
        self.out, self.after = Path(out), after
        self.rows: list[dict[str, Any]] = []
        self.since = time.monotonic()

    def add(self, common: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Add the rows of one attempt at a cell. `common`: the columns that they share."""
        shared = {**common, "written": max(time.time(), self.after + 1e-3)}
        self.rows += [{**shared, **_escaped(row)} for row in rows]

    def write(self) -> None:
        """Write the rows as one part, if there are any, and start anew."""
        if self.rows:
            write_table(self.out, pa.Table.from_pylist(self.rows, schema()))
            self.rows, self.since = [], time.monotonic()


def _escaped(row: dict[str, Any]) -> dict[str, Any]:
    return {name: escape(value) if isinstance(value, str) else value for name, value in row.items()}


def write_table(out: Path, table: pa.Table) -> None:
    """Write a table as one part: temporary file, fsync, rename to a name with its digest."""
    with buckets.scratch(out) as temporary:
        pq.write_table(table, temporary, compression="zstd")
        put(temporary, out)


def put(temporary: Path, out: Path) -> None:
    """Move a written file into a folder of results, as a part."""
    buckets.put(temporary, out, f"records/part-{os.urandom(8).hex()}-{_digest(temporary)}.parquet")


def part_files(out: Path) -> list[Path]:
    """Return the parts of a folder, sorted by name.

    While parts are joined, one listing could miss both the new part and its sources. So the folder
    is listed again until no part has gone since the listing before.
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


def check_files(files: list[Path]) -> None:
    """Raise BadInputError for the first part that is broken; the message names it."""
    for file in files:
        if reason := broken_reason(file):
            raise BadInputError(
                f"{buckets.display_name(file)} is not a readable record part ({reason}); nothing "
                "was changed: `calharness doctor` lists all such files, `calharness doctor "
                "--repair` moves them aside, and their cells are computed again."
            )


def broken_reason(path: Path) -> str | None:
    """Return why a part cannot be read or was changed after it was written; None if it is sound."""
    try:
        state = path.stat()
        return _broken_reason(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        return system_sentence(error).rstrip(".")


@functools.cache
def _broken_reason(path: Path, modified: int, size: int) -> str | None:
    digest = re.fullmatch(r"part-[0-9a-f]{16}-([0-9a-f]{16})\.parquet", path.name)
    if digest and path.is_file():
        return None if _digest(path) == digest[1] else "its bytes are not those that were written"
    return _content_reason(path)


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def _content_reason(path: Path) -> str | None:
    """Return the reason why the content cannot be that of a part, or None."""
    if not path.is_file():
        return "it is no file"
    try:
        with pq.ParquetFile(path) as file:
            names = [FORMER.get(name, name) for name in file.schema_arrow.names]
            if missing := [name for name in COLUMNS if name not in (*names, *LATER)]:
                return f"columns {', '.join(missing)} are missing"
            groups = (file.read_row_group(group) for group in range(file.num_row_groups))
            reasons = (_rows_reason(rows.rename_columns(names)) for rows in groups)
            return next(filter(None, reasons), None)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


def _rows_reason(rows: pa.Table) -> str | None:
    """Return the reason why rows cannot be those of a part, or None."""
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
    for name, is_allowed in (("status", STATUSES.__contains__), ("problem_key", KEY.fullmatch)):
        unknown = [text for text in columns[name].unique().to_pylist() if not is_allowed(text)]
        if unknown:
            return f"the {name} {unknown[0]!r} is unknown"
    return None
