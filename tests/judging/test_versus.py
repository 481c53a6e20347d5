"""Two models on the same rows: differences by hand, and intervals that cover."""

import numpy as np
import pytest

import harness
from harness.judging import gain
from harness.judging.data import from_arrays
from harness.judging.scores import mean_interval
from harness.judging.versus import QUANTITIES, clustered_interval, matched_interval, versus


def sharpened(p, a=2.0):
    return p**a / (p**a + (1.0 - p) ** a)


def sample(n, seed=0):
    return harness.load_problem("beta_calibrated").sample(n, np.random.default_rng(seed))


def compare(y, *models, level=0.95, seed=0, **options):
    """Return the answer, and its differences by quantity (of the last pair)."""
    judged = [from_arrays(p, y, name="abcdef"[i], **options) for i, p in enumerate(models)]
    answer = versus(judged, level, np.random.default_rng(seed))
    return answer, {row.quantity: row for row in answer.differences}


def test_differences_of_four_rows_by_hand():
    y = [0, 1, 1, 0]
    _, rows = compare(y, [0.4, 0.6, 0.2, 0.5], [0.5, 0.5, 0.6, 0.5])
    assert list(rows) == list(QUANTITIES)
    # With equal probabilities the first class is the most likely one.
    assert (rows["error_rate"].first_value, rows["error_rate"].second_value) == (0.25, 0.25)
    brier = (0.16 + 0.16 + 0.64 + 0.25 - 0.25 - 0.25 - 0.16 - 0.25) / 4
    assert rows["brier"].difference.value == pytest.approx(brier)
    logs = np.log([0.5, 0.5, 0.6, 0.5]) - np.log([0.6, 0.6, 0.2, 0.5])
    expected = mean_interval(logs, 0.95, 0.99)  # Bonferroni over five quantities
    actual = rows["log_loss"].difference
    assert (actual.value, actual.low, actual.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
    assert rows["calibration"].first_value is None


def test_the_log_loss_is_calibration_plus_refinement():
    p, y = sample(1000)
    _, rows = compare(y, p, sharpened(p))
    for side in ("first_value", "second_value"):
        parts = getattr(rows["calibration"], side) + getattr(rows["refinement"], side)
        assert parts == pytest.approx(getattr(rows["log_loss"], side))
    better = [name for name in QUANTITIES if rows[name].better]
    assert better == ["log_loss", "brier", "calibration"]
    assert rows["log_loss"].difference.sign == -1


def test_confidences_may_be_right_on_different_rows():
    right = np.r_[np.ones(70, int), np.zeros(30, int)]
    first = from_arrays(np.full(100, 0.9), right, name="a", confidences=True)
    second = from_arrays(np.full(100, 0.7), right[::-1], name="b", confidences=True)
    rows = versus([first, second], 0.95, np.random.default_rng(0)).differences
    values = {row.quantity: (row.first_value, row.second_value) for row in rows}
    assert values["error_rate"] == pytest.approx((0.3, 0.3))
    assert values["brier"] == pytest.approx((0.25, 0.21))


def test_three_models_are_compared_in_pairs_and_six_with_the_first():
    p, y = sample(2000)
    answer, _ = compare(y, *(sharpened(p, a) for a in (1.0, 2.0, 3.0)))
    assert len(answer.differences) == 15
    answer, _ = compare(y, *(sharpened(p, a) for a in (1, 1.1, 1.2, 1.3, 1.4, 1.5)))
    assert {row.first for row in answer.differences} == {"a"} and len(answer.differences) == 25


def test_the_interval_of_matched_rates_by_hand():
    interval = matched_interval(7, 2, 50, 0.95, 0.95)
    b, c, m = 7.5, 2.5, 52.0
    half = 1.959964 * np.sqrt(b + c - (b - c) ** 2 / m) / m
    assert (interval.value, interval.low, interval.high) == pytest.approx(
        (0.1, (b - c) / m - half, (b - c) / m + half)
    )
    assert matched_interval(0, 0, 1, 0.95, 0.95).value == 0.0
    assert matched_interval(1, 0, 1, 0.95, 0.95).high == 1.0


def test_intervals_cover_the_true_differences():
    """The labels follow p, and the second model is twice as sure as p, so that the truth is
    known.
    """
    p, _ = sample(200_000, 9)
    sharp = np.clip(sharpened(p), 1e-12, 1 - 1e-12)
    loss = float((p * np.log(sharp / p) + (1 - p) * np.log((1 - sharp) / (1 - p))).mean())
    truth = {
        "error_rate": 0.0,
        "log_loss": loss,
        "calibration": loss,
        "refinement": 0.0,
        "brier": -float(((p - sharp) ** 2).mean()),
    }
    reps, covered = 40, dict.fromkeys(truth, 0)
    for r in range(reps):
        p, y = sample(300, [2, r])
        _, rows = compare(y, p, sharpened(p), level=0.75, seed=r)  # each at 0.95
        for name, value in truth.items():
            interval = rows[name].difference
            covered[name] += interval.low - 2e-3 <= value <= interval.high + 2e-3
    for name, count in covered.items():
        assert count / reps >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / reps), name


@pytest.mark.parametrize("n", [10, 300, 2000])
def test_a_tenth_of_the_right_risk_is_rarely_called_better(n):
    """1.2 expected events. Samples without an event seem to favour the smaller risk."""
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.0, 2.4 / n, n)
        y = (rng.random(n) < p).astype(int)
        answer, rows = compare(y, p, p / 10.0, seed=seed)
        names = ("log_loss", "brier", "calibration")
        claims += any(rows[name].better == answer.differences[0].second for name in names)
    assert claims <= 4  # P(more than 4 of 40) is 0.05 at a rate of 5 %


def test_a_risk_that_is_ten_times_too_high_is_found_with_few_events():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.0, 0.01, 1000)
    y = (rng.random(1000) < p).astype(int)
    answer, rows = compare(y, p, np.minimum(20.0 * p, 0.5))
    assert y.sum() < 10 and rows["log_loss"].better == answer.differences[0].first


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_few_rows_and_degenerate_ones_have_an_answer(n):
    for first, second, y in [
        (np.full(n, 0.5), np.full(n, 0.3), np.zeros(n, int)),
        (np.ones(n), np.zeros(n), np.ones(n, int)),
        (np.tile([0.2, 0.8, 0.0], (n, 1)), np.tile([0.1, 0.8, 0.1], (n, 1)), np.full(n, 2)),
    ]:
        answer, rows = compare(y, first, second)
        assert answer.sentence.endswith(".") and "nan" not in answer.sentence
        assert n > 1 or all(row.better is None for row in rows.values())


def test_of_very_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(gain, "most_rows", lambda k: 60)
    p, y = sample(100)
    answer, _ = compare(y, p, sharpened(p))
    assert "60 rows" in answer.sentence


@pytest.mark.slow
def test_two_real_networks(real_network):
    names = ["cifar10_resnet20_chenyaofo", "cifar10_resnet56_chenyaofo"]
    answer = versus([real_network(name) for name in names], 0.95, np.random.default_rng(0))
    rows = {row.quantity: row for row in answer.differences}
    assert rows["error_rate"].better == rows["refinement"].better == names[1]
    assert rows["error_rate"].first_value == pytest.approx(0.074)


def test_probabilities_of_0_that_did_not_occur_win_no_log_loss():
    """In 37 % of such samples none of these labels occurs, but the log-loss is infinite."""
    claims = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = np.where(np.arange(500) < 100, 0.01, rng.uniform(0.05, 0.95, 500))
        y = rng.random(500) < p
        _, rows = compare(y, p, np.where(p < 0.02, 0.0, p))
        claims += any(rows[name].better == "b" for name in ("log_loss", "calibration"))
        assert rows["log_loss"].difference.low == -np.inf
    assert claims == 0


def test_few_groups_that_differ_do_not_show_a_difference_of_error_rates():
    """One of 80 groups differs on average, with all of its rows, and always in one direction."""
    groups, covered = np.repeat(np.arange(80), 4), 0
    for seed in range(400):
        hit = np.random.default_rng([37, seed]).random(80) < 1 / 80
        interval = clustered_interval(hit[groups].astype(float), groups, 0.95, 0.95)
        covered += interval.low <= 1 / 80 <= interval.high
    assert covered >= 380  # 259 by the spread of the groups alone
    apart = np.repeat([1.0, 0.0], [40, 280])
    assert clustered_interval(apart, groups, 0.95, 0.95).low > 0.0


def test_what_a_map_leaves_of_an_infinite_loss_is_undefined():
    """The loss that a map leaves there would be that of its smallest probability."""
    p, y = sample(400)
    q = p.copy()
    q[np.flatnonzero(y == 1)[0]] = 0.0
    _, rows = compare(y, p, q)
    assert rows["log_loss"].second_value == np.inf and rows["refinement"].second_value is None
    assert rows["refinement"].better is None and "undefined for b" in rows["refinement"].sentence
