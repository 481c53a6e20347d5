"""Plug-in estimators on bins: within a bin the outcome frequency stands for C."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math import bin_sums, estimands, kmeans
from harness.math.notions import checked, one_hot
from harness.math.risk import ResidualGram, residuals

RULES = ("width", "mass", "kmeans")


@dataclass(frozen=True)
class Binned:
    """The plug-in estimator on bins: in each bin, the mean outcome stands for C = E[Y given p].

        l1 = sum_b (n_b / n) |mean p in b - mean y in b|

    and likewise l2_squared and, for vectors, l2; rms is the root of l2_squared; linf = max_b |gap_b| for scalars, and the
    weighted mean of max_j |gap_bj| for vectors.

    Parameters
    ----------
    bins : int
        How many bins; empty ones do not count.
    rule : {"width", "mass", "kmeans"}
        "width": [j/B, (j+1)/B), the last one closed, so that p = 0 and p = 1 count. "mass": equal counts, equal p never
        separated. "kmeans": the clusters of k-means, the only rule for vectors, random in its start.

    Notes
    -----
    Biased upwards by the noise of the bin means, about sqrt(2 B / (pi n)) s for l1 near
    calibration (s^2 the mean of C (1 - C)), and downwards by what cancels inside a bin. O(n); kmeans O(n B k) per iteration.

    References
    ----------
    Guo et al. (2017), ICML, eq. 3; Naeini et al. (2015), AAAI; berta2026, Figures 1 (mass) and 3 (kmeans), Appendix A.

    Examples
    --------
    >>> found = Binned(bins=2)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])
    >>> round(found["l1"].value, 6), round(found["linf"].value, 6)
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
        return (
            0.3 if self.rule == "kmeans" else 0.05
        )  # k-means also serves vectors, whose many bin means are noisier

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if p.ndim == 1:
            sizes, mean_p, mean_y = bin_means(p, y, self.bins, self.rule, rng)
            notion, wanted = "binary", tuple(name for name in self.estimands if name != "l2")
        else:
            sizes, mean_p, mean_y = _vector_bin_means(p, y, self.bins, self.rule, rng)
            notion, wanted = "canonical", self.estimands
        weights = sizes / len(p)
        return {
            name: Estimate(estimands.value(name, mean_p, mean_y, notion, weights))
            for name in wanted
        }

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """What `tuned` tries (gruber2025, Appendix B)."""
        return {"bins": tuple(range(5, 101, 5))}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """For every setting, residual products at every array of `points`: the feature of a prediction is the mean of p - y over
        the fitted samples of its bin (gruber2025, Section 4.1)."""
        for one in settings:
            own = dataclasses.replace(self, **one)
            bin_of, count = partition(p, own.bins, own.rule, rng)
            mean = bin_residuals(p, y, bin_of, count)
            yield [ResidualGram(mean[bin_of(x)]) for x in points]


@dataclass(frozen=True)
class Debiased:
    """The binned squared error without the variance of the bins' outcome frequencies.

        l2_squared = sum_b (n_b / n) [(mean p - mean y)^2 - mean y (1 - mean y) / (n_b - 1)]

    Parameters
    ----------
    bins : int
        How many bins; those of a single sample count 0.
    rule : {"width", "mass", "kmeans"}
        As in `Binned`.

    Notes
    -----
    Unbiased, but for bins of one sample, for sum_b P(b) (E[p given b] - E[y given b])^2, which is at most l2_squared; may be
    negative. O(n).

    References
    ----------
    Kumar, Liang and Ma (2019), NeurIPS, Definition 5.1, with the prediction in place of the recalibrated value of its bin.

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
        noise = mean_y * (1.0 - mean_y) / np.maximum(sizes - 1, 1)
        term = np.where(sizes > 1, (mean_p - mean_y) ** 2 - noise, 0.0)
        return {"l2_squared": Estimate(float(sizes / len(p) @ term))}


def check_binning(bins: int, rule: str) -> None:
    """Raise BadInputError unless these are a number of bins and one of RULES."""
    if rule not in RULES:
        raise BadInputError(f"rule is {rule!r}; allowed are {', '.join(RULES)}.")
    check_bins(bins)


def check_bins(bins: int) -> None:
    """Raise BadInputError unless it is a positive integer."""
    if not (is_positive(bins) and int(bins) == bins):
        raise BadInputError(f"bins is {bins!r}; an integer of at least 1 is needed.")


def bin_means(
    p: np.ndarray, y: np.ndarray, bins: int, rule: str, rng: np.random.Generator | int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes of the bins that are not empty, and the means of scalar p and of outcomes y, integers in {0, 1}, in them."""
    if rule == "kmeans":
        bin_of, count = partition(p, bins, rule, rng)
        return _means(bin_of(p), count, p[:, None], y[:, None], squeeze=True)
    binned = bin_sums.width_sums if rule == "width" else bin_sums.mass_sums
    sizes, sum_p, sum_y = binned(p, y, bins)
    if not sizes.all():
        used = sizes > 0
        sizes, sum_p, sum_y = sizes[used], sum_p[used], sum_y[used]
    return sizes, sum_p / sizes, sum_y / sizes


def partition(
    p: np.ndarray, bins: int, rule: str, rng: np.random.Generator | int | None = None
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """(function from predictions to bin numbers, number of bins) of the rule on predictions p, (n,) or (for kmeans) (n, k)."""
    if rule == "kmeans":
        bin_of, count = kmeans.fitted(p if p.ndim == 2 else p[:, None], bins, as_seed(rng))
        return (lambda x: bin_of(x if x.ndim == 2 else x[:, None])), count
    if p.ndim != 1:
        raise BadInputError(
            f"p has shape {p.shape}, but rule {rule!r} cuts one probability; use rule='kmeans'."
        )
    edges = bin_sums.width_edges(bins) if rule == "width" else bin_sums.mass_edges(p, bins)
    return (lambda x: np.searchsorted(edges, x, side="right")), len(edges) + 1


def _vector_bin_means(
    p: np.ndarray, y: np.ndarray, bins: int, rule: str, rng: np.random.Generator | int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    bin_of, count = partition(p, bins, rule, rng)
    return _means(bin_of(p), count, p, one_hot(y, p.shape[1]))


def bin_residuals(
    p: np.ndarray, y: np.ndarray, bin_of: Callable[[np.ndarray], np.ndarray], count: int
) -> np.ndarray:
    """Mean of p - y in every bin, (bins, 1) or (bins, k); an empty bin takes the mean over all samples."""
    u, index = residuals(p, y), bin_of(p)
    sizes = np.bincount(index, minlength=count)
    sums = np.column_stack([np.bincount(index, column, minlength=count) for column in u.T])
    if not sizes.all():
        empty = sizes == 0
        sums[empty], sizes[empty] = u.mean(axis=0), 1
    return sums / sizes[:, None]


def _means(
    index: np.ndarray, count: int, p: np.ndarray, y: np.ndarray, squeeze: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sizes = np.bincount(index, minlength=count)
    used = sizes > 0
    mean_p, mean_y = (
        np.column_stack([np.bincount(index, column, minlength=count) for column in a.T])[used]
        / sizes[used, None]
        for a in (p, y)
    )
    return (sizes[used], mean_p[:, 0], mean_y[:, 0]) if squeeze else (sizes[used], mean_p, mean_y)
