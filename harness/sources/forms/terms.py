"""Known names in a file of predictions, and the types that describe its arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

LOGIT_NAMES = ("logits", "logit")
LABEL_NAMES = (
    "y", "labels", "label", "target", "targets", "correct", "y_true", "true_label", "ground_truth",
)  # fmt: skip
CLASS_NAMES = ("classes", "class_names", "classes_")
TOP_LABEL_NAMES = ("confidence", "pred_label", "true_label")


class Options(NamedTuple):
    """Options of `Predictions` on how to read a file."""

    probabilities: str | tuple[str, ...] | None = None
    logits: str | tuple[str, ...] | None = None
    labels: str | None = None
    top_label: bool = False
    float32: bool = False
    renormalise: bool = False
    positive: Any = None
    class_names: tuple[Any, ...] | None = None


class Columns(NamedTuple):
    """Arrays with probabilities or logits, in their order.

    title       name in messages
    names       names of the arrays
    classes     the classes that several columns are named by; None for a single array
    is_listed   the user listed the columns, in the order of the classes
    """

    title: str
    names: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    is_listed: bool = False


class Labels(NamedTuple):
    """Labels as distinct texts, and for each row the position of its text."""

    title: str
    texts: tuple[str, ...]
    codes: NDArray[np.int64]
    are_numbers: bool

    def first_row(self, text: str) -> int:
        """Return the first row with a label."""
        return int(np.argmax(self.codes == self.texts.index(text)))
