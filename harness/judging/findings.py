"""What is found about a file of predictions: plain values, of which page, terminal text and JSON are made.

Values are in the unit of the estimand (never percent). A number that cannot be given is None, and `reason` says why in a
sentence. Sentences are whole English sentences of what may be said at the stated level, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from harness.evaluation.reliability import Panel


@dataclass(frozen=True)
class Judged:
    """The predictions that are judged.

    Attributes
    ----------
    name : str
        What the reader calls it: the file's name without its ending, or "predictions".
    p : ndarray (n, k)
        Probabilities; k = 2 for a single column, whose values are p[:, 1].
    y : ndarray (n,) of int
        Labels in 0..k-1.
    classes : tuple of str
        Names of the classes, k of them.
    understood : str
        One line on how the file was read.
    groups : mapping of str to ndarray (n,)
        Other columns that split the rows, by name.
    confidences : bool
        Whether a single column holds confidences of predictions and y says which were right: top-label is all that can be judged.
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
        return len(self.y)

    @property
    def k(self) -> int:
        return int(self.p.shape[1])

    @property
    def notions(self) -> tuple[str, ...]:
        """Those that are judged, the main one first."""
        if self.confidences:
            return ("top_label",)
        return ("binary",) if self.k == 2 else ("top_label", "classwise", "canonical")


@dataclass(frozen=True)
class Interval:
    """A value with its interval. low or high is None where none can be given."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95


# ---- 1. Is it calibrated?


@dataclass(frozen=True)
class CalibrationTest:
    """One test of "the predictions are calibrated" under a notion.

    `adjusted` is the p-value corrected for the number of tests made together; `rejected` is adjusted <= 1 - level. `size` is the
    share of false alarms at this level that was measured on calibrated problems (an Interval over `size_trials` samples at
    `size_at`, the nearest (n, k) that was measured). `detectable` is the L1 error of a tempered version of these predictions
    that the test would have found with probability `power`; errors below it could not have been shown at this n.
    """

    notion: str
    test: str  # plain name
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
    note: str = ""  # what else is to be known: impossible outcomes, a part of the rows only ...


@dataclass(frozen=True)
class Calibrated:
    """The answer to the first question: one sentence, and the tests that it rests on."""

    sentence: str
    rejected: bool | None
    tests: tuple[CalibrationTest, ...]


# ---- 2. How far off, and how sure?


@dataclass(frozen=True)
class ErrorEstimate:
    """One estimate of a calibration error.

    `interval.low/high` bear `interval.level`; `coverage` is what was measured for such intervals in the arena near this n and k
    (None: not measured, and `coverage_note` says so). `regret`: how far its RMSE was above the best published estimator's, there.
    """

    notion: str
    estimand: str  # as in harness.math.estimands
    estimator: str  # id
    label: str  # plain name
    interval: Interval
    kind: str  # point | lower | upper | interval
    coverage: Interval | None = None
    coverage_note: str = ""
    regret: float | None = None
    measured_at: tuple[int, int] | None = None
    headline: bool = False  # the one number that is quoted for its notion
    reason: str | None = None


@dataclass(frozen=True)
class Certified:
    """A bound that holds at this very n under an assumption in words."""

    notion: str
    estimand: str
    interval: Interval
    assumption: str
    reason: str | None = None


@dataclass(frozen=True)
class Direction:
    """Over- or under-confidence: mean confidence minus accuracy of the predicted class (binary: mean p minus rate of class 1)."""

    mean_confidence: float
    accuracy: float
    gap: Interval
    sentence: str


@dataclass(frozen=True)
class Decomposition:
    """A proper score = miscalibration - discrimination + uncertainty, with the calibration part estimated by `how`."""

    score: str  # brier | log
    mean_score: float
    miscalibration: Interval
    discrimination: float
    uncertainty: float
    how: str


@dataclass(frozen=True)
class HowFar:
    """The answer to the second question."""

    sentence: str
    errors: tuple[ErrorEstimate, ...]  # at most five for each notion
    certified: tuple[Certified, ...]
    direction: Direction | None
    scores: tuple[Decomposition, ...]
    # a sentence where estimates differ by more than their intervals allow, with the likely reason
    disagreement: str | None = None
    cautions: tuple[str, ...] = ()  # ties, saturation, n too small, one class only ...


# ---- 3. Where?


@dataclass(frozen=True)
class ClassFinding:
    """One class against the rest: mean p, frequency, estimated L1 error with interval, and its p-value among all classes."""

    name: str
    mean_p: float
    frequency: float
    error: Interval
    adjusted: float | None
    sentence: str


@dataclass(frozen=True)
class Region:
    """Rows with scores in [low, high]: what was said, what happened, the share of the whole L1 error that lies there."""

    low: float
    high: float
    n: int
    said: float
    happened: Interval
    share: float


@dataclass(frozen=True)
class GroupFinding:
    """Rows of one group: gap of mean score and frequency with interval, error, p-value corrected for all groups looked at."""

    column: str
    value: str
    n: int
    gap: Interval
    error: Interval
    adjusted: float | None
    sentence: str


@dataclass(frozen=True)
class Where:
    """The answer to the third question. panels: CORP diagrams with bands, the overall one first, then the worst classes."""

    sentence: str
    panels: tuple[Panel, ...]
    classes: tuple[ClassFinding, ...]  # worst first
    regions: tuple[Region, ...]  # by score
    groups: tuple[GroupFinding, ...]
    notes: tuple[str, ...] = ()


# ---- 4. What would it gain to recalibrate?


@dataclass(frozen=True)
class Gain:
    """Cross-fitted gain of one calibrator: score before minus score after on rows it was not fitted on; positive is better."""

    method: str  # temperature | vector | matrix | isotonic
    label: str
    log_loss: Interval
    brier: Interval
    seconds: float
    reason: str | None = None


@dataclass(frozen=True)
class Gains:
    """The answer to the fourth question. best: the method with the largest gain in log-loss whose interval is above 0, or None.
    fitted: the map of `best` (or of the method asked for) fitted on all rows, ready to be saved."""

    sentence: str
    gains: tuple[Gain, ...]
    best: str | None
    fitted: Any = None


# ---- 5. Which model is better?


@dataclass(frozen=True)
class PairedDifference:
    """First minus second on the same rows; an interval that excludes 0 tells them apart. quantity: accuracy error, log-loss,
    Brier score, calibration error, refinement ..."""

    first: str
    second: str
    quantity: str
    label: str
    first_value: float | None
    second_value: float | None
    difference: Interval
    better: str | None  # name of the better model, None: cannot be told at this n
    sentence: str


@dataclass(frozen=True)
class Versus:
    """The answer to the fifth question."""

    sentence: str
    differences: tuple[PairedDifference, ...]


@dataclass(frozen=True)
class Findings:
    """All that is said about one file, or about several on the same rows. A question that was not asked or cannot be answered is
    None, and `unanswered` says why, by question."""

    data: Judged
    level: float
    seed: int
    calibrated: Calibrated | None
    how_far: HowFar | None
    where: Where | None
    gains: Gains | None
    versus: Versus | None
    others: tuple[
        Findings, ...
    ] = ()  # the second and further files, each with its own answers to questions 1 and 2
    unanswered: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(
        default_factory=dict
    )  # by question; never part of page or JSON unless asked for

    @property
    def sentences(self) -> Sequence[str]:
        """The answers in one sentence each, in the order of the questions."""
        found = (self.calibrated, self.how_far, self.where, self.gains, self.versus)
        return [answer.sentence for answer in found if answer is not None]
