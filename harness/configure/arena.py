"""Families of problems on which an arena compares the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.configure import rules
from harness.configure.rules import Rule, option
from harness.errors import BadInputError


def _are_families(value: Any) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, str) and value != ""
    if not all(rules.is_list_of(str, problems) for problems in value.values()):
        return False
    problems = [name for names in value.values() for name in names]
    return bool(problems) and len(problems) == len(set(problems))


@dataclass(frozen=True)
class Arena:
    """The option `arena`.

    families      problem ids by the name of their family, or the experiment that has them
    development   names of the families on which our own estimators were developed; null for none
    """

    families: dict[str, list[str]] | str = option(
        Rule(
            "{NAME: [problem ids]} is needed, each problem once, or the id of an experiment",
            _are_families,
        )
    )
    development: list[str] | None = option(rules.or_null(rules.TEXTS), default=None)

    @classmethod
    def from_value(cls, value: Any) -> Arena | None:
        """Check a value of the option; null is None."""
        if value is None:
            return None
        arena = rules.read_options(cls, "arena", value)
        unknown = set(arena.development or []) - set(arena.families)
        if isinstance(arena.families, dict) and unknown:
            raise BadInputError(
                f"arena.development is {arena.development!r}; a list of names of arena.families is "
                "needed."
            )
        return arena
