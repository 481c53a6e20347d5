"""Find roots and extrema of functions of a single number, for truths by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq, minimize_scalar

Curve: TypeAlias = Callable[[np.ndarray], np.ndarray]


def crossings(
    function: Curve, grid: np.ndarray, xtol: float = 2e-12, smallest: float = 0.0
) -> list[float]:
    """Return one root for every interval of a grid in which a function changes sign.

    Parameters
    ----------
    function : callable
        Function from (m,) to (m,).
    grid : array (m,)
        Ascending points.
    xtol : float
        Absolute error of the roots.
    smallest : float
        Skip an interval if |function| is at most this at both ends, because the sign is then
        rounding.

    Returns
    -------
    list of float
        Roots in ascending order. Grid points that are exact roots are not included.

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
    """Return the smallest value of a smooth function from (m,) to (m,) between `low` and `high`."""
    return float(
        minimize_scalar(
            lambda t: function(np.array([t]))[0],
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-12},
        ).fun
    )


def maximum(function: Curve, grid: np.ndarray) -> float:
    """Return the largest value of a function from (m,) to (m,) on the range of a grid.

    The maximum on the grid is refined between the neighbouring grid points.
    """
    values = function(grid)
    i = int(values.argmax())
    low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    return max(float(values[i]), -minimum(lambda t: -function(t), low, high))
