"""Read files of predictions into probabilities and labels.

The formats are npz, csv, tsv, parquet, JSON Lines and the published formats of logits. This module
turns bytes into named arrays; `sources.forms` interprets the arrays.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness.common.data_files import members
from harness.common.reading import open_file, refuse_large, refuse_special
from harness.errors import BadInputError
from harness.math.class_names import as_text
from harness.sources import forms, json_lines, pickles
from harness.sources import logits as published
from harness.sources.forms.terms import Arrays

PICKLES = (".p", ".pkl")
TENSORS = ".safetensors"
TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def read(path: str | Path, split: str = "test", **options: Any) -> forms.Content:
    """Read a file or folder of predictions and labels.

    Parameters
    ----------
    path : path
        One of these:

        * .npz, .csv, .tsv, .jsonl (the last three also with .gz) or .parquet: named arrays or
          columns.
        * .p or .pkl: ((logits, labels) of validation, (logits, labels) of test).
        * .safetensors: logits_test and labels_test, or logits_val and labels_val.
        * A folder with nll_logits.npy and nll_labels.npy.
    split : {"test", "validation"}
        Part of a pickle or safetensors file.
    **options
        The options of `forms.Options`.

    Returns
    -------
    p : ndarray (n,) or (n, k)
        Probabilities.
    y : ndarray (n,)
        Labels 0..k-1.
    text : str
        One line that says how the file was read.
    names : tuple of str, or None
        Names of the classes.
    unused : tuple of str
        Names of the arrays that were not used.

    Raises
    ------
    BadInputError
        If the file cannot be used. The message says what to change.
    """
    path = Path(path)
    refuse_special(path)
    if not path.is_dir() and path.stat().st_size == 0:
        raise BadInputError(f"{path} is an empty file; probabilities and labels are needed.")
    named, notes = _named_arrays(path, split)
    p, y, line, names, unused = forms.read_arrays(named, path, forms.Options(**options))
    return p, y, "; ".join([f"{path.name}: {line}", *notes]), names, unused


def arrays(path: str | Path, split: str = "test") -> Arrays:
    """Return all arrays or columns of a file by name.

    `split` chooses the part ("test" or "validation") of a file that has two parts.
    """
    return _named_arrays(Path(path), split)[0]


def _named_arrays(path: Path, split: str) -> tuple[Arrays, list[str]]:
    """Return the arrays of a file or folder by name, and notes on the format.

    `split` chooses the part ("test" or "validation") of a file that has two parts.
    """
    for file in members(path):
        refuse_special(file)
    kind = "" if path.is_dir() else _kind(path)
    if kind in (*PICKLES, TENSORS):
        refuse_large(path, path.stat().st_size)
    if kind in PICKLES:
        return pickles.read_parts(path)[split], []
    if kind == TENSORS:
        return _tensors(path, split), []
    if split != "test":
        raise BadInputError(
            f"split is {split!r}, but {path.name} has only one part; leave split out. Only "
            f"{', '.join((*PICKLES, TENSORS))} files have two parts."
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
        if kind in json_lines.ENDINGS:
            return _json_lines(path, kind), []
    except BadInputError:
        raise
    except Exception as error:
        message = str(error).strip().partition("\n")[0].rstrip(".")
        raise BadInputError(
            f"{path} cannot be read as {kind}: {type(error).__name__}: "
            f"{message}{_remedy(error, kind)}."
        ) from error
    raise BadInputError(
        f"{path.name} has the ending {kind or '(none)'}; allowed are .npz, .csv, .tsv, "
        f".parquet and .jsonl, and for published logits {', '.join((*PICKLES, TENSORS))} and "
        "folders of .npy files."
    )


def _kind(path: Path) -> str:
    """Return the ending of a path that tells the file format, in lower case: .csv or .csv.gz."""
    endings = [ending.lower() for ending in path.suffixes]
    return "".join(endings[-2:] if endings[-1:] == [".gz"] else endings[-1:])


def _remedy(error: Exception, kind: str) -> str:
    """Return a clause that says how to repair a file that cannot be read, or ""."""
    if isinstance(error, UnicodeDecodeError):
        return "; save it as UTF-8"
    if "allow_pickle" in str(error):
        return "; save names as text (labels.astype(str)) and numbers as numbers"
    return "; write it again with frame.to_parquet('preds.parquet')" if kind == ".parquet" else ""


# Formats


def _tensors(path: Path, split: str) -> Arrays:
    """Return the arrays of one part of a safetensors file.

    Names of arrays lose their ending _test or _val.
    """
    end = {"test": "_test", "validation": "_val"}[split]
    tensors = published.read_safetensors(path)
    chosen = {name: values for name, values in tensors.items() if name.endswith(end)}
    if not chosen:
        raise BadInputError(
            f"{path} holds {', '.join(tensors) or 'no arrays'}; names that end in {end} are needed."
        )
    return {name.removesuffix(end): values for name, values in chosen.items()}


def _npz(path: Path) -> Arrays:
    """Return the arrays of an npz file by name."""
    if not zipfile.is_zipfile(path):
        raise BadInputError(
            f"{path} cannot be read as .npz: it is not a complete archive. Write it again, for "
            "example with np.savez('preds.npz', probs=p, labels=y)."
        )
    with zipfile.ZipFile(path) as archive:
        sizes = []
        for member in archive.namelist():
            with archive.open(member) as content:
                sizes.append(published.array_bytes(content))
    refuse_large(path, sum(sizes))
    with np.load(path, allow_pickle=False) as arrays_of_file:
        return {name: arrays_of_file[name] for name in arrays_of_file.files}


def _parquet(path: Path) -> Arrays:
    """Return the columns of a parquet file by name."""
    with open_file(path) as content, pq.ParquetFile(content) as file:
        # Only these parts of the metadata: others end the process if they are damaged.
        _refuse_doubles(path, [as_text(name) for name in file.schema_arrow.names])
        refuse_large(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
        return _columns(file.read(use_threads=False).to_pandas(), path)


def _text(path: Path, kind: str) -> tuple[Arrays, list[str]]:
    """Read a text table; return its columns by name and notes on its separators.

    The first line must name the columns. Numbers are read to the last bit.
    """
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
            f"{path} names {frame.shape[1]} columns, but its rows hold more values. Separate "
            "columns by semicolons if numbers have decimal commas, and name the column of row "
            "numbers if there is one."
        )
    if separator == ",":
        return _columns(frame, path), []
    note = f"{SEPARATORS[separator]} between columns"
    if any(_has_decimal_commas(frame[column]) for column in frame.columns):
        frame = pd.read_csv(path, decimal=",", **options)
        note += ", decimal commas"
    return _columns(frame, path), [note]


def _json_lines(path: Path, kind: str) -> Arrays:
    """Return the fields of a file of JSON Lines by name."""
    with gzip.open(path) if kind.endswith(".gz") else open(path, "rb") as file:
        return json_lines.read_lines(io.TextIOWrapper(file, encoding="utf-8-sig"), path)


def _check_header(header: str, separator: str, path: Path) -> None:
    """Raise BadInputError unless `header`, the first line, names at least two columns."""
    if "\0" in header:
        raise BadInputError(f"{path} holds NUL characters in its first line; save it as UTF-8.")
    names = next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
    names = [as_text(name) for name in names]
    start = repr(header.strip()[:60])
    if len(names) < 2 and not re.search(r"\s", header.strip()):
        raise BadInputError(
            f"{path} has one column, {start}, and therefore no labels; add a column with the label "
            "of each row (and separate columns by commas, semicolons or tabs)."
        )
    if len(names) < 2:
        raise BadInputError(
            f"{path} has one column, {start}; separate columns by commas, semicolons or tabs."
        )
    _refuse_doubles(path, names)
    if all(_is_number(name) for name in names):
        raise BadInputError(
            f"{path} begins with numbers, {start}; its first line must name the columns."
        )


def _refuse_doubles(path: Path, names: list[str]) -> None:
    """Raise BadInputError if two columns have the same name."""
    counts = Counter(names)
    if twice := next((name for name in names if name and counts[name] > 1), None):
        raise BadInputError(
            f"{path} names two columns {twice!r}; give each column a different name."
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


# Data frames


def _columns(frame: pd.DataFrame, path: Path) -> Arrays:
    """Return the columns of a data frame as arrays by name; a column of lists becomes a matrix."""
    if len(frame) == 0:
        raise BadInputError(f"{path} holds no rows; at least one sample is needed.")
    return {as_text(name): _array(column, str(name), path) for name, column in frame.items()}


def _array(column: pd.Series, name: str, path: Path) -> NDArray[Any]:
    """Return a column of a data frame as an array; lists of numbers become the rows of a matrix."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        numbers: NDArray[Any] = column.to_numpy()
        return numbers
    values: NDArray[Any] = column.to_numpy(dtype=object)
    if isinstance(values[0], (list, np.ndarray)):
        if len({np.shape(value) for value in values}) > 1:
            raise BadInputError(
                f"{path}: {name} holds lists of different lengths; each list needs one number per "
                "class."
            )
        return np.stack(list(values))
    return values
