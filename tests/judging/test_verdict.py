"""The verdict in a few words, and the three numbers that support it."""

from dataclasses import replace

import judged
import numpy as np
import pytest
from scipy.special import expit

from harness.judging import verdict
from harness.judging.data import from_arrays
from harness.judging.interval import Interval
from harness.judging.judge import judge_data


def judge_binary(n, slope, shift=0.0, centre=0.0):
    rng = np.random.default_rng(0)
    logit = rng.normal(centre, 2.0, n)
    y = (rng.random(n) < expit(slope * logit + shift)).astype(int)
    data = from_arrays(expit(logit), y)
    return judge_data([data], questions=["calibrated", "how_far"])


def words(text):
    return text.replace(verdict.SPACE, " ")


@pytest.mark.parametrize(
    "n, slope, shift, centre, text",
    [
        (20_000, 0.5, 0.0, 0.0, "Overconfident: says 78 %, is right 67 %"),
        (5_000, 1.6, 0.0, 0.0, "Underconfident: says 78 %, is right 84 %"),
        (3_000, 1.0, -1.0, 0.0, "Probabilities too high: says 49 % on average, 34 % happens"),
        (20_000, 1.0, -1.5, -5.0, "Probabilities too high: says 3 % on average, 1 % happens"),
        (5_000, 1.0, 0.0, 0.0, "No miscalibration found: says 78.0 %, is right 78.2 %"),
    ],
)
def test_verdicts_on_binary_models(n, slope, shift, centre, text):
    judgement = judge_binary(n, slope, shift, centre)
    assert words(verdict.choose_verdict(judgement)[0]) == text


def test_few_rows_are_no_verdict():
    text, tone = verdict.choose_verdict(judge_binary(20, 1.0))
    assert text.startswith("20 rows are too few to tell") and tone == "open"
    one = judge_data([from_arrays([0.7], [1])])
    assert verdict.choose_verdict(one) == ("1 row says nothing about calibration", "open")
    assert verdict.key_numbers(one)[0].text == "–"


def test_the_verdict_never_hides_a_finding():
    """Nothing is "found" only if no class, group or gain stands out either."""
    some = judged.judgement(3, 200, drawn=0)
    quiet = replace(some, calibrated=replace(some.calibrated, rejected=False))
    assert verdict.choose_verdict(quiet) == (
        "No miscalibration found overall, but class 0 stands out",
        "open",
    )
    no_class = replace(quiet, where=replace(quiet.where, classes=()))
    assert "recalibration improves" in verdict.choose_verdict(no_class)[0]
    first, *rest = quiet.where.regions
    off = replace(no_class.where, regions=(*rest, replace(first, adjusted=0.01)))
    assert verdict.choose_verdict(replace(no_class, where=off)) == (
        "No miscalibration found overall, but the region of scores from 0 to 0.1 stands out",
        "open",
    )
    no_gain = replace(no_class, gains=replace(quiet.gains, best=None))
    assert verdict.choose_verdict(no_gain) == ("No miscalibration found", "good")
    unknown = replace(some, calibrated=None)
    assert verdict.choose_verdict(unknown)[1] == "open"


def test_a_direction_without_a_gap_says_that_probabilities_differ_too_much():
    """Of scores 0.6, 70 % are events, and of scores 0.9, 80 %: the mean is right."""
    p, y = np.repeat([0.6, 0.9], 2000), np.r_[np.arange(2000) % 10 < 7, np.arange(2000) % 10 < 8]
    judgement = judge_data([from_arrays(p, y)], questions=["calibrated", "how_far"])
    text = verdict.choose_verdict(judgement)[0]
    assert text == "Overconfident: probabilities differ too much"


def test_only_all_and_none_read_100_and_0_percent():
    y = np.r_[np.zeros(2, int), np.ones(998, int)]
    judgement = judge_data([from_arrays(np.full(1000, 0.98), y)], questions=["calibrated"])
    texts = [words(number.text) for number in verdict.key_numbers(judgement)]
    assert "99.8 %" in texts[1]


def test_three_numbers():
    error, accuracy, rows = verdict.key_numbers(judged.judgement(4, 200, drawn=0))
    assert (words(error.text), error.name) == ("4.2 points", "average error of a stated confidence")
    assert words(error.note) == "95 % interval: 2.9 to 5.9 percentage points."
    assert "Always predicting class" in accuracy.note and rows.text == "200"
    assert words(rows.note).startswith("The test finds over- or underconfidence of 1.2 points")


@pytest.mark.parametrize(
    "calibration, error_rate, text",
    [
        ("b", "b", "b is better calibrated and more often right"),
        ("a", "b", "a is better calibrated, b is more often right"),
        ("a", None, "a is better calibrated; neither is shown to be more often right"),
        (None, "b", "b is more often right; neither is shown to be better calibrated"),
        (None, None, "Neither model is shown to be better calibrated or more often right"),
    ],
)
def test_comparison_of_two_models(calibration, error_rate, text):
    judgement = judged.compared(3, 60, drawn=0)
    row = replace(judgement.versus.differences[0], difference=Interval(0.1))
    rows = (
        replace(row, quantity="calibration", better=calibration),
        replace(row, quantity="error_rate", better=error_rate),
    )
    versus = replace(judgement.versus, differences=rows)
    assert verdict.compare_models(replace(judgement, versus=versus)) == text
    assert verdict.compare_models(replace(judgement, others=())) is None


def test_the_accuracy_has_the_same_digits_everywhere():
    """Always predicting class 0 is right for 75.5 %, and the predictions are right for 75 %."""
    y = np.repeat([0, 1], [151, 49])
    p = np.where(np.arange(200) < 150, 0.1, np.where(np.arange(200) < 151, 0.9, 0.2))
    judgement = judge_data([from_arrays(p, y)], questions=["calibrated", "how_far"])
    accuracy = verdict.key_numbers(judgement)[1]
    assert words(accuracy.text) == "75.0 %" and "right for 75.5 %" in words(accuracy.note)
    title = words(verdict.choose_verdict(judgement)[0])
    assert "is right" not in title or "is right 75.0 %" in title
