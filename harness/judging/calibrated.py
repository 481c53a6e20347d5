"""Is it calibrated? Exact tests of the notions, corrected for there being several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from harness.common.wording import format_p_value, format_percent, notion_name
from harness.judging import detectable
from harness.judging.data import reduced
from harness.judging.findings import Calibrated, CalibrationTest, Interval, Judged
from harness.judging.measured import size_of
from harness.judging.scalar_test import ScalarTest, scalar_test
from harness.judging.vector_test import VectorTest, vector_test

Array = NDArray[np.float64]

SCALAR_NAME = "exact resampling test (tilt and smooth departures)"
CLASSWISE_NAME = "the same test of each class by itself, Bonferroni's correction"
VECTOR_NAME = "exact resampling test (temperature, linear and local departures of the whole vector)"
RESAMPLES = 4999
SCREEN, SCREENED = (
    499,
    0.1,
)  # resamples of the first look at a class; those with a p-value of at most 0.1 get a second look
MOST_RESAMPLES = 20_000  # of the second look
STREAMS = ("scalar", "classwise", "canonical", "power")


def tests(data: Judged, level: float, rng: np.random.Generator) -> Calibrated:
    """The answer to the first question.

    Hypotheses and what the resamples are exact for: binary and top-label, P(event given score) = score (`scalar_test`);
    class-wise, that of each class by itself, without any assumption on how the classes depend on one another, hence Bonferroni's
    correction; canonical, the whole vector (`vector_test`). As canonical calibration implies the others, the correction for
    making three tests is that of the closed test with Bonferroni's local tests:

        canonical   3 min(p_t, p_w, p_c)
        top-label   max(p_t, 2 min(p_t, p_w), 3 min(p_t, p_w, p_c)), and likewise class-wise

    so that the probability of any false rejection is at most 1 - level, whichever of the three hold. A rejection of top-label
    calibration is one of canonical calibration.

    Parameters
    ----------
    data : Judged
    level : float
        A notion is rejected if its corrected p-value is at most 1 - level.
    rng : numpy.random.Generator
        Draws the resamples.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> p = np.linspace(0.05, 0.95, 200)
    >>> found = tests(from_arrays(p, (p > 0.5).astype(int)), 0.95, np.random.default_rng(0))
    >>> found.sentence
    'The predictions are not calibrated (binary: p = 0.0002).'
    """
    streams = dict(zip(STREAMS, rng.spawn(len(STREAMS))))
    alpha = (1.0 - level) / len(data.notions)
    made: list[CalibrationTest] = []
    for notion in data.notions:
        p, y = reduced(data, notion)
        if notion == "classwise":
            classes = class_tests(p, y, level, streams["classwise"])
            found = _of_classes(data, classes, level)
            reach = detectable.of_classes(p, [one.test for one in classes], alpha, streams["power"])
        elif notion == "canonical":
            vector = vector_test(p, y, streams["canonical"])
            found = _of_vector(data, vector, level)
            reach = detectable.of_vector(p, vector, alpha)
        else:
            scalar = scalar_test(p, y, streams["scalar"], RESAMPLES)
            found = _of_scalar(notion, scalar, level)
            reach = detectable.of_scalar(p, scalar, alpha, streams["power"])
        made.append(replace(found, detectable=reach, **_size(notion, data.n, data.k, level)))
    adjusted = closed({one.notion: one.p_value if one.p_value is not None else 1.0 for one in made})
    done = tuple(
        replace(
            one,
            adjusted=adjusted[one.notion],
            rejected=bool(adjusted[one.notion] <= 1.0 - level + 1e-12),
        )
        for one in made
    )
    rejected = any(one.rejected for one in done)
    return Calibrated(_sentence(data, done, level), rejected, done)


def closed(p: dict[str, float]) -> dict[str, float]:
    """p-values corrected for there being several tests of which the canonical one, if any, implies the others.

    Examples
    --------
    >>> closed({"top_label": 0.01, "classwise": 0.4, "canonical": 0.2})
    {'top_label': 0.03, 'classwise': 0.4, 'canonical': 0.03}
    """
    if len(p) == 1:
        return dict(p)
    weak = [value for notion, value in p.items() if notion != "canonical"]
    everything = min(1.0, len(p) * min(p.values()))
    found = {}
    for notion, value in p.items():
        together = 0.0 if notion == "canonical" else max(value, min(1.0, len(weak) * min(weak)))
        found[notion] = float(max(everything, together))
    return found


@dataclass(frozen=True)
class ClassTest:
    """The test of one class against the rest, and its p-value: that of a first look, or of a second one at more resamples."""

    test: ScalarTest
    p_value: float


def class_tests(
    p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator, screen: int = SCREEN
) -> list[ClassTest]:
    """The tests of every column of p (n, k) for indicators y (n, k); p-values not corrected for there being k.

    A class whose first p-value, of 499 resamples, is at most 0.1 is looked at a second time with resamples of its own. The
    p-value is the first one where that exceeds 0.1, else the second. That is valid: P(p <= a) is at most P(second <= a) for
    a < 0.1, and at most P(first <= a) from there on.

    Examples
    --------
    >>> p = np.tile([0.5, 0.3, 0.2], (100, 1))
    >>> y = np.eye(3, dtype=int)[np.arange(100) % 3]
    >>> [one.p_value < 0.05 for one in class_tests(p, y, 0.95, np.random.default_rng(0))]
    [True, False, True]
    """
    k = p.shape[1]
    more = int(min(MOST_RESAMPLES, max(2000, 10 * k / (1.0 - level)))) - 1
    found = []
    for j, stream in enumerate(rng.spawn(k)):
        first = scalar_test(p[:, j], y[:, j], stream, screen)
        value = first.p_value
        if 0.0 < value <= SCREENED:
            value = scalar_test(p[:, j], y[:, j], stream, more, first.cells).p_value
        found.append(ClassTest(first, value))
    return found


def _of_scalar(notion: str, test: ScalarTest, level: float) -> CalibrationTest:
    note = ""
    if test.impossible:
        note = f"{_outcomes(test.impossible)} had probability 0; of the rows with probabilities between 0 and 1 the test finds "
        note += f"p = {test.p_possible:.3g}."
    elif test.cells.m == 0:
        note = "All probabilities are 0 or 1 and all outcomes as predicted: there is nothing that a test could see."
    return CalibrationTest(
        notion, SCALAR_NAME, test.p_possible, test.p_value, None, None, level, note=note
    )


def _of_classes(data: Judged, classes: list[ClassTest], level: float) -> CalibrationTest:
    values = np.array([one.p_value for one in classes])
    worst = int(np.argmin(values))
    note = f"The smallest p-value is that of class {data.classes[worst]}, {values[worst]:.3g} before Bonferroni's correction."
    impossible = sum(one.test.impossible for one in classes)
    if impossible:
        note += f" {_outcomes(impossible)} had probability 0."
    if len(values) * 3.0 / MOST_RESAMPLES > 1.0 - level:
        note += f" With {len(values)} classes the resamples are too few to reject by one class, unless an outcome was impossible."
    corrected = float(min(1.0, len(values) * values.min()))
    return CalibrationTest(
        "classwise", CLASSWISE_NAME, float(values.min()), corrected, None, None, level, note=note
    )


def _of_vector(data: Judged, test: VectorTest, level: float) -> CalibrationTest:
    note = f"A random part of {test.rows:,} rows was tested." if test.rows < data.n else ""
    if test.impossible:
        note = f"{_outcomes(test.impossible)} had probability 0. {note}".strip()
    return CalibrationTest(
        "canonical",
        VECTOR_NAME,
        float(test.observed.max()),
        test.p_value,
        None,
        None,
        level,
        note=note,
    )


def _outcomes(count: int) -> str:
    return "1 outcome that occurred" if count == 1 else f"{count:,} outcomes that occurred"


def _size(notion: str, n: int, k: int, level: float) -> dict[str, Any]:
    """What the arena's calibrated problems showed of the test's false alarms at the nearest (n, k); nothing at other levels."""
    row = size_of(notion, n, k)
    if row is None or abs(row["level"] - level) > 1e-9:
        return {}
    bounds = binomtest(row["false_alarms"], row["trials"]).proportion_ci(0.95)
    share = row["false_alarms"] / row["trials"]
    return {
        "size": Interval(share, float(bounds.low), float(bounds.high), 0.95),
        "size_trials": row["trials"],
        "size_at": (row["n"], row["k"]),
    }


def _sentence(data: Judged, found: tuple[CalibrationTest, ...], level: float) -> str:
    rejected = [one for one in found if one.rejected]
    several = f", corrected for {len(found)} tests" if len(found) > 1 else ""
    if rejected:
        values = ", ".join(
            f"{notion_name(one.notion)}: p {format_p_value(one.adjusted or 0.0)}"
            for one in rejected
        )
        text = f"The predictions are not calibrated ({values}{several})."
        if any(one.p_value == 0.0 for one in rejected):
            if data.confidences:
                text += " A prediction of confidence 1 was wrong, or one of confidence 0 right, which never happens to calibrated "
                return text + "predictions (unless rounding made it so)."
            text += " Something happened to which they gave probability 0, which calibrated predictions never do "
            text += "(unless rounding made it 0)."
        return text
    main = found[0]
    error = f"{notion_name(main.notion)} calibration error"
    if data.confidences:
        error = "calibration error of the confidences"
    text = f"No miscalibration was found at the {format_percent(level)} level"
    if main.detectable is None:
        return f"{text}; at n = {data.n:,} even a large {error} could have been missed."
    return f"{text}; at n = {data.n:,} a {error} (L1) below {float(f'{main.detectable:.2g}')} could not have been shown reliably."
