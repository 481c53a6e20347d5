"""An infinite log-loss is a value: it is printed, compared, and above every finite limit."""

import json
import math

import numpy as np
import pytest

from harness.judging import thresholds
from harness.judging.data import from_arrays, from_file
from harness.judging.judge import judge_data
from harness.judging.markdown import text
from harness.judging.versus import versus


@pytest.fixture
def twice(cases):
    return judge_data([from_file(cases / "infinite_twice.csv")])


def compare(*names, cases, **options):
    models = [from_file(cases / f"{name}.csv") for name in names]
    return judge_data(models, questions=["versus"], **options)


def test_an_infinite_log_loss_is_a_number_of_the_judgement(twice):
    content = json.loads(json.dumps(twice.to_json(), allow_nan=False))
    number = content["numbers"]["log_loss.value"]
    assert number["value"] is None and number["infinite"] is True and number["reason"]
    (score,) = [score for score in content["how_far"]["scores"] if score["score"] == "log"]
    assert score["mean_score"] is None and score["infinite"] is True
    assert "2 rows" in score["reason"] and score["uncertainty"] == pytest.approx(0.692, abs=1e-3)
    finite = content["numbers"]["brier.value"]
    assert finite["value"] > 0.0 and "infinite" not in finite
    assert twice.to_frame().loc["log_loss", "value"] == math.inf


def test_it_is_shown_in_text_page_and_summary(twice):
    for shown in (str(twice), twice.to_html(), text(twice), twice._repr_html_()):
        assert "log-loss is infinite" in " ".join(shown.split())
    assert "∞" in twice.to_html() and "nan" not in str(twice)


def test_it_is_above_every_finite_limit(twice):
    names = ["log_loss.value=1e9", "log_loss.gain.low=0.01", "log_loss.value=inf"]
    outcomes = thresholds.outcomes(twice, [thresholds.parse(name) for name in names])
    assert [outcome.is_exceeded for outcome in outcomes] == [True, True, False]


def test_gains_are_infinite_and_the_brier_score_decides(twice):
    gains = {gain.method: gain for gain in twice.gains.gains}
    assert gains["isotonic"].log_loss.value == math.inf
    assert twice.gains.best is None and "in Brier score" in twice.gains.sentence
    assert all(gain.brier.low < gain.brier.value < gain.brier.high for gain in gains.values())
    quoted = twice.to_json()["numbers"]["brier.gain.value"]["value"]
    assert quoted == max(gain.brier.value for gain in gains.values() if gain.log_loss.value)


@pytest.mark.parametrize("order", [1, -1])
def test_a_comparison_says_which_log_loss_is_infinite(order, cases):
    judgement = compare(*["finite", "infinite_once"][::order], cases=cases)
    answer = judgement.versus
    rows = {row.quantity: row for row in answer.differences}
    assert rows["log_loss"].difference.value == -order * math.inf
    assert {rows["log_loss"].first_value, rows["log_loss"].second_value} > {math.inf}
    assert rows["log_loss"].better is None and "infinite" in rows["log_loss"].sentence
    assert "infinite_once (1 row)" in answer.sentence
    number = judgement.to_json()["numbers"]["difference.log_loss.value"]
    assert number["value"] is None and number["infinite"] is True
    assert ("minus" in number["reason"]) == (order == 1)


def test_two_infinite_log_losses_have_no_difference():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 300)
    y = (rng.random(300) < p).astype(int)
    first, second = p.copy(), p.copy()
    first[y.argmax()] = 0.0
    second[y.argmin()] = 1.0
    models = [from_arrays(q, y, name=name) for name, q in [("a", first), ("b", second)]]
    answer = versus(models, 0.95, np.random.default_rng(0))
    (row,) = [row for row in answer.differences if row.quantity == "log_loss"]
    assert (row.first_value, row.second_value) == (math.inf, math.inf)
    assert row.difference.value is None and row.better is None
    assert "a (1 row) and b (1 row)" in answer.sentence
    same = versus([models[0], from_arrays(first, y, name="d")], 0.95, np.random.default_rng(0))
    assert {row.difference.value for row in same.differences} == {0.0}


def test_rows_in_groups_keep_the_mean_scores():
    """Their log-loss is a number like any other, and is split by gains that account for groups."""
    p = np.tile([0.2, 0.7], 60)
    data = from_arrays(p, np.arange(120) // 2 % 2, group_rows=np.arange(120) // 4)
    judgement = judge_data([data], questions=["how_far"])
    numbers = judgement.to_json()["numbers"]
    assert numbers["log_loss.value"]["value"] == pytest.approx(-np.log([0.2, 0.8, 0.7, 0.3]).mean())
    assert numbers["log_loss.discrimination"]["value"] >= 0.0
