"""Plug-in estimators on bins: in each bin, the mean outcome replaces E[Y given p]."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.estimators.base import Estimate, check_choice, check_integer
from harness.math import bin_sums, estimands, kmeans
from harness.math.notions import checked_for, checked_scalars, one_hot
from harness.math.risk import ResidualGram, residuals
from harness.math.weights import weighted_rows

RULES = ("width", "mass", "kmeans")


@dataclass(frozen=True)
class Binned:
    """Plug-in estimator on bins: in each bin, the mean outcome replaces C = E[Y given p].

        gap_b      = mean p in b - mean y in b
        l1         = sum_b (n_b / n) |gap_b|
        l2_squared = sum_b (n_b / n) gap_b^2
        rms        = sqrt(l2_squared)
        linf       = max_b |gap_b|

    n_b of the n samples are in bin b. For vectors of k probabilities, y is one-hot, |.| is the
    1-norm, and gap_b^2 is the squared 2-norm. The result then also has
    l2 = sum_b (n_b / n) ||gap_b||_2, and linf is sum_b (n_b / n) max_j |gap_bj| over the classes j.

    Parameters
    ----------
    bins : int
        Number of bins, B. Some of them may be empty.
    rule : {"width", "mass", "kmeans"}
        "width": bin j is [j/B, (j+1)/B), and the last bin is closed.
        "mass": bins have equal counts, but equal p are never separated.
        "kmeans": bins are the clusters of k-means, with a random start. This is the only rule for
        vectors.

    Notes
    -----
    Biased upwards by the noise of the bin means: near calibration by about sqrt(2 B / (pi n)) s for
    l1, where s^2 is the mean of C (1 - C). Biased downwards by gaps that cancel inside a bin. Cost:
    O(n log B), or O(n B k) per iteration of k-means.

    References
    ----------
    Guo et al. (2017), ICML, eq. 3; Naeini et al. (2015), AAAI; berta2026, Figures 1 (mass) and 3
    (kmeans), Appendix A.

    Examples
    --------
    >>> estimates = Binned(bins=2)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])
    >>> round(estimates["l1"].value, 6), round(estimates["linf"].value, 6)
    (0.2, 0.25)
    """

    bins: int = 15
    rule: str = "width"

    estimands = ("l1", "l2", "l2_squared", "rms", "linf")
    revision = 1
    tunable = ("bins",)

    def __post_init__(self) -> None:
        check_binning(self.bins, self.rule)

    @property
    def notions(self) -> tuple[str, ...]:
        scalar = ("binary", "top_label", "classwise")
        return (*scalar, "canonical") if self.rule == "kmeans" else scalar

    @property
    def determinism(self) -> str:
        return "statistical" if self.rule == "kmeans" else "exact"

    @property
    def null_bias(self) -> float:
        # With k-means p may be a vector, whose bin means have more noise in total.
        return 0.3 if self.rule == "kmeans" else 0.05

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the estimates. With `sample_weight` (n,), n_b and all means are weighted."""
        p, y = checked_for(self.notions, p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        if w is not None:
            return self.of_bins(*weighted_bin_means(p, y, w, self.bins, self.rule)[:3])
        if p.ndim == 1:
            return self.of_bins(*bin_means(p, y, self.bins, self.rule, rng))
        assign_bins, count = partition(p, self.bins, self.rule, rng)
        return self.of_bins(*_means(assign_bins(p), count, p, one_hot(y, p.shape[1])))

    def of_bins(
        self, sizes: np.ndarray, mean_p: np.ndarray, mean_y: np.ndarray
    ) -> dict[str, Estimate]:
        """Return the estimates from the bins that are not empty: sizes and means of p and y.

        The sizes may be sums of weights.
        """
        notion = "binary" if mean_p.ndim == 1 else "canonical"
        wanted = [name for name in self.estimands if name != "l2" or notion == "canonical"]
        weights = sizes / sizes.sum()
        return {
            name: Estimate(estimands.value(name, mean_p, mean_y, notion, weights))
            for name in wanted
        }

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """Return the numbers of bins that `Tuned` tries by default (gruber2025, Appendix B)."""
        return {"bins": tuple(range(5, 101, 5))}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """Yield, for every setting {field: value}, the residual products at each of `points`.

        The bins are fitted to predictions p and labels y. The feature of a point is the mean of
        p - y in its bin. Residual products are inner products of the features of two points
        (gruber2025, Section 4.1).
        """
        for setting in settings:
            binned = dataclasses.replace(self, **setting)
            assign_bins, count = partition(p, binned.bins, binned.rule, rng)
            mean = bin_residuals(p, y, assign_bins, count)
            yield [ResidualGram(mean[assign_bins(x)]) for x in points]


@dataclass(frozen=True)
class Debiased:
    """Binned squared error, minus the variance of the mean outcomes of the bins.

        l2_squared = sum_b (n_b / n) [(mean p - mean y)^2 - mean y (1 - mean y) / (n_b - 1)]

    n_b of the n samples are in bin b, and means are over the samples of bin b.

    Parameters
    ----------
    bins : int
        Number of bins. A bin with a single sample counts as 0.
    rule : {"width", "mass", "kmeans"}
        How the bins are formed, as in `Binned`.

    Notes
    -----
    The estimate may be negative. It is unbiased only if c(p) = E[y given p] is constant in each bin
    and no bin has a single sample. In general, given the predictions, its mean is

        sum over bins with n_b > 1 of (n_b / n) [(mean p - mean c)^2 - var c / (n_b - 1)]

    where var c = mean c^2 - (mean c)^2 in bin b. The reason is that mean y (1 - mean y) contains
    the spread of c, which is not noise. Over predictions as well, with P(b) = q_b of fixed bins
    (rule "width"), d_b = E[p - y given b] and covariances given b, the mean is

        sum_b q_b d_b^2 [1 - (1 - q_b)^(n - 1)]
            + sum_b (1 / n) [var p - 2 cov(p, c)] [1 - (1 - q_b)^n - n q_b (1 - q_b)^(n - 1)]

    The first factor is for bins without a second sample, and the last one is P(n_b > 1). So the
    bias for sum_b q_b d_b^2 is of order B / n for B bins, and for calibrated predictions it is near
    -sum_b var p / n. The sum is at most l2_squared, and so is the mean. Cost: O(n log B).

    References
    ----------
    Kumar, Liang and Ma (2019), NeurIPS, Definition 5.1. Here the mean prediction of a bin stands in
    place of its recalibrated value.

    Examples
    --------
    >>> round(Debiased(bins=2)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["l2_squared"].value, 6)
    -0.0825
    """

    bins: int = 15
    rule: str = "mass"

    notions = ("binary", "top_label", "classwise")
    estimands = ("l2_squared",)
    revision = 1
    null_bias = 0.01
    determinism = Binned.determinism

    def __post_init__(self) -> None:
        check_binning(self.bins, self.rule)

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the estimate.

        With `sample_weight` (n,), means and shares of bins are weighted. In n_b - 1, n_b is then
        the effective number of samples of the bin, (sum w)^2 / sum w^2, so that the variance of a
        mean outcome is removed as for samples with different weights, not for repeated ones.
        """
        p, y = checked_scalars(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        if w is None:
            return self.of_bins(*bin_means(p, y, self.bins, self.rule, rng))
        return self.of_bins(*weighted_bin_means(p, y, w, self.bins, self.rule))

    def of_bins(
        self,
        sizes: np.ndarray,
        mean_p: np.ndarray,
        mean_y: np.ndarray,
        counts: np.ndarray | None = None,
    ) -> dict[str, Estimate]:
        """Return the estimate from the bins that are not empty, as `Binned.of_bins` does.

        `counts` are the effective numbers of samples if `sizes` are sums of weights.
        """
        return {"l2_squared": Estimate(debiased_squares(sizes, mean_p, mean_y, counts))}


def debiased_squares(
    sizes: np.ndarray,
    mean_p: np.ndarray,
    mean_y: np.ndarray,
    counts: np.ndarray | None = None,
) -> float:
    """Return the binned squared error minus the variance of the mean outcomes, as in `Debiased`.

    The arguments (bins,) are the numbers of samples and the means of p and y in each bin. A bin
    with a single sample counts as 0. If `sizes` are sums of weights, `counts` are the effective
    numbers of samples, which may be any numbers of at least 1.
    """
    counts = sizes if counts is None else counts
    noise = mean_y * (1.0 - mean_y) / np.where(counts > 1, counts - 1, 1)
    term = np.where(counts > 1, (mean_p - mean_y) ** 2 - noise, 0.0)
    return float(sizes / sizes.sum() @ term)


def check_binning(bins: int, rule: str) -> None:
    """Raise BadInputError unless `bins` is a positive integer and `rule` is one of RULES."""
    check_choice("rule", rule, RULES)
    check_bins(bins)


def check_bins(bins: int) -> None:
    """Raise BadInputError unless `bins` is a positive integer."""
    check_integer("bins", bins)


def weighted_bin_means(
    p: np.ndarray, y: np.ndarray, weights: np.ndarray, bins: int, rule: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (sums of weights, mean p, mean y, effective counts) of the bins that are not empty.

    p (n,) are scalars, y (n,) outcomes, and `weights` (n,) are above 0. The effective count of a
    bin is (sum w)^2 / sum w^2. BadInputError for the rule "kmeans".
    """
    if rule == "kmeans":
        raise BadInputError(
            "bins by k-means have no weighted form; give rule='width' or rule='mass', or leave out "
            "sample_weight."
        )
    edges = bin_sums.width_edges(bins)
    if rule == "mass":
        edges = bin_sums.weighted_mass_edges(p, weights, bins)
    sums, sum_p, sum_y, squares = bin_sums.weighted_sums(p, y, weights, edges)
    used = sums > 0.0
    sums, sum_p, sum_y, squares = sums[used], sum_p[used], sum_y[used], squares[used]
    return sums, sum_p / sums, sum_y / sums, sums**2 / squares


def bin_means(
    p: np.ndarray, y: np.ndarray, bins: int, rule: str, rng: np.random.Generator | int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (sizes, mean p, mean y) of the bins that are not empty, for scalars p and labels y."""
    if rule == "kmeans":
        assign_bins, count = partition(p, bins, rule, rng)
        sizes, mean_p, mean_y = _means(assign_bins(p), count, p[:, None], y[:, None])
        return sizes, mean_p[:, 0], mean_y[:, 0]
    binned = bin_sums.width_sums if rule == "width" else bin_sums.mass_sums
    sizes, sum_p, sum_y = binned(p, y, bins)
    if not sizes.all():
        used = sizes > 0
        sizes, sum_p, sum_y = sizes[used], sum_p[used], sum_y[used]
    return sizes, sum_p / sizes, sum_y / sizes


def partition(
    p: np.ndarray, bins: int, rule: str, rng: np.random.Generator | int | None = None
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """Return a function that maps predictions to bin numbers, and the number of bins.

    The bins are fitted to p, which is (n,), or (n, k) for the rule "kmeans".
    """
    if rule == "kmeans":
        assign_bins, count = kmeans.fit(p if p.ndim == 2 else p[:, None], bins, as_seed(rng))
        return (lambda x: assign_bins(x if x.ndim == 2 else x[:, None])), count
    edges = bin_sums.width_edges(bins) if rule == "width" else bin_sums.mass_edges(p, bins)
    return bin_sums.bin_finder(edges, len(p)), len(edges) + 1


def bin_residuals(
    p: np.ndarray, y: np.ndarray, assign_bins: Callable[[np.ndarray], np.ndarray], count: int
) -> np.ndarray:
    """Return the mean of p - y in every bin, (count, 1) or (count, k).

    `assign_bins` maps p to bin numbers below `count`. An empty bin gets the mean over all samples.
    """
    u, index = residuals(p, y), assign_bins(p)
    sizes = np.bincount(index, minlength=count)
    sums = np.column_stack([np.bincount(index, column, minlength=count) for column in u.T])
    if not sizes.all():
        empty = sizes == 0
        sums[empty], sizes[empty] = u.mean(axis=0), 1
    return sums / sizes[:, None]


def _means(
    index: np.ndarray, count: int, p: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (sizes, mean p, mean y) of the bins that are not empty, for p and y (n, columns).

    `index` (n,) is the bin number of each row, below `count`.
    """
    sizes = np.bincount(index, minlength=count)
    used = sizes > 0
    mean_p, mean_y = (
        np.column_stack([np.bincount(index, column, minlength=count) for column in a.T])[used]
        / sizes[used, None]
        for a in (p, y)
    )
    return sizes[used], mean_p, mean_y
