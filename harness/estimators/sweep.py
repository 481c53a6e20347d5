"""Bins as many as leave the outcome frequencies monotone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.math import estimands
from harness.math.notions import checked

RULES = ("mass", "width")


@dataclass(frozen=True)
class Sweep:
    """The plug-in estimator on the largest number of bins up to which outcome frequencies rise with p, ECE-sweep.

        b* = max {b <= n: in each of 1, 2, ..., b bins the mean outcomes are non-decreasing},   l1 = sum_j (n_j / n) |gap_j|

    and likewise l2_squared and its root rms, with gap_j = mean p - mean y in bin j of b*.

    Parameters
    ----------
    rule : {"mass", "width"}
        "mass": bin j of b begins at the ceil(j n / b)-th smallest prediction, or at the first that equals it. "width":
        [j/b, (j+1)/b), the last one closed; empty bins do not count.

    Notes
    -----
    Estimand: l1 (l2_squared, rms). Biased upwards near calibration, less than 15 bins on small samples, as it takes few bins
    there; downwards where E[Y given p] is not monotone, which ends the sweep early. O(n log n), then O(b) (width: O(b log n)) per
    number of bins, of which few are tried; O(n^2) at worst, if the outcomes are nearly sorted by p. The diagnostic `bins` is b*.

    References
    ----------
    Roelofs, Cain, Shlens and Mozer (2022), Mitigating bias in calibration error estimation, AISTATS, Algorithm 1. The authors'
    code separates equal p by their order in the file, this does not.

    Examples
    --------
    >>> found = Sweep()([0.1, 0.3, 0.6, 0.9], [0, 1, 0, 1])["l1"]
    >>> round(found.value, 6), found.diagnostics
    (0.275, {'bins': 2.0})
    """

    rule: str = "mass"

    notions = ("binary", "top_label", "classwise")
    estimands = ("l1", "l2_squared", "rms")
    determinism = "exact"
    revision = 1
    null_bias = 0.05

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise BadInputError(f"rule is {self.rule!r}; allowed are {', '.join(RULES)}.")

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """The error of predictions p (n,) for outcomes y (n,)."""
        p, y = checked(p, y)
        order = np.argsort(p, kind="stable")
        p = p[order]
        hits = np.concatenate([[0], np.cumsum(y[order])])
        cut = _mass_cuts(p) if self.rule == "mass" else _width_cuts(p)
        bins = _largest(hits, p, cut)
        starts = cut(bins)
        sizes = np.diff(starts)
        means = np.add.reduceat(p, starts[:-1]) / sizes, np.diff(hits[starts]) / sizes
        found = {
            name: estimands.value(name, *means, "binary", sizes / len(p)) for name in self.estimands
        }
        return {
            name: Estimate(value, diagnostics={"bins": float(bins)})
            for name, value in found.items()
        }


def _mass_cuts(p: np.ndarray) -> Callable[[int], np.ndarray]:
    """Function from the number of bins to where they start in the sorted p, with n at the end."""
    n, first = len(p), np.searchsorted(p, p)
    return lambda bins: np.unique(np.concatenate([first[-(-np.arange(bins) * n // bins)], [n]]))


def _width_cuts(p: np.ndarray) -> Callable[[int], np.ndarray]:
    return lambda bins: np.unique(
        np.concatenate([[0], np.searchsorted(p, np.arange(1, bins) / bins), [len(p)]])
    )


def _largest(hits: np.ndarray, p: np.ndarray, cut: Callable[[int], np.ndarray]) -> int:
    """b*. Means are compared as fractions of integers, so that rounding decides nothing."""

    def rising(starts: np.ndarray) -> bool:
        ones, sizes = np.diff(hits[starts]), np.diff(starts)
        return bool((ones[:-1] * sizes[1:] <= ones[1:] * sizes[:-1]).all())

    groups = np.concatenate([[0], np.flatnonzero(np.diff(p)) + 1, [len(p)]])
    if rising(groups):  # then every coarser division is, too
        return len(p)
    bins = 1
    while bins < len(p) and rising(cut(bins + 1)):
        bins += 1
    return bins
