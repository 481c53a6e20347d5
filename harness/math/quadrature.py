"""Integrate functions by Gauss-Legendre quadrature on panels, or at Sobol points.

Put an edge wherever the function is not smooth or changes its scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln

Array = NDArray[Any]


def gauss_legendre(edges: ArrayLike, order: int) -> tuple[Array, Array]:
    """Return nodes x and weights w of composite Gauss-Legendre quadrature.

    sum_i w_i u(x_i) approximates the integral of a function u from the first edge to the last. It
    is exact if u is a polynomial of degree 2 order - 1 on every panel.

    Parameters
    ----------
    edges : array_like, (m,)
        Ends of the m - 1 panels, ascending.
    order : int
        Number of nodes per panel.

    Returns
    -------
    x, w : numpy.ndarray, ((m - 1) order,)
        Nodes and weights, one panel after the other.

    Examples
    --------
    >>> x, w = gauss_legendre([0.0, 0.5, 1.0], 3)
    >>> round(float(w @ x**5), 12)
    0.166666666667
    """
    edges = np.asarray(edges, dtype=np.float64)
    x, w = np.polynomial.legendre.leggauss(order)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def halving(width: float, levels: int) -> Array:
    """Return distances from a singular end: width, width / 2, ..., width / 2^(levels - 1).

    Examples
    --------
    >>> halving(1.0, 3)
    array([1.  , 0.5 , 0.25])
    """
    return width * 0.5 ** np.arange(levels, dtype=np.float64)


def unit_edges(*splits: ArrayLike, levels: int = 40) -> Array:
    """Return panel edges that span [0, 1] and become finer towards both ends.

    The edges are `splits` and the points 2^-i and 1 - 2^-i for i = 1, ..., levels. Halving resolves
    logarithms, which are not smooth at 0 and 1.

    Examples
    --------
    >>> unit_edges([0.0, 0.3, 1.0], levels=2)
    array([0.  , 0.25, 0.3 , 0.5 , 0.75, 1.  ])
    """
    ends = halving(0.5, levels)
    return np.unique(np.concatenate([*map(np.asarray, splits), ends, 1.0 - ends]))


def growing(width: float, dense: float, end: float) -> Array:
    """Return panel edges from 0 to at least `end`.

    Panels are at most `width` wide up to `dense`. Each later panel is 1.5 times as wide as the
    panel before it.

    Examples
    --------
    >>> growing(1.0, 2.0, 5.0)
    array([0.  , 1.  , 2.  , 3.5 , 5.75])
    """
    edges = list(np.linspace(0.0, min(dense, end), int(np.ceil(min(dense, end) / width)) + 1))
    while edges[-1] < end:
        width *= 1.5
        edges.append(edges[-1] + width)
    return np.array(edges)


def beta_law(edges: ArrayLike, a: float, b: float, order: int) -> tuple[Array, Array, Array]:
    """Return nodes p, their complements 1 - p and weights w for a Beta(a, b) distribution.

    sum_i w_i u(p_i) is the part of E u(p) between the edges. Edges are angles t in [0, pi / 2] with
    p = sin^2 t. Both p and 1 - p have full relative accuracy. The density of t is

        2 sin(t)^(2 a - 1) cos(t)^(2 b - 1) / B(a, b),

    with B the beta function. It is constant for a = b = 1/2. If a < 1/2, the edges must approach 0
    in powers of 1/2. If b < 1/2, they must approach pi / 2 in this way.

    Examples
    --------
    >>> p, rest, w = beta_law([0.0, 0.7, 1.5707963267948966], 1.5, 2.0, 12)
    >>> round(float(w @ p), 9)  # a / (a + b)
    0.428571429
    """
    t, weights = gauss_legendre(edges, order)
    sin, cos = np.sin(t), np.cos(t)
    density = 2.0 * np.exp((2 * a - 1) * np.log(sin) + (2 * b - 1) * np.log(cos) - betaln(a, b))
    return sin**2, cos**2, weights * density


def sobol_points(k: int, log2_points: int, r: int) -> Array:
    """Return scrambled Sobol points of set number r in [0, 1]^k, (2^log2_points, k)."""
    from scipy.stats.qmc import Sobol  # slow to import

    sobol = Sobol(k, scramble=True, rng=np.random.default_rng([r, k]))
    points: Array = sobol.random_base2(log2_points)
    return points
