"""Estimator of the squared calibration error that selects the best candidate fit by its risk.

The candidates include the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate, posterior
from harness.math.notions import checked
from harness.math.risk import ResidualGram, residuals, risk


@dataclass(frozen=True)
class RiskCurve:
    """Squared calibration error of the candidate with the smallest calibration-estimation risk.

        v_t(f) = f - C^t / sum_j C_j^t
        l2_squared = 1/n sum_i ||v_t(f_i)||^2   for the selected t

    f is one of n predictions of k classes, and C = E[Y given f] is the true probability. Powers are
    entry by entry. v_1 is the true residual f - C. The selected t is the candidate whose function
    h_t(f, f') = <v_t(f), v_t(f')> has the smallest risk. It should be near 1 (gruber2025, Section
    5.1 and Figure 1).

    Parameters
    ----------
    low, high : float
        The candidates are t = 2^a for a = low, low + 1 / per_octave, ..., below high.
    per_octave : int
        Number of candidates per factor of two.

    Notes
    -----
    Diagnostics: `theta`, the selected t, and `risk`, its risk. Arrays (m,): `theta` and `risk`, all
    candidates and their risks. The problem must know its posterior. Nearly unbiased if the selected
    t is near 1. Cost: O(n k^2) per candidate.

    References
    ----------
    gruber2025, eq. 20.

    Examples
    --------
    >>> import harness
    >>> problem = harness.load_problem("dirichlet3_overconfident")
    >>> p, y = problem.sample(1000, np.random.default_rng(0))
    >>> e = RiskCurve(low=-1, high=1.1, per_octave=1)(p, y, problem=problem)["l2_squared"]
    >>> e.diagnostics["theta"], e.arrays["theta"]
    (1.0, array([0.5, 1. , 2. ]))
    """

    low: float = -5.0
    high: float = 5.0
    per_octave: int = 20

    notions = ("canonical",)
    estimands = ("l2_squared",)
    determinism = "exact"
    revision = 2
    null_bias = 0.01
    wants = ("problem",)
    needs_posterior = True

    def __post_init__(self) -> None:
        if not (self.low < self.high and int(self.per_octave) == self.per_octave >= 1):
            raise BadInputError(
                f"low, high and per_octave are {self.low}, {self.high} and {self.per_octave}; give "
                "low below high, and an integer of at least 1 for per_octave."
            )

    def exponents(self) -> np.ndarray:
        """Return all candidates t in ascending order."""
        steps = int(np.ceil((self.high - self.low) * self.per_octave - 1e-9))
        return 2.0 ** (self.low + np.arange(steps) / self.per_octave)

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        u, c = residuals(p, y), posterior(problem, p)
        share = c / c.max(axis=1, keepdims=True)  # the largest entry is 1, and so are its powers
        exponents = self.exponents()
        risks = np.array([risk(u, ResidualGram(candidate(p, share, t))) for t in exponents])
        best = int(risks.argmin())
        value = float(ResidualGram(candidate(p, share, exponents[best])).diagonal().mean())
        diagnostics = {"theta": float(exponents[best]), "risk": float(risks[best])}
        arrays = {"theta": exponents, "risk": risks}
        return {"l2_squared": Estimate(value, diagnostics=diagnostics, arrays=arrays)}


def candidate(p: np.ndarray, c: np.ndarray, t: float) -> np.ndarray:
    """Return v_t = p - c^t / sum_j c_j^t for p and c (n, k). The rows of c may have any sum."""
    powered = c**t
    return p - powered / powered.sum(axis=1, keepdims=True)
