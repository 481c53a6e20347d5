"""What `judge` says of calibration: exact tests, estimates, sentences, degenerate predictions."""

import json
import math
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

import harness
from harness.errors import BadInputError
from harness.judging import calibrated, detectable, howfar, scores
from harness.judging.cells import cells_of, poisson_binomial
from harness.judging.data import aligned, from_arrays, from_file
from harness.judging.estimates import estimates, share
from harness.judging.judge import judge_data
from harness.judging.measured import coverages, measured
from harness.judging.scalar_test import scalar_test, smallest_rank, statistics
from harness.judging.vector_test import halved, vector_test


def labels(p, rng):
    return np.minimum(
        (rng.random(len(p))[:, None] > np.cumsum(p, axis=1)).sum(axis=1), p.shape[1] - 1
    )


def bound(count, share_, errors=4.0):
    """Most events that `count` trials of this probability show, but with a probability of about 1e-4."""
    return count * share_ + errors * math.sqrt(count * share_ * (1.0 - share_))


# Cells and their law


def test_law_of_a_sum_by_listing_all_outcomes():
    p = np.array([0.1, 0.35, 0.8, 0.5])
    law = np.zeros(5)
    for outcome in product((0, 1), repeat=4):
        law[sum(outcome)] += np.prod(np.where(outcome, p, 1.0 - p))
    np.testing.assert_allclose(poisson_binomial(p[None])[0], law, atol=1e-15)


def test_cells_keep_equal_scores_together_and_leave_out_certain_ones():
    p = np.repeat([0.0, 0.2, 0.5, 0.7, 1.0], 40)
    cells = cells_of(p, cells=3)
    assert set(cells.of_row[p == 0.0]) == set(cells.of_row[p == 1.0]) == {-1}
    assert all(len(set(cells.of_row[p == value])) == 1 for value in (0.2, 0.5, 0.7))
    np.testing.assert_allclose(cells.expected.sum(), 40 * 1.4)
    assert cells.residual((p > 0.4).astype(int)).sum() == pytest.approx(80 - 56)


@pytest.mark.parametrize(
    "rows", [40, 4000]
)  # by the exact law, and by the binomial one of the same mean and variance
def test_drawn_residuals_have_mean_zero_and_the_variance(rows):
    p = np.random.default_rng(0).uniform(0.02, 0.98, rows)
    cells = cells_of(p, cells=4)
    drawn = cells.drawn(4000, np.random.default_rng(1))
    error = np.sqrt(cells.variance / 4000)
    assert np.all(np.abs(drawn.mean(axis=0)) < 4.5 * error)
    assert np.all(np.abs(drawn.var(axis=0) / cells.variance - 1.0) < 4.5 * math.sqrt(2.2 / 4000))


def test_tilt_of_two_cells_by_hand():
    cells = cells_of(np.array([0.2, 0.8]), cells=2)
    x = math.log(4.0)
    found = statistics(cells, np.array([[0.8, 0.2]]))[0, 0]  # events in both rows
    bias, slope = 1.0 / math.sqrt(0.32), (-x * 0.8 + x * 0.2) / math.sqrt(0.32 * x**2)
    assert found == pytest.approx(bias**2 + slope**2)


# The tests


def test_one_row_by_hand():
    """y = 1 at p = 0.2 is among the most extreme outcomes with probability 0.2, y = 0 with 1; nothing smaller may be said."""
    count = 20_000
    surprised = scalar_test(np.array([0.2]), np.array([1]), np.random.default_rng(0), count).p_value
    assert abs(surprised - 0.2) < 4.0 * math.sqrt(0.16 / count)
    assert (
        scalar_test(np.array([0.2]), np.array([0]), np.random.default_rng(0), count).p_value == 1.0
    )


def test_smallest_rank_is_uniform_under_exchangeability():
    rng = np.random.default_rng(0)
    found = [smallest_rank(rng.normal(size=3), rng.normal(size=(39, 3))) for _ in range(600)]
    assert sum(value <= 0.05 for value in found) <= bound(600, 0.05)
    assert 0.4 < np.mean(found) < 0.65


@pytest.mark.parametrize("a, b", [(1.0, 1.0), (0.3, 6.0)])
def test_calibrated_scores_are_rarely_rejected(a, b):
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(200):
        p = rng.beta(a, b, 60).round(2)
        alarms += scalar_test(p, (rng.random(60) < p).astype(int), rng, 99).p_value <= 0.05
    assert alarms <= bound(200, 0.05)


def test_calibrated_vectors_are_rarely_rejected():
    rng = np.random.default_rng(3)
    found = []
    for _ in range(100):
        p = rng.dirichlet([0.3, 1.0, 2.0], 40)
        found.append(vector_test(p, labels(p, rng), rng, 99).p_value)
    assert sum(value <= 0.1 for value in found) <= bound(100, 0.1)
    assert min(found) >= 0.01


def test_bent_predictions_are_found():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(4), 1000)
    q = p**0.6 / np.sum(p**0.6, axis=1, keepdims=True)
    found = calibrated.tests(from_arrays(p, labels(q, rng)), 0.95, rng)
    assert found.rejected and all(one.rejected for one in found.tests)
    assert "not calibrated (top-label: p = 0.0" in found.sentence


def test_an_impossible_outcome_is_a_rejection_whatever_the_rest():
    p = np.full((300, 3), 1.0 / 3.0)
    p[0] = [0.5, 0.5, 0.0]
    y = np.arange(300) % 3
    y[0] = 2
    found = calibrated.tests(from_arrays(p, y), 0.999, np.random.default_rng(0))
    by = {one.notion: one for one in found.tests}
    assert (
        by["canonical"].p_value == 0.0
        and by["classwise"].p_value == 0.0
        and by["top_label"].p_value > 0.1
    )
    assert not by["top_label"].rejected and by["canonical"].rejected
    assert "probability 0" in found.sentence and "1 outcome" in by["canonical"].note


def test_names_and_order_of_classes_change_no_p_value_of_scores():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 200)
    y = labels(p, rng)
    order = np.array([2, 0, 1])
    moved = from_arrays(p[:, order], np.argsort(order)[y])
    first, second = (
        calibrated.tests(data, 0.95, np.random.default_rng(0))
        for data in (from_arrays(p, y), moved)
    )
    assert first.tests[0].p_value == second.tests[0].p_value
    own = _statistics(p, y), _statistics(p[:, order], np.argsort(order)[y])
    np.testing.assert_allclose(*own, rtol=1e-9)
    assert abs(first.tests[2].p_value - second.tests[2].p_value) < 5.0 * math.sqrt(0.5 / 999)


def _statistics(p, y):
    return vector_test(p, y, np.random.default_rng(0), 19).observed


def test_correction_of_three_tests_by_hand():
    assert calibrated.closed({"binary": 0.03}) == {"binary": 0.03}
    found = calibrated.closed({"top_label": 0.04, "classwise": 0.01, "canonical": 0.5})
    assert found == pytest.approx({"top_label": 0.04, "classwise": 0.03, "canonical": 0.03})


def test_halved_cells_are_of_scores_alone_and_balanced():
    p = np.random.default_rng(0).dirichlet(np.ones(5), 640)
    assert set(np.bincount(halved(p, 5))) == {20}


def test_detectable_error_falls_as_one_over_root_n():
    rng = np.random.default_rng(6)
    reach = []
    for n in (400, 6400):
        p = rng.uniform(0.05, 0.95, n)
        test = scalar_test(p, (rng.random(n) < p).astype(int), rng, 999)
        reach.append(detectable.of_scalar(p, test, 0.05, rng))
    assert 2.8 < reach[0] / reach[1] < 5.6


@pytest.mark.parametrize("n, k", [(1, 3), (5, 3), (5, 100)])
def test_of_a_handful_of_rows_no_error_is_said_to_be_found(n, k):
    """Class-wise, p-values of so few rows are hardly ever below alpha / k, whatever the law."""
    rng = np.random.default_rng(0)
    p = np.exp(2.0 * rng.normal(size=(n, k)))
    p /= p.sum(axis=1, keepdims=True)
    found = calibrated.tests(from_arrays(p, labels(p, rng)), 0.95, rng)
    assert {one.notion: one.detectable for one in found.tests}["classwise"] is None


def test_an_error_of_one_direction_alone_is_not_said_to_be_found():
    """Power 1 for overconfidence of 0.1, none for underconfidence up to 0.2."""
    assert detectable._larger(
        lambda log_b: (float(log_b <= -1.0), 0.1 * abs(log_b) if log_b < 0 else 0.05)
    ) == pytest.approx(0.1)
    assert (
        detectable._larger(
            lambda log_b: (float(log_b <= -1.0), 0.1 * abs(log_b) if log_b < 0 else 0.2)
        )
        is None
    )


def test_detectable_error_is_found_as_often_as_it_says():
    rng = np.random.default_rng(7)
    p = rng.uniform(0.05, 0.95, 600)
    test = scalar_test(p, (rng.random(600) < p).astype(int), rng, 999)
    error = detectable.of_scalar(p, test, 0.05, rng)
    found = 0
    for log_b in np.linspace(0.0, 2.0, 400):  # the underconfident law of that error
        q = 1.0 / (1.0 + ((1.0 - p) / p) ** np.exp(log_b))
        if np.mean(np.abs(q - p)) >= error:
            break
    for _ in range(100):
        found += (
            scalar_test(p, (rng.random(600) < q).astype(int), rng, 199, test.cells).p_value <= 0.05
        )
    assert (
        found >= 65
    )  # 80 % in the worse direction, within 3.5 standard errors and the bisection's coarseness


# How far off


@pytest.mark.slow
def test_estimates_are_few_have_one_headline_and_say_what_was_measured():
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(3), 300)
    answer = howfar.errors(from_arrays(p, labels(p, rng)), 0.95, rng)
    for notion in ("top_label", "classwise", "canonical"):
        rows = [row for row in answer.errors if row.notion == notion]
        assert 1 <= len(rows) <= 4 and [row.headline for row in rows] == [True] + [False] * (
            len(rows) - 1
        )
        assert all(row.interval.level == 0.95 for row in rows)
        if notion == "classwise":
            assert [row.estimator for row in rows] == ["best_fast", "binned15"] and rows[
                0
            ].regret is None
        assert rows[0].measured_at == (200, 3) and rows[0].coverage.value > 0.9
        assert rows[0].interval.low <= rows[0].interval.value <= rows[0].interval.high
    assert answer.certified[0].interval.low <= answer.errors[0].interval.high
    assert "only rises" in answer.certified[0].assumption


def test_binned_estimates_have_no_interval_that_their_value_could_miss():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 200)
    answer = howfar.errors(from_arrays(p, labels(p, rng)), 0.95, rng)
    binned = [
        row for row in answer.errors if "binned" in row.estimator or "debiased" in row.estimator
    ]
    assert binned and all(
        row.interval.low is None is row.interval.high and row.coverage is None for row in binned
    )
    for row in answer.errors:
        low = 0.0 if row.interval.low is None else row.interval.low
        assert (
            low
            <= row.interval.value
            <= (math.inf if row.interval.high is None else row.interval.high)
        )


def test_what_was_measured_at_one_level_is_not_said_of_another():
    p = np.linspace(0.05, 0.95, 60)
    data = from_arrays(p, (p > 0.5).astype(int))
    for level in (0.95, 0.9):
        headline = estimates(data, "binary", p, data.y, level, np.random.default_rng(0))[0][0]
        test = calibrated.tests(data, level, np.random.default_rng(0)).tests[0]
        assert (test.size is not None) == (level == 0.95)
        assert headline.interval.level == level and (headline.coverage is not None) == (
            level == 0.95
        )


@pytest.mark.parametrize(
    "n, measured_at", [(50, (50, 2)), (90, (50, 2)), (2200, None), (9_000, (10_000, 2))]
)
def test_coverage_is_told_only_within_a_factor_of_two_of_a_measured_size(n, measured_at):
    p = np.random.default_rng(9).uniform(size=n)
    data = from_arrays(p, (np.random.default_rng(1).random(n) < p).astype(int))
    headline = estimates(data, "binary", p, data.y, 0.95, np.random.default_rng(0))[0][0]
    assert headline.measured_at == measured_at and (headline.coverage is None) == (
        measured_at is None
    )


def test_every_stored_coverage_is_at_least_93_percent_as_far_as_its_draws_tell():
    """Fails for a row whose coverage is below 0.93 beyond chance, at the level 0.001 over all rows together."""
    from scipy.stats import binom

    rows = [row for rows in coverages().values() for row in rows]
    assert len(rows) > 500 and {row.k for row in rows} == {2, 3, 10, 100}
    low = [
        row for row in rows if binom.cdf(round(row.covered), row.draws, 0.93) < 0.001 / len(rows)
    ]
    assert not low, low


@pytest.mark.slow
def test_intervals_of_the_learned_estimate_hold_0_on_large_calibrated_data():
    """The upper binomial limit is that of misses in 5 % of the draws, at the level 1e-4."""
    misses = {"top_label": 0, "classwise": 0, "canonical": 0}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        z = 2.0 * rng.standard_normal((40_000, 10))
        p = softmax(z, axis=1)
        y = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
        for notion in misses:
            misses[notion] += (
                harness.estimate("best_fast", p, y, notion, np.random.default_rng(seed))["l1"].low
                > 0.0
            )
    assert all(count <= 4 for count in misses.values()), misses  # P(more than 4 of 8 | 0.05) = 1e-5


@pytest.mark.slow
def test_classwise_intervals_hold_0_where_all_of_a_hundred_classes_are_calibrated():
    """Some classes have a lower end above 0 by chance; the mean over classes may not."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        z = 2.0 * rng.standard_normal((1_000, 100))
        y = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
        assert harness.estimate("best_fast", softmax(z, axis=1), y, "classwise")["l1"].low == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_no_interval_of_the_error_contradicts_a_test_that_found_nothing(seed):
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.standard_normal((400, 3))
    p = softmax(z, axis=1)
    y = np.argmax(
        0.75 * z + rng.gumbel(size=z.shape), axis=1
    )  # a small error: tests and intervals often disagree
    judgement = judge_data(from_arrays(p, y), questions=["calibrated", "how_far", "where"])
    quiet = [test.notion for test in judgement.calibrated.tests if not test.rejected]
    for row in (*judgement.how_far.errors, *judgement.how_far.certified):
        assert row.notion not in quiet or not row.interval.low
    if "top_label" in quiet:
        gap = judgement.how_far.direction
        assert gap.gap.low <= 0.0 <= gap.gap.high and "cannot be told" in gap.sentence
    if "canonical" in quiet:
        assert all(not score.miscalibration.low for score in judgement.how_far.scores)
    for one in judgement.where.classes:
        assert one.adjusted <= 0.05 or one.error.low == 0.0


def test_overconfidence_by_hand_and_its_sentence():
    found = scores.direction(
        from_arrays(np.full(200, 0.9), np.arange(200) % 2, confidences=True), 0.95
    )
    assert (found.mean_confidence, found.accuracy) == pytest.approx((0.9, 0.5))
    half = 1.972 * 0.5 * math.sqrt(200 / 199) / math.sqrt(200)
    assert (found.gap.low, found.gap.high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-4)
    assert "overconfident" in found.sentence
    all_right = scores.direction(from_arrays([0.9] * 5, [1] * 5, confidences=True), 0.95)
    assert all_right.gap.low == pytest.approx(-0.1) and all_right.gap.high == pytest.approx(
        0.9 - 0.4782, abs=1e-3
    )


@pytest.mark.parametrize("k", [2, 3])
def test_scores_are_the_sum_of_their_parts(k):
    rng = np.random.default_rng(10)
    p = rng.dirichlet(np.ones(k), 200)
    y = labels(p, rng)
    data = from_arrays(p[:, 1] if k == 2 else p, y)
    squared = estimates(data, data.notions[-1], p[:, 1] if k == 2 else p, y, 0.95, rng)[1]
    found, _ = scores.decompositions(data, squared, 0.95, rng)
    for one in found:
        assert one.mean_score == pytest.approx(
            one.miscalibration.value - one.discrimination + one.uncertainty
        )
    squares = ((p - np.eye(k)[y]) ** 2).sum(axis=1).mean()
    assert found[0].mean_score == pytest.approx(squares / (2 if k == 2 else 1))
    assert found[1].mean_score == pytest.approx(-np.log(p[np.arange(200), y]).mean())


def test_ties_are_named_as_the_reason_of_a_disagreement():
    p = np.tile([0.34, 0.39], 3000)  # in one bin of width 1/15
    y = np.where(p == 0.34, np.arange(6000) % 100 < 44, np.arange(6000) % 100 < 29).astype(int)
    found = howfar.errors(from_arrays(p, y), 0.95, np.random.default_rng(0))
    assert found.disagreement is not None and "only 2 different scores" in found.disagreement


# Degenerate predictions


DEGENERATE = {
    "one row": ([0.3], [1], "1 rows"),
    "few rows": (np.linspace(0.1, 0.9, 20), [0, 1] * 10, "20 rows"),
    "one class": (np.linspace(0.1, 0.9, 80), [0] * 80, "All labels are 0"),
    "equal scores": (np.full(100, 0.4), [0, 1] * 50, "All scores are equal"),
    "decisions, all right": ([0.0, 1.0] * 40, [0, 1] * 40, "decisions"),
    "decisions, some wrong": ([0.0, 1.0] * 40, [0, 1] * 38 + [1, 0] * 2, "decisions"),
    "more classes than rows": (np.full((4, 6), 1 / 6), [0, 1, 2, 2], "more classes"),
    "a class never seen": (np.full((90, 3), 1 / 3), [0, 1] * 45, "1 class never occurs"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_predictions_get_an_answer_that_says_so(case):
    p, y, said = DEGENERATE[case]
    found = judge_data(from_arrays(p, y), questions=["calibrated", "how_far"])
    assert any(said in caution for caution in found.how_far.cautions), found.how_far.cautions
    assert found.calibrated.sentence.endswith(".") and found.how_far.sentence.endswith(".")
    if case in ("one row", "few rows", "one class", "decisions, all right"):
        assert found.calibrated.rejected == (case == "one class")
    if case == "decisions, some wrong":
        assert found.calibrated.rejected and "never" in found.calibrated.sentence
    for one in found.how_far.errors:
        assert one.interval.value is not None or one.reason


def test_confidences_are_judged_as_top_label_only():
    found = harness.judge(
        [0.9, 0.7] * 40, [1, 0] * 40, confidences=True, questions=["calibrated", "how_far"]
    )
    assert (
        [one.notion for one in found.calibrated.tests]
        == ["top_label"]
        == sorted({e.notion for e in found.how_far.errors})
    )
    sure = harness.judge([1.0, 0.7] * 40, [0, 1] * 40, confidences=True, questions=["calibrated"])
    assert "confidence 1 was wrong" in sure.calibrated.sentence


# Data, order and streaming


def test_answers_stream_in_order_and_fewer_questions_change_nothing():
    rng = np.random.default_rng(11)
    p = rng.uniform(size=(2, 80))
    y = (rng.random(80) < p[0]).astype(int)
    heard = []
    both = harness.judge(
        p[0],
        y,
        second=p[1],
        names=["a", "b"],
        questions=["how_far", "calibrated"],
        on_answer=lambda question, answer, data: heard.append((question, data.name)),
    )
    assert heard == [("calibrated", "a"), ("calibrated", "b"), ("how_far", "a"), ("how_far", "b")]
    reasons = []
    alone = harness.judge(
        p[0], y, questions=["how_far", "versus"], on_answer=lambda *heard: reasons.append(heard[:2])
    )
    assert reasons[1] == ("versus", alone.unanswered["versus"]) and "a second one" in reasons[1][1]
    assert (
        alone.how_far == both.how_far
        and both.others[0].data.name == "b"
        and alone.calibrated is None
    )


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: harness.judge([0.2, 1.2], [0, 1]), "p holds 1.2 at row 1"),
        (lambda: harness.judge([0.2], [0], level=95), "level is 95"),
        (lambda: harness.judge([0.2], [0], questions=["why"]), "questions holds 'why'"),
        (lambda: harness.judge([0.2], [0], seed=-1), "seed is -1"),
        (lambda: harness.judge([0.2], ["no"]), "say by classes="),
        (lambda: harness.judge([0.2, 0.4], [0, 1], second=[0.3]), "rows"),
        (lambda: from_arrays([0.2], [0], classes=["a"]), "classes has 1 names"),
        (lambda: from_arrays([0.2, 0.1], [0, 1], groups=[1]), "group 'group' has shape (1,)"),
        (
            lambda: from_arrays([0.2, 0.1], ["no", "maybe"], classes=["no", "yes"]),
            "label 'maybe' at row 1",
        ),
        (lambda: from_file("nowhere.csv"), "no file nowhere.csv"),
        (lambda: from_file("nowhere.csv", colour=1), "colour is no option"),
    ],
)
def test_bad_input_gets_one_sentence(call, said):
    with pytest.raises(BadInputError, match=None) as error:
        call()
    assert said in str(error.value) and "\n" not in str(error.value)


def test_second_predictions_are_of_the_same_rows_and_classes():
    first = from_arrays([[0.7, 0.3], [0.4, 0.6]], ["a", "b"], classes=["a", "b"], name="first")
    turned = from_arrays([[0.3, 0.7], [0.6, 0.4]], ["a", "b"], classes=["b", "a"], name="second")
    same = aligned(first, turned)
    assert (
        same.classes == ("a", "b")
        and np.array_equal(same.p, first.p)
        and np.array_equal(same.y, first.y)
    )
    other = from_arrays([[0.7, 0.3], [0.4, 0.6]], ["a", "a"], classes=["a", "b"], name="second")
    with pytest.raises(BadInputError, match="first in row 1: 'b' and 'a'"):
        aligned(first, other)
    with pytest.raises(BadInputError, match="2 and 1 rows"):
        aligned(first, from_arrays([0.3], [1]))


def test_a_file_with_names_of_classes_and_groups(tmp_path):
    path = tmp_path / "model.csv"
    path.write_text(
        "prob_cat,prob_dog,label,site\n0.7,0.3,cat,x\n0.2,0.8,dog,y\n0.6,0.4,dog,x\n",
        encoding="utf-8",
    )
    data = from_file(path, group="site")
    assert (data.name, data.classes, data.y.tolist()) == ("model", ("cat", "dog"), [0, 1, 1])
    assert data.groups["site"].tolist() == ["x", "y", "x"] and "3 rows" in data.understood
    with pytest.raises(BadInputError, match="no column 'town' to group by"):
        from_file(path, group="town")


def test_ece_is_the_plain_binned_error():
    p, y = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1]
    assert harness.ece(p, y, bins=2) == pytest.approx(abs(2.4 - 2.0) / 3)
    assert harness.ece([0.9, 0.8, 0.7], [1, 0, 1], notion="binary", bins=1) == pytest.approx(
        0.4 / 3
    )


# What is shipped


def test_measured_false_alarms_are_at_most_nominal_within_three_standard_errors():
    rows = measured()["size"]
    assert {row["notion"] for row in rows} == {
        "binary",
        "top_label",
        "classwise",
        "canonical",
        "any",
    }
    for row in rows:
        nominal = 1.0 - row["level"]
        assert row["false_alarms"] / row["trials"] <= nominal + 3.0 * math.sqrt(
            nominal * (1.0 - nominal) / row["trials"]
        ), row


def test_measured_figures_are_of_the_estimators_that_are_shown():
    found = measured()
    json.dumps(found)
    known = set(harness.list_estimators())
    assert all(
        row["estimator"] in known and (row["regret"] is None or row["regret"] > 0.0)
        for row in found["estimators"]
    )
    assert all(0.0 <= row.covered <= row.draws for rows in coverages().values() for row in rows)
    assert share(0, 10).low == 0.0 and share(10, 10).high == 1.0
