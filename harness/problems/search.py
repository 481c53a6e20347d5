"""Roots and maxima of functions of one number, which truths by quadrature need."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq, minimize_scalar

Curve: TypeAlias = Callable[[np.ndarray], np.ndarray]


def crossings(
    function: Curve, grid: np.ndarray, xtol: float = 2e-12, smallest: float = 0.0
) -> list[float]:
    """Find a root in every interval of the grid in which the function changes sign.

    Parameters
    ----------
    function : callable
        Maps (m,) to (m,).
    grid : array (m,)
        Ascending points.
    xtol : float
        Absolute error of the roots.
    smallest : float
        Skip an interval if |function| is at most this at both of its ends: the sign is rounding.

    Returns
    -------
    list of float
        The roots in ascending order, without grid points that are exact roots.

    Examples
    --------
    >>> [round(root, 9) for root in crossings(np.cos, np.linspace(0.0, 6.0, 7))]
    [1.570796327, 4.71238898]
    """
    values = function(grid)
    size = np.maximum(np.abs(values[:-1]), np.abs(values[1:]))
    intervals = np.flatnonzero((values[:-1] * values[1:] < 0.0) & (size > smallest))
    return [
        brentq(lambda t: function(np.array([t]))[0], grid[i], grid[i + 1], xtol=xtol)
        for i in intervals
    ]


def minimum(function: Curve, low: float, high: float) -> float:
    """Return the minimum of a smooth function (m,) -> (m,) between two numbers."""
    return float(
        minimize_scalar(
            lambda t: function(np.array([t]))[0],
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-12},
        ).fun
    )


def maximum(function: Curve, grid: np.ndarray) -> float:
    """Return the maximum of a function (m,) -> (m,): the largest value on the grid, refined."""
    values = function(grid)
    i = int(values.argmax())
    low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    return max(float(values[i]), -minimum(lambda t: -function(t), low, high))
