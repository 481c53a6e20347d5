"""Calibration errors from a kernel regression of the outcome on the prediction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from harness.calibrators.logits import in_columns
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, is_positive
from harness.estimators.binned import check_bins
from harness.estimators.bregman_errors import (
    bregman_errors,
    check_form,
    check_generators,
    estimand_names,
)
from harness.estimators.selection import grid_settings, validation_risks
from harness.math import beta_sums, near_pairs
from harness.math.beta_intervals import distinct
from harness.math.bin_sums import width_edges
from harness.math.divergences import Bregman
from harness.math.folds import assign_folds
from harness.math.kernels import PREDICTION_FLOOR, all_pairs, dirichlet_sums, two_columns
from harness.math.notions import checked, checked_scalars, one_hot
from harness.math.risk import ResidualGram

LIKELIHOOD_GRID = tuple(float(b) for b in [*np.logspace(-5, -1, 50), 0.2, 0.4, 0.6, 0.8, 1.0])
RISK_GRID = tuple(float(b) for b in [*np.logspace(-5, -1, 15), 0.2, 0.4, 0.6, 0.8, 1.0])
LIKELIHOOD_MAX_POINTS = 2000  # largest number of scalars at which the likelihood is evaluated
RULES = ("likelihood", "risk")


@dataclass(frozen=True)
class DirichletKernel:
    """Bregman calibration errors from a Dirichlet kernel regression of the outcome.

        r_i = sum_{j != i} k(f_i; f_j) e_{y_j} / sum_{j != i} k(f_i; f_j)

        direct:  mean_i D_F(r_i, f_i)                                          (eq. 9)
        risk:    mean_i F(r_i) + mean_i [D_F(e_{y_i}, f_i) - F(e_{y_i})]       (eq. 14)

    f_i is one of n predictions of k classes, y_i its label and e_{y_i} the one-hot vector of the
    label. r_i estimates E[Y given f_i]. k(.; .) is the Dirichlet kernel of bandwidth b; for scalars
    it is the Beta kernel on (1 - f, f). D_F is the Bregman divergence of a convex function F: the
    squared norm for l2_squared, the negative entropy for kl. The direct form also gives
    l<p> = mean_i ||r_i - f_i||_p. The risk form is the mean proper score minus the refinement. For
    scalars, l2_squared is the error of one column.

    Parameters
    ----------
    bandwidth : float or {"likelihood", "risk"}
        A number or a rule.
        "likelihood" maximises the leave-one-out likelihood of the predictions,
        sum_i log mean_{j != i} k(f_i; f_j), over 55 values. For more than 2,000 scalars, i runs
        over 2,000 of them, evenly spaced in rank.
        "risk" minimises the mean calibration-estimation risk (gruber2025, eq. 20) in five-fold
        cross-validation, over 20 values. rng draws the folds.
    form : {"direct", "risk"}
        Which of the two formulas.
    norms : list of float
        The norms p of l<p>, for the direct form.
    generators : list of Bregman
        Further convex functions F (`harness.math.divergences`). For scalars they are applied to
        both columns.
    floor : float
        f is clipped to [floor, 1 - floor] in the kernel, and where the gradient of F needs it, as
        in the paper.

    Notes
    -----
    **Estimands.** For every F there are also refinement_<name> = mean F(e_y) - mean F(r) and
    sharpness_<name> = mean F(r) - F(mean e_y).

    **Bias.** Upwards by the variance of r, of order 1 / (n b^((k-1)/2)). As the bandwidth grows,
    the direct form first falls, and then tends to the distance of f from the mean outcome. The risk
    form rises with the bandwidth. Its bias is minus the bias of the estimated refinement, and is
    usually larger than the bias of the direct form. The risk form may be negative.

    The rule "likelihood" uses the predictions only. If they crowd at the vertices of the simplex,
    or many are equal, its bandwidth is far too small. A single sample raises UndefinedError.

    **Cost.** For scalars, O(n) per bandwidth and interval, with about 1 / sqrt(b) intervals. The
    error of r is certified to be at most 1e-10 (`math.beta_sums`). Sums over all pairs are used
    where they are cheaper. For vectors, O(n^2 k) per bandwidth, in blocks. Bandwidths that are
    halves of each other share exponentials, and small bandwidths need only near pairs
    (`math.near_pairs`).

    References
    ----------
    popordanoska2024, eqs. 9, 11, 12 and 14; gruber2025, eq. 20.

    Examples
    --------
    >>> estimates = DirichletKernel(bandwidth=0.1)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])
    >>> round(estimates["l1"].value, 4)
    0.342
    """

    bandwidth: float | str = "risk"
    form: str = "direct"
    norms: tuple[float, ...] = (1.0, 2.0)
    generators: tuple[Bregman, ...] = ()
    floor: float = PREDICTION_FLOOR

    notions = ("binary", "top_label", "classwise", "canonical")
    revision = 2
    null_bias = 0.3
    seconds = 0.1
    tunable = ("bandwidth",)

    def __post_init__(self) -> None:
        check_form(self.form)
        if not (is_positive(self.bandwidth) or self.bandwidth in RULES):
            raise BadInputError(
                f"bandwidth is {self.bandwidth!r}; allowed are a positive number, "
                f"{' and '.join(RULES)}."
            )
        if not (is_positive(self.floor) and self.floor < 0.5):
            raise BadInputError(f"floor is {self.floor!r}; a number between 0 and 0.5 is needed.")
        if not isinstance(self.norms, (list, tuple)) or not all(
            p == np.inf or is_positive(p) and p >= 1.0 for p in self.norms
        ):
            raise BadInputError(
                f"norms is {self.norms!r}; a list of numbers of at least 1, or inf, is needed."
            )
        check_generators(self.generators)

    @cached_property
    def estimands(self) -> tuple[str, ...]:
        return estimand_names(self.form, self.norms, self.generators)

    @property
    def determinism(self) -> str:
        return "statistical" if self.bandwidth == "risk" else "rounding"

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if len(p) < 2:
            raise UndefinedError("there is only one sample; leave-one-out needs at least two")
        b = self.select_bandwidth(p, y, rng)
        ratio = self._ratios(p, p, y, (b,), leave_one_out=True)[0]
        values = bregman_errors(p, ratio, y, self.form, self.norms, self.generators, self.floor)
        return {
            name: Estimate(value, diagnostics={"bandwidth": b}) for name, value in values.items()
        }

    def select_bandwidth(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> float:
        """Return the field `bandwidth`, or the bandwidth that its rule selects for p and y.

        Among equally good bandwidths the smallest is selected.
        """
        if self.bandwidth == "likelihood":
            return LIKELIHOOD_GRID[int(self.log_likelihoods(p, LIKELIHOOD_GRID).argmax())]
        if self.bandwidth == "risk":
            grid = {"bandwidth": RISK_GRID}
            if len(p) < 10:
                raise UndefinedError(
                    f"the rule risk needs at least 10 samples for five folds; there are {len(p)}"
                )
            risks = validation_risks(
                self, grid_settings(grid), p, y, assign_folds(y, 5, False, rng), rng
            )
            return RISK_GRID[int(risks.mean(axis=1).argmin())]
        return float(self.bandwidth)

    def log_likelihoods(self, p: np.ndarray, bandwidths: Sequence[float]) -> np.ndarray:
        """Return the leave-one-out log-likelihood of the predictions p for every bandwidth.

        It is sum_i log [1 / (n - 1) sum_{j != i} k(f_i; f_j)]. For more than 2,000 scalars, i runs
        over 2,000 of them, evenly spaced in rank.
        """
        rows = np.arange(len(p))
        if p.ndim == 1 and len(p) > LIKELIHOOD_MAX_POINTS:
            p = np.sort(p)
            rows = np.linspace(0, len(p) - 1, LIKELIHOOD_MAX_POINTS).astype(int)
        z = self._clipped(p)
        no_hits = np.empty((len(z), 0))
        density = dirichlet_sums(z[rows], z, no_hits, bandwidths, leave_out=rows)[1]
        return density.sum(axis=1)

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """Return the bandwidths that `Tuned` tries by default.

        These are 20 values, or only the field `bandwidth` if that is a number.
        """
        return {"bandwidth": RISK_GRID if self.bandwidth in RULES else (float(self.bandwidth),)}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """Yield, for every setting {"bandwidth": b}, the residual products at each of `points`.

        The feature of a point x is x minus the kernel regression of y on p at x. Residual products
        are inner products of the features of two points (gruber2025, Section 4.1). No sample is
        left out, because the points must be other samples than p.
        """
        bandwidths = self._bandwidths(settings)
        ratios = [self._ratios(x, p, y, bandwidths) for x in points]
        for i in range(len(settings)):
            yield [ResidualGram(in_columns(x) - ratio[i]) for x, ratio in zip(points, ratios)]

    def fold_products(
        self,
        settings: Sequence[dict[str, Any]],
        p: np.ndarray,
        y: np.ndarray,
        fold: np.ndarray,
        points: Sequence[np.ndarray] = (),
    ) -> Iterator[tuple[int, int, ResidualGram, list[ResidualGram]]]:
        """Yield the residual products of every setting, fitted without each fold.

        Each item is (j, i, products of the samples of fold j, [products of each array of `points`])
        for the setting i. All folds are fitted together, because they share work: the intervals of
        the kernel sums for scalars, the normalisers of the kernel for vectors.
        """
        bandwidths = self._bandwidths(settings)
        held_out = [np.flatnonzero(fold == j) for j in range(int(fold.max()) + 1)]
        if p.ndim > 1:
            normalisers = [near_pairs.log_normaliser(self._clipped(p), b) for b in bandwidths]
            for j, rows in enumerate(held_out):
                fit = fold != j
                evaluated, constants = (p[rows], *points), [c[fit] for c in normalisers]
                ratios = [
                    self._ratios(x, p[fit], y[fit], bandwidths, constants=constants)
                    for x in evaluated
                ]
                for i in range(len(bandwidths)):
                    products = [ResidualGram(x - r[i]) for x, r in zip(evaluated, ratios)]
                    yield j, i, products[0], products[1:]
            return
        x = np.concatenate([p, *points])
        ends = np.cumsum([len(p), *map(len, points)])
        parts = [slice(start, stop) for start, stop in zip(ends[:-1], ends[1:])]
        z, t = self._clipped(x), self._clipped(p)
        others = (fold[:, None] != np.arange(len(held_out))).astype(np.float64)
        fast = beta_sums.applies(z, t, others, bandwidths)
        sample, _ = distinct(t, np.stack([others, others * y[:, None]], axis=2))
        theta, index = np.unique(np.log(z[:, 1]) - np.log(z[:, 0]), return_inverse=True)
        slow = [b for b in bandwidths if not (fast and beta_sums.cheaper(len(x), len(p), b))]
        # NaN where the fit without a fold is not needed: at the samples of the other folds.
        by_pairs = np.full((len(slow), len(x), len(held_out)), np.nan)
        for j, rows in enumerate(held_out if slow else ()):
            rows = np.concatenate([rows, np.arange(len(p), len(x))])
            by_pairs[:, rows, j] = self._ratios(x[rows], p[fold != j], y[fold != j], slow)[:, :, 0]
        for i, b in enumerate(bandwidths):
            if b in slow:
                ratio = by_pairs[slow.index(b)]
            else:
                values = beta_sums.beta_sums(theta, sample, b).values
                ratio = np.clip(values[:, :, 1] / values[:, :, 0], 0.0, 1.0)[index]
            gaps = x[:, None] - ratio
            for j, rows in enumerate(held_out):
                at_points = [ResidualGram(gaps[part, j, None]) for part in parts]
                yield j, i, ResidualGram(gaps[rows, j, None]), at_points

    def _bandwidths(self, settings: Sequence[dict[str, Any]]) -> list[float]:
        """Return the bandwidth of each setting. Raise BadInputError if one is not a number."""
        bandwidths = [dataclasses.replace(self, **setting).bandwidth for setting in settings]
        rule = next((b for b in bandwidths if isinstance(b, str)), None)
        if rule is not None:
            raise BadInputError(f"bandwidth is {rule!r} in a setting of a grid; give a number.")
        return [b for b in bandwidths if not isinstance(b, str)]

    def _clipped(self, p: np.ndarray) -> np.ndarray:
        return np.clip(two_columns(p), self.floor, 1.0 - self.floor)

    def _ratios(
        self,
        x: np.ndarray,
        p: np.ndarray,
        y: np.ndarray,
        bandwidths: Sequence[float],
        leave_one_out: bool = False,
        constants: Sequence[np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the kernel regression of y on p at the points x, for each bandwidth.

        The shape is (bandwidths, points, 1) for scalars, (bandwidths, points, k) for vectors. With
        `leave_one_out`, x is p, and sample i does not count at point i. `constants` are the
        normalisers of the kernel at vectors p, for each bandwidth; None computes them.
        """
        hits = y[:, None].astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])
        leave_out = np.arange(len(p)) if leave_one_out else None
        pruned = not self.generators  # F of a user may need entries that are nearly 0
        x, p = self._clipped(x), self._clipped(p)
        if pruned and constants is not None:
            return near_pairs.sums(x, p, hits, bandwidths, leave_out, all_pairs, constants)[0]
        return dirichlet_sums(x, p, hits, bandwidths, leave_out, pruned=pruned)[0]


@dataclass(frozen=True)
class BinningKernel:
    """`DirichletKernel` with a binning kernel: k(f; f') is 1 in the same bin, else 0.

        r_i = mean outcome of the other samples in the bin of f_i

    If f_i is alone in its bin, r_i is the mean outcome of all other samples.

    Parameters
    ----------
    bins : int
        Number of bins of equal width.
    form, generators, floor
        As in `DirichletKernel`.

    Notes
    -----
    `Binned` compares the mean outcome of a bin with the mean prediction of the bin. This estimator
    compares it with each prediction f_i. With a fixed number of bins, it therefore does not
    converge to the calibration error. Cost: O(n log bins). A single sample raises UndefinedError.

    References
    ----------
    popordanoska2024, Section 5.

    Examples
    --------
    >>> round(BinningKernel(bins=2)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["l1"].value, 6)
    0.4
    """

    bins: int = 15
    form: str = "direct"
    generators: tuple[Bregman, ...] = ()
    floor: float = PREDICTION_FLOOR

    notions = ("binary", "top_label", "classwise")
    determinism = "rounding"
    revision = 1
    null_bias = 0.1

    def __post_init__(self) -> None:
        check_form(self.form)
        check_generators(self.generators)
        check_bins(self.bins)

    @property
    def estimands(self) -> tuple[str, ...]:
        return estimand_names(self.form, (1.0,), self.generators)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        if len(p) < 2:
            raise UndefinedError("there is only one sample; leave-one-out needs at least two")
        index = np.searchsorted(width_edges(self.bins), p, side="right")
        others = np.bincount(index)[index] - 1
        hits = np.bincount(index, y)[index] - y
        overall = (y.sum() - y) / (len(y) - 1)
        ratio = np.where(others > 0, hits / np.maximum(others, 1), overall)
        values = bregman_errors(
            p, ratio[:, None], y, self.form, (1.0,), self.generators, self.floor
        )
        return {name: Estimate(value) for name, value in values.items()}
