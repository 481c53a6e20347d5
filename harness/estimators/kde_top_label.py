"""Calibration error of scalars by kernel densities of all predictions and of those with y = 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked

GRID = np.linspace(-0.6, 1.6, 2**14)
STEP = GRID[1] - GRID[0]
NOTHING = 1e-6  # smaller densities count as 0, as in the authors' code


@dataclass(frozen=True)
class KDETopLabel:
    """Calibration error from kernel densities of the predictions: Bayes' rule instead of bins.

        l1 = int |x - c(x)| f(x) dx / int f(x) dx,    c(x) = min(1, mean(y) f_1(x) / f(x))

    and l2_squared with the square. f and f_1 are the densities of all p and of those with y = 1, by
    the triweight kernel (1 - u^2)^3, mirrored at 0 and 1. They are computed on 2^14 points of
    [-0.6, 1.6], between which each sample is split linearly, as in the authors' code.

    Parameters
    ----------
    bandwidth : float, optional
        Standard deviation of the kernel (a third of its reach). By default the authors' sd(p with y
        = 1) (2 n)^(-1/5).

    Notes
    -----
    Biased downwards by smoothing C over the bandwidth and upwards by its noise. The mirrors flatten
    C at 0 and 1, which is a further error if predictions crowd there. A bandwidth below the step of
    the grid is raised to it, and the deviation of all p is used if no y is 1; the authors' code has
    no value there. Theirs also repeats the last integrand where no density is left; here it is 0.
    The values are at most 1e-6 apart, more only if all densities end at once. Diagnostic:
    bandwidth. O(n + 2^14).

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
                f"bandwidth is {self.bandwidth!r}; "
                "a positive number of at most 1 is needed, or null for the rule."
            )

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        rule = float(np.std(p[y == 1] if y.any() else p)) * (2 * len(p)) ** -0.2
        width = max(self.bandwidth or rule, STEP)
        inside = (GRID > 0.0) & (GRID < 1.0)
        x = GRID[inside]
        density, density_of_ones = (mass(q, width)[inside] / len(p) for q in (p, p[y == 1]))
        seen = np.maximum(density, density_of_ones / max(y.mean(), 1 / len(p))) > NOTHING
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


def mass(p: np.ndarray, width: float) -> np.ndarray:
    """Return len(p) times the mirrored kernel density of p on GRID; only [0, 1] is valid."""
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
