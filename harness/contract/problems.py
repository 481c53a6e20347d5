"""The contract of problems. `harness.contract.check` explains items and cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from harness.contract.items import (
    DECLARED,
    SEED,
    ContractBrokenError,
    docstring_summary,
    read_only,
    without_global_draws,
)
from harness.contract.simulated_truths import MOST_BINS, SIMULATED, simulate
from harness.errors import BadInputError, UndefinedError
from harness.math import estimands
from harness.math.notions import NOTIONS, one_hot, reduce
from harness.plan import requirements
from harness.problems.base import ProblemSpec, Truth, find_truth

PREFIX_SAMPLES, SAMPLES, SAMPLES_OF_TRUTH = 60, 200, 40_000
# Samples of a simulated error, and most numbers in their predictions.
SIMULATED_SAMPLES, SIMULATED_NUMBERS = 400_000, 1_200_000
CHANCE = 1e-6  # probability of a false alarm of the item "posterior", over all groups together
ERRORS = 5.0  # number of standard errors by which a truth may differ from the mean over a sample
GROUPS = 10  # number of groups of similar p
ROUNDING = 1e-9  # largest difference of numbers that are equal up to rounding


class Case(NamedTuple):
    """A problem with the notion under which it is checked."""

    problem: Any
    notion: str


def cases(problem: Any) -> list[Case]:
    """Return one case per notion that the problem declares."""
    declared = ProblemSpec.of(problem).notions
    return [Case(problem, notion) for notion in NOTIONS if notion in declared]


def _rng(case: Case, seed: int) -> Any:
    """Return the rng for a seed: a Generator, or the object that the problem asks for."""
    seeded = ProblemSpec.of(case.problem).replication_rng
    return np.random.default_rng([SEED, seed]) if seeded is None else seeded(seed)


def _draw(case: Case, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return p and y of a sample of size n, not reduced.

    Raise ContractBrokenError unless the sample is a pair of n rows that can be reduced to the
    notion.
    """
    sample = case.problem.sample(n, _rng(case, seed))
    if not isinstance(sample, (tuple, list)) or len(sample) != 2:
        raise ContractBrokenError(f"sample returned {_describe(sample)}; return a pair (p, y)")
    try:
        reduce(sample[0], sample[1], case.notion)
    except BadInputError as error:
        message = str(error).rstrip(".")
        raise ContractBrokenError(
            f"a sample cannot be reduced to the {case.notion} notion: {message}"
        ) from error
    p, y = np.array(sample[0]), np.array(sample[1])
    if len(p) != n:
        raise ContractBrokenError(f"sample({n}) returned {len(p)} rows; return {n} rows")
    return p, y


def _describe(sample: Any) -> str:
    """Return "a list of 3 items" or "a dict", for messages."""
    if isinstance(sample, (tuple, list)):
        return f"a {type(sample).__name__} of {len(sample)} items"
    return f"a {type(sample).__name__}"


def _size(case: Case, n: int) -> int:
    """Return a sample size that the problem allows: n, or the largest allowed size below n.

    If all allowed sizes are above n, return the smallest.
    """
    spec = ProblemSpec.of(case.problem)
    if spec.sizes:
        return max([size for size in spec.sizes if size <= n], default=min(spec.sizes))
    return min(n, spec.n_max or n)


def _same(a: Sequence[np.ndarray], b: Sequence[np.ndarray], tolerance: float = 0.0) -> bool:
    return all(
        x.shape == y.shape and np.allclose(x, y, rtol=0.0, atol=tolerance) for x, y in zip(a, b)
    )


def returns_samples(case: Case) -> str:
    """Check that a sample is a pair (p, y) whose p has the declared number of classes."""
    p, y = _draw(case, _size(case, SAMPLES))
    declared = ProblemSpec.of(case.problem).classes
    if p.ndim == 2 and p.shape[1] != declared:
        raise ContractBrokenError(
            f"the property classes is {declared}, but p has {p.shape[1]} columns"
        )
    groups = ProblemSpec.of(case.problem).groups
    if groups is not None:
        shape = np.shape(groups(len(p), _rng(case, 0)))
        if shape != (len(p),):
            raise ContractBrokenError(
                f"groups({len(p)}, rng) returned shape {shape}; return one group per row of sample"
            )
    return f"p of shape {p.shape}, labels {', '.join(map(str, np.unique(y)[:10]))}"


def prefix(case: Case) -> str:
    """Check that a small sample is the beginning of a larger sample from the same rng."""
    if ProblemSpec.of(case.problem).sizes:
        raise UndefinedError("the problem has samples of fixed sizes only")
    n = _size(case, SAMPLES)
    few = max(1, min(PREFIX_SAMPLES, n - 1))
    whole, part = _draw(case, n), _draw(case, few)
    if not _same([array[:few] for array in whole], part, ROUNDING):
        raise ContractBrokenError(
            f"sample({few}) is not the beginning of sample({n}) from the same rng; draw every "
            "variable from a stream of its own: rng_p, rng_y = rng.spawn(2)"
        )
    return f"the first {few} of {n} samples are equal"


def same_draws(case: Case) -> str:
    """Check that the same rng gives the same sample, and that no other generator is used."""
    n = _size(case, SAMPLES)
    first = without_global_draws(lambda: _draw(case, n))
    other = _draw(case, n, seed=1)
    if not _same(first, _draw(case, n)):
        raise ContractBrokenError("a second call with the same rng gives another sample")
    if _same(first, other):
        return "every rng gives the same sample"
    return "another rng gives another sample"


def arrays_not_shared(case: Case) -> str:
    """Check that writing into the arrays of a sample does not change the next sample."""
    n = _size(case, PREFIX_SAMPLES)
    before = _draw(case, n)
    for array in case.problem.sample(n, _rng(case, 0)):
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array[...] = 0
    if not _same(before, _draw(case, n)):
        raise ContractBrokenError(
            "writing into the arrays of a sample changes the next sample; return copies, or "
            "read-only arrays"
        )
    return "writing into a sample does not change the next sample"


def one_sample(case: Case) -> str:
    """Check that a single sample can be drawn."""
    if ProblemSpec.of(case.problem).sizes:
        raise UndefinedError("the problem has samples of fixed sizes only")
    p, _ = _draw(case, 1)
    return f"p of shape {p.shape}"


def _posterior(case: Case, p: np.ndarray) -> np.ndarray:
    """Return E[Y given p] at the predictions p of a sample, with the shape of p.

    Raise UndefinedError if the problem does not know it, and ContractBrokenError unless it consists
    of probabilities.
    """
    known = ProblemSpec.of(case.problem).posterior
    if known is None:
        raise UndefinedError("the problem does not know E[Y given p]")
    c = np.asarray(known(*read_only(p)))
    if c.shape != p.shape:
        raise ContractBrokenError(
            f"posterior has shape {c.shape} for p of shape {p.shape}; the shapes must be equal"
        )
    if not (c.min() >= -ROUNDING and c.max() <= 1.0 + ROUNDING):  # also for NaN
        raise ContractBrokenError(
            f"posterior goes from {c.min():.6g} to {c.max():.6g}; return probabilities in [0, 1]"
        )
    if c.ndim == 2 and not np.allclose(sums := c.sum(axis=1), 1.0, atol=1e-6):
        raise ContractBrokenError(
            f"posterior has rows with sums from {sums.min():.6g} to {sums.max():.6g}; every row "
            "must sum to 1"
        )
    return c


def posterior(case: Case) -> str:
    """Check, in groups of samples with similar p, that mean outcome and mean posterior agree.

    The allowed difference follows from Bernstein's inequality. For independent outcomes y_i with
    the means c_i, it says

        P(|sum_i (y_i - c_i)| > t) <= 2 exp(-t^2 / (2 sum_i c_i (1 - c_i) + 2 t / 3)).
    """
    p, y = _draw(case, _size(case, SAMPLES_OF_TRUTH))
    c = _posterior(case, p)
    columns = [(p, y, c)] if p.ndim == 1 else list(zip(p.T, one_hot(y, p.shape[1]).T, c.T))
    # Solve 2 exp(...) = CHANCE / (number of groups) for t.
    log_chance = math.log(2 * GROUPS * len(columns) / CHANCE)
    for j, (x, hit, mean) in enumerate(columns):
        for rows in np.array_split(np.argsort(x, kind="stable"), GROUPS):
            deviation = abs(float((hit[rows] - mean[rows]).sum()))
            variance = max(float((mean[rows] * (1.0 - mean[rows])).sum()), 0.0)
            allowed = log_chance / 3 + math.sqrt(log_chance**2 / 9 + 2 * variance * log_chance)
            if deviation > allowed:
                name = f"p_{j}" if p.ndim == 2 else "p"
                raise ContractBrokenError(
                    f"{len(rows):,} samples with {name} in [{x[rows].min():.3g}, "
                    f"{x[rows].max():.3g}] have the mean outcome {hit[rows].mean():.4g}, but the "
                    f"mean posterior {mean[rows].mean():.4g}"
                )
    return f"agrees with {len(p):,} outcomes"


def truth(case: Case) -> str:
    """Check that the truths agree with means over a large sample.

    For a distance d, the mean is that of d(p, C) with the reduced predictions p. The posterior must
    then determine C = E[Y given the reduced p]. For an expected score, the mean is that of the
    score of p and the outcome. Without a posterior, l1 and l2_squared of scores are simulated
    (`harness.contract.simulated_truths`).
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
        raise UndefinedError("the problem knows no truth under this notion")
    p, y = _draw(case, _size(case, SAMPLES_OF_TRUTH))
    f, outcome = reduce(p, y, case.notion)
    if case.notion == "canonical":
        outcome = one_hot(outcome, f.shape[1])
    c = _reduced_posterior(case, p)
    compared = []
    for name, stated in known.items():
        mean = sample_mean(name, f, outcome, c, case.notion)
        if mean is None or not math.isfinite(stated.value):
            continue
        value, error = mean
        allowed = ERRORS * math.hypot(error, stated.error) + ROUNDING * (1.0 + abs(stated.value))
        # The largest value in a sample is only a lower bound of a supremum.
        is_supremum = name == "linf" and case.notion != "canonical"
        gap = value - stated.value if is_supremum else abs(value - stated.value)
        if not gap <= allowed:
            least = "at least " if is_supremum else ""
            raise ContractBrokenError(
                f"truth({name!r}, {case.notion!r}) is {stated.value:.6g} ± {stated.error:.2g}; "
                f"{len(p):,} samples give {least}{value:.6g} ± {error:.2g}"
            )
        compared.append(name)
    rest = {name: known[name] for name in SIMULATED if name in known and name not in compared}
    simulated = _compare_simulated(case, rest) if rest and case.notion != "canonical" else ""
    if not compared:
        if simulated:
            return simulated
        raise UndefinedError(
            f"the truths of {', '.join(known)} cannot be checked, because the problem knows no "
            "posterior that determines them"
        )
    return (
        f"{len(compared)} of {len(known)} truths agree with {len(p):,} samples: "
        f"{', '.join(compared[:3])} ...{simulated and '; ' + simulated}"
    )


def _compare_simulated(case: Case, known: dict[str, Truth]) -> str:
    """Check truths of scores against a simulation; return which truths would be refused.

    The result is "" if the samples are too few for a simulation.
    """
    classes = max(2, ProblemSpec.of(case.problem).classes)
    n = _size(case, min(SIMULATED_SAMPLES, SIMULATED_NUMBERS // classes))
    f, outcome = reduce(*_draw(case, n, seed=1), case.notion)
    columns = [(f, outcome)] if f.ndim == 1 else list(zip(f.T, outcome.T))
    each = [simulate(x, hit) for x, hit in columns]
    found = [one for one in each if one is not None]
    if len(found) < len(each):
        return ""
    sentences = []
    for name, stated in known.items():
        # Columns share their rows, so that the error of their mean is at most the mean error.
        value, error, shortfall = np.mean([one[name] for one in found], axis=0)
        allowed = ERRORS * math.hypot(error, stated.error) + ROUNDING
        low, high = value - allowed, value + allowed + shortfall
        if not low <= stated.value <= high:
            remedy = (
                f"; if the gap varies within 1/{MOST_BINS} of the samples, give the problem a "
                "posterior"
            )
            raise ContractBrokenError(
                f"truth({name!r}, {case.notion!r}) is {stated.value:.6g} ± {stated.error:.2g}; a "
                f"simulation of {len(f):,} samples in bins gives {low:.4g} to {high:.4g}"
                f"{remedy if stated.value > high else ''}"
            )
        sentences.append(f"{name} {max(low, 0.0):.4g} to {high:.4g}")
    return (
        f"a simulation of {len(f):,} samples in bins would refuse truths outside "
        f"{', '.join(sentences)}"
    )


def _reduced_posterior(case: Case, p: np.ndarray) -> np.ndarray | None:
    """Return E[Y given the reduced p], with the shape of the reduced p.

    p are predictions before the reduction. Return None if the posterior E[Y given p] does not
    determine the result.
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


def sample_mean(name: str, f: Any, outcome: Any, c: Any, notion: str) -> tuple[float, float] | None:
    """Return the value of an estimand on a sample and its standard error.

    Return None if the estimand `name` is no mean over samples, or if `c` is needed and unknown.

    Parameters
    ----------
    name : str
        The estimand.
    f, outcome : arrays
        Reduced predictions, and outcomes as 0 and 1 of the same shape.
    c : array or None
        E[Y given f], of the same shape.
    notion : str
        The notion of the reduction.
    """
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
    """Check that the declared properties are valid, and return their names."""
    declared = requirements.problem(case.problem)
    return ", ".join(declared) or (
        "no property is declared; the notion is taken as binary, with 1,000 samples and 10 reps"
    )


ITEMS = {
    "returns samples": returns_samples,
    "small n is a prefix": prefix,
    "determinism": same_draws,
    "arrays not shared": arrays_not_shared,
    "one sample": one_sample,
    "posterior": posterior,
    "truth": truth,
    DECLARED: declarations,
    "docstring": lambda case: docstring_summary(
        case.problem, "the law of p and y, which truths are known, and the source"
    ),
}
