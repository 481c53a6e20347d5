"""Parts read column by column, a row group at a time, so that what is held is what was asked for; and keys as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import BadInputError
from harness.records import schema as records

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


def each(source: Path | list[Path], read: Callable[[Path], T]) -> list[T]:
    """What `read` makes of every part of a folder of results, or of these files. As `records.query`: parts that were joined in
    the meantime are looked for again, and one that cannot be read, or is not as it was written, is named."""
    import pyarrow as pa

    for attempt in range(records.LOOKS):
        files = source if isinstance(source, list) else records.part_files(source)
        found = []
        for file in files:
            try:
                if changed := records.changed_reason(file):
                    raise records.unreadable(file, changed)
                found.append(read(file))
            except (OSError, KeyError, ValueError, pa.ArrowException) as error:
                if isinstance(error, BadInputError):
                    raise
                gone = any(not other.is_file() for other in files)
                if gone and not isinstance(source, list) and attempt + 1 < records.LOOKS:
                    break
                raise records.unreadable(file, records.broken_reason(file) or str(error)) from error
        else:
            return found
    return []


def tables(path: Path, names: list[str]) -> Iterator[Any]:
    """The row groups of a part as Arrow tables of these columns of `records.COLUMNS`, texts as dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = records.schema()
    with pq.ParquetFile(path) as file:
        have = file.schema_arrow.names
        lacking = [name for name in records.COLUMNS if name not in (*have, *records.LATER)]
        if lacking:
            raise KeyError(lacking[0])
        stored = {name: name if name in have else records.FORMER.get(name) for name in names}
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=[held for held in stored.values() if held in have])
            kinds = pa.schema([schema.field(name) for name in names])
            empty = {kind.name: pa.nulls(table.num_rows, kind.type) for kind in kinds if stored[kind.name] not in have}
            yield pa.table({name: empty[name] if name in empty else table[stored[name]] for name in names}).cast(kinds)


def coded(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """(codes, values) of a dictionary column; the code of what is empty is -1."""
    import numpy as np

    whole = column.unify_dictionaries().combine_chunks() if hasattr(column, "chunks") else column
    whole = whole.chunk(0) if hasattr(whole, "chunks") and whole.num_chunks else whole
    if not len(whole):
        return np.empty(0, dtype=np.int64), []
    return whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), whole.dictionary.to_pylist()


def numbers(column: Any) -> NDArray[np.uint64] | None:
    """Keys, an Arrow column of texts, as numbers; None where one is not of 16 hexadecimal digits."""
    import numpy as np
    import pyarrow as pa

    whole = column.combine_chunks() if hasattr(column, "chunks") else column
    whole = whole.chunk(0) if hasattr(whole, "chunks") and whole.num_chunks else whole
    if not len(whole):
        return np.empty(0, dtype=np.uint64)
    whole = whole.cast(pa.string())
    offsets = np.frombuffer(whole.buffers()[1], dtype=np.int32)[whole.offset : whole.offset + len(whole) + 1]
    if whole.null_count or (np.diff(offsets) != 16).any():
        return None
    return of_hexadecimal(whole.buffers()[2][offsets[0] : offsets[-1]].to_pybytes().decode("ascii", "replace"))


def begins(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Of every key whether it is another than the one before."""
    import numpy as np

    found: NDArray[np.bool_] = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=found[1:])
    return found


def once(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys without those that equal the one before."""
    return keys[begins(keys)]


def of_hexadecimal(digits: str) -> NDArray[np.uint64] | None:
    """Keys one after the other, without a gap, as numbers.

    Examples
    --------
    >>> of_hexadecimal("00000000000000ff" "000000000000000a").tolist()
    [255, 10]
    >>> of_hexadecimal("z" * 16) is None
    True
    """
    import numpy as np

    try:
        found = bytes.fromhex(digits)
    except ValueError:
        return None
    if 2 * len(found) != len(digits) or digits != digits.lower():  # spaces are passed over
        return None
    return np.frombuffer(found, dtype=">u8").astype(np.uint64)


def of_texts(keys: Iterable[str]) -> NDArray[np.uint64] | None:
    """Keys as numbers; None where one is not of 16 hexadecimal digits."""
    keys = list(keys)
    return of_hexadecimal("".join(keys)) if {*map(len, keys)} <= {16} else None


def texts(found: NDArray[np.uint64]) -> list[str]:
    """Numbers as keys."""
    digits = found.astype(">u8").tobytes().hex()
    return [digits[at : at + 16] for at in range(0, len(digits), 16)]
