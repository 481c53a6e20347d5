"""T-Cal: closed forms, other code, invariances and edge cases."""

import itertools

import numpy as np
import pytest
from literature import ALL, NUMBERS, all_labels, probability, sample, values
from monte_carlo import covers
from numpy.random import default_rng

import harness
from harness.estimators import DebiasedInterval, SKCEBlockTest, TCal


@pytest.mark.golden
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bins", [2, 8, 16, 64])
def test_tcal_equals_the_authors_statistic(name, bins):
    estimate = TCal(bins=bins, resamples=1)(*sample(name), default_rng(0))["l2_squared"]
    assert estimate.value == pytest.approx(NUMBERS[name][f"tcal_{bins}"], abs=1e-12)
    assert DebiasedInterval(bins=bins)(*sample(name))["l2_squared"].value == pytest.approx(
        estimate.value, abs=1e-12
    )


def test_tcal_p_value_is_the_probability_of_labels_as_extreme():
    """The p-value is P(T* >= T) over all 16 labels of four samples, up to 4,000 draws."""
    p, y = np.array([0.1, 0.15, 0.6, 0.8]), np.array([1, 0, 0, 0])

    def top(labels):
        r, scaled = labels - p, []
        for m in (2, 4, 8):  # 2^floor(2 log2(4 / sqrt(ln 4))) = 8
            index = np.minimum((p * m).astype(int), m - 1)
            pairs = [(i, j) for i, j in itertools.combinations(range(4), 2) if index[i] == index[j]]
            weights = np.array(
                [2 / (np.count_nonzero(index == index[i]) - 1) / 4 for i, _ in pairs]
            )
            if pairs:
                c = p * (1 - p)
                t = weights @ [r[i] * r[j] for i, j in pairs]
                scaled.append(t / np.sqrt(weights**2 @ [c[i] * c[j] for i, j in pairs]))
        return max([*scaled, 0.0 if len(scaled) < 3 else -np.inf])

    labels = all_labels(4)
    tops = np.array([top(y_) for y_ in labels])
    exact = probability(labels, p)[tops >= top(y) - 1e-9].sum()
    p_value = values(TCal(resamples=4000), p, y)["p_value"]
    assert p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4000) + 1 / 4000)
    assert 0.0 < exact < 1.0


def test_tcal_rejects_what_cancels_in_few_bins():
    """The error changes its sign 16 times, so that wide bins see nothing."""
    rng = default_rng(0)
    p = rng.uniform(0.2, 0.8, 2000)
    y = (rng.random(2000) < p + 0.18 * np.sign(np.sin(32 * np.pi * p))).astype(int)
    p_value = TCal()(p, y, rng)["p_value"]
    assert p_value.value == 1 / 200
    assert (
        abs(DebiasedInterval(bins=2)(p, y)["l2_squared"].value)
        < 0.003
        < DebiasedInterval(bins=64)(p, y)["l2_squared"].value
    )


@pytest.mark.slow
def test_tests_hold_their_level_and_intervals_cover():
    """Rejections at 0.05 and coverage at 0.95 over 400 samples, within 3 standard errors."""
    calibrated, over = (
        harness.load_problem(f"beta_{name}") for name in ("calibrated", "overconfident")
    )
    truth = over.truth("l2_squared", "binary").value
    tests = (TCal(resamples=99), SKCEBlockTest())
    rejected, covered = np.zeros((400, 2)), np.zeros((400, 2))
    for rep in range(400):
        p, y = calibrated.sample(300, default_rng([3, rep]))
        rejected[rep] = [
            test(p, y, default_rng([4, rep]))["p_value"].value <= 0.05 for test in tests
        ]
        at_zero = DebiasedInterval(bins=50)(p, y)["l2_squared"]
        other = DebiasedInterval(bins=50)(*over.sample(300, default_rng([5, rep])))["l2_squared"]
        covered[rep] = at_zero.low <= 0.0, other.low <= truth <= other.high
    assert all(covers(1 - column, 0.95) for column in rejected.T)
    assert all(covers(column, 0.95) for column in covered.T)
