"""Known names of arrays in a file of predictions, and types that describe the arrays."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

LOGIT_NAMES = ("logits", "logit", "logprobs", "logprob")
LABEL_NAMES = (
    "y", "labels", "label", "target", "targets", "correct", "y_true", "true_label", "ground_truth",
    "gold",
)  # fmt: skip
CLASS_NAMES = ("classes", "class_names", "classes_")
# names of a confidence, a predicted label and the true one
TOP_LABEL_NAMES = ("confidence", "pred_label", "true_label")
ANSWER_NAMES = ("confidence", "answer", "gold")


class Options(NamedTuple):
    """Options that say how a file is read. `harness.problems.Predictions` documents them.

    All names are texts.
    """

    probabilities: str | tuple[str, ...] | None = None
    logits: str | tuple[str, ...] | None = None
    labels: str | None = None
    top_label: bool = False
    float32: bool = False
    renormalise: bool = False
    positive: str | None = None
    class_names: tuple[str, ...] | None = None


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
    is_bare : bool
        True if nothing but their classes names the arrays.
    """

    title: str
    names: tuple[str, ...]
    classes: tuple[str, ...] | None = None
    is_listed: bool = False
    is_bare: bool = False

    def option(self, name: str) -> str:
        """Return the option `name` that chooses these arrays."""
        return as_option(
            name, self.names if self.is_listed or self.is_bare else self.title.rstrip("*")
        )


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


def as_option(name: str, value: str | Sequence[str]) -> str:
    """Return an option with a name or a list of names, as the shell takes it.

    Examples
    --------
    >>> as_option("labels", "y"), as_option("class_names", ["grade 1", "2"])
    ('labels=y', "'class_names=[grade 1,2]'")
    >>> print(as_option("labels", "it's"))
    'labels="it'"'"'s"'
    """
    names = [value] if isinstance(value, str) else value
    texts = ",".join(map(_quoted, names))
    text = f"{name}={texts}" if isinstance(value, str) else f"{name}=[{texts}]"
    if re.fullmatch(r"[\w.,=\[\]-]*", text):
        return text
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!') else shlex.quote(text)


def _quoted(name: str) -> str:
    """Return a name in quotes, unless configurations read it unchanged without them."""
    if re.fullmatch(r"[A-Za-z0-9_.-]+( [A-Za-z0-9_.-]+)*", name):
        return name
    if "'" not in name:
        return f"'{name}'"
    return '"' + name.replace("\\", r"\\").replace('"', r"\"") + '"'
