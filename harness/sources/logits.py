"""Read published logits: safetensors files and folders of npy files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from harness.common.data_files import FOLDER_FILES
from harness.common.reading import open_file, read_bytes, refuse_large
from harness.errors import BadInputError

LONGEST_HEADER = 100_000_000  # most bytes of a header, by the safetensors format
REMEDY = "download or write the file again"
SAFETENSORS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip

Arrays = dict[str, NDArray[Any]]


def read_safetensors(path: str | Path) -> Arrays:
    """Read the tensors of a safetensors file by name. bfloat16 becomes float32.

    The file consists of 8 bytes with the length of the header, a JSON header {name: {dtype, shape,
    data_offsets}}, and the data.

    Raises
    ------
    BadInputError
        If the header is broken, or if the tensors leave gaps in the data or overlap.
    """
    path = Path(path)
    data = read_bytes(path)
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(LONGEST_HEADER, len(data) - 8):
        raise BadInputError(
            f"{path} is not a valid safetensors file: a header of {length:,} bytes does not fit "
            f"into the {len(data):,} bytes of the file; {REMEDY}."
        )
    try:
        header = json.loads(data[8 : 8 + length], object_pairs_hook=_unique)
        header.pop("__metadata__", None)
        tensors = sorted(
            (*map(int, entry["data_offsets"]), name, entry["dtype"], entry["shape"])
            for name, entry in header.items()
        )
    except Exception as error:
        raise BadInputError(
            f"{path}: the header of the safetensors file is broken ({type(error).__name__}: "
            f"{error}); {REMEDY}."
        ) from error
    arrays, start, end = {}, 8 + length, 0
    for first, last, name, kind, shape in tensors:
        if kind not in SAFETENSORS:
            raise BadInputError(
                f"{path}: {name} has type {kind}; allowed are {', '.join(SAFETENSORS)}."
            )
        dtype = np.dtype(SAFETENSORS[kind])
        fits = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
        fits = fits and first == end and last - first == math.prod(shape) * dtype.itemsize
        if not fits or start + last > len(data):
            raise BadInputError(
                f"{path}: {name} of shape {shape} and type {kind} does not fit bytes {first} to "
                f"{last} of the data; {REMEDY}."
            )
        values = np.frombuffer(data, dtype, math.prod(shape), start + first).reshape(shape)
        if kind == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        arrays[name] = values
        end = last
    if start + end != len(data):
        raise BadInputError(
            f"{path}: {len(data) - start - end:,} unused bytes follow the tensors of the "
            f"safetensors file; {REMEDY}."
        )
    return arrays


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dictionary; ValueError if a name occurs twice."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def read_folder(path: str | Path) -> Arrays:
    """Read nll_logits.npy (n, k) and nll_labels.npy (n, 1) from a folder.

    Rahimi et al. (2020) publish their logits in this form.
    """
    arrays = {}
    for name, file in zip(("logits", "labels"), FOLDER_FILES):
        try:
            with open_file(Path(path) / file) as content:
                refuse_large(Path(path) / file, array_bytes(content))
                content.seek(0)
                arrays[name] = np.load(content, allow_pickle=False)
        except BadInputError:
            raise
        except Exception as error:
            message = str(error).partition("\n")[0].rstrip(".")
            raise BadInputError(
                f"{Path(path) / file} cannot be read as .npy: {type(error).__name__}: {message}; "
                f"{REMEDY}."
            ) from error
    return arrays


def array_bytes(file: IO[bytes]) -> int:
    """Return the number of bytes of the array in an open .npy file, by its header."""
    version = np.lib.format.read_magic(file)
    is_first = version == (1, 0)
    read_header = (
        np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read_header(file)
    return math.prod(shape) * int(dtype.itemsize)
