"""Smooth calibration error: the norm of the smoothed residual, with an adaptive bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import dct
from scipy.optimize import brentq

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked_scalars

COARSEST, FINEST = 2**12, 2**18  # number of intervals of the grid
STEPS = 128  # smallest number of grid steps per bandwidth
VANISHES = 39.0  # exp(-x^2 / 2) is 0 in double precision for x of at least this number


@dataclass(frozen=True)
class SmoothECE:
    """Smooth calibration error (smECE): the L1 norm of the kernel-smoothed residual.

        s(sigma)   = int_0^1 |1/n sum_i (y_i - p_i) K_sigma(t, p_i)| dt
        smooth_ece = the number sigma with s(sigma) = sigma

    p_i is one of n predictions and y_i its outcome. K_sigma is the Gaussian kernel of standard
    deviation sigma, reflected at 0 and 1. The solution is unique, because s is decreasing.

    Parameters
    ----------
    sigma : float, optional
        A fixed bandwidth. The estimate is then s(sigma).

    Notes
    -----
    **Estimand.** With d the distance to the nearest calibrated predictor, smooth_ece lies between a
    multiple of d and a multiple of sqrt(d). It is never above l1.

    **Bias.** Near calibration, the noise of the smoothed residual is a bias upwards, which is
    larger for smaller sigma.

    **Computation.** The reflected kernel is the heat kernel of [0, 1]. So smoothing multiplies the
    m-th cosine coefficient by exp(-(pi m sigma)^2 / 2). Each p is divided linearly between its
    neighbours on a grid of step h <= sigma / 128, but at least 2^-18. This changes the value by at
    most h^2 / (8 sigma^2) times the mean of |y - p|, which is below 1e-5. The error of the integral
    is of the same size. Cost: O(n + g log g) for each of about ten bandwidths, with g = 1 / h.

    **Diagnostics.** `bandwidth`, which is sigma, and `grid`, which is 1 / h.

    References
    ----------
    Blasiok and Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing,
    arXiv 2309.12236. The published code, relplot 1.0.3, finds sigma by ten bisections, with an
    error of up to 0.001.

    Examples
    --------
    >>> round(SmoothECE()([0.2, 0.6], [1, 1])["smooth_ece"].value, 6)
    0.6
    """

    sigma: float | None = None

    notions = ("binary", "top_label", "classwise")
    estimands = ("smooth_ece",)
    determinism = "rounding"
    revision = 1
    null_bias = 0.05

    def __post_init__(self) -> None:
        if self.sigma is not None and not is_positive(self.sigma):
            raise BadInputError(
                f"sigma is {self.sigma!r}; give a positive number, or null for the adaptive "
                "bandwidth."
            )

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the smooth calibration error of predictions p (n,), for outcomes y (n,)."""
        p, y = checked_scalars(p, y)
        grid = COARSEST
        while True:
            spectrum = _cosines(p, (y - p) / len(p), grid)
            sigma = _fixed_point(spectrum) if self.sigma is None else self.sigma
            needed = 2 ** int(np.ceil(np.log2(STEPS / max(sigma, STEPS / FINEST))))
            if needed <= grid or sigma == 0.0:
                break
            grid = needed
        value = _smoothed_norm(spectrum, sigma)
        return {"smooth_ece": Estimate(value, diagnostics={"bandwidth": sigma, "grid": grid})}


def _cosines(p: np.ndarray, residual: np.ndarray, grid: int) -> np.ndarray:
    """Return the cosine coefficients sum_i residual_i cos(pi m p_i) for m = 0, ..., grid.

    Each p_i is divided linearly between its neighbours among 0, 1/grid, ..., 1.
    """
    left = np.minimum((p * grid).astype(np.int64), grid - 1)
    share = p * grid - left
    mass: np.ndarray = np.bincount(left, residual * (1.0 - share), grid + 1) + np.bincount(
        left + 1, residual * share, grid + 1
    )
    mass[1:-1] /= 2.0  # the transform doubles the inner points
    return dct(mass, type=1)


def _smoothed_norm(spectrum: np.ndarray, sigma: float) -> float:
    """Return the L1 norm over [0, 1] of the residual after smoothing with bandwidth sigma.

    `spectrum` holds the cosine coefficients of the residual.
    """
    # Smoothing multiplies all higher coefficients by 0.
    low = spectrum if sigma == 0.0 else spectrum[: int(VANISHES / (np.pi * sigma)) + 1]
    smooth = np.zeros(len(spectrum))
    smooth[: len(low)] = low * np.exp(-0.5 * (np.pi * sigma * np.arange(len(low))) ** 2)
    density = np.abs(dct(smooth, type=1))
    return float((density.sum() - (density[0] + density[-1]) / 2.0) / (len(spectrum) - 1))


def _fixed_point(spectrum: np.ndarray) -> float:
    """Return the sigma that equals the norm of the residual smoothed with bandwidth sigma."""
    whole = _smoothed_norm(spectrum, 0.0)
    if whole == 0.0:
        return 0.0
    # Up to rounding, the norm decreases with sigma and is at most 1.
    largest = min(1.001, whole + 1e-9)

    def excess(sigma: float) -> float:
        return (_smoothed_norm(spectrum, sigma) if sigma else whole) - sigma

    # A bandwidth below the spacing of the grid can raise the norm by about one percent.
    while excess(largest) > 0.0:
        largest *= 2.0
    return float(brentq(excess, 0.0, largest, xtol=1e-12))
