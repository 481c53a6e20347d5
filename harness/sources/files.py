"""Prediction files: npz, csv, parquet, or published logits -> (probabilities, labels).

Bytes become named arrays here; `sources.forms` says what the arrays mean.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness.errors import BadInputError
from harness.sources import forms
from harness.sources import logits as published
from harness.sources.forms.terms import Arrays

ROOMY = 1 << 28  # bytes that any file may unpack to
RATIO = 100  # larger files may unpack to this many times their size
PICKLES = (".p", ".pkl")
TENSORS = ".safetensors"
TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def read(path: str | Path, split: str = "test", **options: Any) -> forms.Content:
    """Read a file or folder of predictions and labels.

    Parameters
    ----------
    path : path
        .npz, .csv (also .tsv, and either with .gz) or .parquet with arrays or columns by name; .p
        or .pkl with ((logits, labels) of validation, (logits, labels) of test); .safetensors with
        logits_test and labels_test, or logits_val and labels_val; or a folder with nll_logits.npy
        and nll_labels.npy.
    split : {"test", "validation"}
        Part of a pickle or safetensors file.
    **options
        The options of `forms.Options`.

    Returns
    -------
    tuple
        p, y, one line on how the file was read, and names of the classes or None.

    Raises
    ------
    BadInputError
        If the file cannot be used; the message names the remedy.
    """
    path = Path(path)
    if not path.is_dir() and path.stat().st_size == 0:
        raise BadInputError(f"{path} is an empty file; probabilities and labels are needed.")
    named, notes = _named_arrays(path, split)
    p, y, line, names = forms.read_arrays(named, path, forms.Options(**options))
    return p, y, "; ".join([f"{path.name}: {line}", *notes]), names


def arrays(path: str | Path, split: str = "test") -> Arrays:
    """Return all arrays or columns of a file by name, of one part if it has two."""
    return _named_arrays(Path(path), split)[0]


def _named_arrays(path: Path, split: str) -> tuple[Arrays, list[str]]:
    """Return the arrays of a file or folder by name, and notes on the format."""
    kind = "" if path.is_dir() else _kind(path)
    if kind in PICKLES:
        return published.read_parts(path)[split], []
    if kind == TENSORS:
        return _tensors(path, split), []
    if split != "test":
        raise BadInputError(
            f"split is {split!r}, but {path.name} has one part; {', '.join((*PICKLES, TENSORS))} "
            "have two."
        )
    if path.is_dir():
        return published.read_folder(path), []
    try:
        if kind == ".npz":
            return _npz(path), []
        if kind == ".parquet":
            return _parquet(path), []
        if kind in TEXTS:
            return _text(path, kind)
    except BadInputError:
        raise
    except Exception as error:
        message = str(error).strip().partition("\n")[0].rstrip(".")
        raise BadInputError(
            f"{path} cannot be read as {kind}: {type(error).__name__}: "
            f"{message}{_remedy(error, kind)}."
        ) from error
    raise BadInputError(
        f"{path.name} ends in {kind or 'nothing'}; allowed are .npz, .csv and .parquet, "
        f"and of published logits {', '.join((*PICKLES, TENSORS))} and folders of .npy."
    )


def _kind(path: Path) -> str:
    """Return the ending that names the format, in small letters: .csv, .csv.gz."""
    endings = [ending.lower() for ending in path.suffixes]
    return "".join(endings[-2:] if endings[-1:] == [".gz"] else endings[-1:])


def _remedy(error: Exception, kind: str) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "; save it as UTF-8"
    if "allow_pickle" in str(error):
        return "; save names as text, labels.astype(str), and numbers as numbers"
    return "; write it anew, frame.to_parquet('preds.parquet')" if kind == ".parquet" else ""


# Formats


def _tensors(path: Path, split: str) -> Arrays:
    end = {"test": "_test", "validation": "_val"}[split]
    tensors = published.read_safetensors(path)
    chosen = {name: values for name, values in tensors.items() if name.endswith(end)}
    if not chosen:
        raise BadInputError(
            f"{path} holds {', '.join(tensors) or 'nothing'}; names that end in {end} are needed."
        )
    return {name.removesuffix(end): values for name, values in chosen.items()}


def _npz(path: Path) -> Arrays:
    if not zipfile.is_zipfile(path):
        raise BadInputError(
            f"{path} cannot be read as .npz: it is no archive, or not the whole of one; "
            "np.savez('preds.npz', probs=p, labels=y) writes one."
        )
    with zipfile.ZipFile(path) as archive:
        _refuse_bomb(path, sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as archive:
        named = {name: archive[name] for name in archive.files}
    for name, values in named.items():
        if not isinstance(values, np.ndarray):  # a member without numpy's signature comes as bytes
            raise BadInputError(
                f"{path}: {name} is damaged, no array; write the file anew with np.savez."
            )
    return named


def _parquet(path: Path) -> Arrays:
    # of a damaged file, metadata.row_group(i).column(j) would end the process
    metadata = pq.read_metadata(path)
    _refuse_bomb(path, 8 * metadata.num_rows * metadata.num_columns, 10 * RATIO)
    return _columns(pd.read_parquet(path), path)


def _text(path: Path, kind: str) -> tuple[Arrays, list[str]]:
    """Read a table of text, and return notes on its separators.

    The first line names the columns. Numbers are read to the last bit.
    """
    if kind.endswith(".gz"):
        _refuse_bomb(path, _unpacked_bytes(path))
    with gzip.open(path) if kind.endswith(".gz") else open(path, "rb") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig")
        header = next((line for line in lines if line.strip()), "")
    separator = max(SEPARATORS, key=header.count)
    _check_header(header, separator, path)
    options: dict[str, Any] = {
        "sep": separator,
        "encoding": "utf-8-sig",
        "skipinitialspace": True,
        "keep_default_na": False,
        "na_values": [""],
    }
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later versions do so by default
        options["float_precision"] = "round_trip"
    frame = pd.read_csv(path, **options)
    if not isinstance(frame.index, pd.RangeIndex):
        raise BadInputError(
            f"{path} has more values than names of columns, {frame.shape[1]}, in its rows; "
            "decimal commas need semicolons between the columns, and row numbers a name."
        )
    if separator == ",":
        return _columns(frame, path), []
    note = f"{SEPARATORS[separator]} between columns"
    if any(_has_decimal_commas(frame[column]) for column in frame.columns):
        frame = pd.read_csv(path, decimal=",", **options)
        note += ", decimal commas"
    return _columns(frame, path), [note]


def _check_header(header: str, separator: str, path: Path) -> None:
    """Raise BadInputError if the first line does not name at least two columns."""
    names = next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
    names = [name.strip() for name in names]
    start = repr(header.strip()[:60])
    if len(names) < 2:
        raise BadInputError(
            f"{path} has one column, {start}; separate columns by commas, semicolons or tabs."
        )
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise BadInputError(f"{path} names two columns {twice!r}; give each a name of its own.")
    if all(_is_number(name) for name in names):
        raise BadInputError(
            f"{path} begins with numbers, {start}; its first line must name the columns."
        )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _has_decimal_commas(column: pd.Series) -> bool:
    """Return True for a column of text whose values are numbers, some with a decimal comma."""
    if column.dtype.kind in "fiub":
        return False
    values = [str(value).strip() for value in column.dropna()]
    return any("," in value for value in values) and all(
        re.fullmatch(r"[+-]?(\d+|\d*,\d+)([eE][+-]?\d+)?", value) for value in values
    )


# Archives that unpack to much more than their size


def _refuse_bomb(path: Path, unpacked: int, ratio: int = RATIO) -> None:
    """Refuse a small file that unpacks to a huge one. Nothing of it is ever written to the disk."""
    if unpacked > max(ROOMY, ratio * path.stat().st_size):
        raise BadInputError(
            f"{path} would unpack to {unpacked:,} bytes, more than {ratio} times its size, which "
            "no "
            "predictions do; write it anew, without compression."
        )


def _unpacked_bytes(path: Path) -> int:
    """Return the bytes in a .gz, counted up to the limit."""
    size = path.stat().st_size
    count = 0
    with gzip.open(path) as file:
        while (block := file.read(1 << 20)) and count <= max(ROOMY, RATIO * size):
            count += len(block)
    return count


# Data frames


def _columns(frame: pd.DataFrame, path: Path) -> Arrays:
    """Return the columns of a data frame by name; a column of lists becomes a matrix."""
    if len(frame) == 0:
        raise BadInputError(f"{path} holds no rows; at least one sample is needed.")
    return {
        str(name).strip(): _array(frame.iloc[:, position], str(name), path)
        for position, name in enumerate(frame.columns)
    }


def _array(column: pd.Series, name: str, path: Path) -> NDArray[Any]:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        numbers: NDArray[Any] = column.to_numpy()
        return numbers
    values: NDArray[Any] = column.to_numpy(dtype=object)
    if isinstance(values[0], (list, np.ndarray)):
        if len({np.shape(value) for value in values}) > 1:
            raise BadInputError(
                f"{path}: {name} holds lists of different lengths; one number per class and row is "
                "needed."
            )
        return np.stack(list(values))
    return values
