"""Two models on the same rows: differences by hand, intervals that cover, and refusals that name the first difference."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.errors import BadInputError
from harness.judging import versus as module
from harness.judging.findings import Judged
from harness.judging.gain import paired_mean
from harness.judging.versus import QUANTITIES, aligned, matched, versus


def judged(p, y, name="first.csv", **more):
    p = np.asarray(p, float)
    p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    return Judged(name, p, np.asarray(y), tuple(f"c{j}" for j in range(p.shape[1])), **more)


def sharpened(p, a=2.0):
    return p**a / (p**a + (1.0 - p) ** a)


def test_differences_of_four_rows_by_hand():
    y = [0, 1, 1, 0]
    found = versus(
        [judged([0.4, 0.6, 0.2, 0.5], y), judged([0.5, 0.5, 0.6, 0.5], y, "second.csv")], 0.95, 0
    )
    one = {difference.quantity: difference for difference in found.differences}
    assert tuple(one) == QUANTITIES
    # columns of equal probability: the first is the most likely class
    assert (one["error_rate"].first_value, one["error_rate"].second_value) == (0.25, 0.25)
    assert one["brier"].difference.value == pytest.approx(
        (0.16 + 0.16 + 0.64 + 0.25 - 0.25 - 0.25 - 0.16 - 0.25) / 4
    )
    logs = np.log([0.5, 0.5, 0.6, 0.5]) - np.log([0.6, 0.6, 0.2, 0.5])
    interval = paired_mean(logs, 0.95, 0.99)  # Bonferroni over five quantities
    got = one["log_loss"].difference
    assert (got.value, got.low, got.high) == pytest.approx(
        (interval.value, interval.low, interval.high)
    )
    assert (
        one["calibration"].first_value is None
        and "nothing can be said" in one["calibration"].sentence
    )
    assert "cannot be told apart at n = 4" in found.sentence


def test_the_log_loss_is_calibration_plus_refinement():
    p, y = harness.load_problem("beta_calibrated").sample(1000, np.random.default_rng(0))
    found = versus([judged(p, y), judged(sharpened(p), y, "second.csv")], 0.95, 0)
    one = {difference.quantity: difference for difference in found.differences}
    for side in ("first_value", "second_value"):
        parts = getattr(one["calibration"], side) + getattr(one["refinement"], side)
        assert parts == pytest.approx(getattr(one["log_loss"], side))
    assert [name for name in QUANTITIES if one[name].better] == ["log_loss", "brier", "calibration"]
    assert (
        found.sentence.startswith("first.csv is better in log-loss by 0.0")
        and one["log_loss"].difference.high < 0.0
    )
    assert "their error rate and refinement cannot be told apart at n = 1,000" in found.sentence
    assert "hold for all 5 differences together" in found.sentence


def test_the_same_model_twice_is_not_told_apart_from_itself():
    p, y = harness.load_problem("beta_calibrated").sample(100, np.random.default_rng(0))
    found = versus([judged(p, y), judged(p, y)], 0.95, 0)
    assert all(one.better is None and one.difference.value == 0.0 for one in found.differences)
    assert (found.differences[0].first, found.differences[0].second) == (
        "first.csv (1)",
        "first.csv (2)",
    )


def test_classes_in_another_order_are_aligned():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([1.0, 1.0, 1.0], 50), rng.integers(0, 3, 50)
    order = [2, 0, 1]  # column j of the other file is class order[j]
    other = Judged("b", p[:, order], np.argsort(order)[y], ("c2", "c0", "c1"))
    same = aligned(judged(p, y, "a"), other)
    assert (
        np.array_equal(same.p, p)
        and np.array_equal(same.y, y)
        and same.classes == ("c0", "c1", "c2")
    )


def test_other_rows_are_refused_naming_the_first_difference():
    p, y = np.full((6, 3), 1.0 / 3.0), np.array([0, 1, 2, 0, 1, 2])
    first = judged(p, y)
    wrong = y.copy()
    wrong[[3, 5]] = 1
    for other, message in [
        (judged(p[:5], y[:5], "b.csv"), "first.csv and b.csv have 6 and 5 rows"),
        (judged(np.full((6, 4), 0.25), y, "b.csv"), "have 3 and 4 classes"),
        (
            replace(first, name="b.csv", classes=("c0", "c1", "dog")),
            "'dog' of b.csv is not in first.csv",
        ),
        (
            judged(p, wrong, "b.csv"),
            r"different labels in 2 of 6 rows, first in row 4 \('c0' and 'c1'\)",
        ),
        (
            judged(np.full(6, 0.5), y % 2, "b.csv", confidences=True),
            "b.csv holds confidences and first.csv probabilities",
        ),
    ]:
        with pytest.raises(BadInputError, match=message) as error:
            versus([first, other], 0.95, 0)
        assert str(error.value).endswith(".")
    with pytest.raises(BadInputError, match="two or more"):
        versus([first], 0.95, 0)


def test_confidences_may_be_right_on_different_rows():
    right, other = (
        np.r_[np.ones(70, int), np.zeros(30, int)],
        np.r_[np.zeros(30, int), np.ones(70, int)],
    )
    found = versus(
        [
            judged(np.full(100, 0.9), right, confidences=True),
            judged(np.full(100, 0.7), other, "b", confidences=True),
        ],
        0.95,
        0,
    )
    values = {one.quantity: (one.first_value, one.second_value) for one in found.differences}
    assert values["error_rate"] == pytest.approx((0.3, 0.3)) and values["brier"] == pytest.approx(
        (0.25, 0.21)
    )


def test_three_models_are_compared_in_pairs_and_six_with_the_first():
    p, y = harness.load_problem("beta_calibrated").sample(2000, np.random.default_rng(0))
    models = [judged(sharpened(p, a), y, f"m{a}") for a in (1.0, 2.0, 3.0)]
    found = versus(models, 0.95, 0)
    assert len(found.differences) == 15 and found.sentence.startswith(
        "m1.0 is better in log-loss than every other."
    )
    many = versus(
        [judged(sharpened(p, a), y, f"m{a}") for a in (1, 1.1, 1.2, 1.3, 1.4, 1.5)], 0.95, 0
    )
    assert {one.first for one in many.differences} == {"m1"} and len(many.differences) == 25
    assert "only the first was compared" in many.sentence


def test_the_interval_of_matched_rates_is_that_of_adjusted_counts():
    found = matched(7, 2, 50, 0.95, 0.95)
    b, c, m = 7.5, 2.5, 52.0
    half = 1.959964 * np.sqrt(b + c - (b - c) ** 2 / m) / m
    assert (found.value, found.low, found.high) == pytest.approx(
        (0.1, (b - c) / m - half, (b - c) / m + half)
    )
    assert matched(0, 0, 1, 0.95, 0.95).value == 0.0 and matched(1, 0, 1, 0.95, 0.95).high == 1.0


def test_intervals_cover_the_true_differences():
    """y of a calibrated p, second model twice as sure: all differences are known."""
    one = harness.load_problem("beta_calibrated")
    p, _ = one.sample(200_000, np.random.default_rng(9))
    sharp = np.clip(sharpened(p), 1e-12, 1 - 1e-12)
    loss = float((p * np.log(sharp / p) + (1 - p) * np.log((1 - sharp) / (1 - p))).mean())
    truth = {
        "error_rate": 0.0, "log_loss": loss, "calibration": loss, "refinement": 0.0, "brier": -float(((p - sharp) ** 2).mean()),
    }  # fmt: skip
    reps, covered = 40, {name: 0 for name in truth}
    for r in range(reps):
        p, y = one.sample(300, np.random.default_rng([2, r]))
        for found in versus(
            [judged(p, y), judged(sharpened(p), y, "b")], 0.75, r
        ).differences:  # each at 0.95
            covered[found.quantity] += (
                found.difference.low - 2e-3 <= truth[found.quantity] <= found.difference.high + 2e-3
            )
    for name, count in covered.items():
        assert count / reps >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / reps), name


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_few_rows_and_odd_ones_have_an_answer(n):
    for p, other, y in [
        (np.full(n, 0.5), np.full(n, 0.3), np.zeros(n, int)),
        (np.ones(n), np.zeros(n), np.ones(n, int)),
        (np.tile([0.2, 0.8, 0.0], (n, 1)), np.tile([0.1, 0.8, 0.1], (n, 1)), np.full(n, 2)),
    ]:
        found = versus([judged(p, y), judged(other, y, "b")], 0.95, 0)
        assert found.sentence.endswith(".") and "nan" not in found.sentence
        assert n > 1 or all(one.better is None for one in found.differences)


def test_of_very_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(module, "most_rows", lambda k: 60)
    p, y = harness.load_problem("beta_calibrated").sample(100, np.random.default_rng(0))
    found = versus([judged(p, y), judged(sharpened(p), y, "b")], 0.95, 0)
    assert "Calibration and refinement are of 60 rows drawn at random." in found.sentence


@pytest.mark.slow
def test_two_real_networks():
    folder = os.environ.get("CALHARNESS_DATA")
    if not folder:
        pytest.skip("CALHARNESS_DATA is not set")
    models = []
    for name in ("cifar10_resnet20_chenyaofo", "cifar10_resnet56_chenyaofo"):
        pack = np.load(Path(folder) / "cifar_logits" / f"{name}.npz")
        z = pack["logits"].astype(float)
        e = np.exp(z - z.max(axis=1, keepdims=True))
        models.append(judged(e / e.sum(axis=1, keepdims=True), pack["labels"].astype(int), name))
    found = {one.quantity: one for one in versus(models, 0.95, 0).differences}
    assert found["error_rate"].better == "cifar10_resnet56_chenyaofo" == found["refinement"].better
    assert found["error_rate"].first_value == pytest.approx(0.074)
