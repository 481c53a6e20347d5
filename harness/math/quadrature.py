"""Composite Gauss-Legendre quadrature on panels between given edges.

Edges are placed where a function is not smooth, or changes its scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln

Array = NDArray[Any]


def gauss_legendre(edges: ArrayLike, order: int) -> tuple[Array, Array]:
    """Return nodes x and weights w of composite Gauss-Legendre quadrature.

    sum_i w_i u(x_i) is the integral of u from the first edge to the last, exact for polynomials of
    degree 2 order - 1 on every panel.

    Parameters
    ----------
    edges : array_like, (m,)
        Ends of the panels, ascending.
    order : int
        Nodes per panel.

    Returns
    -------
    x, w : numpy.ndarray, ((m - 1) order,)
        Panel after panel.

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
    """Return edges that span [0, 1]: the splits, and panels that halve towards both ends.

    Halving resolves logarithms, which are not smooth at 0 and 1.

    Examples
    --------
    >>> unit_edges([0.0, 0.3, 1.0], levels=2)
    array([0.  , 0.25, 0.3 , 0.5 , 0.75, 1.  ])
    """
    ends = halving(0.5, levels)
    return np.unique(np.concatenate([*map(np.asarray, splits), ends, 1.0 - ends]))


def growing(width: float, dense: float, end: float) -> Array:
    """Return edges from 0 to at least `end`.

    Panels are at most `width` wide up to `dense`; from there each is 1.5 times as wide as the one
    before.

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
    """Return nodes p, 1 - p and weights for expectations under p ~ Beta(a, b).

    sum_i w_i u(p_i) is the part of E u(p) between the edges. The edges are angles t in [0, pi / 2],
    p = sin^2 t. Both p and 1 - p have full relative accuracy. In t the law has the density

        2 sin(t)^(2 a - 1) cos(t)^(2 b - 1) / B(a, b),

    which is constant for a = b = 1/2. For smaller shapes the edges must approach the ends as powers
    of 1/2.

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
