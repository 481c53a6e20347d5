"""The options `figure` and `labels`: layout of figures, and the texts that they show for ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.configure import rules
from harness.configure.rules import Rule, option, or_null

FORMATS = ("png", "svg", "pdf", "eps", "ps", "jpg", "tif", "webp")
QUANTITIES = ("rmse", "bias", "sd")  # errors of estimates that a figure can show in their place


def _is_size(value: Any) -> bool:
    inches = rules.number(0.5, 40, "").allows
    return isinstance(value, list) and len(value) == 2 and all(map(inches, value))


def _are_formats(value: Any) -> bool:
    return isinstance(value, (str, list)) and all(name in FORMATS for name in rules.as_list(value))


@dataclass(frozen=True)
class Figure:
    """Value of the option `figure`: content, layout and file formats of a run's figure.

    conf/config.yaml explains the fields.
    """

    estimand: str | list[str] | None = option(rules.ANYTHING)
    panels_per_row: int = option(rules.integer(1))
    estimators: str | list[str] | None = option(rules.ANYTHING)
    caption: str | None = option(
        or_null(Rule(rules.TEXT.words, lambda value: isinstance(value, str)))
    )
    size: list[float] | None = option(
        or_null(
            Rule(
                "give width and height in inches (each 0.5 to 40), such as 'figure.size=[6.75,3]'",
                _is_size,
            )
        )
    )
    format: str | list[str] | None = option(
        or_null(
            Rule(
                f"give a list from {', '.join(FORMATS)}, such as 'figure.format=[png,pdf]' (png "
                "and svg are always written)",
                _are_formats,
            )
        )
    )
    y: str | None = option(or_null(rules.choice(*QUANTITIES)))
    yscale: str | None = option(or_null(rules.choice("linear", "log")))
    dpi: float | None = option(or_null(rules.number(30, 1200, "200 is usual")))
    font: float | None = option(or_null(rules.number(4, 30, "null is 8 points")))


@dataclass(frozen=True)
class Labels:
    """Value of the option `labels`: {id: text} of the texts that figures and tables show.

    `problem` and `estimator` are the mappings for problems and for estimators.
    """

    problem: dict[str, str] = option(rules.MAPPING)
    estimator: dict[str, str] = option(rules.MAPPING)

    def texts(self, group: str) -> dict[str, str]:
        """Return the mapping for `group`: "problem" or "estimator"."""
        return self.problem if group == "problem" else self.estimator
