"""Squared calibration error by kernel ridge regression of products of residuals."""

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
# With at least 48 times as many dimensions as right-hand sides, a Krylov space is faster than all
# eigenvectors.
KRYLOV_MIN_SHARE = 48
FEW_DIMENSIONS = 50  # up to this rank, products with the whole matrix are as cheap as low-rank ones
LARGEST_TERM = 100.0  # largest term of a signed sum of low rank, relative to the sum
KINDS = ("kkr", "ukkr")
POWERS = {"kkr": 1.5, "ukkr": 0.75}  # c = ridge n^power, as in the authors' code
# The paper's grid of ridges (Appendix B) for (kind, True for scalars).
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
        rms        = sqrt(max(l2_squared, 0))

    f is a prediction, and u its residual: f minus the one-hot vector of the label, or f - y for
    scalars. The function h(p, p') estimates E[<u, u'> given f = p, f' = p'] for two independent
    samples. There are two regressions:

        kkr:   h(p, p') = k(p)' Q (Q' U U' Q / (l_a l_b + c)) Q' k(p'),   c = ridge n^1.5
               (eqs. 28 to 31)
        ukkr:  h(p, p') = <g(p), g(p')>,   g(p) = U' (K + c I)^-1 k(p),   c = ridge n^0.75
               (eq. 32)

    The rows of U (n, d) are the residuals of the n training samples. K (n, n) is the RBF kernel
    k(x, x') = exp(-gamma ||x - x'||^2) on their predictions, with the eigenvalues l_a and the
    eigenvectors Q. k(p) (n,) is the kernel between p and these predictions. The matrix in brackets
    is divided entry by entry. The paper's lambda is ridge n^-0.5 for kkr and ridge n^-0.25 for
    ukkr.

    Parameters
    ----------
    kind : {"kkr", "ukkr"}
        "kkr" regresses on all pairs at once. Its h is not positive semi-definite, so that estimates
        can be negative.
    gamma : float
        Parameter of the RBF kernel.
    ridge : float or "risk"
        A number, or "risk" to select from the paper's grid the ridge with the smallest mean risk
        (eq. 20) in five-fold cross-validation.
    tolerance : float
        Share of the trace of K that the low-rank decomposition of K may leave out.
    max_rank : int
        Largest rank of that decomposition.

    Notes
    -----
    **Folds.** The estimate uses the held-out samples of the folds that select the ridge. `Tuned`
    estimates on separate samples.

    **Bias.** A large ridge shrinks h to 0, which is a bias downwards. A small ridge adds the
    variance of U, which is a bias upwards.

    **Accuracy.** K is replaced by its pivoted Cholesky decomposition. This is exact up to rounding
    if a rank of at most `max_rank` reaches `tolerance`; scalars need a rank of about 15. With many
    classes the rank may be too small. Then h is that of a kernel K - E with E >= 0, whose trace
    relative to that of K is the diagnostic `residual`. This changes the result unless c is far
    above the omitted eigenvalues. A ridge below about 1e-16 n^0.5 has no effect, because rounding
    of K is larger.

    **Diagnostics.** `rank` and `residual` are the largest of the folds. `ridge` and `risk` are
    those of the selected setting.

    **Cost.** O(n r^2) per fold and O(r^2 (r + d)) per ridge, for rank r; no n x n matrix. If r is
    above 200 and 48 d, "ukkr" solves for all ridges in one Krylov space to 1e-13 (`math.shifted`),
    without eigenvectors, unless the space gets too large.

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
            raise BadInputError(f"ridge is {self.ridge!r}; give a positive number, or risk.")
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
                f"{FOLDS} folds of 2 samples need {2 * FOLDS} samples; there are {len(p)}"
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
        """Return the ridges that `Tuned` tries by default.

        These are the paper's grid if the field `ridge` is "risk", else only this field.
        """
        return {"ridge": GRIDS[self.kind, scalar] if self.ridge == "risk" else (float(self.ridge),)}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """Yield, for every setting of ridge and gamma, the residual products at each of `points`.

        Residual products are the values of h(p, p') of this class at pairs of points. h is fitted
        to predictions p and labels y, with one decomposition or one Krylov space for
        all ridges of one gamma. The diagnostics of the products are the rank and the residual trace
        of the decomposition.
        """
        estimators = [dataclasses.replace(self, **setting) for setting in settings]
        ridges: dict[float, set[float]] = {}
        for estimator in estimators:
            if isinstance(estimator.ridge, str):
                raise BadInputError("ridge is 'risk' in a setting of a grid; give a number.")
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
        """Return a function that maps a ridge to the residual products at each of `points`."""
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
                # phi(p)' X is computed as k(p)' (L^-T X), because X has fewer columns than there
                # are points.
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
        # Otherwise use all eigenvectors, which are the same for every ridge.
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
    """Return the eigenvalues l and eigenvectors V of factor' factor = V diag(l) V'.

    With at most 200 columns, small eigenvalues have full relative accuracy, as the smallest ridges
    for scalars need. With more columns, the errors are 1e-16 of the largest eigenvalue, which is
    enough for the ridges of vectors; eigenvalues that are 0 up to rounding are left out.
    """
    if factor.shape[1] <= SVD_MAX_RANK:
        _, singular, right = np.linalg.svd(np.linalg.qr(factor, mode="r"))
        return singular**2, right.T
    return _from_gram(factor.T @ factor)


def _from_gram(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of a Gram matrix that exceed its rounding error, and eigenvectors.

    `gram` is overwritten.
    """
    eigenvalues, rotation = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    kept = eigenvalues > eigenvalues[-1] * np.finfo(float).eps
    return eigenvalues[kept], rotation[:, kept]


def _signed_maps(
    eigenvalues: np.ndarray, z: np.ndarray, c: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the matrix (Z Z') * G as a signed sum M diag(s) M' of low rank.

    The product * is entry by entry, and G_ab = 1 / (l_a l_b + c) for the eigenvalues l (r,). Z is
    (r, d). Returns M (r, m) and the signs s (m,). Returns None if r is at most FEW_DIMENSIONS, if m
    would be r / 2 or more, or if the sum would lose more than two digits.
    """
    r, d = z.shape
    vectors = _signed_factors(eigenvalues, c, (r - 1) // (2 * d)) if r > FEW_DIMENSIONS else None
    if vectors is None:
        return None
    maps = z[:, :, None] * vectors[:, None, :]
    return maps.reshape(r, -1), np.tile((-1.0) ** np.arange(vectors.shape[1]), d)


def _signed_factors(eigenvalues: np.ndarray, c: float, most: int) -> np.ndarray | None:
    """Return v (r, q) with G = sum_j (-1)^j v_j v_j', for G_ab = 1 / (l_a l_b + c).

    l (r,) are the eigenvalues. The equation holds up to the rounding of D G D with
    D = diag(sqrt(l)). The result is None if q would exceed `most`, or if terms of opposite sign
    would cancel more than two digits, which can only happen for c < max l^2.

    G is a Cauchy matrix. Elimination with the pivot k therefore replaces the entry G_ab by
    -s_a s_b G_ab, with s_a = sqrt(c) (l_a - l_k) / (l_a l_k + c). No digits cancel in this product.
    Cost: O(r) per pivot.
    """
    root, s = np.sqrt(eigenvalues), np.ones_like(eigenvalues)
    factors: list[np.ndarray] = []
    top = eigenvalues.max()
    # The maximum of x / (x^2 + c) over 0 <= x <= top.
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
