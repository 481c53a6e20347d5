"""Estimators and calibrators as in the code behind the numbers of popordanoska2024 (NOTES.md).

This code writes a scalar prediction f as two columns (1 - f, f). So its l2_squared is twice ours,
and so are the refinement and the sharpness of that estimand.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from harness.calibrators.logits import floored_log, in_columns
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, is_positive
from harness.estimators.binned import check_bins
from harness.estimators.bregman_errors import check_form
from harness.estimators.dirichlet_kernel import LIKELIHOOD_GRID
from harness.math.kernels import LOG_NEGLIGIBLE, PREDICTION_FLOOR, dirichlet_sums, two_columns
from harness.math.notions import checked, checked_scalars, one_hot
from harness.math.softmax import softmax

TEMPERATURES = np.linspace(1e-4, 5.0, 10_000).astype(np.float32).astype(np.float64)
CLIP = 1e-7  # scores are kept in [CLIP, 1 - CLIP]
SCHEDULE = ((1000, 0.01), (5000, 0.001), (10000, 0.0005), (np.inf, 0.0001))
RULES = ("schedule", "likelihood")


@dataclass(frozen=True)
class DirichletKernel:
    """Dirichlet kernel of the library with the conventions of popordanoska2024.

    * The form is "risk" (equation 14) or "direct" (equation 9).
    * Predictions are clipped to [1e-7, 1 - 1e-7].
    * The bandwidth is a number (0.02 in their tables), depends on n ("schedule", in their synthetic
      figures), or is chosen from their grid in float32 ("likelihood").
    * The refinement is -mean F(r), where r are the estimates of E[Y given p].
    * For KL, a vector r with an exact zero counts 0 as a whole (`zero_rows`). This is correct only
      for two columns.
    """

    form: str = "risk"
    bandwidth: float | str = 0.02
    zero_rows: bool = True

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = tuple(
        f"{what}{name}"
        for what in ("", "refinement_", "sharpness_")
        for name in ("l2_squared", "kl")
    )
    determinism = "rounding"
    revision = 1
    null_bias = 0.5
    seconds = 0.1

    def __post_init__(self):
        check_form(self.form)
        if not (is_positive(self.bandwidth) or self.bandwidth in RULES):
            raise BadInputError(
                f"bandwidth is {self.bandwidth!r}; "
                f"allowed are a positive number, {' and '.join(RULES)}."
            )

    def __call__(self, p, y, rng=None):
        p, y = checked(p, y)
        if len(p) < 2:
            raise UndefinedError("leaving one sample out of one leaves none")
        g = np.clip(two_columns(p), PREDICTION_FLOOR, 1.0 - PREDICTION_FLOOR)
        e = one_hot(y, g.shape[1])
        # Terms below exp(nothing) of the largest are set to 0: so some zeros of r are exact.
        nothing = -np.inf if self.zero_rows and g.shape[1] > 2 else LOG_NEGLIGIBLE
        hits = e[:, 1:] if p.ndim == 1 else e
        r = dirichlet_sums(g, g, hits, (self._bandwidth(g),), np.arange(len(g)), nothing)[0][0]
        r = two_columns(r[:, 0]) if p.ndim == 1 else r
        entropies = xlogy(r, r).sum(axis=1)
        if self.zero_rows:
            entropies = np.where((r == 0.0).any(axis=1), 0.0, entropies)
        squares, entropy = (r * r).sum(axis=1).mean(), entropies.mean()
        if self.form == "direct":
            kl = ((xlogy(r, r) - r * np.log(g)).sum(axis=1) + g.sum(axis=1) - r.sum(axis=1)).mean()
            l2 = ((r - g) ** 2).sum(axis=1).mean()
        else:
            l2 = squares + ((e - g) ** 2).sum(axis=1).mean() - 1.0
            kl = entropy - np.log(g[np.arange(len(y)), y]).mean()
        share = e.mean(axis=0)
        values = {
            "l2_squared": l2,
            "kl": kl,
            "refinement_l2_squared": -squares,
            "refinement_kl": -entropy,
            "sharpness_l2_squared": squares - (share**2).sum(),
            "sharpness_kl": entropy - xlogy(share, share).sum(),
        }
        return {name: Estimate(float(value)) for name, value in values.items()}

    def _bandwidth(self, g):
        """Return the bandwidth for the predictions g."""
        if self.bandwidth == "schedule":
            return next(b for most, b in SCHEDULE if len(g) <= most)
        if self.bandwidth == "likelihood":
            grid = [float(np.float32(b)) for b in LIKELIHOOD_GRID]
            likelihoods = dirichlet_sums(g, g, np.empty((len(g), 0)), grid, np.arange(len(g)))[
                1
            ].sum(axis=1)
            return grid[int(likelihoods.argmax())]
        return float(self.bandwidth)


@dataclass(frozen=True)
class HalfOpenBins:
    """Base of estimators with bins (a, b] of equal width. Cost: O(n).

    A prediction of exactly 0 is in no bin and counts 0.
    """

    bins: int = 15

    notions = ("binary", "top_label", "classwise")
    determinism = "rounding"
    revision = 1

    def __post_init__(self):
        check_bins(self.bins)

    def samples(self, p, y):
        """Return f, y and bin of the samples that are in a bin."""
        p, y = checked_scalars(p, y)
        seen = p > 0.0
        return (
            p[seen],
            y[seen],
            np.searchsorted(np.linspace(0.0, 1.0, self.bins + 1)[1:-1], p[seen], side="left"),
        )


@dataclass(frozen=True)
class BinnedKL(HalfOpenBins):
    """kl: mean over the samples of KL((1 - m, m) || (1 - f, f)).

    f is the prediction, and m the frequency of the outcome in its bin. Both are clamped at 1e-45. m
    is compared with the prediction of each sample, and not with the mean of the bin. So the
    estimate does not converge to the error. This is BIN-KL in their Figure 2a.
    """

    estimands = ("kl",)
    null_bias = 0.5

    def __call__(self, p, y, rng=None):
        f, hits, index = self.samples(p, y)
        m = (
            np.bincount(index, hits, self.bins)
            / np.maximum(np.bincount(index, minlength=self.bins), 1)
        )[index]
        m, f = (np.maximum(two_columns(x), 1e-45) for x in (m, f))
        return {"kl": Estimate(float((m * (np.log(m) - np.log(f))).sum() / len(p)))}


@dataclass(frozen=True)
class Binned(HalfOpenBins):
    """sum_b (n_b / n) |mean f - mean y|^q over bins b, with predictions f and outcomes y.

    n_b of the n samples are in bin b. l1 has q = 1 (CE_1 of their Table 5), and l2_squared has q =
    2, on one column.
    """

    estimands = ("l1", "l2_squared")
    null_bias = 0.1

    def __call__(self, p, y, rng=None):
        f, hits, index = self.samples(p, y)
        sizes, gaps = (
            np.bincount(index, minlength=self.bins),
            np.bincount(index, f - hits, self.bins),
        )
        gap = np.abs(gaps) / np.maximum(sizes, 1)
        return {
            "l1": Estimate(float(sizes @ gap / len(p))),
            "l2_squared": Estimate(float(sizes @ gap**2 / len(p))),
        }


@dataclass(frozen=True)
class TemperatureGrid:
    """Temperature scaling by a grid of 10,000 temperatures T.

        q = softmax(log p / T)

    T is the first of linspace(0.0001, 5, 10000), in float32, with the smallest `objective`. This is
    the mean log-loss ("nll") or the Brier score ("brier"). The log-loss is convex in 1 / T, so that
    a bisection of the grid finds its minimum. For the Brier score all temperatures are tried.

    The authors' code starts from the logits. Here log p is used instead, floored at -87.336. Above
    the floor the two differ by a constant per row, which softmax ignores. Scalars are treated as
    two columns. Determinism: exact. Cost: O(n k) per temperature, for k classes.
    """

    objective: str = "nll"

    determinism = "exact"

    def __post_init__(self):
        if self.objective not in ("nll", "brier"):
            raise BadInputError(f"objective is {self.objective!r}; allowed are nll, brier.")

    def temperature(self, p, y) -> float:
        """Return the T that is chosen on predictions p (n, k) or (n,) with outcomes y (n,)."""
        z = floored_log(two_columns(p))
        loss = self._loss(z, y)
        if self.objective == "brier":
            return float(TEMPERATURES[int(np.argmin([loss(t) for t in TEMPERATURES]))])
        places = range(
            len(TEMPERATURES) - 1
        )  # the first minimum: a convex function does not fall after it
        first = bisect_left(
            places, True, key=lambda i: loss(TEMPERATURES[i]) <= loss(TEMPERATURES[i + 1])
        )
        return float(TEMPERATURES[first])

    def _loss(self, z, y):
        if self.objective == "brier":
            hits = one_hot(y, z.shape[1])
            return lambda t: float(((softmax(z / t) - hits) ** 2).sum() / len(z))
        z = z - z.max(axis=1, keepdims=True)
        of_outcome = float(z[np.arange(len(y)), y].mean())
        return lambda t: float(np.log(np.exp(z / t).sum(axis=1)).mean()) - of_outcome / t

    def fit(self, p, y, rng=None):
        t = self.temperature(p, y)

        def q(x):
            scaled = softmax(floored_log(two_columns(x)) / t)
            return scaled[:, 1] if x.ndim == 1 else scaled

        return q


@dataclass(frozen=True)
class IsotonicScaled:
    """Isotonic regression per class that is fitted to scaled scores and applied to unscaled ones.

        q_j(p) = m_j^-1(r_j(p_j))

    m_j is the affine map that carries the fitted scores of class j onto [0, 1]. If these are all
    equal, it subtracts their minimum. r_j is the isotonic regression of 1{y = j} on m_j(score),
    constant outside the data. The authors' code applies r_j to p_j, and not to m_j(p_j). Then it
    applies m_j^-1 to the result, which is a probability already.

    Scores and results are clipped to [1e-7, 1 - 1e-7]. Rows do not sum to 1;
    harness.problems.Recalibrated divides them by their sums. Scalars are one column. As in the
    authors' code the arithmetic is in float32, since at the edge of a step another rounding gives
    another value. Determinism: exact. Cost: O(k n log n).
    """

    determinism = "exact"

    def fit(self, p, y, rng=None):
        from sklearn.isotonic import IsotonicRegression

        x = _clipped(in_columns(p))
        hits = (y[:, None] if p.ndim == 1 else one_hot(y, p.shape[1])).astype(np.float32)
        least, width = x.min(axis=0), np.ptp(x, axis=0)
        width = np.where(width > 0, width, np.float32(1.0))
        scaled = (x - least) / width
        steps = [
            IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            .fit(scaled[:, j], hits[:, j])
            .predict
            for j in range(x.shape[1])
        ]

        def q(t):
            columns = _clipped(in_columns(t))
            values = np.column_stack([r(columns[:, j]) for j, r in enumerate(steps)])
            values = _clipped(values * width + least).astype(np.float64)
            return values[:, 0] if t.ndim == 1 else values

        return q


def _clipped(p):
    """Return predictions clipped to [1e-7, 1 - 1e-7]."""
    return np.clip(p.astype(np.float32), CLIP, 1.0 - CLIP)
