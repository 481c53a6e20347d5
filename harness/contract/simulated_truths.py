"""Simulation of a calibration error of scores whose E[Y given score] is unknown.

The rows are cut into bins of equal mass, and into two halves. Let g_b be the mean of p - y in bin b
on one half, h_b that on the other half, and q_b the share of the rows in bin b.

    l1         = sum_b q_b sign(g_b) h_b, averaged over both orders of the halves
    l2_squared = sum_b q_b g_b h_b

The halves are independent. Therefore the expected l2_squared is that of the bins, and the expected
l1 is at most that of the bins, which is at most the truth (Jensen). Both fall short of the truth
for two reasons. The first half may have the wrong sign where the gap is small, and errors of
opposite sign cancel within a bin. The former shortfall is estimated from the noise of the bins, and
the latter by how much the result changes from a quarter of the bins to all of them.

Gaps that vary within all bins are found by the mean of r_i r_j, where r = p - y, and i and j are
neighbours among the sorted rows. It is l2_squared without bins, with a larger standard error. If it
exceeds l2_squared of the bins by D > 0 significantly, D is added to the shortfall of l2_squared,
and sqrt(D) to that of l1: E|gap| <= E|gap of the bin| + sqrt(E(gap - gap of the bin)^2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from harness.math.bin_sums import bin_finder, mass_edges

SIMULATED = ("l1", "l2_squared")
MOST_BINS, ROWS_PER_BIN, FEWEST_BINS = 200, 400, 4
SIGNIFICANT, ERRORS = 2.0, 5.0  # numbers of standard errors


class Simulated(NamedTuple):
    """A simulated error with its standard error, and an estimate of how far it falls short."""

    value: float
    error: float
    shortfall: float


def simulate(p: np.ndarray, y: np.ndarray) -> dict[str, Simulated] | None:
    """Return {estimand: simulated error} of scores p (n,) for outcomes y (n,).

    Return None for fewer than 1,600 rows.

    Notes
    -----
    A gap p - E[Y given p] that varies from one score to the next is not seen at all.
    """
    bins = min(MOST_BINS, len(p) // ROWS_PER_BIN)
    if bins < FEWEST_BINS:
        return None
    coarse, middle, fine = (_on_bins(p, p - y, count) for count in (bins // 4, bins // 2, bins))
    hidden = _hidden_in_bins(p, p - y, *fine["l2_squared"][:2])
    simulated = {}
    for name, (value, error, noise) in fine.items():
        change = abs(value - middle[name][0]) + abs(middle[name][0] - coarse[name][0])
        more = hidden if name == "l2_squared" else math.sqrt(hidden)
        simulated[name] = Simulated(value, error, noise + change + more)
    return simulated


def _hidden_in_bins(p: np.ndarray, residual: np.ndarray, value: float, error: float) -> float:
    """Return an upper limit of how much of l2_squared the bins hide; 0 if it is not significant.

    `value` is l2_squared of the bins, with its standard error.
    """
    ordered = residual[np.argsort(p, kind="stable")][: len(p) // 2 * 2]
    products = ordered[::2] * ordered[1::2]
    spread = math.hypot(float(products.std()) / math.sqrt(len(products)), error)
    difference = float(products.mean()) - value
    return difference + ERRORS * spread if difference > SIGNIFICANT * spread else 0.0


def _on_bins(
    p: np.ndarray, residual: np.ndarray, bins: int
) -> dict[str, tuple[float, float, float]]:
    """Return {estimand: (value, standard error, shortfall by wrong signs)} for a number of bins."""
    edges = mass_edges(p, bins)
    index, count = bin_finder(edges, len(p))(p), len(edges) + 1
    halves = [np.arange(len(p)) % 2 == half for half in (0, 1)]
    sizes = [np.bincount(index[rows], minlength=count) for rows in halves]
    sums = [np.bincount(index[rows], residual[rows], count) for rows in halves]
    means = [s / np.maximum(size, 1) for s, size in zip(sums, sizes)]
    share = np.bincount(index, minlength=count) / len(p)
    # The gap of each row by the other half, and the standard deviation of a bin mean of a half.
    other = np.where(halves[0], means[1][index], means[0][index])
    gap = _means(np.bincount(index, residual, count), share * len(p))
    variance = _means(np.bincount(index, residual**2, count), share * len(p)) - gap**2
    noise = np.sqrt(np.maximum(variance, 0.0) / np.maximum(share * len(p) / 2.0, 1.0))
    wrong = np.where(noise > 0.0, ndtr(-np.abs(gap) / np.where(noise > 0.0, noise, 1.0)), 0.0)
    signed, product = np.sign(other) * residual, other * residual
    root = math.sqrt(len(p))
    return {
        "l1": (
            float(signed.mean()),
            float(signed.std() / root),
            float(2.0 * share @ (np.abs(gap) * wrong)),
        ),
        # Both factors have noise, so that the standard error is twice that of one of them.
        "l2_squared": (float(product.mean()), float(2.0 * product.std() / root), 0.0),
    }


def _means(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return sums / sizes, and 0 for empty bins."""
    return sums / np.maximum(sizes, 1.0)
