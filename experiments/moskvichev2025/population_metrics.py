"""Population values of CKCE, JKCE and ECE, as references for their estimates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from harness.errors import UndefinedError
from harness.estimators.base import Estimate

from .two_class_laws import (
    binned_ece,
    ckce,
    ece,
    jkce,
    linear_and_gaussian,
    median_distance,
    same,
)

SIZES = (100, 1000, 10_000, 10**6, 10**8)  # n of the ridges n^(-1/4) of CKCE for laws on points
# Ridges and bandwidth of CKCE under a covariate shift.
RIDGES, GAMMA = (0.1, 0.01, 1e-4, 1e-6, 1e-8), 0.5
PIECES = 24  # number of panels of the quadrature over x
THIRDS = np.array([-1.0, 1.0]) * np.log(2.0) / 5.0  # the x at which sigma(5 x) is 1/3 and 2/3


@dataclass(frozen=True)
class PopulationMetrics:
    """CKCE, JKCE and ECE of the law that a sample comes from.

        l1 = ECE = E ||f - C||_1

    f is a random prediction, Y its one-hot outcome and C = E[Y given f]. The estimators `CKCE` and
    `SKCE` define and estimate CKCE and JKCE.

    Notes
    -----
    The values are known for two classes of problems; any other problem raises UndefinedError:

    * `Points`, by exact sums.
    * `CovariateShift`, by quadrature over x.

    The sample is not used, except for its size n. The diagnostics hold every metric by name.

    * On points, CKCE and JKCE use the kernel 1{p = q}. Metrics whose name has
      "kernel of Section 3.2" use the linear plus Gaussian kernel of the estimator `CKCE`.
    * Under a covariate shift, they use the linear plus Gaussian kernel, with the population median
      of the distances as bandwidth and the ridge n^(-1/4). CKCE is also given for several ridges at
      the bandwidth 0.5.
    * "ECE, thirds" is the limit of the estimator of ECE with three intervals per class.

    Cost: O(m^3) for m points or nodes, once per law and n.

    Examples
    --------
    >>> from harness.experiments.moskvichev2025.shift import Points
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
        """Return the metrics of `problem`, with the ridge n^(-1/4) for n = len(y)."""
        if hasattr(problem, "arrays"):
            values = point_metrics(problem)
        elif hasattr(problem, "nodes"):
            values = shift_metrics(problem, len(y))
        else:
            raise UndefinedError(
                "population values are known only for laws on points and for covariate shifts"
            )
        return {"l1": Estimate(values["ECE"], diagnostics=values)}


@lru_cache(maxsize=64)
def point_metrics(problem: Any) -> dict[str, float]:
    """Return {metric: value} of a law on points, with CKCE for the ridge of every n in SIZES."""
    w, p, c = problem.arrays()
    # The bandwidth is the distance between the two predictions of the law.
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
    """Return {metric: value} of a covariate shift, as described in `PopulationMetrics`.

    n determines the ridge n^(-1/4) of CKCE.
    """
    x, w = problem.nodes(PIECES, THIRDS)
    p, c = expit(problem.model_slope * x), expit(problem.truth_slope * x)
    median, fixed = (linear_and_gaussian(g) for g in (median_distance(w, p), GAMMA))
    values = {"CKCE": ckce(w, p, c, median, [n**-0.25])[0], "JKCE": jkce(w, p, c, median)}
    values |= {"ECE": ece(w, p, c), "ECE, thirds": binned_ece(w, p, c, 3)}
    return values | {
        f"CKCE, ridge {r:g}": value for r, value in zip(RIDGES, ckce(w, p, c, fixed, RIDGES))
    }
