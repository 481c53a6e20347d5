"""Limits for the CI of a model: --fail-above top_label.l1.high=0.05. The names are those of `harness.judging.as_json`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.errors import BadInputError, guess
from harness.judging.as_json import numbers
from harness.judging.findings import Findings
from harness.math.notions import NOTIONS

HEADS = (
    *NOTIONS,
    "confidence_gap",
    "log_loss",
    "brier",
    "worst_class",
    "class",
    "group",
    "difference",
)
EXAMPLE = "such as top_label.l1.high=0.05"


@dataclass(frozen=True)
class Threshold:
    """A number of the judgement by its short name, and what it may be at most."""

    name: str
    limit: float


def parsed(text: str) -> Threshold:
    """The threshold that a text NAME=LIMIT gives; a name may hold = itself.

    Raises
    ------
    BadInputError
        If there is no limit, or no judgement has a number of such a name.

    Examples
    --------
    >>> parsed("top_label.l1.high=0.05")
    Threshold(name='top_label.l1.high', limit=0.05)
    """
    name, equals, limit = text.rpartition("=")
    if not equals or not name:
        raise BadInputError(f"--fail-above is {text!r}; NAME=LIMIT is needed, {EXAMPLE}.")
    try:
        value = float(limit)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise BadInputError(
            f"--fail-above {name} has the limit {limit!r}; a number is needed, {EXAMPLE}."
        )
    head = name.partition(".")[0]
    if ":" not in name and head not in HEADS:
        raise BadInputError(
            f"--fail-above names {name!r}{guess(head, HEADS)}; names begin with {', '.join(HEADS)}."
        )
    return Threshold(name, value)


def exceeded(judgement: Findings, thresholds: Iterable[Threshold]) -> list[str]:
    """A sentence on each threshold whose number is above its limit, in their order.

    Raises
    ------
    BadInputError
        If a number does not exist in this judgement, or has no value; it says which names there are, or why there is none.
    """
    have = numbers(judgement)
    found = []
    for one in thresholds:
        if one.name not in have:
            raise BadInputError(
                f"--fail-above names {one.name!r}{guess(one.name, list(have))}, which this judgement does not have"
                f"{_why(judgement)}; it has {names(list(have))}."
            )
        value, level, reason = (have[one.name][field] for field in ("value", "level", "reason"))
        if value is None:
            raise BadInputError(
                f"--fail-above names {one.name}, which has no value here: {str(reason).rstrip('.')}."
            )
        if value > one.limit:
            at = f" ({100 * level:g} % level)" if level is not None else ""
            found.append(f"{one.name} is {value:.4g}{at}, above the limit of {one.limit:g}.")
    return found


def _why(judgement: Findings) -> str:
    """Why there are fewer names than there could be."""
    why = {
        reason.rstrip(".")
        for question, reason in judgement.unanswered.items()
        if question != "versus"
    }
    return f" ({'; '.join(sorted(why))})" if why else ""


def names(known: Sequence[str]) -> str:
    """The names in short: of a number with its interval one entry, of classes and groups the pattern.

    Examples
    --------
    >>> names(["top_label.l1.value", "top_label.l1.low", "top_label.l1.high", "brier.value", "class.cat.l1.high"])
    'top_label.l1.value|low|high, brier.value, class.NAME.l1.high'
    """
    patterns = {"class": "class.NAME.l1", "group": "group.COLUMN.VALUE.gap or .l1"}
    found: dict[str, list[str]] = {}
    for name in known:
        start, dot, end = name.rpartition(".")
        head = name.partition(".")[0]
        ends = found.setdefault(patterns.get(head, start), [])
        if end not in ends:
            ends.append(end)
    return ", ".join(f"{start}.{'|'.join(ends)}" for start, ends in found.items()) or "none"
