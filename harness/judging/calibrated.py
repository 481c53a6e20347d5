"""Answer question 1, whether predictions are calibrated, by an exact test for every notion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from harness.common.names import notion_name
from harness.common.wording import format_count, format_p_value, format_percent
from harness.judging.bins import Array, Integers
from harness.judging.clusters import (
    FLIPS,
    NOTE,
    WEIGHTED_GROUPS_NOTE,
    WEIGHTS_NOTE,
    flipped_p_value,
    flipped_vector_p_value,
)
from harness.judging.data import reduced
from harness.judging.detectable import detectable_by_scores, detectable_by_vectors
from harness.judging.estimates import share
from harness.judging.findings import Calibrated, CalibrationTest
from harness.judging.gaps import measure_gap
from harness.judging.judged import Judged
from harness.judging.measured import nearest_rows
from harness.judging.scalar_test import ScalarTest, scalar_test
from harness.judging.vector_test import vector_test

SCALAR_NAME = "exact resampling test (tilt and smooth departures)"
CLASSWISE_NAME = "exact resampling test of each class by itself, with Bonferroni's correction"
VECTOR_NAME = "exact resampling test (temperature, linear and local departures of the vectors)"
RESAMPLES = 4999
SCREEN = 499  # resamples of the first test of a class
SCREENED = 0.1  # largest p-value of the first test that leads to a second one
MOST_SECOND = 10  # most classes with a second test; one test of 10,000 rows takes 60 ms
LARGE = 0.1  # an L1 error above this is called large
MOST_RESAMPLES = 20_000  # largest number of resamples of the second test


def tests(data: Judged, level: float, rng: np.random.Generator) -> Calibrated:
    """Answer question 1 by a test for each notion.

    The tests are exact for these hypotheses:

    * binary and top-label: P(event given score) = score (`scalar_test`);
    * class-wise: the same for each class, with Bonferroni's correction because classes may depend
      on one another;
    * canonical: the same for the whole vector (`vector_test`).

    Canonical calibration implies the others. Therefore the correction for three tests is that of
    the closed test with Bonferroni's local tests (`closed`). The probability of any false
    rejection is at most 1 - level, whichever of the hypotheses hold.

    If rows come in groups, a p-value is the larger one of the exact test and of a test that flips
    the signs of the residuals of whole groups (`harness.judging.clusters`). The flips account for
    the dependence within groups, and the exact test for rare events, where flips reject too often.
    If fewer than 10 groups have an event, one row of each group is tested instead of flips.

    Parameters
    ----------
    data : Judged
        The predictions.
    level : float
        A notion is rejected if its corrected p-value is at most 1 - level.
    rng : numpy.random.Generator
        Generator of the resamples.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> p = np.linspace(0.05, 0.95, 200)
    >>> data = from_arrays(p, (p > 0.5).astype(int))
    >>> tests(data, 0.95, np.random.default_rng(0)).sentence
    'The predictions are not calibrated (binary: p = 0.0002).'
    """
    for_scalar, for_classes, for_vector, for_power = rng.spawn(4)
    alpha = (1.0 - level) / len(data.notions)
    rows: list[CalibrationTest] = []
    groups, weighted = data.row_groups, data.weighted_rows is not None
    for notion in data.notions:
        p, y = reduced(data, notion)
        detectable: float | None = None
        if notion == "classwise":
            classes = class_tests(p, y, level, for_classes, row_groups=groups, weighted=weighted)
            name, statistic, p_value, note = _combine_classes(data, classes, level)
            scalar_tests = [test for test, _ in classes]
            if groups is None:
                detectable = detectable_by_scores(p, scalar_tests, alpha, for_power)
        elif notion == "canonical":
            vector = vector_test(p, y, for_vector)
            name, statistic, p_value = VECTOR_NAME, float(vector.observed.max()), vector.p_value
            note = _impossible(vector.impossible, data)
            if vector.rows < data.n and not weighted:
                note += f"Only {vector.rows:,} rows were tested, drawn at random."
            if groups is None:
                detectable = detectable_by_vectors(p, vector, alpha)
            elif p_value > 0.0:
                flips = min(len(vector.null), FLIPS)
                flipped = flipped_vector_p_value(p, y, groups, for_vector, flips, weighted)
                p_value = flipped if weighted else max(p_value, flipped)
        else:
            scalar = scalar_test(p, y, for_scalar, RESAMPLES)
            name, statistic, p_value = SCALAR_NAME, scalar.p_possible, scalar.p_value
            note = _impossible(scalar.impossible, data)
            if scalar.impossible and scalar.bins.m:
                note += (
                    "For the rows with probabilities between 0 and 1 the test gives p = "
                    f"{scalar.p_possible:.3g}."
                )
            elif not scalar.impossible and scalar.bins.m == 0:
                note = (
                    "Nothing can be tested: all probabilities are 0 or 1, and all outcomes are as "
                    "predicted."
                )
            if groups is None:
                detectable = detectable_by_scores(p[:, None], [scalar], alpha, for_power)
            elif p_value > 0.0:
                flipped = flipped_p_value(scalar.bins, y, groups, for_scalar, RESAMPLES, weighted)
                p_value = flipped if weighted else max(p_value, flipped)
        row = CalibrationTest(notion, name, statistic, p_value, None, None, level)
        measured = {}
        if groups is None:
            measured = _false_alarms(notion, data.n, data.k, level)
        else:
            of_weights = WEIGHTS_NOTE if data.are_copies else WEIGHTED_GROUPS_NOTE
            note = (of_weights if weighted else NOTE) + note
        rows.append(replace(row, detectable=detectable, note=note.strip(), **measured))
    adjusted = closed({row.notion: row.p_value or 0.0 for row in rows})
    rows = [
        replace(
            row,
            adjusted=adjusted[row.notion],
            rejected=adjusted[row.notion] <= 1.0 - level + 1e-12,
        )
        for row in rows
    ]
    rejected = any(row.rejected for row in rows)
    return Calibrated(_sentence(data, rows, level), rejected, tuple(rows))


def closed(p: dict[str, float]) -> dict[str, float]:
    """Correct the p-values of several notions, where canonical calibration implies the others.

    With the p-values p_t (top-label), p_w (class-wise) and p_c (canonical), the corrected values
    are

        canonical   3 min(p_t, p_w, p_c)
        top-label   max(p_t, 2 min(p_t, p_w), 3 min(p_t, p_w, p_c))

    and the class-wise one in the same way as the top-label one. If top-label calibration is
    rejected, canonical calibration is therefore rejected too. A single p-value is not changed.

    Examples
    --------
    >>> closed({"top_label": 0.01, "classwise": 0.4, "canonical": 0.2})
    {'top_label': 0.03, 'classwise': 0.4, 'canonical': 0.03}
    """
    if len(p) == 1:
        return dict(p)
    weak = [value for notion, value in p.items() if notion != "canonical"]
    of_all = min(1.0, len(p) * min(p.values()))
    of_weak = min(1.0, len(weak) * min(weak))
    return {
        notion: of_all if notion == "canonical" else max(value, of_weak, of_all)
        for notion, value in p.items()
    }


def class_tests(
    p: Array,
    y: Integers,
    level: float,
    rng: np.random.Generator,
    screen: int = SCREEN,
    row_groups: Integers | None = None,
    weighted: bool = False,
) -> list[tuple[ScalarTest, float]]:
    """Test every column of p (n, k) against its event indicators y (n, k).

    Return a list of (result of the first test, p-value), one per class. The first test uses 499
    resamples and has the p-value p1. A class with p1 <= 0.1 gets a second test with more resamples,
    whose p-value p2 replaces p1. If more than 10 classes have p1 <= 0.1, only the 10 that depart
    most from calibration get one, and the p-value of the others is 0.1. This is valid: the
    probability of a returned p-value of at most a is at most P(p2 <= a) for a < 0.1, and at most
    P(p1 <= a) for larger a. The p-values are not corrected for the number of classes. With
    `row_groups`, p2 is at least the p-value of `flipped_p_value`; with weights it is this p-value.

    Examples
    --------
    >>> p = np.tile([0.5, 0.3, 0.2], (100, 1))
    >>> y = np.eye(3, dtype=int)[np.arange(100) % 3]
    >>> [value < 0.05 for _, value in class_tests(p, y, 0.95, np.random.default_rng(0))]
    [True, False, True]
    """
    k = p.shape[1]
    resamples = int(min(MOST_RESAMPLES, max(2000, 10 * k / (1.0 - level)))) - 1
    streams = rng.spawn(k)
    firsts = [scalar_test(p[:, j], y[:, j], streams[j], screen) for j in range(k)]
    values = [first.p_value for first in firsts]
    screened = [j for j in range(k) if 0.0 < values[j] <= SCREENED]
    # The smallest p-value decides, and many classes may share the smallest p1.
    screened.sort(key=lambda j: (values[j], -_departure(firsts[j])))
    for j in screened[MOST_SECOND:]:
        values[j] = SCREENED
    for j in screened[:MOST_SECOND]:
        second = scalar_test(p[:, j], y[:, j], streams[j], resamples, firsts[j].bins)
        values[j] = second.p_value
        if row_groups is not None and values[j] > 0.0:
            bins = firsts[j].bins
            flipped = flipped_p_value(bins, y[:, j], row_groups, streams[j], resamples, weighted)
            values[j] = flipped if weighted else max(values[j], flipped)
    return list(zip(firsts, values))


def _departure(test: ScalarTest) -> float:
    """Return the largest statistic of a test, in standard deviations above its null mean.

    It is infinite if the statistic exceeds a constant null.
    """
    spread = np.maximum(test.null.std(axis=0), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        return float(np.max((test.observed - test.null.mean(axis=0)) / spread))


def _combine_classes(
    data: Judged, classes: list[tuple[ScalarTest, float]], level: float
) -> tuple[str, float, float, str]:
    """Combine the tests of all classes; return name, statistic, p-value and note."""
    values = np.array([value for _, value in classes])
    worst, k = int(np.argmin(values)), len(values)
    smallest = float(values[worst])
    note = (
        f"Class {data.classes[worst]} has the smallest p-value, {smallest:.3g} before Bonferroni's "
        "correction. "
    )
    note += _impossible(sum(test.impossible for test, _ in classes), data)
    if k * 3.0 / MOST_RESAMPLES > 1.0 - level:
        note += (
            f"With {k} classes there are too few resamples for one class to reject calibration, "
            "unless an outcome had probability 0."
        )
    return CLASSWISE_NAME, smallest, min(1.0, k * smallest), note


def _impossible(count: int, data: Judged) -> str:
    """Return a sentence on `count` outcomes that had probability 0, with a space at its end.

    It is "" for no such outcome.
    """
    if not count:
        return ""
    outcomes = format_count(count, "outcome") if data.weighted_rows is None else "Some outcomes"
    return f"{outcomes} that occurred had probability 0. "


def _false_alarms(notion: str, n: int, k: int, level: float) -> dict[str, Any]:
    """Return the measured rate of false alarms of a test at the nearest (n, k).

    It is empty if the rate was measured at another level.
    """
    rows = nearest_rows("size", n, k, notion=notion)
    if rows.empty or abs(rows["level"].iloc[0] - level) > 1e-9:
        return {}
    count, trials, n, k = (int(rows[name].iloc[0]) for name in ("false_alarms", "trials", "n", "k"))
    return {"size": share(count, trials), "size_trials": trials, "size_at": (n, k)}


def _sentence(data: Judged, rows: list[CalibrationTest], level: float) -> str:
    rejected = [row for row in rows if row.rejected]
    if rejected:
        values = [
            f"{notion_name(row.notion)}: p {format_p_value(row.adjusted)}" for row in rejected
        ]
        if len(rows) > 1:
            values.append(f"corrected for {len(rows)} tests")
        text = f"The predictions are not calibrated ({', '.join(values)})."
        if all(row.p_value for row in rejected):
            return text
        if data.confidences:
            return (
                f"{text} A prediction of confidence 1 was wrong, or one of confidence 0 was right. "
                "This never happens with calibrated predictions, unless rounding made it so."
            )
        return (
            f"{text} An outcome occurred that had probability 0. This never happens with "
            "calibrated predictions, unless rounding made it 0."
        )
    if data.n == 1:
        return "One row says nothing about calibration."
    main = rows[0]
    error = f"{notion_name(main.notion)} calibration error"
    if data.confidences:
        error = "calibration error of the confidences"
    text = f"No miscalibration was found at the {format_percent(level)} level"
    p, y = reduced(data, main.notion)
    if bool(np.all((p == 0.0) | (p == 1.0))):
        return f"{text}; all scores are 0 or 1, and all outcomes are as predicted."
    if data.row_groups is not None:
        return f"{text}, with {data.rows}."
    # If all tempered versions could be missed, an interval tells how large the error can be. The
    # scores may be equal to 1/2, which tempering does not change.
    missed = main.detectable or measure_gap(p, y, level).error.high or 1.0
    shape = f"a {error}"
    if main.detectable is not None:
        shape = f"even over- or underconfidence, a {error}"
    if main.detectable is None and missed > LARGE:
        return f"{text}; with {data.n:,} rows even a large {error} could have been missed."
    size = float(f"{missed:.2g}")
    return f"{text}; with {data.n:,} rows {shape} (L1) below {size} could have been missed."
