"""Fields of estimators that are out of range are refused, and the message names the field."""

from functools import partial

import numpy as np
import pytest
from numpy.random import default_rng
from refusals import each_field, refuses, refuses_field

from harness.estimators import (
    CKCE,
    MMCE,
    SKCE,
    UCME,
    AdaptiveClasswise,
    AverageBinned,
    Best,
    Binned,
    Bootstrap,
    BVWindow,
    CalibrationBelt,
    CalibrationLine,
    CertifiedInterval,
    ChiSquare,
    Consistency,
    Cumulative,
    Debiased,
    DebiasedInterval,
    DirichletKernel,
    HulC,
    IntervalCE,
    KDETopLabel,
    KernelRidge,
    LaplaceKCE,
    LipBkt,
    LoessErrors,
    LogitSmoothed,
    LowerPreq,
    NormalDebiased,
    NWJensen,
    NWKfold,
    RejectionShare,
    RootBrier,
    RowBootstrap,
    SafeTest,
    ScalingBinning,
    SimplexECE,
    SKCEBlockTest,
    SmoothECE,
    Subsampling,
    Sweep,
    TCal,
    Tuned,
    TVInsample,
    TVKfold,
    Variational,
    peers,
)

NAN, INF = float("nan"), float("inf")
REFUSED = {
    Binned: {"rule": ("adaptive",), "bins": (0, 2.5)},
    Debiased: {"rule": ("adaptive",), "bins": (0, 2.5)},
    AverageBinned: {"rule": ("kmeans",)},
    AdaptiveClasswise: {"bins": (0,), "threshold": (1.0,)},
    ChiSquare: {"bins": (0,)},
    CalibrationBelt: {"max_degree": (0, 2.5)},
    CalibrationLine: {"level": (0.0, 95)},
    SafeTest: {"splits": (0,)},
    Sweep: {"rule": ("kmeans",)},
    Cumulative: {"statistic": ("max",)},
    SmoothECE: {"sigma": (0.0, "a")},
    LogitSmoothed: {"sigma": (0.0, 0.001, True, "a")},
    RejectionShare: {"alpha": (0.0, 5), "smallest": (0.3, -0.1), "largest": (0.01, 1.5)},
    LoessErrors: {"span": (0.0, 1.5, True, "wide")},
    IntervalCE: {"smallest": (1.0,)},
    LaplaceKCE: {"width": (0.001,)},
    RootBrier: {"level": (0.0,)},
    KDETopLabel: {"bandwidth": (0.0,)},
    TCal: {"bins": (0,)},
    DebiasedInterval: {"level": (1.0,)},
    NormalDebiased: {"rule": ("median",)},
    ScalingBinning: {"rule": ("kmeans",)},
    CKCE: {"gamma": ("mean", 0), "ridge": (-1.0,), "method": ("eigen",), "kernel": ("rbf",),
           "features": (0,), "accuracy": (1,)},
    SKCE: {"form": ("linear",), "blocksize": (1,)},
    SKCEBlockTest: {"blocksize": (1,)},
    UCME: {"places": (0,)},
    MMCE: {"width": (0.0,)},
    SimplexECE: {"intervals": (0,)},
    DirichletKernel: {"bandwidth": (0, "silverman"), "form": ("both",), "floor": (0.0,),
                      "norms": ((0.5,), (-1,), (NAN,), 2)},
    KernelRidge: {"kind": ("krr",), "gamma": (-1, INF), "ridge": (0, "cv", True),
                  "max_rank": (0, 2.5), "tolerance": (2.0,)},
    partial(Tuned, Binned()): {"folds": (1,), "test_share": (1.0, "a")},
    Variational: {"folds": (0, -1, 2.5), "repeats": (0, -1, 1.5), "level": (0.0, 1.0, 95, NAN)},
    Best: {"repeats": (0,)},
    partial(Bootstrap, Binned()): {"resamples": (5,), "level": (95,), "form": ("percentile",)},
    partial(RowBootstrap, Binned()): {"resamples": (5,), "level": (95,), "form": ("half",),
                                      "groups": (2,)},
    partial(Subsampling, Binned()): {"gamma": (1.0,), "rate": (-1,)},
    partial(HulC, Binned()): {"level": (1.0,)},
    partial(Consistency, Binned()): {"resamples": (9,)},
    TVKfold: {"level": (1.0,), "folds": (1,), "mode": ("both",)},
    TVInsample: {"variation": (-0.5,), "mode": (None,)},
    BVWindow: {"window": (2.5,), "variation": (True,)},
    NWKfold: {"h": (0.0,), "second": ("third",)},
    NWJensen: {"bandwidth": (0.5,), "histogram": (30,)},
    LipBkt: {"buckets": (0,), "form": ("other",)},
    LowerPreq: {"level": (0,)},
    CertifiedInterval: {"uppers": ("bv_window", None)},
    peers.Relplot: {"measure": ("ece",)},
    peers.Netcal: {"rule": ("mess",)},
    peers.ProbmetricsGain: {"recalibrator": ("platt",)},
}  # fmt: skip


@each_field(REFUSED)
def test_a_value_out_of_range_is_refused(make, field, value):
    refuses_field(make, field, value)


@pytest.mark.parametrize("make", [Bootstrap, RowBootstrap])
def test_only_an_estimator_can_be_wrapped(make):
    refuses(lambda: make(3), "estimator is a int")


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: CKCE(kernel="kronecker", method="features"), "closed form"),
        (lambda: SKCE(form="block", method="features"), "method is 'features'"),
        (lambda: SKCE(form="block", kernel="kronecker"), "form is 'block'"),
        (lambda: Tuned(Debiased()), "no residual products"),
        (lambda: Consistency(Debiased()), "statistic is 'l1'"),
        (lambda: CertifiedInterval(uppers=(LowerPreq(),)), "uppers holds LowerPreq"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(make, words):
    refuses(lambda: make()(np.full(60, 0.5), np.arange(60) % 2, default_rng(0)), words)


RANDOM = [
    CKCE(method="features"), SKCE(method="features"), SKCE(form="block"), UCME(), TCal(),
    Tuned(Binned()), Bootstrap(Binned()), Subsampling(Binned()), Best(), Variational(),
    Binned(rule="kmeans"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", RANDOM, ids=lambda estimator: type(estimator).__name__)
def test_a_random_estimator_needs_a_stream(estimator):
    refuses(lambda: estimator(np.full(60, 0.5), np.arange(60) % 2, None), "rng is missing")
    assert estimator.determinism == "statistical"
