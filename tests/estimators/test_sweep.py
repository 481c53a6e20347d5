"""Sweep over the number of bins: closed forms, other code, invariances and edge cases."""

import itertools
import math

import numpy as np
import pytest
from literature import golden, value
from numpy.random import default_rng

from harness.estimators import Sweep


def test_sweep_by_hand():
    """Two bins have frequencies 1/2, 1/2; three (sizes 2, 1, 1) 1/2, 0, 1: b* = 2."""
    p, y = [0.1, 0.3, 0.6, 0.9], [0, 1, 0, 1]
    estimates = Sweep()(np.array(p), np.array(y))
    assert estimates["l1"].diagnostics["bins"] == 2
    assert estimates["l1"].value == pytest.approx((0.3 + 0.25) / 2)
    assert estimates["l2_squared"].value == pytest.approx((0.09 + 0.0625) / 2)
    assert (
        Sweep()(np.array(p), np.array([1, 1, 0, 0]))["l1"].diagnostics["bins"] == 1
    )  # falls at once: one bin
    assert value(Sweep(), p, [1, 1, 0, 0]) == pytest.approx(0.025)
    assert (
        Sweep()(np.array(p), np.array([0, 0, 1, 1]))["l1"].diagnostics["bins"] == 4
    )  # never falls: n bins


def sweep_by_definition(p, y, rule):
    """Return b* and l1 by trying every number of bins."""
    n = len(p)
    ordered = np.sort(p)

    def means(bins):
        if rule == "width":
            index = np.searchsorted(np.arange(1, bins) / bins, p, side="right")
        else:
            starts = [ordered[math.ceil(j * n / bins)] for j in range(1, bins)]
            index = np.searchsorted(np.unique(starts), p, side="right")
        return [
            (y[index == j].mean(), p[index == j].mean(), (index == j).sum())
            for j in np.unique(index)
        ]

    bins = 1
    while bins < n and all(a[0] <= b[0] for a, b in itertools.pairwise(means(bins + 1))):
        bins += 1
    return bins, sum(size * abs(x - c) for c, x, size in means(bins)) / n


@pytest.mark.parametrize("rule", ["mass", "width"])
def test_sweep_is_its_definition(rule):
    rng = default_rng(1)
    for case in range(60):
        n = int(rng.integers(1, 26))
        p = rng.integers(0, 21, n) / 20.0 if case % 2 else rng.random(n)
        y = (rng.random(n) < (p if case % 3 else p > 0.4)).astype(
            np.int64
        )  # the last are sorted: n bins
        bins, l1 = sweep_by_definition(p, y, rule)
        estimate = Sweep(rule)(p, y)["l1"]
        assert estimate.diagnostics["bins"] == bins and estimate.value == pytest.approx(
            l1, abs=1e-12
        )


@pytest.mark.golden
def test_sweeps_of_caltrain(inputs):
    rows = golden("caltrain")
    assert len(rows) == 10
    for name, norm, quantity, expected in rows:
        estimand = {"1": "l1", "2": "rms"}[norm]
        ours = value(
            Sweep(quantity.removeprefix("sweep_")),
            inputs[f"{name}_p"],
            inputs[f"{name}_y"],
            estimand,
        )
        assert ours == pytest.approx(expected, abs=1e-12)
