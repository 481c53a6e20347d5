"""Cases of the contract of estimators, and the estimates on them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from harness.contract.items import SEED
from harness.estimators.application import apply
from harness.estimators.base import Estimate, EstimatorSpec
from harness.math.notions import NOTIONS, reduce
from harness.problems import Beta, Dirichlet
from harness.problems.maps import LogitAffine, Power

SAMPLES = 120
Data = tuple[np.ndarray, np.ndarray]  # predictions p and labels y


class Case(NamedTuple):
    """An estimator under one notion, with a sample.

    Parameters
    ----------
    estimator : object
        The estimator.
    spec : EstimatorSpec
        Its declared properties.
    notion : str
        The notion.
    problem : object
        The problem that drew the sample.
    p, y : arrays (n,) or (n, k), and (n,)
        Ordinary sample of miscalibrated predictions without ties, before the reduction to the
        notion.
    classes : int
        Number of classes of the sample.
    """

    estimator: Any
    spec: EstimatorSpec
    notion: str
    problem: Any
    p: np.ndarray
    y: np.ndarray
    classes: int


def cases(estimator: Any) -> list[Case]:
    """Return one case per notion that the estimator declares."""
    spec = EstimatorSpec.of(estimator)
    result = []
    for notion in [name for name in NOTIONS if name in spec.notions]:
        problem = make_problem(spec, notion, LogitAffine(0.4, 0.3), Power(0.3))
        p, y = problem.sample(limit_size(spec, SAMPLES), np.random.default_rng(0))
        result.append(Case(estimator, spec, notion, problem, p, y, problem.classes))
    return result


def make_problem(spec: EstimatorSpec, notion: str, scalar: Any, vector: Any) -> Any:
    """Return a problem that the estimator can take under a notion.

    It is Beta(1/2, 1/2) with the calibration map `scalar` for the binary notion. For other notions
    it is Dirichlet(1/2) with at most 3 classes and the calibration map `vector`.
    """
    if notion == "binary":
        return Beta(map=scalar)
    return Dirichlet(min(3, spec.max_classes or 3), map=vector)


def limit_size(spec: EstimatorSpec, n: int) -> int:
    """Return n, or `max_n` of the estimator if that is smaller."""
    return min(n, spec.max_n or n)


def estimate(
    case: Case, data: Data | None = None, seed: int = 0, problem: Any = None
) -> dict[str, Estimate]:
    """Return the estimates on `data`, the pair (p, y) before the reduction to the notion.

    By default, `data` is the sample of the case. `problem` is passed to the estimator, by default
    the problem of the case.
    """
    p, y = (case.p, case.y) if data is None else data
    return apply_case(case, *reduce(p.copy(), y.copy(), case.notion), seed, problem)


def apply_case(
    case: Case, p: np.ndarray, y: np.ndarray, seed: int = 0, problem: Any = None
) -> dict[str, Estimate]:
    """Return the estimates of the case's estimator on reduced data."""
    seeded = case.spec.replication_rng
    rng = seeded(seed) if seeded else np.random.default_rng([SEED, seed])
    return apply(case.estimator, p, y, case.notion, rng, _HiddenSmoothness(problem or case.problem))


class _HiddenSmoothness:
    """A problem without its properties `perturbation` and `variation`.

    Certified bounds refuse a problem whose declared properties contradict their assumption. The
    contract is checked on a problem that declares none.
    """

    def __init__(self, problem: Any) -> None:
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        if name in ("perturbation", "variation"):
            raise AttributeError(name)
        return getattr(self._problem, name)


def numbers(estimates: dict[str, Estimate]) -> dict[str, float]:
    """Return {"l1": value, "l1.low": low, "l1.high": high, ...}, without bounds that are None."""
    numbers = {}
    for name, e in estimates.items():
        for suffix, x in (("", e.value), (".low", e.low), (".high", e.high)):
            if x is not None:
                numbers[name + suffix] = float(x)
    return numbers


def find_gap(a: dict[str, float], b: dict[str, float], tolerance: float) -> str | None:
    """Describe the first number x of `a` that differs from `b` by more than tolerance (1 + |x|).

    Return None if there is no such number.
    """
    if a.keys() != b.keys():
        return f"first {', '.join(a)} was returned, then {', '.join(b)}"
    for name, x in a.items():
        same = x == b[name] or math.isnan(x) and math.isnan(b[name])
        if not same and not abs(x - b[name]) <= tolerance * (1 + abs(x)):
            return f"first {name} was {x!r}, then {b[name]!r}"
    return None
