"""`judge --json`: its fields, its short names, and numbers that are missing or infinite."""

import json
import math
import re
from dataclasses import replace

import judged
import pytest

from harness.judging import as_json
from harness.judging.answers import QUESTIONS
from harness.judging.interval import Interval

# Fields of version 1 of the schema. No field is renamed or removed within a version.
INTERVAL = "high level low value"
SCHEMA = {
    "": "calharness calibrated data gains how_far level numbers others schema schema_version seed "
    "sentences unanswered versus where",
    "calibrated": "rejected sentence tests",
    "calibrated/tests": "adjusted detectable level note notion p_value power reason rejected size "
    "size_at size_trials statistic test",
    "calibrated/tests/size": INTERVAL,
    "data": "classes confidences groups k n name note notions row_groups understood",
    "gains": "best gains sentence",
    "gains/gains": "brier label log_loss method reason",
    "gains/gains/brier": INTERVAL,
    "gains/gains/log_loss": INTERVAL,
    "how_far": "cautions certified direction disagreement errors scores sentence",
    "how_far/certified": "assumption estimand interval notion reason",
    "how_far/certified/interval": INTERVAL,
    "how_far/direction": "accuracy gap intercept mean_confidence sentence slope slope_reason",
    "how_far/direction/gap": INTERVAL,
    "how_far/errors": "beyond coverage coverage_note estimand estimator headline interval kind "
    "label measured_at notion reason regret",
    "how_far/errors/coverage": INTERVAL,
    "how_far/errors/interval": INTERVAL,
    "how_far/scores": "discrimination how mean_score miscalibration reason score uncertainty",
    "how_far/scores/miscalibration": INTERVAL,
    "numbers/top_label.l1.high": "level reason value",
    "others": "calibrated data how_far unanswered",
    "sentences": "calibrated gains how_far versus where",
    "versus": "differences sentence",
    "versus/differences": "better difference first first_value label quantity second second_value "
    "sentence",
    "versus/differences/difference": INTERVAL,
    "where": "classes groups notes regions sentence",
    "where/classes": "adjusted error frequency mean_p name sentence",
    "where/classes/error": INTERVAL,
    "where/groups": "adjusted column error gap gap_adjusted n sentence value",
    "where/groups/gap": INTERVAL,
    "where/regions": "happened high low n said share",
    "where/regions/happened": INTERVAL,
}


@pytest.mark.parametrize("path", SCHEMA)
def test_every_field_of_the_schema_is_there(judgements, path):
    content = judgements["two files"].to_json()
    for name in filter(None, path.split("/")):
        content = content[name]
        content = content[0] if isinstance(content, list) else content
    assert set(SCHEMA[path].split()) <= set(content)


@pytest.mark.parametrize("name", judged.MAKERS)
def test_json_is_plain_and_every_number_has_a_value_or_a_reason(judgements, name):
    content = judgements[name].to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["schema"] == "calharness.judge" and content["schema_version"] == 1
    for number, row in content["numbers"].items():
        assert (row["value"] is None) == (row["reason"] is not None)
        assert row["level"] == 0.95 or number.rpartition(".")[2] not in ("low", "high")
    assert set(QUESTIONS) <= set(content)


def test_docstring_names_every_field_of_the_schema(judgements):
    content = judgements["two files"].to_json()
    for name in content:
        assert re.search(rf"^    .*\b{name}\b", as_json.__doc__, flags=re.M), name
    interval = content["how_far"]["errors"][0]["interval"]
    assert interval == pytest.approx({"value": 0.042, "low": 0.0294, "high": 0.0588, "level": 0.95})
    assert content["others"][0]["data"]["name"] == "other <model>"


def test_short_names(judgements):
    numbers = as_json.numbers(judgements["two files"])
    expected = {
        "top_label.l1.value": 0.042,
        "top_label.l1.high": 0.0588,
        "top_label.l1.binned15.value": 0.0462,
        "top_label.rejected": 1.0,
        "top_label.p_value": 0.0036,
        "top_label.l1.certified.high": 0.12,
        "worst_class.l1.value": 0.05,
        "confidence_gap.low": 0.03,
        "log_loss.value": 0.31,
        "brier.miscalibration.high": 0.02,
        "log_loss.gain.value": 0.02,
        "log_loss.gain.vector.low": 0.002,
        "class.1.l1.value": 0.025,
        "group.site.north.gap.value": 0.03,
        "difference.log_loss.high": 0.024,
        "other <model>:top_label.l1.high": 0.0588,
    }
    assert {name: numbers[name]["value"] for name in expected} == pytest.approx(expected)
    assert numbers["canonical.p_value"]["reason"] == "the test needs at least 50 rows."
    assert numbers["top_label.kl.value"] == {
        "value": None,
        "level": None,
        "reason": "5,599 of the confidences are exactly 1.",
    }


def test_infinite_and_missing_numbers_are_null(judgements):
    judgement = judgements["one file"]
    first = replace(judgement.how_far.errors[0], interval=Interval(math.nan, -math.inf, math.inf))
    content = replace(judgement, how_far=replace(judgement.how_far, errors=(first,))).to_json()
    interval = content["how_far"]["errors"][0]["interval"]
    assert interval == {"value": None, "low": None, "high": None, "level": 0.95}
    assert content["numbers"]["top_label.l1.value"]["value"] is None
    infinite = replace(first, interval=Interval(math.inf))
    content = replace(judgement, how_far=replace(judgement.how_far, errors=(infinite,))).to_json()
    assert content["how_far"]["errors"][0]["interval"]["infinite"] is True
    assert content["numbers"]["top_label.l1.value"]["infinite"] is True
