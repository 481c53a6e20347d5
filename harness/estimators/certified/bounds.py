"""Certified bounds of the binary L1 calibration error CE = E |eta(S) - S|, eta(s) = E[Y given S = s]: valid at every sample size
and for every law of the score, atoms included.

All upper bounds split CE_n = (1/n) sum |eta(s_i) - s_i|, the error at the sample's scores, from its expectation CE:

    empirical    what the labels show: the mean of |etahat(s_i) - s_i| for a surrogate etahat of eta
    bias         how far etahat may be from eta (by an assumption on eta), and
    deviation    how far the labels may have been from their mean (McDiarmid), together CE_n with probability 1 - delta_1,
    transfer     from CE_n to CE: kl inversion, valid with probability 1 - delta_2 as |eta(S) - S| are i.i.d. in [0, 1].

The assumption is either a variation TV(eta) <= V on [0, 1] (V = 1 for monotone eta), or derivatives of eta bounded, which scores
get by the sech perturbation of bandwidth h (harness.math.sech_noise). Where a problem declares `variation` or `perturbation` and the
assumption is known to be false, there is no estimate: nothing is certified by it.

Labels: [P] stated in ciosek2026, [R] forced by a formula stated there, [D] derived for this project; proofs of [R] and [D] are in
experiments/ciosek2026/NOTES.md. Every estimate carries its ingredients in `diagnostics`.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, is_positive
from harness.math.concentration import dkw, empirical_bernstein, kl_lower, kl_upper
from harness.math.notions import checked
from harness.math.sech_noise import curvature_bound, slope_bound

QUERIES = 2000  # points by which bandwidths are chosen; each of K folds has 1 / K of them
MOST = 30_000_000  # samples whose windows keep their sums of squares below 2^63 (harness.estimators.certified.windows)
MOST_BUCKETS = 1 << 30
LARGEST_STEP = 60  # bandwidths 2^(-3 - j/4), j = 0..60
SECOND = {"sharp": lambda h: curvature_bound(h), "paper": lambda h: curvature_bound(h, "paper"), "none": lambda h: math.inf}


@dataclass(frozen=True)
class TVKfold:
    """Upper bound by total-variation denoising and cross-fitting. Assumes TV(eta) <= variation.

    sum_k (|W_k| / n) [mean Z + EB(Z, delta / 3K) + min(1, TVB_k + PTB_k)], Z = |etahat_k(s) - s| on fold W_k, etahat_k = argmin
    (1/2m) ||y - v||^2 + lambda ||Dv||_1 on the other folds T_k (m points, equal scores one group), lambda = sqrt(ln(4 (groups -
    1) / delta_1) / 8m) [P], continued as a step function; TVB = a/2 + sqrt(a^2/4 + 2 lambda V), a = sqrt(ln(4/delta_1) / 2m),
    bounds sqrt((1/m) sum (etahat - eta)^2) [R: lambda identifies it, constants D]; mode "basic": a + sqrt(a^2 + 4 lambda V),
    without strong convexity (which of the two is the paper's is unknown); PTB = (V + TV(etahat)) sqrt(ln(2/delta_1) / 2m), from
    T_k to the population [D; the paper's form is unknown]; EB the empirical Bernstein width; every delta_1 is delta / 3K.

    Rate (ln n / n)^(1/4). Parts are means over the folds, weighted by their sizes. O(folds n) after a sort.
    ciosek2026, Key Design 1 and 3.
    """

    folds: int = 5
    variation: float | None = 1.0
    mode: str = "sharp"
    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "statistical"
    revision = 1
    seconds = 0.0005
    wants = ("problem",)

    def __post_init__(self):
        _check_level(self.level)
        _check_variation(self.variation)
        _check_folds(self.folds)
        if self.mode not in ("sharp", "basic"):
            raise BadInputError(f"mode is {self.mode!r}; allowed are sharp, basic.")

    def __call__(self, p, y, rng=None, problem=None):
        p, y = _checked(p, y)
        variation = _variation(self.variation, problem)
        fold = _folds(len(p), self.folds, rng)
        scores, labels = in_order(p, y)
        return self.of_sorted(scores, labels, fold, variation)

    def of_sorted(self, scores, labels, fold, variation):
        """The bound of ascending scores with given folds (uint8, 0..folds - 1, assigned without regard to the labels)."""
        from harness.estimators.certified import total_variation as tv

        n, delta = len(scores), (1.0 - self.level) / (3 * self.folds)
        some_scores, some_labels, held_scores = np.empty(n + 1), np.empty(n + 1, np.uint8), np.empty(n + 1)
        starts, sums = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
        diagnostics = {"empirical": 0.0, "bernstein": 0.0, "bias": 0.0}
        for k in range(self.folds):
            m = tv.split(scores, labels, fold, k, some_scores, some_labels, held_scores)
            if m == n:
                continue
            if m == 0:
                diagnostics["bias"] = 1.0
                continue
            count, groups = tv.runs(some_scores, some_labels, m, starts, sums)
            strength = tv_lambda(m, groups, delta)
            v = tv.denoise_runs(starts, sums, m * strength, count)
            held = n - m
            mean, variance = tv.held_out_gaps(held_scores[:held], some_scores, starts, v)
            fitted, pieces = tv.variation_and_pieces(v)
            bound, transfer = tvb(m, groups, variation, delta, self.mode), (variation + fitted) * dkw(m, delta)
            of_fold = {
                "empirical": mean, "bernstein": empirical_bernstein(variance, held, delta), "tvb": bound, "ptb": transfer,
                "bias": min(1.0, bound + transfer), "lambda": strength, "variation_fitted": fitted,
                "pieces": pieces,
            }  # fmt: skip
            for name, value in of_fold.items():
                diagnostics[name] = diagnostics.get(name, 0.0) + held / n * float(value)
        high = min(1.0, diagnostics["empirical"] + diagnostics["bernstein"] + diagnostics["bias"])
        if not math.isfinite(diagnostics["bernstein"]):  # a fold of one point
            diagnostics.pop("bernstein")
        return _upper(high, self.level, diagnostics, n, variation=variation, delta_1=delta)


@dataclass(frozen=True)
class TVInsample:
    """Upper bound by total-variation denoising without folds [D]. Assumes TV(eta) <= variation.

    kl+(mean |etahat(s_i) - s_i| + TVB(0.9 delta), ln(1 / 0.1 delta) / n), etahat and TVB as in `TVKfold` but fitted to all
    points: TVB bounds the error at the sample's scores, and the transfer to the population is of |eta(s) - s|, where etahat plays
    no part. Rate (ln n / n)^(1/4). O(n) after a sort."""

    variation: float | None = 1.0
    mode: str = "sharp"
    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    seconds = 0.0005
    wants = ("problem",)

    def __post_init__(self):
        _check_level(self.level)
        _check_variation(self.variation)
        if self.mode not in ("sharp", "basic"):
            raise BadInputError(f"mode is {self.mode!r}; allowed are sharp, basic.")

    def __call__(self, p, y, rng=None, problem=None):
        from harness.estimators.certified import total_variation as tv

        p, y = _checked(p, y)
        variation = _variation(self.variation, problem)
        scores, labels = in_order(p, y)
        n, delta = len(p), 1.0 - self.level
        delta_1, delta_2 = 0.9 * delta, 0.1 * delta
        starts, sums = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
        count, groups = tv.runs(scores, labels, n, starts, sums)
        strength = tv_lambda(n, groups, delta_1)
        v = tv.denoise_runs(starts, sums, n * strength, count)
        bound = tvb(n, groups, variation, delta_1, self.mode)
        fitted, pieces = tv.variation_and_pieces(v)
        more = {"lambda": strength, "tvb": bound, "variation_fitted": fitted, "pieces": pieces, "variation": variation}
        empirical = tv.own_gaps(scores, starts, v)
        return _transferred(self.level, n, empirical, min(1.0, bound), 0.0, delta_1, delta_2, **more)


@dataclass(frozen=True)
class BVWindow:
    """Upper bound by means over rank windows [D]. Assumes TV(eta) <= variation.

    kl+(mean |etahat_j - s_j| + V max_t A_t + sqrt(ln(1/delta_1) sum c_i^2 / 2), ln(1/delta_2) / n), delta_1 = delta_2 = delta /
    2. etahat_j: label mean over all points within `window` ranks of j's group of equal scores (itself included); groups stay
    whole, and a group of more than `window` points is its own window and in no other's. A_t: mean over j of the share of j's
    window beyond the boundary t, so that jumps of eta, which sum to at most V, bias the smoother by at most V max A_t on average.
    c_i: column sums of the weights over n. By Jensen the noise of etahat only raises the first term, so that there is no term for
    it. window null: (0.8 sbar n / (sqrt 2 V))^(2/3), sbar = mean sqrt(max(s (1 - s), 0.01)).

    Rate n^(-1/3) under the assumption of `TVKfold`. O(n) after a sort."""

    variation: float | None = 1.0
    window: int | None = None
    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    seconds = 0.0005
    wants = ("problem",)

    def __post_init__(self):
        _check_level(self.level)
        _check_variation(self.variation)
        if self.window is not None and not (is_positive(self.window) and int(self.window) == self.window):
            raise BadInputError(
                f"window is {self.window!r}; a positive integer, or null (chosen by n and the scores), is needed."
            )

    def __call__(self, p, y, rng=None, problem=None):
        from harness.estimators.certified.windows import smooth_ranks

        p, y = _checked(p, y)
        variation = _variation(self.variation, problem)
        scores, labels = in_order(p, y)
        n, half_delta = len(p), (1.0 - self.level) / 2.0
        window = int(self.window or n)
        if self.window is None and variation > 0:
            spread = float(np.sqrt(np.maximum(scores * (1.0 - scores), 0.01)).mean())
            window = max(1, round(min(n**1.5, 0.8 * spread * n / (math.sqrt(2.0) * variation)) ** (2.0 / 3.0)))
        empirical, largest, squares = smooth_ranks(scores, labels, int(min(window, n)))
        more = {"window": window, "largest_share": largest, "variation": variation}
        bias, deviation = min(1.0, variation * largest), _mcdiarmid(squares, half_delta)
        return _transferred(self.level, n, empirical, bias, deviation, half_delta, half_delta, **more)


@dataclass(frozen=True)
class NWKfold:
    """Upper bound by a cross-fitted Nadaraya-Watson smoother. Assumes scores perturbed with bandwidth at least h, or
    |eta'| <= 1/(2h) and |eta''| <= L2.

    kl+(mean_j |etahat(s_j) - s_j| + mean_j g(s_j) + sqrt(ln(1/delta_1) sum c_i^2 / 2), ln(1/delta_2) / n), delta_1 = delta_2 =
    delta / 2; etahat the label mean of the other folds within the bandwidth b [box kernel D: compact support by the paper's
    linear time], g = min{1, sqrt(beta^2 + 1/(4N))} >= E |etahat - eta| [D form; the paper has a g_T(s')], beta = min{1, L1 mean
    |d|, L1 |mean d| + L2 mean d^2 / 2} with the window's distances d; c_i column sums of the weights [D]. Without a neighbour
    etahat = g = 1/2. L1 = 1/(2h) [P]; second "sharp": L2 = 1/(2h^2) [D], "paper": 3/(2h^2) [P], "none": first order alone.
    bandwidth null: per fold the minimiser of the mean of g on up to 2,000 / K of its points among 2^(-3 - j/4), scores alone.

    Rate n^(-1/3) with the first order alone. O(n) per distinct bandwidth, after a sort. ciosek2026, Key Design 2 and 3.
    """

    folds: int = 5
    h: float | None = 0.015625
    second: str = "sharp"
    bandwidth: float | None = None
    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "statistical"
    revision = 1
    seconds = 0.0005
    wants = ("problem",)
    max_n: ClassVar[int] = MOST

    def __post_init__(self):
        _check_level(self.level)
        _check_smoother(self)
        _check_folds(self.folds)

    def __call__(self, p, y, rng=None, problem=None):
        p, y = _checked(p, y)
        _check_size(len(p))
        h = _perturbation(self.h, problem)
        fold = _folds(len(p), self.folds, rng)
        scores, labels = in_order(p, y)
        return self.of_sorted(scores, labels, fold, h)

    def of_sorted(self, scores, labels, fold, h):
        """The bound of ascending scores with given folds (uint8, 0..folds - 1, assigned without regard to the labels)."""
        from harness.estimators.certified import windows

        n, half_delta = len(scores), (1.0 - self.level) / 2.0
        slope, curvature = slope_bound(h), SECOND[self.second](h)
        if self.bandwidth is None:
            sums = windows.block_sums(scores, fold, self.folds)
            totals = np.bincount(fold, minlength=self.folds)
            chosen = np.zeros(self.folds)
            for k in range(self.folds):
                ranks = _evenly(int(totals[k]), QUERIES // self.folds)
                if len(ranks):
                    queries = windows.members(fold, sums, k, ranks)
                    cost = partial(windows.mean_cost, scores, fold, sums, queries, slope, curvature, k)
                    chosen[k] = best_step(cost)
        else:
            chosen = np.full(self.folds, float(self.bandwidth))
        reach, gap, error = np.zeros(n), 0.0, 0.0
        for b in np.unique(chosen):
            found = windows.smooth_held_out(scores, labels, fold, chosen == b, b, slope, curvature, reach)
            gap, error = gap + found[0], error + found[1]
        deviation = _mcdiarmid(float(reach @ reach) / n / n, half_delta)
        more = {"h": h, "slope": slope, "curvature": curvature, "bandwidth": float(chosen.mean())}
        return _transferred(self.level, n, gap / n, error / n, deviation, half_delta, half_delta, **more)


@dataclass(frozen=True)
class NWJensen:
    """Upper bound by a Nadaraya-Watson smoother of all points [D]. Assumes scores perturbed with bandwidth at least h, or
    |eta'| <= 1/(2h) and |eta''| <= L2.

    kl+(mean_j |etahat_j - s_j| + mean_j beta_j + sqrt(ln(1/delta_1) sum c_i^2 / 2), ln(1/delta_2) / n), delta_1 = delta_2 = delta
    / 2, etahat, beta, c and `second` as in `NWKfold`, without folds, the point itself included. By Jensen, E[mean |etahat - s|
    given the scores] >= mean |eta - s| - mean beta: no term for the smoother's noise, whence it is tighter. bandwidth null: among
    2^(-3 - j/4) the one of least mean beta + 0.8 sqrt(max(s (1 - s), 0.01) / N), scores alone. histogram: on that many bits'
    equal cells (null = exact): no sort, O(n + cells); 0.5 cell is added to the first term and every distance is taken as known to
    within a cell.

    Rate n^(-2/5) for fixed h. O(n) after a sort."""

    h: float | None = 0.015625
    second: str = "sharp"
    bandwidth: float | None = None
    histogram: int | None = None
    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    seconds = 0.0005
    wants = ("problem",)
    max_n: ClassVar[int] = MOST

    def __post_init__(self):
        _check_level(self.level)
        _check_smoother(self)
        if self.histogram is not None and not (
            is_positive(self.histogram) and int(self.histogram) == self.histogram and 4 <= self.histogram <= 22
        ):
            raise BadInputError(
                f"histogram is {self.histogram!r}; an integer from 4 to 22 (2^histogram cells), or null, is needed."
            )

    def __call__(self, p, y, rng=None, problem=None):
        p, y = _checked(p, y)
        _check_size(len(p))
        h = _perturbation(self.h, problem)
        n, half_delta = len(p), (1.0 - self.level) / 2.0
        slope, curvature = slope_bound(h), SECOND[self.second](h)
        smoothed = self._exact if self.histogram is None else self._cells
        empirical, bias, squares, bandwidth = smoothed(p, y, slope, curvature)
        deviation = _mcdiarmid(squares, half_delta)
        more = {"h": h, "slope": slope, "curvature": curvature, "bandwidth": bandwidth}
        return _transferred(self.level, n, empirical, bias, deviation, half_delta, half_delta, **more)

    def _exact(self, p, y, slope, curvature):
        from harness.estimators.certified import windows

        scores, labels = in_order(p, y)
        b = self.bandwidth
        if b is None:
            fold = np.zeros(len(scores), np.uint8)
            sums, queries = windows.block_sums(scores, fold, 1), _evenly(len(scores))
            b = best_step(partial(windows.mean_cost, scores, fold, sums, queries, slope, curvature, -1))
        reach = np.empty(len(scores))
        empirical, bias = windows.smooth_self(scores, labels, float(b), slope, curvature, reach)
        return empirical, bias, float(reach @ reach) / len(scores) ** 2, float(b)

    def _cells(self, p, y, slope, curvature):
        from harness.estimators.certified import windows

        bits = int(self.histogram)
        cells = 1 << bits
        sums = windows.cell_sums(p, y, bits)
        b = self.bandwidth
        if b is None:
            queries = np.searchsorted(sums[:, 0], _evenly(len(p)), side="right") - 1
            b = best_step(lambda b: windows.cell_cost(sums, queries, round(b * cells), slope, curvature))
        return *windows.smooth_cells(sums, round(b * cells), slope, curvature), float(b)


@dataclass(frozen=True)
class LipBkt:
    """Upper bound by buckets of equal width: the classical one [constants D; named Lip+Bkt in ciosek2026]. Assumes |eta'| <= L =
    1/(2h), which the perturbation with bandwidth at least h gives.

    E_B + (1 + L) / B + sqrt(2 (B ln 2 + ln(1/delta)) / n), E_B = (1/n) sum_b |sum_{i in b} (y_i - s_i)|: within a bucket |eta -
    s| exceeds the absolute mean of eta - s by its oscillation at most; and E_B is the largest of 2^B means of variables in [-1,
    1]. buckets null: B = (2 (1 + L))^(2/3) (n / (2 ln 2))^(1/3), rounded.

    form "jensen" [D]: kl+(mean |etahat_j - s_j| + mean_j min(1, L mean |s_i - s_j| in the bucket) + sqrt(ln(1/delta_1) / 2n),
    ln(1/delta_2) / n), etahat the bucket's label mean, B = (L / 0.64)^(2/3) n^(1/3), delta_1 = delta_2 = delta / 2.

    Rate n^(-1/3). O(n), jensen O(n log n)."""

    h: float | None = 0.015625
    buckets: int | None = None
    form: str = "classical"
    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    seconds = 0.0005
    wants = ("problem",)

    def __post_init__(self):
        _check_level(self.level)
        _check_positive("h", self.h)
        if self.buckets is not None and not (is_positive(self.buckets) and int(self.buckets) == self.buckets):
            raise BadInputError(f"buckets is {self.buckets!r}; a positive integer, or null (chosen by n), is needed.")
        if self.form not in ("classical", "jensen"):
            raise BadInputError(f"form is {self.form!r}; allowed are classical, jensen.")

    def __call__(self, p, y, rng=None, problem=None):
        p, y = _checked(p, y)
        h = _perturbation(self.h, problem)
        n, delta, slope = len(p), 1.0 - self.level, slope_bound(h)
        if self.form == "jensen":
            return self._jensen(p, y, h, slope)
        best = (2.0 * (1.0 + slope)) ** (2 / 3) * (n / (2.0 * math.log(2.0))) ** (1 / 3)
        buckets = int(self.buckets or max(1, round(min(best, n))))  # more than n: the deviation alone exceeds 1
        cell = np.minimum((p * buckets).astype(np.int64), buckets - 1)
        empirical = float(np.abs(np.bincount(cell, y - p, minlength=buckets)).sum()) / n
        bias = (1.0 + slope) / buckets
        deviation = math.sqrt(2.0 * (buckets * math.log(2.0) + math.log(1.0 / delta)) / n)
        diagnostics = {"empirical": empirical, "bias": bias, "deviation": deviation}
        high = min(1.0, empirical + bias + deviation)
        return _upper(high, self.level, diagnostics, n, h=h, slope=slope, buckets=buckets, delta_1=delta)

    def _jensen(self, p, y, h, slope):
        from harness.estimators.certified.windows import smooth_buckets

        n, half_delta = len(p), (1.0 - self.level) / 2.0
        buckets = int(self.buckets or max(1, round(min((slope / 0.64) ** (2 / 3) * n ** (1 / 3), MOST_BUCKETS))))
        scores, labels = in_order(p, y)
        empirical, bias = smooth_buckets(scores, labels, int(buckets), slope)
        deviation = _mcdiarmid(1.0 / n, half_delta)
        more = {"h": h, "slope": slope, "buckets": buckets}
        return _transferred(self.level, n, empirical, bias, deviation, half_delta, half_delta, **more)


@dataclass(frozen=True)
class LowerPreq:
    """Lower bound without any assumption on eta [D]: CE >= E phi(S) (Y - S) for every |phi| <= 1.

    kl-(max(0, (1/n) sum phi_i (y_i - s_i) - sqrt((n - n_0) ln(1/delta_1) / 2) / n), ln(1/delta_2) / n), delta_1 = delta_2 = delta
    / 2. Samples are dealt at random into epochs of n_0 = max(32, n // 128), n_0, 2 n_0, 4 n_0 .. samples in expectation (n_0 is
    then the size of the first). In an epoch phi is the sign of the sum of y - s over all earlier epochs in the score's bucket,
    the number of buckets among 1, 2, 4 .. 4096 (at most n / 32) being the one of the largest sum phi (y - s) so far (8 at first);
    0 in the first epoch. Given the scores, a martingale of increments of range 1. O(n)."""

    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "statistical"
    revision = 1
    seconds = 0.0005

    def __post_init__(self):
        _check_level(self.level)

    def __call__(self, p, y, rng=None):
        p, y = _checked(p, y)
        if rng is None:
            raise BadInputError("rng is missing; give a numpy Generator, which deals the samples into epochs.")
        ends = epoch_ends(len(p))
        return self.of_epochs(p, y, np.searchsorted(ends, rng.random(len(p)) * len(p), side="right").astype(np.uint8))

    def of_epochs(self, p, y, epoch):
        """The bound of samples whose epochs (uint8, from 0) are given, chosen without regard to the labels."""
        from harness.estimators.certified.windows import epoch_sums

        n, half_delta = len(p), (1.0 - self.level) / 2.0
        finest = _largest_power(min(4096, n // 32))
        counts = [1 << j for j in range(finest.bit_length())]
        sums = epoch_sums(p, y, epoch, len(epoch_ends(n)), finest)
        gathered, worth, used = np.zeros(finest), np.zeros(len(counts)), 0.0
        best = counts.index(min(8, finest))
        for e, of_epoch in enumerate(sums):
            if e:
                gains = [float(np.sign(_merged(gathered, b)) @ _merged(of_epoch, b)) for b in counts]
                best = int(worth.argmax()) if worth.any() else best
                used += gains[best]
                worth += gains
            gathered += of_epoch
        later = n - int(np.count_nonzero(epoch == 0))
        deviation = math.sqrt(later * math.log(1.0 / half_delta) / 2.0) / n
        before = max(0.0, used / n - deviation)
        value = kl_lower(before, math.log(1.0 / half_delta) / n)
        diagnostics = {
            "empirical": used / n, "deviation": deviation, "before_transfer": before, "buckets": counts[best],
            "delta_1": half_delta, "delta_2": half_delta, "n": n,
        }  # fmt: skip
        return {"l1": Estimate(value, low=value, level=self.level, kind="lower", diagnostics=diagnostics)}


@dataclass(frozen=True)
class CertifiedInterval:
    """Two-sided interval [LowerPreq(delta / 2), least of the upper bounds, each at delta / (2 number of them)] [D]. `uppers`
    empty means `BVWindow` alone, TV(eta) <= 1; its assumptions are those of the upper bounds. The value is the middle. Where the
    ends cross, which has a probability of at most delta if the assumptions hold, they are refuted and there is no interval."""

    uppers: tuple[Any, ...] = ()
    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "statistical"
    seconds = 0.0005
    wants = ("problem",)
    null_bias: ClassVar[float] = 0.3  # the middle of an interval that begins at 0

    def __post_init__(self):
        _check_level(self.level)
        good = isinstance(self.uppers, (tuple, list)) and all(hasattr(u, "level") and callable(u) for u in self.uppers)
        if not good:
            raise BadInputError(f"uppers is {self.uppers!r}; a list of estimators of upper bounds is needed.")

    @property
    def revision(self):
        """Raised with the numbers of the bounds inside."""
        return (1, LowerPreq.revision, *(getattr(u, "revision", 1) for u in self._uppers))

    @property
    def _uppers(self):
        return tuple(self.uppers) or (BVWindow(),)

    def __call__(self, p, y, rng=None, problem=None):
        p, y = _checked(p, y)
        delta = 1.0 - self.level
        lower = LowerPreq(1.0 - delta / 2.0)(p, y, rng)["l1"]
        found = []
        for upper in self._uppers:
            own = dataclasses.replace(upper, level=1.0 - delta / (2.0 * len(self._uppers)))
            given = {"problem": problem} if "problem" in getattr(own, "wants", ()) else {}
            e = own(p, y, rng, **given)["l1"]
            if e.kind != "upper":
                raise BadInputError(f"uppers holds {type(upper).__name__}, which gives no upper bound.")
            found.append(e)
        least = min(found, key=lambda e: e.high)
        low, high = lower.low, least.high
        if low > high:
            raise UndefinedError(
                f"the lower bound {low:.4g}, which assumes nothing, is above the upper bound {high:.4g}: the assumption of the "
                f"latter is refuted at level {self.level:g}"
            )
        diagnostics = {
            **{f"lower_{k}": v for k, v in lower.diagnostics.items()},
            **least.diagnostics,
            "lower": low,
            "upper": high,
        }
        return {"l1": Estimate((low + high) / 2.0, low, high, self.level, "interval", diagnostics)}


def tv_lambda(m: int, groups: int, delta: float) -> float:
    """sqrt(ln(4 max(groups - 1, 1) / delta) / 8m) [P; with ties D]: the strength per point of the denoising of m labels with that
    many distinct scores (`harness.estimators.certified.total_variation.tv_denoise` takes m times it)."""
    return math.sqrt(math.log(4.0 * max(groups - 1, 1) / delta) / (8.0 * m))


def tvb(m: int, groups: int, variation: float, delta: float, mode: str = "sharp") -> float:
    """Bound of the root mean squared error of the denoised labels at their scores, see `TVKfold` [R, constants D]."""
    a, penalty = math.sqrt(math.log(4.0 / delta) / (2.0 * m)), tv_lambda(m, groups, delta) * variation
    return a / 2.0 + math.sqrt(a * a / 4.0 + 2.0 * penalty) if mode == "sharp" else a + math.sqrt(a * a + 4.0 * penalty)


def _checked(p, y):
    p, y = checked(p, y)
    if p.ndim != 1:
        raise BadInputError(f"p has shape {p.shape}; certified bounds judge scores (n,): reduce it first (harness.reduce).")
    return p, y


def in_order(p, y):
    """Scores in ascending order and their labels (uint8), by one sort: the label travels as the last bit below the score, whose
    bits shifted up lose nothing (the two highest of a number in [0, 1] are 0). Of arrays that cannot change, as those of a run,
    the last result is kept while they live: all bounds of a sample share one sort. Not to be written to."""
    if _kept and _kept[0]() is p and _kept[1]() is y:
        return _kept[2]
    packed = (p + 0.0).view(np.uint64)  # + 0.0: a new array, and no -0
    packed <<= np.uint64(1)
    packed |= y.astype(np.uint64)
    packed.sort()
    labels = (packed & np.uint64(1)).astype(np.uint8)
    packed >>= np.uint64(1)
    found = packed.view(np.float64), labels
    _kept.clear()
    if not any(a.flags.writeable or a.base is not None for a in (p, y)):
        _kept.extend((weakref.ref(p, _forget), weakref.ref(y, _forget), found))
    return found


_kept: list = []  # weak references to p and y, and what they are in order


def _forget(_):
    _kept.clear()


def best_step(cost):
    """The bandwidth 2^(-3 - j/4), j in 0..60, of least cost: every fourth j, then the three on either side."""
    costs = {j: cost(2.0 ** (-3.0 - j / 4.0)) for j in range(0, LARGEST_STEP + 1, 4)}
    middle = min(costs, key=costs.get)
    for j in range(max(0, middle - 3), min(LARGEST_STEP, middle + 3) + 1):
        if j not in costs:
            costs[j] = cost(2.0 ** (-3.0 - j / 4.0))
    return 2.0 ** (-3.0 - min(sorted(costs), key=costs.get) / 4.0)


def _evenly(n, most=QUERIES):
    """At most that many of 0 .. n - 1, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def epoch_ends(n):
    """Where the epochs of `LowerPreq` end: n_0, 2 n_0, 4 n_0 .. n."""
    ends = [min(max(32, n // 128), n)]
    while ends[-1] < n:
        ends.append(min(2 * ends[-1], n))
    return ends


def _folds(n, folds, rng):
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, which decides the folds.")
    if n < folds:
        raise UndefinedError(f"{n} samples cannot be split into {folds} folds")
    return rng.integers(0, folds, n, dtype=np.uint8)  # not of equal sizes: shuffling would take as long as the bound


def _merged(sums, buckets):
    return sums.reshape(buckets, -1).sum(axis=1)


def _largest_power(x):
    return 1 << (max(1, x).bit_length() - 1)


def _mcdiarmid(squares, delta):
    """sqrt(ln(1/delta) sum c_i^2 / 2): one-sided width of a function of independent labels that each moves by at most c_i."""
    return math.sqrt(math.log(1.0 / delta) * squares / 2.0)


def _transferred(level, n, empirical, bias, deviation, delta_1, delta_2, **more):
    """The upper bound of CE from one of CE_n = empirical + bias + deviation."""
    before = min(1.0, empirical + bias + deviation)
    diagnostics = {"empirical": empirical, "bias": bias, "deviation": deviation, "before_transfer": before}
    return _upper(kl_upper(before, math.log(1.0 / delta_2) / n), level, diagnostics, n, delta_1=delta_1, delta_2=delta_2, **more)


def _upper(high, level, diagnostics, n, **more):
    numbers_of = {name: float(v) for name, v in {**diagnostics, **more, "n": n}.items() if math.isfinite(v)}
    return {"l1": Estimate(high, high=high, level=level, kind="upper", diagnostics=numbers_of)}


def _variation(own, problem):
    known = getattr(problem, "variation", None)
    if own is None and known is None:
        raise UndefinedError(
            "variation is null and the problem declares none; give the variation of E[Y given p] that is assumed"
        )
    if own is None:
        return float(known)
    if known is not None and known > own * (1.0 + 1e-9):
        raise UndefinedError(f"the bound assumes a variation of at most {own:g}, but that of this problem is {known:g}")
    return float(own)


def _perturbation(own, problem):
    known = getattr(problem, "perturbation", None)
    declares = hasattr(problem, "perturbation")
    if own is None and known is None:
        raise UndefinedError(
            "h is null and the problem declares no perturbation; give the bandwidth that its scores were perturbed with"
        )
    if own is None:
        return float(known)
    if declares and (known or 0.0) < own * (1.0 - 1e-9):
        found = f"with h = {known:g}" if known else "not at all"
        raise UndefinedError(
            f"the bound assumes scores perturbed with h of at least {own:g}, but those of this problem are {found}"
        )
    return float(own)


def _check_size(n):
    if n > MOST:
        raise UndefinedError(f"n = {n:,} is above {MOST:,}, up to which the sums of a window are exact")


def _check_level(level):
    if not (isinstance(level, numbers.Real) and 0.0 < level < 1.0):
        raise BadInputError(f"level is {level!r}; a number between 0 and 1 is needed.")


def _check_positive(name, value):
    if value is not None and not is_positive(value):
        raise BadInputError(f"{name} is {value!r}; a positive number, or null (what the problem declares), is needed.")


def _check_variation(value):
    if value is not None and not (is_positive(value) or value == 0 and not isinstance(value, bool)):
        raise BadInputError(f"variation is {value!r}; a number of at least 0, or null (what the problem declares), is needed.")


def _check_folds(folds):
    if not (isinstance(folds, numbers.Integral) and not isinstance(folds, bool) and 2 <= folds <= 255):
        raise BadInputError(f"folds is {folds!r}; an integer from 2 to 255 is needed.")


def _check_smoother(estimator):
    _check_positive("h", estimator.h)
    if estimator.second not in SECOND:
        raise BadInputError(f"second is {estimator.second!r}; allowed are {', '.join(SECOND)}.")
    b = estimator.bandwidth
    if b is not None and not (is_positive(b) and b <= 0.125):
        raise BadInputError(f"bandwidth is {b!r}; a positive number of at most 1/8, or null (chosen by the scores), is needed.")
