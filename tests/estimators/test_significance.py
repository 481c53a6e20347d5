"""Tests of calibration with few expected events: their level on calibrated samples, and power."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.stats import binom

from harness.errors import UndefinedError
from harness.estimators import (
    CalibrationBelt,
    CalibrationLine,
    ChiSquare,
    Cumulative,
    HosmerLemeshow,
    SKCEBlockTest,
    Spiegelhalter,
)
from harness.estimators.application import apply
from harness.estimators.significance import count_p_value
from harness.math.notions import reduce

CLASSWISE = [
    HosmerLemeshow(), ChiSquare(), Spiegelhalter(), Cumulative("ks"), Cumulative("kuiper"),
]  # fmt: skip
ASYMPTOTIC = [*CLASSWISE, SKCEBlockTest(), CalibrationBelt()]
DRAWS, LEVEL = 200, 0.05
# More rejections of 200 have a probability below 1e-5 if the level is at most 7 %.
MOST = int(binom.isf(1e-5, DRAWS, 0.07))


def name(test):
    return getattr(test, "statistic", type(test).__name__)


def rejections(test, sample, seed, notion="binary"):
    """Return the number of rejections at level 0.05. No result counts as none."""
    count = 0
    for rng in default_rng(seed).spawn(DRAWS):
        p, y = reduce(*sample(rng), notion)
        try:
            count += apply(test, p, y, notion, rng)["p_value"].value <= LEVEL
        except UndefinedError:
            continue
    return count


def rare(events, n, shape):
    def sample(rng):
        mean = events / n
        p = np.full(n, mean)
        if shape == "uniform":
            p = rng.random(n) * 2.0 * mean
        elif shape != "constant":
            p = rng.beta(0.5, 0.5 * (1.0 - mean) / mean, n)
        p = 1.0 - p if shape == "near 1" else p
        return p, (rng.random(n) < p).astype(int)

    return sample


@pytest.mark.parametrize("shape", ["constant", "uniform", "skewed", "near 1"])
@pytest.mark.parametrize("events", [0.15, 1.0, 5.0, 11.0])
@pytest.mark.parametrize("test", ASYMPTOTIC, ids=name)
def test_calibrated_samples_with_few_events_are_rarely_rejected(test, events, shape):
    assert rejections(test, rare(events, 300, shape), 1) <= MOST


@pytest.mark.parametrize("test", CLASSWISE, ids=name)
def test_ten_classes_of_few_samples_are_rarely_rejected(test):
    def sample(rng):
        p = rng.dirichlet(np.ones(10), 100)
        return p, (rng.random((100, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=9)

    assert rejections(test, sample, 2, "classwise") <= MOST


def few_errors(errors, n=500):
    def sample(rng):
        error = rng.random(n) * 2.0 * errors / n
        p = np.column_stack([1.0 - error, error[:, None] * rng.dirichlet(np.ones(9), n)])
        p = rng.permuted(p, axis=1)
        return p, (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=9)

    return sample


def test_vectors_with_few_errors_are_rarely_rejected_by_blocks():
    assert rejections(SKCEBlockTest(), few_errors(10.0), 3, "canonical") <= MOST


@pytest.mark.parametrize("errors", [0.5, 2.0])
@pytest.mark.parametrize("test", CLASSWISE, ids=name)
def test_ten_classes_with_few_errors_are_rarely_rejected(test, errors):
    assert rejections(test, few_errors(errors, 200), 6, "classwise") <= MOST


def test_the_interval_of_the_slope_needs_twenty_events():
    p = np.linspace(0.01, 0.19, 200)
    for events in (9, 10, 19, 20):
        y = np.zeros(200, dtype=int)
        y[np.linspace(50, 199, events).astype(int)] = 1
        e = CalibrationLine()(p, y)
        assert (e["intercept"].low is None) == (events < 10)
        assert (e["slope"].low is None) == (events < 20)


@pytest.mark.parametrize("test", [t for t in ASYMPTOTIC if name(t) != "SKCEBlockTest"], ids=name)
def test_far_more_events_than_expected_are_rejected(test):
    """One event is expected, and 30 of 300 occur."""
    y = (np.arange(300) % 10 == 0).astype(int)
    p = np.linspace(0.0001, 2.0 / 300, 300)
    assert test(p, y, default_rng(0))["p_value"].value < 1e-6


@pytest.mark.parametrize("test", CLASSWISE[:3], ids=name)
def test_overconfidence_with_thirty_events_is_rejected(test):
    """Logits are twice too large: at least 80 % of samples with about 30 events are rejected."""

    def sample(rng):
        logit = rng.normal(-2.5, 1.2, 300)
        p, truth = 1.0 / (1.0 + np.exp(-2.0 * logit)), 1.0 / (1.0 + np.exp(-logit))
        return p, (rng.random(300) < truth).astype(int)

    assert rejections(test, sample, 4) >= 0.8 * DRAWS


def test_ordinary_samples_keep_the_textbook_value():
    """1,000 uniform predictions: ten bins, and the sum over them."""
    rng = default_rng(5)
    p = np.sort(rng.random(1000))
    y = (rng.random(1000) < p).astype(int)
    e = HosmerLemeshow()(p, y)["p_value"]
    x = 0.0
    for part, hits in zip(p.reshape(10, 100), y.reshape(10, 100)):
        expected = part.sum()
        x += (hits.sum() - expected) ** 2 / (expected * (1.0 - expected / 100))
    assert e.diagnostics == pytest.approx({"chi_square": x, "degrees": 10.0})


def test_the_p_value_of_a_count_is_valid():
    """P(p_value <= u) <= u for all u up to 1/2, from the exact law of binomial counts."""
    for n, q in ((5, 0.5), (20, 0.1), (20, 0.7), (200, 0.02), (1000, 0.0001)):
        p = np.full(n, q)
        values = [count_p_value(p, np.arange(n) < events) for events in range(n + 1)]
        weights = binom.pmf(np.arange(n + 1), n, q)
        for u in (0.001, 0.01, 0.05, 0.2, 0.5):
            assert weights[np.array(values) <= u].sum() <= u + 1e-12
