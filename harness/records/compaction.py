"""Join many small parts into few large ones, while other processes read and write.

A part is one Parquet file of records. A joined part is written before its sources are deleted. A
record is therefore always in at least one part, and readers count it once if it is in two. A file
in the folder keeps a second process from doing the same work. Nothing is lost if two processes join
the same parts, or if one of them dies.
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

MANY = 250  # number of parts from which on a run joins small ones
LARGE_MB = 32.0  # parts of at least this size are left alone
SHARE = 100  # parts with at least 1 / SHARE of all bytes are left alone too
ROWS = 100_000  # number of rows of a joined part that are in memory at once
# Age at which the file of another process is ignored. That process renews it within seconds.
STALE_SECONDS = 600.0
NOTE = ".joining"


def keep_few(out: Path) -> None:
    """Join small parts if there are many.

    If that fails, for example on a full disk, the parts stay as they are.
    """
    files = parts.part_files(out)
    if len(files) < MANY:
        return
    with suppress(OSError, BadInputError, pa.ArrowException), _note(out) as note:
        if note is None:
            return
        sizes = {file: file.stat().st_size for file in files if file.is_file()}
        large = max(LARGE_MB * 2**20, sum(sizes.values()) / SHARE)
        group: list[Path] = []
        for file in sorted((file for file in sizes if sizes[file] < large), key=sizes.__getitem__):
            group.append(file)
            if sum(sizes[member] for member in group) >= large:
                join(out, group)
                group = []
                os.utime(note)
        join(out, group)


def compact(out: Path) -> tuple[int, int]:
    """Join all readable parts into one. Return (number of parts before, number of rows)."""
    return join(out, parts.part_files(out))


def join(out: Path, files: list[Path]) -> tuple[int, int]:
    """Replace the readable ones among these parts by one part.

    Return (number of replaced parts, number of rows). Broken parts stay.
    """
    sound = [file for file in files if not parts.broken_reason(file)]
    if len(sound) < 2:
        return len(sound), 0

    def write(connection: duckdb.DuckDBPyConnection) -> int:
        kinds, rows = schema.schema(), 0
        batches = pa.RecordBatchReader.from_stream(connection.sql("select * from r"))
        with pq.ParquetWriter(temporary, kinds, compression="zstd") as writer:
            for batch in batches:
                writer.write_table(pa.table(batch).cast(kinds), ROWS)
                rows += batch.num_rows
        return rows

    with buckets.scratch(out) as temporary:
        rows = reader.read(sound, write) or 0
        parts.put(temporary, out)
    for file in sound:
        with suppress(FileNotFoundError):
            buckets.remove(out, f"records/{file.name}")
    return len(sound), rows


@contextmanager
def _note(out: Path) -> Iterator[Path | None]:
    """Create the file that marks this process as joining parts, and yield its path.

    Yield None if another process is joining parts.
    """
    note = Path(out) / "records" / NOTE
    note.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        if time.time() - note.stat().st_mtime > STALE_SECONDS:
            note.unlink()
    try:
        note.touch(exist_ok=False)
    except FileExistsError:
        yield None
        return
    try:
        yield note
    finally:
        note.unlink(missing_ok=True)
