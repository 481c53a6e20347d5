"""Estimators as the code of gruber2025 has them, where it differs from the paper's text.

This code made the numbers of the paper's tables and figures; NOTES.md lists the differences.
Estimators without the paper's name follow the text, but for one point. Their ridge has the powers
n^-0.5 and n^-0.25 of the code, and not n^0.5 of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, Wrapper, is_positive
from harness.estimators.binned import bin_residuals, check_bins
from harness.estimators.dirichlet_kernel import RISK_GRID
from harness.estimators.selection import check_grid, fold_products, grid_settings
from harness.estimators.tuned import OWN_REVISION, numeric_fields
from harness.math.kernels import dirichlet_sums, two_columns
from harness.math.notions import checked_for, one_hot
from harness.math.risk import ResidualGram, residuals, risk

MIN_DENSITY = 1e-10  # smallest denominator of the authors' code, for at most 60 classes
MIN_DENSITY_MAX_CLASSES = 60
FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Binned:
    """Residual products of bins (a, b] of equal width.

    The search space has 5 to 90 bins; the paper's text has up to 100. An empty bin takes the means
    over all samples.
    """

    bins: int = 15

    notions = ("binary", "top_label", "classwise")
    tunable = ("bins",)

    def __post_init__(self):
        check_bins(self.bins)

    def search_space(self, scalar):
        return {"bins": tuple(range(5, 91, 5))}

    def products(self, p, y, points, settings, rng=None):
        """Yield, for each setting, the residual products at each array of `points`."""
        for setting in settings:
            bins = setting["bins"]
            edges = np.linspace(0.0, 1.0, bins + 1)

            def bin_of(x, edges=edges, bins=bins):
                return (
                    np.digitize(x, edges, right=True) - 1
                ) % bins  # p = 0 falls into the last bin, as in the authors' code

            mean = bin_residuals(p, y, bin_of, bins)
            yield [ResidualGram(mean[bin_of(x)]) for x in points]


@dataclass(frozen=True)
class DirichletKernel:
    """Residual products of the Dirichlet kernel without clipping, as for float32 predictions.

    A prediction that is exactly 0 or 1 makes its row NaN. NaN rows are left out of risk and
    estimate. For vectors of at most 60 classes the densities are not rescaled: a denominator below
    1e-10 becomes 1e-10, and one above the range of float32 makes the row NaN.

    `float32` rounds the predictions to float32; the arithmetic stays in float64.
    """

    bandwidth: float = 0.01
    float32: bool = True
    rescaled: bool = False

    notions = ("binary", "top_label", "classwise", "canonical")
    tunable = ("bandwidth",)

    def __post_init__(self):
        if not is_positive(self.bandwidth):
            raise BadInputError(f"bandwidth is {self.bandwidth!r}; a positive number is needed.")

    def search_space(self, scalar):
        return {"bandwidth": tuple(float(np.float32(b)) for b in RISK_GRID)}

    def products(self, p, y, points, settings, rng=None):
        """Yield, for each setting, the residual products at each array of `points`."""
        bandwidths = [setting["bandwidth"] for setting in settings]
        hits = y[:, None].astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])
        centres = self._rounded(p)
        ratios = [
            self._ratios(self._rounded(x), centres, hits, bandwidths, p.ndim == 1) for x in points
        ]
        for i in range(len(settings)):
            yield [
                ResidualGram(np.where(np.isnan(c[i]), np.nan, x.reshape(len(x), -1) - c[i]))
                for x, c in zip(points, ratios)
            ]

    def _rounded(self, p):
        """Return predictions as two columns or more, rounded to float32 if `float32` is set."""
        return two_columns(p.astype(np.float32).astype(np.float64) if self.float32 else p)

    def _ratios(self, x, centres, hits, bandwidths, scalar):
        """Return the kernel estimates of E[Y given p] at x, one array per bandwidth.

        The shape is (bandwidths, rows of x, columns of `hits`). A row of x with an entry 0 is NaN.
        """
        ratios = np.full((len(bandwidths), len(x), hits.shape[1]), np.nan)
        fine = (x > 0.0).all(axis=1)
        if not fine.any():
            return ratios
        means, log_density = dirichlet_sums(x[fine], centres, hits, bandwidths)
        if not scalar and x.shape[1] <= MIN_DENSITY_MAX_CLASSES and not self.rescaled:
            with np.errstate(over="ignore"):
                total = np.exp(log_density) * len(centres)
            means = means * np.minimum(total / MIN_DENSITY, 1.0)[..., None]
            means[total > FLOAT32_MAX] = np.nan
        ratios[:, fine] = means
        return ratios


@dataclass(frozen=True)
class Tuned(Wrapper):
    """Tuning as in the code of gruber2025.

    1. RandomState(0) permutes the rows. The first int(0.8 n) rows are cut into contiguous folds.
       The other rows are the test part.
    2. The setting with the smallest mean over the folds of sqrt(risk) is chosen.
    3. rms is the mean over the folds of the root of the test estimate. l2_squared is the mean of
       these test estimates.

    Rows whose residual products are NaN are left out of risk and estimate. The kernel estimator has
    such rows.

    `misaligned` fits kernel ridge on vectors to the labels of other samples, namely those at the
    same positions before the permutation. The risk uses the right labels. The code of gruber2025
    did this for canonical calibration errors.

    The diagnostics are those of `harness.estimators.tuned.Tuned`. Those that the paper shows are
    not x 100 here:

    * root_risk, root_risk_se: the numbers of its tables;
    * rms_sd: the error bars of its figures;
    * dropped_share: the share of test samples that are left out.
    """

    estimator: Any
    grid: dict | None = None
    folds: int = 5
    misaligned: bool = False

    estimands = ("l2_squared", "rms")
    determinism = "rounding"
    null_bias = 0.05

    def __post_init__(self):
        check_grid(self.estimator, self.grid)
        if int(self.folds) != self.folds or self.folds < 2:
            raise BadInputError(f"folds is {self.folds}; an integer of at least 2 is needed.")

    @property
    def revision(self):
        """Number of this version of the values; it rises with that of the inner estimator."""
        return OWN_REVISION + (self.inner.revision or 1) - 1

    @property
    def seconds(self):
        return self.inner.seconds or 0.5

    def __call__(self, p, y, rng=None):
        p, y = checked_for(self.notions, p, y)
        settings, risks, tests, dropped = self.path(p, y)
        roots = np.sqrt(np.maximum(risks, 0.0))
        choice = int(np.nanargmin(roots.mean(axis=1)))
        with np.errstate(invalid="ignore"):
            per_fold = np.sqrt(tests[choice])
        diagnostics = {
            "risk": float(risks[choice].mean()), "root_risk": float(roots[choice].mean()),
            "root_risk_se": float(roots[choice].std(ddof=1) / np.sqrt(self.folds)),
            "rms_sd": float(per_fold.std(ddof=1)),
            "choice": choice, "dropped_share": float(dropped[choice].mean()),
            **numeric_fields(settings[choice]),
        }  # fmt: skip
        return {
            "l2_squared": Estimate(float(tests[choice].mean()), diagnostics=diagnostics),
            "rms": Estimate(float(per_fold.mean()), diagnostics=diagnostics),
        }

    def path(self, p, y):
        """Return settings, validation risks, test estimates and shares of dropped test samples.

        The last three have the shape (settings, folds).
        """
        n = len(p)
        rest_n = int(0.8 * n)
        if rest_n < 2 * self.folds or rest_n == n:
            raise UndefinedError(
                f"{self.folds} folds of at least 2 samples and a fifth as test part "
                f"need more than {n} samples"
            )
        order = np.random.RandomState(0).permutation(n)
        rest, test = order[:rest_n], order[rest_n:]
        fold = np.repeat(
            np.arange(self.folds),
            [len(part) for part in np.array_split(np.arange(rest_n), self.folds)],
        )
        settings = grid_settings(
            self.estimator.search_space(p.ndim == 1) if self.grid is None else self.grid
        )
        fitted = y[:rest_n] if self.misaligned and p.ndim == 2 else y[rest]
        u = residuals(p, y)[rest]
        risks, tests, dropped = np.empty((3, len(settings), self.folds))
        for j, i, held_out, (of_test,) in fold_products(
            self.estimator, settings, p[rest], fitted, fold, None, [p[test]]
        ):
            risks[i, j] = _risk_of_finite(u[fold == j], held_out)
            values = of_test.diagonal()
            seen = np.isfinite(values)
            dropped[i, j] = 1.0 - seen.mean()
            tests[i, j] = values[seen].mean() if seen.any() else np.nan
        if np.isnan(risks.mean(axis=1)).all():
            raise UndefinedError(
                "every setting leaves a fold with fewer than two rows that are not NaN, "
                "the others being exactly 0 or 1"
            )
        return settings, risks, tests, dropped


def _risk_of_finite(u, products):
    """Return the risk over the rows without NaN; NaN for fewer than two such rows."""
    seen = np.isfinite(products.features).all(axis=1)
    if seen.sum() < 2:
        return np.nan
    return risk(u[seen], ResidualGram(products.features[seen], products.core))
