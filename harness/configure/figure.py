"""Settings of figures, and the texts that stand for ids in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.configure import rules
from harness.configure.rules import Rule, option
from harness.errors import BadInputError

FORMATS = ("png", "svg", "pdf", "eps", "ps", "jpg", "tif", "webp")
EXAMPLE_SIZE = "width and height in inches, 0.5 to 40, as in 'figure.size=[6.75,3]', or null"


def _is_size(value: Any) -> bool:
    inches = rules.number(0.5, 40, "").allows
    return value is None or (
        isinstance(value, list)
        and len(value) == 2
        and all(x is not None and inches(x) for x in value)
    )


def _are_formats(value: Any) -> bool:
    names = rules.as_list(value)
    return isinstance(value, (str, list, type(None))) and all(name in FORMATS for name in names)


@dataclass(frozen=True)
class Figure:
    """How a figure is drawn: the options `figure.*`."""

    estimand: str | list[str] | None = option(rules.ANYTHING)
    panels_per_row: int = option(rules.integer(1))
    estimators: str | list[str] | None = option(rules.ANYTHING)
    caption: str | None = option(
        Rule(rules.TEXT.words, lambda value: value is None or isinstance(value, str))
    )
    size: list[float] | None = option(Rule(f"give {EXAMPLE_SIZE}", _is_size))
    format: str | list[str] | None = option(
        Rule(
            f"give a list of {', '.join(FORMATS)}, as in 'figure.format=[png,pdf]' (png and svg are always written)",
            _are_formats,
        )
    )
    dpi: float | None = option(rules.number(30, 1200, "200 is usual"))
    font: float | None = option(rules.number(4, 30, "null is 8 points"))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Figure:
        """Check the values of all options and return them as one object."""
        rules.check_options(cls, values, "figure.")
        return cls(**values)


@dataclass(frozen=True)
class Labels:
    """Texts that stand for the ids of problems and estimators."""

    problem: dict[str, str]
    estimator: dict[str, str]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Labels:
        """Check that both are mappings, or null for none."""
        texts = {group: values.get(group) or {} for group in ("problem", "estimator")}
        if not all(isinstance(one, dict) for one in texts.values()):
            raise BadInputError("labels must map problem and estimator ids to texts.")
        return cls(**texts)

    def of(self, group: str) -> dict[str, str]:
        """Texts of the problems or of the estimators."""
        return self.problem if group == "problem" else self.estimator


NO_LABELS = Labels({}, {})
