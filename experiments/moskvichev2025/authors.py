"""What exists only for the items of moskvichev2025: population values of its metrics in Appendix A and Figure 4a, the bins of
Figure 1 and the marginal model of Table 1. The paper defines CKCE without the ridge and estimates it with n^(-1/4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from harness.errors import UndefinedError
from harness.estimators import Estimate, ReliabilityBins
from harness.math.two_class_laws import binned_ece, ckce, ece, jkce, linear_and_gaussian, median_distance, same

SIZES = (100, 1000, 10_000, 10**6, 10**8)  # whose ridges Appendix A is computed with
RIDGES, GAMMA = (0.1, 0.01, 1e-4, 1e-6, 1e-8), 0.5  # of Figure 4a
PIECES = 24  # of the quadrature of Figure 4a
THIRDS = np.array([-1.0, 1.0]) * np.log(2.0) / 5.0  # where sigma(5 x) is 1/3 and 2/3


@lru_cache(maxsize=64)
def of_points(problem, n):
    """{column of Appendix A: population value} of a law on points; n is not asked for, the ridges being those of `SIZES`."""
    law = problem.arrays()
    plain = linear_and_gaussian(np.sqrt(2.0) * np.ptp(problem.predictions))  # their distance
    values = {"CKCE": ckce(*law, same, [0.0])[0], "JKCE": jkce(*law, same), "ECE": ece(*law)}
    values |= {f"CKCE, ridge of n = {m:,}": v for m, v in zip(SIZES, ckce(*law, same, [m**-0.25 for m in SIZES]))}
    with_ridge, without = ckce(*law, plain, [1000**-0.25, 0.0])
    section = "CKCE, kernel of Section 3.2"
    return {**values, f"{section}, ridge of n = 1,000": with_ridge, f"{section}, no ridge": without}


@lru_cache(maxsize=64)
def of_shift(problem, n):
    """{column of Figure 4a: population value} at one location: metrics with the ridge of n and the population's median distance,
    CKCE by ridge at a fixed bandwidth. ECE is the true one, 'ECE, thirds' what the estimator's bins make of it."""
    x, w = problem.nodes(PIECES, THIRDS)
    p, c = expit(problem.model_slope * x), expit(problem.truth_slope * x)
    own, fixed = (linear_and_gaussian(g) for g in (median_distance(w, p), GAMMA))
    values = {"CKCE": ckce(w, p, c, own, [n**-0.25])[0], "JKCE": jkce(w, p, c, own)}
    values |= {"ECE": ece(w, p, c), "ECE, thirds": binned_ece(w, p, c, 3)}
    return values | {f"CKCE, ridge {r:g}": value for r, value in zip(RIDGES, ckce(w, p, c, fixed, RIDGES))}


@dataclass(frozen=True)
class PopulationMetrics:
    """The metrics of the law that a sample is from, not of the sample: of a law on points the columns of Appendix A, of a
    covariate shift those of Figure 4a at this n. l1 is their ECE; the diagnostics hold every column. Undefined for other laws."""

    notions = ("canonical",)
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    wants = ("problem",)

    def __call__(self, p, y, rng=None, problem: Any = None):
        of = of_points if hasattr(problem, "arrays") else of_shift if hasattr(problem, "nodes") else None
        if of is None:
            raise UndefinedError("population values are known for laws on points and for covariate shifts")
        values = of(problem, len(y))
        return {"l1": Estimate(values["ECE"], diagnostics=values)}


@dataclass(frozen=True)
class BinsOfFirstClass(ReliabilityBins):
    """`ReliabilityBins` of the probability of class 0 in place of every class: what Figure 1 draws."""

    bins: int = 10

    notions = ("canonical",)

    def __call__(self, p, y, rng=None):
        return super().__call__(p[:, 0], y == 0)


@dataclass(frozen=True)
class UniformModel:
    """The marginal model of ImageNet's validation images, which needs no file: equally many rows of each of k classes, and every
    prediction (1/k, ..., 1/k). The residuals sum to 0, so that CKCE = ECE = 0 and JKCE = -(1 + 1/k)(1 - 1/k) / (n - 1)."""

    classes: int = 1000
    rows: int = 50_000

    notions = ("canonical",)
    version = 1
    default_reps = 1

    @property
    def n_max(self):
        return self.rows

    default_n = n_max

    def sample(self, n, rng):
        return np.broadcast_to(1.0 / self.classes, (n, self.classes)), np.arange(n) % self.classes

    def truth(self, estimand, notion):
        return None
