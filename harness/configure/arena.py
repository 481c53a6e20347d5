"""Families of problems that an arena compares the estimators on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.configure.rules import is_list_of
from harness.errors import BadInputError


@dataclass(frozen=True)
class Arena:
    """The option `arena`.

    families      problem ids by the name of their family, or the experiment that has them
    development   names of the families on which our own estimators were developed; null for none
    """

    families: dict[str, list[str]] | str
    development: list[str] | None = None

    @classmethod
    def from_value(cls, value: Any) -> Arena | None:
        """Check a value of the option; null is None."""
        if value is None:
            return None
        fits = isinstance(value, dict) and "families" in value
        if (
            not fits
            or set(value) - {"families", "development"}
            or not _are_families(value["families"])
        ):
            raise BadInputError(
                f"arena is {value!r}; {{families: {{NAME: [problem ids]}}}} is needed, or {{families: EXPERIMENT}}."
            )
        families, development = value["families"], value.get("development")
        if isinstance(families, dict):
            _check_development(families, development or [])
        elif not isinstance(development or [], list):
            raise BadInputError(
                f"arena.development is {development!r}; a list of families is needed."
            )
        return cls(families, development)


def _are_families(families: Any) -> bool:
    if isinstance(families, dict):
        return bool(families) and all(is_list_of(str, problems) for problems in families.values())
    return isinstance(families, str) and families != ""


def _check_development(families: dict[str, list[str]], development: Any) -> None:
    problems = [name for names in families.values() for name in names]
    twice = next((name for name in problems if problems.count(name) > 1), None)
    if twice:
        raise BadInputError(f"arena.families has {twice} twice; a problem is of one family.")
    if not isinstance(development, list) or not set(development) <= set(families):
        raise BadInputError(
            f"arena.development is {development!r}; a list of names of arena.families is needed."
        )
