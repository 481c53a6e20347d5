"""The contract of estimators. `harness.contract.check` explains items and cases."""

from __future__ import annotations

import math
from time import perf_counter, process_time
from typing import Any

import numpy as np

from harness.common.escaping import error_message
from harness.common.wording import format_seconds
from harness.contract.estimator_cases import (
    Case,
    Data,
    apply_case,
    estimate,
    find_gap,
    limit_size,
    make_problem,
    numbers,
)
from harness.contract.estimator_cases import (
    cases as cases,
)
from harness.contract.items import (
    CONSTANT,
    DECLARED,
    FEW,
    ONE,
    SAME,
    TIES,
    UNSEEN_CLASS,
    BiasedError,
    ContractBrokenError,
    docstring_summary,
    examine_samples,
    read_only,
    without_global_draws,
)
from harness.errors import BadInputError, UndefinedError
from harness.estimators.application import WrongAnswerError
from harness.estimators.base import Estimate, is_finite
from harness.math import estimands
from harness.math.notions import one_hot, reduce
from harness.plan import requirements
from harness.problems import Beta
from harness.problems.maps import Identity, LogitAffine, Power

SUPREMA_AND_ROOTS = ("linf", "rms")  # estimands that are not near zero on calibrated samples
# A difference in distribution over 12 seeds fails the item only if it appears over 48 seeds, too.
SEEDS = (12, 48)
# Size and numbers of calibrated samples. 20 are drawn unless 5 show that the mean is in its bound.
NULL_N, NULL_REPS = 2000, (5, 20)
STATED_BIAS = 0.01  # a larger mean on calibrated samples is reported as a bias


def returns_numbers(case: Case) -> str:
    """Check that an ordinary sample gives finite estimates with known names."""
    try:
        estimates = estimate(case)
    except UndefinedError as reason:
        raise ContractBrokenError(
            f"the estimate is undefined on {len(case.p)} ordinary samples: {reason}"
        ) from None
    if not estimates:
        raise ContractBrokenError("the estimator returned no estimate; return at least one")
    for name, e in estimates.items():
        estimands.check_name(name, case.notion)
        if not is_finite(e):
            raise ContractBrokenError(f"{name} is not finite on ordinary samples: {e}")
    intervals = [name for name, e in estimates.items() if e.kind == "interval"]
    if not intervals:
        return ", ".join(estimates)
    note = f"an interval without a point has no regret in compare: {', '.join(intervals)}"
    return f"{', '.join(estimates)}; {note}"


def sample_order(case: Case) -> str:
    """Check that the order of the samples does not matter, with and without ties."""
    order = np.random.default_rng(1).permutation(len(case.p))
    tied = case.p[np.arange(len(case.p)) % 9]
    sentence = _unchanged(
        case, (case.p, case.y), (case.p[order], case.y[order]), "in another order"
    )
    try:
        _unchanged(
            case, (tied, case.y), (tied[order], case.y[order]), "in another order, with ties,"
        )
    except ContractBrokenError as broken:
        raise ContractBrokenError(
            f"{broken}; sorting leaves equal p in the order of the samples, so add up the y of "
            "equal p first: values, index = np.unique(p, return_inverse=True), "
            "np.bincount(index, y)"
        ) from None
    return sentence


def class_relabelling(case: Case) -> str:
    """Check that the order of the classes does not matter."""
    if case.notion == "binary":
        raise UndefinedError("a binary estimator may treat the two outcomes differently")
    order = np.roll(np.arange(case.classes), -1)
    relabelled = case.p[:, order], np.argsort(order)[case.y]
    return _unchanged(case, (case.p, case.y), relabelled, "with the classes renamed")


def _unchanged(case: Case, before: Data, after: Data, how: str) -> str:
    """Check that two samples have the same estimates, and return a sentence.

    The tolerance is 1e-9. If the estimates depend on the seed, their means over several seeds are
    compared. `how` completes "the same samples ..." in the message.
    """
    first, *others = (numbers(estimate(case, before, seed)) for seed in range(3))
    if not any(find_gap(first, other, SAME) for other in others):
        if gap := find_gap(first, numbers(estimate(case, after)), SAME):
            raise ContractBrokenError(f"the same samples {how} give another result: {gap}")
        return "unchanged"
    for seeds in SEEDS:
        a = [numbers(estimate(case, before, seed)) for seed in range(seeds)]
        b = [numbers(estimate(case, after, 1000 + seed)) for seed in range(seeds)]
        if not (gap := _gap_in_distribution(a, b)):
            return f"unchanged in distribution ({seeds} seeds)"
    raise ContractBrokenError(
        f"the same samples {how} give another result over {seeds} seeds: {gap}"
    )


def _gap_in_distribution(a: list[dict[str, float]], b: list[dict[str, float]]) -> str | None:
    """Describe the first number whose means over seeds differ by more than 4 standard errors.

    `a` and `b` have the numbers for every seed. Return None if no number differs.
    """
    for name in a[0]:
        x = np.array([numbers.get(name, np.nan) for numbers in a])
        y = np.array([numbers.get(name, np.nan) for numbers in b])
        if not (np.isfinite(x).any() or np.isfinite(y).any()):
            continue
        error = math.sqrt((x.var(ddof=1) + y.var(ddof=1)) / len(x))
        if not abs(x.mean() - y.mean()) <= 4 * error + SAME:
            return (
                f"first the mean of {name} was {x.mean():.6g}, then {y.mean():.6g} (standard error "
                f"of the difference {error:.2g})"
            )
    return None


def zero_and_one(case: Case) -> str:
    """Check samples with p of 0 and 1. If all outcomes are wrong, l1 must be above 0.5."""
    binary = case.notion == "binary"
    opposite = Beta(0.01, 0.01, LogitAffine(-1.0)) if binary else None  # P(Y = 1 given p) = 1 - p
    labels = np.minimum(np.arange(limit_size(case.spec, 40)) % 5, case.classes - 1)
    for top in (labels, case.classes - 1 - labels):
        p = top.astype(np.float64) if binary else one_hot(top, case.classes)
        _estimate_or_nothing(case, (p, top))
        wrong = _estimate_or_nothing(case, (p, (top + 1) % case.classes), opposite)
        l1 = wrong.get("l1") if case.notion in ("binary", "top_label") else None
        if l1 and l1.kind in ("point", "upper") and l1.value <= 0.5:
            raise ContractBrokenError(
                f"l1 is {l1.value:.6g} where all p are 0 or 1 and all outcomes are wrong; it must "
                "be above 0.5"
            )
    return "with right and with wrong outcomes"


def _estimate_or_nothing(case: Case, data: Data, problem: Any = None) -> dict[str, Estimate]:
    """Return the estimates on an unusual sample, or {} if they are undefined."""
    try:
        return estimate(case, data, problem=problem)
    except UndefinedError:
        return {}


def _is_estimated(case: Case, p: np.ndarray, y: np.ndarray) -> bool:
    estimates = estimate(case, (p, y))
    return bool(estimates) and all(map(is_finite, estimates.values()))


def nan_refused(case: Case) -> str:
    """Check that a NaN in p raises an error, or gives values that are not finite."""
    p, y = reduce(case.p.copy(), case.y.copy(), case.notion)
    p[len(p) // 2] = np.nan
    try:
        estimates = apply_case(case, p, y)
    except (ValueError, UndefinedError) as error:
        return f"{type(error).__name__}: {' '.join(error_message(error).split())[:200]}"
    for name, e in estimates.items():
        if math.isfinite(e.value):
            raise ContractBrokenError(
                f"{name} is {e.value:.6g} although p has a NaN; raise an error, as "
                "harness.math.notions.checked does"
            )
    return "the value is not finite"


def vectors_refused(case: Case) -> str:
    """Check that an estimator without the canonical notion refuses p (n, k) with labels y (n,).

    It must raise BadInputError, which is one sentence for whoever calls it directly. A function
    that declares no notions is called by the harness only, with reduced p.
    """
    if not hasattr(case.estimator, "notions"):
        raise UndefinedError("no notions are declared, so that only the harness calls it")
    if "canonical" in case.spec.notions:
        raise UndefinedError("the estimator takes vectors")
    p, y = make_problem(case.spec, "canonical", Identity(), Power(0.3)).sample(
        len(case.p), np.random.default_rng(0)
    )
    notion = "binary" if case.notion == "classwise" else case.notion  # one call with all columns
    remedy = "harness.math.notions.checked_scalars refuses vectors in one sentence"
    try:
        result = apply_case(case._replace(notion=notion), p, y)
    except UndefinedError:
        return "undefined"
    except Exception as error:
        sentence = " ".join(error_message(error).split())[:200]
        if isinstance(error, BadInputError) and not isinstance(error, WrongAnswerError):
            return sentence
        raise ContractBrokenError(
            f"p of shape {p.shape} raises {type(error).__name__}: {sentence}; {remedy}"
        ) from error
    raise ContractBrokenError(f"p of shape {p.shape} gives {', '.join(result)}; {remedy}")


def determinism(case: Case) -> str:
    """Check that estimates repeat as declared, and that the estimator draws from its rng only."""
    declared = case.spec.determinism
    first = without_global_draws(lambda: numbers(estimate(case)))
    tolerance = 0.0 if declared == "exact" else SAME
    if gap := find_gap(first, numbers(estimate(case)), tolerance):
        raise ContractBrokenError(
            f"determinism is declared as {declared}, but the same input and seed give another "
            f"result: {gap}"
        )
    seeded = declared == "statistical" or case.spec.replication_rng is not None
    if not seeded and (gap := find_gap(first, numbers(estimate(case, seed=1)), tolerance)):
        raise ContractBrokenError(
            f"determinism is declared as {declared}, but the result depends on the seed: {gap}"
        )
    return declared


def near_zero(case: Case) -> str:
    """Check that means over calibrated samples exceed `null_bias` by at most 3 standard errors.

    Suprema, roots, upper bounds and estimands that are no distances are not checked. A mean above
    STATED_BIAS within this bound raises BiasedError.
    """
    bound = case.spec.null_bias
    problem = make_problem(case.spec, case.notion, Identity(), Identity())
    n = limit_size(case.spec, NULL_N)
    samples: list[dict[str, Estimate]] = []  # the estimates on every sample
    for reps in NULL_REPS:
        for rep in range(len(samples), reps):
            data = problem.sample(n, np.random.default_rng([1, rep]))
            samples.append(estimate(case, data, rep, problem))
        names = [
            name
            for name, e in samples[0].items()
            if estimands.is_distance(name) and name not in SUPREMA_AND_ROOTS and e.kind != "upper"
        ]
        if not names:
            raise UndefinedError(
                f"{', '.join(samples[0])} need not be near zero on calibrated samples"
            )
        rows = [_null_row(name, [estimates[name] for estimates in samples]) for name in names]
        if all(magnitude + 3 * error <= bound for magnitude, _, error, _ in rows):
            break
    for magnitude, mean, error, name in rows:
        if not magnitude <= bound + 3 * error:
            raise ContractBrokenError(
                f"mean {name} is {mean:.4g} ± {error:.2g} over {reps} calibrated samples of size "
                f"{n}; the declared null_bias is {bound:g}"
            )
    magnitude, mean, error, name = max(rows)
    text = f"the mean of {name} is {mean:.2g} ± {error:.1g} on calibrated samples of size {n}"
    if magnitude - 3 * error > STATED_BIAS:
        raise BiasedError(f"{text}, not near 0; null_bias allows {bound:g}")
    return text


def _null_row(name: str, estimates: list[Estimate]) -> tuple[float, float, float, str]:
    """Return (magnitude, mean, standard error, name) of the estimates on calibrated samples.

    The magnitude is |mean|. For a lower bound it is the mean, because such a bound may be far below
    zero.
    """
    values = np.array([e.value for e in estimates])
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
    return (mean if estimates[0].kind == "lower" else abs(mean)), mean, error, name


def input_kept(case: Case) -> str:
    """Check that read-only arrays are accepted, and that no array is changed."""
    before = reduce(case.p, case.y, case.notion)
    p, y = read_only(*before)
    before = before[0].copy(), before[1].copy()
    apply_case(case, p, y)
    if not (np.array_equal(before[0], p) and np.array_equal(before[1], y)):
        raise ContractBrokenError("the arrays that were passed were changed; work on copies")
    return "read-only arrays are accepted and unchanged"


def cost(case: Case) -> str:
    """Return the CPU and the wall time of one estimate, for this machine."""
    cpu, wall = process_time(), perf_counter()
    estimate(case)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    return (
        f"{format_seconds(cpu)} of CPU and {format_seconds(wall)} of wall time, n = {len(case.p)}"
    )


def declarations(case: Case) -> str:
    """Check that the declared properties are valid and complete, and return their names."""
    declared = requirements.estimator(case.estimator)
    names = case.spec.estimands
    extra = set(estimate(case)) - set(names) if names is not None else set()
    if names is not None and extra:
        raise ContractBrokenError(
            f"the estimator returns {', '.join(sorted(extra))}, but its property estimands "
            f"declares only {', '.join(names)}"
        )
    return ", ".join(declared) or (
        "no property is declared; the notions are taken as scalar, determinism as statistical"
    )


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
    "vectors refused": vectors_refused,
    "determinism": determinism,
    "near zero if calibrated": near_zero,
    "input not modified": input_kept,
    "cost": cost,
    DECLARED: declarations,
    "docstring": lambda case: docstring_summary(
        case.estimator, "what is estimated, its bias, its cost and the source"
    ),
}
