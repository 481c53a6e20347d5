"""Answers of language models: stated confidences, repeated prompts, and few different values."""

import json

import numpy as np
import pytest

from harness import BadInputError
from harness.judging.data import from_file
from harness.judging.estimates import estimates
from harness.judging.judge import judge
from harness.judging.measured import FEW_VALUES
from harness.judging.scalar_test import scalar_test
from harness.judging.verdict import choose_verdict

STATED = np.linspace(0.5, 1.0, 6)


def write(folder, rows):
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows(n=60, repeats=1, **more):
    """Return answers that state 90 % in five of six rows; three of four are right."""
    return [
        {
            "prompt": f"p{i // repeats}",
            "confidence": 0.6 if i % 6 == 5 else 0.9,
            "correct": i % 4 > 0,
        }
        | {name: value(i) for name, value in more.items()}
        for i in range(n)
    ]


def test_stated_confidences_need_no_option(tmp_path):
    data = from_file(write(tmp_path, rows()))
    assert data.confidences and data.notions == ("top_label",) and data.row_groups is None
    assert data.p[:, 1].max() == 0.9 and data.y.mean() == 0.75


def test_answer_and_gold_tell_what_is_right(tmp_path):
    made = rows(answer=lambda i: "A", gold=lambda i: "A" if i % 3 else "B")
    for row in made:
        del row["correct"]
    data = from_file(write(tmp_path, made))
    assert data.y.tolist() == [int(i % 3 > 0) for i in range(60)]


def test_confidence_and_log_probabilities_are_chosen_by_an_option(tmp_path):
    made = rows(gold=lambda i: "AB"[i % 2], logprobs=lambda i: {"A": -0.2, "B": -1.8})
    path = write(tmp_path, made)
    with pytest.raises(BadInputError, match="probabilities=confidence or logits=logprobs"):
        from_file(path)
    stated, options = (
        from_file(path, probabilities="confidence"),
        from_file(path, logits="logprobs"),
    )
    assert stated.confidences and stated.y.mean() == 0.75
    assert options.classes == ("A", "B") and options.y.mean() == 0.5 and not options.confidences


def test_repeated_prompts_are_groups(tmp_path):
    data = from_file(write(tmp_path, rows(repeats=3)))
    assert data.row_groups.tolist() == [i // 3 for i in range(60)]


@pytest.mark.parametrize("value", ["the same prompt", None])
def test_a_prompt_that_tells_nothing_makes_no_groups(tmp_path, value):
    path = write(tmp_path, rows(prompt=lambda i: value if i else None))
    assert from_file(path).row_groups is None


def test_a_chosen_column_of_groups_replaces_the_prompts(tmp_path):
    path = write(tmp_path, rows(repeats=3, run=lambda i: i % 30))
    assert from_file(path, group_rows="run").row_groups.max() == 29


def test_the_verdict_says_what_was_stated_and_what_was_right(tmp_path):
    stated = [{"confidence": "90%", "correct": i % 100 < 71} for i in range(600)]
    data = from_file(write(tmp_path, stated))
    judgement = judge(data.p[:, 1], data.y, confidences=True, questions=["calibrated", "how_far"])
    verdict = choose_verdict(judgement)[0].replace("\N{NO-BREAK SPACE}", " ")
    assert verdict == "Overconfident: says 90 %, is right 71 %"


@pytest.mark.parametrize("values", [STATED, np.linspace(0.5, 1.0, 11), np.linspace(0.0, 1.0, 11)])
def test_the_level_of_the_test_holds_for_few_values(values):
    """Calibrated answers; those of confidence 1 are always right. Bound: 3 standard errors."""
    rng = np.random.default_rng(len(values))
    draws, rejected = 400, 0
    for _ in range(draws):
        p = rng.choice(values, 80)
        y = (rng.random(80) < p).astype(np.int64)
        rejected += scalar_test(p, y, rng, 199).p_value <= 0.05
    assert rejected / draws <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / draws)


@pytest.mark.parametrize(
    ("values", "names"), [(6, {"best"}), (11, {"best"}), (3, set())], ids=["6", "11", "3"]
)
def test_coverage_is_quoted_for_as_many_values_as_were_measured(values, names):
    rng = np.random.default_rng(values)
    p = rng.choice(np.linspace(0.5, 0.95, values), 400)
    data = judge(p, (rng.random(400) < p).astype(int), confidences=True, questions=[]).data
    found, _ = estimates(data, "top_label", p, data.y, 0.95, rng)
    assert {row.estimator for row in found if row.coverage is not None} == names
    for row in found:
        if row.interval.low is not None and row.coverage is None:
            assert str(values) in row.beyond
    assert FEW_VALUES == (6, 11)
