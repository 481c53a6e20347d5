"""Kernel ridge regression of products of residuals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, is_positive
from harness.estimators.selection import fold_products, largest_diagnostics, settings_of
from harness.math.folds import fold_of
from harness.math.kernels import pivoted_cholesky, rbf
from harness.math.notions import checked
from harness.math.risk import ResidualGram, residuals, risk
from harness.math.shifted import shifted_solutions

FOLDS = 5
SVD_MAX_RANK = 200
KRYLOV_MIN_SHARE = 48  # dimensions per right-hand side from which a Krylov space comes sooner than all eigenvectors
FEW_DIMENSIONS = (
    50  # up to so many, products with the whole matrix are as cheap as with one of low rank
)
LARGEST_TERM = 100.0  # of a sum of low rank with signs, relative to the sum
KINDS = ("kkr", "ukkr")
POWERS = {"kkr": 1.5, "ukkr": 0.75}
GRIDS = {  # (kind, scalar) -> the exponents of the paper's grids (Appendix B); the power of n is that of the authors' code
    ("kkr", True): tuple(10.0**-e for e in range(1, 18, 2)),
    ("ukkr", True): tuple(10.0**-e for e in range(1, 10)),
    ("kkr", False): tuple(10.0**-e for e in range(-8, 10)),
    ("ukkr", False): tuple(10.0 ** (-e / 2) for e in range(-8, 10)),
}


@dataclass(frozen=True)
class KernelRidge:
    """The squared calibration error by a kernel ridge regression of products of residuals.

        l2_squared = mean of h(f, f) over held-out samples,   h a regression of <u, u'> on (f, f'),   u = f - e_Y (scalars: f - Y)

    With the RBF kernel k(x, x') = exp(-gamma ||x - x'||^2), K = Q diag(l) Q' on the n training samples, and their residuals U
    (n, d):

        kkr:   h(p, p') = k(p)' Q (Q' U U' Q / (l_a l_b + c)) Q' k(p'),   c = ridge n^1.5   (eqs. 28 to 31)
        ukkr:  h(p, p') = <g(p), g(p')>,   g(p) = U' (K + c I)^-1 k(p),   c = ridge n^0.75   (eq. 32)

    that is, lambda = ridge n^-0.5 and ridge n^-0.25 in the paper. rms is the root, 0 for a negative estimate.

    Parameters
    ----------
    kind : {"kkr", "ukkr"}
        "kkr" regresses on all pairs at once and is not positive semi-definite, so that estimates can be negative.
    gamma : float
        Of the RBF kernel.
    ridge : float or "risk"
        A number, or the one of least mean risk (eq. 20) in five-fold cross-validation over the paper's grid.
    tolerance : float
        Share of K's trace that its low-rank decomposition may leave out.
    max_rank : int
        How many pivots that decomposition has at most.

    Notes
    -----
    The estimate is over the held-out samples of the same folds that choose the ridge (`Tuned` keeps samples for it that chose
    nothing). A large ridge shrinks h to 0, a small one adds the variance of U: bias downwards, then upwards.

    K enters by its pivoted Cholesky decomposition, which is exact to rounding where `max_rank` pivots reach `tolerance`
    (scalars need about 15). With many classes they may not; then h is that of a kernel K - E, E positive semi-definite with the
    trace `residual` relative to K's, which moves the result where the ridge's c is not far above the eigenvalues left out. A
    ridge below about 1e-16 n^0.5 is as good as none, for rounding of K decides.

    diagnostics: rank and residual, the largest of the folds; ridge and risk, those chosen. O(n r^2) per fold and r^2 (r + d)
    per ridge at most, for rank r; no n x n matrix. "ukkr" of a rank above 200 and 48 d has its ridges solved for to 1e-13 in one
    Krylov space (`math.shifted`) where that is enough, and no eigenvectors.

    References
    ----------
    gruber2025, eqs. 20 and 28 to 32, Appendix B (grids).

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_overconfident").sample(1000, np.random.default_rng(0))
    >>> found = KernelRidge()(p, y, np.random.default_rng(1))
    >>> round(found["l2_squared"].value, 2)
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
        if self.kind not in KINDS:
            raise BadInputError(f"kind is {self.kind!r}; allowed are {', '.join(KINDS)}.")
        if not is_positive(self.gamma):
            raise BadInputError(f"gamma is {self.gamma!r}; a positive number is needed.")
        if not (self.ridge == "risk" or is_positive(self.ridge)):
            raise BadInputError(f"ridge is {self.ridge!r}; a positive number, or risk, is needed.")
        if not (is_positive(self.tolerance) and self.tolerance < 1.0):
            raise BadInputError(
                f"tolerance is {self.tolerance!r}; a number between 0 and 1 is needed."
            )
        if not (is_positive(self.max_rank) and int(self.max_rank) == self.max_rank):
            raise BadInputError(f"max_rank is {self.max_rank!r}; a positive integer is needed.")

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if len(p) < 2 * FOLDS:
            raise UndefinedError(
                f"{FOLDS} folds of at least 2 samples need {2 * FOLDS}, and there are {len(p)}"
            )
        settings = settings_of(self.search_space(p.ndim == 1))
        fold, u = fold_of(y, FOLDS, False, rng), residuals(p, y)
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
        """What `tuned` tries: the grid, or the ridge that is given."""
        return {"ridge": GRIDS[self.kind, scalar] if self.ridge == "risk" else (float(self.ridge),)}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """For every setting (ridge, gamma), residual products at every array of `points`, fitted on (p, y); one decomposition, or
        one Krylov space, for all ridges. Their diagnostics are the rank and the residual trace of the decomposition."""
        made = [dataclasses.replace(self, **one) for one in settings]
        own = [(one, one.ridge) for one in made if not isinstance(one.ridge, str)]
        if len(own) < len(made):
            raise BadInputError("ridge is risk; a setting of a grid needs a number.")
        fits = {}
        for one, ridge in own:
            if one.gamma not in fits:
                fits[one.gamma] = one._fit(
                    p, y, points, sorted({c for other, c in own if other.gamma == one.gamma})
                )
            yield fits[one.gamma](ridge)

    def _fit(
        self, p: np.ndarray, y: np.ndarray, points: Sequence[np.ndarray], ridges: Sequence[float]
    ) -> Callable[[float], list[ResidualGram]]:
        """ridge -> the residual products at each of `points`."""
        kernel = pivoted_cholesky(p, self.gamma, self.tolerance, self.max_rank)
        diagnostics = {"rank": float(kernel.factor.shape[1]), "residual": kernel.residual}
        u, scale = residuals(p, y), len(p) ** POWERS[self.kind]
        if self.kind == "ukkr" and kernel.factor.shape[1] > max(
            SVD_MAX_RANK, KRYLOV_MIN_SHARE * u.shape[1]
        ):
            gram = kernel.factor.T @ kernel.factor
            solutions = shifted_solutions(
                gram, kernel.factor.T @ u, [ridge * scale for ridge in ridges]
            )
            if solutions is not None:
                # k(p)' L^-T X in the place of phi(p)' X: fewer columns than points are solved for
                weights = solve_triangular(
                    kernel.triangle, np.column_stack(solutions), lower=True, trans="T"
                )
                at = [
                    np.split(rbf(x, kernel.pivots, self.gamma) @ weights, len(ridges), axis=1)
                    for x in points
                ]
                return lambda ridge: [
                    ResidualGram(g[ridges.index(ridge)], diagnostics=diagnostics) for g in at
                ]
            eigenvalues, rotation = _from_gram(gram)
        else:
            eigenvalues, rotation = _spectrum(kernel.factor)
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
    """(eigenvalues l, rotation V) of factor' factor = V diag(l) V', those of the kernel matrix that are not 0. Few columns: small
    eigenvalues to full accuracy, for the smallest ridges on scalars; many: to 1e-16 of the largest, as the ridges of vectors
    need."""
    if factor.shape[1] <= SVD_MAX_RANK:
        _, singular, right = np.linalg.svd(np.linalg.qr(factor, mode="r"))
        return singular**2, right.T
    return _from_gram(factor.T @ factor)


def _from_gram(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    eigenvalues, rotation = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    seen = eigenvalues > eigenvalues[-1] * np.finfo(float).eps
    return eigenvalues[seen], rotation[:, seen]


def _signed_maps(
    eigenvalues: np.ndarray, z: np.ndarray, c: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """h(p, p') = phi' (Z Z' * G) phi', G_ab = 1 / (l_a l_b + c), as signed inner products of d q features: (maps (r, d q),
    signs); None where that saves nothing."""
    r, d = z.shape
    vectors = _signed_factors(eigenvalues, c, (r - 1) // (2 * d)) if r > FEW_DIMENSIONS else None
    if vectors is None:
        return None
    maps = z[:, :, None] * vectors[:, None, :]
    return maps.reshape(r, -1), np.tile((-1.0) ** np.arange(vectors.shape[1]), d)


def _signed_factors(eigenvalues: np.ndarray, c: float, most: int) -> np.ndarray | None:
    """v (r, q), G = sum_j (-1)^j v_j v_j' to rounding of D G D, D = diag(sqrt(l)); None where q would be above `most`.

    Elimination with the pivot k leaves of G_ab, as 1 / (l_a l_b + c) is a Cauchy matrix, - s_a s_b G_ab with s_a = sqrt(c) (l_a -
    l_k) / (l_a l_k + c): products alone, in which nothing cancels, O(r) per pivot. For c >= max l^2 all |s| <= 1; below, terms
    of opposite sign can be larger than G, and None is the answer where they would cost more than two digits."""
    root, s = np.sqrt(eigenvalues), np.ones_like(eigenvalues)
    found: list[np.ndarray] = []
    top = eigenvalues.max()
    largest = (
        top / (top**2 + c) if top**2 < c else 0.5 / np.sqrt(c)
    )  # of x / (x^2 + c) for x up to top
    while True:
        left = (root * s) ** 2 / (eigenvalues**2 + c)
        k = int(left.argmax())
        if left[k] <= np.finfo(float).eps * largest:
            return np.column_stack(found)
        across = eigenvalues * eigenvalues[k] + c
        found.append(s * (np.sqrt(across[k]) / across))
        if len(found) > most or ((root * found[-1]) ** 2).max() > LARGEST_TERM * largest:
            return None
        s = s * (np.sqrt(c) * (eigenvalues - eigenvalues[k]) / across)
