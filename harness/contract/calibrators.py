"""The contract test of a calibrator: what is expected of anybody's, item by item (see harness.contract.check)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from harness.calibrators.base import CalibrationMap, CalibratorSpec
from harness.contract.items import (
    DECLARED,
    SAME,
    SEED,
    ContractBrokenError,
    documented,
    global_states,
    unseeded_generators,
)
from harness.errors import UndefinedError
from harness.math.notions import ROW_SUM_TOLERANCE, one_hot
from harness.plan import requirements
from harness.problems import Beta, Dirichlet
from harness.problems.maps import LogitAffine, Power

SAMPLES, POINTS = 120, 77

Sample: TypeAlias = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


class Case(NamedTuple):
    """A calibrator of scalars or of vectors, with ordinary data to fit (miscalibrated, no ties) and other points to predict."""

    calibrator: Any
    notion: str
    p: np.ndarray
    y: np.ndarray
    x: np.ndarray


def cases(calibrator: Any) -> list[Case]:
    """Scalars, and vectors of three classes where it takes so many."""
    spec = CalibratorSpec.of(calibrator)
    n = min(SAMPLES, spec.max_n or SAMPLES)
    classes = max(2, min(3, spec.max_classes or 3))
    found = []
    for name, problem in (
        ("scalars", Beta(map=LogitAffine(0.4, 0.3))),
        ("vectors", Dirichlet(classes, map=Power(0.3))),
    ):
        p, y = problem.sample(n, np.random.default_rng([SEED, 0]))
        found.append(
            Case(
                calibrator, name, p, y, problem.sample(POINTS, np.random.default_rng([SEED, 1]))[0]
            )
        )
    return found


def _fit(case: Case, p: np.ndarray, y: np.ndarray, seed: int = 0) -> CalibrationMap:
    q = case.calibrator.fit(p, y, np.random.default_rng([SEED, seed]))
    if not callable(q):
        raise ContractBrokenError(
            f"fit returned a {type(q).__name__}; a function q(p) is needed, of the same shape as p"
        )
    return q


def _predicted(q: CalibrationMap, x: np.ndarray) -> np.ndarray:
    """q(x), which must lie in [0, 1]."""
    found = q(x)
    values = np.asarray(found)
    if values.shape != x.shape:
        raise ContractBrokenError(
            f"q has shape {values.shape} for p of shape {x.shape}; they must be the same"
        )
    if values.dtype.kind not in "fiu" or not (
        values.min() >= -SAME and values.max() <= 1.0 + SAME
    ):  # also false for NaN
        span = (
            f"goes from {values.min():.6g} to {values.max():.6g}"
            if values.dtype.kind in "fiu"
            else f"has {values.dtype}"
        )
        raise ContractBrokenError(f"q {span}; probabilities in [0, 1] are needed")
    return values


def rows_sum_to_one(case: Case) -> str:
    """Also far from what was fitted."""
    if case.p.ndim == 1:
        raise UndefinedError("scalars have no rows")
    few, same = np.arange(len(case.p)) % 3, np.zeros(len(case.p), dtype=int)
    for rows, which in (
        (slice(None), "ordinary samples"),
        (few, "three distinct p"),
        (same, "one distinct p"),
    ):
        sums = _predicted(_fit(case, case.p[rows].copy(), case.y.copy()), case.x.copy()).sum(axis=1)
        if np.abs(sums - 1.0).max() > ROW_SUM_TOLERANCE:
            raise ContractBrokenError(
                f"fitted to {which}, q has rows that sum to {sums.min():.6g} ... {sums.max():.6g}; 1 is needed"
            )
    return f"within {ROW_SUM_TOLERANCE:g}"


def returns_probabilities(case: Case) -> str:
    values = _predicted(_fit(case, case.p.copy(), case.y.copy()), case.x.copy())
    return f"from {values.min():.3g} to {values.max():.3g}"


def _certain(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of 0 and 1, and their labels, a quarter of them wrong."""
    k = 2 if case.p.ndim == 1 else case.p.shape[1]
    top = np.arange(min(40, len(case.p))) % k
    p = top.astype(np.float64) if case.p.ndim == 1 else one_hot(top, k)
    return p, np.where(np.arange(len(top)) % 4 == 3, (top + 1) % k, top)


def zero_and_one(case: Case) -> str:
    p, y = _certain(case)
    _predicted(_fit(case, case.p.copy(), case.y.copy()), p)
    return _unless_undefined(case, p, y)


def _unless_undefined(case: Case, p: np.ndarray, y: np.ndarray) -> str:
    try:
        _predicted(_fit(case, p.copy(), y.copy()), case.x.copy())
    except UndefinedError:
        return "undefined"
    return "probabilities"


def _unusual(*samples: Sample) -> Callable[[Case], str]:
    """An item: fitted on these samples, functions of (p, y, classes), it gives probabilities elsewhere, or is UndefinedError."""

    def examine(case: Case) -> str:
        k = 2 if case.p.ndim == 1 else case.p.shape[1]
        said = {_unless_undefined(case, *sample(case.p, case.y, k)) for sample in samples}
        return said.pop() if len(said) == 1 else "sometimes undefined"

    return examine


def one_point(case: Case) -> str:
    _predicted(_fit(case, case.p.copy(), case.y.copy()), case.x[:1].copy())
    return "predicted"


def determinism(case: Case) -> str:
    declared = CalibratorSpec.of(case.calibrator).determinism

    def values(seed: int = 0) -> np.ndarray:
        return _predicted(_fit(case, case.p.copy(), case.y.copy(), seed), case.x.copy())

    with unseeded_generators():
        before = global_states()
        first = values()
        if global_states() != before:
            raise ContractBrokenError(
                "a global random generator was used; draw from the rng that is given"
            )
    tolerance = 0.0 if declared == "exact" else SAME
    if (gap := np.abs(first - values()).max()) > tolerance:
        raise ContractBrokenError(
            f"declared {declared}, but the same input and seed give another q: by up to {gap:.3g}"
        )
    if declared != "statistical" and (gap := np.abs(first - values(seed=1)).max()) > tolerance:
        raise ContractBrokenError(
            f"declared {declared}, but q depends on the seed: by up to {gap:.3g}"
        )
    return declared


def input_kept(case: Case) -> str:
    given = case.p.copy(), case.y.copy(), case.x.copy()
    for array in given:
        array.flags.writeable = False
    q = _fit(case, *given[:2])
    first = _predicted(q, given[2])
    if not all(np.array_equal(a, b) for a, b in zip(given, (case.p, case.y, case.x))):
        raise ContractBrokenError("the arrays given were changed")
    if np.abs(first - _predicted(q, given[2])).max() > SAME:
        raise ContractBrokenError("q gives other probabilities when it is asked again")
    return "read-only arrays are accepted and unchanged"


def declarations(case: Case) -> str:
    return (
        ", ".join(requirements.calibrator(case.calibrator))
        or "nothing is declared: taken as statistical"
    )


ITEMS = {
    "returns probabilities": returns_probabilities,
    "rows sum to 1": rows_sum_to_one,
    "p of 0 and 1": zero_and_one,
    "ties": _unusual(lambda p, y, k: (p[np.arange(len(p)) % 3], y)),
    "few samples": _unusual(lambda p, y, k: (p[:7], y[:7])),
    "unseen class": _unusual(lambda p, y, k: (p, y % (k - 1)), lambda p, y, k: (p, 0 * y + k - 1)),
    "constant p": _unusual(lambda p, y, k: (p[np.zeros(len(p), dtype=int)], y)),
    "one sample": _unusual(*(lambda p, y, k, i=i: (p[i : i + 1], y[i : i + 1]) for i in range(4))),
    "one point": one_point,
    "determinism": determinism,
    "input not modified": input_kept,
    DECLARED: declarations,
    "docstring": lambda case: documented(
        case.calibrator, "how q is fitted, its cost and the source"
    ),
}
