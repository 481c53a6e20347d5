"""Statements of ciosek2026, decided by computation (see harness.evaluation.propositions).

Only a summary of the paper was at hand. Statements are quoted from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from harness.estimators.certified.buckets import LipBkt
from harness.estimators.certified.denoising import TVInsample, TVKfold, tv_lambda, tvb
from harness.estimators.certified.denoising_kernels import denoise
from harness.estimators.certified.smoothing import NWJensen, NWKfold
from harness.evaluation.propositions import Proposition, largest_deviation, smallest_margin
from harness.math import sech_noise

from . import gaussian_noise

ROUNDING = 1e-10
SLOPE = 0.5  # of eta, for the bias of a kernel mean
POINTS = 8  # of samples whose labels are all enumerated


def _posteriors(size: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield laws of the original score, given a perturbed score, with their outcomes.

    Each is (weights, T, outcomes) of three atoms, with T = tanh((s - s0) / h). The derivatives are
    largest for outcomes of 0 and 1. The atoms lie on a grid, ends included; the weights are random
    and on a grid.
    """
    rng = np.random.default_rng(0)
    grid = [np.array([a, b, 4 - a - b]) / 4.0 for a in range(5) for b in range(5 - a)]
    weights = np.concatenate([grid, rng.dirichlet(np.ones(3), max(size // 100, 50))])
    for places in itertools.combinations(np.linspace(-1.0, 1.0, 9), 3):
        for outcomes in itertools.product((0.0, 1.0), repeat=3):
            yield weights, np.array(places), np.array(outcomes)


def _slopes(size: int) -> np.ndarray:
    """Return the largest |h eta'| of each family of laws: Cov(eta0, T)."""
    return np.array([
        np.abs(w @ (t * c) - (w @ t) * (w @ c)).max() for w, t, c in _posteriors(size)
    ])  # fmt: skip


def _curvatures(size: int) -> np.ndarray:
    """Return the largest |h^2 eta''| of each family of laws: 2 Cov(eta0, T^2 - T E T)."""
    found = []
    for w, t, c in _posteriors(size):
        x = t**2 - t * (w @ t)[:, None]
        covariance = (w * x) @ c - (w * x).sum(axis=1) * (w @ c)
        found.append(2.0 * np.abs(covariance).max())
    return np.array(found)


def first_derivative(size: int) -> Proposition:
    """Check |eta'| <= 1 / (2 h) over laws of three original scores."""
    slopes = _slopes(size)
    return Proposition(
        place="Key Design 2",
        quote="bounded first-order derivatives (<= 1/(2h))",
        says="whatever the original scores, |eta'| <= 1 / (2 h)",
        computed="1/2 less h |eta'|, maximised over three original scores on a grid, their weights "
        "and outcomes of 0 and 1, where the derivative is largest",
        cases=len(slopes),
        result=smallest_margin(0.5 - slopes, ROUNDING),
        variant="0.49 / h",
        variant_result=smallest_margin(0.49 - slopes, ROUNDING),
    )


def second_derivative(size: int) -> Proposition:
    """Check |eta''| <= 3 / (2 h^2) over laws of three original scores."""
    curvatures = _curvatures(size)
    return Proposition(
        place="Key Design 2",
        quote="and second-order derivatives (<= 3/(2h^2))",
        says="whatever the original scores, |eta''| <= 3 / (2 h^2)",
        computed="3/2 less h^2 |eta''|, maximised as before; the largest value is 1/2",
        cases=len(curvatures),
        result=smallest_margin(1.5 - curvatures, ROUNDING),
        variant="0.49 / h^2, a third of the constant and less",
        variant_result=smallest_margin(0.49 - curvatures, ROUNDING),
    )


def sech_or_gaussian(size: int) -> Proposition:
    """Check that the Gaussian alternative has the larger slope at the same mean shift."""

    def margins(widths: tuple[float, ...]) -> list[float]:
        scale = sech_noise.shift_bound(1.0) / gaussian_noise.shift_bound(1.0)
        return [
            gaussian_noise.slope_bound(scale * h) / sech_noise.slope_bound(h) - 1.0 for h in widths
        ]

    return Proposition(
        place="Key Design 2",
        quote="The sech kernel is preferred over a truncated Gaussian",
        says="of noises that move scores equally far, sech has the smaller least bound of |eta'|",
        computed="the bound of Gaussian noise, 1 / (4 s^2), over that of sech noise, less 1, at "
        "widths h from 2^-3 to 2^-8",
        cases=len(sech_noise.WIDTHS) - 1,
        result=smallest_margin(margins(sech_noise.WIDTHS[1:])),
        variant="at 2^-2 too",
        variant_result=smallest_margin(margins(sech_noise.WIDTHS)),
    )


def split_of_the_error(size: int) -> Proposition:
    """Check CE <= E|etahat - s| + E|etahat - eta| for random surrogates."""
    rng = np.random.default_rng(1)
    right, wrong = [], []
    for _ in range(max(size // 100, 50)):
        s, eta, surrogate = rng.uniform(size=(3, 6))
        w = rng.dirichlet(np.ones(6))
        error, first, second = (w @ np.abs(x) for x in (eta - s, surrogate - s, surrogate - eta))
        right.append(first + second - error)
        wrong.append(first - error)
    return Proposition(
        place="Overall Architecture",
        quote="decomposed into a surrogate calibration error plus a construction error",
        says="the error is at most that of the surrogate plus that of its construction",
        computed="the difference of both sides, on random laws of six scores",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="without the second term",
        variant_result=smallest_margin(wrong, ROUNDING),
    )


def kernel_bias(size: int) -> Proposition:
    """Check that the bias of a kernel mean is at most L sum w_i |s_i - s| for Lipschitz eta."""
    rng = np.random.default_rng(2)
    right, wrong = [], []
    for _ in range(max(size // 100, 50)):
        s, at = np.sort(rng.uniform(size=8)), rng.uniform()
        w = rng.dirichlet(np.ones(8))
        bends = rng.uniform(size=3)
        for eta in (
            lambda x, a=at: SLOPE * np.abs(x - a),  # reaches the bound
            lambda x, b=bends: SLOPE * np.abs(x[..., None] - b).mean(axis=-1),
        ):
            bias = abs(w @ eta(s) - eta(np.array(at)))
            bound = SLOPE * w @ np.abs(s - at)
            right.append(bound - bias)
            wrong.append(0.9 * bound - bias)
    return Proposition(
        place="Key Design 2",
        quote="whose reconstruction error g_T(s') can be computed exactly from data",
        says="for |eta'| <= L the bias of a kernel mean is at most L sum_i w_i |s_i - s'|",
        computed="the difference, for random weights and scores, and eta with slope L everywhere "
        "or with three bends",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="0.9 L",
        variant_result=smallest_margin(wrong, ROUNDING),
    )


def _labels() -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=POINTS)))


@cache
def _curves() -> list[np.ndarray]:
    """Return conditional means of variation at most 1 at POINTS ordered scores."""
    rising = np.linspace(0.0, 1.0, POINTS)
    step = (np.arange(POINTS) >= POINTS // 2).astype(float)
    spike = 0.5 * (np.arange(POINTS) == 3)
    return [np.full(POINTS, 0.5), rising, 1.0 - rising, step, spike, 0.25 + 0.5 * step]


def _chance(eta: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.where(labels == 1, eta, 1.0 - eta).prod(axis=1)  # type: ignore[no-any-return]


def denoising_error(size: int) -> Proposition:
    """Check the chance that the error of total variation denoising exceeds TVB, exactly."""
    delta = 0.2
    labels = _labels()
    strength = POINTS * tv_lambda(POINTS, POINTS, delta)
    fitted = np.array([
        denoise(y.astype(float), np.ones(POINTS), strength, POINTS) for y in labels
    ])  # fmt: skip
    bound = tvb(POINTS, POINTS, 1.0, delta)

    def margins(factor: float) -> list[float]:
        return [
            delta - _chance(eta, labels)[
                np.sqrt(((fitted - eta) ** 2).mean(axis=1)) > factor * bound
            ].sum()
            for eta in _curves()
        ]  # fmt: skip

    return Proposition(
        place="Key Design 1",
        quote="The reconstruction error TVB(delta_1) is derived from",
        says="the root mean squared error of denoised labels exceeds TVB with a probability of at "
        "most delta_1",
        computed=f"delta_1 = {delta} less that probability, over all labels of {POINTS} points, "
        "for six functions of variation at most 1",
        cases=len(_curves()),
        result=smallest_margin(margins(1.0), ROUNDING),
        variant="a quarter of TVB",
        variant_result=smallest_margin(margins(0.25), ROUNDING),
    )


def coverage(size: int) -> Proposition:
    """Check the coverage of every upper bound for few samples, exactly."""
    level, scores = 0.5, np.linspace(0.05, 0.95, POINTS)
    labels = _labels()
    bounds = [
        TVKfold(variation=1.0, level=level, folds=2), TVInsample(variation=1.0, level=level),
        NWKfold(h=0.5, level=level, folds=2), NWJensen(h=0.5, level=level),
        LipBkt(h=0.5, level=level),
    ]  # fmt: skip
    smooth = [np.full(POINTS, 0.5), 1.0 - scores, np.full(POINTS, 0.05), 0.5 * scores]
    right, wrong = [], []
    for estimator in bounds:
        values = np.array([
            estimator(scores, y, np.random.default_rng(0))["l1"].high for y in labels
        ])  # fmt: skip
        for eta in smooth:
            error, chance = np.abs(eta - scores).mean(), _chance(eta, labels)
            right.append(chance[values >= error].sum() - level)
            wrong.append(chance[np.abs(labels.mean(axis=1) - scores.mean()) >= error].sum() - level)
    return Proposition(
        place="Method",
        quote="to obtain a certifiable probabilistic upper bound on CE",
        says="each upper bound is above the error of these scores with at least its probability",
        computed=f"the coverage less {level}, over all labels of {POINTS} fixed scores, for five "
        "bounds and four smooth functions; at this size the bounds are wide, so that a small loss "
        "of coverage cannot be seen",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="the difference of mean label and mean score as the bound",
        variant_result=smallest_margin(wrong, ROUNDING),
    )


def averaged_folds(size: int) -> Proposition:
    """Return the statement on folds, whose level the summary does not give."""
    return Proposition(
        place="Key Design 3",
        quote="with results aggregated to reduce variance",
        says="the average of the bounds of K folds keeps the level",
        why="the summary does not say how delta is shared by the folds; ours gives each delta / K, "
        "with which a union bound proves it",
    )


def continuity_is_too_little(size: int) -> Proposition:
    """Check that with m narrow waves, n labels tell nothing about a random continuous eta."""

    def margins(waves: float) -> list[float]:
        """Return 0.01 less the chance that two of n scores lie in the same of waves n^2 waves."""
        found = []
        for n in (10, 100, 1000):
            m = waves * n**2
            found.append(0.01 + math.expm1(sum(math.log1p(-i / m) for i in range(n))))
        return found

    return Proposition(
        place="Background",
        quote="even assuming the calibration function is continuous is insufficient",
        says="for any n there are continuous eta with error 0 and 1/2 whose samples differ only "
        "with a probability below 1 %",
        computed="the chance that two of n = 10, 100, 1,000 scores share one of 100 n^2 waves of "
        "random sign; without, the labels are fair coins for both",
        cases=3,
        result=smallest_margin(margins(100.0)),
        variant="n^2 waves",
        variant_result=smallest_margin(margins(1.0)),
    )


def rates(size: int) -> Proposition:
    """Check the rates of the best trade of bias against noise."""
    n = np.array([1e5, 1e9])

    def exponent(power: float) -> float:
        """Return the exponent of n in min over b of b^power + (n b)^(-1/2)."""
        b = np.logspace(-8, 0, 20_001)[:, None]
        best = (b**power + 1.0 / np.sqrt(n * b)).min(axis=0)
        return float(np.log(best[1] / best[0]) / np.log(n[1] / n[0]))

    def deviations(of_derivative: float, of_variation: float) -> list[float]:
        """Return distances from the rates; for variation, sqrt of the penalty n^(-1/2)."""
        ends = [tvb(int(x), int(x), 1.0, 0.05) / math.log(x) ** 0.25 for x in n]
        variation = math.log(ends[1] / ends[0]) / math.log(n[1] / n[0])
        return [exponent(1.0) - of_derivative, variation - of_variation]

    return Proposition(
        place="Key Design 2",
        quote="improving the theoretical rate from n^(-1/4) to n^(-1/3)",
        says="the terms for bounded derivatives fall as n^(-1/3), TVB as (ln n / n)^(1/4)",
        computed="exponents of n from 10^5 to 10^9: of the least b + (n b)^(-1/2), and of TVB over "
        "(ln n)^(1/4); 0.01 is allowed",
        cases=2,
        result=largest_deviation(deviations(-1 / 3, -1 / 4), 0.01),
        variant="n^(-1/4) for both",
        variant_result=largest_deviation(deviations(-1 / 4, -1 / 4), 0.01),
    )


CHECKS = (
    split_of_the_error,
    denoising_error,
    first_derivative,
    second_derivative,
    sech_or_gaussian,
    kernel_bias,
    averaged_folds,
    coverage,
    continuity_is_too_little,
    rates,
)
