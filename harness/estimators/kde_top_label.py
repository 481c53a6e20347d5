"""Calibration error of scalar predictions from kernel densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked_scalars

GRID = np.linspace(-0.6, 1.6, 2**14)
STEP = GRID[1] - GRID[0]
SMALLEST_DENSITY = 1e-6  # smaller densities count as 0, as in the authors' code


@dataclass(frozen=True)
class KDETopLabel:
    """Calibration error from kernel densities of the predictions, by Bayes' rule instead of bins.

        l1         = int |x - c(x)| f(x) dx / int f(x) dx
        l2_squared = int (x - c(x))^2 f(x) dx / int f(x) dx
        c(x)       = min(1, mean(y) f_1(x) / f(x))

    f is the density of all predictions p, and f_1 that of the predictions with y = 1. c estimates
    C = E[Y given p]. The kernel is the triweight kernel (1 - u^2)^3, mirrored at 0 and 1. Densities
    are computed on a grid of 2^14 points in [-0.6, 1.6]. Each sample is divided linearly between
    the two nearest points of the grid, as in the authors' code.

    Parameters
    ----------
    bandwidth : float, optional
        Standard deviation of the kernel, which is a third of its reach. None takes the authors'
        rule (2 n)^(-1/5) times the standard deviation of the p with y = 1.

    Notes
    -----
    Biased downwards because C is smoothed over the bandwidth, and upwards by the noise of c. The
    mirrors flatten C at 0 and 1, which is a further error if predictions crowd there.

    Differences from the authors' code:

    * A bandwidth below the step of the grid is raised to the step. If no y is 1, the standard
      deviation of all p is used. The authors' code returns no number in these cases.
    * Where the density is 0, the integrand is 0. The authors' code repeats the last integrand. The
      values differ by at most 1e-6, except if all densities end at the same point.

    The diagnostic is `bandwidth`. Cost: O(n + 2^14).

    References
    ----------
    Zhang, Kailkhura and Han (2020), Mix-n-Match, ICML; `ece_kde_binary` of their code.

    Examples
    --------
    >>> estimates = KDETopLabel(bandwidth=0.01)([0.3, 0.3, 0.8, 0.8], [0, 1, 1, 1])
    >>> round(estimates["l1"].value, 3), round(estimates["l2_squared"].value, 3)
    (0.2, 0.04)
    """

    bandwidth: float | None = None

    notions = ("binary", "top_label", "classwise")
    estimands = ("l1", "l2_squared")
    determinism = "rounding"
    revision = 1
    null_bias = 0.1
    seconds = 0.005

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not (
            is_positive(self.bandwidth) and self.bandwidth <= 1.0
        ):
            raise BadInputError(
                f"bandwidth is {self.bandwidth!r}; give a positive number of at most 1, or null "
                "for the authors' rule."
            )

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        rule = float(np.std(p[y == 1] if y.any() else p)) * (2 * len(p)) ** -0.2
        width = max(self.bandwidth or rule, STEP)
        inside = (GRID > 0.0) & (GRID < 1.0)
        x = GRID[inside]
        density, density_of_ones = (
            scaled_density(q, width)[inside] / len(p) for q in (p, p[y == 1])
        )
        seen = np.maximum(density, density_of_ones / max(y.mean(), 1 / len(p))) > SMALLEST_DENSITY
        c = np.minimum(
            np.divide(density_of_ones, density, out=np.zeros_like(x), where=seen & (density > 0.0)),
            1.0,
        )
        gap, total = np.where(seen, np.abs(x - c), 0.0), np.trapezoid(density, x)
        diagnostics = {"bandwidth": width}
        powers = {"l1": gap, "l2_squared": gap**2}
        return {
            name: Estimate(float(np.trapezoid(d * density, x) / total), diagnostics=diagnostics)
            for name, d in powers.items()
        }


def scaled_density(p: np.ndarray, width: float) -> np.ndarray:
    """Return len(p) times the mirrored kernel density of p on GRID, which is valid on [0, 1].

    `width` is the standard deviation of the kernel.
    """
    from scipy.signal import convolve  # slow to import

    both = np.concatenate([-p[p < 0.5], p, 2.0 - p[p >= 0.5]])
    position = (both - GRID[0]) / STEP
    left = np.floor(position).astype(np.int64)
    share = position - left
    split = np.bincount(left, 1.0 - share, minlength=len(GRID)) + np.bincount(
        left + 1, share, minlength=len(GRID)
    )
    reach = 3.0 * width
    half = int(reach / STEP)
    u = STEP * np.arange(-half, half + 1) / reach
    kernel = 35.0 / 32.0 * (1.0 - u**2) ** 3 / reach
    return np.maximum(convolve(split, kernel, mode="same"), 0.0)
