"""The contract test of an estimator: what is expected of anybody's, item by item (see harness.contract.check)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from harness.common.escaping import message_of
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
from harness.estimators.base import Estimate, EstimatorSpec, apply, is_finite
from harness.math import estimands
from harness.math.notions import NOTIONS, one_hot, reduce
from harness.plan import requirements
from harness.problems import Beta, Dirichlet
from harness.problems.maps import Identity, LogitAffine, Power

SUPREMA_AND_ROOTS = ("linf", "rms")  # of calibrated samples not near zero
SEEDS = (12, 48)  # a difference in distribution seen with the first must show again with the second
NULL_N, NULL_REPS = 2000, (5, 20)  # the first suffice where the mean is clearly within its bound

Sample: TypeAlias = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


class Case(NamedTuple):
    """An estimator under one notion, with ordinary data (miscalibrated, no ties): p, y as given, not yet reduced."""

    estimator: Any
    spec: EstimatorSpec
    notion: str
    problem: Any
    p: np.ndarray
    y: np.ndarray
    classes: int


def cases(estimator: Any) -> list[Case]:
    """One case per notion that the estimator declares."""
    spec = EstimatorSpec.of(estimator)
    return [_case(estimator, spec, notion) for notion in NOTIONS if notion in spec.notions]


def _case(estimator: Any, spec: EstimatorSpec, notion: str) -> Case:
    problem = _problem(spec, notion, LogitAffine(0.4, 0.3), Power(0.3))
    p, y = problem.sample(_at_most(spec, 120), np.random.default_rng(0))
    return Case(estimator, spec, notion, problem, p, y, problem.classes)


def _problem(spec: EstimatorSpec, notion: str, scalar: Any, vector: Any) -> Any:
    """p ~ Beta(1/2, 1/2), or Dirichlet(1/2) with at most 3 classes, with this map."""
    if notion == "binary":
        return Beta(map=scalar)
    return Dirichlet(min(3, spec.max_classes or 3), map=vector)


def _at_most(spec: EstimatorSpec, n: int) -> int:
    return min(n, spec.max_n or n)


def _answer(
    case: Case, p: np.ndarray, y: np.ndarray, seed: int = 0, problem: Any = None
) -> dict[str, Estimate]:
    return _apply(case, *reduce(p.copy(), y.copy(), case.notion), seed, problem)


def _apply(
    case: Case, p: np.ndarray, y: np.ndarray, seed: int = 0, problem: Any = None
) -> dict[str, Estimate]:
    """Estimates of reduced data."""
    seeded = case.spec.replication_rng
    rng = seeded(seed) if seeded else np.random.default_rng([SEED, seed])
    return apply(case.estimator, p, y, case.notion, rng, _Undeclared(problem or case.problem))


class _Undeclared:
    """A problem that is silent on its scores' perturbation and variation: what a bound assumes of them is not examined here."""

    def __init__(self, problem: Any) -> None:
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        if name in ("perturbation", "variation"):
            raise AttributeError(name)
        return getattr(self._problem, name)


def _numbers(found: dict[str, Estimate]) -> dict[str, float]:
    """{"l1": value, "l1.low": ...}"""
    marks = {"value": "", "low": ".low", "high": ".high"}
    rows = [(name + marks[part], getattr(e, part)) for name, e in found.items() for part in marks]
    return {name: float(x) for name, x in rows if x is not None}


def _gap(a: dict[str, float], b: dict[str, float], tolerance: float) -> str | None:
    """What differs by more than the tolerance (plus that part of its size), in a sentence, or None."""
    if a.keys() != b.keys():
        return f"{', '.join(a)} was returned before, {', '.join(b)} after"
    for name, x in a.items():
        same = x == b[name] or math.isnan(x) and math.isnan(b[name])
        if not same and not abs(x - b[name]) <= tolerance * (1 + abs(x)):
            return f"{name} was {x!r} before, {b[name]!r} after"
    return None


def returns_numbers(case: Case) -> str:
    try:
        found = _answer(case, case.p, case.y)
    except UndefinedError as reason:
        raise ContractBrokenError(
            f"undefined on {len(case.p)} ordinary samples: {reason}"
        ) from None
    if not found:
        raise ContractBrokenError("no estimate was returned")
    for name, e in found.items():
        estimands.check_name(name, case.notion)
        if not is_finite(e):
            raise ContractBrokenError(f"{name} is not finite on ordinary data: {e}")
    without = [name for name, e in found.items() if e.kind == "interval"]
    said = (
        f"; without a point, so that compare has no regret of it: {', '.join(without)}"
        if without
        else ""
    )
    return ", ".join(found) + said


def sample_order(case: Case) -> str:
    order = np.random.default_rng(1).permutation(len(case.p))
    tied = case.p[np.arange(len(case.p)) % 9]
    said = _unchanged(case, (case.p, case.y), (case.p[order], case.y[order]), "in another order")
    _unchanged(case, (tied, case.y), (tied[order], case.y[order]), "in another order, with ties,")
    return said


def class_relabelling(case: Case) -> str:
    if case.notion == "binary":
        raise UndefinedError("a binary estimator may treat the two outcomes differently")
    order = np.roll(np.arange(case.classes), -1)
    return _unchanged(
        case,
        (case.p, case.y),
        (case.p[:, order], np.argsort(order)[case.y]),
        "with the classes renamed",
    )


def _unchanged(
    case: Case,
    before: tuple[np.ndarray, np.ndarray],
    after: tuple[np.ndarray, np.ndarray],
    how: str,
) -> str:
    """The estimates of two samples agree: to 1e-9, or in distribution if they depend on the random stream."""
    first, *others = (_numbers(_answer(case, *before, seed)) for seed in range(3))
    if not any(_gap(first, other, SAME) for other in others):
        if gap := _gap(first, _numbers(_answer(case, *after)), SAME):
            raise ContractBrokenError(f"the same samples {how} give another result: {gap}")
        return "unchanged"
    for seeds in SEEDS:
        a = [_numbers(_answer(case, *before, seed)) for seed in range(seeds)]
        b = [_numbers(_answer(case, *after, 1000 + seed)) for seed in range(seeds)]
        if not (gap := _gap_in_distribution(a, b)):
            return f"unchanged in distribution ({seeds} seeds)"
    raise ContractBrokenError(
        f"the same samples {how} give another result over {seeds} seeds: {gap}"
    )


def _gap_in_distribution(a: list[dict[str, float]], b: list[dict[str, float]]) -> str | None:
    for name in a[0]:
        x, y = (np.array([one.get(name, np.nan) for one in many]) for many in (a, b))
        if not (np.isfinite(x).any() or np.isfinite(y).any()):
            continue
        error = math.sqrt((x.var(ddof=1) + y.var(ddof=1)) / len(x))
        if not abs(x.mean() - y.mean()) <= 4 * error + SAME:
            return f"mean {name} was {x.mean():.6g} before, {y.mean():.6g} after, standard error {error:.2g}"
    return None


def zero_and_one(case: Case) -> str:
    binary = case.notion == "binary"
    opposite = Beta(0.01, 0.01, LogitAffine(-1.0)) if binary else None  # P(Y = 1 given p) = 1 - p
    labels = np.minimum(np.arange(_at_most(case.spec, 40)) % 5, case.classes - 1)
    for top in (labels, case.classes - 1 - labels):
        p = top.astype(np.float64) if binary else one_hot(top, case.classes)
        _unless_undefined(case, p, top)
        l1 = _unless_undefined(case, p, (top + 1) % case.classes, opposite).get("l1")
        if (
            l1
            and l1.kind in ("point", "upper")
            and case.notion in ("binary", "top_label")
            and l1.value <= 0.5
        ):
            raise ContractBrokenError(
                f"l1 is {l1.value:.6g} where p is 0 or 1 and every outcome wrong; above 0.5 is expected"
            )
    return "with right and with wrong outcomes"


def _unless_undefined(
    case: Case, p: np.ndarray, y: np.ndarray, problem: Any = None
) -> dict[str, Estimate]:
    """The estimates of an unusual sample, {} where they are undefined; every other exception passes."""
    try:
        return _answer(case, p, y, problem=problem)
    except UndefinedError:
        return {}


def _unusual(*samples: Sample) -> Callable[[Case], str]:
    """An item: no exception but UndefinedError on these samples, functions of (p, y, number of classes)."""

    def examine(case: Case) -> str:
        answers = [
            _unless_undefined(case, *sample(case.p, case.y, case.classes)) for sample in samples
        ]
        finite = [bool(found) and all(map(is_finite, found.values())) for found in answers]
        return "a value" if all(finite) else "sometimes undefined" if any(finite) else "undefined"

    return examine


def nan_refused(case: Case) -> str:
    p, y = reduce(case.p.copy(), case.y.copy(), case.notion)
    p[len(p) // 2] = np.nan
    try:
        found = _apply(case, p, y)
    except (ValueError, UndefinedError) as error:
        return f"{type(error).__name__}: {' '.join(message_of(error).split())[:200]}"
    for name, e in found.items():
        if math.isfinite(e.value):
            raise ContractBrokenError(
                f"{name} is {e.value:.6g} though p holds a NaN; refuse it (harness.math.notions.checked does)"
            )
    return "the value is not finite"


def determinism(case: Case) -> str:
    declared = case.spec.determinism
    with unseeded_generators():
        before = global_states()
        first = _numbers(_answer(case, case.p, case.y))
        if global_states() != before:
            raise ContractBrokenError(
                "a global random generator was used; draw from the rng that is given"
            )
    tolerance = 0.0 if declared == "exact" else SAME
    if gap := _gap(first, _numbers(_answer(case, case.p, case.y)), tolerance):
        raise ContractBrokenError(
            f"declared {declared}, but the same input and seed give another result: {gap}"
        )
    seeded = declared == "statistical" or case.spec.replication_rng is not None
    if not seeded and (
        gap := _gap(first, _numbers(_answer(case, case.p, case.y, seed=1)), tolerance)
    ):
        raise ContractBrokenError(f"declared {declared}, but the result depends on the seed: {gap}")
    return declared


def near_zero(case: Case) -> str:
    bound = case.spec.null_bias
    problem = _problem(case.spec, case.notion, Identity(), Identity())
    n = _at_most(case.spec, NULL_N)
    answers: list[dict[str, Estimate]] = []
    for reps in NULL_REPS:
        for rep in range(len(answers), reps):
            p, y = problem.sample(n, np.random.default_rng([1, rep]))
            answers.append(_answer(case, p, y, rep, problem))
        judged = [name for name, e in answers[0].items() if _near_zero(name) and e.kind != "upper"]
        if not judged:
            raise UndefinedError(f"{', '.join(answers[0])}: nothing that must be near zero")
        rows = [_null_row(name, [found[name] for found in answers]) for name in judged]
        if all(size + 3 * error <= bound for size, _, error, _ in rows):
            break
    for size, mean, error, name in rows:
        if not size <= bound + 3 * error:
            of = f"over {reps} calibrated samples of {n}"
            raise ContractBrokenError(
                f"mean {name} is {mean:.4g} ± {error:.2g} {of}; null_bias is {bound:g}"
            )
    _, mean, _, name = max(rows)
    return f"largest mean is {name} = {mean:.2g}, null_bias is {bound:g}"


def _near_zero(name: str) -> bool:
    return estimands.is_distance(name) and name not in SUPREMA_AND_ROOTS


def _null_row(name: str, found: list[Estimate]) -> tuple[float, float, float, str]:
    """(what must be small, mean, its standard error, name); a lower bound may be as low as it likes."""
    values = np.array([e.value for e in found])
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
    return (mean if found[0].kind == "lower" else abs(mean)), mean, error, name


def input_kept(case: Case) -> str:
    p, y = (a.copy() for a in reduce(case.p, case.y, case.notion))
    given = p.copy(), y.copy()
    for a in given:
        a.flags.writeable = False
    _apply(case, *given)
    if not (np.array_equal(p, given[0]) and np.array_equal(y, given[1])):
        raise ContractBrokenError("the arrays given were changed")
    return "read-only arrays are accepted and unchanged"


def declarations(case: Case) -> str:
    declared = requirements.estimator(case.estimator)
    names = case.spec.estimands
    extra = set(_answer(case, case.p, case.y)) - set(names) if names is not None else set()
    if names is not None and extra:
        raise ContractBrokenError(
            f"{', '.join(sorted(extra))} is returned, but estimands declares {', '.join(names)}"
        )
    return ", ".join(declared) or "nothing is declared: taken as scalar and statistical"


ITEMS = {
    "returns numbers": returns_numbers,
    "sample order": sample_order,
    "class relabelling": class_relabelling,
    "p of 0 and 1": zero_and_one,
    "ties": _unusual(lambda p, y, classes: (p[np.arange(len(p)) % 3], y)),
    "fewer samples than bins": _unusual(lambda p, y, classes: (p[:7], y[:7])),
    "unseen class": _unusual(lambda p, y, classes: (p, y % (classes - 1))),
    "constant p": _unusual(lambda p, y, classes: (p[np.zeros(len(p), dtype=int)], y)),
    "one sample": _unusual(
        *(lambda p, y, classes, i=i: (p[i : i + 1], y[i : i + 1]) for i in range(6))
    ),
    "NaN refused": nan_refused,
    "determinism": determinism,
    "near zero if calibrated": near_zero,
    "input not modified": input_kept,
    DECLARED: declarations,
    "docstring": lambda case: documented(
        case.estimator, "what is estimated, its bias, its cost and the source"
    ),
}
