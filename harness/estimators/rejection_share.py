"""Test-based calibration error: the share of predictions that a binomial test rejects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.special import bdtr, bdtrc, gammaln, xlog1py, xlogy

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked_scalars

EQUAL = 1e-7  # relative difference of probabilities that count as equal, as in scipy's binomtest


@dataclass(frozen=True)
class RejectionShare:
    """Test-based calibration error (TCE): the share of predictions that the outcomes reject.

        tce = #{i : p_value_i <= alpha} / n

    p_value_i is that of the exact, two-sided binomial test of p_i. It compares p_i with the
    outcomes of its bin: k successes among m samples. It is the sum of the binomial probabilities of
    all counts that are no more probable than k, if each outcome has the probability p_i.

    Parameters
    ----------
    alpha : float
        Level of the tests.
    smallest, largest : float
        Smallest and largest size of a bin, as shares of n, rounded down to at least one sample.

    Notes
    -----
    **Estimand.** `tce`, which this estimator defines. It has no unit and depends on n: it rises to
    the share of wrong predictions as the bins fill. It is no distance between p and E[Y given p].
    The authors multiply it by 100.

    **Bias.** Under calibration tce is not 0, but of the order of alpha. It is larger because the
    bins are fitted to the outcomes, and because predictions differ within a bin. With n = 2,000 it
    was 0.09 for p ~ Beta(1/2, 1/2).

    **Bins.** Isotonic regression by pooling adjacent violators, with constraints (PAVA-BC). From
    the left, a sample joins the last bin if this is too small. Neighbours whose means do not
    increase are pooled unless their bin becomes too large. The last samples form a bin of the
    smallest size.
    It joins the bin before it if this is too small or the sum is not too large. Differences from
    the authors' code: equal p are never separated, so that a bin may be larger. Their code allows
    the last bin to be too large.

    **Diagnostics.** `bins`, the number of bins. **Cost.** O(n log n).

    References
    ----------
    Matsubara, Tax, Mudd and Guy (2023), TCE: a test-based approach to measuring calibration error,
    UAI. The default sizes are those of their experiments.

    Examples
    --------
    >>> RejectionShare(largest=1.0)([0.02] * 3 + [0.5] * 17, [1] * 20)["tce"].value
    1.0
    """

    alpha: float = 0.05
    smallest: float = 0.05
    largest: float = 0.2

    notions = ("binary", "top_label", "classwise")
    estimands = ("tce",)
    determinism = "exact"
    revision = 1
    null_bias = 0.15
    seconds = 0.003

    def __post_init__(self) -> None:
        for name in ("alpha", "smallest", "largest"):
            value = getattr(self, name)
            if not (is_positive(value) and value <= 1.0):
                raise BadInputError(
                    f"{name} is {value!r}; a number above 0 and of at most 1 is needed."
                )
        if self.smallest > self.largest:
            raise BadInputError(
                f"smallest is {self.smallest} and largest is {self.largest}; smallest must not "
                "exceed largest."
            )

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the share of rejected predictions p (n,), for outcomes y (n,)."""
        p, y = checked_scalars(p, y)
        n = len(p)
        values, index, counts = np.unique(p, return_inverse=True, return_counts=True)
        hits = np.bincount(index, y, len(values)).astype(np.int64)
        least, most = max(1, int(self.smallest * n)), max(1, int(self.largest * n))
        sizes, successes, lengths = pool(counts, hits, least, most)
        k, m = np.repeat(successes, lengths), np.repeat(sizes, lengths)
        share = float(counts[binomial_p_values(k, m, values) <= self.alpha].sum() / n)
        return {"tce": Estimate(share, diagnostics={"bins": float(len(sizes))})}


@njit(cache=True)
def pool(
    counts: np.ndarray, hits: np.ndarray, least: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sizes, successes and numbers of different predictions of the bins of PAVA-BC.

    `counts` and `hits` (m,) are the numbers of samples and of successes of each prediction, in
    ascending order. `least` and `most` bound the size of a bin.
    """
    sizes, successes, lengths = counts.copy(), hits.copy(), np.ones_like(counts)
    tail, tail_size = len(counts), 0  # the predictions from `tail` on are the last bin
    while tail > 0 and tail_size < least:
        tail -= 1
        tail_size += counts[tail]
    last = -1  # number of the last bin
    for j in range(tail + 1):
        last += 1
        if j < tail:
            sizes[last], successes[last], lengths[last] = counts[j], hits[j], 1
        else:
            sizes[last], successes[last] = tail_size, hits[tail:].sum()
            lengths[last] = len(counts) - tail
        while last > 0:
            before = last - 1
            fits = sizes[before] + sizes[last] <= most
            falls = successes[before] * sizes[last] >= successes[last] * sizes[before]
            if not (sizes[before] < least or (fits and (falls or j == tail))):
                break
            sizes[before] += sizes[last]
            successes[before] += successes[last]
            lengths[before] += lengths[last]
            last = before
            if j == tail:
                break
    return sizes[: last + 1], successes[: last + 1], lengths[: last + 1]


def binomial_p_values(k: np.ndarray, m: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return exact two-sided p-values of k successes in m trials under the probability p, (n,).

    A p-value is the sum of the binomial probabilities of all counts that are no more probable
    than k.
    """
    above = k > m * p
    k, p = np.where(above, m - k, k), np.where(above, 1.0 - p, p)  # now k <= m p
    at_most = _log_probability(k, m, p) + np.log1p(EQUAL)
    # Probabilities fall from ceil(m p) on. Find the first count that is no more probable than k.
    low, high = np.ceil(m * p).astype(np.int64), m + 1
    while (low < high).any():
        middle = (low + high) // 2
        rare = _log_probability(np.minimum(middle, m), m, p) <= at_most
        high, low = np.where(rare, middle, high), np.where(rare, low, middle + 1)
        low = np.minimum(low, high)
    both = bdtr(k, m, p) + np.where(low > m, 0.0, bdtrc(np.maximum(low - 1, 0), m, p))
    return np.where(k == m * p, 1.0, np.minimum(both, 1.0))


def _log_probability(k: np.ndarray, m: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the logarithm of the binomial probability of k successes in m trials."""
    choices = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
    return np.asarray(choices + xlogy(k, p) + xlog1py(m - k, -p))
