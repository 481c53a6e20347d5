"""Safe test: closed forms, other code, invariances and edge cases."""

import math

import numpy as np
import pytest
from literature import values
from numpy.random import default_rng

from harness.errors import UndefinedError
from harness.estimators import SafeTest


def test_the_e_value_of_one_split_by_hand():
    """Two rows of 0.5 with outcome 1: each half predicts 1 for the other, so q = 0.75, e = 1.5."""
    e = SafeTest(splits=3)([0.5, 0.5], [1, 1], default_rng(0))["p_value"]
    assert e.diagnostics["log_e"] == pytest.approx(math.log(1.5))
    assert e.value == pytest.approx(1 / 1.5)
    against = SafeTest()([0.5, 0.5], [0, 1], default_rng(0))["p_value"]
    assert against.diagnostics["log_e"] == pytest.approx(math.log(0.5)) and against.value == 1.0


def test_the_mean_e_value_of_calibrated_samples_is_at_most_1():
    """Mean of 400 e-values within 4 of its standard errors; no approximation for n = 20."""
    rng, e_values = default_rng(8), []
    for _ in range(400):
        p = rng.random(20)
        y = (rng.random(20) < p).astype(int)
        e_values.append(math.exp(SafeTest(2)(p, y, rng)["p_value"].diagnostics["log_e"]))
    assert np.mean(e_values) <= 1.0 + 4 * np.std(e_values) / 20


def test_edges_of_the_safe_test():
    rng = default_rng(0)
    assert values(SafeTest(), [0.0, 1.0], [0, 1], rng)["p_value"] == 1.0
    impossible = SafeTest()(np.array([0.0, 0.5]), np.array([1, 0]), rng)["p_value"]
    assert impossible.value == 0.0 and impossible.diagnostics["log_e"] == math.inf
    with np.errstate(all="raise", under="ignore"):
        tiny = SafeTest()(np.full(4, 1e-320), np.ones(4, dtype=int), rng)["p_value"]
    assert 0.0 <= tiny.value < 1e-300
    with pytest.raises(UndefinedError, match="two halves"):
        values(SafeTest(), [0.5], [1], rng)
