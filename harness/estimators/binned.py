"""Plug-in estimators on bins: within a bin the outcome frequency replaces C."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.estimators.base import Estimate, check_choice, check_integer
from harness.math import bin_sums, estimands, kmeans
from harness.math.notions import checked, one_hot
from harness.math.risk import ResidualGram, residuals

RULES = ("width", "mass", "kmeans")


@dataclass(frozen=True)
class Binned:
    """Plug-in estimator on bins: in each bin, the mean outcome replaces C = E[Y given p].

        l1 = sum_b (n_b / n) |mean p in b - mean y in b|

    and likewise l2_squared and, for vectors, l2; rms is the root of l2_squared; linf = max_b
    |gap_b| for scalars, and the weighted mean of max_j |gap_bj| for vectors.

    Parameters
    ----------
    bins : int
        Number of bins; empty ones do not count.
    rule : {"width", "mass", "kmeans"}
        "width": [j/B, (j+1)/B), the last one closed, so that p = 0 and p = 1 count. "mass": equal
        counts, equal p never separated. "kmeans": the clusters of k-means, the only rule for
        vectors, with a random start.

    Notes
    -----
    Biased upwards by the noise of the bin means, about sqrt(2 B / (pi n)) s for l1 near calibration
    (s^2 the mean of C (1 - C)), and downwards by gaps that cancel inside a bin. O(n log B); kmeans
    O(n B k) per iteration.

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
        # k-means also serves vectors, whose many bin means are noisier.
        return 0.3 if self.rule == "kmeans" else 0.05

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if p.ndim == 1:
            sizes, mean_p, mean_y = bin_means(p, y, self.bins, self.rule, rng)
            notion, wanted = "binary", tuple(name for name in self.estimands if name != "l2")
        else:
            assign_bins, count = partition(p, self.bins, self.rule, rng)
            sizes, mean_p, mean_y = _means(assign_bins(p), count, p, one_hot(y, p.shape[1]))
            notion, wanted = "canonical", self.estimands
        weights = sizes / len(p)
        return {
            name: Estimate(estimands.value(name, mean_p, mean_y, notion, weights))
            for name in wanted
        }

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """Return the settings that `tuned` tries (gruber2025, Appendix B)."""
        return {"bins": tuple(range(5, 101, 5))}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """Yield, for every setting, the residual products at each array of `points`.

        The feature of a prediction is the mean of p - y over the fitted samples of its bin
        (gruber2025, Section 4.1).
        """
        for setting in settings:
            binned = dataclasses.replace(self, **setting)
            assign_bins, count = partition(p, binned.bins, binned.rule, rng)
            mean = bin_residuals(p, y, assign_bins, count)
            yield [ResidualGram(mean[assign_bins(x)]) for x in points]


@dataclass(frozen=True)
class Debiased:
    """Binned squared error without the variance of the bins' outcome frequencies.

        l2_squared = sum_b (n_b / n) [(mean p - mean y)^2 - mean y (1 - mean y) / (n_b - 1)]

    Parameters
    ----------
    bins : int
        Number of bins; those of a single sample count 0.
    rule : {"width", "mass", "kmeans"}
        As in `Binned`.

    Notes
    -----
    Unbiased, except for bins of one sample, for sum_b P(b) (E[p given b] - E[y given b])^2, which
    is at most l2_squared; may be negative. O(n log B).

    References
    ----------
    Kumar, Liang and Ma (2019), NeurIPS, Definition 5.1, with the prediction in place of the
    recalibrated value of its bin.

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
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        sizes, mean_p, mean_y = bin_means(p, y, self.bins, self.rule, rng)
        return {"l2_squared": Estimate(debiased_squares(sizes, mean_p, mean_y))}


def debiased_squares(sizes: np.ndarray, mean_p: np.ndarray, mean_y: np.ndarray) -> float:
    """Return the squared error of bins without the noise of their outcome frequencies.

    Bins of a single sample count 0.
    """
    noise = mean_y * (1.0 - mean_y) / np.maximum(sizes - 1, 1)
    term = np.where(sizes > 1, (mean_p - mean_y) ** 2 - noise, 0.0)
    return float(sizes / sizes.sum() @ term)


def check_binning(bins: int, rule: str) -> None:
    """Raise BadInputError unless these are a number of bins and one of RULES."""
    check_choice("rule", rule, RULES)
    check_bins(bins)


def check_bins(bins: int) -> None:
    """Raise BadInputError unless `bins` is a positive integer."""
    check_integer("bins", bins)


def bin_means(
    p: np.ndarray, y: np.ndarray, bins: int, rule: str, rng: np.random.Generator | int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes of the non-empty bins and the means of scalars p and outcomes y in them."""
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
    """Return a function from predictions to bin numbers, and the number of bins.

    The rule is fitted on p, (n,) or (for kmeans) (n, k).
    """
    if rule == "kmeans":
        assign_bins, count = kmeans.fit(p if p.ndim == 2 else p[:, None], bins, as_seed(rng))
        return (lambda x: assign_bins(x if x.ndim == 2 else x[:, None])), count
    if p.ndim != 1:
        raise BadInputError(
            f"p has shape {p.shape}, but rule {rule!r} cuts one probability; use rule='kmeans'."
        )
    edges = bin_sums.width_edges(bins) if rule == "width" else bin_sums.mass_edges(p, bins)
    return (lambda x: np.searchsorted(edges, x, side="right")), len(edges) + 1


def bin_residuals(
    p: np.ndarray, y: np.ndarray, assign_bins: Callable[[np.ndarray], np.ndarray], count: int
) -> np.ndarray:
    """Return the mean of p - y in every bin, (bins, 1) or (bins, k).

    An empty bin gets the mean over all samples.
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
    """Return the sizes of the non-empty bins, and the means of the columns of p and y in them."""
    sizes = np.bincount(index, minlength=count)
    used = sizes > 0
    mean_p, mean_y = (
        np.column_stack([np.bincount(index, column, minlength=count) for column in a.T])[used]
        / sizes[used, None]
        for a in (p, y)
    )
    return sizes[used], mean_p, mean_y
