"""Kernel ridge regression of products of residuals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_choice, check_integer, is_positive
from harness.estimators.selection import fold_products, grid_settings, largest_diagnostics
from harness.math.folds import assign_folds
from harness.math.kernels import rbf
from harness.math.low_rank import pivoted_cholesky
from harness.math.notions import checked
from harness.math.risk import ResidualGram, residuals, risk
from harness.math.shifted import shifted_solutions

FOLDS = 5
SVD_MAX_RANK = 200
# From so many dimensions per right-hand side, a Krylov space is faster than all eigenvectors.
KRYLOV_MIN_SHARE = 48
FEW_DIMENSIONS = 50  # up to so many, products with the whole matrix are as cheap as with a low rank
LARGEST_TERM = 100.0  # largest term of a signed sum of low rank, relative to the sum
KINDS = ("kkr", "ukkr")
POWERS = {"kkr": 1.5, "ukkr": 0.75}
# (kind, scalar) -> the paper's grid (Appendix B); the power of n is that of the authors' code.
GRIDS = {
    ("kkr", True): tuple(10.0**-e for e in range(1, 18, 2)),
    ("ukkr", True): tuple(10.0**-e for e in range(1, 10)),
    ("kkr", False): tuple(10.0**-e for e in range(-8, 10)),
    ("ukkr", False): tuple(10.0 ** (-e / 2) for e in range(-8, 10)),
}


@dataclass(frozen=True)
class KernelRidge:
    """Squared calibration error by a kernel ridge regression of products of residuals.

        l2_squared = mean of h(f, f) over held-out samples
        h a regression of <u, u'> on (f, f'),   u = f - e_Y (scalars: f - Y)

    With the RBF kernel k(x, x') = exp(-gamma ||x - x'||^2), K = Q diag(l) Q' on the n training
    samples, and their residuals U (n, d):

        kkr:   h(p, p') = k(p)' Q (Q' U U' Q / (l_a l_b + c)) Q' k(p'),   c = ridge n^1.5
               (eqs. 28 to 31)
        ukkr:  h(p, p') = <g(p), g(p')>,   g(p) = U' (K + c I)^-1 k(p),   c = ridge n^0.75
               (eq. 32)

    that is, lambda = ridge n^-0.5 and ridge n^-0.25 in the paper. rms is the root, 0 for a negative
    estimate.

    Parameters
    ----------
    kind : {"kkr", "ukkr"}
        "kkr" regresses on all pairs at once and is not positive semi-definite, so that estimates
        can be negative.
    gamma : float
        Of the RBF kernel.
    ridge : float or "risk"
        A number, or the one of smallest mean risk (eq. 20) in five-fold cross-validation over the
        paper's grid.
    tolerance : float
        Share of K's trace that its low-rank decomposition may leave out.
    max_rank : int
        Largest number of pivots of that decomposition.

    Notes
    -----
    The estimate uses the held-out samples of the same folds that select the ridge (`Tuned` sets
    samples aside for it). A large ridge shrinks h to 0, a small one adds the variance of U: bias
    downwards, then upwards.

    K enters by its pivoted Cholesky decomposition, which is exact to rounding if `max_rank` pivots
    reach `tolerance` (scalars need about 15). With many classes they may not. Then h is that of a
    kernel K - E, E positive semi-definite with the trace `residual` relative to K's, which changes
    the result if the ridge's c is not far above the omitted eigenvalues. A ridge below about 1e-16
    n^0.5 has no effect, because rounding of K is larger.

    diagnostics: rank and residual, the largest of the folds; ridge and risk of the selected
    setting. O(n r^2) per fold and r^2 (r + d) per ridge at most, for rank r; no n x n matrix.
    "ukkr" of a rank above 200 and 48 d solves for its ridges to 1e-13 in one Krylov space
    (`math.shifted`) if that is enough, without eigenvectors.

    References
    ----------
    gruber2025, eqs. 20 and 28 to 32, Appendix B (grids).

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_overconfident").sample(1000, np.random.default_rng(0))
    >>> round(KernelRidge()(p, y, np.random.default_rng(1))["l2_squared"].value, 2)
    0.03
    """

    kind: str = "ukkr"
    gamma: float = 0.5
    ridge: float | str = "risk"
    tolerance: float = 1e-14
    max_rank: int = 2000

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("l2_squared", "rms")
    determinism = "statistical"
    revision = 1
    null_bias = 0.05
    seconds = 0.5
    tunable = ("ridge", "gamma")

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        if not is_positive(self.gamma):
            raise BadInputError(f"gamma is {self.gamma!r}; a positive number is needed.")
        if not (self.ridge == "risk" or is_positive(self.ridge)):
            raise BadInputError(f"ridge is {self.ridge!r}; a positive number, or risk, is needed.")
        if not (is_positive(self.tolerance) and self.tolerance < 1.0):
            raise BadInputError(
                f"tolerance is {self.tolerance!r}; a number between 0 and 1 is needed."
            )
        check_integer("max_rank", self.max_rank)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if len(p) < 2 * FOLDS:
            raise UndefinedError(
                f"{FOLDS} folds of at least 2 samples need {2 * FOLDS}, and there are {len(p)}"
            )
        settings = grid_settings(self.search_space(p.ndim == 1))
        fold, u = assign_folds(y, FOLDS, False, rng), residuals(p, y)
        risks, sums, fits = np.zeros(len(settings)), np.zeros(len(settings)), []
        for j, i, products, _ in fold_products(self, settings, p, y, fold, rng):
            risks[i] += risk(u[fold == j], products) / FOLDS
            sums[i] += products.diagonal().sum()
            fits.append(products.diagnostics)
        best = int(risks.argmin())
        value = float(sums[best] / len(p))
        diagnostics = {
            "ridge": settings[best]["ridge"],
            "risk": float(risks[best]),
            **largest_diagnostics(fits),
        }
        return {
            "l2_squared": Estimate(value, diagnostics=diagnostics),
            "rms": Estimate(max(value, 0.0) ** 0.5, diagnostics=diagnostics),
        }

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """Return the settings that `tuned` tries: the ridge grid, or only the given ridge."""
        return {"ridge": GRIDS[self.kind, scalar] if self.ridge == "risk" else (float(self.ridge),)}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """Yield, for every setting (ridge, gamma), the residual products at each array of `points`.

        They are fitted on (p, y), with one decomposition or one Krylov space for all ridges. Their
        diagnostics are the rank and the residual trace of the decomposition.
        """
        estimators = [dataclasses.replace(self, **setting) for setting in settings]
        ridges: dict[float, set[float]] = {}
        for estimator in estimators:
            if isinstance(estimator.ridge, str):
                raise BadInputError("ridge is risk; a setting of a grid needs a number.")
            ridges.setdefault(estimator.gamma, set()).add(estimator.ridge)
        fits = {}
        for estimator in estimators:
            gamma = estimator.gamma
            if gamma not in fits:
                fits[gamma] = estimator._fit(p, y, points, sorted(ridges[gamma]))
            yield fits[gamma](float(estimator.ridge))

    def _fit(
        self, p: np.ndarray, y: np.ndarray, points: Sequence[np.ndarray], ridges: Sequence[float]
    ) -> Callable[[float], list[ResidualGram]]:
        """Return a function from a ridge to the residual products at each of `points`."""
        kernel = pivoted_cholesky(p, self.gamma, self.tolerance, self.max_rank)
        diagnostics = {"rank": float(kernel.factor.shape[1]), "residual": kernel.residual}
        u, scale = residuals(p, y), len(p) ** POWERS[self.kind]
        # Try one Krylov space for all ridges if the rank is large.
        if self.kind == "ukkr" and kernel.factor.shape[1] > max(
            SVD_MAX_RANK, KRYLOV_MIN_SHARE * u.shape[1]
        ):
            gram = kernel.factor.T @ kernel.factor
            solutions = shifted_solutions(
                gram, kernel.factor.T @ u, [ridge * scale for ridge in ridges]
            )
            if solutions is not None:
                # k(p)' L^-T X replaces phi(p)' X: there are fewer columns to solve for than points.
                weights = solve_triangular(
                    kernel.triangle, np.column_stack(solutions), lower=True, trans="T"
                )
                parts = [
                    np.split(rbf(x, kernel.pivots, self.gamma) @ weights, len(ridges), axis=1)
                    for x in points
                ]
                return lambda ridge: [
                    ResidualGram(g[ridges.index(ridge)], diagnostics=diagnostics) for g in parts
                ]
            eigenvalues, rotation = _from_gram(gram)
        else:
            eigenvalues, rotation = _spectrum(kernel.factor)
        # Otherwise use all eigenvectors, which serve every ridge.
        z = rotation.T @ (kernel.factor.T @ u)
        features = [kernel.features(x) @ rotation for x in points]
        target = z @ z.T if self.kind == "kkr" else np.empty(0)

        def by_eigenvectors(ridge: float) -> list[ResidualGram]:
            c = ridge * scale
            if self.kind == "ukkr":
                coefficients = z / (eigenvalues + c)[:, None]
                return [
                    ResidualGram(phi @ coefficients, diagnostics=diagnostics) for phi in features
                ]
            low = _signed_maps(eigenvalues, z, c)
            if low is None:
                matrix = np.multiply.outer(eigenvalues, eigenvalues)
                matrix += c
                np.divide(target, matrix, out=matrix)
                return [ResidualGram(phi, matrix, diagnostics) for phi in features]
            return [ResidualGram(phi @ low[0], low[1], diagnostics) for phi in features]

        return by_eigenvectors


def _spectrum(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the non-zero eigenvalues l of the kernel matrix, and eigenvectors V.

    factor' factor = V diag(l) V'. With few columns small eigenvalues have full accuracy, for the
    smallest ridges on scalars. With many they are accurate to 1e-16 of the largest, as the ridges
    of vectors need.
    """
    if factor.shape[1] <= SVD_MAX_RANK:
        _, singular, right = np.linalg.svd(np.linalg.qr(factor, mode="r"))
        return singular**2, right.T
    return _from_gram(factor.T @ factor)


def _from_gram(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues above rounding of a Gram matrix, and their eigenvectors."""
    eigenvalues, rotation = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    seen = eigenvalues > eigenvalues[-1] * np.finfo(float).eps
    return eigenvalues[seen], rotation[:, seen]


def _signed_maps(
    eigenvalues: np.ndarray, z: np.ndarray, c: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return h(p, p') = phi' (Z Z' * G) phi' as signed inner products of d q features.

    G_ab = 1 / (l_a l_b + c). Returns maps (r, d q) and signs; None if that saves nothing.
    """
    r, d = z.shape
    vectors = _signed_factors(eigenvalues, c, (r - 1) // (2 * d)) if r > FEW_DIMENSIONS else None
    if vectors is None:
        return None
    maps = z[:, :, None] * vectors[:, None, :]
    return maps.reshape(r, -1), np.tile((-1.0) ** np.arange(vectors.shape[1]), d)


def _signed_factors(eigenvalues: np.ndarray, c: float, most: int) -> np.ndarray | None:
    """Return v (r, q) with G = sum_j (-1)^j v_j v_j', None if q would exceed `most`.

    It holds to rounding of D G D, D = diag(sqrt(l)). As 1 / (l_a l_b + c) is a Cauchy matrix,
    elimination with the pivot k leaves of G_ab the part - s_a s_b G_ab with s_a = sqrt(c) (l_a -
    l_k) / (l_a l_k + c). These are products alone, in which nothing cancels, O(r) per pivot. For c
    >= max l^2 all |s| <= 1; below, terms of opposite sign can exceed G, and the result is None if
    they would cost more than two digits.
    """
    root, s = np.sqrt(eigenvalues), np.ones_like(eigenvalues)
    factors: list[np.ndarray] = []
    top = eigenvalues.max()
    # Maximum of x / (x^2 + c) for x up to top.
    largest = top / (top**2 + c) if top**2 < c else 0.5 / np.sqrt(c)
    while True:
        remaining = (root * s) ** 2 / (eigenvalues**2 + c)
        k = int(remaining.argmax())
        if remaining[k] <= np.finfo(float).eps * largest:
            return np.column_stack(factors)
        across = eigenvalues * eigenvalues[k] + c
        factors.append(s * (np.sqrt(across[k]) / across))
        if len(factors) > most or ((root * factors[-1]) ** 2).max() > LARGEST_TERM * largest:
            return None
        s = s * (np.sqrt(c) * (eigenvalues - eigenvalues[k]) / across)
