"""Many small parts become few large ones, beside readers, writers and other drivers.

A joined part is in place before its sources go, so a record is always in at least one part; one
that is in two for a moment counts once. The process that joins leaves a note, so that a second one
leaves it to the first. The note of a process that died is ignored after a while, and if two join
the same parts nothing is lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from harness.common import buckets
from harness.errors import BadInputError
from harness.records import parts, reader, schema

MANY = 250  # parts, from which on they are joined by themselves
LARGE_MB = 32.0  # of a part that is left alone
SHARE = 100  # or one part in so many of all bytes, whichever is larger
ROWS = 100_000  # of a row group: what is in memory at once
STALE_SECONDS = 600.0
NOTE = ".joining"


def keep_few(out: Path) -> None:
    """Join small parts if parts are many. What cannot be joined (a full disk) stays as it is."""
    files = parts.part_files(out)
    if len(files) < MANY:
        return
    with suppress(OSError, BadInputError, pa.ArrowException), _noted(out) as note:
        if note is None:
            return
        sizes = {file: file.stat().st_size for file in files if file.is_file()}
        large = max(LARGE_MB * 2**20, sum(sizes.values()) / SHARE)
        group: list[Path] = []
        for file in sorted((file for file in sizes if sizes[file] < large), key=sizes.__getitem__):
            group.append(file)
            if sum(sizes[one] for one in group) >= large:
                join(out, group)
                group = []
                os.utime(note)
        join(out, group)


def compact(out: Path) -> tuple[int, int]:
    """Join all readable parts into one; return (number of parts before, rows)."""
    return join(out, parts.part_files(out))


def join(out: Path, files: list[Path]) -> tuple[int, int]:
    """Write the readable ones of these parts as one and delete them; return (how many, rows)."""
    good = [file for file in files if not parts.broken_reason(file)]
    if len(good) < 2:
        return len(good), 0

    def write(connection: duckdb.DuckDBPyConnection) -> int:
        kinds, rows = schema.schema(), 0
        batches = pa.RecordBatchReader.from_stream(connection.sql("select * from r"))
        with pq.ParquetWriter(temporary, kinds, compression="zstd") as writer:
            for batch in batches:
                writer.write_table(pa.table(batch).cast(kinds), ROWS)
                rows += batch.num_rows
        return rows

    with buckets.scratch(out) as temporary:
        rows = reader.read(good, write) or 0
        parts.put(temporary, out)
    for file in good:
        with suppress(FileNotFoundError):
            buckets.remove(out, f"records/{file.name}")
    return len(good), rows


@contextmanager
def _noted(out: Path) -> Iterator[Path | None]:
    """Leave a note to others that this process joins; None if another does."""
    note = Path(out) / "records" / NOTE
    note.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        if time.time() - note.stat().st_mtime > STALE_SECONDS:
            note.unlink()
    try:
        os.close(os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        yield None
        return
    try:
        yield note
    finally:
        note.unlink(missing_ok=True)
