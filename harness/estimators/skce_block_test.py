"""Asymptotic test of calibration by the squared kernel calibration error of random blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from harness.errors import UndefinedError
from harness.estimators.base import Estimate, check_integer
from harness.estimators.kernel_errors import SKCE
from harness.estimators.residual_kernels import check_gamma
from harness.estimators.significance import count_p_value
from harness.math.notions import checked

FEWEST_ERRORS = 5.0  # smallest effective number of expected errors for the normal law


@dataclass(frozen=True)
class SKCEBlockTest:
    """Test of calibration by the mean over random blocks of the squared kernel calibration error.

        p_value = P(N(0, 1) >= m / s)

    m is the mean of the skce of the blocks, and s its standard error. The skce of a block is the
    mean of k(f_i, f_j) <r_i, r_j> over the pairs of its samples, with predictions f_i, residuals
    r_i and the kernel k of `SKCE`.

    Parameters
    ----------
    gamma : float or str
        Bandwidth of the kernel, as in `CKCE`. Its rules do not use labels.
    blocksize : int
        Number of samples of a block; 2 is the linear estimator of the paper. Larger blocks give
        more power, but a worse normal approximation, because there are fewer blocks.

    Notes
    -----
    The test is not exact, but asymptotic in the number of blocks, n / blocksize. The values of the
    blocks are skewed. If no improbable outcome occurs, the blocks of rows with the same most
    probable outcome are positive, and the test rejects, although nothing contradicts calibration.
    Let e_i be the probability that the most probable outcome of row i does not occur. The effective
    number of expected errors is

        (sum_c S_c^2)^2 / (n sum_c S_c Q_c),   S_c = sum_{i in c} e_i,   Q_c = sum_{i in c} e_i^2

    where c is the group of rows with the same most probable outcome. For one group and equal e_i it
    is sum_i e_i. If it is below 5, the p-value is at least that of the number of errors
    (`harness.estimators.significance.count_p_value`), which is valid for every n. Without this
    rule, a third of calibrated samples with one expected event were rejected at level 0.05.

    rng draws the blocks. UndefinedError if there are fewer than two blocks, or if all blocks have
    the same value. Cost: O(n blocksize).

    References
    ----------
    Widmann, Lindsten and Zachariah (2019), NeurIPS (the asymptotic distribution of the linear
    estimator).

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.0, 1.0, 400)
    >>> e = SKCEBlockTest()(p, (p < 0.5).astype(int), np.random.default_rng(0))["p_value"]
    >>> e.value < 1e-3
    True
    """

    gamma: float | str = "median"
    blocksize: int = 2

    notions = ("binary", "top_label", "canonical")  # a mean of p-values over classes is no p-value
    estimands = ("p_value",)
    determinism = "statistical"
    revision = 2
    seconds = 0.01

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        check_integer("blocksize", self.blocksize, 2)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if len(p) < 2 * self.blocksize:
            raise UndefinedError(
                f"two blocks need {2 * self.blocksize} samples; there are {len(p)}"
            )
        skce = SKCE(self.gamma, "block", self.blocksize)(p, y, rng)["skce"]
        parts = skce.diagnostics or {}
        error = parts["standard_error"]
        if not error > 0.0:
            raise UndefinedError("all blocks have the same value; their mean has no standard error")
        diagnostics = {"skce": skce.value, "standard_error": error, "blocks": parts["blocks"]}
        p_value = float(ndtr(-skce.value / error))
        probabilities = p if p.ndim == 2 else np.column_stack([1.0 - p, p])
        top = probabilities.argmax(axis=1)
        confidence = probabilities[np.arange(len(p)), top]
        if _effective_errors(1.0 - confidence, top) < FEWEST_ERRORS:
            p_value = max(p_value, count_p_value(confidence, (y == top).astype(np.int64)))
        return {"p_value": Estimate(p_value, diagnostics=diagnostics)}


def _effective_errors(e: np.ndarray, top: np.ndarray) -> float:
    """Return the effective number of expected errors, for error probabilities e (n,).

    `top` (n,) is the most probable outcome of each row.

    Examples
    --------
    >>> _effective_errors(np.full(100, 0.25), np.arange(100) % 2)
    12.5
    """
    sums, squares = np.bincount(top, e), np.bincount(top, e**2)
    spread = float(sums @ squares) * len(e)
    return float(np.sum(sums**2)) ** 2 / spread if spread else 0.0
