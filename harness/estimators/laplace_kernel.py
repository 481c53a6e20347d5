"""Kernel calibration error with the Laplace kernel, computed exactly in O(n log n)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked_scalars

LEAST_WIDTH = 0.01  # exp(1 / width) is finite for this width


@dataclass(frozen=True)
class LaplaceKCE:
    """Kernel calibration error with the kernel k(u, v) = exp(-|u - v| / width).

        laplace_kce = sqrt(1/n^2 sum_{i,j} r_i r_j k(p_i, p_j))
        laplace_kce_squared = 1/(n (n - 1)) sum_{i != j} r_i r_j k(p_i, p_j)

    p_i is one of n predictions, y_i its outcome, and r_i = y_i - p_i.

    Parameters
    ----------
    width : float
        Width of the kernel, at least 0.01. The authors use 1.

    Notes
    -----
    **Estimand.** The population value is the largest E (y - p) g(p) over the functions g in the
    unit ball of the Hilbert space of the kernel. It is 0 only for calibrated predictions. Powers of
    the distance from calibration bound it from both sides. It is no distance between p and
    E[Y given p].

    **Bias.** laplace_kce is at least 0 and biased upwards; near calibration it is about
    sqrt(mean p (1 - p) / n). laplace_kce_squared is unbiased and may be negative. It is undefined
    (NaN) for one sample.

    **Cost.** O(n log n). After sorting, the double sum is a sum of products of cumulative sums of
    r exp(p / width) with r exp(-p / width). The package relplot averages 10 n random pairs instead.

    References
    ----------
    Blasiok, Gopalan, Hu and Nakkiran (2023), A unifying theory of distance from calibration, STOC;
    `laplace_calibration_approx` of their package relplot.

    Examples
    --------
    >>> estimates = LaplaceKCE()([0.5, 0.5], [1, 1])
    >>> estimates["laplace_kce"].value, estimates["laplace_kce_squared"].value
    (0.5, 0.25)
    """

    width: float = 1.0

    notions = ("binary", "top_label", "classwise")
    estimands = ("laplace_kce", "laplace_kce_squared")
    determinism = "rounding"
    revision = 1
    null_bias = 0.02
    seconds = 0.0005

    def __post_init__(self) -> None:
        if not (is_positive(self.width) and self.width >= LEAST_WIDTH):
            raise BadInputError(
                f"width is {self.width!r}; a number of at least {LEAST_WIDTH} is needed."
            )

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        n, order = len(p), np.lexsort((y, p))
        p, r = p[order], (y - p)[order]
        scale = np.exp(p / self.width)
        before = np.append(0.0, np.cumsum(r * scale)[:-1])  # sums over the preceding samples
        pairs, diagonal = 2.0 * float((r / scale) @ before), float(r @ r)
        squared = pairs / (n * (n - 1)) if n > 1 else float("nan")
        root = float(np.sqrt(max(pairs + diagonal, 0.0))) / n  # rounding may make the sum negative
        return {"laplace_kce": Estimate(root), "laplace_kce_squared": Estimate(squared)}
