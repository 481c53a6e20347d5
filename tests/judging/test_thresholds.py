"""Thresholds of `judge --fail-above` on judgements made by hand."""

import re

import pytest

from harness import BadInputError
from harness.judging import thresholds


def exceeded(judgement, *texts):
    outcomes = thresholds.outcomes(judgement, [thresholds.parse(text) for text in texts])
    return [outcome.sentence for outcome in outcomes if outcome.is_exceeded]


def test_thresholds_are_exceeded_above_and_not_at_the_limit(judgements):
    judgement = judgements["one file"]
    limits = ["top_label.l1.value=0.042", "log_loss.gain.low=0.5", "confidence_gap.high=inf"]
    assert exceeded(judgement, *limits) == []
    assert exceeded(judgement, "top_label.l1.high=0.05", "worst_class.l1.low=0.5") == [
        "top_label.l1.high is 0.0588 (95 % level), above the limit of 0.05."
    ]
    name_with_sign = thresholds.parse("class.a=b.l1.high=1")
    assert name_with_sign == thresholds.Threshold("class.a=b.l1.high", 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("top_label", "NAME=LIMIT"),
        ("top_label.l1.high=low", "NAME=LIMIT"),
        ("top_label.l1.high=nan", "NAME=LIMIT"),
        ("toplabel.l1.high=1", "did you mean 'top_label.l1.high'"),
        ("top_label.l1.hi=1", "did you mean 'top_label.l1.high'"),
        ("canonical.p_value=1", "no value for these predictions: the test needs at least 50 rows."),
        ("difference.log_loss.high=1", "--json lists all names"),
    ],
)
def test_thresholds_without_a_number_are_refused(judgements, text, message):
    with pytest.raises(BadInputError, match=re.escape(message)):
        exceeded(judgements["one file"], text)


def test_thresholds_without_an_answer_give_the_reason(judgements):
    with pytest.raises(BadInputError, match="12 rows"):
        exceeded(judgements["nothing"], "top_label.l1.high=1")
