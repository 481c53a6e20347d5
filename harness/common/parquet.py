"""Read Parquet files in batches, and refuse those that unpack to far more than their size.

The footer of a file does not tell its size in memory. A dictionary of one long text stands for
millions of rows, a list can have millions of values in one row, and the numbers in the footer may
be wrong. So the rows are counted first, and the unpacked bytes are counted while they are read.
A single page that is too large meets a limit on the memory of this process (on Linux).
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.common.reading import open_file
from harness.errors import BadInputError

SAFE_BYTES = 1 << 28  # every file may unpack to this many bytes
RATIO = 1000  # a file may unpack to more bytes, up to this many times its size
BATCH_ROWS, BATCH_VALUES = 8192, 1 << 22  # largest numbers of rows and of cells read at once
# Memory for one batch, and for the allocator of pyarrow, which reserves up to 1 GiB at once.
HEADROOM = 3 << 29
TEXTS = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())


def largest_size(path: Path) -> int:
    """Return the number of bytes to which a Parquet file may unpack."""
    return max(SAFE_BYTES, RATIO * path.stat().st_size)


def read_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file in batches.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str, optional
        Names of the columns to read. By default, all are read.

    Raises
    ------
    BadInputError
        If the rows would unpack to more than `largest_size`, or if the path is no regular file.
    """
    most, size = largest_size(path), 0
    too_large = BadInputError(
        f"{path} would unpack to more than {most:,} bytes, which is more than {RATIO} times its "
        "size; write it again without compression."
    )
    with open_file(path) as content, pq.ParquetFile(content) as file:
        # Do not call metadata.row_group(i).column(j): with a damaged file it ends the process.
        width = max(1, file.metadata.num_columns if columns is None else len(columns))
        if 8 * file.metadata.num_rows * width > most:
            raise too_large
        rows = max(1, min(BATCH_ROWS, BATCH_VALUES // width))
        batches = file.iter_batches(rows, columns=columns, use_threads=False)
        while True:
            try:
                with limited_memory(most + HEADROOM):
                    batch = next(batches, None)
            except MemoryError:
                raise too_large from None
            if batch is None:
                return
            size += _unpacked_bytes(batch)
            if size > most:
                raise too_large
            yield batch


def is_small(path: Path) -> bool:
    """Return True if the rows cannot unpack to more than `largest_size`, by the footer of a file.

    No text or list can be longer than all columns of its row group.
    """
    with open_file(path) as content:
        metadata = pq.read_metadata(content)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    longest = max((group.total_byte_size for group in groups), default=0)
    width = max(8, longest) * metadata.num_columns
    return bool(metadata.num_rows * width <= largest_size(path))


def read_table(path: Path) -> pa.Table:
    """Return all rows of a Parquet file. See `read_batches` for the errors."""
    batches = list(read_batches(path))
    with open_file(path) as content:
        schema = pq.read_schema(content)
    return pa.Table.from_batches(batches, schema)


def _unpacked_bytes(batch: pa.RecordBatch) -> int:
    """Return the size of a batch, in which each text of a dictionary counts once per row."""
    size = int(batch.nbytes)
    for column in batch.columns:
        kind = column.type
        if pa.types.is_dictionary(kind) and kind.value_type in TEXTS:
            lengths = pc.binary_length(column.dictionary).cast(pa.int64())
            size += pc.sum(lengths.take(column.indices)).as_py() or 0
    return size


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """Limit this process to `most` further bytes inside the block.

    A larger allocation raises MemoryError. The limit exists on Linux only.
    """
    try:
        used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit >= 0]
    resource.setrlimit(resource.RLIMIT_DATA, (min([used + most, *limits]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
