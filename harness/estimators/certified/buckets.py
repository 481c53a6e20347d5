"""Upper bound of the L1 error by buckets of equal width."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_choice, check_integer
from harness.estimators.certified.base import (
    PerturbationBound,
    deviation_width,
    sort_by_score,
    transfer_bound,
    upper_bound,
)
from harness.estimators.certified.bucket_kernels import smooth_buckets
from harness.math.sech_noise import slope_bound

FORMS = ("classical", "jensen")
LARGEST_BUCKETS = 1 << 30


@dataclass(frozen=True)
class LipBkt(PerturbationBound):
    """Upper bound of the L1 error for perturbed scores, by buckets of equal width.

    The bound assumes that eta(s) = E[Y given S = s] has a derivative |eta'| <= L = 1/(2h). This
    holds for scores that were perturbed with a bandwidth of at least h (`harness.perturb`). With n
    scores s_i, their labels y_i, B buckets and delta = 1 - level, the form "classical" is

        E_B + (1 + L) / B + sqrt(2 (B ln 2 + ln(1/delta)) / n)
        E_B = (1/n) sum_b |sum_{i in b} (y_i - s_i)|

    Inside a bucket, the mean of |eta - s| exceeds the absolute mean of eta - s by at most the
    oscillation of eta - s, which is at most (1 + L) / B. The square root bounds the noise of E_B,
    which is the largest of 2^B means of variables in [-1, 1].

    The form "jensen" is, with delta_1 = delta_2 = delta / 2,

        kl+( mean_j |etahat_j - s_j| + mean_j min(1, L mean_i |s_i - s_j|)
             + sqrt(ln(1/delta_1) / 2n),  ln(1/delta_2) / n )

    etahat_j is the mean label in the bucket of point j, and mean_i runs over the points of that
    bucket. kl+(q, c) is the largest a with kl(q || a) <= c.

    Parameters
    ----------
    buckets : int or None
        B. None takes (2 (1 + L))^(2/3) (n / (2 ln 2))^(1/3) for "classical" and
        (L / 0.64)^(2/3) n^(1/3) for "jensen", rounded.
    form : {"classical", "jensen"}
        Which of the two formulas.

    Notes
    -----
    Estimand: l1. Direction: the bound is above l1 with probability `level`, at every n. Rate:
    n^(-1/3). Determinism: rounding. Cost: O(n) for "classical", O(n log n) for "jensen".

    References
    ----------
    ciosek2026, where the form "classical" is the baseline Lip+Bkt. Its constants and the form
    "jensen" are derived for this project (experiments/ciosek2026/NOTES.md).

    Examples
    --------
    >>> import numpy as np
    >>> from harness import perturb
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> s = perturb(p, 1 / 64, rng)
    >>> round(LipBkt()(s, y)["l1"].high, 2), round(LipBkt(form="jensen")(s, y)["l1"].high, 2)
    (0.49, 0.24)
    """

    buckets: int | None = None
    form: str = "classical"

    revision = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buckets is not None:
            check_integer("buckets", self.buckets)
        check_choice("form", self.form, FORMS)

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, h: float
    ) -> dict[str, Estimate]:
        n, delta, slope = len(p), 1.0 - self.level, slope_bound(h)
        if self.form == "jensen":
            return self._jensen(p, y, h, slope)
        best = (2.0 * (1.0 + slope)) ** (2 / 3) * (n / (2.0 * math.log(2.0))) ** (1 / 3)
        # With more than n buckets the deviation alone would exceed 1.
        buckets = int(self.buckets or max(1, round(min(best, n))))
        bucket = np.minimum((p * buckets).astype(np.int64), buckets - 1)
        empirical = float(np.abs(np.bincount(bucket, y - p, minlength=buckets)).sum()) / n
        bias = (1.0 + slope) / buckets
        deviation = math.sqrt(2.0 * (buckets * math.log(2.0) + math.log(1.0 / delta)) / n)
        diagnostics = {"empirical": empirical, "bias": bias, "deviation": deviation}
        high = min(1.0, empirical + bias + deviation)
        return upper_bound(
            high, self.level, diagnostics, n, h=h, slope=slope, buckets=buckets, delta_1=delta
        )

    def _jensen(self, p: np.ndarray, y: np.ndarray, h: float, slope: float) -> dict[str, Estimate]:
        """Return the upper bound on the L1 error of scores p and labels y, by form "jensen".

        It assumes that the derivative of eta lies in [-slope, slope].
        """
        n, half_delta = len(p), (1.0 - self.level) / 2.0
        best = (slope / 0.64) ** (2 / 3) * n ** (1 / 3)
        buckets = int(self.buckets or max(1, round(min(best, LARGEST_BUCKETS))))
        scores, labels = sort_by_score(p, y)
        empirical, bias = smooth_buckets(scores, labels, buckets, slope)
        deviation = deviation_width(1.0 / n, half_delta)
        more = {"h": h, "slope": slope, "buckets": buckets}
        return transfer_bound(
            self.level, n, empirical, bias, deviation, half_delta, half_delta, **more
        )
