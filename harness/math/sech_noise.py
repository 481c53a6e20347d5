"""Perturb scores by truncated hyperbolic secant noise (ciosek2026).

Given the original score s0, the perturbed score S has the following density on [0, 1]. h is the
width of the noise and gd the Gudermann function:

    k(s | s0) = sech((s - s0) / h) / Z(s0)
    Z(s0) = h [gd(s0 / h) + gd((1 - s0) / h)],    gd(x) = 2 atan(tanh(x / 2))

Let eta0(s0) = E[Y | s0] and eta(s) = E[Y | S = s]. For any distribution of s0 and any eta0:

* S has a density, and eta is smooth.
* `slope_bound` and `curvature_bound` bound the derivatives of eta on all of [0, 1], before any data
  are seen.
* The total variation of eta is at most the total variation of eta0 (sech is totally positive).
* The calibration error grows by at most E|S - s0|, which `shift_bound` bounds.

Z depends on s0 alone, so it changes the weights of the scores s0 but not the bounds.

Scores are arrays of any shape with values in [0, 1]. h > 0 is a single number in the same unit.
Anything else raises BadInputError.
"""

from __future__ import annotations

import numbers
from math import frexp
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.math.notions import numeric

CATALAN = 0.915965594177219015  # Catalan's constant G
Floats: TypeAlias = NDArray[np.float64]
BLOCK = 1 << 14  # number of scores at a time; intermediate arrays stay small for n = 10^7
# Widths h of the perturbed problems, and of the networks that are trained with perturbed scores.
WIDTHS = tuple(2.0**-j for j in range(2, 9))


def perturb(p: ArrayLike, h: float, rng: np.random.Generator) -> Floats:
    """Add truncated hyperbolic secant noise to scores, which makes E[Y given the score] smooth.

    The perturbed score s of a score p has the following density on [0, 1], with normaliser Z(p):

        sech((s - p) / h) / Z(p)

    Labels stay as they are. Bounds that rest on the perturbation, such as `nw_jensen` and
    `lip_bkt`, need to know h.

    Parameters
    ----------
    p : array (n,)
        Scores in [0, 1]: P(Y = 1), or confidences. Reduce predictions of several classes first, for
        example by harness.reduce(p, y, "top_label").
    h : float
        Width of the noise, positive, in units of probability. A score moves by at most 1.17 h on
        average.
    rng : numpy Generator
        Source of the noise.

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
    Let eta(s) = E[Y given the perturbed score s]. For any model,

        |d eta / ds| <= 1 / (2 h)    and    |d^2 eta / ds^2| <= 1 / (2 h^2).

    The calibration error of the perturbed scores exceeds the original error by at most 1.17 h.
    Cost: O(n).

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
    p = check_scores("p", p)
    if p.ndim != 1:
        raise BadInputError(
            f"p has shape {p.shape}; one score per row, shape (n,), is needed. Call harness.reduce "
            "first."
        )
    if not isinstance(rng, np.random.Generator):
        raise BadInputError(
            f"rng is {rng!r}; a numpy Generator is needed, such as numpy.random.default_rng(0)."
        )
    return perturbed(p, rng.random(len(p)), h)


def perturbed(s0: ArrayLike, u: ArrayLike, h: float) -> Floats:
    """Return perturbed scores s with P(S <= s given s0) = u, for scores s0 and probabilities u.

    If u is uniform, s is an exact draw. At fixed u it is differentiable in s0 (`path_derivative`).
    With gd the Gudermann function,

        s = s0 + h gd^-1(u (gd(s0 / h) + gd((1 - s0) / h)) - gd(s0 / h))

    The result is clipped to [0, 1], which matters only for rounding errors.
    """
    s0, u = np.broadcast_arrays(check_scores("s0", s0), check_scores("u", u))
    h = checked_h(h)
    out = np.empty(s0.shape)
    flat, s0, u = out.ravel(), s0.ravel(), u.ravel()  # `flat` is a view of `out`
    for start in range(0, len(flat), BLOCK):
        rows = slice(start, start + BLOCK)
        left = gudermann(s0[rows] / h)
        total = left + gudermann((1.0 - s0[rows]) / h)
        moved = s0[rows] + 2.0 * h * np.arctanh(np.tan((u[rows] * total - left) / 2.0))
        flat[rows] = np.clip(moved, 0.0, 1.0)
    return out[()]


def cdf(s: ArrayLike, s0: ArrayLike, h: float) -> Floats:
    """Return P(S <= s given s0), the distribution function of the perturbed score.

    With gd the Gudermann function and h the width of the noise, it is

        [gd((s - s0) / h) + gd(s0 / h)] / [gd(s0 / h) + gd((1 - s0) / h)]
    """
    s, s0, h = check_scores("s", s), check_scores("s0", s0), checked_h(h)
    left, right = gudermann(s0 / h), gudermann((1.0 - s0) / h)
    return np.clip((gudermann((s - s0) / h) + left) / (left + right), 0.0, 1.0)


def normaliser(s0: ArrayLike, h: float) -> Floats:
    """Return the normaliser Z(s0) of the density of the perturbed score.

    Z(s0) is the integral of sech((s - s0) / h) over s in [0, 1]. It is concave in s0 and smallest
    at s0 = 0 and s0 = 1.
    """
    s0, h = check_scores("s0", s0), checked_h(h)
    return h * (gudermann(s0 / h) + gudermann((1.0 - s0) / h))


def path_derivative(s: ArrayLike, s0: ArrayLike, u: ArrayLike, h: float) -> Floats:
    """Return the derivative ds / ds0 at fixed u of s = perturbed(s0, u, h).

        1 - cosh((s - s0) / h) [(1 - u) sech(s0 / h) + u sech((1 - s0) / h)]

    Training with perturbed scores needs this derivative. Products are computed in logarithms: cosh
    alone may overflow, although each product is at most about 1.
    """
    s, s0, u, h = check_scores("s", s), check_scores("s0", s0), check_scores("u", u), checked_h(h)
    moved = _log_cosh((s - s0) / h)
    with np.errstate(divide="ignore"):  # at u = 0 and u = 1 one of the terms vanishes
        below = np.log1p(-u) - _log_cosh(s0 / h)
        above = np.log(u) - _log_cosh((1.0 - s0) / h)
    return 1.0 - np.exp(moved + below) - np.exp(moved + above)


def slope_bound(h: float) -> float:
    """Return 1 / (2 h), an upper bound of sup |eta'| (ciosek2026).

    eta(s) = E[Y given the perturbed score s], and eta0 is the same for the original score s0. With
    T = tanh((s - s0) / h),

        h eta' = -Cov(eta0, T) under the distribution of s0 given s.

    eta0 lies in [0, 1] and T in [-1, 1], so their standard deviations are at most 1/2 and 1. The
    bound is nearly reached by original scores far below and far above s, with half of the weight
    each and outcomes 0 and 1.
    """
    return 0.5 / checked_h(h)


def curvature_bound(h: float, constant: str = "sharp") -> float:
    """Return an upper bound of sup |eta''| for eta(s) = E[Y given the perturbed score s].

    The bound is 1 / (2 h^2) with constant "sharp", and 3 / (2 h^2) with constant "paper"
    (ciosek2026).

    Derivation of the sharp constant, with T = tanh((s - s0) / h) and moments of s0 given s:

        h^2 eta'' = 2 Cov(eta0, X),   X = T^2 - T E T
        E X (X - 1) = E (T - E T)^2 (T^2 - 1) <= 0,   hence Var X <= E (X - 1/2)^2 <= 1/4
        |h^2 eta''| <= 2 (1/2) (1/2)

    The bound is nearly reached by these original scores: half of them equal s and have outcome 0. A
    quarter lies far below s, a quarter far above, and these have outcome 1.
    """
    if constant not in ("sharp", "paper"):
        raise BadInputError(f"constant is {constant!r}; allowed are sharp, paper.")
    return (0.5 if constant == "sharp" else 1.5) / checked_h(h) / h


def shift_bound(h: float) -> float:
    """Return (4 G / pi) h = 1.1662 h, an upper bound of E|S - s0| for every original score s0.

    G is Catalan's constant. The calibration error of the perturbed score S exceeds the original
    error by at most this bound. A calibrated model whose scores are all 0 or 1 comes close to it.

    On either side of s0, the density of |S - s0| is sech, truncated at the end of [0, 1]. Its mean
    grows with the point of truncation, up to 2 G / (pi / 2) in units of h. E|S - s0| is a weighted
    mean of both sides.
    """
    return float(4.0 * CATALAN / np.pi * checked_h(h))


def mean_shift(s0: ArrayLike, h: float) -> Floats:
    """Return E[|S - s0| given s0], the mean shift of a perturbed score S, to about 1e-14.

    The result has the shape of s0. With gd the Gudermann function and M(a) the integral of x sech x
    from 0 to a,

        h [M(s0 / h) + M((1 - s0) / h)] / [gd(s0 / h) + gd((1 - s0) / h)]
    """
    s0, h = check_scores("s0", s0), checked_h(h)
    left, right = s0 / h, (1.0 - s0) / h
    return h * (_x_sech(left) + _x_sech(right)) / (gudermann(left) + gudermann(right))


def gudermann(x: ArrayLike) -> Floats:
    """Return the Gudermann function 2 atan(tanh(x / 2)), the integral of sech from 0 to x."""
    return 2.0 * np.arctan(np.tanh(np.asarray(x) / 2.0))


def checked_h(h: Any) -> float:
    """Return the noise width h as a float; BadInputError unless it is a positive finite number.

    h must exceed 1e-307, so that s / h is finite.
    """
    if not isinstance(h, numbers.Real) or isinstance(h, bool) or not 1e-307 < float(h) < np.inf:
        raise BadInputError(
            f"h is {h!r}; a positive number, the width of the perturbation, is needed."
        )
    return float(h)


def check_scores(name: str, values: ArrayLike) -> Floats:
    """Return `values` as float64; BadInputError unless all lie in [0, 1].

    `name` is the name of the argument in the message.
    """
    scores: Floats = numeric(name, values).astype(np.float64, copy=False)
    if scores.size and not (scores.min() >= 0.0 and scores.max() <= 1.0):  # also false for NaN
        wrong = scores[~((scores >= 0.0) & (scores <= 1.0))]
        count = format_count(len(wrong), "such value")
        raise BadInputError(f"{name} holds {wrong[0]:.6g} ({count}); values must lie in [0, 1].")
    return scores


def _log_cosh(x: Floats) -> Floats:
    """Return log(2 cosh x). The factor 2 cancels in ratios."""
    x = np.abs(x)
    return x + np.log1p(np.exp(-2.0 * x))


def _x_sech(a: ArrayLike) -> Floats:
    """Return the integral of x sech x from 0 to a, for a >= 0.

    Up to a = 2 it uses Gauss-Legendre quadrature. Beyond, it subtracts the integral from a to
    infinity from the integral over all x > 0, which is 2 G with Catalan's constant G. With m = 2 k
    + 1, the subtracted integral is the series

        2 sum_k (-1)^k exp(-m a) (a / m + 1 / m^2),

    whose term for k = 11 is below 1e-19.
    """
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
    """Return the name of a noise width: 0.015625 -> 'h2^-6', 0.02 -> 'h0.02'."""
    mantissa, exponent = frexp(h)
    return f"h2^{exponent - 1}" if mantissa == 0.5 else f"h{h:g}"


def parse_width(name: str) -> float:
    """Return the noise width that has the given name (the inverse of `width_name`).

    >>> parse_width("h2^-6"), parse_width("h0.02")
    (0.015625, 0.02)
    """
    base, _, exponent = name.removeprefix("h").partition("^")
    return float(float(base) ** float(exponent or 1))
