"""Rules for the values of options: what is allowed, in words and as a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from harness.errors import BadInputError


class Role(Enum):
    """What an option decides. Sweeps and comparisons of runs treat the options by their role."""

    CELLS = "which cells are computed"
    OPERATION = "how and where the run is done"
    DRAWING = "how the results are shown"
    EXPERIMENT = "what the run is"


@dataclass(frozen=True)
class Rule:
    """Allowed values of an option. `words` completes the sentence "NAME is VALUE; ..."."""

    words: str
    allows: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> None:
        """Raise BadInputError if the value is not allowed."""
        if not self.allows(value):
            raise BadInputError(f"{name} is {value!r}; {self.words}.")


def option(rule: Rule, role: Role = Role.EXPERIMENT) -> Any:
    """A field of a class of settings: an option with its allowed values and its role."""
    return field(metadata={"rule": rule, "role": role})


def check_options(settings: type, values: Mapping[str, Any], prefix: str = "") -> None:
    """Raise BadInputError at the first value that the rule of its field does not allow."""
    for one in fields(settings):
        if "rule" in one.metadata:
            one.metadata["rule"].check(prefix + one.name, values[one.name])


def names_of(settings: type, *roles: Role) -> tuple[str, ...]:
    """Names of the options with these roles."""
    return tuple(one.name for one in fields(settings) if one.metadata.get("role") in roles)


def is_integer(value: Any, low: float = -float("inf"), high: float = float("inf")) -> bool:
    """True for an integer from `low` to `high`; booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_list_of(kind: type, value: Any) -> bool:
    """True for a list with elements of this type alone."""
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def as_list(value: Any) -> list[Any]:
    """None -> [], a single value -> [value], a list stays."""
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def integer(low: int) -> Rule:
    """Integers of at least `low`."""
    return Rule(f"an integer of at least {low} is needed", lambda value: is_integer(value, low))


def one_of(*names: str) -> Rule:
    """Some names."""
    return Rule(
        f"allowed are {', '.join(names)}", lambda value: isinstance(value, str) and value in names
    )


def number(low: float, high: float, remedy: str) -> Rule:
    """Numbers from `low` to `high`, or null."""

    def allows(value: Any) -> bool:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value is None or is_number and low <= value <= high

    return Rule(f"give a number from {low} to {high} ({remedy})", allows)


def positive_or_null(unit: str) -> Rule:
    """Positive, finite numbers, or null."""
    words = f"a positive number of {unit}, or null, is needed"

    def allows(value: Any) -> bool:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value is None or is_number and 0 < value < float("inf")

    return Rule(words, allows)


def _is_file_name(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]*", value) is not None


ANYTHING = Rule("any value is allowed", lambda value: True)
TRUTH_VALUE = Rule("allowed are true, false", lambda value: isinstance(value, bool))
TEXT = Rule(
    "a text is needed, in quotes: 'Two words'",
    lambda value: not isinstance(value, (bool, dict, list)),
)
TEXTS = Rule("a list of texts is needed, [one,two]", lambda value: is_list_of(str, value))
TEXTS_OR_NULL = Rule(
    f"{TEXTS.words}, or null", lambda value: value is None or is_list_of(str, value)
)
FILE_NAME = Rule(
    "it becomes a file name: letters, digits, '_', '-' and '.' are allowed",
    lambda value: value is None or _is_file_name(value),
)
MAPPING = Rule("settings by name are needed, NAME.KEY=VALUE", lambda value: isinstance(value, dict))
