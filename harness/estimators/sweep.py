"""ECE-sweep: the largest number of bins whose outcome frequencies are monotone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_choice
from harness.math import estimands
from harness.math.notions import checked

RULES = ("mass", "width")


@dataclass(frozen=True)
class Sweep:
    """Plug-in estimator on the largest number of bins up to which outcome frequencies rise with p.

        b* = max {b <= n: in each of 1, 2, ..., b bins the mean outcomes are non-decreasing}
        l1 = sum_j (n_j / n) |gap_j|,   gap_j = mean p - mean y in bin j of b*

    and likewise l2_squared and its root rms.

    Parameters
    ----------
    rule : {"mass", "width"}
        "mass": bin j of b begins at the ceil(j n / b)-th smallest prediction, or at the first that
        equals it. "width": [j/b, (j+1)/b), the last one closed; empty bins do not count.

    Notes
    -----
    Estimand: l1 (l2_squared, rms). Biased upwards near calibration, less than 15 bins on small
    samples, because it uses few bins there; downwards if E[Y given p] is not monotone, which ends
    the sweep early. O(n log n), then O(b) (width: O(b log n)) per number of bins, of which few are
    tried; O(n^2) at worst, if the outcomes are nearly sorted by p. The diagnostic `bins` is b*.

    References
    ----------
    Roelofs, Cain, Shlens and Mozer (2022), Mitigating bias in calibration error estimation,
    AISTATS, Algorithm 1. The authors' code separates equal p by their order in the file; this one
    does not.

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
        """Return the error of predictions p (n,) for outcomes y (n,)."""
        p, y = checked(p, y)
        order = np.argsort(p, kind="stable")
        p = p[order]
        hits = np.concatenate([[0], np.cumsum(y[order])])
        cut = _mass_cuts(p) if self.rule == "mass" else _width_cuts(p)
        bins = _largest(hits, p, cut)
        starts = cut(bins)
        sizes = np.diff(starts)
        means = np.add.reduceat(p, starts[:-1]) / sizes, np.diff(hits[starts]) / sizes
        estimates = {}
        for name in self.estimands:
            value = estimands.value(name, *means, "binary", sizes / len(p))
            estimates[name] = Estimate(value, diagnostics={"bins": float(bins)})
        return estimates


def _mass_cuts(p: np.ndarray) -> Callable[[int], np.ndarray]:
    """Return a function of the number of bins: indices in the sorted p where bins start, then n."""
    n, first = len(p), np.searchsorted(p, p)
    return lambda bins: np.unique(np.concatenate([first[-(-np.arange(bins) * n // bins)], [n]]))


def _width_cuts(p: np.ndarray) -> Callable[[int], np.ndarray]:
    """Return a function like `_mass_cuts` for bins of equal width."""
    return lambda bins: np.unique(
        np.concatenate([[0], np.searchsorted(p, np.arange(1, bins) / bins), [len(p)]])
    )


def _largest(hits: np.ndarray, p: np.ndarray, cut: Callable[[int], np.ndarray]) -> int:
    """Return b*; means are compared as fractions of integers, so that rounding has no effect."""

    def rising(starts: np.ndarray) -> bool:
        ones, sizes = np.diff(hits[starts]), np.diff(starts)
        return bool((ones[:-1] * sizes[1:] <= ones[1:] * sizes[:-1]).all())

    groups = np.concatenate([[0], np.flatnonzero(np.diff(p)) + 1, [len(p)]])
    if rising(groups):  # then every coarser division rises as well
        return len(p)
    bins = 1
    while bins < len(p) and rising(cut(bins + 1)):
        bins += 1
    return bins
