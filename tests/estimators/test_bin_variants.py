"""Variants of binned errors: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import golden, value
from numpy.random import default_rng

import harness
from harness.errors import UndefinedError
from harness.estimators import (
    AdaptiveClasswise,
    AverageBinned,
    Binned,
    CubeRootBins,
    Debiased,
)
from harness.estimators.application import apply
from harness.estimators.bin_variants import cube_root


def test_adaptive_errors_by_hand():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.005, 0.995]])
    y = np.array([[1, 0], [0, 1], [0, 1], [0, 1]])
    assert value(AdaptiveClasswise(1), p, y, "l1") == pytest.approx(
        abs(p.mean(axis=0) - y.mean(axis=0)).mean()
    )
    assert value(AdaptiveClasswise(1, 0.01), p, y, "tace") == pytest.approx(
        ((2.1 - 1) / 3 + (3 - 1.895) / 4) / 2
    )
    assert value(AdaptiveClasswise(1, 0.95), p, y, "tace") == pytest.approx(
        0.005 / 2
    )  # no such prediction of class 0
    with pytest.raises(UndefinedError, match="at least 0.999"):
        AdaptiveClasswise(1, 0.999)(p, y)


@pytest.mark.golden
def test_adaptive_errors_of_the_authors(inputs):
    p, y = harness.reduce(inputs["classes_p"], inputs["classes_y"], "classwise")
    rows = golden("uncertainty-metrics")
    assert [row[2] for row in rows] == ["ace", "tace"]
    for _, bins, quantity, expected in rows:
        estimator = AdaptiveClasswise(int(bins), 0.01 if quantity == "tace" else 0.0)
        assert value(estimator, p, y) == pytest.approx(expected, abs=1e-12)
    assert (
        value(AdaptiveClasswise(15), p, y)
        == apply(Binned(15, "mass"), p, y, "classwise", None)["l1"].value
    )


def test_average_over_bins_by_hand():
    """Gaps 0.2 of three samples and 0.9 of one: each bin counts as much, empty ones do not."""
    p, y = [0.1, 0.2, 0.3, 0.9], [0, 0, 0, 0]
    assert (
        value(AverageBinned(2), p, y)
        == value(AverageBinned(10), [0.2, 0.9], [0, 0])
        == pytest.approx(0.55)
    )
    assert value(Binned(2), p, y) == pytest.approx(0.375)


@pytest.mark.parametrize("inner", [Binned(rule="mass"), Debiased()])
@pytest.mark.parametrize("n, bins", [(1, 1), (2, 2), (8, 2), (9, 3), (64, 4), (125, 5), (126, 6)])
def test_cube_root_bins(inner, n, bins):
    assert cube_root(n) == bins
    p, y = harness.load_problem("beta_overconfident").sample(n, default_rng(0))
    assert CubeRootBins(inner)(p, y) == type(inner)(bins, "mass")(p, y)


def test_cube_roots_are_exact():
    assert all(cube_root(k**3) == k and cube_root(k**3 + 1) == k + 1 for k in range(1, 2000))
