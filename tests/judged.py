"""Judgements made by hand, whose numbers mean nothing: every field has a value; in `nothing` none has, and reasons say why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.evaluation import reliability
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
    Interval,
    Judged,
    PairedDifference,
    Region,
    Versus,
    Where,
)
from harness.judging.judgement import Judgement

NASTY = (
    "<script>alert(1)</script>", "$x_1$", "100 % & more", r"$\frac{1}{", "a very long name of a class " * 6, "مرحبا بالعالم",
    "\x1b[31mred\x1b[0m\u202e", "a.b=c", "猫", "it's \"quoted\"",
)  # fmt: skip
OF_NOTION = {"binary": 0.031, "top_label": 0.042, "classwise": 0.0105, "canonical": 0.0831}


def data(k=10, n=600, classes=None, name="preds"):
    """Overconfident predictions of k classes."""
    rng = np.random.default_rng(k)
    true = rng.dirichlet(np.full(k, 2.0 / k), n)
    y = (true.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    p = true**1.5 + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    return Judged(
        name, p, y, tuple(classes or map(str, range(k))), f"{name}.csv: {n:,} rows; label column y"
    )


def judgement(k=10, n=600, classes=None, groups=True, drawn=12):
    """One file, questions 1 to 4, with the diagrams of so many classes, first those whose names have a $."""
    of = data(k, n, classes)
    return Judgement(
        data=of,
        level=0.95,
        seed=0,
        calibrated=calibrated(of.notions),
        how_far=how_far(of.notions),
        where=where(of, groups, drawn),
        gains=gains(),
        versus=None,
    )


def calibrated(notions):
    tests = [
        CalibrationTest(
            notion, "consistency resampling of the Brier score", 12.3, 0.0012, 0.0036, True, 0.95,
            Interval(0.048, 0.041, 0.056), 2000, (1000, 10), 0.012,
        )
        for notion in notions
    ]  # fmt: skip
    tests[-1] = replace(
        tests[-1], statistic=None, p_value=None, adjusted=None, rejected=None, size=None, size_at=None, detectable=None,
        reason="the test needs at least 50 rows.",
    )  # fmt: skip
    return Calibrated(
        "The predictions are not calibrated: chance alone would show as much in at most 5 % of samples.",
        True,
        tuple(tests),
    )


def how_far(notions):
    errors = []
    for notion in notions:
        v = OF_NOTION[notion]
        errors += [
            ErrorEstimate(
                notion, "l1", "best", "weighed estimates", Interval(v, 0.7 * v, 1.4 * v), "point",
                Interval(0.961, 0.95, 0.97), "", 1.14, (1000, 10), True,
            ),
            ErrorEstimate(
                notion, "l1", "binned15", "15 bins of equal width", Interval(1.1 * v, 0.8 * v, 1.6 * v), "point",
                Interval(0.90, 0.88, 0.92), "below what was asked for", 1.6, (1000, 10),
            ),
            ErrorEstimate(
                notion, "l1", "variational_isotonic", "isotonic regression, cross-fitted", Interval(0.8 * v), "lower",
                coverage_note="a lower bound in expectation has no interval", measured_at=(1000, 10),
            ),
            ErrorEstimate(notion, "l2_squared", "debiased15", "15 bins, debiased", Interval(v**2, 0.0, 2 * v**2), "point"),
            ErrorEstimate(
                notion, "kl", "kde", "kernel density", Interval(None), "point", reason="5,599 of the confidences are exactly 1."
            ),
        ]  # fmt: skip
    head = notions[0]
    certified = (
        Certified(
            head,
            "l1",
            Interval(None, 0.004, 0.12, 0.95),
            "The rows are independent and the error changes slowly.",
        ),
        Certified(
            head,
            "l2",
            Interval(None),
            "",
            "no assumption of a bound can hold where scores have ties.",
        ),
    )
    return HowFar(
        "On average the stated probability is off by 0.042 (95 % interval 0.029 to 0.059).",
        tuple(errors),
        certified,
        Direction(
            0.91,
            0.87,
            Interval(0.04, 0.03, 0.05),
            "The predictions are over-confident: they say 0.91 and are right in 0.87.",
        ),
        tuple(
            Decomposition(
                score,
                0.31,
                Interval(0.01, 0.005, 0.02),
                0.6,
                0.9,
                "isotonic regression, cross-fitted",
            )
            for score in ("brier", "log")
        ),
        "The estimates differ by more than their intervals allow; ties in the scores are the likely reason.",
        ("12 % of the confidences are exactly 1.",),
    )


def where(of, groups=True, drawn=12):
    first, *panels = reliability.panels(of.p, of.y, "classes", classes=of.classes, resamples=20)
    panels = [first, *sorted(panels, key=lambda one: "$" not in one.title)[:drawn]]
    found = [
        ClassFinding(
            name, 0.1 + 0.002 * j, 0.09, Interval(0.05 / (j + 1), 0.02 / (j + 1), 0.09 / (j + 1)), 0.001 if j < 3 else 0.8,
            f"{name} is predicted too often.",
        )
        for j, name in enumerate(of.classes)
    ]  # fmt: skip
    of_groups = [
        GroupFinding(
            "site",
            site,
            of.n // 3,
            Interval(gap, gap - 0.02, gap + 0.02),
            Interval(abs(gap) + 0.01, 0.0, 0.1),
            0.2,
            "",
        )
        for site, gap in (("north", 0.03), ("south <b>", -0.02), ("$west$", 0.0))
    ]
    regions = [
        Region(
            0.1 * j,
            0.1 * (j + 1),
            of.n // 10,
            0.1 * j + 0.05,
            Interval(0.1 * j + 0.03, 0.1 * j, 0.1 * j + 0.06),
            0.1,
        )
        for j in range(10)
    ]
    return Where(
        "Most of the error is among scores above 0.9; the worst class is the first.",
        tuple(panels),
        tuple(found),
        tuple(regions),
        tuple(of_groups) if groups else (),
        ("P-values are corrected for the number of classes (Holm).",),
    )


def gains():
    named = (
        ("temperature", "temperature scaling"),
        ("vector", "vector scaling"),
        ("isotonic", "isotonic"),
    )
    made = [
        Gain(
            name,
            label,
            Interval(0.02 - 0.008 * j, 0.01 - 0.008 * j, 0.03 - 0.008 * j),
            Interval(0.002, -0.001, 0.004),
        )
        for j, (name, label) in enumerate(named)
    ]
    missing = Gain(
        "matrix",
        "matrix scaling",
        Interval(None),
        Interval(None),
        "1,000 rows are too few for 110 parameters.",
    )
    return Gains(
        "Temperature scaling would lower the log-loss by 0.02 (95 % interval 0.01 to 0.03).",
        (*made, missing),
        "temperature",
        None,
    )


def compared(k=10, n=600, drawn=12):
    """Two files on the same rows."""
    first, second = judgement(k, n, drawn=drawn), judgement(k, n, drawn=0)
    other = replace(second, data=replace(second.data, name="other <model>"), where=None, gains=None)
    pair = (first.data.name, other.data.name)
    versus = Versus(
        "Which of the two is better calibrated cannot be told from 600 rows.",
        (
            PairedDifference(
                *pair, "accuracy_error", "share of wrong predictions", 0.13, 0.12, Interval(0.01, 0.004, 0.016), pair[1],
                "other <model> is right more often.",
            ),
            PairedDifference(
                *pair, "log_loss", "log-loss", 0.5, 0.49, Interval(0.01, -0.004, 0.024), None, "The log-losses cannot be "
                    "told apart."
            ),
            PairedDifference(
                *pair, "calibration_error", "calibration error (L1)", None, None, Interval(None), None, "There is no estimate."
            ),
        ),
    )  # fmt: skip
    return replace(first, versus=versus, others=(other,))


def nothing(k=3, n=12):
    """No answer at all."""
    questions = ("calibrated", "how_far", "where", "gains")
    return Judgement(
        data(k, n),
        0.95,
        0,
        None,
        None,
        None,
        None,
        None,
        unanswered={q: "12 rows are too few; at least 50 are needed." for q in questions},
    )
