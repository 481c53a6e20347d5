"""Fields of calibrators that are out of range are refused, and the message names the field."""

import numpy as np
import pytest
from harness.experiments.berta2026 import authors
from refusals import each_field, refuses, refuses_field

from harness.calibrators import (
    CatBoost,
    DirichletCalibration,
    HistogramBinning,
    LightGBM,
    MatrixScaling,
    Mixture,
    QuadraticScaling,
    Spline,
    TabICL,
    TabPFN,
)

TREES = {"iterations": (0,), "patience": (0,), "inner_folds": (1,)}
FOUNDATION = {"device": ("gpu",), "seed": (-1,), "max_n": (0, 10.5), "sha256": ("abc",)}
REFUSED = {
    HistogramBinning: {"rule": ("mess",), "bins": (0,), "smoothing": (-1.0,)},
    Spline: {"knots": (2,), "ridge": (-1.0,)},
    MatrixScaling: {"ridge": (np.nan,)},
    DirichletCalibration: {"off_diagonal": (-1.0,), "intercept": (np.inf,)},
    Mixture: {"weight": (0.0,)},
    CatBoost: TREES,
    LightGBM: TREES,
    authors.CatBoost: {"init": ("probit",)},
    authors.LightGBM: {"init": ("probit",)},
    TabPFN: FOUNDATION,
    TabICL: FOUNDATION,
}


@each_field(REFUSED)
def test_a_value_out_of_range_is_refused(make, field, value):
    refuses_field(make, field, value)


@pytest.mark.parametrize("calibrator", [Spline(), QuadraticScaling()], ids=repr)
def test_calibrators_of_scalars_refuse_three_columns(calibrator):
    refuses(lambda: calibrator.fit(np.full((4, 3), 1 / 3), np.zeros(4, int)), "p has 3 columns")


@pytest.mark.parametrize("calibrator", [CatBoost(iterations=4), LightGBM(iterations=4)], ids=repr)
def test_trees_need_a_stream(calibrator):
    refuses(lambda: calibrator.fit(np.full(20, 0.5), np.arange(20) % 2, None), "rng is missing")
