"""Estimates of the calibration error, measured coverage, direction, parts of scores, cautions."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from scipy.stats import binom
from test_calibrated import draw_labels

import harness
from harness.judging import howfar
from harness.judging.data import from_arrays, from_file
from harness.judging.decomposition import decompositions
from harness.judging.direction import direction
from harness.judging.estimates import estimates, share
from harness.judging.gain import gains
from harness.judging.judge import judge_data
from harness.judging.measured import measurements
from harness.judging.verdict import choose_verdict

CASES = Path(__file__).parents[1] / "cases"


def dirichlet(n, seed, k=3):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return p, draw_labels(p, rng), rng


@pytest.mark.slow
def test_estimates_are_few_with_one_headline_and_measured_coverage():
    p, y, rng = dirichlet(300, 8)
    answer = howfar.errors(from_arrays(p, y), 0.95, rng)
    for notion in ("top_label", "classwise", "canonical"):
        rows = [row for row in answer.errors if row.notion == notion]
        assert 1 <= len(rows) <= 4
        assert [row.headline for row in rows] == [True] + [False] * (len(rows) - 1)
        assert all(row.interval.level == 0.95 for row in rows)
        if notion == "classwise":
            names = [row.estimator for row in rows]
            assert names == ["best_fast", "binned15", "variational_histogram"]
            assert rows[0].regret is None
        assert rows[0].measured_at == (200, 3) and rows[0].coverage.value > 0.9
        assert rows[0].interval.low <= rows[0].interval.value <= rows[0].interval.high
    assert answer.certified[0].interval.low <= answer.errors[0].interval.high


def test_binned_estimates_have_no_interval_and_values_lie_within_theirs():
    p, y, rng = dirichlet(200, 3)
    answer = howfar.errors(from_arrays(p, y), 0.95, rng)
    binned = [row for row in answer.errors if "bin" in row.estimator]
    assert binned
    for row in binned:
        assert row.interval.low is row.interval.high is row.coverage is None
    for row in answer.errors:
        assert row.kind == "lower" or (row.interval.low or 0.0) <= row.interval.value
        assert row.interval.high is None or row.interval.value <= row.interval.high


@pytest.mark.parametrize("k, slope, l1", [(2, 1.0, 0.0), (2, 0.9, 0.0155), (3, 1.0, 0.0)])
def test_lower_bounds_are_at_most_the_error_on_average(k, slope, l1):
    """Cut at 0, their means would be 0.02 to 0.05 for these samples."""
    values = []
    for seed in range(40):
        rng = np.random.default_rng([seed, k])
        p = rng.random(100) if k == 2 else softmax(2.0 * rng.standard_normal((100, k)), axis=1)
        c = expit(slope * logit(p)) if k == 2 else p
        y = (rng.random(100) < c).astype(int) if k == 2 else draw_labels(p, rng)
        data = from_arrays(p, y)
        rows, _ = estimates(data, data.notions[-1], p, y, 0.95, rng)
        values += [[row.interval.value for row in rows if row.kind == "lower"]]
    values = np.array(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert values.shape[1] > 0 and (values.mean(axis=0) <= l1 + 2.5 * error).all()
    assert (values < 0.0).any()


@pytest.mark.parametrize(
    "n, level, measured_at",
    [
        (50, 0.95, (50, 2)),
        (50, 0.9, None),
        (90, 0.95, (50, 2)),
        (2200, 0.95, (1000, 2)),
        (20, 0.95, None),
        (9_000, 0.95, (10_000, 2)),
    ],
)
def test_coverage_is_quoted_only_at_its_level_and_near_a_measured_size(n, level, measured_at):
    """The range of measured n, here 50 to 40,000, is left by at most a factor of two."""
    p = np.random.default_rng(9).uniform(size=n)
    data = from_arrays(p, (np.random.default_rng(1).random(n) < p).astype(int))
    headline = estimates(data, "binary", p, data.y, level, np.random.default_rng(0))[0][0]
    assert headline.interval.level == level and headline.measured_at == measured_at
    assert (headline.coverage is None) == (measured_at is None) == (headline.beyond is not None)


def notes(p, y, level=0.95, **options):
    """Return {notion: difference from the measured data} of a judgement, and the judgement."""
    data = from_arrays(p, y, **options)
    judgement = judge_data([data], level=level, questions=["how_far"])
    headlines = [row for row in judgement.how_far.errors if row.headline]
    return {row.notion: row.beyond for row in headlines}, judgement


def test_an_interval_outside_the_measured_data_says_so():
    """Vectors of 30 classes with 1,500 rows and shifted frequencies: 27 of 40 intervals covered."""
    rng = np.random.default_rng(3)
    p = softmax(2.0 * rng.standard_normal((1500, 30)), axis=1)
    beyond, judgement = notes(p, draw_labels(p, rng))
    assert all("30 classes" in text for text in beyond.values()) and len(beyond) == 3
    for shown in (str(judgement), judgement.to_html(), judgement.to_markdown()):
        assert "30 classes" in " ".join(shown.split())
    errors = judgement.to_json()["how_far"]["errors"]
    assert all(row["coverage"] is None for row in errors if row["beyond"])
    assert any("30 classes" in (row["beyond"] or "") for row in errors)


@pytest.mark.parametrize("k, n", [(3, 300), (3, 2_200), (10, 450), (5, 1_500)])
def test_an_interval_within_the_measured_data_names_their_kinds(k, n):
    p, y = gumbel_sample(1, n, k)
    beyond, judgement = notes(p, y)
    assert set(beyond.values()) == {None}
    assert "not measured" not in str(judgement)
    assert "on simulated calibrated or overconfident" in " ".join(str(judgement).split())
    assert all(row.coverage.value > 0.9 for row in judgement.how_far.errors if row.headline)


@pytest.mark.parametrize(
    "text, n, scale, power, options",
    [
        ("4 expected events", 400, 0.02, 1.0, {}),
        ("errors above 0.05", 400, 1.0, 4.0, {}),
        ("at the 90 % level", 400, 1.0, 1.0, {"level": 0.9}),
        ("rows in groups", 400, 1.0, 1.0, {"group_rows": np.arange(400) // 4}),
        ("220,000 rows", 220_000, 1.0, 1.0, {}),
        (None, 120_000, 1.0, 1.0, {}),
    ],
)
def test_other_differences_from_the_measured_data(text, n, scale, power, options):
    rng = np.random.default_rng(2)
    p = scale * (np.arange(n) + 0.5) / n
    beyond, judgement = notes(p, (rng.random(n) < p**power).astype(int), **options)
    assert (text or "") in (beyond["binary"] or "") and (text is None) == (beyond["binary"] is None)
    assert text is None or text in judgement.how_far.sentence


def test_every_stored_coverage_is_at_least_93_percent_as_far_as_its_draws_tell():
    """Fails if a coverage is below 0.93 by more than chance, at level 0.001 over all rows."""
    rows = measurements("coverage")
    assert len(rows) > 500 and set(rows["k"]) == {2, 3, 10, 100}
    assert (rows["covered"].between(0.0, rows["draws"])).all()
    p_values = binom.cdf(rows["covered"].round(), rows["draws"], 0.93)
    assert (p_values >= 0.001 / len(rows)).all()


def test_stored_regrets_are_of_known_estimators():
    rows = measurements("estimators")
    assert set(rows["estimator"]) <= set(harness.list_estimators())
    assert (rows["regret"].dropna() > 0.0).all()


def test_a_share_of_none_and_of_all():
    assert share(0, 10).low == 0.0 and share(10, 10).high == 1.0


def gumbel_sample(seed, n, k, slope=1.0):
    """Return p and y, which are calibrated if `slope` is 1."""
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.standard_normal((n, k))
    return softmax(z, axis=1), np.argmax(slope * z + rng.gumbel(size=z.shape), axis=1)


@pytest.mark.slow
def test_intervals_of_the_learned_estimate_hold_0_on_large_calibrated_data():
    """More than 4 misses in 8 have probability 1e-5 if each has probability 0.05."""
    misses = {"top_label": 0, "classwise": 0, "canonical": 0}
    for seed in range(8):
        p, y = gumbel_sample(seed, 40_000, 10)
        for notion in misses:
            rng = np.random.default_rng(seed)
            misses[notion] += harness.estimate("best_fast", p, y, notion, rng)["l1"].low > 0.0
    assert all(count <= 4 for count in misses.values()), misses


@pytest.mark.slow
def test_classwise_intervals_hold_0_if_all_of_a_hundred_classes_are_calibrated():
    """Some classes have a lower end above 0 by chance, but their mean must not."""
    for seed in range(6):
        p, y = gumbel_sample(seed, 1_000, 100)
        assert harness.estimate("best_fast", p, y, "classwise")["l1"].low == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_no_interval_of_the_error_contradicts_a_test_that_does_not_reject(seed):
    """The error is so small that independent tests and intervals would often disagree."""
    p, y = gumbel_sample(seed, 400, 3, slope=0.75)
    judgement = judge_data([from_arrays(p, y)], questions=["calibrated", "how_far", "where"])
    quiet = [test.notion for test in judgement.calibrated.tests if not test.rejected]
    for row in (*judgement.how_far.errors, *judgement.how_far.certified):
        assert row.notion not in quiet or not row.interval.low
    if "top_label" in quiet:
        assert judgement.how_far.direction.gap.sign == 0
        assert "cannot be told" in judgement.how_far.direction.sentence
    if "canonical" in quiet:
        assert all(not score.miscalibration.low for score in judgement.how_far.scores)
    for finding in judgement.where.classes:
        assert finding.adjusted <= 0.05 or finding.error.low == 0.0


def test_overconfidence_by_hand():
    data = from_arrays(np.full(200, 0.9), np.arange(200) % 2, confidences=True)
    answer = direction(data, 0.95)
    assert (answer.mean_confidence, answer.accuracy) == pytest.approx((0.9, 0.5))
    half = 1.972 * 0.5 * math.sqrt(200 / 199) / math.sqrt(200)
    gap = answer.gap
    assert (gap.low, gap.high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-4)
    assert "overconfident" in answer.sentence
    gap = direction(from_arrays([0.9] * 5, [1] * 5, confidences=True), 0.95).gap
    assert (gap.low, gap.high) == pytest.approx((-0.1, 0.9 - 0.4782), abs=1e-3)


@pytest.mark.parametrize("k", [2, 3])
def test_scores_are_the_sum_of_their_parts(k):
    p, y, rng = dirichlet(200, 10, k)
    x = p[:, 1] if k == 2 else p
    data = from_arrays(x, y)
    squared = estimates(data, data.notions[-1], x, y, 0.95, rng)[1]
    brier, log = decompositions(data, squared, gains(data, 0.95, rng), 0.95)
    for part in (brier, log):
        total = part.miscalibration.value - part.discrimination + part.uncertainty
        assert part.mean_score == pytest.approx(total)
    squares = ((p - np.eye(k)[y]) ** 2).sum(axis=1).mean()
    assert brier.mean_score == pytest.approx(squares / (2 if k == 2 else 1))
    assert log.mean_score == pytest.approx(-np.log(p[np.arange(200), y]).mean())


SCORES = {"log": "log_loss", "brier": "brier"}


def assert_parts_agree(judgement):
    """Check the parts of all scores against each other and against the gains."""
    for score in judgement.how_far.scores:
        error = score.miscalibration.value
        known = [getattr(gain, SCORES[score.score]).value for gain in judgement.gains.gains]
        if score.reason is not None:
            assert error is None and score.discrimination is None
            continue
        assert score.mean_score == pytest.approx(error - score.discrimination + score.uncertainty)
        assert score.discrimination >= 0.0 and 0.0 <= error <= score.mean_score + 1e-12
        assert all(gain <= error for gain in known if gain is not None)
        assert (score.miscalibration.low or 0.0) <= error


def test_the_miscalibration_of_rare_events_is_at_least_the_gain(cases):
    questions = ["how_far", "gains"]
    judgement = judge_data([from_file(cases / "rare_balanced.csv")], questions=questions)
    assert_parts_agree(judgement)
    (log,) = [score for score in judgement.how_far.scores if score.score == "log"]
    assert log.miscalibration.value == max(gain.log_loss.value for gain in judgement.gains.gains)
    assert log.miscalibration.value == pytest.approx(0.294, abs=0.001)
    assert log.discrimination > 0.0


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize("n", [8, 150])
@pytest.mark.parametrize("share", [0.01, 0.5])
def test_parts_of_scores_never_contradict_each_other(k, n, share):
    """Sharp, calibrated and uninformative predictions, with few events."""
    rng = np.random.default_rng([k, n, int(100 * share)])
    for power in (0.0, 1.0, 2.0):
        p = rng.dirichlet(np.r_[1.0 - share, np.full(k - 1, share / (k - 1))] * 2.0, n) + 1e-9
        p /= p.sum(axis=1, keepdims=True)
        y = draw_labels(p, rng)
        p = p**power / (p**power).sum(axis=1, keepdims=True)
        data = from_arrays(p, y, classes=[str(j) for j in range(k)])
        assert_parts_agree(judge_data([data], questions=["how_far", "gains"]))


def test_parts_that_contradict_each_other_are_replaced_by_a_reason():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 300)
    judgement = judge_data([from_arrays(p, rng.integers(0, 2, 300))], questions=["how_far"])
    (brier, log) = judgement.how_far.scores
    assert log.reason is not None and log.reason in judgement.how_far.cautions
    numbers = judgement.to_json()["numbers"]
    for part in ("miscalibration.value", "discrimination"):
        assert numbers[f"log_loss.{part}"] == {"value": None, "level": None, "reason": log.reason}
    assert numbers["log_loss.value"]["value"] > 0.0 and log.uncertainty > 0.0


def test_a_rejected_test_and_an_interval_with_0_are_reconciled():
    """Question 2 says so in one sentence if a test rejects and the interval contains 0."""
    rng = np.random.default_rng(5)
    said = []
    for _ in range(12):
        p = rng.beta(0.5, 0.5, 300)
        y = (rng.random(300) < expit(0.8 * logit(p))).astype(int)
        judgement = judge_data([from_arrays(p, y)], questions=["calibrated", "how_far"])
        interval = judgement.how_far.errors[0].interval
        expected = judgement.calibrated.rejected and interval.low < 5e-5
        assert ("although the test" in judgement.how_far.sentence) == expected
        said.append(expected)
    assert 0 < sum(said) < 12


def test_ties_are_named_as_the_cause_of_a_disagreement():
    p = np.tile([0.34, 0.39], 3000)  # in one bin of width 1/15
    rank = np.arange(6000) % 100
    y = np.where(p == 0.34, rank < 44, rank < 29).astype(int)
    answer = howfar.errors(from_arrays(p, y), 0.95, np.random.default_rng(0))
    assert "only 2 different scores" in answer.disagreement


DEGENERATE = {
    "one row": ([0.3], [1], "1 row"),
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
def test_degenerate_predictions_get_an_answer_with_a_caution(case):
    p, y, caution = DEGENERATE[case]
    judgement = judge_data([from_arrays(p, y)], questions=["calibrated", "how_far"])
    assert any(caution in text for text in judgement.how_far.cautions)
    assert all(sentence.endswith(".") for sentence in judgement.sentences)
    if case in ("one row", "few rows", "one class", "decisions, all right"):
        assert judgement.calibrated.rejected == (case == "one class")
    if case == "decisions, some wrong":
        assert judgement.calibrated.rejected
    for row in judgement.how_far.errors:
        assert row.interval.value is not None or row.reason


def line_sample(n, slope, shift, rng):
    """Return uniform scores p (n,) and labels whose logit is shift + slope logit(p)."""
    p = rng.uniform(size=n)
    return p, (rng.uniform(size=n) < expit(shift + slope * logit(p))).astype(int)


def test_a_perfect_model_is_neither_over_nor_underconfident():
    y = np.arange(200) % 2
    answer = direction(from_arrays(y.astype(float), y), 0.95)
    assert answer.gap.value == 0.0 and "neither over- nor underconfident" in answer.sentence


@pytest.mark.parametrize("slope, word", [(0.5, "overconfident"), (2.0, "underconfident")])
def test_a_binary_model_is_called_over_or_underconfident_by_its_slope(slope, word):
    p, y = line_sample(2_000, slope, 0.0, np.random.default_rng(1))
    answer = direction(from_arrays(p, y), 0.95)
    assert answer.sentence.startswith(f"The predictions are {word}: the calibration slope is")
    assert "cannot be told" in answer.sentence
    assert answer.slope.low < slope < answer.slope.high
    quiet = direction(from_arrays(p, y), 0.95, join_zero=True)
    assert "cannot be told" in quiet.sentence
    assert quiet.slope.low <= 1.0 <= quiet.slope.high


@pytest.mark.parametrize(
    "p, y, is_large",
    [
        (np.full(4_000, 0.5), np.arange(4_000) % 2, False),
        (np.full(30, 0.5), np.arange(30) % 2, True),
        ([0.0, 1.0] * 400, [0, 1] * 400, False),
    ],
)
def test_a_large_error_could_only_be_missed_if_the_interval_holds_one(p, y, is_large):
    judgement = judge_data([from_arrays(p, y)], questions=["calibrated", "how_far"])
    assert ("even a large" in judgement.calibrated.sentence) == is_large
    assert (judgement.how_far.errors[0].interval.high > 0.1) == is_large


def test_the_interval_of_the_error_reaches_the_sizes_of_the_mean_gap():
    """With 15 events among 30 rows of score 1/2, the mean gap can be up to 0.18 in size."""
    p, y = np.full(30, 0.5), np.arange(30) % 2
    answer = judge_data([from_arrays(p, y)], questions=["calibrated", "how_far"]).how_far
    assert answer.direction.gap.high > 0.15
    assert answer.errors[0].interval.high >= answer.direction.gap.high


def test_one_row_says_nothing():
    judgement = judge_data([from_arrays([0.7], [1])])
    sentences = " ".join(judgement.sentences)
    assert "One row says nothing" in sentences and "1 rows" not in str(judgement)
    assert "near" not in judgement.how_far.direction.sentence


def test_certain_predictions_have_no_part_in_slope_and_verdict():
    """Of 3,000 rows of a random forest 30 are certain, and one of them is wrong."""
    judgement = judge_data([from_file(CASES / "forest.csv")], questions=["calibrated", "how_far"])
    slope = judgement.how_far.direction.slope
    assert (slope.value, slope.low, slope.high) == pytest.approx((0.76, 0.67, 0.85), abs=0.005)
    assert "30 rows" in judgement.how_far.direction.sentence
    # 80.8 % said and 80.2 % right is within noise, so that the verdict does not rest on it.
    assert not re.search(r"\d\d", choose_verdict(judgement)[0])


def test_a_missing_slope_has_a_reason():
    y = np.arange(200) % 2
    certain = direction(from_arrays(np.repeat([0.0, 1.0], 100), y), 0.95)
    assert certain.slope is None and "0 or 1" in certain.slope_reason
    few = direction(
        from_arrays(np.linspace(0.1, 0.9, 200), (np.arange(200) > 195).astype(int)), 0.95
    )
    assert few.slope is None and few.slope_reason


def test_decisions_that_were_all_right_do_not_show_an_error_of_0():
    """200 right decisions do not exclude an error rate of 1 %."""
    y = np.arange(200) % 2
    answer = harness.judge(y.astype(float), y, questions=["calibrated", "how_far"]).how_far
    assert answer.direction.gap.low < -0.01 and answer.direction.gap.high > 0.01
    assert answer.errors[0].interval.high > 0.01
    assert answer.errors[0].coverage is None and answer.errors[0].beyond is not None


def test_an_end_of_a_gap_that_excludes_0_is_not_printed_as_0():
    p = np.full(300, 1.0 - 1e-16)
    answer = harness.judge(p, np.arange(300) > 0, questions=["how_far"]).how_far
    assert answer.direction.gap.low > 0.0 and "interval 0.000 to" not in answer.direction.sentence
