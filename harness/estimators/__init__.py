"""Estimators: (p, y) -> {estimand: Estimate}.

An estimator is a frozen dataclass whose fields are its mathematics, callable as `estimator(p, y, rng)` on reduced data:
p (n,) with y in {0, 1} for the scalar notions (classwise: once per class, averaged by the harness), p (n, k) with y in 0..k-1
for canonical. Class attributes are its properties:

    notions, estimands   what it can judge, and what it returns
    determinism          exact (same input, same bits) | rounding (1e-9) | statistical
    revision             raised when its numbers change; part of every cell's key
    max_n, max_classes   cells beyond are skipped with this reason (None = no limit)
    null_bias            largest |mean estimate| on a calibrated sample of 2,000 that it declares as normal
    wants                () or ("notion",) or ("notion", "problem"): what it is given beside (p, y, rng), by keyword
    needs_posterior      true = it reads the problem's E[Y given p]; cells of problems without one are skipped
    seconds              rough CPU seconds of a cell of n = 1,000: what a plan goes by until records tell
    takes_classwise      true = classwise it is called once, with p (n, k) and indicators y (n, k), and averages by itself
    unavailable          why it cannot run here (weights, packages, a GPU), None if it can; its cells are skipped with this reason
    legacy_seed          true = rng is the rep itself, as the integer seed of the authors' scripts
"""

from harness.estimators.accuracy import Accuracy
from harness.estimators.anchors import Brier, LogLossScore, MonteCarloTruth, Oracle
from harness.estimators.auroc import Auroc
from harness.estimators.base import Estimate
from harness.estimators.binned import Binned, Debiased
from harness.estimators.bootstrap import Bootstrap
from harness.estimators.certified.bounds import (
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
from harness.estimators.gruber2025 import BinnedGruber2025, DirichletKernelGruber2025, TunedGruber2025
from harness.estimators.kernel_errors import MMCE, SKCE, UCME, SimplexECE
from harness.estimators.kernel_ridge import KernelRidge
from harness.estimators.popordanoska2024 import (
    BinnedKLPopordanoska2024,
    BinnedPopordanoska2024,
    DirichletKernelPopordanoska2024,
)
from harness.estimators.reliability_bins import ReliabilityBins
from harness.estimators.risk_curve import RiskCurve
from harness.estimators.tuned import Tuned
from harness.estimators.variational import Variational, paired_difference

__all__ = [
    "TVKfold",
    "TVInsample",
    "NWKfold",
    "NWJensen",
    "LowerPreq",
    "LipBkt",
    "CertifiedInterval",
    "BVWindow",
    "Accuracy",
    "Auroc",
    "Binned",
    "BinnedGruber2025",
    "BinnedKLPopordanoska2024",
    "BinnedPopordanoska2024",
    "BinningKernel",
    "Bootstrap",
    "Brier",
    "CKCE",
    "Debiased",
    "DirichletKernel",
    "DirichletKernelGruber2025",
    "DirichletKernelPopordanoska2024",
    "Estimate",
    "KernelRidge",
    "LogLossScore",
    "MMCE",
    "MonteCarloTruth",
    "Oracle",
    "ReliabilityBins",
    "Tuned",
    "TunedGruber2025",
    "RiskCurve",
    "SKCE",
    "SimplexECE",
    "UCME",
    "Variational",
    "paired_difference",
]
