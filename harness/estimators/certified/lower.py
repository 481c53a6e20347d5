"""Lower bound of the L1 error that assumes nothing about E[Y given the score]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.estimators.certified.base import CertifiedBound
from harness.estimators.certified.bucket_kernels import epoch_sums
from harness.math.concentration import kl_lower
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class LowerPreq(CertifiedBound):
    """Lower bound of the L1 error without any assumption on E[Y given the score].

    For every function phi of the score S with |phi| <= 1, the L1 error is at least
    E phi(S) (Y - S), where Y is the label. With n scores s_i and their labels y_i, the bound is

        kl-( max(0, (1/n) sum_i phi_i (y_i - s_i) - sqrt((n - n_0) ln(1/delta_1) / 2) / n),
             ln(1/delta_2) / n )

    with delta_1 = delta_2 = (1 - level) / 2, and n_0 the number of samples in the first epoch.
    kl-(q, c) is the smallest a with kl(q || a) <= c.

    phi_i predicts the sign of y_i - s_i from other samples:

    * The samples are divided at random into epochs. The expected sizes are m, m, 2 m, 4 m, ... with
      m = max(32, n // 128).
    * In the first epoch phi_i = 0. Later, phi_i is the sign of the sum of y - s over all earlier
      samples in the bucket of s_i.
    * Buckets divide [0, 1] into equal widths. Their number is a power of two, at most 4096 and at
      most n / 32. In each epoch it is the number that gave the largest sum of phi_i (y_i - s_i) in
      earlier epochs, or 8 as long as these sums are 0.

    Given the scores, the sum is a martingale with increments of range 1, because phi_i depends on
    earlier epochs only.

    Notes
    -----
    Estimand: l1. Direction: the bound is below l1 with probability `level`, at every n.
    Determinism: statistical. Cost: O(n).

    References
    ----------
    Derived for this project (experiments/ciosek2026/NOTES.md).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> round(LowerPreq()(p, y, rng)["l1"].low, 2)
    0.15
    """

    determinism = "statistical"
    revision = 1

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        if rng is None:
            raise BadInputError(
                "rng is missing; give a numpy Generator, which divides the samples into epochs."
            )
        positions = rng.random(len(p)) * len(p)
        epoch = np.searchsorted(epoch_ends(len(p)), positions, side="right").astype(np.uint8)
        return self.evaluate_epochs(p, y, epoch)

    def evaluate_epochs(
        self, p: np.ndarray, y: np.ndarray, epoch: np.ndarray
    ) -> dict[str, Estimate]:
        """Return the bound for samples whose epochs are given.

        `epoch` (n,) of uint8 numbers the epoch of each sample, from 0. The bound is valid only if
        the epochs do not depend on the labels.
        """
        n, half_delta = len(p), (1.0 - self.level) / 2.0
        finest = _largest_power(min(4096, n // 32))
        counts = [1 << j for j in range(finest.bit_length())]
        sums = epoch_sums(p, y, epoch, len(epoch_ends(n)), finest)
        gathered, total_gains, gain = np.zeros(finest), np.zeros(len(counts)), 0.0
        best = counts.index(min(8, finest))
        for e, epoch_sum in enumerate(sums):
            if e:
                gains = [
                    float(np.sign(_merge_buckets(gathered, b)) @ _merge_buckets(epoch_sum, b))
                    for b in counts
                ]
                best = int(total_gains.argmax()) if total_gains.any() else best
                gain += gains[best]
                total_gains += gains
            gathered += epoch_sum
        later = n - int(np.count_nonzero(epoch == 0))
        deviation = math.sqrt(later * math.log(1.0 / half_delta) / 2.0) / n
        before = max(0.0, gain / n - deviation)
        value = kl_lower(before, math.log(1.0 / half_delta) / n)
        diagnostics = {
            "empirical": gain / n, "deviation": deviation, "before_transfer": before,
            "buckets": counts[best], "delta_1": half_delta, "delta_2": half_delta, "n": n,
        }  # fmt: skip
        bound = Estimate(value, low=value, level=self.level, kind="lower", diagnostics=diagnostics)
        return {"l1": bound}


def epoch_ends(n: int) -> list[int]:
    """Return the cumulative sizes of the epochs of `LowerPreq`: m, 2 m, 4 m, ..., n.

    m = max(32, n // 128) is the size of the first epoch.
    """
    ends = [min(max(32, n // 128), n)]
    while ends[-1] < n:
        ends.append(min(2 * ends[-1], n))
    return ends


def _merge_buckets(sums: np.ndarray, buckets: int) -> np.ndarray:
    """Return sums over `buckets` equal buckets from sums over a multiple of that number."""
    return sums.reshape(buckets, -1).sum(axis=1)


def _largest_power(x: int) -> int:
    """Return the largest power of two that is at most x, or 1 if x is below 1."""
    return 1 << (max(1, x).bit_length() - 1)
