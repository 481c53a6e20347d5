"""Asymptotic test of calibration by the squared kernel calibration error of random blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from harness.errors import UndefinedError
from harness.estimators.base import Estimate, check_integer
from harness.estimators.kernel_errors import SKCE
from harness.estimators.residual_kernels import check_gamma
from harness.math.notions import checked


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
    blocks are skewed. rng draws the blocks. UndefinedError if there are fewer than two blocks, or
    if all blocks have the same value. Cost: O(n blocksize).

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
    revision = 1
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
        return {"p_value": Estimate(float(ndtr(-skce.value / error)), diagnostics=diagnostics)}
