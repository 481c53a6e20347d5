"""Known names of arrays in a file of predictions, and types that describe the arrays."""

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
    """Options that say how a file is read. `harness.problems.Predictions` documents them."""

    probabilities: str | tuple[str, ...] | None = None
    logits: str | tuple[str, ...] | None = None
    labels: str | None = None
    top_label: bool = False
    float32: bool = False
    renormalise: bool = False
    positive: Any = None
    class_names: tuple[Any, ...] | None = None


class Columns(NamedTuple):
    """The arrays of a file that hold the probabilities or logits, in the order of the file.

    Parameters
    ----------
    title : str
        How messages call the arrays.
    names : tuple of str
        Names of the arrays.
    classes : tuple of str, optional
        Names of the classes, if there are several arrays that are named by class.
    is_listed : bool
        True if the user listed the arrays, in the order of the classes.
    """

    title: str
    names: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    is_listed: bool = False


class Labels(NamedTuple):
    """Labels of a file: `codes` holds for each row the index of its label in `texts`.

    `title` is how messages call the labels; `are_numbers` is True if all texts are whole numbers.
    """

    title: str
    texts: tuple[str, ...]
    codes: NDArray[np.int64]
    are_numbers: bool

    def first_row(self, text: str) -> int:
        """Return the index of the first row with the given label."""
        return int(np.argmax(self.codes == self.texts.index(text)))
