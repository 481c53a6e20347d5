"""The contract test of a problem: what is expected of anybody's, item by item (see harness.contract.check)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from harness.contract.items import (
    DECLARED,
    SEED,
    ContractBrokenError,
    documented,
    global_states,
    kept,
    unseeded_generators,
)
from harness.errors import UndefinedError
from harness.math import estimands
from harness.math.notions import NOTIONS, one_hot, reduce
from harness.plan import requirements
from harness.problems.base import ProblemSpec, truth_of

PREFIX_SAMPLES, SAMPLES, SAMPLES_OF_TRUTH = 60, 200, 40_000
CHANCE = 1e-6  # of a false alarm, over all groups together
ERRORS = 5.0  # standard errors
GROUPS = 10
ROUNDING = 1e-9


class Case(NamedTuple):
    """A problem under one notion."""

    problem: Any
    notion: str


def cases(problem: Any) -> list[Case]:
    """One case per notion that the problem declares."""
    declared = ProblemSpec.of(problem).notions
    return [Case(problem, notion) for notion in NOTIONS if notion in declared]


def _rng(case: Case, seed: int) -> Any:
    """What the problem is given as rng: a Generator, or what it makes of a replication itself."""
    own = ProblemSpec.of(case.problem).replication_rng
    return np.random.default_rng([SEED, seed]) if own is None else own(seed)


def _draw(case: Case, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    drawn = case.problem.sample(n, _rng(case, seed))
    p, y = (np.array(a) for a in kept(requirements.sample, drawn, (case.notion,)))
    if len(p) != n:
        raise ContractBrokenError(f"sample({n}) returned {len(p)} rows")
    return p, y


def _size(case: Case, n: int) -> int:
    """The sample size nearest to n that the problem has."""
    spec = ProblemSpec.of(case.problem)
    if spec.sizes:
        return max([s for s in spec.sizes if s <= n] or [min(spec.sizes)])
    return min(n, spec.n_max or n)


def _same(a: Sequence[np.ndarray], b: Sequence[np.ndarray], tolerance: float = 0.0) -> bool:
    return all(
        x.shape == y.shape and np.allclose(x, y, rtol=0.0, atol=tolerance) for x, y in zip(a, b)
    )


def returns_samples(case: Case) -> str:
    p, y = _draw(case, _size(case, SAMPLES))
    declared = ProblemSpec.of(case.problem).classes
    if p.ndim == 2 and p.shape[1] != declared:
        raise ContractBrokenError(f"classes is {declared}, but p has {p.shape[1]} columns")
    return f"p of shape {p.shape}, labels {', '.join(map(str, np.unique(y)[:10]))}"


def prefix(case: Case) -> str:
    if ProblemSpec.of(case.problem).sizes:
        raise UndefinedError("it has samples of fixed sizes only")
    n = _size(case, SAMPLES)
    few = max(1, min(PREFIX_SAMPLES, n - 1))
    whole, part = _draw(case, n), _draw(case, few)
    if not _same([a[:few] for a in whole], part, ROUNDING):
        raise ContractBrokenError(
            f"sample({few}) is not the first {few} of sample({n}) from the same rng; give every variable its own stream: "
            "rng_p, rng_y = rng.spawn(2)"
        )
    return f"{few} of {n}"


def same_draws(case: Case) -> str:
    n = _size(case, SAMPLES)
    with unseeded_generators():
        before = global_states()
        first = _draw(case, n)
        if global_states() != before:
            raise ContractBrokenError(
                "a global random generator was used; draw from the rng that is given"
            )
    _draw(case, n, seed=1)
    again = _draw(case, n)
    if not _same(first, again):
        raise ContractBrokenError("the same rng gives other samples the second time")
    return (
        "another rng gives other samples"
        if not _same(first, _draw(case, n, seed=1))
        else "the same samples from every rng"
    )


def arrays_are_given_away(case: Case) -> str:
    n = _size(case, PREFIX_SAMPLES)
    before = _draw(case, n)
    for array in case.problem.sample(n, _rng(case, 0)):
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array[...] = 0
    if not _same(before, _draw(case, n)):
        raise ContractBrokenError(
            "what is written into a sample shows in the next one; return copies, or read-only arrays"
        )
    return "writing into a sample leaves the next as it is"


def one_sample(case: Case) -> str:
    if ProblemSpec.of(case.problem).sizes:
        raise UndefinedError("it has samples of fixed sizes only")
    p, _ = _draw(case, 1)
    return f"p of shape {p.shape}"


def _known(case: Case, p: np.ndarray) -> np.ndarray:
    """E[Y given p] of a sample; UndefinedError where the problem has none."""
    known = ProblemSpec.of(case.problem).posterior
    if known is None:
        raise UndefinedError("no posterior is known")
    given = p.copy()
    given.flags.writeable = False
    c = np.asarray(known(given))
    if c.shape != p.shape:
        raise ContractBrokenError(
            f"posterior has shape {c.shape} for p of shape {p.shape}; they must be the same"
        )
    if not (c.min() >= -ROUNDING and c.max() <= 1.0 + ROUNDING):  # also false for NaN
        raise ContractBrokenError(
            f"posterior goes from {c.min():.6g} to {c.max():.6g}; probabilities lie in [0, 1]"
        )
    if c.ndim == 2 and not np.allclose(c.sum(axis=1), 1.0, atol=1e-6):
        raise ContractBrokenError(
            f"posterior has rows that sum to {c.sum(axis=1).min():.6g} ... {c.sum(axis=1).max():.6g}; 1 is needed"
        )
    return c


def posterior(case: Case) -> str:
    """In groups of similar p, outcomes have the mean that the posterior says, by Bernstein's bound: for independent outcomes of
    means c_i, P(|sum_i (y_i - c_i)| > t) <= 2 exp(-t^2 / (2 sum_i c_i (1 - c_i) + 2 t / 3))."""
    p, y = _draw(case, _size(case, SAMPLES_OF_TRUTH))
    c = _known(case, p)
    columns = [(p, y, c)] if p.ndim == 1 else list(zip(p.T, one_hot(y, p.shape[1]).T, c.T))
    deviation = math.log(2 * GROUPS * len(columns) / CHANCE)
    for j, (x, hit, mean) in enumerate(columns):
        for rows in np.array_split(np.argsort(x, kind="stable"), GROUPS):
            rest, variance = (
                float((hit[rows] - mean[rows]).sum()),
                float((mean[rows] * (1.0 - mean[rows])).sum()),
            )
            if abs(rest) > deviation / 3 + math.sqrt(
                deviation**2 / 9 + 2 * max(variance, 0.0) * deviation
            ) and len(rows):
                between = f"p{f'_{j}' if p.ndim == 2 else ''} lies in [{x[rows].min():.3g}, {x[rows].max():.3g}]"
                raise ContractBrokenError(
                    f"where {between} the mean outcome of {len(rows):,} samples is {hit[rows].mean():.4g}, the posterior's mean "
                    f"{mean[rows].mean():.4g}"
                )
    return f"agrees with {len(p):,} outcomes"


def truth(case: Case) -> str:
    """Truths against the mean over a large sample: of d(p, C) where E[Y given what the notion sees] is the posterior, of the loss
    of the outcomes where the estimand is an expected score."""
    known = {
        name: kept(truth_of, case.problem, name, case.notion)
        for name in estimands.names(case.notion)
    }
    known = {name: found for name, found in known.items() if found is not None}
    if not known:
        raise UndefinedError("no truth is known")
    p, y = _draw(case, _size(case, SAMPLES_OF_TRUTH))
    f, outcome = reduce(p, y, case.notion)
    if case.notion == "canonical":
        outcome = one_hot(outcome, f.shape[1])
    c = _reduced_posterior(case, p)
    compared = []
    for name, found in known.items():
        seen = seen_of(name, f, outcome, c, case.notion)
        if seen is None or not math.isfinite(found.value):
            continue
        value, error = seen
        allowed = ERRORS * math.hypot(error, found.error) + ROUNDING * (1.0 + abs(found.value))
        supremum = name == "linf" and case.notion != "canonical"
        if not (
            value - found.value <= allowed if supremum else abs(value - found.value) <= allowed
        ):
            how = "at least " if supremum else ""
            raise ContractBrokenError(
                f"truth({name!r}, {case.notion!r}) is {found.value:.6g} ± {found.error:.2g}; {len(p):,} samples give {how}"
                f"{value:.6g} ± {error:.2g}"
            )
        compared.append(name)
    if not compared:
        raise UndefinedError(
            f"truths of {', '.join(known)} are known, but there is no posterior to compare them with"
        )
    return f"{len(compared)} of {len(known)} truths compared with {len(p):,} samples: {', '.join(compared[:3])} ..."


def _reduced_posterior(case: Case, p: np.ndarray) -> np.ndarray | None:
    """E[Y given what the notion sees], like the reduced p; None where that is not the posterior, which knows all of p."""
    if ProblemSpec.of(case.problem).posterior is None:
        return None
    classes = 2 if p.ndim == 1 else p.shape[1]
    if case.notion == "top_label" and p.ndim == 2 or case.notion == "classwise" and classes > 2:
        return None
    c = _known(case, p)
    if case.notion == "binary":
        return c if c.ndim == 1 else c[:, 1]
    return np.column_stack([1.0 - c, c]) if c.ndim == 1 and case.notion != "top_label" else c


def seen_of(name: str, f: Any, outcome: Any, c: Any, notion: str) -> tuple[float, float] | None:
    """(what a sample says of an estimand, its standard error); None where it says nothing."""
    if (
        name == "rms"
        or name.startswith("sharpness_")
        or c is None
        and name not in ("brier", "logloss")
    ):
        return None
    target = outcome if c is None else c
    with np.errstate(all="ignore"):
        if name == "linf" and notion != "canonical":
            return float(np.abs(f - target).max(axis=0).mean()), 0.0
        if notion == "classwise":
            x = np.mean(
                [estimands.pointwise(name, a, b, notion) for a, b in zip(f.T, target.T)], axis=0
            )
        else:
            x = estimands.pointwise(name, f, target, notion)
        value, error = (
            float(x.mean()),
            float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.inf,
        )
    return (value, error) if math.isfinite(value) and math.isfinite(error) else None


def declarations(case: Case) -> str:
    return (
        ", ".join(requirements.problem(case.problem))
        or "nothing is declared: taken as binary, 1,000 samples, 10 reps"
    )


ITEMS = {
    "returns samples": returns_samples,
    "small n is a prefix": prefix,
    "determinism": same_draws,
    "arrays not shared": arrays_are_given_away,
    "one sample": one_sample,
    "posterior": posterior,
    "truth": truth,
    DECLARED: declarations,
    "docstring": lambda case: documented(
        case.problem, "the law of p and y, which truths are known, and the source"
    ),
}
