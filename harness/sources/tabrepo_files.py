"""Read and check the files of a task in TabRepo's layout: metadata, labels and predictions."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.reading import refuse_special
from harness.errors import BadInputError

PARTS = ("val", "test")
FILES = (
    "metadata.json", "pred-val.dat", "pred-test.dat", "label-val.csv.zip", "label-test.csv.zip",
)  # fmt: skip
T = TypeVar("T")


def _cached(read: Callable[[Path], T]) -> Callable[[Path], T]:
    """Return `read` with a cache that is refreshed if the time or the size of the file changes."""

    @lru_cache(maxsize=512)  # Table 1 has 190 tasks
    def read_once(path: Path, stamp: tuple[int, int]) -> T:
        return read(path)

    @wraps(read)
    def read_cached(path: Path) -> T:
        return read_once(path, file_stamp(path))

    return read_cached


def file_stamp(path: Path) -> tuple[int, int]:
    """Return the time of change and the size of a file; BadInputError if it is absent."""
    refuse_special(path)
    try:
        status = os.stat(path)
    except OSError:
        raise BadInputError(
            f"{path} is missing; every task needs {', '.join(FILES)}, and the repository needs "
            "configs.parquet."
        ) from None
    return status.st_mtime_ns, status.st_size


class Metadata(NamedTuple):
    """Content of a metadata.json, which describes the predictions for a data set and fold.

    Parameters
    ----------
    models : tuple of str
        Names of the models, in the order of the rows of the predictions.
    shapes : dict
        Shapes of the arrays of predictions, by part ("val", "test").
    dtype : numpy dtype
        Type of these arrays.
    """

    models: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    dtype: np.dtype[Any]

    def bytes(self, part: str) -> int:
        """Return the size of pred-<part>.dat in bytes."""
        return int(np.prod(self.shapes[part])) * self.dtype.itemsize


@_cached
def read_metadata(path: Path) -> Metadata:
    """Read and check the metadata.json of a data set and fold."""
    try:
        content = json.loads(Path(path).read_text())
        # Interning saves memory: hundreds of tasks have the same names of models.
        models = tuple(sys.intern(str(name)) for name in content["models"])
        dtype = np.dtype(content["dtype"])
        shapes = {part: tuple(int(s) for s in content[f"pred_{part}_shape"]) for part in PARTS}
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            f"{path} is not valid metadata of predictions ({type(error).__name__}: {error})."
        ) from error
    if dtype not in (np.float16, np.float32, np.float64):
        raise BadInputError(
            f"{path} gives dtype {dtype}; allowed are float16, float32 and float64."
        )
    if len(set(models)) != len(models):
        raise BadInputError(
            f"{path} names a model twice; every row of predictions needs a different name."
        )
    for part, shape in shapes.items():
        if len(shape) not in (2, 3) or shape[0] != len(models) or min(shape) < 1:
            raise BadInputError(
                f"{path} gives pred_{part}_shape {list(shape)} for {len(models)} models; the shape "
                "must be [models, rows] or [models, rows, classes]."
            )
    return Metadata(models, shapes, dtype)


@_cached
def read_labels(path: Path) -> NDArray[Any]:
    """Read the labels of a file label-<part>.csv.zip, shape (n,)."""
    try:
        frame = pd.read_csv(path, index_col=0, compression="zip")
        labels: NDArray[Any] = frame.iloc[:, 0].to_numpy()
        return labels
    except Exception as error:
        raise BadInputError(
            f"{path} cannot be read as zipped csv ({type(error).__name__}: {error})."
        ) from error


@_cached
def read_problem_types(path: Path) -> dict[str, str]:
    """Return {folder name of a data set: problem_type} from a configs.parquet."""
    try:
        frame = pd.read_parquet(path, columns=["dataset", "problem_type"]).drop_duplicates()
    except Exception as error:
        message = str(error).partition("\n")[0]
        raise BadInputError(
            f"{path} cannot be read ({type(error).__name__}: {message})."
        ) from error
    return {stored_name(dataset): kind for dataset, kind in frame.itertuples(index=False)}


def check_file(path: Path, name: str, metadata: Metadata | None) -> None:
    """Raise BadInputError if a file does not fit the metadata of its data set and fold.

    Parameters
    ----------
    path : path
        Where the file lies, under any name.
    name : str
        Its name in the layout, one of FILES.
    metadata : Metadata or None
        Metadata of the task. None if the file is the metadata.json.
    """
    if metadata is None:
        read_metadata(path)
        return
    kind, part = name.split(".")[0].split("-")
    if kind == "pred":
        check_size(path, metadata, part)
    else:
        check_count(path, read_labels(path), metadata, part)


def check_size(path: Path, metadata: Metadata, part: str) -> None:
    """Raise BadInputError if the size of a file of predictions does not fit its metadata."""
    size = file_stamp(path)[1]
    if size != metadata.bytes(part):
        raise BadInputError(
            f"{path} has {size:,} bytes, but shape {list(metadata.shapes[part])} in "
            f"{metadata.dtype} needs {metadata.bytes(part):,}."
        )


def check_count(path: Path, labels: NDArray[Any], metadata: Metadata, part: str) -> None:
    """Raise BadInputError if the number of labels differs from the number of predicted rows."""
    rows = metadata.shapes[part][1]
    if len(labels) != rows:
        raise BadInputError(
            f"{path} has {len(labels)} labels for {rows} rows of predictions; the numbers must be "
            "equal."
        )


def stored_name(dataset: str) -> str:
    """Return the folder name of a data set."""
    return str(dataset).replace(".", "_")
