"""Statements of a paper's mathematics, decided by computation.

experiments/<paper>/propositions.py has a tuple CHECKS of functions. Each takes the number of random
draws or cases, and returns a `Proposition`: the statement, what was computed, and how far it is
from failing. The same code also decides a variant of the statement, for instance with another
constant or without one of its conditions. The variant must be decided the other way: a check that
accepts both shows nothing, and is an error.

    from harness.evaluation.propositions import Proposition, largest_deviation

    def tower_property(size):
        right, wrong = deviations(size, scale=1.0), deviations(size, scale=1.01)
        return Proposition(
            place="Lemma 1",
            quote="the errors add up",
            says="risk = calibration error + refinement, for every proper score",
            computed="both sides on chains of three states, by enumeration",
            cases=len(right),
            result=largest_deviation(right, allowed=1e-12),
            variant="with a calibration error that is 1 % larger",
            variant_result=largest_deviation(wrong, allowed=1e-12),
        )

    CHECKS = (tower_property,)

A number that holds on some problems is no proof. `cases` says on how many problems, functions or
points the statement was computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.common.paths import EXPERIMENTS
from harness.common.wording import format_significant
from harness.common.writing import SMALLEST
from harness.errors import BadInputError

DEVIATION, MARGIN = "largest deviation", "smallest margin"
STEM = "propositions"
TEXTS = ("place", "verdict", "quote", "says", "computed", "measure", "variant", "why")
NUMBERS = ("cases", "value", "allowed", "variant_value", "variant_allowed")
SIZE = 100_000  # random draws or cases of a check that has any
VERDICTS = {
    "holds": "the statement held in every case that was computed, within the error that is named",
    "fails": "the statement did not hold in a case that was computed",
    "cannot be tested": "no computation can decide the statement here; the reason is given",
}


@dataclass(frozen=True)
class Result:
    """The largest deviation of an equality, or the smallest margin of an inequality.

    `measure` is DEVIATION or MARGIN. `allowed` is the numerical or Monte Carlo error within which
    an equality or inequality counts as true.
    """

    measure: str
    value: float
    allowed: float

    @property
    def distance(self) -> float:
        """Distance from failure: 0 or above if the statement held in every case."""
        if self.measure == DEVIATION:
            return self.allowed - self.value
        return self.allowed + self.value

    def __str__(self) -> str:
        return f"{self.measure} {describe(self.value, self.allowed)}"


def _rounded(value: float) -> float:
    """Round to three significant digits, and to 0 below 1e-12: more depends on the processor."""
    return 0.0 if abs(value) < SMALLEST else float(f"{value:.2e}")


def largest_deviation(deviations: Iterable[float], allowed: float) -> Result:
    """Return max |deviation|, which is at most `allowed` if the equality holds.

    Examples
    --------
    >>> print(largest_deviation([0.25, -0.5], allowed=1.0))
    largest deviation 0.5 (1 allowed)
    """
    return Result(DEVIATION, float(np.abs(np.fromiter(deviations, dtype=float)).max()), allowed)


def smallest_margin(margins: Iterable[float], allowed: float = 0.0) -> Result:
    """Return min(margin), which is at least -`allowed` if the inequality holds.

    A margin is the larger side minus the smaller side.

    Examples
    --------
    >>> smallest_margin([0.25, -0.5], allowed=1.0).distance
    0.5
    """
    return Result(MARGIN, float(np.fromiter(margins, dtype=float).min()), allowed)


@dataclass(frozen=True)
class Proposition:
    """A statement of a paper, what was computed, and the result.

    Parameters
    ----------
    place : str
        Place in the paper, such as "Proposition 1" or "Equation 7".
    quote : str
        Words of the paper, at most one line.
    says : str
        The statement in our words.
    computed : str
        What was computed, and on which problems.
    cases : int
        Number of problems, functions or points on which it was computed.
    result : Result, optional
        The result over all cases. Default: the statement cannot be tested.
    variant : str
        A variant of the statement that the same code decides the other way: a wrong one if the
        statement holds, a repaired one if it fails.
    variant_result : Result, optional
        The result of the variant.
    why : str
        Reason why a statement cannot be tested, or a remark on one that fails.

    Raises
    ------
    BadInputError
        If the variant is decided like the statement, if a number is NaN, or if a statement without
        a result has no reason.
    """

    place: str
    quote: str
    says: str
    computed: str = ""
    cases: int = 0
    result: Result | None = None
    variant: str = ""
    variant_result: Result | None = None
    why: str = ""

    def __post_init__(self) -> None:
        if self.result is None:
            if not self.why:
                raise BadInputError(f"{self.place} has no result and no reason; give `why`.")
        elif self.variant_result is None:
            raise BadInputError(f"{self.place} has no variant that it rejects; give one.")
        elif math.isnan(self.result.value) or math.isnan(self.variant_result.value):
            raise BadInputError(f"{self.place} has a result that is not a number.")
        elif (self.result.distance >= 0) == (self.variant_result.distance >= 0):
            raise BadInputError(
                f"{self.place}: the variant {self.variant!r} is decided like the statement "
                f"({self.variant_result}; {self.result}), so the check shows nothing; choose a "
                "variant that is decided the other way."
            )

    @property
    def verdict(self) -> str:
        """Verdict on the statement, a key of VERDICTS.

        Examples
        --------
        >>> Proposition("Lemma 1", "", "", why="its constant is not given").verdict
        'cannot be tested'
        """
        if self.result is None:
            return "cannot be tested"
        return "holds" if self.result.distance >= 0 else "fails"

    def row(self) -> dict[str, str | int | float]:
        """Return the row of a table, with the columns TEXTS and NUMBERS."""
        none = Result("", math.nan, math.nan)
        result, variant = self.result or none, self.variant_result or none
        return {
            "place": self.place, "verdict": self.verdict, "quote": self.quote, "says": self.says,
            "computed": self.computed, "cases": self.cases,
            "measure": result.measure, "value": _rounded(result.value), "allowed": result.allowed,
            "variant": self.variant, "variant_value": _rounded(variant.value),
            "variant_allowed": variant.allowed, "why": self.why,
        }  # fmt: skip


def papers() -> list[str]:
    """Return the ids of the papers that have propositions."""
    return sorted(path.parent.name for path in EXPERIMENTS.glob(f"*/{STEM}.py"))


def compute(paper: str, size: int = SIZE) -> pd.DataFrame:
    """Compute the propositions of a paper, and return one row for each.

    `size` is the number of random draws or cases of each check. The columns are TEXTS and NUMBERS.
    """
    checks = import_module(f"{EXPERIMENTS.name}.{paper}.{STEM}").CHECKS
    return pd.DataFrame([check(size).row() for check in checks])


def read(folder: Path, paper: str) -> pd.DataFrame:
    """Read the propositions.csv of a paper from a results folder; no rows if there is no file."""
    path = folder / paper / f"{STEM}.csv"
    if not path.is_file():
        return pd.DataFrame(columns=["place", "verdict"])
    return pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str)).fillna(dict.fromkeys(TEXTS, ""))


def count(frame: pd.DataFrame) -> dict[str, int]:
    """Return {verdict: number of propositions}, without zeros."""
    counts = Counter(frame["verdict"])
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def shown(frame: pd.DataFrame) -> list[dict[str, str]]:
    """Return the texts that pages show for the rows of `compute` or `read`."""
    return [
        {
            "name": f"{row.place}: {row.says}",
            "verdict": row.verdict,
            "quote": row.quote,
            "computed": row.computed,
            "result": describe_result(row),
            "variant": f"{row.variant}: {describe(row.variant_value, row.variant_allowed)}"
            if row.variant
            else "",
        }
        for row in frame.itertuples()
    ]


def describe(value: float, allowed: float) -> str:
    """Return a deviation or margin in words, with the error that is allowed.

    Examples
    --------
    >>> describe(3e-16, 1e-12), describe(0.25, 0.0)
    ('3e−16 (1e−12 allowed)', '0.25')
    """
    text = format_significant(value, 2)
    return f"{text} ({format_significant(allowed, 2)} allowed)" if allowed else text


def describe_result(row: Any) -> str:
    """Return the result of a proposition in words, from a row of `compute` or `read`.

    Examples
    --------
    >>> row = {"verdict": "holds", "cases": 1, "measure": MARGIN, "value": 0.2, "allowed": 0.0}
    >>> describe_result(pd.Series({**row, "why": ""}))
    'holds in one example, smallest margin 0.2'
    """
    why = f"; {row.why}" if row.why else ""
    if row.verdict == "cannot be tested":
        return f"{row.verdict}{why}"
    where = "one example" if row.cases == 1 else f"{row.cases:,} cases"
    return f"{row.verdict} in {where}, {row.measure} {describe(row.value, row.allowed)}{why}"
