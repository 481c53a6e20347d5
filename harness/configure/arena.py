"""The option `arena`: families of problems on which all estimators are compared."""

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
    """Value of the option `arena`.

    families      {name of a family: [problem ids]}, or the id of an experiment whose families are
                  used
    development   names of the families that were used to develop new estimators; null for none
    """

    families: dict[str, list[str]] | str = option(
        Rule(
            "give {NAME: [problem ids]} with each problem once, or the id of an experiment",
            _are_families,
        )
    )
    development: list[str] | None = option(rules.or_null(rules.TEXTS), default=None)

    @classmethod
    def from_value(cls, value: Any) -> Arena | None:
        """Return a checked value of the option as an `Arena`. None stays None."""
        if value is None:
            return None
        arena = rules.read_options(cls, "arena", value)
        unknown = set(arena.development or []) - set(arena.families)
        if isinstance(arena.families, dict) and unknown:
            raise BadInputError(
                f"arena.development is {arena.development!r}; give a list of names from "
                "arena.families."
            )
        return arena
