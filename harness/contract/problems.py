"""The contract test of a problem, item by item (see harness.contract.check)."""

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
    read_only,
    without_global_draws,
)
from harness.errors import BadInputError, UndefinedError
from harness.math import estimands
from harness.math.notions import NOTIONS, one_hot, reduce
from harness.plan import requirements
from harness.problems.base import ProblemSpec, Truth, find_truth

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
    """Return one case per notion that the problem declares."""
    declared = ProblemSpec.of(problem).notions
    return [Case(problem, notion) for notion in NOTIONS if notion in declared]


def _rng(case: Case, seed: int) -> Any:
    """Return the rng of a replication: a Generator, or what the problem makes itself."""
    seeded = ProblemSpec.of(case.problem).replication_rng
    return np.random.default_rng([SEED, seed]) if seeded is None else seeded(seed)


def _draw(case: Case, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a sample of size n. Raise ContractBrokenError if it is none under the notion."""
    sample = case.problem.sample(n, _rng(case, seed))
    if not isinstance(sample, (tuple, list)) or len(sample) != 2:
        raise ContractBrokenError(f"sample returned {_described(sample)}; a pair (p, y) is needed")
    try:
        reduce(sample[0], sample[1], case.notion)
    except BadInputError as error:
        message = str(error).rstrip(".")
        raise ContractBrokenError(f"sample under the {case.notion} notion: {message}") from error
    p, y = np.array(sample[0]), np.array(sample[1])
    if len(p) != n:
        raise ContractBrokenError(f"sample({n}) returned {len(p)} rows")
    return p, y


def _described(sample: Any) -> str:
    if isinstance(sample, (tuple, list)):
        return f"{len(sample)} things"
    return f"a {type(sample).__name__}"


def _size(case: Case, n: int) -> int:
    """Return the sample size nearest to n that the problem has."""
    spec = ProblemSpec.of(case.problem)
    if spec.sizes:
        return max([size for size in spec.sizes if size <= n], default=min(spec.sizes))
    return min(n, spec.n_max or n)


def _same(a: Sequence[np.ndarray], b: Sequence[np.ndarray], tolerance: float = 0.0) -> bool:
    return all(
        x.shape == y.shape and np.allclose(x, y, rtol=0.0, atol=tolerance) for x, y in zip(a, b)
    )


def returns_samples(case: Case) -> str:
    """Check that a sample is a pair (p, y) with the declared number of classes."""
    p, y = _draw(case, _size(case, SAMPLES))
    declared = ProblemSpec.of(case.problem).classes
    if p.ndim == 2 and p.shape[1] != declared:
        raise ContractBrokenError(f"classes is {declared}, but p has {p.shape[1]} columns")
    return f"p of shape {p.shape}, labels {', '.join(map(str, np.unique(y)[:10]))}"


def prefix(case: Case) -> str:
    """Check that a small sample is the beginning of a larger one from the same rng."""
    if ProblemSpec.of(case.problem).sizes:
        raise UndefinedError("it has samples of fixed sizes only")
    n = _size(case, SAMPLES)
    few = max(1, min(PREFIX_SAMPLES, n - 1))
    whole, part = _draw(case, n), _draw(case, few)
    if not _same([array[:few] for array in whole], part, ROUNDING):
        raise ContractBrokenError(
            f"sample({few}) is not the first {few} of sample({n}) from the same rng; give every "
            "variable its own stream: rng_p, rng_y = rng.spawn(2)"
        )
    return f"{few} of {n}"


def same_draws(case: Case) -> str:
    """Check that samples repeat with the same rng, and draw from it only."""
    n = _size(case, SAMPLES)
    first = without_global_draws(lambda: _draw(case, n))
    other = _draw(case, n, seed=1)
    if not _same(first, _draw(case, n)):
        raise ContractBrokenError("the same rng gives other samples the second time")
    if _same(first, other):
        return "the same samples from every rng"
    return "another rng gives other samples"


def arrays_are_given_away(case: Case) -> str:
    """Check that writing into a sample does not change the next."""
    n = _size(case, PREFIX_SAMPLES)
    before = _draw(case, n)
    for array in case.problem.sample(n, _rng(case, 0)):
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array[...] = 0
    if not _same(before, _draw(case, n)):
        raise ContractBrokenError(
            "what is written into a sample shows in the next one; return copies, or read-only "
            "arrays"
        )
    return "writing into a sample leaves the next as it is"


def one_sample(case: Case) -> str:
    """Check that a single sample can be drawn."""
    if ProblemSpec.of(case.problem).sizes:
        raise UndefinedError("it has samples of fixed sizes only")
    p, _ = _draw(case, 1)
    return f"p of shape {p.shape}"


def _posterior(case: Case, p: np.ndarray) -> np.ndarray:
    """Return E[Y given p] of a sample. Raise UndefinedError if the problem has none."""
    known = ProblemSpec.of(case.problem).posterior
    if known is None:
        raise UndefinedError("no posterior is known")
    c = np.asarray(known(*read_only(p)))
    if c.shape != p.shape:
        raise ContractBrokenError(
            f"posterior has shape {c.shape} for p of shape {p.shape}; they must be the same"
        )
    if not (c.min() >= -ROUNDING and c.max() <= 1.0 + ROUNDING):  # also for NaN
        raise ContractBrokenError(
            f"posterior goes from {c.min():.6g} to {c.max():.6g}; probabilities lie in [0, 1]"
        )
    if c.ndim == 2 and not np.allclose(sums := c.sum(axis=1), 1.0, atol=1e-6):
        raise ContractBrokenError(
            f"posterior has rows that sum to {sums.min():.6g} ... {sums.max():.6g}; 1 is needed"
        )
    return c


def posterior(case: Case) -> str:
    """Check that outcomes have the mean of the posterior, in groups of similar p.

    Bernstein's bound: for independent outcomes of means c_i,
    P(|sum_i (y_i - c_i)| > t) <= 2 exp(-t^2 / (2 sum_i c_i (1 - c_i) + 2 t / 3)).
    """
    p, y = _draw(case, _size(case, SAMPLES_OF_TRUTH))
    c = _posterior(case, p)
    columns = [(p, y, c)] if p.ndim == 1 else list(zip(p.T, one_hot(y, p.shape[1]).T, c.T))
    # solve 2 exp(...) = CHANCE / (number of groups) for t
    log_chance = math.log(2 * GROUPS * len(columns) / CHANCE)
    for j, (x, hit, mean) in enumerate(columns):
        for rows in np.array_split(np.argsort(x, kind="stable"), GROUPS):
            deviation = abs(float((hit[rows] - mean[rows]).sum()))
            variance = max(float((mean[rows] * (1.0 - mean[rows])).sum()), 0.0)
            allowed = log_chance / 3 + math.sqrt(log_chance**2 / 9 + 2 * variance * log_chance)
            if deviation > allowed:
                name = f"p_{j}" if p.ndim == 2 else "p"
                raise ContractBrokenError(
                    f"where {name} lies in [{x[rows].min():.3g}, {x[rows].max():.3g}] the mean "
                    f"outcome of {len(rows):,} samples is {hit[rows].mean():.4g}, the posterior's "
                    f"mean {mean[rows].mean():.4g}"
                )
    return f"agrees with {len(p):,} outcomes"


def truth(case: Case) -> str:
    """Check truths against means over a large sample.

    The mean is that of d(p, C) if E[Y given what the notion sees] is the posterior C, and that of
    the loss of the outcomes if the estimand is an expected score.
    """
    known: dict[str, Truth] = {}
    for name in estimands.names(case.notion):
        try:
            claim = find_truth(case.problem, name, case.notion)
        except BadInputError as wrong:
            raise ContractBrokenError(str(wrong).rstrip(".")) from wrong
        if claim is not None:
            known[name] = claim
    if not known:
        raise UndefinedError("no truth is known")
    p, y = _draw(case, _size(case, SAMPLES_OF_TRUTH))
    f, outcome = reduce(p, y, case.notion)
    if case.notion == "canonical":
        outcome = one_hot(outcome, f.shape[1])
    c = _reduced_posterior(case, p)
    compared = []
    for name, stated in known.items():
        seen = seen_of(name, f, outcome, c, case.notion)
        if seen is None or not math.isfinite(stated.value):
            continue
        value, error = seen
        allowed = ERRORS * math.hypot(error, stated.error) + ROUNDING * (1.0 + abs(stated.value))
        # a sample shows only a lower bound of a supremum
        is_supremum = name == "linf" and case.notion != "canonical"
        gap = value - stated.value if is_supremum else abs(value - stated.value)
        if not gap <= allowed:
            least = "at least " if is_supremum else ""
            raise ContractBrokenError(
                f"truth({name!r}, {case.notion!r}) is {stated.value:.6g} ± {stated.error:.2g}; "
                f"{len(p):,} samples give {least}{value:.6g} ± {error:.2g}"
            )
        compared.append(name)
    if not compared:
        raise UndefinedError(
            f"truths of {', '.join(known)} are known, but there is no posterior to compare with"
        )
    return (
        f"{len(compared)} of {len(known)} truths compared with {len(p):,} samples: "
        f"{', '.join(compared[:3])} ..."
    )


def _reduced_posterior(case: Case, p: np.ndarray) -> np.ndarray | None:
    """Return E[Y given what the notion sees], with the shape of the reduced p.

    None if that is not the posterior, which knows all of p.
    """
    if ProblemSpec.of(case.problem).posterior is None:
        return None
    classes = 2 if p.ndim == 1 else p.shape[1]
    if case.notion == "top_label" and p.ndim == 2 or case.notion == "classwise" and classes > 2:
        return None
    c = _posterior(case, p)
    if case.notion == "binary":
        return c if c.ndim == 1 else c[:, 1]
    return np.column_stack([1.0 - c, c]) if c.ndim == 1 and case.notion != "top_label" else c


def seen_of(name: str, f: Any, outcome: Any, c: Any, notion: str) -> tuple[float, float] | None:
    """Return the mean of an estimand over a sample and its standard error; None without one."""
    if name == "rms" or name.startswith("sharpness_"):
        return None
    if c is None and name not in ("brier", "logloss"):
        return None
    target = outcome if c is None else c
    with np.errstate(all="ignore"):
        if name == "linf" and notion != "canonical":
            return float(np.abs(f - target).max(axis=0).mean()), 0.0
        if notion == "classwise":
            columns = zip(f.T, target.T)
            x = np.mean([estimands.pointwise(name, a, b, notion) for a, b in columns], axis=0)
        else:
            x = estimands.pointwise(name, f, target, notion)
        value = float(x.mean())
        error = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.inf
    return (value, error) if math.isfinite(value) and math.isfinite(error) else None


def declarations(case: Case) -> str:
    """Check the declared properties."""
    declared = requirements.problem(case.problem)
    return ", ".join(declared) or "nothing is declared: taken as binary, 1,000 samples, 10 reps"


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
