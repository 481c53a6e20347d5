"""A file of predictions and labels, a user's own or a published one, as a problem without known truth."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from harness.common import data_files
from harness.errors import BadInputError
from harness.math.notions import checked
from harness.sources import files, packs
from harness.sources.forms.terms import Asked


@dataclass(frozen=True)
class Predictions:
    """Rows of a file of predictions and labels: npz, csv, parquet, or logits as their authors published them.

    problem=predictions problem.predictions.path=preds.csv
    problem=predictions problem.predictions.path=preds.npz problem.predictions.logits=scores problem.predictions.labels=truth

    Arrays and columns are found by their names, and one line says how the file was read, such as `preds.csv: 2,000 rows;
    classes: cat, dog, cow; probability columns proba_cat, proba_dog, proba_cow; label column y_true`. Nothing is guessed from
    values: a file with other names, or whose labels do not say which column is theirs, is refused with the option that does.

    | what          | names that are recognised, in capitals or not; other names by the option                                 |
    |---------------|----------------------------------------------------------------------------------------------------------|
    | probabilities | p, prob, probs, probability, probabilities, proba, probas, confidence, score, scores, y_prob, y_proba,   |
    |               | y_score, y_pred_proba, y_pred_prob; a column per class: one of these with a number or a class behind it  |
    |               | (p0, proba_1, prob_cat)                                                                                  |
    | logits        | logits, logit; a column per class: logit_0, logits_cat                                                   |
    | labels        | y, labels, label, target, targets, correct, y_true, true_label, ground_truth                             |
    | class names   | classes, class_names, classes_: an array of k names in an npz, taken as `class_names`                    |
    | not used      | all others; the line names them                                                                          |

    | predictions               | labels                                                                                       |
    |---------------------------|----------------------------------------------------------------------------------------------|
    | (n,), one column          | 0 and 1, or booleans: p is the probability of 1; others with `positive` or `class_names`     |
    | (n, k), columns numbered  | 0..k-1, also as text; booleans if k = 2; others with `class_names`                           |
    | from 0, or a list         |                                                                                              |
    | columns named by class    | the names; numbers with `class_names`                                                        |
    | columns numbered otherwise| numbers or names with `class_names`                                                          |

    Formats: .npz with arrays (n,), (n, 1) or (n, k); .csv and .tsv, also .gz, separated by commas, semicolons or tabs, with
    decimal commas where the separator is none, names of columns in the first line; .parquet, also with lists in a column.
    Published logits: .p and .pkl, .safetensors, a folder with nll_logits.npy and nll_labels.npy. Numbers must be probabilities
    in [0, 1] whose rows sum to 1 within 1e-4, or logits, which become probabilities by softmax, or by the logistic function if
    there is one column; rows that sum to 1 are refused as logits.

    Parameters
    ----------
    path : str
        The file, as given or below the folder that CALHARNESS_DATA names.
    probabilities, logits : str or list of str, optional
        The array, the columns' common beginning, or a list of columns in the order of the classes.
    labels : str, optional
        The array or column of labels.
    top_label : bool
        Whether a single column holds confidences of predicted labels, and labels say whether each was right; or there are arrays
        confidence, pred_label and true_label.
    split : {"test", "validation"}
        Which part of a file with two parts is taken.
    order : {"random", "file"}
        "file" takes the rows as the file has them, the first n, in every rep.
    float32 : bool
        Whether the softmax is computed in 32 bits, as published pipelines did (confidences near 1 become 1); probabilities are
        rounded to 32 bits.
    renormalise : bool
        Whether each row is divided by its sum, at most 0.005 k from 1, as rounding to 2 digits leaves it.
    positive : optional
        The label whose probability a single column is; all other labels are 0.
    class_names : list, optional
        Names of the k classes: the labels, or what the labels 0..k-1 are called in turn. Matched with columns that are named by
        class; numbered and unnamed columns, and a list of columns, are in their order.
    by_content : bool
        False seeds what is random by id and checksum, not by the probabilities and labels.

    Notes
    -----
    Estimators that are cheap enough bear an interval from 200 random halves of the rows (bootstrap=N for another number and
    for all estimators, 0 for none; harness.estimators.Bootstrap has the form and its measured coverage). It is for the true
    value, corrected for the bias that shows when rows are fewer: the value of a biased estimator may lie outside of it.

    A rep is a random order of the rows and n its first n rows, without replacement: n = all rows makes every rep the same
    sample. The file's sha256 identifies the problem, not its path. What is random is seeded by `content`, the probabilities and
    labels as read: the same data give the same numbers in every format, under every id, in every folder. (Published files,
    those of `calharness data list`, and families of files are seeded by id and checksum, as they were when the results of the
    papers were computed.)
    A path of data/packs.yaml whose file is absent, or has another checksum, makes the problem `unavailable`: its cells are
    skipped with the reason, and its size is what the listing says.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "preds.csv"
    >>> _ = path.write_text("p,y\\n0.2,0\\n0.7,1\\n0.4,0\\n")
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
    labels: str | None = None
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
        for name, value, allowed in (
            ("split", self.split, ("test", "validation")),
            ("order", self.order, ("random", "file")),
        ):
            if value not in allowed:
                raise BadInputError(f"{name} is {value!r}; allowed are {', '.join(allowed)}.")
        for name in ("top_label", "float32", "renormalise", "by_content"):
            if not isinstance(getattr(self, name), bool):
                raise BadInputError(f"{name} is {getattr(self, name)!r}; allowed are true, false.")
        for name in ("probabilities", "logits", "labels"):
            value = getattr(self, name)
            listed = (
                name != "labels"
                and isinstance(value, (list, tuple))
                and value
                and all(isinstance(v, str) for v in value)
            )
            if not (value is None or isinstance(value, str) or listed):
                more = "" if name == "labels" else " or a list of columns"
                raise BadInputError(f"{name} is {value!r}; the name of an array{more} is needed.")
        if self.class_names is not None and not (
            isinstance(self.class_names, (list, tuple)) and self.class_names
        ):
            raise BadInputError(
                f"class_names is {self.class_names!r}; a list is needed, such as class_names=[cat,dog,cow]."
            )
        if isinstance(self.positive, (list, tuple, dict)):
            raise BadInputError(f"positive is {self.positive!r}; one label is needed.")

    @property
    def _packs(self) -> tuple[packs.Pack, ...]:
        return packs.packs_at(self.path)

    @property
    def _published(self) -> bool:
        """Whether the file is one of data/packs.yaml, wherever it lies."""
        return bool(self._packs) or self._load().sha256 in packs.checksums()

    @property
    def version(self) -> int:
        """2: seeded by content. Published files stay as they were, and with them the records and results of the papers."""
        return 2 if self.by_content and not self._published else 1

    @property
    def unavailable(self) -> str | None:
        """Why the published file cannot be used, and how to get it; None if it can, and for a file of the user's own."""
        published = self._packs
        if not published:
            return None
        try:
            path = data_files.find(self.path)
        except BadInputError as absent:
            return f"{str(absent).rstrip('.')}; {published[0].how}"
        for pack, file in zip(published, data_files.members(path)):
            if pack.sha256 and _sha256(str(file), *data_files.stamp(file)) != pack.sha256:
                return f"{file} is not the published file, whose sha256 is {pack.sha256}; move it away, then {pack.how}"
        return None

    def _load(self) -> Loaded:
        if not self.path:
            raise BadInputError(
                "problem.predictions.path is missing; give the npz, csv or parquet file with probabilities and labels."
            )
        if self.unavailable:
            raise BadInputError(f"{self.unavailable}.")
        path = data_files.find(self.path)
        asked = Asked(*(_hashable(getattr(self, name)) for name in Asked._fields))
        return _read(str(path), self.split, asked, data_files.stamp(path))

    @property
    def _columns(self) -> int:
        """Columns of p, 0 if it is a vector: as loaded, else as listed."""
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
        if self.unavailable:
            return (
                self._packs[0].validation_rows
                if self.split == "validation"
                else self._packs[0].rows
            )
        return len(self._load().y)

    default_n = n_max

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The file and the options that change numbers; newer ones only where not at their default: older records stay valid."""
        sha256 = self._packs[0].sha256 if self.unavailable else self._load().sha256
        changed: dict[str, Any] = {"split": self.split} if self.split != "test" else {}
        changed |= {"order": self.order} if self.order != "random" else {}
        changed |= {"float32": True} if self.float32 else {}
        changed |= {"renormalise": True} if self.renormalise else {}
        changed |= {} if self.positive is None else {"positive": str(self.positive)}
        # once "class_names", in the order of the columns whatever their names: records of that reading are not these
        changed |= {} if self.class_names is None else {"classes": list(map(str, self.class_names))}
        return {
            "sha256": sha256,
            "arrays": [self.probabilities, self.logits, self.labels, self.top_label],
            **changed,
        }

    @property
    def content(self) -> str | None:
        """16 hexadecimal digits of the probabilities and labels as they were read, in their order, and of `top_label`: what the
        random streams are seeded by (harness.common.seeds). None for a published file, or without `by_content`: the streams are
        then seeded by its key."""
        return self._load().content if self.by_content and not self._published else None

    @property
    def described(self) -> str:
        """One line: how the file was understood; or why it cannot be read here."""
        return self.unavailable or self._load().described

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the classes, if the file has any."""
        return self._load().names

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p, y = self._load()[:2]
        if n > len(y):
            raise BadInputError(
                f"n is {n}, but {self.path} holds {len(y)} rows; n can be at most that."
            )
        rows = (np.arange(len(y)) if self.order == "file" else rng.permutation(len(y)))[:n]
        return p[rows], y[rows]

    def truth(self, estimand: str, notion: str | None = None) -> None:
        return None


class Loaded(NamedTuple):
    """A file as read."""

    p: np.ndarray
    y: np.ndarray
    sha256: str
    content: str
    described: str
    names: tuple[str, ...] | None


@lru_cache(maxsize=8)
def _read(path: str, split: str, asked: Asked, stamp: tuple[tuple[int, ...], ...]) -> Loaded:
    p, y, described, names = files.read(path, split, **asked._asdict())
    p, y = checked(p, y)
    return Loaded(p, y, data_files.sha256(path), _content(p, y, asked.top_label), described, names)


def _content(p: np.ndarray, y: np.ndarray, top_label: bool) -> str:
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p  # two columns say what one does
    found = hashlib.blake2b(f"{p.shape} {top_label}".encode(), digest_size=8)
    found.update(np.ascontiguousarray(p, dtype="<f8").data)
    found.update(np.ascontiguousarray(y, dtype="<i8").data)
    return found.hexdigest()


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=256)
def _sha256(path: str, *stamp: tuple[int, ...]) -> str:
    return data_files.sha256(path)
