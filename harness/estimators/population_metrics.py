"""Population values of CKCE, JKCE and ECE, with which estimates are compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.math.two_class_laws import (
    binned_ece,
    ckce,
    ece,
    jkce,
    linear_and_gaussian,
    median_distance,
    same,
)

SIZES = (100, 1000, 10_000, 10**6, 10**8)  # CKCE on points is computed with their ridges n^(-1/4)
# Ridges and bandwidth of CKCE under a covariate shift.
RIDGES, GAMMA = (0.1, 0.01, 1e-4, 1e-6, 1e-8), 0.5
PIECES = 24  # panels of the quadrature over x
THIRDS = np.array([-1.0, 1.0]) * np.log(2.0) / 5.0  # where sigma(5 x) is 1/3 and 2/3


@dataclass(frozen=True)
class PopulationMetrics:
    """CKCE, JKCE and ECE of the law that a sample comes from, instead of the sample.

        l1 = ECE = E ||f - C||_1,  C = E[Y given f]

    Notes
    -----
    Known for problems on points (`harness.problems.Points`: exact sums) and for covariate shifts
    (`harness.problems.CovariateShift`: quadrature over x); undefined for others. y is not used. The
    diagnostics hold every metric by name. On points: with the kernel 1{p = q} and, as "kernel of
    Section 3.2", the linear plus Gaussian one. Under a shift: with the ridge of n and the
    population's median distance, CKCE also by ridge at the bandwidth 0.5. "ECE, thirds" is the
    limit of the estimator of ECE with three intervals per class. Cost O(m^3) in the m points or
    nodes, once per law and n.

    Examples
    --------
    >>> from harness.problems import Points
    >>> law = Points((0.5, 0.5), (0.3, 0.6), (0.5, 0.5))
    >>> e = PopulationMetrics()(np.full((9, 2), 0.5), np.zeros(9, dtype=int), problem=law)["l1"]
    >>> round(e.value, 4), round(e.diagnostics["CKCE"], 4), round(e.diagnostics["JKCE"], 4)
    (0.3, 0.1, 0.025)

    References
    ----------
    moskvichev2025, Section 3.2, Appendix A (points) and Section 5.2.1 (shift). The paper defines
    CKCE without the ridge and estimates it with n^(-1/4).
    """

    notions = ("canonical",)
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    wants = ("problem",)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: object = None, problem: Any = None
    ) -> dict[str, Estimate]:
        """Return the metrics of the law `problem`, with the ridge of len(y) samples."""
        if hasattr(problem, "arrays"):
            values = point_metrics(problem)
        elif hasattr(problem, "nodes"):
            values = shift_metrics(problem, len(y))
        else:
            raise UndefinedError(
                "population values are known for laws on points and for covariate shifts"
            )
        return {"l1": Estimate(values["ECE"], diagnostics=values)}


@lru_cache(maxsize=64)
def point_metrics(problem: Any) -> dict[str, float]:
    """Return {metric: value} of a law on points, with the ridges of `SIZES`."""
    w, p, c = problem.arrays()
    # The bandwidth is the distance of the two predictions.
    plain = linear_and_gaussian(np.sqrt(2.0) * np.ptp(problem.predictions))
    values = {
        "CKCE": ckce(w, p, c, same, [0.0])[0],
        "JKCE": jkce(w, p, c, same),
        "ECE": ece(w, p, c),
    }
    values |= {
        f"CKCE, ridge of n = {m:,}": v
        for m, v in zip(SIZES, ckce(w, p, c, same, [m**-0.25 for m in SIZES]))
    }
    with_ridge, without = ckce(w, p, c, plain, [1000**-0.25, 0.0])
    section = "CKCE, kernel of Section 3.2"
    return {**values, f"{section}, ridge of n = 1,000": with_ridge, f"{section}, no ridge": without}


@lru_cache(maxsize=64)
def shift_metrics(problem: Any, n: int) -> dict[str, float]:
    """Return {metric: value} at one location of a covariate shift.

    With the ridge of n and the median distance, and CKCE by ridge at a fixed bandwidth. ECE is the
    true one, 'ECE, thirds' the limit of the estimator's bins.
    """
    x, w = problem.nodes(PIECES, THIRDS)
    p, c = expit(problem.model_slope * x), expit(problem.truth_slope * x)
    median, fixed = (linear_and_gaussian(g) for g in (median_distance(w, p), GAMMA))
    values = {"CKCE": ckce(w, p, c, median, [n**-0.25])[0], "JKCE": jkce(w, p, c, median)}
    values |= {"ECE": ece(w, p, c), "ECE, thirds": binned_ece(w, p, c, 3)}
    return values | {
        f"CKCE, ridge {r:g}": value for r, value in zip(RIDGES, ckce(w, p, c, fixed, RIDGES))
    }
