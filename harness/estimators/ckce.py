"""Conditional kernel calibration error: the distance between two conditional mean operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_choice, check_integer, is_positive
from harness.estimators.ckce_solvers import MAX_PRODUCTS, System, by_cholesky, by_low_rank
from harness.estimators.residual_kernels import (
    KERNELS,
    check_gamma,
    fourier_features,
    group_sums,
    on_columns,
    rbf_rate,
    resolve_gamma,
)
from harness.math.low_rank import pivoted_cholesky

METHODS = ("auto", "cholesky", "low_rank", "features")
CHOLESKY_FASTEST_UP_TO = 500  # up to so many samples Cholesky is the fastest method
# With two columns and more samples than this, a nearly exact low rank is faster than Cholesky.
EXACT_RANK_FROM = 200
EXACT_RANK = 40
EXACT_RESIDUAL = 1e-13
EXACT_ACCURACY = 1e-11
CHOLESKY_MAX_N = 10_000
AUTO_CHOLESKY_MAX_N = 4000  # up to so many samples "auto" may hold an n x n matrix


@dataclass(frozen=True)
class CKCE:
    """Conditional kernel calibration error: the distance of two conditional mean operators.

    They are the operators of the outcome and of draws from the prediction, both given the
    prediction f.

        ckce = ||C^_{Y|f} - C^_{Z|f}||_HS^2 = tr(R' A K A R),   A = (K + c I)^-1,   R = e_y - f

        K_ij = f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2)),   c = ridge n

    Both operators are ridge regressions on f; labels are compared by 1{y = y'}. p (n,) counts as
    the two columns (1 - p, p).

    Parameters
    ----------
    gamma : float or str
        A number, or a rule of `kernels.median_distance` on the predictions at hand (the paper says
        "the median heuristic").
    ridge : float, optional
        The regularisation; None is n^-1/4 (Sections 2.3, 3.2 and 5).
    method : {"auto", "cholesky", "low_rank", "features"}
        Solver of the equations, see below.
    kernel : {"linear_rbf", "kronecker"}
        K as above, or 1{f_i = f_j} (Appendix A), where ckce = sum_g ||sum_{i in g} r_i||^2 / (n_g +
        c)^2 over the distinct predictions.
    features : int
        Number of random Fourier features of "features".
    accuracy : float
        Relative error that "low_rank" may have.

    Notes
    -----
    **Bias.** At least 0, and too large by noise: for a calibrated model the expectation given f is
    sum_i [A K A]_ii (1 - ||f_i||^2), the diagnostic noise_floor. Too small by the ridge, which
    multiplies the difference in a direction of eigenvalue s by s / (s + c). Values therefore depend
    on n, gamma and the law of f; only those of one n and one rule can be compared. If all f are
    equal, ckce is kappa / (kappa + ridge)^2 ||mean r||^2 with kappa = ||f||^2 + 1, whatever gamma.

    **Methods.** "cholesky" decomposes K + c I: O(n^3) with an n x n matrix, for n up to 10,000.
    "low_rank": O(n r^2) and O(n^2 k) per product with K, memory O(n (k + r)), for a rank r of at
    most 256. "features": K by random Fourier features from rng, O(n (k + 2 features)^2) (Appendix
    B). "auto" uses a low rank above 500 samples, and above 200 samples of two columns if a rank of
    40 leaves out at most 1e-13 of the trace; otherwise Cholesky. If a tiny ridge keeps the low rank
    from its accuracy, it uses Cholesky up to 4,000 samples and raises UndefinedError above.

    **Accuracy of the low rank.** The RBF part is L L' + E by pivoted Cholesky, E >= 0 of trace e =
    n residual; F = [f, L], and P = (F F' + c I)^-1 in closed form. X = P R solves the equations of
    K - E, and tr(X' (K - E) X) misses ckce by at most e (1 + e / c)^2 ||X||^2: along K - E + t E,
    with A and W = A R there, the derivative is -tr(W' E (I - 2 c A) W). If that is too much,
    conjugate gradients with the preconditioner P reduce S = R - (K + c I) X. As the solution is X +
    A S,

        ckce = tr(X' K X) + 2 tr(X' (I - c P) S)
        up to  2 min(||X||, e ||P X||) ||S|| + ||S||^2 / (4 c),

    because c (P - A) = c A E P and s / (s + c)^2 <= 1 / (4 c). The iterations end when this bound,
    with rounding, is at most `accuracy` of ckce, or 1e-12 of the largest possible value, ||R||^2 /
    (4 c). The heavy ridge makes a few products enough, for any rank.

    **Diagnostics.** gamma, ridge; rank, residual (the trace of E relative to that of K's RBF part),
    products, error (the bound above); noise_floor, if it is cheap (low_rank: to first order in E,
    within 1 %).

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
        check_choice("method", self.method, METHODS)
        check_choice("kernel", self.kernel, KERNELS)
        if self.kernel == "kronecker" and self.method != "auto":
            raise BadInputError(
                f"method is {self.method!r}; the kernel kronecker has a closed form and allows "
                "only auto."
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
            gamma = resolve_gamma(self.gamma, q)
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
        """Return the value and the diagnostics of the kernel linear_rbf."""
        if self.method == "features":
            system = System(fourier_features(q, gamma, int(self.features), rng), c)
            return system.primal(r), {
                "rank": system.features.shape[1],
                "noise_floor": system.trace(spread),
            }
        small = self.method == "auto" and len(q) <= CHOLESKY_FASTEST_UP_TO
        if small and len(q) > EXACT_RANK_FROM and q.shape[1] == 2:
            low = pivoted_cholesky(q, rbf_rate(gamma), max_rank=EXACT_RANK, spread=True)
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
                f"{MAX_PRODUCTS} products do not reach an accuracy of {self.accuracy:g} (bound "
                f"{diagnostics['error']:.2g}): the ridge is too small for rank "
                f"{diagnostics['rank']}"
            )
        return value, diagnostics
