"""Root of the Brier score: an upper bound of the calibration error that needs no estimate of C."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_level
from harness.math.concentration import kl_upper
from harness.math.notions import checked, one_hot


@dataclass(frozen=True)
class RootBrier:
    """Upper confidence bound of the calibration error from the root of the Brier score.

        l2_squared <= E ||p - e_Y||^2
        high = scale * kl+( mean of ||p_i - e_i||^2 / scale, ln(1 / (1 - level)) / n )

    with scale 1 for scalars (one column), 2 for vectors, kl+(q, c) the largest a with kl(q || a) <=
    c. high is the bound of l2_squared, its root that of rms and of l2 (vectors) or l1 (scalars),
    because a mean is at most the root of the mean square.

    Parameters
    ----------
    level : float
        Probability with which the bounds hold, all at once, at every n.

    Notes
    -----
    It exceeds the error by the refinement E C (1 - C), however large n is, and does not decrease to
    0 for a calibrated model unless it is certain. The paper reports the root of the Brier score
    itself, here the diagnostic `rbs` of every estimand: its square is above l2_squared in
    expectation, no confidence bound. Not class-wise, because a mean of bounds is no bound. O(n k).

    References
    ----------
    Gruber and Buettner (2022), Better uncertainty calibration via proper scores, NeurIPS (RBS).
    Chernoff's bound: Hoeffding (1963), eq. 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> e = RootBrier()(np.full(1000, 0.5), np.arange(1000) % 2)["l1"]
    >>> e.diagnostics["rbs"], round(e.high, 3), e.kind
    (0.5, 0.533, 'upper')
    """

    level: float = 0.95

    notions = ("binary", "top_label", "canonical")
    determinism = "exact"
    revision = 1
    estimands = ("l1", "l2", "rms", "l2_squared")

    def __post_init__(self) -> None:
        check_level(self.level)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        d = p - (y if p.ndim == 1 else one_hot(y, p.shape[1]))
        scale, mean = float(p.ndim), math.fsum((d * d).ravel()) / len(p)
        high = scale * kl_upper(min(mean / scale, 1.0), -math.log(1.0 - self.level) / len(p))
        bounds = {
            "l1" if p.ndim == 1 else "l2": math.sqrt(high),
            "rms": math.sqrt(high),
            "l2_squared": high,
        }
        diagnostics = {"rbs": math.sqrt(mean)}
        return {
            name: Estimate(
                bound, high=bound, level=self.level, kind="upper", diagnostics=diagnostics
            )
            for name, bound in bounds.items()
        }
