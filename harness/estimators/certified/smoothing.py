"""Upper bounds of the L1 error of perturbed scores, by smoothing the labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_choice, check_integer, is_positive
from harness.estimators.certified import histogram_kernels as histogram
from harness.estimators.certified import smoothing_kernels as windows
from harness.estimators.certified.base import (
    PerturbationBound,
    check_folds,
    deviation_width,
    random_folds,
    sort_by_score,
    transfer_bound,
)
from harness.math.sech_noise import curvature_bound, slope_bound

QUERY_POINTS = 2000  # number of points at which bandwidths are compared, in all folds
LARGEST_N = 30_000_000  # up to this n, window sums stay below 2^63 (smoothing_kernels.GRID)
LARGEST_STEP = 60  # bandwidths are 2^(-3 - j/4), j = 0..60
CURVATURE = {
    "sharp": lambda h: curvature_bound(h),
    "paper": lambda h: curvature_bound(h, "paper"),
    "none": lambda h: math.inf,
}


@dataclass(frozen=True)
class NWKfold(PerturbationBound):
    """Upper bound of the L1 error for perturbed scores, by a cross-fitted Nadaraya-Watson smoother.

    The bound assumes that eta(s) = E[Y given S = s] has derivatives |eta'| <= L1 and |eta''| <= L2.
    Both hold for scores that were perturbed with a bandwidth of at least h (`harness.perturb`).
    With n scores s_j and delta_1 = delta_2 = (1 - level) / 2, the bound is

        kl+( mean_j |etahat(s_j) - s_j| + mean_j g(s_j) + sqrt(ln(1/delta_1) sum_i c_i^2 / 2),
             ln(1/delta_2) / n )

    kl+(q, c) is the largest a with kl(q || a) <= c. The three terms are:

    * The empirical term. etahat(s_j) is the mean label of the N points of the other folds whose
      distance from s_j is at most b. This box kernel is our choice. A cost linear in n needs a
      kernel of compact support.
    * The bias. g bounds the mean error of etahat at s, in another form than in the paper. d are the
      signed distances of the N points from s.

          E |etahat - eta| <= g = min{1, sqrt(beta^2 + 1/(4N))}
          beta = min{1, L1 mean |d|, L1 |mean d| + L2 mean d^2 / 2}

    * The deviation. c_i is the sum of the weights of label i in all etahat(s_j), divided by n.

    If N = 0, etahat = g = 1/2.

    Parameters
    ----------
    folds : int
        Number of folds, 2 to 255. `rng` draws them.
    second : {"sharp", "paper", "none"}
        L2 is 1/(2h^2) [D], 3/(2h^2) [P] or infinite. L1 is always 1/(2h) [P].
    bandwidth : float or None
        b, at most 1/8. None takes, for each fold, the bandwidth 2^(-3 - j/4), j = 0..60, with the
        smallest mean of g. The mean is over at most 2,000 / folds scores of the fold. Labels are
        not used.

    Notes
    -----
    Estimand: l1. Direction: the bound is above l1 with probability `level`, at every n up to 3e7.
    Rate: n^(-1/3) if L2 is infinite. Determinism: statistical. Cost: O(n) per distinct bandwidth,
    after a sort.

    References
    ----------
    ciosek2026, Key Design 2 and 3. Formulas marked [P] are stated there. Those marked [D], the form
    of g and the weights c_i are derived for this project (experiments/ciosek2026/NOTES.md).

    Examples
    --------
    >>> import numpy as np
    >>> from harness import perturb
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> s = perturb(p, 1 / 64, rng)
    >>> round(NWKfold()(s, y, rng)["l1"].high, 2)
    0.26
    """

    folds: int = 5
    second: str = "sharp"
    bandwidth: float | None = None

    determinism = "statistical"
    revision = 1
    max_n: ClassVar[int] = LARGEST_N

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_smoother(self)
        check_folds(self.folds)

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, h: float
    ) -> dict[str, Estimate]:
        _check_size(len(p))
        fold = random_folds(len(p), self.folds, rng)
        scores, labels = sort_by_score(p, y)
        return self.evaluate_sorted(scores, labels, fold, h)

    def evaluate_sorted(
        self, scores: np.ndarray, labels: np.ndarray, fold: np.ndarray, h: float
    ) -> dict[str, Estimate]:
        """Return the bound for ascending scores whose folds are given.

        `fold` (n,) of uint8 numbers the fold of each score, from 0 to folds - 1. The bound is valid
        only if the folds do not depend on the labels.
        """
        n, half_delta = len(scores), (1.0 - self.level) / 2.0
        slope, curvature = slope_bound(h), CURVATURE[self.second](h)
        if self.bandwidth is None:
            sums = windows.block_sums(scores, fold, self.folds)
            totals = np.bincount(fold, minlength=self.folds)
            chosen = np.zeros(self.folds)
            for k in range(self.folds):
                ranks = evenly_spaced(int(totals[k]), QUERY_POINTS // self.folds)
                if len(ranks):
                    queries = windows.fold_positions(fold, sums, k, ranks)
                    cost = partial(
                        windows.mean_cost, scores, fold, sums, queries, slope, curvature, k
                    )
                    chosen[k] = best_bandwidth(cost)
        else:
            chosen = np.full(self.folds, float(self.bandwidth))
        reach, gap, error = np.zeros(n), 0.0, 0.0
        for b in np.unique(chosen):
            part = windows.smooth_held_out(
                scores, labels, fold, chosen == b, b, slope, curvature, reach
            )
            gap, error = gap + part[0], error + part[1]
        deviation = deviation_width(float(reach @ reach) / n / n, half_delta)
        more = {"h": h, "slope": slope, "curvature": curvature, "bandwidth": float(chosen.mean())}
        return transfer_bound(
            self.level, n, gap / n, error / n, deviation, half_delta, half_delta, **more
        )


@dataclass(frozen=True)
class NWJensen(PerturbationBound):
    """Upper bound of the L1 error for perturbed scores, by a Nadaraya-Watson smoother of labels.

    The bound assumes that eta(s) = E[Y given S = s] has derivatives |eta'| <= L1 and |eta''| <= L2.
    Both hold for scores that were perturbed with a bandwidth of at least h (`harness.perturb`).
    With n scores s_j and delta_1 = delta_2 = (1 - level) / 2, the bound is

        kl+( mean_j |etahat_j - s_j| + mean_j beta_j + sqrt(ln(1/delta_1) sum_i c_i^2 / 2),
             ln(1/delta_2) / n )
        beta = min{1, L1 mean |d|, L1 |mean d| + L2 mean d^2 / 2}

    kl+(q, c) is the largest a with kl(q || a) <= c. etahat_j is the mean label of the N points
    whose distance from s_j is at most b, point j included, and d are their signed distances. c_i is
    the sum of the weights of label i in all etahat_j, divided by n.

    By Jensen's inequality, E[mean |etahat - s| given the scores] >= mean |eta - s| - mean beta. The
    bound therefore needs no term for the noise of etahat, and is tighter than that of `NWKfold`.

    Parameters
    ----------
    second : {"sharp", "paper", "none"}
        L2 is 1/(2h^2) [D], 3/(2h^2) [P] or infinite. L1 is always 1/(2h) [P].
    bandwidth : float or None
        b, at most 1/8. None takes the bandwidth 2^(-3 - j/4), j = 0..60, with the smallest mean of
        beta + 0.8 sqrt(max(s (1 - s), 0.01) / N). Labels are not used.
    histogram : int or None
        An integer from 4 to 22 replaces the sort of the scores by 2^histogram bins of equal width.
        Half a bin's width is then added to the first term, and a bin's width to every distance.
        None sorts the scores, and is exact.

    Notes
    -----
    Estimand: l1. Direction: the bound is above l1 with probability `level`, at every n up to 3e7.
    Rate: n^(-2/5) for fixed h. Determinism: rounding. Cost: O(n) after a sort, or O(n + bins) with
    a histogram.

    References
    ----------
    Derived for this project (experiments/ciosek2026/NOTES.md). Formulas marked [P] are stated in
    ciosek2026, those marked [D] are derived here.

    Examples
    --------
    >>> import numpy as np
    >>> from harness import perturb
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> s = perturb(p, 1 / 64, rng)
    >>> round(NWJensen()(s, y)["l1"].high, 2), round(NWJensen(histogram=20)(s, y)["l1"].high, 2)
    (0.22, 0.22)
    """

    second: str = "sharp"
    bandwidth: float | None = None
    histogram: int | None = None

    revision = 1
    max_n: ClassVar[int] = LARGEST_N

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_smoother(self)
        if self.histogram is not None:
            check_integer("histogram", self.histogram, 4)
            if self.histogram > 22:
                raise BadInputError(
                    f"histogram is {self.histogram!r}; give an integer from 4 to 22, for "
                    "2^histogram bins."
                )

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, h: float
    ) -> dict[str, Estimate]:
        _check_size(len(p))
        n, half_delta = len(p), (1.0 - self.level) / 2.0
        slope, curvature = slope_bound(h), CURVATURE[self.second](h)
        smooth = self._exact if self.histogram is None else self._binned
        empirical, bias, squares, bandwidth = smooth(p, y, slope, curvature)
        deviation = deviation_width(squares, half_delta)
        more = {"h": h, "slope": slope, "curvature": curvature, "bandwidth": bandwidth}
        return transfer_bound(
            self.level, n, empirical, bias, deviation, half_delta, half_delta, **more
        )

    def _exact(
        self, p: np.ndarray, y: np.ndarray, slope: float, curvature: float
    ) -> tuple[float, float, float, float]:
        """Return (empirical term, bias, sum of c_i^2, bandwidth), from sorted scores."""
        scores, labels = sort_by_score(p, y)
        b = self.bandwidth
        if b is None:
            fold = np.zeros(len(scores), np.uint8)
            sums, queries = windows.block_sums(scores, fold, 1), evenly_spaced(len(scores))
            b = best_bandwidth(
                partial(windows.mean_cost, scores, fold, sums, queries, slope, curvature, -1)
            )
        reach = np.empty(len(scores))
        empirical, bias = windows.smooth_self(scores, labels, float(b), slope, curvature, reach)
        return empirical, bias, float(reach @ reach) / len(scores) ** 2, float(b)

    def _binned(
        self, p: np.ndarray, y: np.ndarray, slope: float, curvature: float
    ) -> tuple[float, float, float, float]:
        """Return (empirical term, bias, sum of c_i^2, bandwidth), from a histogram."""
        bits = int(self.histogram or 0)
        bins = 1 << bits
        sums = histogram.bin_sums(p, y, bits)
        b = self.bandwidth
        if b is None:
            queries = np.searchsorted(sums[:, 0], evenly_spaced(len(p)), side="right") - 1
            b = best_bandwidth(
                lambda width: histogram.bin_cost(
                    sums, queries, round(width * bins), slope, curvature
                )
            )
        return *histogram.smooth_bins(sums, round(b * bins), slope, curvature), float(b)


def best_bandwidth(cost: Callable[[float], float]) -> float:
    """Return the bandwidth 2^(-3 - j/4), j in 0..60, for which cost(bandwidth) is smallest.

    The search tries every fourth j, and then the three j on either side of the best of these.
    """
    costs = {j: cost(2.0 ** (-3.0 - j / 4.0)) for j in range(0, LARGEST_STEP + 1, 4)}
    middle = min(costs, key=costs.__getitem__)
    for j in range(max(0, middle - 3), min(LARGEST_STEP, middle + 3) + 1):
        if j not in costs:
            costs[j] = cost(2.0 ** (-3.0 - j / 4.0))
    return 2.0 ** (-3.0 - min(sorted(costs), key=costs.__getitem__) / 4.0)


def evenly_spaced(n: int, count: int = QUERY_POINTS) -> np.ndarray:
    """Return min(n, count) evenly spaced integers from 0 to n - 1."""
    return np.linspace(0, n - 1, min(n, count)).astype(np.int64)


def _check_size(n: int) -> None:
    """Raise UndefinedError if n exceeds LARGEST_N, the limit of exact window sums."""
    if n > LARGEST_N:
        raise UndefinedError(
            f"n = {n:,} is above {LARGEST_N:,}, the largest size for which window sums are exact"
        )


def _check_smoother(estimator: NWKfold | NWJensen) -> None:
    """Raise BadInputError unless the fields `second` and `bandwidth` are valid."""
    check_choice("second", estimator.second, CURVATURE)
    b = estimator.bandwidth
    if b is not None and not (is_positive(b) and b <= 0.125):
        raise BadInputError(
            f"bandwidth is {b!r}; give a positive number of at most 1/8, or null for a choice from "
            "the scores."
        )
