"""The conditional kernel calibration error: the distance between two conditional mean operators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, is_positive
from harness.estimators.kernel_errors import (
    KERNELS,
    check_gamma,
    check_integer,
    fourier_features,
    gamma_of,
    group_sums,
    on_columns,
    rate_of,
    times,
)
from harness.math.kernels import TILE_ROWS, LowRank, pivoted_cholesky, rbf

METHODS = ("auto", "cholesky", "low_rank", "features")
CHOLESKY_FASTEST_UP_TO = 500  # samples that Cholesky serves soonest
EXACT_RANK_FROM = 200  # of scalars, samples from which a low rank that leaves out next to nothing comes sooner yet
EXACT_RANK = 40
EXACT_RESIDUAL = 1e-13
EXACT_ACCURACY = 1e-11
CHOLESKY_MAX_N = 10_000
AUTO_CHOLESKY_MAX_N = 4000  # samples of which auto holds an n x n matrix
NOISE_FLOOR_MAX_N = 2000  # samples of which the noise floor may cost another n^3
MAX_PIVOTS = 256
FEW_CLASSES, FEW_PIVOTS = (
    30,
    150,
)  # up to so many classes a product costs no more than pivots beyond so many
MAX_PRODUCTS = 50
BLOCK_ROWS = 4096
SMALL_REST = (
    0.005  # of c: a trace left out that one product with twice the columns mostly makes up for
)
NEGLIGIBLE_SHARE = 1e-12  # of ||R||^2 / (4 c), the largest value possible


@dataclass(frozen=True)
class CKCE:
    """The conditional kernel calibration error: the distance of two conditional mean operators, of the outcome and of draws
    from the prediction, both given the prediction f.

        ckce = ||C^_{Y|f} - C^_{Z|f}||_HS^2 = tr(R' A K A R),   A = (K + c I)^-1,   R = e_y - f

        K_ij = f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2)),   c = ridge n

    Both operators are ridge regressions on f; labels are compared by 1{y = y'}. p (n,) counts as the two columns (1 - p, p).

    Parameters
    ----------
    gamma : float or str
        A number, or a rule of `kernels.median_distance` on the predictions at hand (the paper says "the median heuristic").
    ridge : float, optional
        The regularisation; None is n^-1/4 (Sections 2.3, 3.2 and 5).
    method : {"auto", "cholesky", "low_rank", "features"}
        How the equations are solved, see below.
    kernel : {"linear_rbf", "kronecker"}
        K as above, or 1{f_i = f_j} (Appendix A), where ckce = sum_g ||sum_{i in g} r_i||^2 / (n_g + c)^2 over the distinct
        predictions.
    features : int
        How many random Fourier features "features" draws.
    accuracy : float
        The relative error that "low_rank" is content with.

    Notes
    -----
    **Bias.** At least 0, and too large by noise: of a calibrated model the expectation given f is sum_i [A K A]_ii (1 -
    ||f_i||^2), the diagnostic noise_floor. Too small by the ridge, which takes the difference in a direction of eigenvalue s
    times s / (s + c). Values therefore depend on n, gamma and the law of f; only those of one n and one rule compare. Where
    all f are equal, ckce is kappa / (kappa + ridge)^2 ||mean r||^2 with kappa = ||f||^2 + 1, whatever gamma.

    **Methods.** "cholesky": K + c I decomposed, O(n^3) with an n x n matrix, for n up to 10,000. "low_rank": O(n r^2) and
    O(n^2 k) per product with K, memory O(n (k + r)), for a rank r of at most 256. "auto": low rank above 500 samples, and
    above 200 of two columns where a rank of 40 leaves out at most 1e-13 of the trace; else Cholesky; where a tiny ridge keeps
    that from its accuracy, Cholesky up to 4,000 and UndefinedError above. "features": K by random Fourier features from rng,
    O(n (k + 2 features)^2) (Appendix B).

    **Accuracy of the low rank.** The RBF part is L L' + E by pivoted Cholesky, E >= 0 of trace e = n residual; F = [f, L], and
    P = (F F' + c I)^-1 in closed form. X = P R solves the equations of K - E, and tr(X' (K - E) X) misses ckce by at most e (1
    + e / c)^2 ||X||^2: along K - E + t E, with A and W = A R there, the derivative is -tr(W' E (I - 2 c A) W). Where that is
    too much, conjugate gradients with the preconditioner P reduce S = R - (K + c I) X. As the solution is X + A S,

        ckce = tr(X' K X) + 2 tr(X' (I - c P) S)   up to   2 min(||X||, e ||P X||) ||S|| + ||S||^2 / (4 c),

    for c (P - A) = c A E P and s / (s + c)^2 <= 1 / (4 c). The iterations end where this bound, with rounding, is at most
    `accuracy` of ckce, or 1e-12 of the largest value possible, ||R||^2 / (4 c). The heavy ridge makes a few products enough,
    for any rank.

    **Diagnostics.** gamma, ridge; rank, residual (the trace of E relative to that of K's RBF part), products, error (the bound
    above); noise_floor, where it is cheap (low_rank: to first order in E, within 1 %).

    References
    ----------
    moskvichev2025, eqs. 4 and 5, Sections 2.3, 3.2 and 5, Appendices A and B.

    Examples
    --------
    >>> round(CKCE(gamma=0.5)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["ckce"].value, 4)
    0.0433
    """

    gamma: float | str = "median"
    ridge: float | None = None
    method: str = "auto"
    kernel: str = "linear_rbf"
    features: int = 100
    accuracy: float = 1e-9

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("ckce",)
    revision = 1
    null_bias = 0.01
    seconds = 0.03

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        if not (self.ridge is None or is_positive(self.ridge)):
            raise BadInputError(
                f"ridge is {self.ridge!r}; a positive number, or null for n^-1/4, is needed."
            )
        for name, allowed in (("method", METHODS), ("kernel", KERNELS)):
            if getattr(self, name) not in allowed:
                raise BadInputError(
                    f"{name} is {getattr(self, name)!r}; allowed are {', '.join(allowed)}."
                )
        if self.kernel == "kronecker" and self.method != "auto":
            raise BadInputError(
                f"method is {self.method!r}; the kernel kronecker has a closed form and takes auto alone."
            )
        check_integer("features", self.features)
        if not (is_positive(self.accuracy) and self.accuracy < 1.0):
            raise BadInputError(
                f"accuracy is {self.accuracy!r}; a number between 0 and 1 is needed."
            )

    @property
    def determinism(self) -> str:
        return "statistical" if self.method == "features" else "rounding"

    @property
    def max_n(self) -> int | None:
        return CHOLESKY_MAX_N if self.method == "cholesky" else None

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        q, r = on_columns(p, y)
        n = len(q)
        ridge = n**-0.25 if self.ridge is None else float(self.ridge)
        c = n * ridge
        spread = 1.0 - np.einsum("ij,ij->i", q, q)  # E ||r||^2 given f of a calibrated model
        if self.kernel == "kronecker":
            group, sums, sizes = group_sums(q, r)
            value = float(((sums / (sizes + c)[:, None]) ** 2).sum())
            diagnostics = {
                "rank": len(sizes),
                "noise_floor": float((spread / (sizes[group] + c) ** 2).sum()),
            }
        else:
            gamma = gamma_of(self.gamma, q)
            value, diagnostics = self._value(q, r, gamma, c, spread, rng)
            diagnostics = {"gamma": gamma, **diagnostics}
        return {"ckce": Estimate(value, diagnostics={"ridge": ridge, **diagnostics})}

    def _value(
        self,
        q: np.ndarray,
        r: np.ndarray,
        gamma: float,
        c: float,
        spread: np.ndarray,
        rng: np.random.Generator | None,
    ) -> tuple[float, dict[str, float]]:
        if self.method == "features":
            system = System(fourier_features(q, gamma, int(self.features), rng), c)
            return system.primal(r), {
                "rank": system.features.shape[1],
                "noise_floor": system.trace(spread),
            }
        small = self.method == "auto" and len(q) <= CHOLESKY_FASTEST_UP_TO
        if small and len(q) > EXACT_RANK_FROM and q.shape[1] == 2:
            low = pivoted_cholesky(q, rate_of(gamma), max_rank=EXACT_RANK, spread=True)
            if low.residual <= EXACT_RESIDUAL:
                value, diagnostics = by_low_rank(
                    q, r, gamma, c, spread, min(self.accuracy, EXACT_ACCURACY), low
                )
                if value is not None and not diagnostics["products"]:
                    return value, diagnostics
        if small or self.method == "cholesky":
            return by_cholesky(q, r, gamma, c, spread)
        value, diagnostics = by_low_rank(q, r, gamma, c, spread, self.accuracy)
        if value is None and self.method == "auto" and len(q) <= AUTO_CHOLESKY_MAX_N:
            return by_cholesky(q, r, gamma, c, spread)
        if value is None:
            raise UndefinedError(
                f"an accuracy of {self.accuracy:g} is not reached in {MAX_PRODUCTS} products (bound {diagnostics['error']:.2g}): "
                f"the ridge is too small for rank {diagnostics['rank']}"
            )
        return value, diagnostics


@dataclass(frozen=True)
class System:
    """F F' + c I, F = features (n, d), solved in d dimensions."""

    features: np.ndarray
    c: float

    @cached_property
    def _cholesky(self) -> tuple[np.ndarray, bool]:
        inner = self.features.T @ self.features
        inner.flat[:: len(inner) + 1] += self.c
        return cho_factor(inner, overwrite_a=True, check_finite=False)

    def _inner(self, b: np.ndarray) -> np.ndarray:
        return cho_solve(self._cholesky, b, check_finite=False)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """(F F' + c I)^-1 b."""
        return (b - self.features @ self._inner(self.features.T @ b)) / self.c

    def primal(self, r: np.ndarray) -> float:
        """tr(R' A F F' A R) = ||(F' F + c I)^-1 F' R||^2."""
        return float((self._inner(self.features.T @ r) ** 2).sum())

    def trace(self, weights: np.ndarray) -> float:
        """tr(A F F' A diag(w)) = tr(M^-1 F' diag(w) F M^-1), M = F' F + c I, for w (n,) >= 0."""
        inner = self.features.shape[1]
        found = np.zeros((inner, inner))
        for start in range(0, len(weights), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            weighted = np.sqrt(np.maximum(weights[rows], 0.0))[:, None] * self.features[rows]
            found += weighted.T @ weighted
        return float(np.trace(self._inner(self._inner(found).T)))


def by_cholesky(
    q: np.ndarray, r: np.ndarray, gamma: float, c: float, spread: np.ndarray
) -> tuple[float, dict[str, float]]:
    """(value, diagnostics) with K + c I decomposed: one n x n matrix, another for the noise floor."""
    n = len(q)
    matrix = np.empty((n, n))
    for start in range(0, n, TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        matrix[rows] = rbf(q[rows], q, rate_of(gamma))
        matrix[rows] += q[rows] @ q.T
    matrix.flat[:: n + 1] += c
    factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    w = cho_solve(factor, r, check_finite=False)
    value = np.vdot(w, times(q, gamma, w))  # not w'(r - c w), which cancels where c is large
    diagnostics = {"rank": n, "residual": 0.0}
    if n <= NOISE_FLOOR_MAX_N:
        lower = np.tril(dpotri(factor[0], lower=1)[0])
        squares = (lower * lower).sum(axis=0) + (np.tril(lower, -1) ** 2).sum(axis=1)
        diagnostics["noise_floor"] = float((lower.diagonal() - c * squares) @ spread)
    return float(value), diagnostics


def by_low_rank(
    q: np.ndarray,
    r: np.ndarray,
    gamma: float,
    c: float,
    spread: np.ndarray,
    accuracy: float,
    low: LowRank | None = None,
) -> tuple[float | None, dict[str, float]]:
    """(value, diagnostics) as `CKCE` says; value None where the accuracy is not reached. low: the pivoted Cholesky decomposition,
    None to make it."""
    if low is None:
        most = FEW_PIVOTS if q.shape[1] <= FEW_CLASSES else MAX_PIVOTS
        low = pivoted_cholesky(
            q, rate_of(gamma), max_rank=min(most, int(3 * np.sqrt(len(q))) + 1), spread=True
        )
    system, left = System(np.column_stack([q, low.factor]), c), low.residual * len(q)
    value, error, products = system.primal(r), 0.0, 0
    if left > 0.0:
        x = system.solve(r)
        error = left * (1.0 + left / c) ** 2 * (x * x).sum()
        if not error <= accuracy * value:
            if left <= SMALL_REST * c:
                value, error, products = *_corrected(q, r, gamma, system, x, left), 1
            if not (products and error <= _enough(value, r, c, accuracy)):
                value, error, products = _refined(q, r, gamma, system, x, left, accuracy)
    missing = np.maximum(1.0 - np.einsum("ij,ij->i", low.factor, low.factor), 0.0)  # diagonal of E
    diagnostics = {
        "rank": low.factor.shape[1],
        "residual": low.residual,
        "products": products,
        "error": float(error),
        "noise_floor": system.trace(spread) + float(missing @ spread) / c**2,
    }
    enough = products == 0 or error <= _enough(value, r, c, accuracy)
    return (float(value) if enough else None), diagnostics


def _enough(value: float, r: np.ndarray, c: float, accuracy: float) -> float:
    return max(accuracy * value, NEGLIGIBLE_SHARE * (r * r).sum() / (4.0 * c))


def _corrected(
    q: np.ndarray, r: np.ndarray, gamma: float, system: System, x: np.ndarray, left: float
) -> tuple[float, float]:
    """(value, bound of its error) of third order in E, from one product with X = P R and Y = P X at once, see `CKCE`."""
    c, d = system.c, x.shape[1]
    both = np.column_stack([x, system.solve(x)])
    y = both[:, d:]
    image = times(q, gamma, both)
    s = r - image[:, :d] - c * x
    t = image[:, d:] + c * y - x
    solved = system.solve(np.column_stack([s, t]))
    z = solved[:, :d]
    value = (
        np.vdot(x, r - c * x)
        + np.vdot(x - 2.0 * c * y, s)
        + np.vdot(s + 2.0 * c * t, z)
        - c * np.vdot(z, z)
    )
    of_x, of_s, of_t, of_z = (np.linalg.norm(v) for v in (x, s, t, z))
    rounding = np.finfo(float).eps * 4.0 * len(x) * of_x**2  # of the products, K being at most 2 n
    return value, left * of_z * (of_z + 2.0 * of_s / c + 2.0 * of_t) + rounding


def _refined(
    q: np.ndarray,
    r: np.ndarray,
    gamma: float,
    system: System,
    x: np.ndarray,
    left: float,
    accuracy: float,
) -> tuple[float, float, int]:
    """(value, bound of its error, number of products) by preconditioned conjugate gradients from x, all columns at once."""
    c, products = system.c, 1
    direction, before = np.zeros_like(x), np.ones(x.shape[1])
    kx = times(q, gamma, x)
    s = r - kx - c * x
    value, error = _judged(x, kx, s, system, left)
    while error > _enough(value, r, c, accuracy) and products < MAX_PRODUCTS:
        z = system.solve(s)
        now = np.einsum("ij,ij->j", z, s)
        direction = z + now / before * direction
        k_direction = times(q, gamma, direction)
        m_direction = k_direction + c * direction
        curved = np.einsum("ij,ij->j", direction, m_direction)
        step = np.divide(
            now, curved, out=np.zeros_like(now), where=curved > 0.0
        )  # a column without residual stays
        x, kx, s = x + step * direction, kx + step * k_direction, s - step * m_direction
        before, products = np.where(now > 0.0, now, 1.0), products + 1
        value, error = _judged(x, kx, s, system, left)
    return value, error, products


def _judged(
    x: np.ndarray, kx: np.ndarray, s: np.ndarray, system: System, left: float
) -> tuple[float, float]:
    """(value, bound of its error) from X, K X and the residual S."""
    px, size = system.solve(x), np.linalg.norm(x)
    off = (
        np.linalg.norm(s) + np.finfo(float).eps * 2.0 * len(x) * size
    )  # K is at most 2 n: rounding of its products
    value = np.vdot(x, kx) + 2.0 * np.vdot(x - system.c * px, s)
    return value, 2.0 * min(size, left * np.linalg.norm(px)) * off + off**2 / (4.0 * system.c)
