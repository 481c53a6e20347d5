"""Group the centres of Beta kernels into intervals, and replace each interval by a few nodes.

`beta_sums` explains the method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.special import digamma, gammaln

from harness.math.near_pairs import log_normaliser

ORDER = 17  # number q of nodes per interval; odd, so that the middle of an interval is a node
WIDTH = 1.75  # width of an interval, in standard deviations of the kernel
# Near 0 and 1 the kernel differs from a Gaussian, so the first and last 3 intervals are cut into 4
# parts each.
EDGE_INTERVALS, EDGE_PARTS = 3, 4
ROUNDING = 2.0**-50  # bound of the relative rounding error of a sum
CHUNK = 1 << 13  # samples, or batches of 32 exponentials, at a time: they fit into the cache

NODES = np.cos(np.pi * (np.arange(ORDER) + 0.5) / ORDER)  # nodes for centres
# Maps moments sum_j w_j T_i(x_j) to weights of the nodes.
TO_NODES = np.linalg.inv(chebvander(NODES, ORDER - 1)).T
# Upper bound of the Lebesgue constants of both sets of nodes, 2 / pi log(q + 1) + 1.
LEBESGUE = 4.0


@dataclass(frozen=True)
class Centres:
    """Distinct centres of Beta kernels, sorted by position, with their weights.

    Parameters
    ----------
    t : ndarray of shape (n, 2)
        Columns 1 - t and t, where t is the position of a centre in [0, 1].
    weights : ndarray of shape (n, d, c)
        Nonnegative weights of d groups with c columns. Column 0 is the number of samples at the
        centre. The other columns are sums over these samples of values in [0, 1], for example of
        outcomes. d must be 1 if a centre is left out.
    """

    t: np.ndarray
    weights: np.ndarray

    def constants(self, b: float) -> np.ndarray:
        """Return the log normalising constants (n,) of the kernels with bandwidth `b`.

        The same function serves `kernels.all_pairs`, so the constants agree to the last bit.
        """
        return log_normaliser(self.t, b)


def distinct(t: np.ndarray, weights: np.ndarray) -> tuple[Centres, np.ndarray]:
    """Merge equal centres of t (n, 2) and add up their weights (n, d, c).

    Return the merged centres with the summed weights, and for each row of `t` the index of its
    merged centre.
    """
    _, first, index = np.unique(t[:, 1], return_index=True, return_inverse=True)
    if len(first) == len(t):
        order = np.argsort(t[:, 1], kind="stable")
        return Centres(t[order], weights[order]), index
    flat = weights.reshape(len(t), -1)
    total = np.column_stack([np.bincount(index, column) for column in flat.T])
    return Centres(t[first], total.reshape(len(first), *weights.shape[1:])), index


@dataclass(frozen=True)
class Intervals:
    """Intervals of centres, each represented by weighted nodes.

    There are k intervals with q nodes each, and n centres. The weights of a centre have d groups
    with c columns each; column 0 of a group counts samples. The exponent of a centre at a point
    theta0 is log normaliser + theta0 t / b, with t its position and b the bandwidth.

    Parameters
    ----------
    middle, half : ndarray of shape (k,)
        Middle of each interval and half of its width.
    tilt : ndarray of shape (k,)
        The point theta0 of each interval, at which the exponents of its centres are computed.
    top : ndarray of shape (k,)
        Largest exponent in each interval.
    mass : ndarray of shape (k, d)
        Sum over the centres of an interval of count times exp(`exponent`), for each group.
    nodes : ndarray of shape (k, q, d c)
        Weights of the nodes.
    number : ndarray of shape (n,)
        Index of the interval of each centre.
    x : ndarray of shape (n,)
        Position of each centre in its interval, from -1 to 1.
    exponent : ndarray of shape (n,)
        Exponent of each centre at theta0, minus `top` of its interval.
    """

    middle: np.ndarray
    half: np.ndarray
    tilt: np.ndarray
    top: np.ndarray
    mass: np.ndarray
    nodes: np.ndarray
    number: np.ndarray
    x: np.ndarray
    exponent: np.ndarray


def chebyshev(x: np.ndarray) -> np.ndarray:
    """Return the first ORDER Chebyshev polynomials at x (n,), shape (ORDER, n)."""
    polynomials = np.empty((ORDER, len(x)))
    polynomials[0], polynomials[1] = 1.0, x
    twice = 2.0 * x
    for i in range(2, ORDER):
        np.multiply(twice, polynomials[i - 1], out=polynomials[i])
        polynomials[i] -= polynomials[i - 2]
    return polynomials


def _edges(b: float, width: float) -> np.ndarray:
    """Return the edges in [0, 1] of intervals of centres, for bandwidth `b`.

    The edges are equally spaced in arcsin sqrt(t). On that scale the standard deviation of the
    kernel is sqrt(b) / 2 everywhere, and an interval is `width` standard deviations wide. Intervals
    next to 0 and 1 are finer.
    """
    count = int(np.ceil(np.pi / (width * np.sqrt(b))))
    edge = min(EDGE_INTERVALS, count)
    fine = np.arange(0, edge * EDGE_PARTS) / EDGE_PARTS
    positions = np.unique(np.concatenate([fine, np.arange(edge, count - edge + 1), count - fine]))
    return np.sin(positions * (np.pi / 2.0 / count)) ** 2


def group_centres(centres: Centres, constants: np.ndarray, b: float, width: float) -> Intervals:
    """Group sorted centres into intervals and compute the weights of their nodes.

    `constants` are the log normalising constants of the centres for bandwidth `b`. `width` is the
    width of an interval in standard deviations of the kernel.
    """
    t, n = centres.t[:, 1], len(centres.t)
    index = np.searchsorted(_edges(b, width)[1:-1], t, side="right")
    first = np.flatnonzero(np.diff(index, prepend=-1))
    last = np.append(first[1:], n)
    number = np.repeat(np.arange(len(first)), last - first)
    low, high = t[first], t[last - 1]
    middle, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-9 * b)
    tilt = digamma(middle / b + 1.0) - digamma((1.0 - middle) / b + 1.0)
    exponent = constants + tilt[number] * t / b
    top = np.maximum.reduceat(exponent, first)
    exponent -= top[number]
    x = (t - middle[number]) / half[number]
    d, c = centres.weights.shape[1:]
    flat = centres.weights.reshape(n, d * c)
    moments = np.zeros((len(first), ORDER, d * c))
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        series = chebyshev(x[start:stop])
        weights = np.exp(exponent[start:stop])[:, None] * flat[start:stop]
        for k in range(number[start], number[stop - 1] + 1):
            rows = slice(max(first[k], start) - start, min(last[k], stop) - start)
            moments[k] += series[:, rows] @ weights[rows]
    return Intervals(
        middle, half, tilt, top, moments[:, 0, ::c], TO_NODES @ moments, number, x, exponent
    )


def interpolation_bound(kappa: np.ndarray) -> np.ndarray:
    """Return a bound of the error of interpolating exp(kappa x) on [-1, 1] at q Chebyshev nodes.

    The bound is 4 sum_{i >= q} I_i(kappa) plus rounding, with I_i the modified Bessel functions. It
    uses

        I_i <= (kappa / 2)^i / i! exp(kappa^2 / (4 (i + 1)))
        I_{i+1} <= I_i kappa / (2 (i + 1))

    For kappa > q + 1 it returns a coarser bound that holds for any interpolation.
    """
    kappa = np.minimum(np.abs(kappa), 600.0)
    small = np.minimum(kappa, ORDER + 1.0)
    logs = ORDER * np.log(np.maximum(small, 1e-12) / 2.0) - gammaln(ORDER + 1.0)
    series = 8.0 * np.exp(logs + small * small / (4.0 * (ORDER + 1.0)))
    return np.where(
        kappa <= ORDER + 1.0, series, (1.0 + LEBESGUE) * np.exp(kappa)
    ) + ROUNDING * np.exp(kappa)
