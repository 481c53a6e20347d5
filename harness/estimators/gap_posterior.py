"""Calibration errors from a posterior of the gap E[Y given p] - p, without trained weights.

Scalars have a Gaussian process over bins. Vectors have a cross-fitted stack of recalibration maps.
BEST_NOTES.md compares this estimator with `Best`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, generator
from harness.estimators.ingredients import compute_ingredients
from harness.estimators.normal_debiased import folded_mean
from harness.math.bin_sums import bin_finder, mass_edges
from harness.math.estimands import pivot
from harness.math.folds import assign_folds
from harness.math.notions import checked, one_hot

# The grid of the prior. Coarser and finer grids changed the geometric mean RMSE by 3 % at most.
AMPLITUDES = (0.3, 1.0, 3.0)  # standard deviation of a gap, in those of the noise of one outcome
LENGTHS = (2.0, 0.7, 0.25, 0.1, 0.04, 0.0)  # in units of the rank from 0 to 1; 0 is white noise
FEWEST_BINS, MOST_BINS = 20, 100
# Rows by which the variance in a bin is moved to p (1 - p). The RMSE for 2, 4 and 8 differs by 2 %.
PRIOR_ROWS = 8.0
PRIOR_SHARE = 0.1  # share of the mean variance that counts as a further row, so that none is 0
SMALLEST_VARIANCE = 1e-12  # all outcomes are certain and right
FOLDS = 5
FEWEST_ROWS = 20  # vectors with fewer rows are not cross-fitted, as in `Best`


@dataclass(frozen=True)
class BestPlain:
    """Posterior mean of the error under a smooth prior of the gap, averaged over several priors.

    Scalar predictions are put into B bins of equal mass. Bin b has n_b of the n samples, the mean
    rank t_b, and the observed gap G_b = mean y - mean p. The true gap g_b has the model

        G_b = g_b + noise of variance v_b / n_b
        g ~ N(0, K),   K_bc = a^2 sqrt(v_b v_c) exp(-(t_b - t_c)^2 / (2 r^2))

    The prior is uniform on 18 pairs of an amplitude a in {0.3, 1, 3} and a length r in
    {2, 0.7, 0.25, 0.1, 0.04, 0}. r = 0 means independent gaps. Given a pair, the posterior of g_b
    is normal. The posterior weight of a pair is its marginal likelihood. The estimates are

        l1         = sum_b (n_b / n) E[|g_b| given G]
        l2_squared = sum_b (n_b / n) E[g_b^2 given G],   rms = sqrt(l2_squared)

    l1_over and l1_under are the parts of l1 from overconfident and underconfident predictions.

    v_b estimates the variance of an outcome. It is the mean of (y - p)^2 over the samples of the
    bin, 8 rows with the mean of p (1 - p), and 0.1 rows with the mean of (y - p)^2 over all bins.
    B is sqrt(n), at least 20 and at most 100, and equal p are never separated.

    For vectors, q is a cross-fitted stack of recalibration maps, weighted by least squares.

        l1         = mean of the gain <sign(q - p), e_Y - p> and of the distance |q - p|_1
        l2         = mean of the gain <q - p, e_Y - p> / |q - p|_2 and of the distance |q - p|_2
        l2_squared = mean of the decrease of the Brier score and of the distance |q - p|_2^2

    Predictions q are held out. For l2_squared, the mean is also over the predictions in sample. A
    negative mean counts as 0. Below 20 rows, the value is the norm of the mean of e_Y - p.

    Notes
    -----
    The value is at least 0. For calibrated predictions it is of order sqrt(v / n) for l1. Gaps that
    are confined to few predictions are overestimated, because the prior has the same amplitude in
    all bins. Gaps that cancel in a bin are missed.

    The diagnostics of scalars are the number of `bins` and the posterior means of `amplitude` and
    `length`. rng draws the folds for vectors, and scalars do not use it. Cost: O(n log B + B^3) for
    scalars, 2 ms at n = 1,000. Vectors take 12 ms at n = 1,000 and k = 3.

    References
    ----------
    No paper. Rasmussen and Williams (2006), Gaussian processes for machine learning, eqs. 2.25,
    2.26 and 2.30, for the posterior and the marginal likelihood.

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> round(BestPlain()(p, y)["l1"].value, 2)  # the truth is 0.137
    0.14
    """

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("l1", "l2", "l2_squared", "rms", "l1_over", "l1_under")
    determinism = "statistical"
    revision = 3
    null_bias = 0.05
    wants = ("notion",)
    seconds = 0.002

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None = None,
        notion: str = "binary",
    ) -> dict[str, Estimate]:
        """Return the errors of predictions p (n,) or (n, k), for labels y (n,)."""
        p, y = checked(p, y)
        if p.ndim == 2:
            values = _vector_errors(p, y, rng)
            diagnostics = None
        else:
            posterior = gap_posterior(p, y)
            values = _scalar_errors(posterior, pivot(notion))
            diagnostics = posterior.diagnostics()
        values["rms"] = np.sqrt(values["l2_squared"])
        return {
            name: Estimate(float(value), diagnostics=diagnostics) for name, value in values.items()
        }


@dataclass(frozen=True)
class GapPosterior:
    """Posterior of the gaps of B bins: a mixture of M normal distributions.

    Parameters
    ----------
    share, prediction : arrays (B,)
        Share of the samples in each bin, and their mean p.
    mean, deviation : arrays (M, B)
        Mean and standard deviation of the gap E[Y given p] - p of each bin in each component.
    weight, amplitude, length : arrays (M,)
        Posterior weight of each component, and its amplitude and length.
    """

    share: np.ndarray
    prediction: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    weight: np.ndarray
    amplitude: np.ndarray
    length: np.ndarray

    def diagnostics(self) -> dict[str, float]:
        """Return the number of bins and the posterior means of amplitude and length."""
        return {
            "bins": float(len(self.share)),
            "amplitude": float(self.weight @ self.amplitude),
            "length": float(self.weight @ self.length),
        }


def gap_posterior(p: np.ndarray, y: np.ndarray) -> GapPosterior:
    """Return the posterior of the gaps, as in `BestPlain`, for scalars p (n,) and outcomes y (n,).

    Examples
    --------
    >>> posterior = gap_posterior(np.full(4, 0.5), np.array([0, 1, 1, 1]))
    >>> posterior.share, bool(0.0 < posterior.weight @ posterior.mean[:, 0] < 0.25)
    (array([1.]), True)
    """
    n = len(p)
    bins = int(np.clip(np.sqrt(n), FEWEST_BINS, MOST_BINS))
    index = bin_finder(mass_edges(p, bins), n)(p)
    size = np.bincount(index)
    index, size = (np.cumsum(size > 0) - 1)[index], size[size > 0]  # without empty bins
    residual = y - p
    prediction, gap, spread, square = (
        np.bincount(index, x) / size for x in (p, residual, p * (1.0 - p), residual**2)
    )
    rank = (np.cumsum(size) - size / 2.0) / n
    share = size / n
    variance = size * square + PRIOR_ROWS * spread + PRIOR_SHARE * (share @ square)
    variance = np.maximum(variance / (size + PRIOR_ROWS + PRIOR_SHARE), SMALLEST_VARIANCE)
    noise = np.sqrt(variance / size)
    return GapPosterior(share, prediction, *_components(rank, size, gap, noise))


def _components(
    rank: np.ndarray, size: np.ndarray, gap: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the last five fields of `GapPosterior`.

    The arguments (B,) are the mean rank, the number of samples, the observed gap and the standard
    deviation of its noise in each bin.
    """
    amplitudes = np.array(AMPLITUDES)
    squared_distance = (rank[:, None] - rank) ** 2
    root = np.sqrt(size)
    means, deviations, evidence = [], [], []
    for length in LENGTHS:
        kernel = np.eye(len(rank))
        if length > 0.0:
            kernel = np.exp(-squared_distance / (2.0 * length**2))
        # In units of the noise, the prior covariance for amplitude 1 is root kernel root. One
        # decomposition gives the posteriors of all amplitudes.
        variances, vectors = np.linalg.eigh(root[:, None] * kernel * root)
        signal = amplitudes[:, None] ** 2 * np.maximum(variances, 0.0)
        shrinkage = signal / (1.0 + signal)
        coordinates = vectors.T @ (gap / noise)
        means.append(noise * ((shrinkage * coordinates) @ vectors.T))
        deviations.append(noise * np.sqrt(shrinkage @ (vectors**2).T))
        evidence.append(-(np.log1p(signal) + coordinates**2 / (1.0 + signal)).sum(axis=1) / 2.0)
    log_weight = np.concatenate(evidence)
    weight = np.exp(log_weight - log_weight.max())
    return (
        np.concatenate(means),
        np.concatenate(deviations),
        weight / weight.sum(),
        np.tile(amplitudes, len(LENGTHS)),
        np.repeat(LENGTHS, len(amplitudes)),
    )


def _scalar_errors(posterior: GapPosterior, pivot: float) -> dict[str, float]:
    """Return {estimand: value}. Predictions above `pivot` speak for the event."""
    weight, share = posterior.weight, posterior.share
    size = weight @ folded_mean(posterior.mean, posterior.deviation)
    square = weight @ (posterior.mean**2 + posterior.deviation**2)
    # The positive part of a gap is half the sum of its size and itself.
    side = np.sign(posterior.prediction - pivot)
    toward = side * (weight @ posterior.mean)
    decided = share * abs(side) / 2.0
    return {
        "l1": share @ size,
        "l2_squared": share @ square,
        "l1_over": decided @ np.maximum(size - toward, 0.0),
        "l1_under": decided @ np.maximum(size + toward, 0.0),
    }


def _vector_errors(
    p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None
) -> dict[str, float]:
    """Return {estimand: value} for vectors p (n, k) and labels y (n,)."""
    if len(p) < FEWEST_ROWS:
        gap = (one_hot(y, p.shape[1]) - p).mean(axis=0)
        return {"l1": np.abs(gap).sum(), "l2_squared": gap @ gap, "l2": np.sqrt(gap @ gap)}
    stream = generator(rng)
    fold = assign_folds(y, FOLDS, False, stream)
    ingredients = compute_ingredients(p, y, fold, stream)
    # A held-out gain is too low, and a held-out distance is too high by the noise of q.
    values = ingredients.limits.copy()
    # The in-sample gain of squares is too high by as much as the held-out gain is too low. The
    # candidates are 0, four statistics of each map and at last of the stack, and further ones. For
    # l1 there are two further ones.
    end = len(ingredients.candidates["l1"]) - 2
    values["l2_squared"] = float(ingredients.candidates["l2_squared"][end - 4 : end].mean())
    return {name: max(value, 0.0) for name, value in values.items()}
