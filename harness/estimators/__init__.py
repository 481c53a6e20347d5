"""Estimators: (p, y) -> {estimand: Estimate}.

An estimator is a frozen dataclass. Its fields are its mathematical parameters. Its class attributes
are its properties; `base.EstimatorSpec` lists them and their defaults.

It is called as `estimator(p, y, rng)` on reduced data. For the scalar notions, p is (n,) with
labels y in {0, 1}. For the class-wise notion it is called once per class, and the harness averages
over the classes. For the canonical notion, p is (n, k) with labels y from 0 to k - 1.
"""

from harness.estimators.accuracy import Accuracy
from harness.estimators.anchors import Brier, LogLossScore, Oracle
from harness.estimators.auroc import Auroc
from harness.estimators.base import Estimate
from harness.estimators.best import Best, BestLower
from harness.estimators.bin_variants import AdaptiveClasswise, AverageBinned, CubeRootBins
from harness.estimators.binned import Binned, Debiased
from harness.estimators.bootstrap import Bootstrap
from harness.estimators.calibration_belt import CalibrationBelt
from harness.estimators.calibration_line import CalibrationLine
from harness.estimators.certified import (
    BVWindow,
    CertifiedInterval,
    LipBkt,
    LowerPreq,
    NWJensen,
    NWKfold,
    TVInsample,
    TVKfold,
)
from harness.estimators.ckce import CKCE
from harness.estimators.consistency import Consistency
from harness.estimators.corp import Corp
from harness.estimators.cumulative import Cumulative
from harness.estimators.debiased_interval import DebiasedInterval
from harness.estimators.dirichlet_kernel import BinningKernel, DirichletKernel
from harness.estimators.gap_posterior import BestPlain
from harness.estimators.interval_ce import IntervalCE
from harness.estimators.kde_top_label import KDETopLabel
from harness.estimators.kernel_errors import MMCE, SKCE, UCME
from harness.estimators.kernel_ridge import KernelRidge
from harness.estimators.laplace_kernel import LaplaceKCE
from harness.estimators.loess_errors import LoessErrors
from harness.estimators.logit_smoothing import LogitSmoothed
from harness.estimators.normal_debiased import NormalDebiased
from harness.estimators.paired import paired_difference
from harness.estimators.rejection_share import RejectionShare
from harness.estimators.reliability_bins import FirstClassBins, ReliabilityBins
from harness.estimators.resampling import RowBootstrap
from harness.estimators.root_brier import RootBrier
from harness.estimators.safe_test import SafeTest
from harness.estimators.scaling_binning import ScalingBinning
from harness.estimators.score_tests import ChiSquare, HosmerLemeshow, Spiegelhalter
from harness.estimators.simplex_ece import SimplexECE
from harness.estimators.skce_block_test import SKCEBlockTest
from harness.estimators.smooth_calibration import SmoothCalibration
from harness.estimators.smooth_ece import SmoothECE
from harness.estimators.subsampling import HulC, Subsampling
from harness.estimators.sweep import Sweep
from harness.estimators.tcal import TCal
from harness.estimators.tuned import Tuned
from harness.estimators.variational import Variational

__all__ = [
    "Accuracy",
    "AdaptiveClasswise",
    "Auroc",
    "AverageBinned",
    "BVWindow",
    "Best",
    "BestLower",
    "BestPlain",
    "Binned",
    "BinningKernel",
    "Bootstrap",
    "Brier",
    "CKCE",
    "CalibrationBelt",
    "CalibrationLine",
    "CertifiedInterval",
    "ChiSquare",
    "Corp",
    "CubeRootBins",
    "Cumulative",
    "Consistency",
    "Debiased",
    "DebiasedInterval",
    "DirichletKernel",
    "Estimate",
    "FirstClassBins",
    "IntervalCE",
    "KDETopLabel",
    "HosmerLemeshow",
    "HulC",
    "KernelRidge",
    "LaplaceKCE",
    "LipBkt",
    "LoessErrors",
    "LogLossScore",
    "LogitSmoothed",
    "LowerPreq",
    "MMCE",
    "NWJensen",
    "NWKfold",
    "NormalDebiased",
    "Oracle",
    "RejectionShare",
    "ReliabilityBins",
    "RootBrier",
    "RowBootstrap",
    "SKCE",
    "SKCEBlockTest",
    "SafeTest",
    "ScalingBinning",
    "SimplexECE",
    "SmoothCalibration",
    "SmoothECE",
    "Spiegelhalter",
    "Sweep",
    "TCal",
    "Subsampling",
    "TVInsample",
    "TVKfold",
    "Tuned",
    "UCME",
    "Variational",
    "paired_difference",
]
