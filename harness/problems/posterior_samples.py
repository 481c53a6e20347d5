"""Samples with posteriors, which show what a problem looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.problems.base import ProblemSpec, list_members

Floats = NDArray[np.float64]

ROWS = 20_000  # number of rows


def sample(problem: Any, spec: ProblemSpec) -> tuple[Floats, Floats]:
    """Draw ROWS rows from a problem, or as many as it has.

    Return predictions p and posteriors E[Y | p], which have the same shape, (n,) or (n, k).
    """
    size = max(spec.sizes) if spec.sizes else min(ROWS, spec.n_max or ROWS)
    rng = spec.replication_rng(0) if spec.replication_rng else np.random.default_rng(0)
    p, _ = problem.sample(size, rng)
    return p, problem.posterior(p)


def why_not_sampled(problem: Any, spec: ProblemSpec) -> str:
    """Return the reason why a problem has no sample with posteriors, or "" if it has one."""
    if list_members(problem) is not None:
        return "a family of problems, whose members are only known when it runs"
    if spec.unavailable:
        return spec.unavailable
    if spec.posterior is None:
        return "the posterior E[Y given p] is unknown: these are predictions of a model"
    return ""
