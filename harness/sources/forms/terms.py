"""The names by which people call probabilities, labels and classes, and what is asked and found of a file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness.math.columns import as_text

LOGIT_NAMES = ("logits", "logit")
LABEL_NAMES = ("y", "labels", "label", "target", "targets", "correct", "y_true", "true_label", "ground_truth")
HARD_NAMES = ("y_pred", "y_hat", "pred", "preds", "prediction", "predictions", "predicted", "predicted_label", "pred_label")
INDEX_NAMES = ("", "id", "index", "idx", "row")
CLASS_NAMES = ("classes", "class_names", "classes_")
TOP_LABEL_NAMES = ("confidence", "pred_label", "true_label")
PAIRS = (("no", "yes"), ("false", "true"), ("negative", "positive"), ("neg", "pos"), ("n", "y"), ("f", "t"))
MISSING = ("nan", "na", "n/a", "<na>", "none", "null", "nat", "-", "?")  # as text among numbers
ROUNDED = 0.005  # what rounding to 2 digits can add to one probability


class Asked(NamedTuple):
    """The options of Predictions that say how a file is read."""

    probabilities: Any = None
    logits: Any = None
    labels: str | None = None
    top_label: bool = False
    float32: bool = False
    renormalise: bool = False
    positive: Any = None
    class_names: tuple | None = None


class Columns(NamedTuple):
    """Probabilities or logits: their name, the arrays they are made of, what these names say of the classes."""

    title: str
    names: tuple[str, ...]
    values: np.ndarray | None  # one array; else the columns are `names`
    classes: tuple[str, ...] | None = None
    numbered: bool = False  # the classes are numbers that may count positions
    listed: bool = False  # the user gave the columns in their order


class Labels(NamedTuple):
    """Labels as distinct values (int, bool, str; None missing, float not whole) and the index of each row's value."""

    title: str
    values: list
    index: np.ndarray
    one_hot: int = 0  # classes of the indicators that they come from, if they do

    @property
    def texts(self):
        return [as_text(v) for v in self.values]

    def row(self, value):
        return int(np.argmax(self.index == self.values.index(value)))
