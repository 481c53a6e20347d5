"""Limits on numbers of a judgement, for the CI of a model: --fail-above top_label.l1.high=0.05."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.errors import BadInputError, guess
from harness.judging.answers import Answers
from harness.judging.as_json import numbers
from harness.math.notions import NOTIONS

# First parts of all names. With them a misspelt name is reported before anything is computed.
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
    """The short name of a number in the JSON of a judgement, and its largest allowed value."""

    name: str
    limit: float


def parse(text: str) -> Threshold:
    """Parse a text NAME=LIMIT. The name may contain "=".

    Raises
    ------
    BadInputError
        If there is no limit, or if no judgement can have a number with this name.

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
    head = name.partition(".")[0]
    if ":" not in name and head not in HEADS:
        raise BadInputError(
            f"--fail-above names {name!r}{guess(head, HEADS)}; names begin with {', '.join(HEADS)}."
        )
    return Threshold(name, value)


def exceeded(judgement: Answers, thresholds: Iterable[Threshold]) -> list[str]:
    """Return a sentence for each number that is above its limit.

    Raises
    ------
    BadInputError
        If this judgement lacks the number, or if the number has no value.
    """
    table = numbers(judgement)
    sentences = []
    for threshold in thresholds:
        name = threshold.name
        if name not in table:
            reasons = [
                why for question, why in judgement.unanswered.items() if question != "versus"
            ]
            raise BadInputError(
                f"--fail-above names {name!r}{guess(name, list(table))}, but this judgement has no "
                f"such number; --json lists all names. {' '.join(dict.fromkeys(reasons))}".strip()
            )
        value, level, reason = table[name].values()
        if value is None:
            raise BadInputError(
                f"--fail-above names {name}, which has no value for these predictions: "
                f"{reason.rstrip('.')}."
            )
        if value > threshold.limit:
            about = f" ({100 * level:g} % level)" if level is not None else ""
            sentences.append(
                f"{name} is {value:.4g}{about}, above the limit of {threshold.limit:g}."
            )
    return sentences
