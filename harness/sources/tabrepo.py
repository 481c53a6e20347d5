"""Read repositories in TabRepo's layout: stored predictions of many models on many data sets.

    <root>/configs.parquet                    problem_type of every data set, fold and config
    <root>/model_predictions/<dataset>/<fold>/
        metadata.json                         models in row order, dtype, pred_val_shape and
                                              pred_test_shape
        pred-val.dat, pred-test.dat           C-order arrays (models, rows) or
                                              (models, rows, classes)
        label-val.csv.zip, label-test.csv.zip columns: row of the original table, label

A task is one outer fold of one data set. The "val" files hold out-of-fold predictions of bagged
models on the training rows of the fold, the "test" files predictions on its held-out rows. Tasks
may have different models, or the same models in another order. Folder names have '_' in place of
'.'.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.common.paths import CACHE
from harness.errors import BadInputError
from harness.sources.tabrepo_files import (
    Metadata,
    check_count,
    check_size,
    read_labels,
    read_metadata,
    read_problem_types,
    stored_name,
)

COMMANDS = {
    "tabrepo": "calharness data fetch tabrepo",
    "tabular_oof": "calharness data make tabular_oof",
}
KINDS = ("binary", "multiclass", "regression")
Probabilities = NDArray[np.float64]  # (n,) of class 1, or (n, k)
VALIDATION_FILES = ("metadata.json", "pred-val.dat", "label-val.csv.zip")
# Rows stored in 16 or 32 bits sum to 1 within 1e-3. Rows beyond this tolerance are refused.
ROW_SUM_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Repository:
    """A folder of stored predictions in TabRepo's layout.

    `root` is a folder that contains model_predictions or results/<context>/model_predictions, with
    a single context. A task is a data set and an outer fold; a config is a model.

    Predictions are float64 probabilities of k classes, shape (n, k). For two classes they are the
    probabilities of class 1, shape (n,). Labels are int64 from 0 to k - 1, shape (n,).

    Storage in 16 or 32 bits leaves row sums up to 1e-3 from 1, so each row is divided by its sum.
    Sums more than 1e-2 from 1 raise BadInputError. Only the row of the requested model is read from
    disk. Regression data sets are listed, but have no class probabilities.
    """

    root: Path

    def __post_init__(self) -> None:
        root = _root(Path(self.root).expanduser())
        if root is None:
            raise BadInputError(
                f"root is {self.root}, but neither it nor a folder results/<context> in it "
                "contains model_predictions."
            )
        object.__setattr__(self, "root", root)

    def datasets(self) -> list[str]:
        """Return the folder names of all data sets with predictions."""
        folder = self.root / "model_predictions"
        return sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))

    def folds(self, dataset: str) -> list[int]:
        """Return the stored outer folds of a data set."""
        folder = self.root / "model_predictions" / stored_name(dataset)
        if not folder.is_dir():
            raise BadInputError(f"there is no data set {dataset!r} in {self.root}.")
        return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())

    def configs(self, dataset: str, fold: int) -> list[str]:
        """Return the names of the models with predictions for a data set and fold, as stored."""
        return list(self.metadata(dataset, fold).models)

    def problem_type(self, dataset: str) -> str:
        """Return the problem type that configs.parquet states: binary, multiclass or regression."""
        path = self.root / "configs.parquet"
        kind = read_problem_types(path).get(stored_name(dataset))
        if kind not in KINDS:
            raise BadInputError(
                f"{path} gives {kind} as problem_type of {dataset!r}; it must be binary, "
                "multiclass or regression."
            )
        return kind

    def metadata(self, dataset: str, fold: int) -> Metadata:
        """Return the metadata of a data set and fold."""
        return read_metadata(self.folder(dataset, fold) / "metadata.json")

    def folder(self, dataset: str, fold: int) -> Path:
        """Return the path of the folder of a data set and fold; the folder may be absent."""
        return self.root / "model_predictions" / stored_name(dataset) / str(fold)

    def missing(self, dataset: str, fold: int) -> list[str]:
        """Return the names of the validation files that are absent for a data set and fold."""
        folder = self.folder(dataset, fold)
        return [name for name in VALIDATION_FILES if not (folder / name).is_file()]

    def shape(self, dataset: str, fold: int) -> tuple[int, int]:
        """Return the numbers of validation rows and classes of a data set and fold.

        Regression counts as 1 class.
        """
        shape = self.metadata(dataset, fold).shapes["val"]
        kind = self.problem_type(dataset)
        if (len(shape) == 3) != (kind == "multiclass"):
            raise BadInputError(
                f"configs.parquet says that {dataset}, fold {fold} is {kind}, but its predictions "
                f"have shape {shape}."
            )
        classes = {"binary": 2, "regression": 1, "multiclass": shape[-1]}
        return shape[1], classes[kind]

    def predict_val(self, dataset: str, fold: int, config: str) -> Probabilities:
        """Return out-of-fold probabilities of the training rows, shape (n,) or (n, k)."""
        return self._probabilities(dataset, fold, config, "val")

    def predict_test(self, dataset: str, fold: int, config: str) -> Probabilities:
        """Return probabilities of the held-out rows, shape (n,) or (n, k)."""
        return self._probabilities(dataset, fold, config, "test")

    def labels_val(self, dataset: str, fold: int) -> NDArray[np.int64]:
        """Return the labels 0..k-1 of the training rows, shape (n,)."""
        return self._labels(dataset, fold, "val")

    def labels_test(self, dataset: str, fold: int) -> NDArray[np.int64]:
        """Return the labels 0..k-1 of the held-out rows, shape (n,)."""
        return self._labels(dataset, fold, "test")

    def stored_bytes(self, dataset: str, fold: int, config: str) -> bytes:
        """Return the bytes on disk of the validation predictions of a model.

        A checksum of these bytes identifies the predictions.
        """
        return self._row(dataset, fold, config, "val").tobytes()

    def _row(self, dataset: str, fold: int, config: str, part: str) -> NDArray[Any]:
        """Return the stored predictions of a model for a part ("val" or "test")."""
        metadata = self.metadata(dataset, fold)
        if config not in metadata.models:
            raise BadInputError(
                f"{dataset}, fold {fold} has no config {config!r}; it has {len(metadata.models)} "
                f"configs, such as {metadata.models[0]}."
            )
        path = self.folder(dataset, fold) / f"pred-{part}.dat"
        check_size(path, metadata, part)
        values = np.memmap(path, metadata.dtype, "r", shape=metadata.shapes[part])
        return np.array(values[metadata.models.index(config)])

    def _probabilities(self, dataset: str, fold: int, config: str, part: str) -> Probabilities:
        """Return the validated probabilities of a model for a part ("val" or "test")."""
        self._refuse_regression(dataset)
        self.shape(dataset, fold)
        values = self._row(dataset, fold, config, part).astype(np.float64)
        where = f"pred-{part}.dat of {dataset}, fold {fold}, {config}"
        highest = 1.0 if values.ndim == 1 else 1.0 + ROW_SUM_TOLERANCE
        if not ((values >= 0.0) & (values <= highest)).all():  # also false for NaN
            raise BadInputError(
                f"{where} holds values from {values.min():.6g} to {values.max():.6g}; "
                "probabilities must lie in [0, 1]."
            )
        if values.ndim == 1:
            return values
        sums = values.sum(axis=1, keepdims=True)
        worst = int(np.argmax(np.abs(sums - 1.0)))
        if abs(sums[worst, 0] - 1.0) > ROW_SUM_TOLERANCE:
            raise BadInputError(
                f"{where}: row {worst} sums to {sums[worst, 0]:.6g}; allowed is 1 within "
                f"{ROW_SUM_TOLERANCE:g}."
            )
        shares: Probabilities = values / sums
        return shares

    def _labels(self, dataset: str, fold: int, part: str) -> NDArray[np.int64]:
        """Return the validated labels of a data set and fold for a part ("val" or "test")."""
        self._refuse_regression(dataset)
        path = self.folder(dataset, fold) / f"label-{part}.csv.zip"
        labels, classes = read_labels(path), self.shape(dataset, fold)[1]
        check_count(path, labels, self.metadata(dataset, fold), part)
        if labels.dtype.kind not in "iub":
            raise BadInputError(
                f"{path} holds labels of type {labels.dtype}; integers 0..{classes - 1} are needed."
            )
        if labels.min() < 0 or labels.max() >= classes:
            raise BadInputError(
                f"{path} holds labels from {labels.min()} to {labels.max()}; integers "
                f"0..{classes - 1} are needed."
            )
        return labels.astype(np.int64)

    def _refuse_regression(self, dataset: str) -> None:
        """Raise BadInputError if the data set is a regression data set."""
        if self.problem_type(dataset) == "regression":
            raise BadInputError(
                f"{dataset} is a regression data set; it has no class probabilities."
            )


# Places


def find(path: str) -> Repository:
    """Return the repository of stored predictions at a path.

    A relative path is looked for in the working folder, in the folder that CALHARNESS_DATA names,
    and in the cache, in this order. Folders without predictions are skipped.

    Raises
    ------
    BadInputError
        If none of these folders has the repository.
    """
    places = _places(path)
    for place in places:
        if _root(place) is not None:
            return Repository(place)
    raise BadInputError(
        f"there is no repository {path}, looked for at {', '.join(map(str, places))}; "
        f"{_hint(path)}."
    )


def is_there(path: str) -> bool:
    """Return True if `find(path)` would return a repository."""
    return any(_root(place) is not None for place in _places(path))


def absent(path: str) -> str:
    """Return a clause that says that a repository is missing, and how to get it.

    The text does not depend on the machine, so that records can be compared.
    """
    return f"the repository {Path(path).name} is not at hand; {_hint(path)}"


def _places(path: str) -> list[Path]:
    """Return the paths where a repository may lie, in the order in which they are tried."""
    user_path = Path(path).expanduser()
    data = os.environ.get("CALHARNESS_DATA")
    below = [] if user_path.is_absolute() else [*([Path(data).expanduser()] if data else []), CACHE]
    return [user_path.absolute(), *(folder / user_path for folder in below)]


def _hint(path: str) -> str:
    """Return a clause that says how to get a repository."""
    if command := COMMANDS.get(Path(path).name):
        return f"`{command}` gets it"
    return "a folder with model_predictions and configs.parquet is needed"


def _root(path: Path) -> Path | None:
    """Return the folder that contains model_predictions, or None if there is none.

    This is `path` itself, or its only folder results/<context>. BadInputError if there are several
    contexts.
    """
    if (path / "model_predictions").is_dir():
        return path.resolve()
    inner = sorted(p.parent for p in path.glob("results/*/model_predictions"))
    if len(inner) > 1:
        raise BadInputError(
            f"{path} holds the contexts {', '.join(p.name for p in inner)}; give the path of one "
            f"context, such as {inner[0]}."
        )
    return inner[0].resolve() if inner else None
