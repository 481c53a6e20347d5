"""Perturbation of scores by a truncated hyperbolic secant (ciosek2026).

Given the original score s0, the perturbed score S has on [0, 1] the density

    k(s | s0) = sech((s - s0) / h) / Z(s0),    Z(s0) = h [gd(s0 / h) + gd((1 - s0) / h)],    gd(x) = 2 atan(tanh(x / 2)).

Whatever the law of s0 and eta0(s0) = E[Y | s0], the perturbed score has a density, and eta(s) = E[Y | S = s] is smooth with
constants that are known before any data are seen: `slope_bound` and `curvature_bound`. Z depends on s0 alone. It reweights the
law of s0 and does not enter these constants, so that they hold up to 0 and 1. The total variation of eta is at most that of eta0
(sech is totally positive), and the calibration error grows by at most E|S - s0| <= `shift_bound`.

Scores are arrays of any shape, in [0, 1]; h > 0 is one number in the same unit. BadInputError otherwise.
"""

from __future__ import annotations

import numbers
from math import frexp
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError
from harness.math.notions import numeric

CATALAN = 0.915965594177219015
Floats: TypeAlias = NDArray[np.float64]
BLOCK = (
    1 << 14
)  # scores at a time: intermediate arrays stay in the processor's cache, and small where n = 10^7

WIDTHS = tuple(
    2.0**-j for j in range(2, 9)
)  # of the perturbed families of problems, and of training that knows of it


def perturb(p: ArrayLike, h: float, rng: np.random.Generator) -> Floats:
    """Add truncated hyperbolic secant noise to scores, which makes E[Y given the score] smooth with known constants.

        density of s given p:   sech((s - p) / h) / Z(p) on [0, 1]

    Labels stay as they are. Bounds that rest on the perturbation, such as `nw_jensen` and `lip_bkt`, are told h.

    Parameters
    ----------
    p : array (n,)
        Scores in [0, 1]: P(Y = 1), or confidences. Predictions of several classes are reduced first, as by
        harness.reduce(p, y, "top_label").
    h : float
        Bandwidth of the noise, positive, in units of probability. A score moves by at most 1.17 h on average.
    rng : numpy Generator

    Returns
    -------
    array (n,) of float64
        Perturbed scores in [0, 1], independent given p.

    Raises
    ------
    BadInputError
        If p does not hold one number in [0, 1] per row, h is not positive, or rng is no Generator.

    Notes
    -----
    With the perturbed scores |d eta / ds| <= 1 / (2 h) and |d^2 eta / ds^2| <= 1 / (2 h^2), whatever the model. The calibration
    error of the perturbed scores exceeds the original one by at most 1.17 h. Cost: O(n).

    References
    ----------
    ciosek2026, Key Design 2.

    Examples
    --------
    >>> import numpy as np
    >>> s = perturb(np.full(10_000, 0.9), 1 / 64, np.random.default_rng(0))
    >>> round(float(s.mean()), 2), round(64 * float(np.abs(s - 0.9).mean()), 1)
    (0.9, 1.2)
    """
    p = _scores("p", p)
    if p.ndim != 1:
        raise BadInputError(
            f"p has shape {p.shape}; one score per row, shape (n,), is needed (harness.reduce makes them)."
        )
    if not isinstance(rng, np.random.Generator):
        raise BadInputError(
            f"rng is {rng!r}; a numpy Generator is needed, such as numpy.random.default_rng(0)."
        )
    return perturbed(p, rng.random(len(p)), h)


def perturbed(s0: ArrayLike, u: ArrayLike, h: float) -> Floats:
    """The s with cdf(s, s0, h) = u: an exact draw where u is uniform. Differentiable in s0 at fixed u (`path_derivative`).

    s = s0 + h gd^-1(u (gd(s0 / h) + gd((1 - s0) / h)) - gd(s0 / h)), clipped to [0, 1], which it leaves by rounding only.
    """
    s0, u = np.broadcast_arrays(_scores("s0", s0), _scores("u", u))
    h = checked_h(h)
    out = np.empty(s0.shape)
    flat, s0, u = out.ravel(), s0.ravel(), u.ravel()  # of a new array: a view
    for start in range(0, len(flat), BLOCK):
        rows = slice(start, start + BLOCK)
        left = gudermann(s0[rows] / h)
        total = left + gudermann((1.0 - s0[rows]) / h)
        moved = s0[rows] + 2.0 * h * np.arctanh(np.tan((u[rows] * total - left) / 2.0))
        flat[rows] = np.clip(moved, 0.0, 1.0)
    return out[()]


def cdf(s: ArrayLike, s0: ArrayLike, h: float) -> Floats:
    """P(S <= s given s0) = [gd((s - s0) / h) + gd(s0 / h)] / [gd(s0 / h) + gd((1 - s0) / h)]."""
    s, s0, h = _scores("s", s), _scores("s0", s0), checked_h(h)
    left, right = gudermann(s0 / h), gudermann((1.0 - s0) / h)
    return np.clip((gudermann((s - s0) / h) + left) / (left + right), 0.0, 1.0)


def normaliser(s0: ArrayLike, h: float) -> Floats:
    """Z(s0), the integral of sech((s - s0) / h) over s in [0, 1]; concave in s0, least at 0 and 1."""
    s0, h = _scores("s0", s0), checked_h(h)
    return h * (gudermann(s0 / h) + gudermann((1.0 - s0) / h))


def path_derivative(s: ArrayLike, s0: ArrayLike, u: ArrayLike, h: float) -> Floats:
    """ds / ds0 at fixed u, for s = perturbed(s0, u, h): by it a training loss of perturbed scores is differentiated.

        1 - cosh((s - s0) / h) [(1 - u) sech(s0 / h) + u sech((1 - s0) / h)]

    The products are taken in logarithms: each is at most about 1, though cosh alone may overflow.
    """
    s, s0, u, h = _scores("s", s), _scores("s0", s0), _scores("u", u), checked_h(h)
    moved = _log_cosh((s - s0) / h)
    with np.errstate(divide="ignore"):  # u = 0 and u = 1: that end has no part
        below = np.log1p(-u) - _log_cosh(s0 / h)
        above = np.log(u) - _log_cosh((1.0 - s0) / h)
    return 1.0 - np.exp(moved + below) - np.exp(moved + above)


def slope_bound(h: float) -> float:
    """sup |eta'| <= 1 / (2 h) (ciosek2026): h eta' = -Cov(eta0, T) under the law of s0 given s, T = tanh((s - s0) / h), and two
    variables in [0, 1] and [-1, 1] have standard deviations of at most 1/2 and 1. Approached by scores far away on either side,
    half of the weight each, with outcomes 0 and 1."""
    return 0.5 / checked_h(h)


def curvature_bound(h: float, constant: str = "sharp") -> float:
    """sup |eta''| <= 1 / (2 h^2), "sharp"; "paper": 3 / (2 h^2), the constant of ciosek2026.

    h^2 eta'' = 2 Cov(eta0, X) with X = T^2 - T E T, T as in `slope_bound`; E X (X - 1) = E (T - E T)^2 (T^2 - 1) <= 0, so
    Var X <= E (X - 1/2)^2 <= 1/4, and |h^2 eta''| <= 2 (1/2)(1/2). Approached by half of the weight at s, outcome 0, and a
    quarter far away on either side, outcome 1.
    """
    if constant not in ("sharp", "paper"):
        raise BadInputError(f"constant is {constant!r}; allowed are sharp, paper.")
    return (0.5 if constant == "sharp" else 1.5) / checked_h(h) / h


def shift_bound(h: float) -> float:
    """E|S - s0| <= (4 G / pi) h = 1.1662 h for every s0, G Catalan's constant.

    On either side of s0 the density of |S - s0| is sech, cut at the end of [0, 1]. Its mean grows with the cut, up to 2 G / (pi /
    2) in units of h, and E|S - s0| is a mixture of the two sides. Hence the calibration error of the perturbed score exceeds the
    original one by at most that. A calibrated model whose scores are all 0 or 1 comes close to it.
    """
    return float(4.0 * CATALAN / np.pi * checked_h(h))


def mean_shift(s0: ArrayLike, h: float) -> Floats:
    """E[|S - s0| given s0], of the shape of s0, to about 1e-14.

    h [M(s0 / h) + M((1 - s0) / h)] / [gd(s0 / h) + gd((1 - s0) / h)],   M(a) the integral of x sech x from 0 to a
    """
    s0, h = _scores("s0", s0), checked_h(h)
    left, right = s0 / h, (1.0 - s0) / h
    return h * (_x_sech(left) + _x_sech(right)) / (gudermann(left) + gudermann(right))


def gudermann(x: ArrayLike) -> Floats:
    """gd(x) = 2 atan(tanh(x / 2)), the integral of sech from 0 to x; within (-pi / 2, pi / 2)."""
    return 2.0 * np.arctan(np.tanh(np.asarray(x) / 2.0))


def checked_h(h: Any) -> float:
    """h as a float; BadInputError unless it is a positive finite number (above 1e-307, so that s / h is finite)."""
    if not isinstance(h, numbers.Real) or isinstance(h, bool) or not 1e-307 < float(h) < np.inf:
        raise BadInputError(
            f"h is {h!r}; a positive number, the width of the perturbation, is needed."
        )
    return float(h)


def _scores(name: str, values: ArrayLike) -> Floats:
    scores: Floats = numeric(name, values).astype(np.float64, copy=False)
    if scores.size and not (scores.min() >= 0.0 and scores.max() <= 1.0):  # also false for NaN
        wrong = scores[~((scores >= 0.0) & (scores <= 1.0))]
        raise BadInputError(
            f"{name} holds {wrong[0]:.6g} ({len(wrong)} such values); values must lie in [0, 1]."
        )
    return scores


def _log_cosh(x: Floats) -> Floats:
    """log(2 cosh x); the 2 cancels in ratios."""
    x = np.abs(x)
    return x + np.log1p(np.exp(-2.0 * x))


def _x_sech(a: ArrayLike) -> Floats:
    """M(a), the integral of x sech x from 0 to a >= 0. Below 2 Gauss-Legendre; above 2 G less the integral from a, the series
    2 sum_k (-1)^k exp(-m a) (a / m + 1 / m^2), m = 2 k + 1, whose eleventh term is below 1e-19."""
    a = np.asarray(a, dtype=np.float64)
    nodes, weights = np.polynomial.legendre.leggauss(30)
    near = np.minimum(a, 2.0)[..., None] * (nodes + 1.0) / 2.0
    below = np.minimum(a, 2.0) / 2.0 * ((near / np.cosh(near)) @ weights)
    far, tail = np.maximum(a, 2.0), 0.0
    for k in range(11):
        m = 2 * k + 1
        tail = tail + (-1) ** k * 2.0 * np.exp(-m * far) * (far / m + 1.0 / m**2)
    return np.where(a < 2.0, below, 2.0 * CATALAN - tail)


def width_name(h: float) -> str:
    """0.015625 -> 'h2^-6', 0.02 -> 'h0.02'."""
    mantissa, exponent = frexp(h)
    return f"h2^{exponent - 1}" if mantissa == 0.5 else f"h{h:g}"


def width_of(name: str) -> float:
    """The width that `width_name` named.

    >>> width_of("h2^-6"), width_of("h0.02")
    (0.015625, 0.02)
    """
    base, _, exponent = name.removeprefix("h").partition("^")
    return float(float(base) ** float(exponent or 1))
