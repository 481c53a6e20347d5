"""Smooth calibration error: the residual smoothed over predictions, with an adaptive bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import dct
from scipy.optimize import brentq

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked

COARSEST, FINEST = 2**12, 2**18  # number of intervals of the grid
STEPS = 128  # smallest number of grid steps per bandwidth
VANISHES = 39.0  # exp(-39^2 / 2) is 0 in double precision


@dataclass(frozen=True)
class SmoothECE:
    """L1 norm of the kernel-smoothed residual, smECE.

        smooth_ece_sigma = int_0^1 |1/n sum_i (y_i - p_i) K_sigma(t, p_i)| dt
        smooth_ece = the sigma at which smooth_ece_sigma = sigma

    with K_sigma the Gaussian kernel of standard deviation sigma reflected at 0 and 1.

    Parameters
    ----------
    sigma : float, optional
        A fixed bandwidth instead of the fixed point, which is unique: smooth_ece_sigma falls in
        sigma.

    Notes
    -----
    Estimand: its own, `smooth_ece`, between multiples of the distance to the nearest calibrated
    predictor and of the root of that distance; never above l1. Biased upwards near calibration by
    the noise of the smoothed residual, the more the smaller sigma is. The reflected kernel is the
    heat kernel of [0, 1], so that smoothing multiplies the m-th cosine coefficient by exp(-(pi m
    sigma)^2 / 2). p is split between the neighbours on a grid of step h <= sigma / 128 (down to
    2^-18), which changes a value by at most h^2 / (8 sigma^2) times the mean of |y - p|, below
    1e-5; the trapezoidal rule of the integral adds as little. O(n + g log g) for each of about ten
    bandwidths, g = 1/h. The diagnostics are bandwidth and grid.

    References
    ----------
    Blasiok and Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing,
    arXiv 2309.12236 (the published algorithm, relplot 1.0.3, halves an interval of sigma ten times,
    and so is off by up to 0.001).

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
                f"sigma is {self.sigma!r}; a positive number is needed, or null for the fixed "
                "point."
            )

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the smooth error of predictions p (n,) for outcomes y (n,)."""
        p, y = checked(p, y)
        grid = COARSEST
        while True:
            spectrum = _cosines(p, (y - p) / len(p), grid)
            sigma = _fixed_point(spectrum) if self.sigma is None else self.sigma
            needed = 2 ** int(np.ceil(np.log2(STEPS / max(sigma, STEPS / FINEST))))
            if needed <= grid or sigma == 0.0:
                break
            grid = needed
        value = _smoothed(spectrum, sigma)
        return {"smooth_ece": Estimate(value, diagnostics={"bandwidth": sigma, "grid": grid})}


def _cosines(p: np.ndarray, residual: np.ndarray, grid: int) -> np.ndarray:
    """Return sum_i residual_i cos(pi m p_i) for m = 0 to grid.

    p_i is split linearly between the points 0, 1/grid, ..., 1.
    """
    left = np.minimum((p * grid).astype(np.int64), grid - 1)
    share = p * grid - left
    mass: np.ndarray = np.bincount(left, residual * (1.0 - share), grid + 1) + np.bincount(
        left + 1, residual * share, grid + 1
    )
    mass[1:-1] /= 2.0  # the transform doubles the inner points
    return dct(mass, type=1)


def _smoothed(spectrum: np.ndarray, sigma: float) -> float:
    """Return the L1 norm over [0, 1] of the residual smoothed with bandwidth sigma."""
    # The factors of all higher coefficients are 0.
    low = spectrum if sigma == 0.0 else spectrum[: int(VANISHES / (np.pi * sigma)) + 1]
    smooth = np.zeros(len(spectrum))
    smooth[: len(low)] = low * np.exp(-0.5 * (np.pi * sigma * np.arange(len(low))) ** 2)
    density = np.abs(dct(smooth, type=1))
    return float((density.sum() - (density[0] + density[-1]) / 2.0) / (len(spectrum) - 1))


def _fixed_point(spectrum: np.ndarray) -> float:
    """Return the sigma at which the smoothed norm equals sigma."""
    whole = _smoothed(spectrum, 0.0)
    if whole == 0.0:
        return 0.0
    largest = min(1.001, whole + 1e-9)  # the norm falls in sigma up to rounding, and is at most 1

    def excess(sigma: float) -> float:
        return (_smoothed(spectrum, sigma) if sigma else whole) - sigma

    return float(brentq(excess, 0.0, largest, xtol=1e-12))
