"""Estimators: (p, y) -> {estimand: Estimate}.

An estimator is a frozen dataclass whose fields are its mathematics, callable as `estimator(p, y, rng)` on reduced data:
p (n,) with y in {0, 1} for the scalar notions (classwise: once per class, averaged by the harness), p (n, k) with y in 0..k-1
for canonical. Its class attributes are its properties: `base.EstimatorSpec` lists them, and what holds where one is left out.
"""

from harness.estimators.accuracy import Accuracy, SaturatedShare
from harness.estimators.anchors import Brier, LogLossScore, Oracle
from harness.estimators.auroc import Auroc
from harness.estimators.base import Estimate
from harness.estimators.best import Best, BestLower
from harness.estimators.binned import Binned, Debiased
from harness.estimators.bootstrap import Bootstrap
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
from harness.estimators.dirichlet_kernel import BinningKernel, DirichletKernel
from harness.estimators.kernel_errors import MMCE, SKCE, UCME, SimplexECE
from harness.estimators.kernel_limit import KernelLimit, TruthOfVector
from harness.estimators.kernel_ridge import KernelRidge
from harness.estimators.mean_shift import MeanShift
from harness.estimators.neighbours import NeighbourSharpness
from harness.estimators.population_metrics import PopulationMetrics
from harness.estimators.posterior_points import PosteriorPoints
from harness.estimators.reliability_bins import FirstClassBins, ReliabilityBins
from harness.estimators.risk_curve import RiskCurve
from harness.estimators.tuned import Tuned
from harness.estimators.variational import Variational, paired_difference

__all__ = [
    "Accuracy",
    "Auroc",
    "BVWindow",
    "Best",
    "BestLower",
    "Binned",
    "BinningKernel",
    "Bootstrap",
    "Brier",
    "CKCE",
    "CertifiedInterval",
    "Debiased",
    "DirichletKernel",
    "Estimate",
    "FirstClassBins",
    "KernelLimit",
    "KernelRidge",
    "LipBkt",
    "LogLossScore",
    "LowerPreq",
    "MMCE",
    "MeanShift",
    "NWJensen",
    "NWKfold",
    "NeighbourSharpness",
    "Oracle",
    "PopulationMetrics",
    "PosteriorPoints",
    "ReliabilityBins",
    "RiskCurve",
    "SKCE",
    "SaturatedShare",
    "SimplexECE",
    "TVInsample",
    "TVKfold",
    "TruthOfVector",
    "Tuned",
    "UCME",
    "Variational",
    "paired_difference",
]
