"""T-Cal: a test of calibration that adapts to the scale of the error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.estimators import dyadic_kernels
from harness.estimators.base import Estimate, check_integer, generator
from harness.estimators.debiased_interval import null_deviation
from harness.math.notions import checked_scalars

BLOCK_ENTRIES = 1 << 17  # largest number of labels drawn at a time: 1 MB fits into the cache


@dataclass(frozen=True)
class TCal:
    """Debiased plug-in estimator on bins of equal width, and an adaptive test of calibration.

        t_m        = 1/n sum_b sum_{i != j in b} r_i r_j / (n_b - 1),   r_i = y_i - p_i
        l2_squared = t_m for one number of bins m
        T          = max over m = 2, 4, 8, ... of t_m / s_m
        p_value    = (1 + #{T* >= T}) / (1 + resamples)

    p_i is one of n predictions and y_i its outcome. The sum is over m bins b of equal width, with
    n_b samples in bin b. s_m is the standard deviation of t_m under calibration, given the
    predictions. T* is T for labels that are drawn from the predictions. The largest m is 2^B with
    B = floor(2 log2(n / sqrt(ln n))), or the first m for which no bin contains two different
    predictions.

    Parameters
    ----------
    bins : int, optional
        Number of bins m of l2_squared. None takes a power of two near n^(2/5), the optimal rate if
        E[Y given p] - p is Lipschitz.
    resamples : int
        Number of draws of labels.

    Notes
    -----
    A bin b counts 0 unless it has two samples. The mean of l2_squared is therefore
    sum_b P(b) [1 - (1 - P(b))^(n - 1)] E[r given b]^2, which is at most l2_squared. It may be
    negative. The p-value is valid at every n: under calibration, P(p_value <= a) <= a.

    There are three differences from the authors' test:

    * They compare every t_m with a simulated quantile of t_m at 1 - a / B (Bonferroni). The
      diagnostic `bonferroni` is the p-value of this method. It needs about 20 B resamples to reach
      0.05.
    * They draw new predictions, too. Here predictions are given.
    * They put p = 1 into a bin of its own. Here it is in the last bin.

    Cost: O(n B resamples).

    References
    ----------
    Lee, Huang, Hassani and Dobriban (2023), T-Cal: an optimal test for the calibration of
    predictive models, JMLR 24.

    Examples
    --------
    >>> estimates = TCal(bins=1)([0.2, 0.4], [1, 1], np.random.default_rng(0))
    >>> round(estimates["l2_squared"].value, 6), 0.0 < estimates["p_value"].value < 0.3
    (0.48, True)
    """

    bins: int | None = None
    resamples: int = 199

    notions = ("binary", "top_label")  # a mean of p-values over classes is no p-value
    estimands = ("l2_squared", "p_value")
    determinism = "statistical"
    revision = 1
    null_bias = 0.005
    seconds = 0.03

    def __post_init__(self) -> None:
        check_integer("resamples", self.resamples)
        if self.bins is not None:
            check_integer("bins", self.bins)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        stream, n = generator(rng, "draws the labels"), len(p)
        order = np.argsort(p, kind="stable")
        p, y = p[order], y[order]
        bins = self.bins or 2 ** round(0.4 * math.log2(n))
        value = _Levels.make([_Bins.make(p, bins)], n).statistics((y - p)[None, :])[0, 0]
        tests = _dyadic_bins(p)
        deviations = _null_deviations(p, tests)
        levels = _Levels.make(tests, n)
        observed = levels.statistics((y - p)[None, :])
        drawn = self._draw_statistics(p, levels, stream)
        top, tops = (_standardise(t, deviations).max(axis=1) for t in (observed, drawn))
        # With few samples many draws give equal T up to rounding, and must count as ties.
        p_value = (1 + np.count_nonzero(tops >= top[0] - 1e-9)) / (1 + len(tops))
        p_values = (1 + np.count_nonzero(drawn >= observed - 1e-12, axis=0)) / (1 + len(drawn))
        bonferroni = min(1.0, len(tests) * float(p_values.min()))
        diagnostics = {"levels": len(tests), "bonferroni": bonferroni}
        return {
            "l2_squared": Estimate(float(value), diagnostics={"bins": bins}),
            "p_value": Estimate(float(p_value), diagnostics=diagnostics),
        }

    def _draw_statistics(
        self, p: np.ndarray, levels: _Levels, stream: np.random.Generator
    ) -> np.ndarray:
        """Return the statistics t_m of `TCal` for random labels, (resamples, levels).

        Labels are drawn from the predictions p. There is one level for every number of bins m.
        """
        count, step = int(self.resamples), max(1, BLOCK_ENTRIES // len(p))
        values = []
        for start in range(0, count, step):
            labels = stream.random((min(step, count - start), len(p))) < p
            values.append(levels.statistics(labels - p))
        return np.concatenate(values)


@dataclass(frozen=True)
class _Bins:
    """Bins with at least two samples each.

    Bin b consists of the sorted predictions starts[b] to ends[b] - 1.
    """

    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def make(cls, p: np.ndarray, count: int) -> _Bins:
        """Divide sorted p into `count` bins of equal width, and keep those with at least two.

        The last bin is closed.
        """
        if count < len(p):
            ends = np.append(np.searchsorted(p, np.arange(1, count) / count), len(p))
        else:
            ends = _bin_ends(p, count)
        starts = np.append(0, ends[:-1])
        used = ends - starts > 1
        return cls(starts[used], ends[used])


def _null_deviations(p: np.ndarray, tests: list[_Bins]) -> np.ndarray:
    """Return the standard deviations under calibration of the statistics t_m of `TCal`, (levels,).

    p is sorted. There is one level for every number of bins m, and `tests` holds its bins.
    """
    variance = p * (1.0 - p)
    sums, squares = (np.append(0.0, np.cumsum(x)) for x in (variance, variance**2))
    deviations = []
    for bins in tests:
        total, square = (x[bins.ends] - x[bins.starts] for x in (sums, squares))
        deviations.append(null_deviation(bins.ends - bins.starts, total, square, len(p)))
    return np.array(deviations)


def _bin_ends(p: np.ndarray, count: int) -> np.ndarray:
    """Divide sorted p into `count` bins of equal width, and return where non-empty bins end.

    An end is the position in p after the last prediction of the bin.
    """
    index = np.minimum(np.floor(p * count), count - 1)
    return np.append(np.flatnonzero(np.diff(index)) + 1, len(p))


def _dyadic_bins(p: np.ndarray) -> list[_Bins]:
    """Return the bins for m = 2, 4, ..., 2^B of sorted p, as defined in `TCal`.

    The list ends with the first m for which no bin contains two different predictions.
    """
    n = len(p)
    finest = int(2.0 * math.log2(n / math.sqrt(math.log(n)))) if n > 2 else 1
    distinct = 1 + np.count_nonzero(np.diff(p))
    levels = []
    for level in range(1, max(finest, 1) + 1):
        levels.append(_Bins.make(p, 2**level))
        if len(_bin_ends(p, 2**level)) == distinct:
            break
    return levels


@dataclass(frozen=True)
class _Levels:
    """Bins of several levels, where a level consists of the bins for one m.

    Attributes
    ----------
    starts, ends : arrays (bins,)
        Bin b consists of the sorted predictions starts[b] to ends[b] - 1.
    weights : array (bins,)
        1 / (number of samples - 1) of every bin.
    places : array (levels + 1,)
        The bins places[l] to places[l + 1] - 1 form level l.
    sample_weights : array (n, levels)
        The weight of the bin of every sample, 0 for a sample in no bin.
    """

    starts: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    places: np.ndarray
    sample_weights: np.ndarray

    @classmethod
    def make(cls, levels: list[_Bins], n: int) -> _Levels:
        """Make the object from the bins of every level, for n samples."""
        starts, ends = (
            np.concatenate(x) for x in zip(*((bins.starts, bins.ends) for bins in levels))
        )
        weights = 1.0 / (ends - starts - 1)
        places = np.cumsum([0, *(len(bins.starts) for bins in levels)])
        level = np.repeat(np.arange(len(levels)), np.diff(places))
        sample_weights = np.zeros((len(levels), n + 1))
        np.add.at(sample_weights, (level, starts), weights)
        np.add.at(sample_weights, (level, ends), -weights)
        return cls(starts, ends, weights, places, np.cumsum(sample_weights[:, :n], axis=1).T)

    def statistics(self, r: np.ndarray) -> np.ndarray:
        """Return the statistics t_m of `TCal`, (rows, levels), for residuals r (rows, n).

        The sum over pairs i != j in a bin is the square of the sum of residuals, minus the sum of
        their squares. r is overwritten.
        """
        single = (r * r) @ self.sample_weights
        squares = np.empty(single.shape)
        dyadic_kernels.squared_sums(r, self.starts, self.ends, self.weights, self.places, squares)
        return (squares - single) / r.shape[1]


def _standardise(t: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return t_m / s_m for t (rows, levels) and the standard deviations s_m (levels,).

    Where s_m is 0, calibration implies t_m = 0. The result is then 0 for t_m = 0, else infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(deviations > 0.0, t / deviations, np.where(t > 1e-12, np.inf, 0.0))
