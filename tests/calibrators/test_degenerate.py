"""Samples with one class, one row, equal predictions, predictions of 0 or 1, or very few rows."""

import dataclasses

import numpy as np
import pytest
from refusals import refuses
from samples import ODD

from harness import calibrators
from harness.calibrators.base import CalibratorSpec

SLOW = ("TabICL", "TabPFN", "Mixture", "SklearnCalibrator")  # Mixture wraps others
FIXED = ("Identity", "Temperature")  # their families do not contain the base rate
POINTS = np.array([0.0, 1e-300, 1e-6, 0.1, 0.3, 0.5, 0.9, 1.0 - 1e-9, 1.0])


def classes():
    """The calibrators of the library that fit in seconds."""
    found = (getattr(calibrators, name) for name in sorted(dir(calibrators)) if name not in SLOW)
    types = [item for item in found if isinstance(item, type) and hasattr(item, "fit")]
    return [item for item in types if item.__module__.startswith("harness.calibrators.")]


def make(kind):
    """The calibrator, with few trees if it is made of trees."""
    names = {field.name for field in dataclasses.fields(kind)}
    calibrator = kind(**{name: 20 for name in ("iterations", "trees") if name in names})
    if reason := CalibratorSpec.of(calibrator).unavailable:
        pytest.skip(reason)
    return calibrator


def samples():
    """Yield (name, p, y) of degenerate samples."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 8, 15, 200):
        p, y = rng.random(n), (np.arange(n) % 8 < 3).astype(np.int64)
        yield f"no event, n = {n}", p, np.zeros(n, dtype=np.int64)
        yield f"only events, n = {n}", p, np.ones(n, dtype=np.int64)
        yield f"equal p, n = {n}", np.full(n, 0.3), y
        yield f"p of 0 and 1, n = {n}", (np.arange(n) % 2).astype(float), y
        yield f"n = {n}", p, y
    for name, (p, y) in ODD.items():
        yield name, p, y


@pytest.mark.parametrize("kind", classes())
def test_maps_of_degenerate_samples_stay_in_range_and_near_the_base_rate(kind):
    """The mean of q differs from the rate by at most the shrinkage of three added samples."""
    calibrator = make(kind)
    for name, p, y in samples():
        q = calibrator.fit(p, y, np.random.default_rng(0))
        values = q(np.concatenate([POINTS, p]))
        assert np.isfinite(values).all() and values.min() >= 0.0 and values.max() <= 1.0, name
        # A bin of one sample has as much shrinkage as data.
        is_shrunk = kind.__name__ in (*FIXED, "HistogramBinning")
        if len(y) >= 5 and not is_shrunk and name not in ODD:
            assert abs(q(p).mean() - y.mean()) <= max(0.02, 1.5 / (len(y) + 3)), name


@pytest.mark.parametrize("kind", classes())
def test_vectors_with_absent_classes_stay_in_the_simplex(kind):
    if kind.__name__ in ("QuadraticScaling", "Spline"):
        refuses(lambda: kind().fit(np.full((3, 3), 1 / 3), np.arange(3), None), "two classes")
        return
    calibrator = make(kind)
    for name, p, y in samples():
        shares = ([1.0], [0.6, 0.4], np.full(6, 1 / 6))
        for columns in (np.column_stack([1 - p, np.outer(p, share)]) for share in shares):
            q = calibrator.fit(columns, y, np.random.default_rng(0))(columns)
            assert q.shape == columns.shape and q.min() >= 0.0 and q.max() <= 1.0, name
            assert np.abs(q.sum(axis=1) - 1.0).max() < 1e-9, name


def test_the_expansion_of_the_kernel_stays_in_range():
    """500 equal labels: the expansion alone gives 1 + 2e-16, and 1 minus it is negative."""
    p = np.random.default_rng(0).random(500)
    q = calibrators.NadarayaWatson().fit(p, np.ones(500, dtype=int))(p)
    assert q.max() == 1.0 and (1.0 - q).min() >= 0.0


@pytest.mark.parametrize("kind", classes())
def test_masked_samples_are_refused(kind):
    calibrator = make(kind)
    p, y = np.linspace(0.1, 0.9, 40), np.arange(40) % 2
    masked = np.ma.masked_array(p, p > 0.8)
    refuses(lambda: calibrator.fit(masked, y, np.random.default_rng(0)), "p is masked in 5 of 40")
    masked = np.ma.masked_array(y, p > 0.8)
    refuses(lambda: calibrator.fit(p, masked, np.random.default_rng(0)), "y is masked in 5 of 40")
