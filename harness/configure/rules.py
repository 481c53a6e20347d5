"""Rules for the values of options: the allowed values, in words and as a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from typing import Any, TypeVar

from harness.errors import BadInputError, guess

T = TypeVar("T")


class Role(Enum):
    """Role of an option. Sweeps and comparisons of runs treat options by their role."""

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


def option(rule: Rule, role: Role = Role.EXPERIMENT, default: Any = MISSING) -> Any:
    """Return a field of a class of settings: an option with its allowed values and its role."""
    return field(default=default, metadata={"rule": rule, "role": role})


def check_options(settings: type, values: Mapping[str, Any], prefix: str = "") -> None:
    """Raise BadInputError for a name that is no option, or a value that is not allowed."""
    options = {f.name: f.metadata["rule"] for f in fields(settings) if "rule" in f.metadata}
    names = [prefix + name for name in options]
    for name in values:
        if name not in options:
            raise BadInputError(
                f"there is no setting '{prefix}{name}'{guess(f'{prefix}{name}', names)}; allowed "
                "are "
                f"{', '.join(names)}."
            )
    for name, rule in options.items():
        rule.check(prefix + name, values.get(name))


def read_options(settings: type[T], name: str, values: Any) -> T:
    """Return a mapping, the value of the option `name`, as an object of a class of settings.

    Raises
    ------
    BadInputError
        If it is no mapping, has an unknown name, or a value that is not allowed.
    """
    MAPPING.check(name, values)
    options_of_class = fields(settings)  # type: ignore[arg-type]
    whole = {f.name: f.default for f in options_of_class if f.default is not MISSING} | values
    check_options(settings, whole, f"{name}.")
    return settings(**whole)


def names_of(settings: type, *roles: Role) -> tuple[str, ...]:
    """Return the names of the options with these roles."""
    return tuple(f.name for f in fields(settings) if f.metadata.get("role") in roles)


def is_integer(value: Any, low: float = -float("inf"), high: float = float("inf")) -> bool:
    """Return True for an integer from `low` to `high`; False for booleans."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_list_of(kind: type, value: Any) -> bool:
    """Return True for a list whose elements all have this type."""
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def as_list(value: Any) -> list[Any]:
    """Return a list or tuple as a list, None as [], and any other value as [value]."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def or_null(rule: Rule) -> Rule:
    """Return the same rule, with null allowed."""
    return Rule(f"{rule.words}, or null", lambda value: value is None or rule.allows(value))


def integer(low: int) -> Rule:
    """Integers of at least `low`."""
    return Rule(f"an integer of at least {low} is needed", lambda value: is_integer(value, low))


def one_of(*names: str) -> Rule:
    """Exactly one of `names`."""
    return Rule(
        f"allowed are {', '.join(names)}", lambda value: isinstance(value, str) and value in names
    )


def is_number(value: Any) -> bool:
    """Return True for a number; False for booleans."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(low: float, high: float, remedy: str) -> Rule:
    """Numbers from `low` to `high`."""
    return Rule(
        f"give a number from {low} to {high} ({remedy})",
        lambda value: is_number(value) and low <= value <= high,
    )


def positive(unit: str) -> Rule:
    """Positive, finite numbers."""
    return Rule(
        f"a positive number of {unit} is needed",
        lambda value: is_number(value) and 0 < value < float("inf"),
    )


ANYTHING = Rule("any value is allowed", lambda value: True)
TRUTH_VALUE = Rule("allowed are true, false", lambda value: isinstance(value, bool))
TEXT = Rule(
    "a text is needed, in quotes: 'Two words'",
    lambda value: not isinstance(value, (bool, dict, list)),
)
TEXTS = Rule("a list of texts is needed, [one,two]", lambda value: is_list_of(str, value))
FILE_NAME = Rule(
    "it becomes a file name: letters, digits, '_', '-' and '.' are allowed",
    lambda value: isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]*", value) is not None,
)
MAPPING = Rule("it holds settings by name, NAME.KEY=VALUE", lambda value: isinstance(value, dict))
