"""Read files whose rows may have several labels: `labels=[y_cat,y_dog]`, or a matrix of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.common import data_files
from harness.errors import BadInputError, guess
from harness.judging.labels import LabelsJudgement, judge_labels
from harness.math.class_names import PROBABILITY_NAMES, as_text, find
from harness.sources import files
from harness.sources.forms.columns import matching_names
from harness.sources.forms.terms import LABEL_NAMES

READER = ("labels", "probabilities", "class_names", "split")


def judge_label_file(
    path: str | Path, reader: Mapping[str, Any], level: float
) -> LabelsJudgement | None:
    """Judge a file whose rows may have several labels; None if each row has one label.

    A file has several labels if `reader["labels"]` is a list of at least two names of columns, or
    if its labels are a matrix (n, k) of 0 and 1 with rows that do not have one 1 each. The
    probabilities are `reader["probabilities"]`, a list of as many columns in the same order or the
    name of a matrix. By default they are the matrix with a known name, or the columns p_X for
    labels y_X (or X).

    Raises
    ------
    BadInputError
        If columns are absent, or if an option does not apply to several labels.
    """
    names: Any = reader.get("labels")
    is_list = isinstance(names, (list, tuple)) and len(names) > 1
    if not is_list and Path(path).suffix != ".npz":
        return None
    arrays = files.arrays(data_files.find(str(path)), reader.get("split", "test"))
    if is_list:
        labels = [str(name) for name in names]
        y = np.column_stack([_column(arrays, name, path) for name in labels])
    else:
        known = [names] if isinstance(names, str) else matching_names(arrays, LABEL_NAMES)
        name = find(as_text(known[0]), list(arrays)) if known else None
        y = np.zeros(0) if name is None else np.asarray(arrays[name])
        if y.ndim != 2 or y.shape[1] < 2 or y.dtype.kind not in "biuf":
            return None  # `from_file` reads the labels, or says why it cannot
        if bool((y.sum(axis=1) == 1).all()):
            return None
        labels = [str(j) for j in range(y.shape[1])]
    if other := [name for name in reader if name not in READER]:
        raise BadInputError(
            f"{path} has several labels per row, which are read without {other[0]}=; leave it out."
        )
    p = _probabilities(arrays, reader.get("probabilities"), labels, path)
    classes = reader.get("class_names") or [name.removeprefix("y_") for name in labels]
    return judge_labels(p, y, classes=classes, name=Path(path).stem, level=level)


def _probabilities(
    arrays: dict[str, NDArray[Any]], names: Any, labels: Sequence[str], path: str | Path
) -> NDArray[Any]:
    if isinstance(names, str):
        return np.asarray(_column(arrays, names, path))
    if names is None:
        known = matching_names(arrays, PROBABILITY_NAMES)
        if len(known) == 1 and np.ndim(arrays[known[0]]) == 2:
            return np.asarray(arrays[known[0]])
        names = [f"p_{name.removeprefix('y_')}" for name in labels]
    if len(names) != len(labels):
        raise BadInputError(
            f"probabilities names {len(names)} columns and labels {len(labels)}; name one column "
            "of probabilities for each label, in the same order."
        )
    return np.column_stack([_column(arrays, str(name), path) for name in names])


def _column(arrays: dict[str, NDArray[Any]], name: str, path: str | Path) -> NDArray[Any]:
    column = find(as_text(name), list(arrays))
    if column is None:
        raise BadInputError(
            f"{path} has no column {name!r}{guess(name, list(arrays))}; name the columns by "
            "labels=[NAME,...] and probabilities=[NAME,...]."
        )
    return np.asarray(arrays[column])
