"""Exact tests of calibration, and the errors that they detect."""

import math
from itertools import product

import numpy as np
import pytest

import harness
from harness.judging import calibrated, detectable
from harness.judging.bins import bin_scores, poisson_binomial
from harness.judging.data import from_arrays, reduced
from harness.judging.measured import measurements
from harness.judging.scalar_test import scalar_test, smallest_rank, statistics
from harness.judging.vector_test import halve, vector_test


def draw_labels(p, rng):
    below = (rng.random(len(p))[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    return np.minimum(below, p.shape[1] - 1)


def most_events(count, share, errors=4.0):
    """Return the count that `count` trials of this probability exceed with probability 1e-4."""
    return count * share + errors * math.sqrt(count * share * (1.0 - share))


# Bins and their law


def test_poisson_binomial_law_equals_the_sum_over_all_outcomes():
    p = np.array([0.1, 0.35, 0.8, 0.5])
    law = np.zeros(5)
    for outcome in product((0, 1), repeat=4):
        law[sum(outcome)] += np.prod(np.where(outcome, p, 1.0 - p))
    np.testing.assert_allclose(poisson_binomial(p[None])[0], law, atol=1e-15)


def test_bins_keep_equal_scores_together_and_leave_out_certain_ones():
    p = np.repeat([0.0, 0.2, 0.5, 0.7, 1.0], 40)
    bins = bin_scores(p, 3)
    assert set(bins.index[p == 0.0]) == set(bins.index[p == 1.0]) == {-1}
    assert all(len(set(bins.index[p == value])) == 1 for value in (0.2, 0.5, 0.7))
    np.testing.assert_allclose(bins.expected.sum(), 40 * 1.4)
    assert bins.residual((p > 0.4).astype(int)).sum() == pytest.approx(80 - 56)


@pytest.mark.parametrize("rows", [40, 4000])  # by the exact law, and by the binomial law
def test_drawn_residuals_have_mean_0_and_the_right_variance(rows):
    bins = bin_scores(np.random.default_rng(0).uniform(0.02, 0.98, rows), 4)
    drawn = bins.draw(4000, np.random.default_rng(1))
    error = np.sqrt(bins.variance / 4000)
    assert np.all(np.abs(drawn.mean(axis=0)) < 4.5 * error)
    assert np.all(np.abs(drawn.var(axis=0) / bins.variance - 1.0) < 4.5 * math.sqrt(2.2 / 4000))


def test_tilt_of_two_bins_by_hand():
    bins = bin_scores(np.array([0.2, 0.8]), 2)
    x = math.log(4.0)
    tilt = statistics(bins, np.array([[0.8, 0.2]]))[0, 0]  # events in both rows
    bias, slope = 1.0 / math.sqrt(0.32), (-x * 0.8 + x * 0.2) / math.sqrt(0.32 * x**2)
    assert tilt == pytest.approx(bias**2 + slope**2)


def test_halved_bins_are_balanced():
    p = np.random.default_rng(0).dirichlet(np.ones(5), 640)
    assert set(np.bincount(halve(p, 5))) == {20}


# Tests


def test_one_row_by_hand():
    """At p = 0.2, y = 1 has the p-value 0.2 and y = 0 the p-value 1."""
    p, count = np.array([0.2]), 20_000
    value = scalar_test(p, np.array([1]), np.random.default_rng(0), count).p_value
    assert abs(value - 0.2) < 4.0 * math.sqrt(0.16 / count)
    assert scalar_test(p, np.array([0]), np.random.default_rng(0), count).p_value == 1.0


def test_smallest_rank_is_uniform_under_exchangeability():
    rng = np.random.default_rng(0)
    values = [smallest_rank(rng.normal(size=3), rng.normal(size=(39, 3))) for _ in range(600)]
    assert sum(value <= 0.05 for value in values) <= most_events(600, 0.05)
    assert 0.4 < np.mean(values) < 0.65


@pytest.mark.parametrize("a, b", [(1.0, 1.0), (0.3, 6.0)])
def test_calibrated_scores_are_rarely_rejected(a, b):
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(200):
        p = rng.beta(a, b, 60).round(2)
        alarms += scalar_test(p, (rng.random(60) < p).astype(int), rng, 99).p_value <= 0.05
    assert alarms <= most_events(200, 0.05)


def test_calibrated_vectors_are_rarely_rejected():
    rng = np.random.default_rng(3)
    values = []
    for _ in range(100):
        p = rng.dirichlet([0.3, 1.0, 2.0], 40)
        values.append(vector_test(p, draw_labels(p, rng), rng, 99).p_value)
    assert sum(value <= 0.1 for value in values) <= most_events(100, 0.1)
    assert min(values) >= 0.01


def test_overconfident_vectors_are_rejected_under_every_notion():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(4), 1000)
    q = p**0.6 / np.sum(p**0.6, axis=1, keepdims=True)
    answer = calibrated.tests(from_arrays(p, draw_labels(q, rng)), 0.95, rng)
    assert answer.rejected and all(test.rejected for test in answer.tests)
    assert answer.sentence.startswith("The predictions are not calibrated (top-label: p = 0.0")


def test_of_many_suspicious_classes_those_that_depart_most_decide():
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.full(20, 0.3), 2000)
    q = p**0.4 / np.sum(p**0.4, axis=1, keepdims=True)
    data = from_arrays(p, draw_labels(q, rng))
    values = [p for _, p in calibrated.class_tests(*reduced(data, "classwise"), 0.95, rng)]
    assert sum(value <= 0.001 for value in values) == calibrated.MOST_SECOND
    assert min(values) * 20 <= 0.05 / 3


def test_an_impossible_outcome_is_rejected():
    p = np.full((300, 3), 1.0 / 3.0)
    p[0] = [0.5, 0.5, 0.0]
    y = np.arange(300) % 3
    y[0] = 2
    answer = calibrated.tests(from_arrays(p, y), 0.999, np.random.default_rng(0))
    tests = {test.notion: test for test in answer.tests}
    assert tests["canonical"].p_value == tests["classwise"].p_value == 0.0
    assert tests["top_label"].p_value > 0.1 and not tests["top_label"].rejected
    assert tests["canonical"].rejected and "probability 0" in answer.sentence


def test_order_of_classes_changes_no_p_value_of_scores():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 200)
    y = draw_labels(p, rng)
    order = np.array([2, 0, 1])
    turned = p[:, order], np.argsort(order)[y]
    first, second = (
        calibrated.tests(from_arrays(*data), 0.95, np.random.default_rng(0))
        for data in ((p, y), turned)
    )
    assert first.tests[0].p_value == second.tests[0].p_value
    assert abs(first.tests[2].p_value - second.tests[2].p_value) < 5.0 * math.sqrt(0.5 / 999)
    observed = [vector_test(*data, rng, 19).observed for data in ((p, y), turned)]
    np.testing.assert_allclose(*observed, rtol=1e-9)


def test_correction_of_three_tests_by_hand():
    assert calibrated.closed({"binary": 0.03}) == {"binary": 0.03}
    adjusted = calibrated.closed({"top_label": 0.04, "classwise": 0.01, "canonical": 0.5})
    assert adjusted == pytest.approx({"top_label": 0.04, "classwise": 0.03, "canonical": 0.03})


def test_confidences_are_judged_as_top_label_only():
    questions = ["calibrated", "how_far"]
    answer = harness.judge([0.9, 0.7] * 40, [1, 0] * 40, confidences=True, questions=questions)
    assert [test.notion for test in answer.calibrated.tests] == ["top_label"]
    assert {error.notion for error in answer.how_far.errors} == {"top_label"}
    sure = harness.judge([1.0, 0.7] * 40, [0, 1] * 40, confidences=True, questions=questions[:1])
    assert "confidence 1 was wrong" in sure.calibrated.sentence


# Detectable errors


def test_detectable_error_falls_as_one_over_root_n():
    rng = np.random.default_rng(6)
    errors = []
    for n in (400, 6400):
        p = rng.uniform(0.05, 0.95, n)
        test = scalar_test(p, (rng.random(n) < p).astype(int), rng, 999)
        errors.append(detectable.detectable_by_scores(p[:, None], [test], 0.05, rng))
    assert 2.8 < errors[0] / errors[1] < 5.6


@pytest.mark.parametrize("n, k", [(1, 3), (5, 3), (5, 100)])
def test_few_rows_detect_no_classwise_error(n, k):
    """P-values of so few rows are hardly ever below alpha / k, whatever the law."""
    rng = np.random.default_rng(0)
    p = np.exp(2.0 * rng.normal(size=(n, k)))
    p /= p.sum(axis=1, keepdims=True)
    answer = calibrated.tests(from_arrays(p, draw_labels(p, rng)), 0.95, rng)
    assert {test.notion: test.detectable for test in answer.tests}["classwise"] is None


@pytest.mark.parametrize("missed, expected", [(0.05, 0.1), (0.2, None)])
def test_an_error_that_is_only_detected_in_one_direction(missed, expected):
    """The power is 1 for overconfidence of 0.1 and 0 for underconfidence up to `missed`."""

    def power_at(log_b):
        return float(log_b <= -1.0), 0.1 * abs(log_b) if log_b < 0 else missed

    assert detectable.larger_error(power_at) == (expected and pytest.approx(expected))


def test_detectable_error_is_detected_as_often_as_stated():
    rng = np.random.default_rng(7)
    p = rng.uniform(0.05, 0.95, 600)
    test = scalar_test(p, (rng.random(600) < p).astype(int), rng, 999)
    error = detectable.detectable_by_scores(p[:, None], [test], 0.05, rng)
    for log_b in np.linspace(0.0, 2.0, 400):  # the underconfident law with this error
        q = 1.0 / (1.0 + ((1.0 - p) / p) ** np.exp(log_b))
        if np.mean(np.abs(q - p)) >= error:
            break
    count = 0
    for _ in range(100):
        y = (rng.random(600) < q).astype(int)
        count += scalar_test(p, y, rng, 199, test.bins).p_value <= 0.05
    assert count >= 65  # 80 % in the worse direction, less 3.5 standard errors and the bisection's


# Stored measurements


def test_measured_false_alarms_are_at_most_nominal_within_three_standard_errors():
    rows = measurements("size")
    assert set(rows["notion"]) == {"binary", "top_label", "classwise", "canonical", "any"}
    nominal = 1.0 - rows["level"]
    share = rows["false_alarms"] / rows["trials"]
    assert (share <= nominal + 3.0 * np.sqrt(nominal * (1.0 - nominal) / rows["trials"])).all()


@pytest.mark.parametrize("level", [0.95, 0.9])
def test_false_alarms_are_quoted_at_the_measured_level_only(level):
    p = np.linspace(0.05, 0.95, 60)
    answer = calibrated.tests(
        from_arrays(p, (p > 0.5).astype(int)), level, np.random.default_rng(0)
    )
    assert (answer.tests[0].size is not None) == (level == 0.95)
