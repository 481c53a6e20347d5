"""Write parts, which are the Parquet files of records, and detect damaged ones.

The name of a part ends in a digest of its bytes, which every reader checks. The page checksums of
Parquet do not suffice, because they do not cover the footer. In a test, one bit of a part was
flipped, 1,000 times for each size of part. The table shows how many flips changed a number and were
not detected:

    size      without the digest    with the digest
    231 kB                     1                  0
    9 kB                      15                  0

Parts without a digest in their name were written by earlier versions or other programs. For these,
the columns, types, statuses and keys are checked instead.
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
from harness.common.reading import open_file, special_kind
from harness.errors import BadInputError, system_sentence
from harness.plan.cells import Cell
from harness.plan.components import Component
from harness.records.schema import COLUMNS, FORMER, LATER, STATUSES, schema

NEVER_NULL = (
    "key", "problem", "problem_key", "notion", "n", "rep", "estimator", "estimator_key", "seed",
    "status", "run_id", "written",
)  # fmt: skip
KEY = re.compile(r"\w[\w.-]*")  # allowed keys of problems, because a key becomes a file name
RACE_SECONDS = 60.0  # time for which a reader lists parts again while other processes join them


class Part:
    """Buffer of rows that will be written as one part.

    The times of the rows are always later than `after`. A row that replaces an earlier record
    thereby counts as newer, even if the clock has been set back.
    """

    def __init__(self, out: Path, after: float = 0.0):
        self.out, self.after = Path(out), after
        self.rows: list[dict[str, Any]] = []
        self.numbers = 0  # size of all arrays of the rows
        self.since = time.monotonic()

    def add(self, common: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Add the rows of one attempt at a cell. `common` contains the columns that they share."""
        shared = {**common, "written": max(time.time(), self.after + 1e-3)}
        self.rows += [{**shared, **_escaped(row)} for row in rows]
        self.numbers += sum(len(a) for row in rows for _, a in row.get("arrays") or ())

    def write(self) -> None:
        """Write the rows as one part, and empty the buffer. Without rows, do nothing."""
        if self.rows:
            write_table(self.out, pa.Table.from_pylist(self.rows, schema()))
            self.rows, self.numbers, self.since = [], 0, time.monotonic()


def _escaped(row: dict[str, Any]) -> dict[str, Any]:
    return {name: escape(value) if isinstance(value, str) else value for name, value in row.items()}


def write_table(out: Path, table: pa.Table) -> None:
    """Write a table as one part.

    It is written to a temporary file, which is then renamed to a name with its digest.
    """
    with buckets.scratch(out) as temporary:
        pq.write_table(table, temporary, compression="zstd")
        put(temporary, out)


def put(temporary: Path, out: Path) -> None:
    """Move a finished temporary file into a folder of results, as a part."""
    buckets.put(temporary, out, f"records/part-{os.urandom(8).hex()}-{_digest(temporary)}.parquet")


def part_files(out: Path) -> list[Path]:
    """Return the parts of a folder of results, sorted by name.

    While another process joins parts, a single listing could miss both the new part and its
    sources. The folder is therefore listed again until no part has disappeared in between.
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
    """Raise BadInputError if one of these parts is broken. The message names the first one."""
    for file in files:
        if reason := broken_reason(file):
            raise BadInputError(
                f"{buckets.display_name(file)} is not a readable record part ({reason}); "
                "`calharness doctor --repair` moves all such files aside, so that their cells are "
                "computed again."
            )


def broken_reason(path: Path) -> str | None:
    """Return the reason why a part cannot be used, or None if it is in order.

    A part cannot be used if it cannot be read, or if it was changed after it was written.
    """
    try:
        state = path.stat()
        return _broken_reason(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        return system_sentence(error).rstrip(".")


@functools.cache
def _broken_reason(path: Path, modified: int, size: int) -> str | None:
    digest = re.fullmatch(r"part-[0-9a-f]{16}-([0-9a-f]{16})\.parquet", path.name)
    if not path.is_file():
        return f"it is {special_kind(path) or 'a folder'}, not a file"
    if digest and _digest(path) != digest[1]:
        return "its bytes are not those that were written"
    try:
        return None if digest else _content_reason(path)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"


def _digest(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def _content_reason(path: Path) -> str | None:
    """Return the reason why the content of a file cannot be that of a part, or None.

    Raise an error if the file cannot be read.
    """
    stored = pq.read_schema(path).names
    names = {name: FORMER.get(name, name) for name in stored}
    if missing := [name for name in COLUMNS if name not in (*names.values(), *LATER)]:
        return f"columns {', '.join(missing)} are missing"
    known = [name for name in stored if names[name] in COLUMNS]
    with open_file(path) as content, pq.ParquetFile(content) as file:
        for batch in file.iter_batches(columns=known, use_threads=False):
            renamed = [names[name] for name in batch.schema.names]
            if reason := _rows_reason(pa.Table.from_batches([batch]).rename_columns(renamed)):
                return reason
    return None


def _rows_reason(rows: pa.Table) -> str | None:
    """Return the reason why a table cannot contain the rows of a part, or None."""
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


def record_columns(
    problem: Component, estimator: Component, cell: Cell, run_id: str
) -> dict[str, Any]:
    """Return {column: value} for the columns that all records of a cell share."""
    return {
        "key": cell.key, "problem": problem.id, "problem_key": problem.key,
        "problem_parameters": problem.parameters, "notion": cell.notion, "n": cell.n,
        "rep": cell.rep, "estimator": estimator.id, "estimator_key": estimator.key,
        "estimator_parameters": estimator.parameters, "seed": cell.seed, "run_id": run_id,
    }  # fmt: skip
