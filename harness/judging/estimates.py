"""Which estimates of a calibration error are shown at an n, a k and a notion, and what the arena measured of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from harness.common.wording import format_percent
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import apply
from harness.estimators.certified import CertifiedInterval
from harness.judging.findings import Certified, ErrorEstimate, Interval, Judged
from harness.judging.measured import (
    MEASURED_LEVEL,
    Coverage,
    coverage_of,
    estimator_of,
    estimators_of,
)
from harness.plan.components import load

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
WITHOUT_INTERVAL = "No interval: bins hide part of the error and add their own noise, so that no interval around this number holds the error."
REPEATED = 50_000  # numbers in p up to which the learned estimate is the mean of four partitions
LARGEST = 500_000  # numbers in p up to which all rows are used: the learned estimate needs 45 times the memory of p
STACK_SCORES = (
    50_000  # scores up to which the stack of calibrators is fitted, 1 s; above, temperature alone
)
STACK_ROWS = 2_000  # vectors up to which it is fitted: one of its maps takes n^2 k steps, 7 s at n = 10,000 and k = 3
STACK_NUMBERS = 200_000  # n k^2 up to which it is fitted to vectors: another map has k^2 parameters
ESTIMANDS = ("l1", "l2_squared")
ASSUMPTION = (
    "The probability of the event, as a function of the score, goes up and down by no more than 1 in all (total variation at "
    "most 1): every function that only rises does, and so does every one that only falls. Rows are independent."
)


def estimates(
    data: Judged,
    notion: str,
    p: Array,
    y: NDArray[np.int64],
    level: float,
    rng: np.random.Generator,
) -> tuple[list[ErrorEstimate], ErrorEstimate]:
    """Return at most four estimates of the L1 error of a notion, the headline first, and the headline's of the squared error.

    The headline is `best`, the estimate of least regret in the arena over all, or `best_fast` where four partitions take long.
    It is followed by a lower bound in expectation, by the plain 15 bins of the papers, and by the published estimator of least
    regret at the nearest n and k. Binned estimates have no interval: they are biased, and their bias is not known.
    """
    cost = data.n * (data.k if p.ndim == 2 else 1)
    if p.ndim == 1:
        stacked = data.n <= STACK_SCORES
    else:
        stacked = data.n <= STACK_ROWS and data.n * data.k**2 <= STACK_NUMBERS
    names = ["best" if cost <= REPEATED and notion != "classwise" else "best_fast"]
    if notion != "classwise":
        names.append("best_lower" if stacked else "variational_temperature")
    if notion != "canonical":
        names.append("binned15")
    names += _published(estimators_of(notion, "l1", data.n, data.k), names)
    stream = dict(zip(names, rng.spawn(len(names))))
    rows: list[ErrorEstimate] = []
    for name in names:
        answers = _estimate(name, notion, p, y, level, stream[name])
        rows.append(_with_measured(answers["l1"], data))
        if name == names[0]:
            squared = answers["l2_squared"]
    return [replace(rows[0], headline=True), *rows[1:]], squared


def certified(
    notion: str, p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator
) -> Certified:
    """The interval of `certified_interval` with its assumption in words, of scores p (n,)."""
    try:
        e = CertifiedInterval(level=level)(p, y, rng)["l1"]
    except (UndefinedError, BadInputError, ValueError, ArithmeticError) as error:
        return Certified(
            notion, "l1", Interval(None, None, None, level), ASSUMPTION, reason=_reason(error)
        )
    return Certified(notion, "l1", Interval(e.value, e.low, e.high, level), ASSUMPTION)


def _published(rows: list[dict[str, Any]], taken: list[str]) -> list[str]:
    """The published estimator of least regret there that is not yet among the names."""
    others = [
        row
        for row in rows
        if not row["estimator"].startswith(("best", "certified")) and row["regret"] is not None
    ]
    named = [
        row["estimator"]
        for row in others
        if row["estimator"] in LABELS and row["estimator"] not in taken
    ]
    return named[:1]


def _estimate(
    name: str, notion: str, p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator
) -> dict[str, ErrorEstimate]:
    """Return one estimator's answers for the L1 and the squared error; where there is none, the reason."""
    label = LABELS[name]
    kind = "lower" if name == "best_lower" or name.startswith("variational") else "point"
    note = ""
    if p.size > LARGEST and name.startswith("best"):
        part = np.sort(rng.choice(len(p), max(1, LARGEST // (p.size // len(p))), replace=False))
        note = f"Of a random part of {len(part):,} rows."
        p, y = p[part], y[part]
    try:
        answers = _answers(name, notion, p, y, level, rng)
    except (UndefinedError, BadInputError, ValueError, ArithmeticError) as error:
        nothing = ErrorEstimate(
            notion,
            "l1",
            name,
            label,
            Interval(None, None, None, level),
            kind,
            coverage_note=note,
            reason=_reason(error),
        )
        return {estimand: replace(nothing, estimand=estimand) for estimand in ESTIMANDS}
    return {
        estimand: ErrorEstimate(
            notion,
            estimand,
            name,
            label,
            _interval(answers[estimand], kind, level),
            kind,
            coverage_note=note,
        )
        for estimand in ESTIMANDS
        if estimand in answers
    }


def _interval(e: Any, kind: str, level: float) -> Interval:
    low = None if e.low is None else 0.0 if abs(e.low) < 1e-12 else float(e.low)
    value = max(float(e.value), 0.0)
    if kind == "lower" and low is not None:
        value = max(value, low)
    return Interval(value, low, None if e.high is None else float(e.high), level)


def _answers(
    name: str, notion: str, p: Array, y: NDArray[np.int64], level: float, rng: np.random.Generator
) -> Any:
    has_level = name.startswith(("best", "variational"))
    estimator = (
        load("estimator", name, {"level": level}) if has_level else load("estimator", name, {})
    )
    return apply(estimator, p, y, notion, rng)


def _with_measured(made: ErrorEstimate, data: Judged) -> ErrorEstimate:
    """Add the regret at the nearest n and k, and the coverage that was measured at this size."""
    if made.reason is not None:
        return made
    row = estimator_of(made.estimator, made.notion, made.estimand, data.n, data.k)
    regret = None if row is None else row["regret"]
    if made.interval.low is None and made.interval.high is None:
        return replace(
            made, coverage_note=f"{made.coverage_note} {WITHOUT_INTERVAL}".strip(), regret=regret
        )
    quantity = f"{made.notion}.{made.estimand}.{made.estimator}"
    least, note = measured_coverage(quantity, data.n, data.k, made.interval.level)
    return replace(
        made,
        coverage=None if least is None else share(round(least.covered), least.draws),
        coverage_note=f"{made.coverage_note} {note}".strip(),
        regret=regret,
        measured_at=None if least is None else (least.n, least.k),
    )


def measured_coverage(quantity: str, n: int, k: int, level: float) -> tuple[Coverage | None, str]:
    """Return the lowest coverage of an interval over the kinds of predictions measured at this size, and a sentence on it."""
    if abs(level - MEASURED_LEVEL) > 1e-9:
        return None, f"Coverage was measured of {format_percent(MEASURED_LEVEL)} intervals only."
    rows = coverage_of(quantity, n, k)
    if not rows:
        return None, "Coverage was not measured at this size."
    least = min(rows, key=lambda row: row.covered / row.draws)
    return least, (
        f"The lowest of {len(rows)} kinds of predictions, from calibrated to an error of {max(row.error for row in rows):g}, "
        f"{least.draws} draws each, n = {least.n:,}, k = {least.k}."
    )


def share(count: int, trials: int) -> Interval:
    """A share with its exact (Clopper-Pearson) 95 % interval.

    Examples
    --------
    >>> found = share(19, 20)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.95, 0.751, 0.999)
    """
    low = 0.0 if count == 0 else float(beta.ppf(0.025, count, trials - count + 1))
    high = 1.0 if count == trials else float(beta.ppf(0.975, count + 1, trials - count))
    return Interval(count / trials, low, high, 0.95)


def _reason(error: Exception) -> str:
    text = str(error).strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
