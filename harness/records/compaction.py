"""Join many small parts into few large ones, while others read and write.

A joined part is in place before its sources go. So a record is always in at least one part, and
readers count a record in two parts once. A note in the folder keeps a second driver from doing the
same work. Nothing is lost if two drivers join the same parts, or if one dies.
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

MANY = 250  # parts, from which on a run joins them
LARGE_MB = 32.0  # larger parts are left alone, or those above 1 / SHARE of all bytes
SHARE = 100
ROWS = 100_000  # rows that are in memory at once
STALE_SECONDS = 600.0  # a note is renewed for every joined part, within seconds
NOTE = ".joining"


def keep_few(out: Path) -> None:
    """Join small parts if there are many. If that fails (a full disk), they stay as they are."""
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
    """Join all sound parts into one; return (number of parts before, rows)."""
    return join(out, parts.part_files(out))


def join(out: Path, files: list[Path]) -> tuple[int, int]:
    """Write the sound ones of these parts as one and delete them; return (their number, rows)."""
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
    """Leave a note that this process joins parts; yield None if another one does."""
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
