"""Kernel calibration error with the Laplace kernel, exact in n log n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked

LEAST_WIDTH = 0.01  # exp(1 / width) is finite


@dataclass(frozen=True)
class LaplaceKCE:
    """Kernel calibration error with the kernel k(u, v) = exp(-|u - v| / width).

        laplace_kce = sqrt(1/n^2 sum_{i,j} r_i r_j k(p_i, p_j))
        laplace_kce_squared = 1/(n (n - 1)) sum_{i != j} r_i r_j k(p_i, p_j)

    with r = y - p: the root of the sum over all pairs, and the mean over pairs of different
    samples.

    Parameters
    ----------
    width : float
        At least 0.01; 1 is the authors'.

    Notes
    -----
    The population value is the largest E (y - p) g(p) over g in the unit ball of the kernel's
    space. It is 0 only for calibrated predictions and of the same order as the distance from
    calibration up to powers, but no distance of p and C. laplace_kce is at least 0 and biased
    upwards, near calibration about (mean p (1 - p) / n)^(1/2). laplace_kce_squared is unbiased,
    negative at times, and undefined (NaN) for one sample. Exact: after sorting, the double sum
    factors into products of running sums of r exp(p / width) and r exp(-p / width). relplot uses
    the mean over 10 n random pairs. O(n log n).

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
        p, y = checked(p, y)
        n, order = len(p), np.lexsort((y, p))
        p, r = p[order], (y - p)[order]
        scale = np.exp(p / self.width)
        before = np.append(0.0, np.cumsum(r * scale)[:-1])  # sums over the preceding samples
        pairs, diagonal = 2.0 * float((r / scale) @ before), float(r @ r)
        squared = pairs / (n * (n - 1)) if n > 1 else float("nan")
        root = float(np.sqrt(max(pairs + diagonal, 0.0))) / n  # only rounding can make it negative
        return {"laplace_kce": Estimate(root), "laplace_kce_squared": Estimate(squared)}
