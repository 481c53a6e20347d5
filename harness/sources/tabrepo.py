"""Repositories in TabRepo's layout: stored predictions of many models on many data sets, read with numpy and pandas alone.

<root>/configs.parquet                              one row per data set, fold and config, with problem_type
<root>/model_predictions/<dataset>/<fold>/
    metadata.json                                   models (row order), pred_val_shape, pred_test_shape, dtype
    pred-val.dat, pred-test.dat                     raw C-order arrays (models, rows) or (models, rows, classes)
    label-val.csv.zip, label-test.csv.zip           first column = row of the original table, second = label

"val" are out-of-fold predictions of bagged models on the training rows of an outer fold, "test" those on its held-out rows.
The order of the models, and which there are, may differ from task to task. Names with '.' are stored with '_'.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.paths import CACHE
from harness.errors import BadInputError

COMMANDS = {
    "tabrepo": "calharness data fetch tabrepo",
    "tabular_oof": "calharness data make tabular_oof",
}
PARTS = ("val", "test")
Probabilities = NDArray[np.float64]  # (n,) of class 1, or (n, k)
FILES = (
    "metadata.json",
    "pred-val.dat",
    "pred-test.dat",
    "label-val.csv.zip",
    "label-test.csv.zip",
)
ROW_SUM_TOLERANCE = 1e-2  # stored in 16 or 32 bits, rows sum to 1 only roughly; beyond this they are no probabilities


class Metadata(NamedTuple):
    """A task's metadata.json: models by row, shapes of the two arrays, their type."""

    models: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    dtype: np.dtype[Any]

    def bytes(self, part: str) -> int:
        """Size of pred-<part>.dat."""
        return int(np.prod(self.shapes[part])) * self.dtype.itemsize


@dataclass(frozen=True)
class Repository:
    """A folder in TabRepo's layout, or one that holds a single such folder as results/<context>.

    predict_val and predict_test give (n,) probabilities of class 1 for two classes and (n, k) for more, float64; rows of the
    latter are divided by their sum, which storage in 16 or 32 bits leaves up to 1e-3 off 1 (refused beyond 1e-2).
    labels_val and labels_test give (n,) int64 labels 0..k-1. Only the wanted model's row is read from disk. Regression data
    sets are listed, told apart by `problem_type`, and refused where class probabilities are asked for.
    """

    root: Path

    def __post_init__(self) -> None:
        root = _root(Path(self.root).expanduser())
        if root is None:
            raise BadInputError(
                f"root is {self.root}, which holds no folder model_predictions, itself or below results/<context>."
            )
        object.__setattr__(self, "root", root)

    def datasets(self) -> list[str]:
        """All data sets with a folder of predictions."""
        folder = self.root / "model_predictions"
        return sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))

    def folds(self, dataset: str) -> list[int]:
        """The outer folds of a data set, as stored."""
        folder = self.root / "model_predictions" / _stored(dataset)
        if not folder.is_dir():
            raise BadInputError(f"there is no data set {dataset!r} in {self.root}.")
        return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())

    def configs(self, dataset: str, fold: int) -> list[str]:
        """The configs with predictions for a task, in their stored order."""
        return list(self.metadata(dataset, fold).models)

    def problem_type(self, dataset: str) -> str:
        """binary, multiclass or regression, by configs.parquet."""
        path = self.root / "configs.parquet"
        known = _problem_types(str(path), *_stamp(path))
        kind = known.get(_stored(dataset))
        if kind not in ("binary", "multiclass", "regression"):
            raise BadInputError(
                f"{path} gives {kind} as problem_type of {dataset!r}; it must be binary, multiclass or regression."
            )
        return kind

    def metadata(self, dataset: str, fold: int) -> Metadata:
        """The task's metadata.json, checked."""
        path = self.folder(dataset, fold) / "metadata.json"
        return _metadata(str(path), *_stamp(path))

    def folder(self, dataset: str, fold: int) -> Path:
        """Where the files of a task are, or would be."""
        return self.root / "model_predictions" / _stored(dataset) / str(fold)

    def missing(self, dataset: str, fold: int) -> list[str]:
        """Those of the files that predict_val needs which are not there."""
        folder = self.folder(dataset, fold)
        return [
            name
            for name in ("metadata.json", "pred-val.dat", "label-val.csv.zip")
            if not (folder / name).is_file()
        ]

    def shape(self, dataset: str, fold: int) -> tuple[int, int]:
        """(validation rows, classes) of a task; 1 "class" for regression."""
        shape = self.metadata(dataset, fold).shapes["val"]
        kind = self.problem_type(dataset)
        if (len(shape) == 3) != (kind == "multiclass"):
            raise BadInputError(
                f"{dataset}, fold {fold} is {kind} by configs.parquet, but its predictions have shape {shape}."
            )
        return shape[1], shape[2] if len(shape) == 3 else 1 if kind == "regression" else 2

    def predict_val(self, dataset: str, fold: int, config: str) -> Probabilities:
        """Out-of-fold probabilities of the training rows: (n,) or (n, k)."""
        return self._probabilities(dataset, fold, config, "val")

    def predict_test(self, dataset: str, fold: int, config: str) -> Probabilities:
        """Probabilities of the held-out rows: (n,) or (n, k)."""
        return self._probabilities(dataset, fold, config, "test")

    def labels_val(self, dataset: str, fold: int) -> NDArray[np.int64]:
        """Labels of the training rows, (n,) in 0..k-1."""
        return self._labels(dataset, fold, "val")

    def labels_test(self, dataset: str, fold: int) -> NDArray[np.int64]:
        """Labels of the held-out rows, (n,) in 0..k-1."""
        return self._labels(dataset, fold, "test")

    def stored_bytes(self, dataset: str, fold: int, config: str) -> bytes:
        """What one config's validation predictions are on disk: what identifies them."""
        return self._row(dataset, fold, config, "val").tobytes()

    def _row(self, dataset: str, fold: int, config: str, part: str) -> NDArray[Any]:
        about = self.metadata(dataset, fold)
        if config not in about.models:
            raise BadInputError(
                f"{dataset}, fold {fold} has no config {config!r}; it has {len(about.models)}, e.g. {about.models[0]}."
            )
        path = self.folder(dataset, fold) / f"pred-{part}.dat"
        check_size(path, about, part)
        return np.array(
            np.memmap(path, about.dtype, "r", shape=about.shapes[part])[about.models.index(config)]
        )

    def _probabilities(self, dataset: str, fold: int, config: str, part: str) -> Probabilities:
        self._refuse_regression(dataset)
        self.shape(dataset, fold)
        values = self._row(dataset, fold, config, part).astype(np.float64)
        where = f"pred-{part}.dat of {dataset}, fold {fold}, {config}"
        highest = 1.0 if values.ndim == 1 else 1.0 + ROW_SUM_TOLERANCE
        if not ((values >= 0.0) & (values <= highest)).all():  # also false for NaN
            raise BadInputError(
                f"{where} holds {values.min():.6g} to {values.max():.6g}; probabilities must lie in [0, 1]."
            )
        if values.ndim == 1:
            return values
        sums = values.sum(axis=1, keepdims=True)
        worst = int(np.argmax(np.abs(sums - 1.0)))
        if abs(sums[worst, 0] - 1.0) > ROW_SUM_TOLERANCE:
            raise BadInputError(
                f"{where}: row {worst} sums to {sums[worst, 0]:.6g}; allowed is 1 within {ROW_SUM_TOLERANCE:g}."
            )
        shares: Probabilities = values / sums
        return shares

    def _labels(self, dataset: str, fold: int, part: str) -> NDArray[np.int64]:
        self._refuse_regression(dataset)
        path = self.folder(dataset, fold) / f"label-{part}.csv.zip"
        labels = _read_labels(str(path), *_stamp(path))
        rows, classes = self.metadata(dataset, fold).shapes[part][1], self.shape(dataset, fold)[1]
        if len(labels) != rows:
            raise BadInputError(
                f"{path} has {len(labels)} labels for {rows} rows of predictions; they must be equally many."
            )
        if labels.dtype.kind not in "iub":
            raise BadInputError(
                f"{path} holds labels of type {labels.dtype}; integers 0..{classes - 1} are needed."
            )
        if labels.min() < 0 or labels.max() >= classes:
            raise BadInputError(
                f"{path} holds labels {labels.min()} to {labels.max()}; integers 0..{classes - 1} are needed."
            )
        return labels.astype(np.int64)

    def _refuse_regression(self, dataset: str) -> None:
        if self.problem_type(dataset) == "regression":
            raise BadInputError(
                f"{dataset} is a regression data set; it has no class probabilities."
            )


def find(path: str) -> Repository:
    """The repository at a path as given (relative to the working folder), below the folder that CALHARNESS_DATA names, or in the
    project's cache folder. A folder of that name that is no repository is passed over."""
    places = _places(path)
    for place in places:
        if _root(place) is not None:
            return Repository(place)
    raise BadInputError(
        f"there is no repository {path}, looked for at {', '.join(map(str, places))}; {_hint(path)}."
    )


def is_there(path: str) -> bool:
    """Whether `find` finds it."""
    return any(_root(place) is not None for place in _places(path))


def absent(path: str) -> str:
    """The reason that a task of a repository which is not there cannot be run: the same on every machine."""
    return f"the repository {Path(path).name} is not at hand; {_hint(path)}"


def _places(path: str) -> list[Path]:
    given = Path(path).expanduser()
    data = os.environ.get("CALHARNESS_DATA")
    below = [] if given.is_absolute() else [*([Path(data).expanduser()] if data else []), CACHE]
    return [given.absolute(), *(folder / given for folder in below)]


def _hint(path: str) -> str:
    command = COMMANDS.get(Path(path).name)
    return (
        f"`{command}` gets it"
        if command
        else "a folder with model_predictions and configs.parquet is needed"
    )


def _root(path: Path) -> Path | None:
    """The folder that has model_predictions: the path itself, or its only results/<context>."""
    if (path / "model_predictions").is_dir():
        return path.resolve()
    inner = sorted(p.parent for p in path.glob("results/*/model_predictions"))
    if len(inner) > 1:
        raise BadInputError(
            f"{path} holds the contexts {', '.join(p.name for p in inner)}; give one of them, as {inner[0]}."
        )
    return inner[0].resolve() if inner else None


def _stored(dataset: str) -> str:
    return str(dataset).replace(".", "_")


def _stamp(path: Path) -> tuple[int, int]:
    """(modified, size): a file that changed is read again."""
    try:
        found = os.stat(path)
    except OSError:
        raise BadInputError(
            f"{path} is not there; every task needs {', '.join(FILES)}, and the repository configs.parquet."
        ) from None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=512)
def _metadata(path: str, modified: int, size: int) -> Metadata:
    return read_metadata(Path(path))


def read_metadata(path: Path) -> Metadata:
    """Read and check a task's metadata.json."""
    try:
        found = json.loads(Path(path).read_text())
        models = tuple(
            sys.intern(str(name)) for name in found["models"]
        )  # the same in hundreds of tasks
        dtype = np.dtype(found["dtype"])
        shapes = {part: tuple(int(s) for s in found[f"pred_{part}_shape"]) for part in PARTS}
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            f"{path} is no metadata of predictions ({type(error).__name__}: {error})."
        ) from error
    if dtype not in (np.float16, np.float32, np.float64):
        raise BadInputError(
            f"{path} gives dtype {dtype}; allowed are float16, float32 and float64."
        )
    if len(set(models)) != len(models):
        raise BadInputError(
            f"{path} names a model twice; every row of predictions needs a name of its own."
        )
    for part, shape in shapes.items():
        if len(shape) not in (2, 3) or shape[0] != len(models) or min(shape) < 1:
            raise BadInputError(
                f"{path} gives pred_{part}_shape {list(shape)} for {len(models)} models; [models, rows(, classes)] is needed."
            )
    return Metadata(models, shapes, dtype)


def check_size(path: Path, about: Metadata, part: str) -> None:
    """Refuse an array file whose size is not that of its shape."""
    size = _stamp(path)[1]
    if size != about.bytes(part):
        raise BadInputError(
            f"{path} has {size:,} bytes; shape {list(about.shapes[part])} in {about.dtype} has {about.bytes(part):,}."
        )


def check_file(path: Path, name: str, about: Metadata | None) -> None:
    """Refuse one of a task's FILES, at `path` under whatever name, that does not fit the task's metadata."""
    if name == "metadata.json":
        read_metadata(path)
        return
    if about is None:
        raise ValueError(f"{name} is checked with the metadata of its task")
    kind, part = name.split(".")[0].split("-")
    if kind == "pred":
        check_size(path, about, part)
        return
    found = len(_labels_of(str(path)))
    if found != about.shapes[part][1]:
        raise BadInputError(
            f"{path} has {found} labels for {about.shapes[part][1]} rows of predictions; they must be equally many."
        )


@lru_cache(maxsize=32)
def _read_labels(path: str, modified: int, size: int) -> NDArray[Any]:
    return _labels_of(path)


def _labels_of(path: str) -> NDArray[Any]:
    """Labels of a label-<part>.csv.zip."""
    try:
        labels: NDArray[Any] = (
            pd.read_csv(path, index_col=0, compression="zip").iloc[:, 0].to_numpy()
        )
        return labels
    except Exception as error:
        raise BadInputError(
            f"{path} cannot be read as zipped csv ({type(error).__name__}: {error})."
        ) from error


@lru_cache(maxsize=4)
def _problem_types(path: str, modified: int, size: int) -> dict[str, str]:
    return read_problem_types(Path(path))


def read_problem_types(path: Path) -> dict[str, str]:
    """{data set: problem_type} of a configs.parquet."""
    try:
        frame = pd.read_parquet(path, columns=["dataset", "problem_type"]).drop_duplicates()
    except Exception as error:
        raise BadInputError(
            f"{path} cannot be read ({type(error).__name__}: {str(error).partition(chr(10))[0]})."
        ) from error
    return {_stored(dataset): kind for dataset, kind in frame.itertuples(index=False)}
