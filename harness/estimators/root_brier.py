"""Upper bound of the calibration error from the root of the Brier score."""

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
        high = scale * kl+( mean_i ||p_i - e_i||^2 / scale, ln(1 / (1 - level)) / n )

    p_i is one of n predictions. For vectors e_i is the one-hot vector of the label and scale = 2.
    For scalars e_i is the label, 0 or 1, and scale = 1. kl+(q, c) is the largest a with
    kl(q || a) <= c.

    high bounds l2_squared. Its root bounds rms, and also l2 for vectors and l1 for scalars, because
    a mean is at most the root of the mean square.

    Parameters
    ----------
    level : float
        Probability with which all bounds hold together, at every n.

    Notes
    -----
    For large n, high exceeds l2_squared by the refinement, E C (1 - C) for scalars with
    C = E[Y given p]. For a calibrated model it tends to 0 only if the predictions are certain.

    The paper reports the root of the Brier score, which is the diagnostic `rbs` here. Its square
    exceeds l2_squared in expectation, but is no confidence bound. There is no class-wise notion,
    because a mean of bounds is no bound. Cost: O(n k) for k classes.

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
