"""Lower bound without assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.estimators.certified.base import CertifiedBound, checked_scores
from harness.estimators.certified.bucket_kernels import epoch_sums
from harness.math.concentration import kl_lower


@dataclass(frozen=True)
class LowerPreq(CertifiedBound):
    """Lower bound of the L1 error without any assumption on eta [D].

        kl-( max(0, (1/n) sum phi_i (y_i - s_i) - sqrt((n - n_0) ln(1/delta_1) / 2) / n),
             ln(1/delta_2) / n )

    It predicts the sign of eta - s epoch by epoch, with delta_1 = delta_2 = delta / 2. It uses CE
    >= E phi(S) (Y - S) for every |phi| <= 1. Given the scores, the sums are a martingale with
    increments of range 1, because phi_i depends on earlier epochs alone.

    Samples are dealt at random into epochs of n_0 = max(32, n // 128), n_0, 2 n_0, 4 n_0 ...
    samples in expectation (in the formula n_0 is the size of the first). In an epoch phi is the
    sign of the sum of y - s over all earlier epochs in the score's bucket of equal width, and 0 in
    the first epoch. The number of buckets is, among 1, 2, 4 ... 4096 (at most n / 32), the one of
    the largest sum of phi (y - s) so far, and 8 at first.

    Notes
    -----
    Estimand: l1. Direction: below it with probability `level`, at every n. Determinism:
    statistical. Cost: O(n).

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
        p, y = checked_scores(p, y)
        if rng is None:
            raise BadInputError(
                "rng is missing; give a numpy Generator, which deals the samples into epochs."
            )
        positions = rng.random(len(p)) * len(p)
        epoch = np.searchsorted(epoch_ends(len(p)), positions, side="right").astype(np.uint8)
        return self.evaluate_epochs(p, y, epoch)

    def evaluate_epochs(
        self, p: np.ndarray, y: np.ndarray, epoch: np.ndarray
    ) -> dict[str, Estimate]:
        """Return the bound of samples with given epochs.

        Epochs are uint8, from 0, chosen without regard to the labels.
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
                    float(np.sign(_merged(gathered, b)) @ _merged(epoch_sum, b)) for b in counts
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
    """Return the ends of the epochs of `LowerPreq`: n_0, 2 n_0, 4 n_0 .. n."""
    ends = [min(max(32, n // 128), n)]
    while ends[-1] < n:
        ends.append(min(2 * ends[-1], n))
    return ends


def _merged(sums: np.ndarray, buckets: int) -> np.ndarray:
    """Return the sums of `buckets` buckets, each merged from equally many finer ones."""
    return sums.reshape(buckets, -1).sum(axis=1)


def _largest_power(x: int) -> int:
    """Return the largest power of two that is at most x, but at least 1."""
    return 1 << (max(1, x).bit_length() - 1)
