"""The answers about predictions as plain values, from which the page, the text and JSON are made.

Values are in the unit of the estimand, never in percent. A missing number is None, and `reason`
explains it. Sentences only state what holds at the stated level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.judging.interval import Interval

if TYPE_CHECKING:
    from harness.judging.saved import FittedMap
    from harness.math.reliability import Panel


# ---- 1. Is it calibrated?


@dataclass(frozen=True)
class CalibrationTest:
    """Result of a test of calibration under one notion.

    Attributes
    ----------
    notion, test : str
        The notion, and a description of the test.
    statistic, p_value : float or None
        The test statistic, and its p-value without correction.
    adjusted : float or None
        The p-value corrected for the number of tests.
    rejected : bool or None
        True if adjusted <= 1 - level.
    size : Interval or None
        Measured rate of false alarms at this level on calibrated problems.
    size_trials, size_at
        Number of samples behind `size`, and their (n, k), the nearest one that was measured.
    detectable : float or None
        L1 error of a tempered version of these predictions that the test would have detected with
        probability `power`. Smaller errors could have been missed.
    reason : str or None
        Reason for a missing result.
    note : str
        Remarks, for instance on impossible outcomes, or that only part of the rows was tested.
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
    """The answer to question 1, whether the predictions are calibrated."""

    sentence: str
    rejected: bool | None
    tests: tuple[CalibrationTest, ...]


# ---- 2. How far off, and how sure?


@dataclass(frozen=True)
class ErrorEstimate:
    """An estimate of a calibration error. Its `kind` is point, lower or upper.

    Attributes
    ----------
    coverage : Interval or None
        Measured coverage of such intervals at `measured_at`, the nearest measured (n, k).
    beyond : str or None
        How the data differ from all those with a measured coverage: "with 30 classes", for example.
    coverage_note : str
        How the coverage was measured, or why it was not.
    regret : float or None
        RMSE of the estimator divided by the RMSE of the best published estimator, as measured in
        the arena near this n and k.
    headline : bool
        True for the estimate that is quoted for its notion.
    reason : str or None
        Reason for a missing estimate.
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
    beyond: str | None = None
    headline: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class Certified:
    """A certified interval: it is proved to hold at this n under `assumption`, a text."""

    notion: str
    estimand: str
    interval: Interval
    assumption: str
    reason: str | None = None


@dataclass(frozen=True)
class Direction:
    """Over- or underconfidence: the mean confidence minus the accuracy.

    For binary predictions, `gap` is the mean of p minus the frequency of class 1. The calibration
    slope then tells over- from underconfidence (`harness.estimators.CalibrationLine`). `slope` and
    `intercept` are None for other predictions, or for the reason `slope_reason`.
    """

    mean_confidence: float
    accuracy: float
    gap: Interval
    sentence: str
    slope: Interval | None = None
    intercept: Interval | None = None
    slope_reason: str | None = None


@dataclass(frozen=True)
class Decomposition:
    """A proper score and its parts: score = miscalibration - discrimination + uncertainty.

    `score` is "brier" or "log", and `mean_score` its value, which may be infinite. `how` tells how
    the miscalibration was estimated. If the score cannot be split, `reason` tells why.
    """

    score: str
    mean_score: float
    miscalibration: Interval
    discrimination: float | None
    uncertainty: float | None
    how: str
    reason: str | None = None


@dataclass(frozen=True)
class ClinicalNumber:
    """A number of the clinical report: short name, label, interval, and why there is none."""

    name: str
    label: str
    interval: Interval
    reason: str | None = None


@dataclass(frozen=True)
class FlexibleCurve:
    """The loess calibration curve at scores (m,), with a pointwise band; None without a band."""

    scores: NDArray[np.float64]
    fit: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    level: float


@dataclass(frozen=True)
class Clinical:
    """The numbers of a clinical report on binary predictions, and the flexible curve."""

    numbers: tuple[ClinicalNumber, ...]
    curve: FlexibleCurve = field(compare=False)


@dataclass(frozen=True)
class HowFar:
    """The answer to question 2, how large the error is, with at most four estimates per notion."""

    sentence: str
    errors: tuple[ErrorEstimate, ...]
    certified: tuple[Certified, ...]
    direction: Direction | None
    scores: tuple[Decomposition, ...]
    disagreement: str | None = None
    cautions: tuple[str, ...] = ()
    clinical: Clinical | None = None


# ---- 3. Where?


@dataclass(frozen=True)
class ClassFinding:
    """Calibration of one class against the rest.

    `mean_p` is the mean prediction, `error` the L1 error, and `adjusted` the p-value corrected for
    the number of classes and of searches.
    """

    name: str
    mean_p: float
    frequency: float
    error: Interval
    adjusted: float | None
    sentence: str

    @property
    def stands_out(self) -> bool:
        """True if calibration of the class is rejected at the level of its interval."""
        return self.adjusted is not None and self.adjusted <= 1.0 - self.error.level


@dataclass(frozen=True)
class Region:
    """Calibration of the n rows with scores from `low` to `high`.

    `said` is the mean score, `happened` the frequency of the event, and `share` the region's
    estimated share of the whole L1 error. `adjusted` is the p-value corrected for the number of
    regions and of searches.
    """

    low: float
    high: float
    n: int
    said: float
    happened: Interval
    share: float
    adjusted: float

    @property
    def stands_out(self) -> bool:
        """True if calibration of the region is rejected at the level of its interval."""
        return self.adjusted <= 1.0 - self.happened.level


@dataclass(frozen=True)
class GroupFinding:
    """Calibration of the rows with one value of a group column.

    `gap` is the mean score minus the frequency, and `error` the L1 error. `adjusted` is the p-value
    for calibration of the group, and `gap_adjusted` the one for a mean score that equals the
    frequency, which is at least `adjusted`. Both are corrected for the number of groups. The
    interval of the gap contains 0 unless `gap_adjusted` rejects.
    """

    column: str
    value: str
    n: int
    gap: Interval
    error: Interval
    adjusted: float | None
    sentence: str
    gap_adjusted: float | None = None

    @property
    def stands_out(self) -> bool:
        """True if the scores of the group are shown to be too high or too low on average."""
        return self.gap.sign != 0


@dataclass(frozen=True)
class Where:
    """The answer to question 3, where the predictions are off.

    `panels` are reliability diagrams, first of all rows, then of the worst classes. `classes` and
    `groups` are ordered from worst to best, `regions` by score. Those that `sentence` names are the
    first of their kind that stands out, and the region with the largest share.
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
    """Gain of a cross-fitted recalibration: score before minus after; positive is better."""

    method: str
    label: str
    log_loss: Interval
    brier: Interval
    reason: str | None = None


@dataclass(frozen=True)
class Gains:
    """The answer to question 4, what recalibration would gain.

    `best` is the recommended method, or None if no interval is above 0. It is the method with the
    largest gain in log-loss among those whose interval is above 0. If there is none, the Brier
    score counts. `fitted` is the map of this method, fitted on all rows.
    """

    sentence: str
    gains: tuple[Gain, ...]
    best: str | None
    fitted: FittedMap | None = None


# ---- 5. Which model is better?


@dataclass(frozen=True)
class PairedDifference:
    """Difference of a quantity between two models on the same rows, first minus second.

    `better` is the name of the better model, or None if the interval contains 0.
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
    """The answer to question 5, which model is better."""

    sentence: str
    differences: tuple[PairedDifference, ...]
