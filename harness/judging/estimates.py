"""The estimates of a calibration error that are shown, with what was measured about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import format_percent, is_known
from harness.errors import BadInputError, UndefinedError
from harness.estimators.application import apply
from harness.estimators.certified import CertifiedInterval
from harness.evaluation.rates import clopper_pearson
from harness.judging.bins import Array, Integers
from harness.judging.findings import Certified, ErrorEstimate, Interval, Judged
from harness.judging.measured import MEASURED_LEVEL, coverage_rows, nearest_rows
from harness.judging.words import as_sentence
from harness.plan.components import load

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
WITHOUT_INTERVAL = (
    "No interval: bins hide part of the error and add their own noise. No interval around this "
    "number would hold the error."
)
REPEATED = 50_000  # most numbers in p for which the learned estimate averages four partitions
LARGEST = (
    500_000  # most numbers in p that are used: the learned estimate needs 45 times their memory
)
STACK_SCORES = 50_000  # most scores for the stack of calibrators, 1 s; with more, temperature alone
STACK_ROWS = 2_000  # most vectors for it: one map takes n^2 k steps, 7 s at n = 10,000, k = 3
STACK_NUMBERS = 200_000  # most n k^2 for it: another map has k^2 parameters
ESTIMANDS = ("l1", "l2_squared")
UNAVAILABLE = (UndefinedError, BadInputError, ValueError, ArithmeticError)
ASSUMPTION = (
    "The probability of the event, as a function of the score, goes up and down by no more than 1 "
    "in all (total variation at most 1): every function that only rises does, and so does every "
    "one that only falls. Rows are independent."
)


def estimates(
    data: Judged, notion: str, p: Array, y: Integers, level: float, rng: np.random.Generator
) -> tuple[list[ErrorEstimate], ErrorEstimate]:
    """Return at most four estimates of the L1 error, and the headline's of the squared error.

    The headline comes first: `best`, the estimator of least regret over the whole arena, or
    `best_fast` where four partitions take long. Then follow a lower bound in expectation, the plain
    15 bins of the papers, and the published estimator of least regret at the nearest n and k.
    Binned estimates have no interval: they are biased, and their bias is unknown.
    """
    n, k = data.n, data.k
    names = ["best" if p.size <= REPEATED and notion != "classwise" else "best_fast"]
    if notion != "classwise":
        is_small = n <= STACK_SCORES
        if p.ndim == 2:
            is_small = n <= STACK_ROWS and n * k**2 <= STACK_NUMBERS
        names.append("best_lower" if is_small else "variational_temperature")
    if notion != "canonical":
        names.append("binned15")
    names += _best_published(notion, n, k, names)
    by_name = [
        _estimate(name, notion, p, y, level, stream)
        for name, stream in zip(names, rng.spawn(len(names)))
    ]
    rows = [_with_measurements(by_estimand["l1"], n, k) for by_estimand in by_name]
    rows[0] = replace(rows[0], headline=True)
    return rows, by_name[0]["l2_squared"]


def certify(
    notion: str, p: Array, y: Integers, level: float, rng: np.random.Generator
) -> Certified:
    """Return the certified interval of the L1 error of scores p (n,), or class-wise (n, k)."""
    try:
        e = CertifiedInterval(level=level)(p, y, rng)["l1"]
    except UNAVAILABLE as error:
        nothing = Interval(None, level=level)
        return Certified(notion, "l1", nothing, ASSUMPTION, as_sentence(error))
    return Certified(notion, "l1", Interval(e.value, e.low, e.high, level), ASSUMPTION)


def _best_published(notion: str, n: int, k: int, names: list[str]) -> list[str]:
    """Name of the published estimator of least regret that is not yet shown; at most one."""
    rows = nearest_rows("estimators", n, k, notion=notion, estimand="l1")
    for name in rows[rows["regret"].notna()]["estimator"] if len(rows) else ():
        if name in LABELS and name not in names and not name.startswith("best"):
            return [name]
    return []


def _estimate(
    name: str, notion: str, p: Array, y: Integers, level: float, rng: np.random.Generator
) -> dict[str, ErrorEstimate]:
    """Apply one estimator; return its L1 and squared errors, or the reason why it has none."""
    is_learned, is_variational = name.startswith("best"), name.startswith("variational")
    kind = "lower" if name == "best_lower" or is_variational else "point"
    note = ""
    if p.size > LARGEST and is_learned:
        part = np.sort(rng.choice(len(p), max(1, LARGEST // (p.size // len(p))), replace=False))
        note = f"From a random part of {len(part):,} rows."
        p, y = p[part], y[part]
    nothing = Interval(None, level=level)
    row = ErrorEstimate(notion, "l1", name, LABELS[name], nothing, kind, coverage_note=note)
    try:
        options = {"level": level} if is_learned or is_variational else {}
        values = apply(load("estimator", name, options), p, y, notion, rng)
    except UNAVAILABLE as error:
        reason = as_sentence(error)
        return {estimand: replace(row, estimand=estimand, reason=reason) for estimand in ESTIMANDS}
    return {
        estimand: replace(row, estimand=estimand, interval=_interval(values[estimand], kind, level))
        for estimand in ESTIMANDS
        if estimand in values
    }


def _interval(e: Any, kind: str, level: float) -> Interval:
    low = e.low if e.low is None or abs(e.low) >= 1e-12 else 0.0
    value = max(float(e.value), 0.0)
    if kind == "lower" and low is not None:
        value = max(value, float(low))
    return Interval(value, low, e.high, level)


def _with_measurements(row: ErrorEstimate, n: int, k: int) -> ErrorEstimate:
    """Add the regret at the nearest n and k, and the coverage measured at this size."""
    if row.reason is not None:
        return row
    regrets = nearest_rows(
        "estimators", n, k, estimator=row.estimator, notion=row.notion, estimand=row.estimand
    )["regret"]
    if len(regrets) and is_known(float(regrets.iloc[0])):
        row = replace(row, regret=float(regrets.iloc[0]))
    interval, note = row.interval, WITHOUT_INTERVAL
    if interval.low is not None or interval.high is not None:
        quantity = f"{row.notion}.{row.estimand}.{row.estimator}"
        lowest, note = _lowest_coverage(coverage_rows(quantity, n, k), interval.level)
        if lowest is not None:
            covered, draws = round(lowest["covered"]), int(lowest["draws"])
            row = replace(
                row,
                coverage=share(covered, draws),
                measured_at=(int(lowest["n"]), int(lowest["k"])),
            )
    return replace(row, coverage_note=f"{row.coverage_note} {note}".strip())


def _lowest_coverage(rows: pd.DataFrame, level: float) -> tuple[pd.Series | None, str]:
    """Return the row of lowest coverage among the kinds of predictions, and a sentence on it."""
    if abs(level - MEASURED_LEVEL) > 1e-9:
        return None, f"Coverage was only measured for {format_percent(MEASURED_LEVEL)} intervals."
    if rows.empty:
        return None, "Coverage was not measured at this size."
    lowest = rows.loc[(rows["covered"] / rows["draws"]).idxmin()]
    errors = pd.to_numeric(rows["kind"].str.removeprefix("l1_"), errors="coerce").fillna(0.0)
    return lowest, (
        f"The lowest of {len(rows)} kinds of predictions, from calibrated to an error of "
        f"{errors.max():g}, {lowest['draws']} draws each, n = {lowest['n']:,}, k = {lowest['k']}."
    )


def share(count: int, trials: int) -> Interval:
    """Return a share with its exact (Clopper-Pearson) 95 % interval.

    Examples
    --------
    >>> interval = share(19, 20)
    >>> interval.value, round(interval.low, 3), round(interval.high, 3)
    (0.95, 0.751, 0.999)
    """
    return Interval(count / trials, *clopper_pearson(count, trials, 0.95), 0.95)
