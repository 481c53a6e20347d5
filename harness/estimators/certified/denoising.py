"""Upper bounds of the L1 error by total-variation denoising of the labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_choice
from harness.estimators.certified import denoising_kernels as tv
from harness.estimators.certified.base import (
    VariationBound,
    check_folds,
    random_folds,
    sort_by_score,
    transfer_bound,
    upper_bound,
)
from harness.math.concentration import dkw, empirical_bernstein

MODES = ("sharp", "basic")


@dataclass(frozen=True)
class TVKfold(VariationBound):
    """Upper bound of the L1 error for bounded variation, by denoising labels with cross-fitting.

    The bound assumes that the total variation TV(eta) of eta(s) = E[Y given S = s] is at most V,
    the field `variation`. It is the mean over the folds W_k, weighted by their sizes, of

        mean_{W_k} Z + EB(Z, delta_1) + min(1, TVB_k + PTB_k),   Z = |etahat_k(s) - s|

    with delta_1 = (1 - level) / (3 folds). etahat_k denoises the labels y of the m points outside
    fold W_k, with a penalty on the total variation. The first two terms are computed on W_k. EB is
    the width of the empirical Bernstein bound.

        etahat_k = argmin_v (1/2m) ||y - v||^2 + lambda ||Dv||_1
        lambda   = sqrt(ln(4 (groups - 1) / delta_1) / 8m)             [P]
        TVB_k    = a/2 + sqrt(a^2/4 + 2 lambda V)                      [R: lambda, D: constants]
        a        = sqrt(ln(4/delta_1) / 2m)
        PTB_k    = (V + TV(etahat_k)) sqrt(ln(2/delta_1) / 2m)         [D: the paper gives no form]

    D takes the differences of neighbouring values. Points of equal score form one of the `groups`,
    and have one value. Between the m points etahat_k is a step function.

    TVB_k bounds the root mean squared error of etahat_k at the m points. PTB_k bounds the step from
    these points to the population.

    Parameters
    ----------
    folds : int
        Number of folds, 2 to 255. `rng` draws them.
    mode : {"sharp", "basic"}
        "sharp" uses the TVB_k above, which follows by strong convexity. "basic" uses
        a + sqrt(a^2 + 4 lambda V). It is unknown which of the two the paper uses.

    Notes
    -----
    Estimand: l1. Direction: the bound is above l1 with probability `level`, at every n. Rate:
    (ln n / n)^(1/4). Determinism: statistical. Diagnostics are means over the folds, weighted by
    their sizes. Cost: O(folds n) after a sort.

    References
    ----------
    ciosek2026, Key Design 1 and 3. [P]: stated there. [R]: follows from a formula stated there.
    [D]: derived for this project (experiments/ciosek2026/NOTES.md).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> round(TVKfold()(p, y, rng)["l1"].high, 2)
    0.42
    """

    folds: int = 5
    mode: str = "sharp"

    determinism = "statistical"
    revision = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_folds(self.folds)
        check_choice("mode", self.mode, MODES)

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, variation: float
    ) -> dict[str, Estimate]:
        fold = random_folds(len(p), self.folds, rng)
        scores, labels = sort_by_score(p, y)
        return self.evaluate_sorted(scores, labels, fold, variation)

    def evaluate_sorted(
        self, scores: np.ndarray, labels: np.ndarray, fold: np.ndarray, variation: float
    ) -> dict[str, Estimate]:
        """Return the bound for ascending scores whose folds are given.

        `fold` (n,) of uint8 numbers the fold of each score, from 0 to folds - 1. The bound is valid
        only if the folds do not depend on the labels.
        """
        n, delta = len(scores), (1.0 - self.level) / (3 * self.folds)
        rest_scores, held_scores = np.empty(n + 1), np.empty(n + 1)
        rest_labels = np.empty(n + 1, np.uint8)
        starts, sums = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
        diagnostics = {"empirical": 0.0, "bernstein": 0.0, "bias": 0.0}
        for k in range(self.folds):
            m = tv.split(scores, labels, fold, k, rest_scores, rest_labels, held_scores)
            if m == n:
                continue
            if m == 0:
                diagnostics["bias"] = 1.0
                continue
            count, groups = tv.runs(rest_scores, rest_labels, m, starts, sums)
            strength = tv_lambda(m, groups, delta)
            v = tv.denoise_runs(starts, sums, m * strength, count)
            held_out = n - m
            mean, variance = tv.held_out_gaps(held_scores[:held_out], rest_scores, starts, v)
            fitted, pieces = tv.variation_and_pieces(v)
            bound = tvb(m, groups, variation, delta, self.mode)
            transfer = (variation + fitted) * dkw(m, delta)
            fold_diagnostics = {
                "empirical": mean, "bernstein": empirical_bernstein(variance, held_out, delta),
                "tvb": bound, "ptb": transfer, "bias": min(1.0, bound + transfer),
                "lambda": strength, "variation_fitted": fitted, "pieces": pieces,
            }  # fmt: skip
            for name, value in fold_diagnostics.items():
                diagnostics[name] = diagnostics.get(name, 0.0) + held_out / n * float(value)
        high = min(1.0, diagnostics["empirical"] + diagnostics["bernstein"] + diagnostics["bias"])
        if not math.isfinite(diagnostics["bernstein"]):  # some fold has a single point
            diagnostics.pop("bernstein")
        return upper_bound(high, self.level, diagnostics, n, variation=variation, delta_1=delta)


@dataclass(frozen=True)
class TVInsample(VariationBound):
    """Upper bound of the L1 error for bounded variation, by denoising labels without folds.

    The bound assumes that the total variation of eta(s) = E[Y given S = s] is at most V, the field
    `variation`. With n scores s_i and delta = 1 - level, it is

        kl+( mean_i |etahat(s_i) - s_i| + TVB, ln(1/delta_2) / n )
        delta_1 = 0.9 delta,   delta_2 = 0.1 delta

    kl+(q, c) is the largest a with kl(q || a) <= c. etahat is the denoised label of `TVKfold`,
    fitted to all n points. TVB bounds the root mean squared error of etahat at these points, with
    probability 1 - delta_1.

    The step to the population concerns |eta(s) - s|, which does not depend on etahat. The bound
    therefore has no term like PTB of `TVKfold`.

    Parameters
    ----------
    mode : {"sharp", "basic"}
        The formula of TVB, as in `TVKfold`.

    Notes
    -----
    Estimand: l1. Direction: the bound is above l1 with probability `level`, at every n. Rate:
    (ln n / n)^(1/4). Determinism: rounding. Cost: O(n) after a sort.

    References
    ----------
    Derived for this project (experiments/ciosek2026/NOTES.md).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> round(TVInsample()(p, y)["l1"].high, 2)
    0.37
    """

    mode: str = "sharp"

    revision = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("mode", self.mode, MODES)

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, variation: float
    ) -> dict[str, Estimate]:
        scores, labels = sort_by_score(p, y)
        n, delta = len(p), 1.0 - self.level
        delta_1, delta_2 = 0.9 * delta, 0.1 * delta
        starts, sums = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
        count, groups = tv.runs(scores, labels, n, starts, sums)
        strength = tv_lambda(n, groups, delta_1)
        v = tv.denoise_runs(starts, sums, n * strength, count)
        bound = tvb(n, groups, variation, delta_1, self.mode)
        fitted, pieces = tv.variation_and_pieces(v)
        more = {
            "lambda": strength,
            "tvb": bound,
            "variation_fitted": fitted,
            "pieces": pieces,
            "variation": variation,
        }
        empirical = tv.fitted_gaps(scores, starts, v)
        return transfer_bound(
            self.level, n, empirical, min(1.0, bound), 0.0, delta_1, delta_2, **more
        )


def tv_lambda(m: int, groups: int, delta: float) -> float:
    """Return lambda = sqrt(ln(4 max(groups - 1, 1) / delta) / 8m).

    lambda is the strength, per label, with which m labels of `groups` distinct scores are denoised.
    `denoising_kernels.denoise` takes the strength m lambda.
    """
    return math.sqrt(math.log(4.0 * max(groups - 1, 1) / delta) / (8.0 * m))


def tvb(m: int, groups: int, variation: float, delta: float, mode: str = "sharp") -> float:
    """Return TVB, a bound of the root mean squared error of m denoised labels.

    The formula of each `mode` is in `TVKfold`. `groups` is the number of distinct scores,
    `variation` the assumed total variation. The bound holds with probability 1 - delta.
    """
    a = math.sqrt(math.log(4.0 / delta) / (2.0 * m))
    penalty = tv_lambda(m, groups, delta) * variation
    if mode == "sharp":
        return a / 2.0 + math.sqrt(a * a / 4.0 + 2.0 * penalty)
    return a + math.sqrt(a * a + 4.0 * penalty)
