"""Judge multi-label predictions: every label is a binary problem of its own.

A row may have several labels, or none. The p-values of the labels are those of
`harness.judging.gaps.measure_gap`. Holm's correction for their number holds for any dependence
between the labels of a row. Rows must be independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from harness.common.wording import clean, format_count, format_p_value, format_percent
from harness.common.writing import write_text
from harness.errors import BadInputError
from harness.judging.findings import ClassFinding, Where
from harness.judging.gaps import holm, measure_gap, worst_first
from harness.judging.where import DRAWN_CLASSES, FEWEST_IN_REGION, class_finding, score_panel
from harness.judging.words import in_words
from harness.math.arrays import refuse_masked, to_array
from harness.math.class_names import as_text
from harness.math.notions import TOLERANCE, numeric, within_unit

SHOWN = 10  # labels in the text; the page and the table have all


@dataclass(frozen=True, repr=False)
class LabelsJudgement:
    """The judgement of each of several labels, worst first.

    Attributes
    ----------
    name, n, level : str, int, float
        Name of the model, number of rows, and level of each interval and of all tests together.
    labels : tuple of ClassFinding
        Mean prediction, frequency, L1 error with interval, and corrected p-value of each label.
    sentence : str
        How many labels are not calibrated, and which is worst.
    columns : mapping
        {name of a label: its predictions and outcomes, both (n,)}.
    """

    name: str
    n: int
    level: float
    labels: tuple[ClassFinding, ...]
    sentence: str
    columns: Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]] = field(compare=False)

    def __repr__(self) -> str:
        """Return how many labels are not calibrated."""
        return self.sentence

    def __str__(self) -> str:
        """Return the text for a terminal."""
        rows = format_count(self.n, "row")
        level = format_percent(self.level)
        lines = [f"{clean(self.name)}: {rows}, {len(self.labels)} labels (at the {level} level)"]
        lines.append(clean(self.sentence))
        for label in self.labels[:SHOWN]:
            error = in_words(label.error) if label.error.value is not None else "not estimated"
            p_value = format_p_value(label.adjusted)
            lines.append(f"   {clean(label.name)}: L1 error {error}, p {p_value}, {verdict(label)}")
        if len(self.labels) > SHOWN:
            lines.append(f"   and {len(self.labels) - SHOWN} more; to_frame() has all")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per label: mean_p, frequency, value, low, high, p_value, verdict."""
        rows = {
            label.name: {
                "mean_p": label.mean_p,
                "frequency": label.frequency,
                "value": label.error.value,
                "low": label.error.low,
                "high": label.error.high,
                "p_value": label.adjusted,
                "verdict": verdict(label),
            }
            for label in self.labels
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("label")

    def to_json(self) -> dict[str, Any]:
        """Return all values, as `harness.judging.as_json` describes them."""
        from harness.judging.as_json import labels_as_json  # it describes this class

        return labels_as_json(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the judgement as an HTML page, and write it to `path` if that is given.

        Raises
        ------
        BadInputError
            If `path` is a file that `judge` did not write.
        """
        from harness.judging import page  # needs jinja2 and matplotlib, which take a second

        if path is not None:
            page.refuse_other_files(path)
        text = page.labels_html(self)
        if path is not None:
            write_text(path, text)
        return text

    @property
    def where(self) -> Where:
        """The labels in the form of question 3, with the diagrams of the worst ones.

        The first diagram stands for all rows, which have none here, and is that of the worst label.
        """
        about = "predicted probability", "label frequency"
        panels = [
            score_panel((label.name, *about), *self.columns[label.name])
            for label in self.labels[:DRAWN_CLASSES]
        ]
        return Where(self.sentence, (panels[0], *panels), self.labels, (), ())


def verdict(label: ClassFinding) -> str:
    """Return the verdict on a label in two words."""
    return "not calibrated" if label.stands_out else "nothing found"


def has_several_labels(y: Any) -> bool:
    """Return True if y is a matrix with more than one column."""
    shape = np.shape(to_array(y))
    return len(shape) == 2 and shape[1] > 1


def judge_labels(
    p: ArrayLike,
    y: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    name: str = "predictions",
    level: float = 0.95,
) -> LabelsJudgement:
    """Judge each label of multi-label predictions as a binary problem.

    Parameters
    ----------
    p, y : array_like (n, k)
        Probability of each of k labels, and 1 where a row has the label, else 0. The columns of two
        data frames are matched by name.
    classes : sequence, optional
        Names of the labels, in the order of the columns of p.
    name : str
        Name of the model.
    level : float
        Level of each interval, and of all tests together.

    Raises
    ------
    BadInputError
        If p or y cannot be used, or if y holds the one-hot rows of a single label each.

    Examples
    --------
    >>> p = np.tile([0.9, 0.5], (200, 1))
    >>> y = np.column_stack([np.arange(200) % 2, np.arange(200) % 2])
    >>> judge_labels(p, y, classes=["cat", "dog"]).to_frame()["verdict"].to_dict()
    {'cat': 'not calibrated', 'dog': 'nothing found'}
    """
    p, y, names = _checked(p, y, classes)
    k = p.shape[1]
    gaps = [measure_gap(p[:, j], y[:, j], level) for j in range(k)]
    p_values = [0.0 if gap.impossible else gap.p_value for gap in gaps]
    adjusted = holm(p_values)
    findings = [class_finding(names[j], gaps[j], adjusted[j]) for j in range(k)]
    errors = [finding.error.value or 0.0 for finding in findings]
    order = worst_first([finding.stands_out for finding in findings], p_values, errors)
    labels = tuple(findings[j] for j in order)
    columns = {names[j]: (p[:, j], y[:, j]) for j in range(k)}
    sentence = _sentence(labels, level, len(p))
    return LabelsJudgement(name, len(p), level, labels, sentence, columns)


def _sentence(labels: Sequence[ClassFinding], level: float, n: int) -> str:
    off = sum(label.stands_out for label in labels)
    at = f"at the {format_percent(level)} level, corrected for {len(labels)} labels"
    if not off:
        size = "small" if n > FEWEST_IN_REGION else "even large"
        rows = format_count(n, "row")
        return f"No label stands out {at}. With {rows}, {size} errors could have been missed."
    verb = "is" if off == 1 else "are"
    return f"{off} of {len(labels)} labels {verb} not calibrated {at}. {labels[0].sentence}"


def _checked(
    p: Any, y: Any, classes: Sequence[Any] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    """Return validated p and y (n, k), and the names of the labels."""
    refuse_masked("p", p)
    refuse_masked("y", y)
    p, y = to_array(p), to_array(y)
    names = list(map(str, range(np.shape(p)[-1])))
    if hasattr(p, "columns"):
        names = [as_text(column) for column in p.columns]
        if hasattr(y, "columns"):
            if set(p.columns) != set(y.columns):
                raise BadInputError(
                    f"the columns of p are {', '.join(names)}, and those of y are "
                    f"{', '.join(map(str, y.columns))}; give the labels the same names in both."
                )
            y = y[p.columns]
    p, y = numeric("p", p), numeric("y", y)
    if p.shape != y.shape or p.ndim != 2 or len(p) == 0:
        raise BadInputError(
            f"y has shape {y.shape} and p has shape {p.shape}; for rows with several labels, both "
            "hold one column per label, and for rows with one label y has shape (n,)."
        )
    if not np.isin(y, (0, 1)).all():
        row, column = map(int, np.argwhere(~np.isin(y, (0, 1)))[0])
        raise BadInputError(
            f"y holds {y[row, column]:g} at row {row}, column {column}; a label is 1 or 0."
        )
    p = within_unit(p.astype(np.float64))
    is_one_hot = bool((y.sum(axis=1) <= 1).all())
    if is_one_hot and bool((np.abs(p.sum(axis=1) - 1.0) <= TOLERANCE).all()):
        without = format_count(int((y.sum(axis=1) == 0).sum()), "row")
        raise BadInputError(
            "y holds at most one label per row, and the rows of p sum to 1: these are classes of "
            f"which one is true; pass y.argmax(axis=1), without the rows of no label ({without})."
        )
    if classes is not None:
        names = [as_text(label) for label in classes]
        if len(names) != p.shape[1]:
            raise BadInputError(f"classes has {len(names)} names, but p has {p.shape[1]} columns.")
    if len(set(names)) != len(names):
        raise BadInputError("two labels have the same name; give each label its own.")
    return p, y.astype(np.int64), names
