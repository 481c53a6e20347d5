"""T-Cal: a test of calibration that adapts to the scale of the error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.estimators import dyadic_kernels
from harness.estimators.base import Estimate, check_integer, generator
from harness.estimators.debiased_interval import null_deviation
from harness.math.notions import checked

BLOCK_ENTRIES = 1 << 17  # resampled labels at a time: 1 MB fits into the cache


@dataclass(frozen=True)
class TCal:
    """Debiased plug-in estimator on bins of equal width, and an adaptive test of calibration.

        t_m = 1/n sum_{b=1..m} sum_{i != j in b} r_i r_j / (n_b - 1),   r = y - p
        l2_squared = t_m of one m
        p_value = (1 + #{resamples: T* >= T}) / (1 + resamples)
        T = max over m = 2, 4, 8 ... of t_m / s_m

    with s_m the standard deviation of t_m under calibration, given the predictions, and T* of
    labels drawn from the predictions. m goes up to 2^B, B = floor(2 log2(n / sqrt(ln n))), or until
    no bin holds two different predictions.

    Parameters
    ----------
    bins : int, optional
        m of l2_squared; by default the power of two next to n^(2/5), the optimal rate for Lipschitz
        errors.
    resamples : int
        Number of draws of labels.

    Notes
    -----
    l2_squared is unbiased, except for bins of one sample, for sum_b P(b) E[r given b]^2 <=
    l2_squared, and may be negative. p_value is valid at every n: under calibration, P(p_value <= a)
    <= a. The authors compare every t_m with its own simulated quantile of 1 - a / B (Bonferroni)
    and draw predictions anew as well. Here one maximum is compared, given the predictions. The
    diagnostic `bonferroni` is the p-value of their method, which needs about 20 B resamples to
    reach 0.05. Their bins leave p = 1 to a bin of its own; here the last one is closed. O(n B
    resamples).

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

    notions = ("binary", "top_label")  # a mean of the classes' p-values is none
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
        p, y = checked(p, y)
        stream, n = generator(rng, "draws the labels"), len(p)
        order = np.argsort(p, kind="stable")
        p, y = p[order], y[order]
        bins = self.bins or 2 ** round(0.4 * math.log2(n))
        value = _Levels.of([_Bins.of(p, bins)], n).statistics((y - p)[None, :])[0, 0]
        tests = _dyadic(p)
        deviations = _null_deviations(p, tests)
        levels = _Levels.of(tests, n)
        observed = levels.statistics((y - p)[None, :])
        drawn = self._drawn(p, levels, stream)
        top, tops = (_scaled(t, deviations).max(axis=1) for t in (observed, drawn))
        # Values that differ by rounding are equal: few samples have few different labellings.
        p_value = (1 + np.count_nonzero(tops >= top[0] - 1e-9)) / (1 + len(tops))
        each = (1 + np.count_nonzero(drawn >= observed - 1e-12, axis=0)) / (1 + len(drawn))
        diagnostics = {"levels": len(tests), "bonferroni": min(1.0, len(tests) * float(each.min()))}
        return {
            "l2_squared": Estimate(float(value), diagnostics={"bins": bins}),
            "p_value": Estimate(float(p_value), diagnostics=diagnostics),
        }

    def _drawn(self, p: np.ndarray, levels: _Levels, stream: np.random.Generator) -> np.ndarray:
        """Return t_m of labels drawn from the predictions, (resamples, levels)."""
        count, step = int(self.resamples), max(1, BLOCK_ENTRIES // len(p))
        values = []
        for start in range(0, count, step):
            labels = stream.random((min(step, count - start), len(p))) < p
            values.append(levels.statistics(labels - p))
        return np.concatenate(values)


@dataclass(frozen=True)
class _Bins:
    """Bins that hold at least two samples: their starts and ends among the sorted predictions."""

    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, p: np.ndarray, count: int) -> _Bins:
        """Return the `count` bins of equal width, the last one closed, of sorted p."""
        if count < len(p):
            ends = np.append(np.searchsorted(p, np.arange(1, count) / count), len(p))
        else:
            ends = _runs(p, count)
        starts = np.append(0, ends[:-1])
        used = ends - starts > 1
        return cls(starts[used], ends[used])


def _null_deviations(p: np.ndarray, tests: list[_Bins]) -> np.ndarray:
    """Return s_m of sorted p, (levels,)."""
    variance = p * (1.0 - p)
    sums, squares = (np.append(0.0, np.cumsum(x)) for x in (variance, variance**2))
    deviations = []
    for bins in tests:
        total, square = (x[bins.ends] - x[bins.starts] for x in (sums, squares))
        deviations.append(null_deviation(bins.ends - bins.starts, total, square, len(p)))
    return np.array(deviations)


def _runs(p: np.ndarray, count: int) -> np.ndarray:
    """Return the ends of the bins that are not empty, for more bins than samples."""
    index = np.minimum(np.floor(p * count), count - 1)
    return np.append(np.flatnonzero(np.diff(index)) + 1, len(p))


def _dyadic(p: np.ndarray) -> list[_Bins]:
    """Return the bins of m = 2, 4 ... 2^B, without the finer ones that change nothing."""
    n = len(p)
    finest = int(2.0 * math.log2(n / math.sqrt(math.log(n)))) if n > 2 else 1
    distinct = 1 + np.count_nonzero(np.diff(p))
    levels = []
    for level in range(1, max(finest, 1) + 1):
        levels.append(_Bins.of(p, 2**level))
        if len(_runs(p, 2**level)) == distinct:
            break
    return levels


@dataclass(frozen=True)
class _Levels:
    """Bins of several levels.

    `starts` and `ends` of all bins, `weights` (one over their sizes less 1), and the `places` of
    the levels among them. `sample_weights` (n, levels): the weight of a sample's bin, 0 between
    bins.
    """

    starts: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    places: np.ndarray
    sample_weights: np.ndarray

    @classmethod
    def of(cls, levels: list[_Bins], n: int) -> _Levels:
        """Collect the bins of all levels of n samples."""
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
        """Return t_m of residuals r (rows, n), which are overwritten, (rows, levels).

        These are the squares of the bins' sums without those of single residuals.
        """
        single = (r * r) @ self.sample_weights
        squares = np.empty(single.shape)
        dyadic_kernels.squared_sums(r, self.starts, self.ends, self.weights, self.places, squares)
        return (squares - single) / r.shape[1]


def _scaled(t: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return t / s; where s is 0, t = 0 is certain, and any other t is infinitely unlikely."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(deviations > 0.0, t / deviations, np.where(t > 1e-12, np.inf, 0.0))
