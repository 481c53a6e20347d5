"""Define which values an option may have, as a test of the value and in words for messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from typing import Any, TypeVar

from harness.errors import BadInputError, guess

T = TypeVar("T")


class Role(Enum):
    """Aspect of a run that an option influences.

    It decides, for example, whether the option can be swept.
    """

    CELLS = "which cells are computed"
    OPERATION = "where and how fast the cells are computed"
    DRAWING = "how tables and figures show the results"
    EXPERIMENT = "what the experiment consists of"


@dataclass(frozen=True)
class Rule:
    """Allowed values of an option.

    words    end of the message "NAME is VALUE; ...", such as "give a positive integer"
    allows   function that returns True for an allowed value
    """

    words: str
    allows: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> None:
        """Raise BadInputError if the value is not allowed."""
        if not self.allows(value):
            raise BadInputError(f"{name} is {value!r}; {self.words}.")


def option(rule: Rule, role: Role = Role.EXPERIMENT, default: Any = MISSING) -> Any:
    """Return a dataclass field for an option, with its allowed values and its role as metadata."""
    return field(default=default, metadata={"rule": rule, "role": role})


def read_rules(settings: type) -> dict[str, Rule]:
    """Return {name: rule} of the options of a dataclass."""
    return {f.name: f.metadata["rule"] for f in fields(settings) if "rule" in f.metadata}


def check_options(settings: type, values: Mapping[str, Any], prefix: str = "") -> None:
    """Raise BadInputError for a name that is not an option, or for a value that is not allowed.

    Parameters
    ----------
    settings : type
        Dataclass whose fields are the options.
    values : mapping
        {name: value} to check.
    prefix : str
        Text before each name in messages, such as "figure.".
    """
    options = read_rules(settings)
    names = [prefix + name for name in options]
    for name in values:
        if name not in options:
            raise BadInputError(
                f"there is no setting '{prefix}{name}'{guess(f'{prefix}{name}', names)}; allowed "
                f"are {', '.join(names)}."
            )
    for name, rule in options.items():
        rule.check(prefix + name, values.get(name))


def read_options(settings: type[T], name: str, values: Any) -> T:
    """Return an object of the dataclass `settings` with the given values, after a check.

    Parameters
    ----------
    settings : type
        Dataclass whose fields are the keys of the option.
    name : str
        Name of the option in messages.
    values : object
        Value of the option: a mapping {key: value}. Missing keys get their defaults.

    Raises
    ------
    BadInputError
        If `values` is not a mapping, or if a key is unknown or has a value that is not allowed.
    """
    MAPPING.check(name, values)
    options_of_class = fields(settings)  # type: ignore[arg-type]
    whole = {f.name: f.default for f in options_of_class if f.default is not MISSING} | values
    check_options(settings, whole, f"{name}.")
    return settings(**whole)


def option_names(settings: type, *roles: Role) -> tuple[str, ...]:
    """Return the names of the options in the dataclass `settings` that have one of these roles."""
    return tuple(f.name for f in fields(settings) if f.metadata.get("role") in roles)


def is_integer(value: Any, low: float = -float("inf"), high: float = float("inf")) -> bool:
    """Return True for an integer from `low` to `high`. A boolean is not an integer here."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_list_of(kind: type, value: Any) -> bool:
    """Return True for a list whose elements all have the type `kind`."""
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def as_list(value: Any) -> list[Any]:
    """Return a list or tuple as a list, None as [], and any other value as [value]."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def or_null(rule: Rule) -> Rule:
    """Return a rule that allows null (None) in addition to the values of `rule`."""
    return Rule(f"{rule.words}, or null", lambda value: value is None or rule.allows(value))


def integer(low: int) -> Rule:
    """Return a rule that allows integers of at least `low`."""
    return Rule(f"give an integer of at least {low}", lambda value: is_integer(value, low))


def choice(*names: str) -> Rule:
    """Return a rule that allows exactly one of the texts `names`."""
    return Rule(
        f"allowed are {', '.join(names)}", lambda value: isinstance(value, str) and value in names
    )


def is_number(value: Any) -> bool:
    """Return True for an integer or float. A boolean is not a number here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(low: float, high: float, remedy: str) -> Rule:
    """Return a rule that allows numbers from `low` to `high`. Messages end with `remedy`."""
    return Rule(
        f"give a number from {low} to {high} ({remedy})",
        lambda value: is_number(value) and low <= value <= high,
    )


def positive(unit: str) -> Rule:
    """Return a rule that allows positive, finite numbers. Messages call them numbers of `unit`."""
    return Rule(
        f"give a positive number of {unit}",
        lambda value: is_number(value) and 0 < value < float("inf"),
    )


ANYTHING = Rule("any value is allowed", lambda value: True)
TRUTH_VALUE = Rule("allowed are true, false", lambda value: isinstance(value, bool))
TEXT = Rule(
    "give a text, in quotes if it has spaces: 'Two words'",
    lambda value: not isinstance(value, (bool, dict, list)),
)
TEXTS = Rule("give a list of texts, such as [one,two]", lambda value: is_list_of(str, value))
FILE_NAME = Rule(
    "give a file name of letters, digits, '_', '-' and '.'",
    lambda value: isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]*", value) is not None,
)
MAPPING = Rule("give its keys one by one, NAME.KEY=VALUE", lambda value: isinstance(value, dict))
