"""Limits on numbers of a judgement, for the CI of a model: --fail-above top_label.l1.high=0.05."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError, guess
from harness.judging.answers import Answers
from harness.judging.as_json import NO_VALUE, SCORE_NAMES, named_label_values, named_values
from harness.judging.clinical import LABELS as CLINICAL
from harness.judging.estimates import LABELS as ESTIMATORS
from harness.judging.gain import BINARY, MULTICLASS
from harness.judging.groups import MOST_COLUMNS, split
from harness.judging.judged import Judged
from harness.judging.labels import LabelsJudgement
from harness.judging.versus import QUANTITIES, model_pairs

ENDS = ("value", "low", "high")
EXAMPLE = "such as top_label.l1.high=0.05"


@dataclass(frozen=True)
class Threshold:
    """The short name of a number in the JSON of a judgement, and its largest allowed value."""

    name: str
    limit: float


def parse(text: str) -> Threshold:
    """Parse a text NAME=LIMIT. The name may contain "=".

    Raises
    ------
    BadInputError
        If there is no name or no limit.

    Examples
    --------
    >>> parse("top_label.l1.high=0.05")
    Threshold(name='top_label.l1.high', limit=0.05)
    """
    name, _, limit = text.rpartition("=")
    try:
        value = float(limit)
    except ValueError:
        value = math.nan
    if not name or math.isnan(value):
        raise BadInputError(f"--fail-above is {text!r}; give NAME=LIMIT, {EXAMPLE}.")
    return Threshold(name, value)


def check(thresholds: Iterable[Threshold], models: Sequence[Judged]) -> None:
    """Raise BadInputError for a threshold on a number that no judgement of `models` can have.

    The models have different names (`judge.align`).
    """
    names = sorted(_possible_names(models))
    for threshold in thresholds:
        if threshold.name not in names:
            raise _unknown(threshold.name, names)


def _possible_names(models: Sequence[Judged]) -> Iterator[str]:
    """Yield the names of all numbers that a judgement of these models can have."""
    first, *others = models
    yield from _names_of_model(first)
    for score in SCORE_NAMES.values():
        for method in ("", *(f".{name}" for name in (BINARY if first.k == 2 else MULTICLASS))):
            yield from _with_ends(f"{score}.gain{method}")
    if first.k > 2:
        for name in ("worst_class", *(f"class.{name}" for name in first.classes)):
            yield from _with_ends(f"{name}.l1")
    for column in list(first.groups)[:MOST_COLUMNS]:
        for text in split(column, np.asarray(first.groups[column]))[1]:
            yield from _with_ends(f"group.{column}.{text}.gap")
            yield from _with_ends(f"group.{column}.{text}.l1")
    for one, two in model_pairs(models):
        names = [two.name] if one is first else [one.name, two.name]
        for quantity in QUANTITIES:
            parts = ["difference", *(names if len(others) > 1 else ()), quantity]
            yield from _with_ends(".".join(parts))
    for other in others:
        yield from (f"{other.name}:{name}" for name in _names_of_model(other))


def _names_of_model(data: Judged) -> Iterator[str]:
    """Yield the names of the numbers of the first two questions."""
    for notion in data.notions:
        yield from (f"{notion}.{name}" for name in ("p_value", "rejected", "detectable"))
        for estimator in ("", *(f".{name}" for name in ESTIMATORS)):
            yield from _with_ends(f"{notion}.l1{estimator}")
    yield from (f"{data.notions[0]}.l1.certified.{end}" for end in ENDS[1:])
    yield from _with_ends("confidence_gap")
    if data.notions[0] == "binary":
        for name in CLINICAL:
            yield from _with_ends(f"clinical.{name}")
    for score in SCORE_NAMES.values():
        yield from (f"{score}.{name}" for name in ("value", "discrimination", "uncertainty"))
        yield from _with_ends(f"{score}.miscalibration")


def _with_ends(name: str) -> Iterator[str]:
    return (f"{name}.{end}" for end in ENDS)


def _unknown(name: str, known: Sequence[str], reasons: Iterable[str] = ()) -> BadInputError:
    text = (
        f"--fail-above names {name!r}{guess(name, known)}, but this judgement has no such number; "
        f"--json lists all names. {' '.join(reasons)}"
    )
    return BadInputError(text.strip())


@dataclass(frozen=True)
class Outcome:
    """A number of a judgement and its limit. `level` is None for a number without an interval."""

    threshold: Threshold
    value: float
    level: float | None

    @property
    def is_exceeded(self) -> bool:
        """True if the number is above its limit."""
        return self.value > self.threshold.limit

    @property
    def sentence(self) -> str:
        """The sentence on a number that is above its limit."""
        about = f" ({100 * self.level:g} % level)" if self.level is not None else ""
        name, limit = self.threshold.name, self.threshold.limit
        value = "infinite" if math.isinf(self.value) else f"{self.value:.4g}"
        return f"{name} is {value}{about}, above the limit of {limit:g}."


def outcomes(
    judgement: Answers | LabelsJudgement, thresholds: Iterable[Threshold]
) -> list[Outcome]:
    """Return the number of each threshold.

    Raises
    ------
    BadInputError
        If this judgement lacks the number, or if the number has no value.
    """
    unanswered: Mapping[str, str] = {}
    if isinstance(judgement, LabelsJudgement):
        table = named_label_values(judgement)
    else:
        table, unanswered = named_values(judgement), judgement.unanswered
    result = []
    for threshold in thresholds:
        name = threshold.name
        if name not in table:
            reasons = [why for question, why in unanswered.items() if question != "versus"]
            raise _unknown(name, list(table), dict.fromkeys(reasons))
        value, level, reason = table[name]
        if value is None:
            reason = reason or NO_VALUE
            raise BadInputError(
                f"--fail-above names {name}, which has no value for these predictions: "
                f"{reason.rstrip('.')}."
            )
        result.append(Outcome(threshold, value, level))
    return result
