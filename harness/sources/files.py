"""Prediction files: npz, csv, parquet, or logits as published (`sources.logits`) -> (probabilities, labels).

Bytes become arrays by name here; what the arrays mean is `sources.forms`."""

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

ROOMY, RATIO = (
    1 << 28,
    100,
)  # bytes that any file may unpack to; how many times its own size, beyond them
PICKLES = (".p", ".pkl")
TENSORS = ".safetensors"
TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
REMEDIES = {
    ".npy": "; one array has no labels: np.savez('preds.npz', probs=p, labels=y)",
    ".xlsx": "; save the sheet as .csv",
    ".xls": "; save the sheet as .csv",
    ".json": "; pandas.read_json(...).to_csv('preds.csv', index=False) makes one",
    ".jsonl": "; pandas.read_json(..., lines=True).to_csv('preds.csv', index=False) makes one",
    ".txt": "; name it .csv if its columns are separated by commas, semicolons or tabs",
    ".pt": "; np.savez('preds.npz', logits=logits.numpy(), labels=labels.numpy()) makes one",
}


def read(path: str | Path, split: str = "test", **options: Any) -> forms.Understood:
    """(p, y, what was understood, names of the classes or None) of a file or folder; `options` are those of `forms.Asked`.

    .npz, .csv (also .tsv, and either with .gz) and .parquet hold arrays or columns by name (`forms.understood`).
    .p and .pkl: ((logits, labels) of validation, (logits, labels) of test); .safetensors: logits_test and labels_test, or
    logits_val and labels_val; `split`, test or validation, chooses. A folder: nll_logits.npy and nll_labels.npy.
    """
    path = Path(path)
    asked = forms.Asked(**options)
    if not path.is_dir() and path.stat().st_size == 0:
        raise BadInputError(f"{path} is an empty file; probabilities and labels are needed.")
    arrays, notes = _arrays(path, split)
    p, y, line, names = forms.understood(arrays, path, asked)
    return p, y, "; ".join([f"{path.name}: {line}", *notes]), names


def arrays(path: str | Path, split: str = "test") -> Arrays:
    """All arrays or columns of a file, by name, of one part where it has two."""
    return _arrays(Path(path), split)[0]


def _arrays(path: Path, split: str) -> tuple[Arrays, list[str]]:
    """({name: array} of a file or folder, of one part where it has two; what is said of the format)."""
    kind = "" if path.is_dir() else _kind(path)
    if kind in PICKLES:
        return published.read_parts(path)[split], []
    if kind == TENSORS:
        end = {"test": "_test", "validation": "_val"}[split]
        found = published.read_safetensors(path)
        arrays = {
            name.removesuffix(end): values for name, values in found.items() if name.endswith(end)
        }
        if not arrays:
            raise BadInputError(
                f"{path} holds {', '.join(found) or 'nothing'}; names that end in {end} are needed."
            )
        return arrays, []
    if split != "test":
        raise BadInputError(
            f"split is {split!r}, but {path.name} has one part; {', '.join((*PICKLES, TENSORS))} have two."
        )
    if path.is_dir():
        return published.read_folder(path), []
    if kind not in (".npz", *TEXTS, ".parquet"):
        raise BadInputError(
            f"{path.name} ends in {kind or 'nothing'}; allowed are .npz, .csv and .parquet, "
            f"and of published logits {', '.join((*PICKLES, TENSORS))} and folders of .npy{REMEDIES.get(kind, '')}."
        )
    try:
        if kind == ".npz":
            return _npz(path), []
        return _text(path, kind) if kind in TEXTS else (_parquet(path), [])
    except BadInputError:
        raise
    except Exception as error:
        said = str(error).strip().partition(chr(10))[0].rstrip(".")
        raise BadInputError(
            f"{path} cannot be read as {kind}: {type(error).__name__}: {said}{_remedy(error, kind)}."
        ) from error


def _kind(path: Path) -> str:
    """The ending that says the format, in small letters: .gz is looked through."""
    endings = [ending.lower() for ending in path.suffixes]
    packed = endings[-2:] if endings[-1:] == [".gz"] else []
    return "".join(packed) if packed else path.suffix.lower()


def _remedy(error: Exception, kind: str) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "; save it as UTF-8"
    if "allow_pickle" in str(error):
        return "; save names as text, labels.astype(str), and numbers as numbers"
    return "; write it anew, frame.to_parquet('preds.parquet')" if kind == ".parquet" else ""


def _npz(path: Path) -> Arrays:
    if not zipfile.is_zipfile(path):
        raise BadInputError(
            f"{path} cannot be read as .npz: it is no archive, or not the whole of one; "
            f"np.savez('preds.npz', probs=p, labels=y) writes one."
        )
    with zipfile.ZipFile(path) as archive:
        _refuse_bomb(path, sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, array in arrays.items():
        if not isinstance(
            array, np.ndarray
        ):  # numpy hands on the bytes of a member without its signature
            raise BadInputError(
                f"{path}: {name} is damaged, no array; write the file anew with np.savez."
            )
    return arrays


def _parquet(path: Path) -> Arrays:
    told = pq.read_metadata(
        path
    )  # of a damaged file its parts, told.row_group(i).column(j), would end the process
    _refuse_bomb(path, 8 * told.num_rows * told.num_columns, 10)
    return _columns(pd.read_parquet(path), path)


def _refuse_bomb(path: Path, unpacked: int, times: int = 1) -> None:
    """Refuse a small file that becomes a huge one. (Nothing of an archive is written to the disk, whatever its members are
    called.) `times` is how much better the format packs what is alike."""
    if unpacked > max(ROOMY, RATIO * times * path.stat().st_size):
        raise BadInputError(
            f"{path} would unpack to {unpacked:,} bytes, more than {RATIO * times} times its size, which no predictions do; "
            "write it anew, without compression."
        )


def _unpacked(path: Path) -> int:
    """Bytes in a .gz, counted no further than where it is refused."""
    found = 0
    with gzip.open(path) as file:
        while block := file.read(1 << 20):
            found += len(block)
            if found > max(ROOMY, RATIO * path.stat().st_size):
                break
    return found


def _text(path: Path, kind: str) -> tuple[Arrays, list[str]]:
    """A table of text: its first line names the columns; commas, semicolons or tabs between them; with the latter two decimals
    may have commas. Numbers are read to the last bit, so that a file gives what was written into it."""
    if (
        kind.endswith(".gz") and path.stat().st_size * 1100 > ROOMY
    ):  # deflate packs at most 1,032 times
        _refuse_bomb(path, _unpacked(path))
    encoding, header = _header(path, kind)
    counts = {mark: header.count(mark) for mark in (",", ";", "\t")}
    mark = max(counts, key=lambda mark: counts[mark])
    if not counts[mark]:
        raise BadInputError(
            f"{path} has one column, {header.strip()[:60]!r}; separate columns by commas, semicolons or tabs."
        )
    names = [
        name.strip() for name in next(csv.reader([header], delimiter=mark, skipinitialspace=True))
    ]
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice:
        raise BadInputError(f"{path} names two columns {twice!r}; give each a name of its own.")
    if all(_is_number(name) for name in names):
        raise BadInputError(
            f"{path} begins with numbers, {header.strip()[:60]!r}; its first line must name the columns."
        )
    how: dict[str, Any] = {
        "sep": mark,
        "encoding": encoding,
        "skipinitialspace": True,
        "keep_default_na": False,
        "na_values": [""],
    }
    if tuple(map(int, pd.__version__.split(".")[:2])) < (
        3,
        1,
    ):  # since then it is what pandas does unasked
        how["float_precision"] = "round_trip"
    frame = pd.read_csv(path, **how)
    if not isinstance(frame.index, pd.RangeIndex):
        raise BadInputError(
            f"{path} has more values than names of columns, {len(names)}, in its rows; "
            "decimal commas need semicolons between the columns, and row numbers a name."
        )
    notes = {",": [], ";": ["semicolons between columns"], "\t": ["tabs between columns"]}[mark]
    if mark != "," and any(_has_decimal_commas(frame[column]) for column in frame.columns):
        frame = pd.read_csv(path, decimal=",", **how)
        notes = [f"{notes[0]}, decimal commas"]
    return _columns(frame, path), notes


def _header(path: Path, kind: str) -> tuple[str, str]:
    """(encoding, first line that is not blank): UTF-8 with or without a mark at its beginning, or UTF-16 with one."""
    with gzip.open(path) if kind.endswith(".gz") else open(path, "rb") as f:
        encoding = "utf-16" if f.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        f.seek(0)
        lines = io.TextIOWrapper(f, encoding=encoding)
        return encoding, next((line for line in lines if line.strip()), "")


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column of text holds numbers all of which have a decimal comma or none."""
    if column.dtype.kind in "fiub":
        return False
    values = [str(v).strip() for v in column.dropna()]
    return any("," in v for v in values) and all(
        re.fullmatch(r"[+-]?(\d+|\d*,\d+)([eE][+-]?\d+)?", v) for v in values
    )


def _columns(frame: pd.DataFrame, path: Path) -> Arrays:
    """{name: array} of a data frame; a column of lists becomes a matrix."""
    if len(frame) == 0:
        raise BadInputError(f"{path} holds no rows; at least one sample is needed.")
    names = ["" if str(c).startswith("Unnamed: ") else str(c).strip() for c in frame.columns]
    names = [name or str(column) for name, column in zip(names, frame.columns)]
    return {name: _array(frame.iloc[:, j], name, path) for j, name in enumerate(names)}


def _array(column: pd.Series, name: str, path: Path) -> NDArray[Any]:
    plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub"
    values: NDArray[Any] = column.to_numpy() if plain else column.to_numpy(dtype=object)
    if plain:
        return values
    if isinstance(values[0], (list, np.ndarray)):
        if len({np.shape(v) for v in values}) > 1:
            raise BadInputError(
                f"{path}: {name} holds lists of different lengths; one number per class and row is needed."
            )
        return np.stack(list(values))
    return values
