"""Which estimates of a calibration error are shown at an n, a k and a notion, and what the arena measured of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError, UndefinedError
from harness.judging.findings import Certified, ErrorEstimate, Interval, Judged
from harness.judging.measured import classes_of, estimator_of, estimators_of, halves_of
from harness.judging.words import percent

Array = NDArray[np.float64]

LABELS = {
    "best": "learned estimate (mean of four partitions)",
    "best_fast": "learned estimate",
    "best_lower": "cross-fitted stack: at most the error on average",
    "variational_temperature": "cross-fitted temperature: at most the error on average",
    "variational_isotonic": "cross-fitted isotonic: at most the error on average",
    "variational_histogram": "cross-fitted histogram: at most the error on average",
    "variational_vector": "cross-fitted vector scaling: at most the error on average",
    "binned15": "15 bins of equal width, as papers report it",
    "debiased15_l1": "15 bins, debiased",
    "binned_cube_root": "bins of equal mass, n^(1/3) of them",
}
BOOTSTRAPPED = ("binned15", "debiased15_l1", "binned_cube_root")  # whose intervals are from halves
REPEATED = 200_000  # numbers in p up to which the learned estimate is the mean of four partitions
LARGEST = 500_000  # numbers in p up to which all rows are used: the learned estimate needs 45 times the memory of p
LARGEST_STACK = 200_000  # n k^2 up to which the stack is fitted; above, temperature alone
HALVES, FEW_HALVES = 200, 40
CHEAP = 100_000  # numbers in p up to which intervals from 200 halves are made
MEASURED_LEVEL = 0.95  # of the intervals whose coverage was measured
FALLING = "Coverage of a binned estimate falls as n grows, as bins hide part of the error."
ASSUMPTION = (
    "The probability of the event, as a function of the score, goes up and down by no more than 1 in all (total variation at "
    "most 1): every function that only rises does, and so does every one that only falls. Rows are independent."
)


def estimates(
    data: Judged, notion: str, p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator
) -> list[ErrorEstimate]:
    """At most five estimates of the L1 error of a notion of the reduced p, y, the headline first.

    The headline is `best`, the estimate of least regret in the arena over all, or `best_fast` where four partitions take long;
    then a lower bound in expectation, the plain 15 bins of the papers, and of the published estimators that have an interval
    the one of least regret at the nearest n and k.
    """
    rows = estimators_of(notion, "l1", data.n, data.k)
    cost = data.n * (data.k if p.ndim == 2 else 1)
    stacked = data.n * (data.k**2 if p.ndim == 2 else 1) <= LARGEST_STACK
    names = ["best" if cost <= REPEATED and notion != "classwise" else "best_fast"]
    if notion != "classwise":
        names.append("best_lower" if stacked else "variational_temperature")
    if notion != "canonical":
        names.append("binned15")
    names += _published(rows, names)
    stream = dict(zip(names, rng.spawn(len(names))))
    found = []
    for name in names:
        made = _estimate(name, notion, p, y, level, stream[name])
        found.append(_with_measured(made, estimator_of(name, notion, "l1", data.n, data.k), data, notion))
    return [replace(found[0], headline=True), *found[1:]]


def certified(notion: str, p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator) -> Certified:
    """The interval of `certified_interval` with its assumption in words, of scores p (n,)."""
    from harness.estimators.certified import CertifiedInterval

    try:
        e = CertifiedInterval(level=level)(p, y, rng)["l1"]
    except (UndefinedError, BadInputError, ValueError, ArithmeticError) as error:
        return Certified(notion, "l1", Interval(None, None, None, level), ASSUMPTION, reason=_reason(error))
    return Certified(notion, "l1", Interval(e.value, e.low, e.high, level), ASSUMPTION)


def _published(rows: list[dict[str, Any]], taken: list[str]) -> list[str]:
    """The published estimator of least regret there that is not yet among the names."""
    others = [row for row in rows if not row["estimator"].startswith(("best", "certified")) and row["regret"] is not None]
    named = [row["estimator"] for row in others if row["estimator"] in LABELS and row["estimator"] not in taken]
    return named[:1]


def _estimate(name: str, notion: str, p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator) -> ErrorEstimate:
    """One estimator's answer; where there is none, the reason."""
    label = LABELS[name]
    note = ""
    if p.size > LARGEST and name.startswith("best"):
        part = np.sort(rng.choice(len(p), max(1, LARGEST // (p.size // len(p))), replace=False))
        note = f"Of a random part of {len(part):,} rows."
        p, y = p[part], y[part]
    try:
        e = _made(name, notion, p, y, level, rng)
    except (UndefinedError, BadInputError, ValueError, ArithmeticError) as error:
        nothing = Interval(None, None, None, level)
        return ErrorEstimate(notion, "l1", name, label, nothing, "point", coverage_note=note, reason=_reason(error))
    bound = name == "best_lower" or name.startswith("variational")
    low = None if e.low is None else 0.0 if abs(e.low) < 1e-12 else float(e.low)
    value = max(float(e.value), 0.0)
    if bound and low is not None:
        value = max(value, low)
    high = None if e.high is None else float(e.high)
    return ErrorEstimate(
        notion, "l1", name, label, Interval(value, low, high, level), "lower" if bound else "point", coverage_note=note
    )


def _made(name: str, notion: str, p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator) -> Any:
    import harness
    from harness.estimators import Bootstrap
    from harness.estimators.base import apply

    if name.startswith(("best", "variational")):
        estimator: Any = harness.load_estimator(name, level=level)
    else:
        estimator = harness.load_estimator(name)
        few = notion == "classwise" or p.size > CHEAP
        if p.size <= 20 * CHEAP:
            estimator = Bootstrap(estimator, resamples=FEW_HALVES if few else HALVES, level=level)
    return apply(estimator, p, y, notion, rng)["l1"]


def _with_measured(made: ErrorEstimate, row: dict[str, Any] | None, data: Judged, notion: str) -> ErrorEstimate:
    """With regret and coverage at the nearest n and k, and a word where that is far from here."""
    if made.reason is not None:
        return made
    note = [made.coverage_note] if made.coverage_note else []
    has_interval = made.interval.low is not None or made.interval.high is not None
    if not has_interval:
        note.append("No interval: too dear at this n.")
    trials, covered, at = 0, 0, None
    if notion == "classwise":
        row = classes_of(made.estimator, data.n, data.k)
    if row is not None:
        trials, covered, at = row["trials"], row["covered"], (row["n"], row["k"])
        if made.estimator in BOOTSTRAPPED and notion != "classwise":
            half = halves_of(notion, made.estimator, data.n)
            trials, covered = (half["trials"], half["covered"]) if half else (0, 0)
            at = (half["n"], row["k"]) if half else at
        if made.estimator in BOOTSTRAPPED and trials and data.n > 2 * at[0]:
            note.append(FALLING)
        if not trials and has_interval:
            note.append("Coverage was not measured here.")
        elif has_interval and abs(made.interval.level - MEASURED_LEVEL) > 1e-9:
            trials = 0
            note.append(f"Coverage was measured of {percent(MEASURED_LEVEL)} intervals only.")
        if at is not None and (data.n > 2 * at[0] or data.n < at[0] / 2 or data.k > 2 * at[1] or data.k < at[1] / 2):
            note.append(f"Measured at n = {at[0]:,}, k = {at[1]}; what is said here (n = {data.n:,}, k = {data.k}) extrapolates.")
    else:
        note.append("Coverage was not measured here.")
    return replace(
        made,
        coverage=share(covered, trials) if trials and has_interval else None,
        coverage_note=" ".join(note),
        regret=None if row is None or notion == "classwise" else row["regret"],
        measured_at=at,
    )


def share(count: int, trials: int) -> Interval:
    """A share with its exact (Clopper-Pearson) 95 % interval.

    Examples
    --------
    >>> found = share(19, 20)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.95, 0.751, 0.999)
    """
    from scipy.stats import beta

    low = 0.0 if count == 0 else float(beta.ppf(0.025, count, trials - count + 1))
    high = 1.0 if count == trials else float(beta.ppf(0.975, count + 1, trials - count))
    return Interval(count / trials, low, high, 0.95)


def _reason(error: Exception) -> str:
    text = str(error).strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
