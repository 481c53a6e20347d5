"""Conditional kernel calibration error: the distance of two conditional mean operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_choice, check_integer, is_positive
from harness.estimators.ckce_ridge import CROSS_VALIDATION, cross_validated_ridge
from harness.estimators.ckce_solvers import (
    MAX_PRODUCTS,
    System,
    solve_by_cholesky,
    solve_by_low_rank,
)
from harness.estimators.residual_kernels import (
    KERNELS,
    check_gamma,
    check_residuals,
    fourier_features,
    group_sums,
    rbf_rate,
    resolve_gamma,
)
from harness.math.low_rank import pivoted_cholesky

METHODS = ("auto", "cholesky", "low_rank", "features")
CHOLESKY_FASTEST_UP_TO = 500  # number of samples up to which Cholesky is the fastest method
# With two columns and more samples than this, a nearly exact low rank is faster than Cholesky.
EXACT_RANK_FROM = 200
EXACT_RANK = 40
EXACT_RESIDUAL = 1e-13
EXACT_ACCURACY = 1e-11
CHOLESKY_MAX_N = 10_000
AUTO_CHOLESKY_MAX_N = 4000  # number of samples up to which "auto" may use an n x n matrix


@dataclass(frozen=True)
class CKCE:
    """Conditional kernel calibration error: the squared distance of two conditional mean operators.

    One operator maps a prediction f to the conditional mean of the outcome Y given f. The other
    maps f to the conditional mean of a label Z that is drawn from f. Both are estimated by ridge
    regression on f:

        ckce = ||C_{Y|f} - C_{Z|f}||_HS^2 = tr(R' A K A R)
        A    = (K + c I)^-1,   c = ridge n
        K_ij = f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2))

    There are n predictions f_i of k classes, with labels y_i. The rows of R (n, k) are the
    residuals r_i = e_{y_i} - f_i, with the one-hot vector e_{y_i} of the label. Scalar predictions
    p (n,) count as the two columns (1 - p, p).

    Parameters
    ----------
    gamma : float or str
        Bandwidth of the kernel: a number, or a rule of `kernels.median_distance`. A rule is applied
        to the predictions of the sample. The paper says "the median heuristic".
    ridge : float or "cross_validation", optional
        Regularisation of both regressions. None takes n^(-1/4) (Sections 2.3, 3.2 and 5).
        "cross_validation" takes the one of 15 values from 1e-6 to 10 with the smallest
        leave-one-out error (`ckce_ridge.cross_validated_ridge`).
    method : {"auto", "cholesky", "low_rank", "features"}
        Solver of the equations, see Notes.
    kernel : {"linear_rbf", "kronecker"}
        "linear_rbf" is K as above. "kronecker" is K_ij = 1{f_i = f_j} (Appendix A), which gives
        ckce = sum_g ||sum_{i in g} r_i||^2 / (n_g + c)^2, where group g consists of the n_g samples
        with one predicted value.
    features : int
        Number of random Fourier features, for the method "features".
    accuracy : float
        Largest relative error of the method "low_rank".

    Notes
    -----
    **Bias.** Noise makes ckce too large: for a calibrated model, its expectation given the
    predictions is sum_i [A K A]_ii (1 - ||f_i||^2). This is the diagnostic noise_floor. The ridge
    makes ckce too small: in a direction with the eigenvalue s of K, it multiplies the difference of
    the operators by s / (s + c). Values therefore depend on n, on gamma and on the law of f.
    Compare only values with the same n and the same rule. If all predictions are equal to f, then
    ckce = kappa / (kappa + ridge)^2 ||mean r||^2 with kappa = ||f||^2 + 1, for any gamma.

    **Methods.**

        method       how                                 operations              memory
        cholesky     decomposes K + c I, n <= 10,000     O(n^3)                  O(n^2)
        low_rank     pivoted Cholesky of rank r <= 256   O(n r^2), and O(n^2 k)  O(n (k + r))
                                                         per product with K
        features     random Fourier features from rng    O(n (k + 2 features)^2)
                     (Appendix B)

    "auto" uses Cholesky up to 500 samples and a low rank above. With two columns, it uses a low
    rank already above 200 samples, if rank 40 leaves out at most 1e-13 of the trace. If the ridge
    is too small for the accuracy of the low rank, "auto" uses Cholesky up to 4,000 samples, and
    raises UndefinedError above.

    **Accuracy of the low rank.** Pivoted Cholesky writes the Gaussian part of K as L L' + E, where
    E >= 0 has the trace e. With F = [f, L], the inverse P = (F F' + c I)^-1 is cheap. X = P R
    solves the equations of K - E, and tr(X' (K - E) X) differs from ckce by at most e (1 + e / c)^2
    ||X||^2. (Proof: put K - E + t E in place of K, with t from 0 to 1, and W = A R. The derivative
    of ckce in t is then -tr(W' E (I - 2 c A) W).)

    If this error is too large, conjugate gradients with the preconditioner P improve X, reducing
    S = R - (K + c I) X. The exact solution is X + A S, so that

        ckce = tr(X' K X) + 2 tr(X' (I - c P) S)
        up to  2 min(||X||, e ||P X||) ||S|| + ||S||^2 / (4 c),

    because c (P - A) = c A E P and s / (s + c)^2 <= 1 / (4 c). The iterations end when this bound
    (plus rounding) is at most `accuracy` times ckce, or 1e-12 of the largest possible value,
    ||R||^2 / (4 c). With the default ridge a few products with K are enough, for any rank.

    **Diagnostics.**

        gamma, ridge   the numbers that were used
        rank           number of columns of F
        residual       trace of E relative to the trace of the Gaussian part of K
        products       number of products with K
        error          the bound of the error above
        noise_floor    see Bias; absent if it would be expensive; its error is at most 1 % for
                       "low_rank"

    References
    ----------
    moskvichev2025, eqs. 4 and 5, Sections 2.3, 3.2 and 5, Appendices A and B.

    Examples
    --------
    >>> round(CKCE(gamma=0.5)([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["ckce"].value, 4)
    0.0433
    """

    gamma: float | str = "median"
    ridge: float | str | None = None
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
        if not (self.ridge in (None, CROSS_VALIDATION) or is_positive(self.ridge)):
            raise BadInputError(
                f"ridge is {self.ridge!r}; give a positive number, null for n^(-1/4), or "
                f"{CROSS_VALIDATION}."
            )
        check_choice("method", self.method, METHODS)
        check_choice("kernel", self.kernel, KERNELS)
        if self.kernel == "kronecker" and self.method != "auto":
            raise BadInputError(
                f"method is {self.method!r}, but the kernel kronecker has a closed form; give "
                "method auto."
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
        q, r = check_residuals(p, y)
        n = len(q)
        gamma = None if self.kernel == "kronecker" else resolve_gamma(self.gamma, q)
        if self.ridge == CROSS_VALIDATION:
            ridge = cross_validated_ridge(q, r, gamma)
        else:
            ridge = n**-0.25 if self.ridge is None else float(self.ridge)
        c = n * ridge
        spread = 1.0 - np.einsum("ij,ij->i", q, q)  # E[||r||^2 given f] for a calibrated model
        if gamma is None:
            group, sums, sizes = group_sums(q, r)
            value = float(((sums / (sizes + c)[:, None]) ** 2).sum())
            diagnostics = {
                "rank": len(sizes),
                "noise_floor": float((spread / (sizes[group] + c) ** 2).sum()),
            }
        else:
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
        """Return ckce and its diagnostics for the kernel linear_rbf.

        q and r (n, k) are predictions and residuals; c = ridge n. `spread` (n,) holds
        E[||r||^2 given the prediction] for a calibrated model.
        """
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
                value, diagnostics = solve_by_low_rank(
                    q, r, gamma, c, spread, min(self.accuracy, EXACT_ACCURACY), low
                )
                if value is not None and not diagnostics["products"]:
                    return value, diagnostics
        if small or self.method == "cholesky":
            return solve_by_cholesky(q, r, gamma, c, spread)
        value, diagnostics = solve_by_low_rank(q, r, gamma, c, spread, self.accuracy)
        if value is None and self.method == "auto" and len(q) <= AUTO_CHOLESKY_MAX_N:
            return solve_by_cholesky(q, r, gamma, c, spread)
        if value is None:
            raise UndefinedError(
                f"{MAX_PRODUCTS} products with the kernel matrix do not reach the relative "
                f"accuracy {self.accuracy:g} (absolute error up to {diagnostics['error']:.2g}), "
                f"because the ridge is too small for rank {diagnostics['rank']}; give a larger "
                "ridge, or method cholesky for at most 10,000 samples"
            )
        return value, diagnostics
