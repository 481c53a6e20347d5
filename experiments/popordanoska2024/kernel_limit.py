"""Limits of the kernel estimates as n grows, for tempered draws of Dir(1, 1), by quadrature."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import expit, gammaln, rel_entr

from harness.math.kernels import PREDICTION_FLOOR
from harness.math.quadrature import gauss_legendre


@lru_cache(maxsize=64)
def compute_limits(
    truth_power: float,
    prediction_power: float,
    bandwidth: float,
    panels: int = 600,
    reach: float = 22.0,
) -> dict[tuple[str, str], float]:
    """Return {(form, estimand): limit of `DirichletKernel` as n grows}, at a fixed bandwidth.

        direct:  E D_F(r_h(f), f)
        risk:    E D_F(r_h(f), f) - E <grad F(f), C - r_h(f)>
        r_h(g) = E[k_h(g; f) C] / E[k_h(g; f)]

    There are two classes. f is a random prediction, C = E[Y given f], and k_h the Dirichlet kernel
    with the bandwidth h. D_F is the Bregman divergence of F: the squared norm for l2_squared, the
    negative entropy for kl. The kernel regression tends to r_h, a smoothed version of C, so that
    the limit is not the calibration error. The squared error is the sum over both columns
    (1 - f, f), which is twice the error of one column.

    Parameters
    ----------
    truth_power, prediction_power : float
        Fields of the problem, a tempered draw of Dir(1, 1). Its log-odds before tempering have a
        logistic law.
    bandwidth : float
        h, positive.
    panels : int
        Number of panels into which the quadrature of order 4 divides the log-odds.
    reach : float
        The log-odds go from -reach to reach.

    References
    ----------
    popordanoska2024, equations (9) and (14).

    Examples
    --------
    >>> round(float(compute_limits(1.0, 2.0, 0.01)["direct", "kl"]), 6)
    0.058169
    """
    x, weights = gauss_legendre(np.linspace(-reach, reach, panels + 1), 4)
    weights = weights * expit(x) * expit(-x)
    c = expit(truth_power * x)
    g = np.clip(expit(prediction_power * x), PREDICTION_FLOOR, 1 - PREDICTION_FLOOR)
    r = np.empty_like(g)
    constant = -gammaln(g / bandwidth + 1) - gammaln((1 - g) / bandwidth + 1)
    for rows in np.array_split(np.arange(len(g)), max(1, len(g) ** 2 >> 20)):
        kernel = (
            np.log(g[rows, None]) * (g / bandwidth)
            + np.log1p(-g[rows, None]) * ((1 - g) / bandwidth)
            + constant
        )
        kernel = np.exp(kernel - kernel.max(axis=1, keepdims=True)) * weights
        r[rows] = kernel @ c / kernel.sum(axis=1)
    gradients = {"kl": np.log(g) - np.log1p(-g), "l2_squared": 2 * (2 * g - 1)}
    direct = {
        "kl": weights @ (rel_entr(r, g) + rel_entr(1 - r, 1 - g)),
        "l2_squared": weights @ (2 * (r - g) ** 2),
    }
    risk = {
        name: direct[name] - weights @ ((c - r) * gradient) for name, gradient in gradients.items()
    }
    forms = {"direct": direct, "risk": risk}
    return {(form, name): x for form, values in forms.items() for name, x in values.items()}
