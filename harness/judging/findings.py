"""The answers about predictions as plain values, of which page, text and JSON are made.

Values are in the unit of the estimand, never percent. A number that cannot be given is None, and
`reason` says why. Sentences claim only what holds at the stated level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from harness.evaluation.reliability import Panel
    from harness.judging.saved import FittedMap

QUESTIONS = {
    "calibrated": "Is it calibrated?",
    "how_far": "How far off is it, and how sure is that?",
    "where": "Where is it off?",
    "gains": "What would it gain to recalibrate?",
    "versus": "Which model is better?",
}


@dataclass(frozen=True)
class Judged:
    """Predictions to be judged.

    Attributes
    ----------
    name : str
        Name of the model: the file's name without its ending, or "predictions".
    p : ndarray (n, k)
        Probabilities; k = 2 for a single column, whose values are p[:, 1].
    y : ndarray (n,) of int
        Labels in 0..k-1.
    classes : tuple of str
        Names of the k classes.
    understood : str
        How the file was read, in one line.
    groups : mapping of str to ndarray (n,)
        Other columns that split the rows, by name.
    confidences : bool
        True if p[:, 1] holds confidences and y says which predictions were right. Only top-label
        calibration can then be judged.
    """

    name: str
    p: NDArray[np.float64]
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    understood: str = ""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    confidences: bool = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.p.shape[1])

    @property
    def notions(self) -> tuple[str, ...]:
        """The notions that are judged, the main one first."""
        if self.confidences:
            return ("top_label",)
        return ("binary",) if self.k == 2 else ("top_label", "classwise", "canonical")


@dataclass(frozen=True)
class Interval:
    """A value with its interval. `low` or `high` is None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95

    def with_zero(self) -> Interval:
        """Return the interval extended to 0.

        Examples
        --------
        >>> Interval(0.2, 0.1, 0.3).with_zero().low, Interval(-0.2, -0.3, -0.1).with_zero().high
        (0.0, 0.0)
        """
        low = None if self.low is None else min(self.low, 0.0)
        high = None if self.high is None else max(self.high, 0.0)
        return replace(self, low=low, high=high)

    @property
    def sign(self) -> int:
        """1 if the interval is above 0, -1 if it is below, else 0."""
        if self.low is not None and self.low > 0.0:
            return 1
        return -1 if self.high is not None and self.high < 0.0 else 0


# ---- 1. Is it calibrated?


@dataclass(frozen=True)
class CalibrationTest:
    """A test of calibration under one notion.

    Attributes
    ----------
    adjusted : float or None
        The p-value corrected for the number of tests; `rejected` is adjusted <= 1 - level.
    size : Interval or None
        Share of false alarms at this level on calibrated problems, measured on `size_trials`
        samples at `size_at`, the nearest (n, k) that was measured.
    detectable : float or None
        L1 error of a tempered version of these predictions that the test would have detected with
        probability `power`. Smaller errors could have been missed.
    note : str
        Remarks, such as impossible outcomes, or that only a part of the rows was tested.
    """

    notion: str
    test: str
    statistic: float | None
    p_value: float | None
    adjusted: float | None
    rejected: bool | None
    level: float
    size: Interval | None = None
    size_trials: int = 0
    size_at: tuple[int, int] | None = None
    detectable: float | None = None
    power: float = 0.8
    reason: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Calibrated:
    """The answer to question 1."""

    sentence: str
    rejected: bool | None
    tests: tuple[CalibrationTest, ...]


# ---- 2. How far off, and how sure?


@dataclass(frozen=True)
class ErrorEstimate:
    """An estimate of a calibration error.

    Attributes
    ----------
    kind : str
        point, lower or upper.
    coverage : Interval or None
        Measured coverage of such intervals at `measured_at`, the nearest measured (n, k).
        `coverage_note` says how it was measured, or that it was not.
    regret : float or None
        RMSE over that of the best published estimator, as measured in the arena near this n and k.
    headline : bool
        True for the estimate that is quoted for its notion.
    """

    notion: str
    estimand: str
    estimator: str
    label: str
    interval: Interval
    kind: str
    coverage: Interval | None = None
    coverage_note: str = ""
    regret: float | None = None
    measured_at: tuple[int, int] | None = None
    headline: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class Certified:
    """A bound that is proved at this n under an assumption in words."""

    notion: str
    estimand: str
    interval: Interval
    assumption: str
    reason: str | None = None


@dataclass(frozen=True)
class Direction:
    """Over- or underconfidence: mean confidence minus accuracy (binary: mean p minus frequency)."""

    mean_confidence: float
    accuracy: float
    gap: Interval
    sentence: str


@dataclass(frozen=True)
class Decomposition:
    """A proper score ("brier" or "log") = miscalibration - discrimination + uncertainty.

    `how` says how the miscalibration was estimated.
    """

    score: str
    mean_score: float
    miscalibration: Interval
    discrimination: float
    uncertainty: float
    how: str


@dataclass(frozen=True)
class HowFar:
    """The answer to question 2, with at most four estimates for each notion."""

    sentence: str
    errors: tuple[ErrorEstimate, ...]
    certified: tuple[Certified, ...]
    direction: Direction | None
    scores: tuple[Decomposition, ...]
    disagreement: str | None = None
    cautions: tuple[str, ...] = ()


# ---- 3. Where?


@dataclass(frozen=True)
class ClassFinding:
    """A class against the rest: mean p, frequency, L1 error, p-value corrected for all classes."""

    name: str
    mean_p: float
    frequency: float
    error: Interval
    adjusted: float | None
    sentence: str

    @property
    def stands_out(self) -> bool:
        """True if the class is off by more than chance, at the level of its interval."""
        return self.adjusted is not None and self.adjusted <= 1.0 - self.error.level


@dataclass(frozen=True)
class Region:
    """Rows with scores in [low, high]: mean score, frequency, and share of the whole L1 error."""

    low: float
    high: float
    n: int
    said: float
    happened: Interval
    share: float


@dataclass(frozen=True)
class GroupFinding:
    """Rows of a group: mean score minus frequency, L1 error, p-value corrected for all groups."""

    column: str
    value: str
    n: int
    gap: Interval
    error: Interval
    adjusted: float | None
    sentence: str

    @property
    def stands_out(self) -> bool:
        """True if the group is off by more than chance, at the level of its interval."""
        return self.adjusted is not None and self.adjusted <= 1.0 - self.gap.level


@dataclass(frozen=True)
class Where:
    """The answer to question 3.

    `panels` are reliability diagrams: of all rows first, then of the worst classes. `classes` and
    `groups` are ordered from worst to best, `regions` by score.
    """

    sentence: str
    panels: tuple[Panel, ...]
    classes: tuple[ClassFinding, ...]
    regions: tuple[Region, ...]
    groups: tuple[GroupFinding, ...]
    notes: tuple[str, ...] = ()


# ---- 4. What would it gain to recalibrate?


@dataclass(frozen=True)
class Gain:
    """Score before minus score after a cross-fitted recalibration; positive is better."""

    method: str
    label: str
    log_loss: Interval
    brier: Interval
    reason: str | None = None


@dataclass(frozen=True)
class Gains:
    """The answer to question 4.

    `best` is the method of the largest gain in log-loss whose interval is above 0, or None.
    `fitted` is its map, fitted on all rows.
    """

    sentence: str
    gains: tuple[Gain, ...]
    best: str | None
    fitted: FittedMap | None = None


# ---- 5. Which model is better?


@dataclass(frozen=True)
class PairedDifference:
    """First minus second model on the same rows.

    `better` is the name of the better model; None if the interval holds 0.
    """

    first: str
    second: str
    quantity: str
    label: str
    first_value: float | None
    second_value: float | None
    difference: Interval
    better: str | None
    sentence: str


@dataclass(frozen=True)
class Versus:
    """The answer to question 5."""

    sentence: str
    differences: tuple[PairedDifference, ...]


# ---- All of them


@dataclass(frozen=True)
class Answers:
    """All answers about one file, or about several on the same rows.

    An answer is None if its question was not asked or cannot be answered; `unanswered` then says
    why. `others` are the answers about the second and further files, to questions 1 and 2 only.
    """

    data: Judged
    level: float
    seed: int
    calibrated: Calibrated | None = None
    how_far: HowFar | None = None
    where: Where | None = None
    gains: Gains | None = None
    versus: Versus | None = None
    others: tuple[Answers, ...] = ()
    unanswered: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> dict[str, Any]:
        """The answers by question, without those that are None."""
        answers = {question: getattr(self, question) for question in QUESTIONS}
        return {question: answer for question, answer in answers.items() if answer is not None}

    @property
    def sentences(self) -> list[str]:
        """The answers in one sentence each."""
        return [answer.sentence for answer in self.answers.values()]
