"""The contract test of an estimator, item by item (see harness.contract.check)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from harness.common.escaping import error_message
from harness.contract.items import (
    CONSTANT,
    DECLARED,
    FEW,
    ONE,
    SAME,
    SEED,
    TIES,
    UNSEEN_CLASS,
    ContractBrokenError,
    documented,
    examine_samples,
    read_only,
    without_global_draws,
)
from harness.errors import UndefinedError
from harness.estimators.application import apply
from harness.estimators.base import Estimate, EstimatorSpec, is_finite
from harness.math import estimands
from harness.math.notions import NOTIONS, one_hot, reduce
from harness.plan import requirements
from harness.problems import Beta, Dirichlet
from harness.problems.maps import Identity, LogitAffine, Power

SAMPLES = 120
SUPREMA_AND_ROOTS = ("linf", "rms")  # of calibrated samples not near zero
# a difference in distribution that shows over 12 seeds must show again over 48
SEEDS = (12, 48)
NULL_N, NULL_REPS = 2000, (5, 20)  # 5 suffice where the mean is clearly within its bound
Data = tuple[np.ndarray, np.ndarray]


class Case(NamedTuple):
    """An estimator under one notion, with ordinary data: miscalibrated, no ties, not reduced."""

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
        problem = _problem(spec, notion, LogitAffine(0.4, 0.3), Power(0.3))
        p, y = problem.sample(_at_most(spec, SAMPLES), np.random.default_rng(0))
        result.append(Case(estimator, spec, notion, problem, p, y, problem.classes))
    return result


def _problem(spec: EstimatorSpec, notion: str, scalar: Any, vector: Any) -> Any:
    """Return p ~ Beta(1/2, 1/2), or Dirichlet(1/2) with at most 3 classes, with this map."""
    if notion == "binary":
        return Beta(map=scalar)
    return Dirichlet(min(3, spec.max_classes or 3), map=vector)


def _at_most(spec: EstimatorSpec, n: int) -> int:
    return min(n, spec.max_n or n)


def _estimate(
    case: Case, data: Data | None = None, seed: int = 0, problem: Any = None
) -> dict[str, Estimate]:
    """Return the estimates of data, by default the ordinary data of the case."""
    p, y = (case.p, case.y) if data is None else data
    return _apply(case, *reduce(p.copy(), y.copy(), case.notion), seed, problem)


def _apply(
    case: Case, p: np.ndarray, y: np.ndarray, seed: int = 0, problem: Any = None
) -> dict[str, Estimate]:
    """Return the estimates of reduced data."""
    seeded = case.spec.replication_rng
    rng = seeded(seed) if seeded else np.random.default_rng([SEED, seed])
    return apply(case.estimator, p, y, case.notion, rng, _Undeclared(problem or case.problem))


class _Undeclared:
    """A problem that hides the perturbation and variation of its scores from the bounds."""

    def __init__(self, problem: Any) -> None:
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        if name in ("perturbation", "variation"):
            raise AttributeError(name)
        return getattr(self._problem, name)


def _numbers(estimates: dict[str, Estimate]) -> dict[str, float]:
    """Return {"l1": value, "l1.low": ..., "l1.high": ...}, without those that are None."""
    numbers = {}
    for name, e in estimates.items():
        for suffix, x in (("", e.value), (".low", e.low), (".high", e.high)):
            if x is not None:
                numbers[name + suffix] = float(x)
    return numbers


def _gap(a: dict[str, float], b: dict[str, float], tolerance: float) -> str | None:
    """Describe the first number that differs by more than tolerance * (1 + its size)."""
    if a.keys() != b.keys():
        return f"{', '.join(a)} was returned before, {', '.join(b)} after"
    for name, x in a.items():
        same = x == b[name] or math.isnan(x) and math.isnan(b[name])
        if not same and not abs(x - b[name]) <= tolerance * (1 + abs(x)):
            return f"{name} was {x!r} before, {b[name]!r} after"
    return None


def returns_numbers(case: Case) -> str:
    """Check that ordinary data give finite estimates with known names."""
    try:
        estimates = _estimate(case)
    except UndefinedError as reason:
        raise ContractBrokenError(
            f"undefined on {len(case.p)} ordinary samples: {reason}"
        ) from None
    if not estimates:
        raise ContractBrokenError("no estimate was returned")
    for name, e in estimates.items():
        estimands.check_name(name, case.notion)
        if not is_finite(e):
            raise ContractBrokenError(f"{name} is not finite on ordinary data: {e}")
    intervals = [name for name, e in estimates.items() if e.kind == "interval"]
    if not intervals:
        return ", ".join(estimates)
    note = f"without a point, so that compare has no regret of it: {', '.join(intervals)}"
    return f"{', '.join(estimates)}; {note}"


def sample_order(case: Case) -> str:
    """Check that the order of the samples does not matter, with and without ties."""
    order = np.random.default_rng(1).permutation(len(case.p))
    tied = case.p[np.arange(len(case.p)) % 9]
    sentence = _unchanged(
        case, (case.p, case.y), (case.p[order], case.y[order]), "in another order"
    )
    _unchanged(case, (tied, case.y), (tied[order], case.y[order]), "in another order, with ties,")
    return sentence


def class_relabelling(case: Case) -> str:
    """Check that the order of the classes does not matter."""
    if case.notion == "binary":
        raise UndefinedError("a binary estimator may treat the two outcomes differently")
    order = np.roll(np.arange(case.classes), -1)
    relabelled = case.p[:, order], np.argsort(order)[case.y]
    return _unchanged(case, (case.p, case.y), relabelled, "with the classes renamed")


def _unchanged(case: Case, before: Data, after: Data, how: str) -> str:
    """Compare estimates of two samples: to 1e-9, or in distribution if they depend on seeds."""
    first, *others = (_numbers(_estimate(case, before, seed)) for seed in range(3))
    if not any(_gap(first, other, SAME) for other in others):
        if gap := _gap(first, _numbers(_estimate(case, after)), SAME):
            raise ContractBrokenError(f"the same samples {how} give another result: {gap}")
        return "unchanged"
    for seeds in SEEDS:
        a = [_numbers(_estimate(case, before, seed)) for seed in range(seeds)]
        b = [_numbers(_estimate(case, after, 1000 + seed)) for seed in range(seeds)]
        if not (gap := _gap_in_distribution(a, b)):
            return f"unchanged in distribution ({seeds} seeds)"
    raise ContractBrokenError(
        f"the same samples {how} give another result over {seeds} seeds: {gap}"
    )


def _gap_in_distribution(a: list[dict[str, float]], b: list[dict[str, float]]) -> str | None:
    """Describe the first number whose means differ by more than 4 standard errors, if any do."""
    for name in a[0]:
        x = np.array([numbers.get(name, np.nan) for numbers in a])
        y = np.array([numbers.get(name, np.nan) for numbers in b])
        if not (np.isfinite(x).any() or np.isfinite(y).any()):
            continue
        error = math.sqrt((x.var(ddof=1) + y.var(ddof=1)) / len(x))
        if not abs(x.mean() - y.mean()) <= 4 * error + SAME:
            return (
                f"mean {name} was {x.mean():.6g} before, {y.mean():.6g} after, standard error "
                f"{error:.2g}"
            )
    return None


def zero_and_one(case: Case) -> str:
    """Check p of 0 and 1: an L1 error where all outcomes are wrong is above 0.5."""
    binary = case.notion == "binary"
    opposite = Beta(0.01, 0.01, LogitAffine(-1.0)) if binary else None  # P(Y = 1 given p) = 1 - p
    labels = np.minimum(np.arange(_at_most(case.spec, 40)) % 5, case.classes - 1)
    for top in (labels, case.classes - 1 - labels):
        p = top.astype(np.float64) if binary else one_hot(top, case.classes)
        _estimate_or_nothing(case, (p, top))
        wrong = _estimate_or_nothing(case, (p, (top + 1) % case.classes), opposite)
        l1 = wrong.get("l1") if case.notion in ("binary", "top_label") else None
        if l1 and l1.kind in ("point", "upper") and l1.value <= 0.5:
            raise ContractBrokenError(
                f"l1 is {l1.value:.6g} where p is 0 or 1 and every outcome wrong; above 0.5 is "
                "expected"
            )
    return "with right and with wrong outcomes"


def _estimate_or_nothing(case: Case, data: Data, problem: Any = None) -> dict[str, Estimate]:
    """Return the estimates of an unusual sample, {} if they are undefined."""
    try:
        return _estimate(case, data, problem=problem)
    except UndefinedError:
        return {}


def _is_estimated(case: Case, p: np.ndarray, y: np.ndarray) -> bool:
    estimates = _estimate(case, (p, y))
    return bool(estimates) and all(map(is_finite, estimates.values()))


def nan_refused(case: Case) -> str:
    """Check that a NaN in p is refused, or gives no finite value."""
    p, y = reduce(case.p.copy(), case.y.copy(), case.notion)
    p[len(p) // 2] = np.nan
    try:
        estimates = _apply(case, p, y)
    except (ValueError, UndefinedError) as error:
        return f"{type(error).__name__}: {' '.join(error_message(error).split())[:200]}"
    for name, e in estimates.items():
        if math.isfinite(e.value):
            raise ContractBrokenError(
                f"{name} is {e.value:.6g} though p holds a NaN; refuse it "
                "(harness.math.notions.checked does)"
            )
    return "the value is not finite"


def determinism(case: Case) -> str:
    """Check that estimates repeat as declared, and draw from the given rng only."""
    declared = case.spec.determinism
    first = without_global_draws(lambda: _numbers(_estimate(case)))
    tolerance = 0.0 if declared == "exact" else SAME
    if gap := _gap(first, _numbers(_estimate(case)), tolerance):
        raise ContractBrokenError(
            f"declared {declared}, but the same input and seed give another result: {gap}"
        )
    seeded = declared == "statistical" or case.spec.replication_rng is not None
    if not seeded and (gap := _gap(first, _numbers(_estimate(case, seed=1)), tolerance)):
        raise ContractBrokenError(f"declared {declared}, but the result depends on the seed: {gap}")
    return declared


def near_zero(case: Case) -> str:
    """Check that mean distances of calibrated samples exceed `null_bias` by at most 3 SE."""
    bound = case.spec.null_bias
    problem = _problem(case.spec, case.notion, Identity(), Identity())
    n = _at_most(case.spec, NULL_N)
    answers: list[dict[str, Estimate]] = []
    for reps in NULL_REPS:
        for rep in range(len(answers), reps):
            data = problem.sample(n, np.random.default_rng([1, rep]))
            answers.append(_estimate(case, data, rep, problem))
        judged = [
            name
            for name, e in answers[0].items()
            if estimands.is_distance(name) and name not in SUPREMA_AND_ROOTS and e.kind != "upper"
        ]
        if not judged:
            raise UndefinedError(f"{', '.join(answers[0])}: nothing that must be near zero")
        rows = [_null_row(name, [estimates[name] for estimates in answers]) for name in judged]
        if all(size + 3 * error <= bound for size, _, error, _ in rows):
            break
    for size, mean, error, name in rows:
        if not size <= bound + 3 * error:
            raise ContractBrokenError(
                f"mean {name} is {mean:.4g} ± {error:.2g} over {reps} calibrated samples of {n}; "
                f"null_bias is {bound:g}"
            )
    _, mean, _, name = max(rows)
    return f"largest mean is {name} = {mean:.2g}, null_bias is {bound:g}"


def _null_row(name: str, estimates: list[Estimate]) -> tuple[float, float, float, str]:
    """Return (size, mean, standard error, name). A lower bound far below zero has no size."""
    values = np.array([e.value for e in estimates])
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
    return (mean if estimates[0].kind == "lower" else abs(mean)), mean, error, name


def input_kept(case: Case) -> str:
    """Check that read-only arrays are accepted and unchanged."""
    before = reduce(case.p, case.y, case.notion)
    p, y = read_only(*before)
    before = before[0].copy(), before[1].copy()
    _apply(case, p, y)
    if not (np.array_equal(before[0], p) and np.array_equal(before[1], y)):
        raise ContractBrokenError("the arrays given were changed")
    return "read-only arrays are accepted and unchanged"


def declarations(case: Case) -> str:
    """Check the declared properties, and that only declared estimands are returned."""
    declared = requirements.estimator(case.estimator)
    names = case.spec.estimands
    extra = set(_estimate(case)) - set(names) if names is not None else set()
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
    "ties": examine_samples(TIES, _is_estimated),
    "fewer samples than bins": examine_samples(FEW, _is_estimated),
    "unseen class": examine_samples(UNSEEN_CLASS, _is_estimated),
    "constant p": examine_samples(CONSTANT, _is_estimated),
    "one sample": examine_samples(ONE, _is_estimated),
    "NaN refused": nan_refused,
    "determinism": determinism,
    "near zero if calibrated": near_zero,
    "input not modified": input_kept,
    DECLARED: declarations,
    "docstring": lambda case: documented(
        case.estimator, "what is estimated, its bias, its cost and the source"
    ),
}
