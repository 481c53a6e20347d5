"""Rows with weights: weighted numbers, tests and intervals that count rows, and refusals."""

import numpy as np
import pytest
from monte_carlo import covers, least_share

import harness
from harness import BadInputError
from harness.judging.data import from_arrays, from_file
from harness.judging.direction import direction
from harness.judging.weights import repeated


def unequal(n, rng, power=1.0, spread=1.0):
    """Return p, y and weights, of rows that were drawn with probabilities of 1 / weight.

    P(Y = 1) is p^power in half of the rows and 2 p - p^power in the others; the rows of the former
    half weigh three times as much, with log-normal noise.
    """
    p = rng.uniform(0.05, 0.95, n)
    half = np.arange(n) % 2 == 0
    q = np.where(half, p**power, 2.0 * p - p**power).clip(0.0, 1.0)
    weight = np.where(half, 3.0, 1.0) * np.exp(spread * rng.standard_normal(n))
    return p, (rng.random(n) < q).astype(int), weight


def numbers(judgement):
    return {name: row["value"] for name, row in judgement.to_json()["numbers"].items()}


# Values


def test_equal_weights_change_no_number():
    p, y, _ = unequal(300, np.random.default_rng(0), power=2.0)
    usual, ours = harness.judge(p, y), harness.judge(p, y, sample_weight=np.full(300, 0.7))
    assert numbers(ours) == numbers(usual) and ours.calibrated == usual.calibrated


def test_rows_of_weight_zero_are_left_out():
    p, y, _ = unequal(300, np.random.default_rng(0), power=2.0)
    usual = harness.judge(p[:200], y[:200])
    ours = harness.judge(p, y, sample_weight=np.repeat([1.0, 0.0], [200, 100]))
    assert numbers(ours) == numbers(usual)


def test_whole_weights_are_numbers_of_copies():
    data = from_arrays([0.1, 0.2, 0.6, 0.9], [0, 1, 0, 1], sample_weight=[2, 4, 0, 6])
    ours = repeated(data)
    assert ours.p[:, 1].tolist() == [0.1, 0.2, 0.2, 0.9, 0.9, 0.9]
    assert ours.y.tolist() == [0, 1, 1, 1, 1, 1] and ours.row_groups.tolist() == [0, 1, 1, 2, 2, 2]
    assert ours.rows == "3 rows of different weight" and ours.given == 3


def test_plug_in_numbers_are_those_of_repeated_rows():
    p, y, _ = unequal(400, np.random.default_rng(1), power=2.0)
    weight = np.random.default_rng(2).integers(1, 5, 400)
    ours = numbers(harness.judge(p, y, sample_weight=weight))
    usual = numbers(harness.judge(np.repeat(p, weight), np.repeat(y, weight)))
    for name in ("log_loss.value", "brier.value", "confidence_gap.value", "clinical.auroc.value"):
        assert ours[name] == pytest.approx(usual[name], abs=1e-12)


def test_numbers_are_weighted_means_whatever_the_weights():
    p, y, weight = unequal(4000, np.random.default_rng(3), power=2.0)
    ours = numbers(harness.judge(p, y, sample_weight=weight))
    brier = np.average((p - y) ** 2, weights=weight)
    gap = np.average(p - y, weights=weight)
    # Of a row with c copies on average, their number varies by less than 1 / 4 (variance).
    noise = 3.0 * 0.5 / 2.0 / np.sqrt(4000)
    assert abs(ours["brier.value"] - brier) < noise * np.std((p - y) ** 2)
    assert abs(ours["confidence_gap.value"] - gap) < noise * np.std(p - y)
    low, high = ours["confidence_gap.low"], ours["confidence_gap.high"]
    assert low < gap < high and not low < np.mean(p - y) < high


def test_the_same_seed_gives_the_same_copies():
    p, y, weight = unequal(3000, np.random.default_rng(4))
    data = from_arrays(p, y, sample_weight=weight)
    first, again, other = repeated(data, 0), repeated(data, 0), repeated(data, 1)
    assert np.array_equal(first.p, again.p) and not np.array_equal(first.y, other.y)


# Statistical behaviour


def test_calibrated_predictions_are_rarely_rejected():
    """They are calibrated with the weights 3 and 1 only if power is 1."""
    rejected = 0
    for seed in range(100):
        p, y, weight = unequal(400, np.random.default_rng(seed))
        answer = harness.judge(p, y, sample_weight=weight, questions=["calibrated"])
        rejected += bool(answer.calibrated.rejected)
    assert 1.0 - rejected / 100 >= least_share(0.95, 100)


def test_few_events_of_unequal_weight_are_rarely_rejected():
    rejected = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.0, 0.04, 500)
        y, weight = (rng.random(500) < p).astype(int), np.exp(rng.standard_normal(500))
        answer = harness.judge(p, y, sample_weight=weight, questions=["calibrated"])
        rejected += bool(answer.calibrated.rejected)
    assert 1.0 - rejected / 100 >= least_share(0.95, 100)


def test_few_events_and_very_unequal_weights_are_rarely_rejected():
    """Their weighted residuals are so skewed that flipped signs alone reject 18 of 100."""
    n, spread, rejected = 1000, 2.0, 0
    for seed in range(100):
        rng = np.random.default_rng([seed, n])
        p = rng.beta(1.0, 12.0, n)
        y, weight = (rng.random(n) < p).astype(int), np.exp(spread * rng.standard_normal(n))
        answer = harness.judge(p, y, sample_weight=weight, questions=["calibrated"])
        rejected += bool(answer.calibrated.rejected)
    assert 1.0 - rejected / 100 >= least_share(0.95, 100)


def test_an_error_of_the_heavy_rows_alone_is_found():
    found = 0
    for seed in range(20):
        p, y, weight = unequal(2000, np.random.default_rng(seed), power=2.0, spread=0.5)
        answer = harness.judge(p, y, sample_weight=weight, questions=["calibrated"])
        found += bool(answer.calibrated.rejected)
        # Without weights the errors of the two halves cancel.
    assert found >= 18


def test_intervals_of_means_cover_the_weighted_mean():
    """The population is 3/4 rows of the heavy kind: mean gap (3 g - g) / 4, g = E(p - p^2)."""
    u = np.linspace(0.05, 0.95, 100_001)
    truth = 0.5 * np.mean(u - u**2)
    inside = []
    for seed in range(200):
        p, y, weight = unequal(500, np.random.default_rng(seed), power=2.0)
        data = repeated(from_arrays(p, y, sample_weight=weight))
        answer = direction(data, 0.95).gap
        inside.append(answer.low <= truth <= answer.high)
    assert covers(inside, 0.95)


# Files, models and refusals


def test_a_column_of_a_file_is_read(tmp_path):
    path = tmp_path / "preds.csv"
    path.write_text("p,y,w\n0.2,0,1\n0.7,1,2\n0.4,0,1\n")
    data = from_file(path, weights="w")
    assert data.weights.tolist() == [1.0, 2.0, 1.0] and "not used" not in data.understood
    with pytest.raises(BadInputError, match="no weights column 'v'; choose among p, y, w"):
        from_file(path, weights="v")


def test_all_models_have_the_weights_of_the_first():
    p, y, weight = unequal(600, np.random.default_rng(5), power=3.0)
    answer = harness.judge(p, y, second=p**3, sample_weight=weight)
    rows = {row.quantity: row for row in answer.versus.differences}
    expected = np.average((p - y) ** 2 - (p**3 - y) ** 2, weights=weight)
    assert rows["brier"].difference.value == pytest.approx(expected, abs=0.01)
    assert answer.others[0].data.weighted_rows == 600


def test_groups_with_weights_count_groups():
    p, y, weight = unequal(600, np.random.default_rng(6))
    answer = harness.judge(
        p, y, sample_weight=weight, group_rows=np.arange(600) // 3, questions=["calibrated"]
    )
    assert answer.data.rows == "600 rows of different weight in 200 groups"
    assert answer.data.row_groups.max() == 199


@pytest.mark.parametrize(
    "weight, message",
    [
        ([1.0, -1.0], "holds -1 in row 1"),
        ([1.0, np.nan], "holds nan in row 1"),
        ([0.0, 0.0], "is zero in all rows"),
        ([1.0], "one weight per row"),
    ],
)
def test_wrong_weights_are_refused(weight, message):
    with pytest.raises(BadInputError, match=message):
        harness.judge([0.2, 0.8], [0, 1], sample_weight=weight)


def test_several_labels_per_row_have_no_weights():
    p, y = np.full((10, 3), 0.5), np.tile([1, 1, 0], (10, 1))
    with pytest.raises(BadInputError, match="without sample_weight"):
        harness.judge(p, y, sample_weight=np.ones(10))


def test_a_single_row_that_counts_is_refused():
    p, y = np.tile([0.0, 1.0, 0.5, 0.2], 30), np.tile([0, 1, 1, 0], 30)
    with pytest.raises(BadInputError, match="let a single row count"):
        harness.judge(p, y, sample_weight=np.geomspace(1e-300, 1e300, 120))


@pytest.mark.parametrize("n", [2, 3])
def test_one_heavy_row_of_a_few_is_refused(n):
    p, y, weight = [0.3, 0.6, 0.2][:n], [1, 0, 1][:n], [1.0, 1e-300, 1e-300][:n]
    with pytest.raises(BadInputError, match="let a single row count"):
        harness.judge(p, y, sample_weight=weight)


def test_a_single_row_with_a_weight_is_judged_as_one_row():
    answer = harness.judge([0.3, 0.6, 0.2], [1, 0, 1], sample_weight=[1.0, 0.0, 0.0])
    assert answer.data.n == answer.data.given == 1 and "1 row" in repr(answer)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_single_group_that_counts_is_refused(noise):
    p, y, _ = unequal(200, np.random.default_rng(0))
    half = np.repeat([0, 1], 100)
    weight = np.where(half == 0, 1.0 + noise * np.arange(200), 0.0)
    with pytest.raises(BadInputError, match="same group of rows"):
        harness.judge(p, y, sample_weight=weight, group_rows=half)


def test_the_sum_of_huge_whole_weights_does_not_overflow():
    """Their sum, 1.35e19, is above the largest 64-bit integer."""
    p, y, _ = unequal(2000, np.random.default_rng(0))
    weight = np.floor(np.random.default_rng(1).uniform(0.6, 0.9, 2000) * 9e15)
    assert repeated(from_arrays(p, y, sample_weight=weight)).n < 20_000


def test_rows_without_a_copy_are_not_counted_as_different_scores():
    p, y, _ = unequal(200, np.random.default_rng(0))
    answer = harness.judge(p, y, sample_weight=np.r_[np.full(3, 1e5), np.ones(197)])
    texts = [answer.how_far.sentence, *answer.how_far.cautions]
    assert not any("different scores" in text for text in texts)
    assert any("weights let fewer than 20 rows count" in text for text in texts)


def test_the_note_names_the_units_whose_signs_are_flipped():
    p, y, weight = unequal(120, np.random.default_rng(0))
    options = {"sample_weight": weight, "questions": ["calibrated"]}
    (alone,) = harness.judge(p, y, **options).calibrated.tests
    (grouped,) = harness.judge(p, y, group_rows=np.arange(120) // 2, **options).calibrated.tests
    assert "residuals of rows" in alone.note and "residuals of whole groups" in grouped.note


def test_scores_of_0_and_1_and_few_rows_of_unequal_weight_are_judged():
    p = np.tile([0.0, 1.0, 0.5, 0.2, 0.0], 30)
    y = np.tile([0, 1, 1, 0, 1], 30)
    for weight in (np.geomspace(1.0, 100.0, 150), np.geomspace(1.0, 1e6, 150)):
        answer = harness.judge(p, y, sample_weight=weight)
        assert answer.data.given == 150 and answer.calibrated.rejected  # 0 for an event
        assert "Some outcomes" in str(answer)


def test_each_notion_has_an_answer():
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(4), 500)
    y = np.array([rng.choice(4, p=row) for row in p])
    answer = harness.judge(p, y, sample_weight=rng.exponential(size=500))
    assert [test.rejected for test in answer.calibrated.tests] == [False] * 3
