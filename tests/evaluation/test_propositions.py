"""Statements that are decided by computation, and the variants that keep the checks honest."""

import math

import pytest

from harness.errors import BadInputError
from harness.evaluation import propositions
from harness.evaluation.propositions import Proposition, largest_deviation, smallest_margin

TRUE, FALSE = largest_deviation([0.5], 1.0), largest_deviation([2.0], 1.0)


def test_an_equality_holds_up_to_its_allowed_error_and_an_inequality_from_0():
    assert largest_deviation([0.1, -0.3], 0.3).distance == 0.0
    assert largest_deviation([0.1, -0.4], 0.3).distance == pytest.approx(-0.1)
    assert smallest_margin([0.5, 0.25]).distance == 0.25
    assert smallest_margin([-0.5], allowed=0.25).distance == -0.25


@pytest.mark.parametrize(
    "result, variant, verdict", [(TRUE, FALSE, "holds"), (FALSE, TRUE, "fails")]
)
def test_the_variant_is_decided_the_other_way(result, variant, verdict):
    row = Proposition("Lemma 1", "", "", "", 3, result, "another constant", variant)
    assert row.verdict == verdict


@pytest.mark.parametrize(
    "result, variant",
    [(TRUE, TRUE), (FALSE, FALSE), (TRUE, None), (TRUE, largest_deviation([math.nan], 1.0))],
)
def test_a_check_that_shows_nothing_is_an_error(result, variant):
    with pytest.raises(BadInputError, match="Lemma 1"):
        Proposition("Lemma 1", "", "", "", 3, result, "another constant", variant)


def test_what_cannot_be_tested_needs_a_reason():
    with pytest.raises(BadInputError, match="reason"):
        Proposition("Lemma 1", "", "")
    assert Proposition("Lemma 1", "", "", why="no constant").verdict == "cannot be tested"


@pytest.mark.parametrize("paper", propositions.papers())
def test_a_stored_table_reads_back(paper, tmp_path):
    frame = propositions.compute(paper, size=1000)
    (tmp_path / paper).mkdir()
    frame.to_csv(tmp_path / paper / "propositions.csv", index=False)
    again = propositions.read(tmp_path, paper)
    assert propositions.shown(again) == propositions.shown(frame)
    assert propositions.count(again) == propositions.count(frame)
    assert sum(propositions.count(frame).values()) == len(frame)
