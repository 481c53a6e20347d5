"""Many small parts become few large ones, beside readers, writers and other drivers.

A joined part is in place before its sources go, so that a record is always in at least one part; one that is in two for a moment
counts once. Who joins leaves a note, so that a second driver leaves it to the first; a note whose writer died is ignored after a
while, and if two join the same parts nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.records import buckets, parts, schema

MANY = 250  # parts, from which on they are joined by themselves
LARGE_MB = 32.0  # of a part that is left alone
SHARE = 100  # or one part in so many of all bytes, whichever is larger
ROWS = 100_000  # of a row group: what is in memory at once
STALE_SECONDS = 600.0
NOTE = ".joining"


def keep_few(out: Path) -> None:
    """Join small parts where parts are many. What cannot be joined (a full disk, a folder that is only read) stays as it is."""
    files = schema.part_files(out)
    if len(files) < MANY:
        return
    import pyarrow as pa

    with contextlib.suppress(OSError, pa.ArrowException), _noted(Path(out) / "records") as note:
        if note is None:
            return
        sizes = {file: file.stat().st_size for file in files if file.is_file()}
        large = max(LARGE_MB * 2**20, sum(sizes.values()) / SHARE)
        group: list[Path] = []
        for file in sorted((file for file in sizes if sizes[file] < large), key=sizes.__getitem__):
            group.append(file)
            if sum(sizes[one] for one in group) >= large:
                join(group)
                group = []
                os.utime(note)
        join(group)


def join(files: list[Path]) -> tuple[int, int]:
    """Write the readable ones of these parts as one, and delete them; returns (how many they are, rows)."""
    import pyarrow.parquet as pq

    good = [file for file in files if not schema.broken_reason(file)]
    if len(good) < 2:
        return len(good), 0
    temporary = good[0].parent / f".part-{uuid.uuid4().hex[:16]}.parquet.tmp"
    rows = 0
    try:
        with pq.ParquetWriter(temporary, schema.schema(), compression="zstd") as writer:
            for table in _gathered(good):
                writer.write_table(table)
                rows += table.num_rows
        schema.put(temporary)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    for file in good:
        with contextlib.suppress(FileNotFoundError):
            buckets.remove(file)
    return len(good), rows


def _gathered(files: list[Path]) -> Iterator[Any]:
    """The rows of parts in tables of about ROWS rows."""
    import pyarrow as pa

    held: list[Any] = []
    for file in files:
        for table in parts.tables(file, list(schema.COLUMNS)):
            held.append(table)
            if sum(one.num_rows for one in held) >= ROWS:
                yield pa.concat_tables(held).unify_dictionaries().combine_chunks()
                held = []
    if held:
        yield pa.concat_tables(held).unify_dictionaries().combine_chunks()


@contextlib.contextmanager
def _noted(folder: Path) -> Iterator[Path | None]:
    """A note to others that this process joins in this folder; None where another does."""
    note = folder / NOTE
    with contextlib.suppress(OSError):
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
