"""ECE-sweep: binned error with the largest number of bins whose mean outcomes are monotone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_choice
from harness.math import estimands
from harness.math.notions import checked_scalars

RULES = ("mass", "width")


@dataclass(frozen=True)
class Sweep:
    """Plug-in estimator on as many bins as have monotone mean outcomes (ECE-sweep).

        l1         = sum_j (n_j / n) |gap_j|
        l2_squared = sum_j (n_j / n) gap_j^2,   rms = sqrt(l2_squared)

    n_j of the n samples are in bin j, and gap_j = mean p - mean y in bin j. The number of bins is
    the largest b <= n such that, for each of 1, 2, ..., b bins, the mean outcomes do not decrease
    from bin to bin.

    Parameters
    ----------
    rule : {"mass", "width"}
        How b bins are formed, numbered j = 0, ..., b - 1.
        "mass": bin j begins at the prediction of rank ceil(j n / b) in ascending order, counted
        from 0. Equal predictions are never separated.
        "width": bin j is [j/b, (j+1)/b), and the last bin is closed. Empty bins do not count.

    Notes
    -----
    Biased upwards near calibration. On small samples the bias is smaller than that of 15 bins,
    because few bins are chosen there. Biased downwards if E[Y given p] is not monotone, because
    then few bins are chosen.

    The diagnostic `bins` is b. Cost: O(n log n), and O(b) for each number of bins that is tried, or
    O(b log n) for "width". Usually few numbers are tried. The worst case is O(n^2), if the outcomes
    are nearly sorted by p.

    References
    ----------
    Roelofs, Cain, Shlens and Mozer (2022), Mitigating bias in calibration error estimation,
    AISTATS, Algorithm 1. The authors' code separates equal p by their order in the file.

    Examples
    --------
    >>> e = Sweep()([0.1, 0.3, 0.6, 0.9], [0, 1, 0, 1])["l1"]
    >>> round(e.value, 6), e.diagnostics
    (0.275, {'bins': 2.0})
    """

    rule: str = "mass"

    notions = ("binary", "top_label", "classwise")
    estimands = ("l1", "l2_squared", "rms")
    determinism = "exact"
    revision = 1
    null_bias = 0.05

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, RULES)

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the errors of predictions p (n,), for outcomes y (n,)."""
        p, y = checked_scalars(p, y)
        order = np.argsort(p, kind="stable")
        p = p[order]
        hits = np.concatenate([[0], np.cumsum(y[order])])
        cut = _mass_cuts(p) if self.rule == "mass" else _width_cuts(p)
        bins = _largest_monotone(hits, p, cut)
        starts = cut(bins)
        sizes = np.diff(starts)
        means = np.add.reduceat(p, starts[:-1]) / sizes, np.diff(hits[starts]) / sizes
        estimates = {}
        for name in self.estimands:
            value = estimands.value(name, *means, "binary", sizes / len(p))
            estimates[name] = Estimate(value, diagnostics={"bins": float(bins)})
        return estimates


def _mass_cuts(p: np.ndarray) -> Callable[[int], np.ndarray]:
    """Return a function that maps a number of bins to the positions where these bins begin.

    The bins have equal mass. Positions refer to the sorted p (n,). The last position is n.
    """
    n, first = len(p), np.searchsorted(p, p)
    return lambda bins: np.unique(np.concatenate([first[-(-np.arange(bins) * n // bins)], [n]]))


def _width_cuts(p: np.ndarray) -> Callable[[int], np.ndarray]:
    """Return a function that maps a number of bins to the positions where these bins begin.

    The bins have equal width. Positions refer to the sorted p (n,). The last position is n.
    """
    return lambda bins: np.unique(
        np.concatenate([[0], np.searchsorted(p, np.arange(1, bins) / bins), [len(p)]])
    )


def _largest_monotone(hits: np.ndarray, p: np.ndarray, cut: Callable[[int], np.ndarray]) -> int:
    """Return the largest number of bins up to which mean outcomes do not decrease.

    hits[i] is the number of outcomes 1 among the first i of the sorted samples. `cut` maps a number
    of bins to the positions where they begin. Means are compared as fractions of integers, without
    rounding.
    """

    def is_rising(starts: np.ndarray) -> bool:
        ones, sizes = np.diff(hits[starts]), np.diff(starts)
        return bool((ones[:-1] * sizes[1:] <= ones[1:] * sizes[:-1]).all())

    groups = np.concatenate([[0], np.flatnonzero(np.diff(p)) + 1, [len(p)]])
    if is_rising(groups):  # then the mean outcomes rise on all coarser bins, too
        return len(p)
    bins = 1
    while bins < len(p) and is_rising(cut(bins + 1)):
        bins += 1
    return bins
