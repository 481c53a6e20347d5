"""Hints at reversed rankings and shuffled rows: given where due, and rarely to honest models."""

import numpy as np
import pytest
from scipy.special import expit, logit
from test_calibrated import draw_labels

from harness.judging.data import from_arrays
from harness.judging.hints import hints, reversed_ranking, shuffled_rows
from harness.judging.judge import judge_data


def binary(n, rate, strength, rng):
    """Return calibrated probabilities with a mean of about `rate`, and labels."""
    p = expit(logit(rate) + strength * rng.standard_normal(n))
    return p, (rng.random(n) < p).astype(int)


def vectors(n, k, rng):
    p = rng.dirichlet(np.ones(k), n)
    return p, draw_labels(p, rng)


def test_the_probability_of_the_other_class_is_noticed():
    p, y = binary(500, 0.3, 1.5, np.random.default_rng(0))
    reversed_, _ = (
        reversed_ranking(from_arrays(x, y, classes=["no", "yes"]), 0.95) for x in (1.0 - p, p)
    )
    assert "other class, no" in reversed_
    assert reversed_ranking(from_arrays(p, y), 0.95) is None
    judgement = judge_data([from_arrays(1.0 - p, y)], questions=["how_far"])
    assert judgement.how_far.cautions[0].startswith("The ranking is reversed")


def test_swapped_columns_are_noticed():
    p, y = vectors(500, 4, np.random.default_rng(1))
    data = from_arrays(p[:, [0, 2, 1, 3]], y, classes=list("abcd"))
    assert "classes b and c" in reversed_ranking(data, 0.95)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_shuffled_rows_are_noticed(k):
    rng = np.random.default_rng(k)
    p, y = binary(1000, 0.3, 1.5, rng) if k == 2 else vectors(1000, k, rng)
    noticed = [shuffled_rows(from_arrays(p, rng.permutation(y)), 0.95) for _ in range(20)]
    assert sum(text is not None for text in noticed) >= 16
    assert hints(from_arrays(p, y), 0.95) == []


@pytest.mark.parametrize("n, rate", [(60, 0.5), (200, 0.1), (1000, 0.02), (2000, 0.5)])
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.5, 2.0])
def test_calibrated_models_rarely_get_a_hint(n, rate, strength):
    """A weak model, with an AUROC near 1/2, is honest. At most 5 % may get a hint."""
    rng, reps = np.random.default_rng([n, int(10 * strength)]), 200
    given = [bool(hints(from_arrays(*binary(n, rate, strength, rng)), 0.95)) for _ in range(reps)]
    assert sum(given) <= 19


@pytest.mark.parametrize("slope", [-1.0, 0.3, 3.0])
def test_models_that_only_over_or_underestimate_are_not_called_shuffled(slope):
    """Labels follow the scores with a slope; a negative one is reversed instead."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        p = expit(rng.standard_normal(1000))
        y = (rng.random(1000) < expit(slope * logit(p))).astype(int)
        data = from_arrays(p, y)
        assert (reversed_ranking(data, 0.95) is not None) == (slope < 0.0)
        assert slope == 0.3 or shuffled_rows(data, 0.95) is None


def test_rows_in_groups_get_no_hint():
    p, y = binary(500, 0.3, 1.5, np.random.default_rng(0))
    assert hints(from_arrays(1.0 - p, y, group_rows=np.arange(500) // 5), 0.95) == []
