"""Judgements made by hand, whose numbers mean nothing.

In most of them every field has a value. In `nothing` none has one, and reasons say why.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.judging.findings import (
    Calibrated,
    CalibrationTest,
    Certified,
    ClassFinding,
    Decomposition,
    Direction,
    ErrorEstimate,
    Gain,
    Gains,
    GroupFinding,
    HowFar,
    PairedDifference,
    Region,
    Versus,
    Where,
)
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.judgement import Judgement
from harness.math import reliability

NASTY = (
    "<script>alert(1)</script>",
    "$x_1$",
    "100 % & more",
    r"$\frac{1}{",
    "a very long name of a class " * 6,
    "مرحبا بالعالم",
    "\x1b[31mred\x1b[0m\u202e",
    "a.b=c",
    "猫",
    'it\'s "quoted"',
)
L1_ERRORS = {"binary": 0.031, "top_label": 0.042, "classwise": 0.0105, "canonical": 0.0831}


def around(value, half):
    return Interval(value, value - half, value + half)


def data(k=10, n=600, classes=None, name="preds"):
    """Return overconfident predictions of k classes."""
    rng = np.random.default_rng(k)
    true = rng.dirichlet(np.full(k, 2.0 / k), n)
    y = (true.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    p = true**1.5 + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    understood = f"{name}.csv: {n:,} rows; label column y"
    return Judged(name, p, y, tuple(classes or map(str, range(k))), understood)


def judgement(k=10, n=600, classes=None, drawn=12):
    """Return the answers 1 to 4 for one file, with the diagrams of so many classes.

    Classes with a $ in their name are drawn first.
    """
    judged = data(k, n, classes)
    return Judgement(
        judged,
        0.95,
        0,
        calibrated(judged.notions),
        how_far(judged.notions),
        where(judged, drawn),
        gains(),
    )


def calibrated(notions):
    test = CalibrationTest(
        notion="",
        test="consistency resampling of the Brier score",
        statistic=12.3,
        p_value=0.0012,
        adjusted=0.0036,
        rejected=True,
        level=0.95,
        size=Interval(0.048, 0.041, 0.056),
        size_trials=2000,
        size_at=(1000, 10),
        detectable=0.012,
    )
    reason = "the test needs at least 50 rows."
    missing = CalibrationTest(notions[-1], test.test, None, None, None, None, 0.95, reason=reason)
    tests = [*(replace(test, notion=notion) for notion in notions[:-1]), missing]
    return Calibrated("The predictions are not calibrated.", True, tuple(tests))


def how_far(notions):
    errors = []
    for notion in notions:
        v = L1_ERRORS[notion]
        best = Interval(v, 0.7 * v, 1.4 * v)
        coverage = Interval(0.961, 0.95, 0.97)
        binned = Interval(1.1 * v, 0.8 * v, 1.6 * v)
        size = (1000, 10)
        errors += [
            ErrorEstimate(
                notion, "l1", "best", "a", best, "point", coverage, "", 1.14, size, headline=True
            ),
            ErrorEstimate(
                notion, "l1", "binned15", "b", binned, "point", coverage, "too low", 1.6, size
            ),
            ErrorEstimate(
                notion, "l1", "variational_isotonic", "c", Interval(0.8 * v), "lower", None, "no"
            ),
            ErrorEstimate(notion, "l2_squared", "debiased15", "d", around(v**2, v**2), "point"),
            ErrorEstimate(
                notion,
                "kl",
                "kde",
                "kernel density",
                Interval(None),
                "point",
                reason="5,599 of the confidences are exactly 1.",
            ),
        ]
    bound = Interval(None, 0.004, 0.12)
    part = Decomposition("", 0.31, Interval(0.01, 0.005, 0.02), 0.6, 0.9, "cross-fitted")
    return HowFar(
        "On average the stated probability is off by 0.042 (95 % interval 0.029 to 0.059).",
        tuple(errors),
        (
            Certified(notions[0], "l1", bound, "The rows are independent."),
            Certified(notions[0], "l2", Interval(None), "", "scores have ties."),
        ),
        Direction(
            *(0.91, 0.87, around(0.04, 0.01), "The predictions are overconfident."),
            *((around(0.8, 0.05), around(0.1, 0.02)) if notions[0] == "binary" else ()),
        ),
        (replace(part, score="brier"), replace(part, score="log")),
        "The estimates differ by more than their intervals allow.",
        ("12 % of the confidences are exactly 1.",),
    )


def where(judged, drawn):
    first, *panels = reliability.panels(
        judged.p, judged.y, "classes", classes=judged.classes, resamples=20
    )
    panels = [first, *sorted(panels, key=lambda panel: "$" not in panel.title)[:drawn]]
    classes = []
    for j, name in enumerate(judged.classes):
        error = Interval(0.05 / (j + 1), 0.02 / (j + 1), 0.09 / (j + 1))
        p_value = 0.001 if j < 3 else 0.8
        sentence = f"{name} is predicted too often."
        classes.append(ClassFinding(name, 0.1 + 0.002 * j, 0.09, error, p_value, sentence))
    groups = []
    for site, gap in (("north", 0.03), ("south <b>", -0.02), ("$west$", 0.0)):
        error = Interval(abs(gap) + 0.01, 0.0, 0.1)
        groups.append(GroupFinding("site", site, 66, around(gap, 0.05), error, 0.2, "", 0.3))
    regions = [
        Region(low, low + 0.1, 20, low + 0.05, around(low + 0.03, 0.03), 0.1, 0.8)
        for low in np.arange(10) / 10
    ]
    return Where(
        "Most of the error is among scores above 0.9; the worst class is the first.",
        tuple(panels),
        tuple(classes),
        tuple(regions),
        tuple(groups),
        ("P-values are corrected for the number of classes (Holm).",),
    )


def gains():
    brier = Interval(0.002, -0.001, 0.004)
    missing = Interval(None)
    reason = "1,000 rows are too few for 110 parameters."
    return Gains(
        "Temperature scaling would lower the log-loss by 0.02 (95 % interval 0.01 to 0.03).",
        (
            Gain("temperature", "temperature scaling", around(0.02, 0.01), brier),
            Gain("vector", "vector scaling", around(0.012, 0.01), brier),
            Gain("isotonic", "isotonic", around(0.004, 0.01), brier),
            Gain("matrix", "matrix scaling", missing, missing, reason),
        ),
        "temperature",
    )


def compared(k=10, n=600, drawn=12):
    """Return the answers for two files on the same rows."""
    first, second = judgement(k, n, drawn=drawn), judgement(k, n, drawn=0)
    name = "other <model>"
    other = replace(second, data=replace(second.data, name=name), where=None, gains=None)
    differences = [
        ("error_rate", "wrong predictions", 0.13, 0.12, around(0.01, 0.006), name),
        ("log_loss", "log-loss", 0.5, 0.49, around(0.01, 0.014), None),
        ("calibration_error", "calibration error (L1)", None, None, Interval(None), None),
    ]
    versus = Versus(
        "Which of the two is better calibrated cannot be told from 600 rows.",
        tuple(PairedDifference(first.data.name, name, *row, "In words.") for row in differences),
    )
    return replace(first, versus=versus, others=(other,))


def nothing(k=3, n=12):
    """Return a judgement without any answer."""
    questions = ("calibrated", "how_far", "where", "gains")
    reason = "12 rows are too few; at least 50 are needed."
    return Judgement(data(k, n), 0.95, 0, unanswered=dict.fromkeys(questions, reason))


MAKERS = {
    "one file": lambda: judgement(4, 200, drawn=1),
    "two classes": lambda: judgement(2, 200),
    "two files": lambda: compared(3, 200, drawn=0),
    "nothing": nothing,
    "names": lambda: judgement(10, 200, classes=NASTY, drawn=2),
}
