"""Problem whose samples are rows of a user's file of predictions, without known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.common import data_files
from harness.errors import BadInputError
from harness.math.class_names import as_text
from harness.problems.prediction_files import Loaded, checksum, read_predictions
from harness.sources import packs
from harness.sources.forms.terms import Options

FLAGS = ("top_label", "float32", "renormalise")  # options of a file that are true or false


@dataclass(frozen=True)
class Predictions:
    r"""Rows of a file of predictions and labels: npz, csv, parquet, jsonl, or published logits.

        problem=predictions problem.predictions.path=preds.csv
        problem=predictions problem.predictions.path=preds.npz problem.predictions.logits=scores

    Arrays and columns are recognised by their names. A line of text says how the file was read,
    such as `preds.csv: 2,000 rows; classes: cat, dog, cow; probability columns proba_cat,
    proba_dog, proba_cow; label column y_true`. Nothing is guessed from values. If names are
    unknown, or labels cannot be matched with columns, an error names the options to use.

    | content       | recognised names (upper or lower case); for other names use the option       |
    |---------------|------------------------------------------------------------------------------|
    | probabilities | p, prob, probs, probability, probabilities, proba, probas, confidence,       |
    |               | score, scores, y_prob, y_proba, y_score, y_pred_proba, y_pred_prob; a column |
    |               | per class: one of these followed by a number or a class (p0, proba_1,        |
    |               | prob_cat, prob_class_0), or columns whose whole names are 0..k-1 or the      |
    |               | labels or the `class_names`                                                  |
    | logits        | logits, logit, logprobs, logprob; a column per class: logit_0, logits_cat    |
    | labels        | y, labels, label, target, targets, correct, y_true, true_label,              |
    |               | ground_truth, gold                                                           |
    | class names   | classes, class_names, classes_: an array of k names in an npz, as            |
    |               | `class_names`                                                                |
    | not used      | all other arrays; the line of text lists them                                |

    | predictions                 | allowed labels                                                 |
    |-----------------------------|----------------------------------------------------------------|
    | (n,), one column            | 0 and 1, or booleans: p is the probability of 1; other labels  |
    |                             | with `positive` or `class_names`                               |
    | (n, k), a matrix or a list  | 0..k-1, also as text; booleans if k = 2; other labels with     |
    |                             | `class_names`                                                  |
    | columns named by class      | the names of the columns; numbers with `class_names`           |
    | columns numbered from 0     | 0..k-1; booleans, yes and no if k = 2                          |
    | columns numbered otherwise  | these numbers; numbers from 0 with `class_names`               |
    | True and False, yes and no  | 0 and 1, booleans, yes and no                                  |

    Columns whose names carry numbers or truth values are matched by value, never by their order:
    `prob_class_10` is label 10, `001` is 1, and `p_True` is 1.

    Formats:

    * .npz with arrays (n,), (n, 1) or (n, k).
    * .csv and .tsv, also with .gz. The first line names the columns. Commas, semicolons or tabs
      separate columns; decimal commas are allowed unless commas separate.
    * .parquet, also with a column of lists.
    * .jsonl, also with .gz: JSON Lines, one object per row. An object of numbers, such as
      "logprobs": {"A": -0.1, "B": -2.5}, is a column per key.
    * Published logits: .p and .pkl, .safetensors, or a folder with nll_logits.npy and
      nll_labels.npy.

    Numbers must be logits, or probabilities in [0, 1] whose rows sum to 1 within 1e-4. Values that
    miss [0, 1] by at most 1e-4 become 0 or 1, and the line of text counts them. Rows of numbers of
    16 bits may miss 1 by their rounding, and are divided by their sums. Logits become probabilities
    by softmax, a single column of logits by the logistic function. Rows that sum to 1 are not
    accepted as logits.

    Parameters
    ----------
    path : str
        The file, as given or below the folder in CALHARNESS_DATA.
    probabilities, logits : str or list of str, optional
        Name of the array, common prefix of the columns, or list of columns in the order of classes
        (if their names are neither numbers nor truth values). Names that a configuration reads as
        values, such as 0, true and null in a list, are names here, too.
    labels : str, optional
        Name of the array or column of labels. Write null in quotes: "'null'".
    top_label : bool
        True if a single column holds confidences of predicted labels, and y is 1 where the
        predicted label was right. Files with the arrays confidence, pred_label and true_label need
        True, too, and so do files with confidence, answer and gold. Confidences may then be percent
        ("90%", or numbers from 0 to 100 of which the largest is above 10 and none in (0, 1]).
    split : {"test", "validation"}
        Part of a file that has two parts.
    order : {"random", "file"}
        "file" uses the first n rows of the file in every replication.
    float32 : bool
        If True, compute the softmax in 32 bits, as published pipelines did, and round probabilities
        to 32 bits. Confidences near 1 then become 1.
    renormalise : bool
        If True, divide each row by its sum. The sum may differ from 1 by up to 0.005 k, as for
        probabilities that are rounded to 2 digits.
    positive : optional
        The label whose probability a single column holds. All other labels become 0.
    class_names : list, optional
        Names of the k classes: the labels themselves, or the names of the labels 0, ..., k-1 in
        this order. Columns that are named by class are matched with them by name. Other columns
        must have the order of this list.
    by_content : bool
        If False, random streams are seeded by id and checksum instead of probabilities and labels.

    Notes
    -----
    Cheap estimators get an interval from 200 random halves of the rows. With `bootstrap=N`, all
    estimators get an interval from N random halves; `bootstrap=0` disables the intervals.
    harness.estimators.Bootstrap documents the form of the interval and its measured coverage. The
    interval is for the true value: it is corrected for the bias, which is estimated from smaller
    samples. The value of a biased estimator may therefore lie outside the interval.

    A replication is a random order of the rows, and a sample is its first n rows, without
    replacement. If n is the number of rows, all replications have the same rows.

    The sha256 of the file identifies the problem; the path does not. Random streams are seeded by
    the probabilities and labels as read. The same data therefore give the same results in every
    format, under every id and in every folder. Published files (`calharness data list`) and
    families of files are seeded by id and checksum instead, because the results of the papers were
    computed so.

    If a file of data/packs.yaml is absent or has a wrong checksum, the problem is `unavailable`.
    Runs then skip the problem and state the reason. Its size is taken from data/packs.yaml.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "preds.csv"
    >>> _ = path.write_text("p,y\n0.2,0\n0.7,1\n0.4,0\n")
    >>> problem = Predictions(str(path))
    >>> problem.n_max, problem.notions
    (3, ('binary', 'canonical', 'classwise'))
    >>> p, y = problem.sample(3, np.random.default_rng(0))
    >>> sorted(p.tolist())
    [0.2, 0.4, 0.7]
    """

    path: str = ""
    probabilities: Any = None
    logits: Any = None
    labels: Any = None
    top_label: bool = False
    split: str = "test"
    order: str = "random"
    float32: bool = False
    renormalise: bool = False
    positive: Any = None
    class_names: Any = None
    by_content: bool = True

    default_reps = 1
    rows_of_a_file = True

    def __post_init__(self) -> None:
        allowed: dict[str, tuple[Any, ...]] = {
            "split": ("test", "validation"),
            "order": ("random", "file"),
            **dict.fromkeys((*FLAGS, "by_content"), (True, False)),
        }
        for name, values in allowed.items():
            value = getattr(self, name)
            if value not in values or type(value) is not type(values[0]):
                texts = ", ".join(str(value).lower() for value in values)
                raise BadInputError(f"{name} is {value!r}; allowed are {texts}.")
        for name in ("probabilities", "logits", "labels"):
            value = getattr(self, name)
            names = value if isinstance(value, (list, tuple)) and name != "labels" else [value]
            if not names or any(isinstance(v, (list, tuple, dict)) for v in names):
                more = "" if name == "labels" else " or a list of columns"
                raise BadInputError(f"{name} is {value!r}; the name of an array{more} is needed.")
        if self.class_names is not None and not (
            isinstance(self.class_names, (list, tuple)) and self.class_names
        ):
            raise BadInputError(
                f"class_names is {self.class_names!r}; "
                "a list is needed, such as class_names=[cat,dog,cow]."
            )
        if isinstance(self.positive, (list, tuple, dict)):
            raise BadInputError(f"positive is {self.positive!r}; one label is needed.")

    @property
    def _packs(self) -> tuple[packs.Pack, ...]:
        """Published files at this path."""
        return packs.packs_at(self.path)

    @property
    def _published(self) -> bool:
        """True if the file is one of data/packs.yaml, wherever it lies."""
        return bool(self._packs) or self._load().sha256 in packs.checksums()

    @property
    def version(self) -> int:
        """2 if random streams are seeded by content, else 1.

        Published files keep version 1, so that their records stay valid.
        """
        return 2 if self.by_content and not self._published else 1

    @property
    def unavailable(self) -> str | None:
        """Reason why a published file cannot be used, and how to get it; None for a user's file."""
        published = self._packs
        if not published:
            return None
        try:
            path = data_files.find(self.path)
        except BadInputError as error:
            return f"{str(error).rstrip('.')}; {published[0].remedy}"
        for pack, file in zip(published, data_files.members(path)):
            if pack.sha256 and checksum(str(file), *data_files.stamp(file)) != pack.sha256:
                return (
                    f"{file} is not the published file, whose sha256 is {pack.sha256}; "
                    f"move it away, then {pack.remedy}"
                )
        return None

    def _load(self) -> Loaded:
        """Return the content of the file; BadInputError if it cannot be used."""
        if not self.path:
            raise BadInputError(
                "problem.predictions.path is missing; "
                "give the npz, csv or parquet file with probabilities and labels."
            )
        if self.unavailable:
            raise BadInputError(f"{self.unavailable}.")
        path = data_files.find(self.path)
        values = {name: getattr(self, name) for name in Options._fields}
        names = {name: as_texts(value) for name, value in values.items() if name not in FLAGS}
        options = Options(**{**values, **names})
        return read_predictions(str(path), self.split, options, data_files.stamp(path))

    @property
    def _columns(self) -> int:
        """Number of columns of p, or 0 if p is (n,).

        It is read from the file or, if a published file is absent, from data/packs.yaml.
        """
        if self.unavailable:
            return 0 if self.top_label else self._packs[0].classes or 0
        p = self._load().p
        return 0 if p.ndim == 1 else p.shape[1]

    @property
    def classes(self) -> int:
        return self._columns or 2

    @property
    def notions(self) -> tuple[str, ...]:
        k = self._columns
        if k == 0:
            return ("top_label",) if self.top_label else ("binary", "canonical", "classwise")
        return (*(("binary",) if k == 2 else ()), "top_label", "classwise", "canonical")

    @property
    def default_notions(self) -> tuple[str, ...]:
        return ("binary",) if "binary" in self.notions else self.notions

    @property
    def n_max(self) -> int | None:
        if not self.unavailable:
            return len(self._load().y)
        pack = self._packs[0]
        return pack.validation_rows if self.split == "validation" else pack.rows

    default_n = n_max

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The checksum of the file and the options that change numbers.

        Newer options are included only if they differ from their default, so that older records
        stay valid.
        """
        sha256 = self._packs[0].sha256 if self.unavailable else self._load().sha256
        values: dict[str, Any] = {
            "sha256": sha256,
            "arrays": [self.probabilities, self.logits, self.labels, self.top_label],
        }
        if self.split != "test":
            values["split"] = self.split
        if self.order != "random":
            values["order"] = self.order
        if self.float32:
            values["float32"] = True
        if self.renormalise:
            values["renormalise"] = True
        if self.positive is not None:
            values["positive"] = str(self.positive)
        if self.class_names is not None:
            # The name "class_names" is taken: an earlier version used it and ignored the names of
            # the columns.
            values["classes"] = list(map(str, self.class_names))
        return values

    @property
    def content(self) -> str | None:
        """16 hexadecimal digits that seed the random streams (harness.common.seeds).

        They depend on the probabilities and labels as read, in their order, and on `top_label`. The
        value is None for a published file and without `by_content`. The key of the problem then
        seeds the streams.
        """
        return self._load().content if self.by_content and not self._published else None

    @property
    def described(self) -> str:
        """One line that says how the file was read, or why it cannot be read here."""
        return self.unavailable or self._load().described

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the classes, or None if the file has none."""
        return self._load().names

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of the arrays of the file that were not used."""
        return self._load().unused

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p, y = self._load()[:2]
        if n > len(y):
            raise BadInputError(f"n is {n}, but {self.path} has only {len(y)} rows.")
        rows = (np.arange(len(y)) if self.order == "file" else rng.permutation(len(y)))[:n]
        return p[rows], y[rows]

    def truth(self, estimand: str, notion: str | None = None) -> None:
        return None


def as_texts(value: Any) -> Any:
    """Return a name as text, a list of names as a tuple of texts, and None unchanged.

    A configuration reads names such as 0, 1.5 and true as values.
    """
    if isinstance(value, (list, tuple)):
        return tuple(map(as_text, value))
    return None if value is None else as_text(value)
