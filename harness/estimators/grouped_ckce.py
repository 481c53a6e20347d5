"""Conditional kernel calibration error within groups of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.estimators.ckce import CKCE
from harness.estimators.residual_kernels import resolve_gamma
from harness.math.kernels import two_columns
from harness.math.notions import checked


@dataclass(frozen=True)
class GroupedCKCE:
    """Conditional kernel calibration error within groups: P(Y given f, A) against f.

    A is the group of a sample. The estimator is CKCE with a kernel on pairs of a prediction and a
    group:

        K_ij = (f_i.f_j + exp(-||f_i - f_j||^2 / (2 gamma^2))) 1{a_i = a_j}

    Errors that cancel between groups count in full. Without groups, all samples are one group, and
    the value is that of `CKCE`.

    Parameters
    ----------
    gamma : float or str
        Bandwidth, or a rule of `kernels.median_distance`. A rule is applied to the predictions of
        all groups together.
    ridge : float, optional
        Regularisation of both regressions. None takes n^(-1/4), with the size n of the sample.
    method : {"auto", "cholesky", "low_rank"}
        Solver, see `CKCE`.

    Notes
    -----
    K has a block for each group g of n_g samples. So

        grouped_ckce = sum_g ckce_g,

    where ckce_g is the CKCE of group g with the ridge times n / n_g. Costs and the diagnostic
    noise_floor are sums, too. The bias has the sign that `CKCE` describes. More groups mean more
    noise: each group has its own regression.

    **Groups.** A problem with a method `groups(n, rng)` has groups in a run. Python code passes
    them: `GroupedCKCE()(p, y, groups=a)`. Wrappers do not pass groups, and refuse such a problem.

    The paper requires a kernel on pairs without naming one. This one is the product of its kernel
    on predictions and of 1{a = a'}.

    References
    ----------
    moskvichev2025, Section 3.3.

    Examples
    --------
    Two groups with errors of opposite sign, which cancel without the groups:

    >>> p, y, a = [0.5] * 4, [1, 1, 0, 0], ["a", "a", "b", "b"]
    >>> round(GroupedCKCE(ridge=0.1)(p, y, groups=a)["grouped_ckce"].value, 4)
    0.519
    >>> abs(GroupedCKCE(ridge=0.1)(p, y)["grouped_ckce"].value) < 1e-12
    True
    """

    gamma: float | str = "median"
    ridge: float | None = None
    method: str = "auto"

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("grouped_ckce",)
    determinism = "rounding"
    revision = 1
    null_bias = 0.01
    seconds = 0.03
    wants = ("groups",)

    def __post_init__(self) -> None:
        if self.method == "features":
            raise BadInputError(
                "method is 'features'; allowed are auto, cholesky, low_rank. Random features would "
                "differ between groups."
            )
        if isinstance(self.ridge, str):
            raise BadInputError(
                f"ridge is {self.ridge!r}; give a positive number, or null for n^(-1/4)."
            )
        CKCE(self.gamma, self.ridge, self.method)  # checks its parameters

    @property
    def max_n(self) -> int | None:
        return CKCE(method=self.method).max_n

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        groups: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        n = len(p)
        names = np.zeros(n) if groups is None else np.asarray(groups)
        if names.shape != (n,):
            raise BadInputError(
                f"groups has shape {names.shape}; one group per sample, shape ({n},), is needed."
            )
        if any(name is None or name != name for name in names.tolist()):  # NaN is not itself
            raise BadInputError("groups has missing values; give every sample a group.")
        gamma = resolve_gamma(self.gamma, two_columns(p))
        ridge = n**-0.25 if self.ridge is None else float(self.ridge)
        index = np.unique(names, return_inverse=True)[1]
        parts = []
        for rows in (np.flatnonzero(index == g) for g in range(index.max() + 1)):
            inner = CKCE(gamma, ridge * n / len(rows), self.method)
            parts.append(inner(p[rows], y[rows])["ckce"])
        diagnostics = {"gamma": gamma, "ridge": ridge, "groups": float(len(parts))}
        floors = [(part.diagnostics or {}).get("noise_floor") for part in parts]
        if None not in floors:
            diagnostics["noise_floor"] = float(sum(floors))  # type: ignore[arg-type]
        value = float(sum(part.value for part in parts))
        return {"grouped_ckce": Estimate(value, diagnostics=diagnostics)}
