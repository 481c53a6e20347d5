"""The estimates of a calibration error on the page of a judgement, with their measured accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import format_percent, is_known
from harness.errors import BadInputError, UndefinedError
from harness.estimators.application import apply
from harness.estimators.binned import Binned
from harness.estimators.certified import CertifiedInterval
from harness.estimators.resampled_interval import MIN_ROWS
from harness.evaluation.rates import clopper_pearson
from harness.judging.bins import Array, Integers
from harness.judging.clusters import GroupBootstrap
from harness.judging.findings import Certified, ErrorEstimate, Interval, Judged
from harness.judging.measured import MEASURED_LEVEL, coverage_rows, nearest_rows
from harness.judging.words import as_sentence
from harness.plan.components import load

LABELS = {
    "best": "learned estimate",
    "best_fast": "learned estimate (one partition)",
    "best_lower": "cross-fitted stack (on average at most the error)",
    "variational_temperature": "cross-fitted temperature (on average at most the error)",
    "variational_isotonic": "cross-fitted isotonic (on average at most the error)",
    "variational_histogram": "cross-fitted histogram (on average at most the error)",
    "variational_vector": "cross-fitted vector scaling (on average at most the error)",
    "binned15": "15 bins of equal width, the usual ECE",
    "debiased15_l1": "15 bins of equal width, debiased",
    "binned_cube_root": "n^(1/3) bins of equal mass",
}
WITHOUT_INTERVAL = (
    "There is no interval, because the bias is unknown: bins hide part of the error and add noise."
)
GROUP_LABEL = "15 bins of equal width, less their bias"
GROUP_COVERAGE = (
    "The interval holds for the error that 15 bins can resolve, and for many groups. Its coverage "
    "was not measured at this size."
)
REPEATED = 50_000  # largest size of p for which the headline is `best`, which averages partitions
REPEATED_CLASSES = 100  # the same for the classes of canonical errors: the weights saw no more
# Largest size of p that is used; the learned estimate of vectors needs 45 times its memory.
LARGEST = 500_000
# Limits for the stack of calibrators; beyond them temperature scaling alone is used.
STACK_SCORES = 50_000  # largest number of scores, which take 1 s
STACK_ROWS = 2_000  # largest number of vectors; one map takes n^2 k steps, 7 s at n = 10,000, k = 3
STACK_NUMBERS = 200_000  # largest n k^2; another map has k^2 parameters
ESTIMANDS = ("l1", "l2_squared")
UNAVAILABLE = (UndefinedError, BadInputError, ValueError, ArithmeticError)
ASSUMPTION = (
    "The total variation of the probability of the event, as a function of the score, is at most "
    "1. This holds for every function that only rises or only falls. Rows are independent."
)


def estimates(
    data: Judged, notion: str, p: Array, y: Integers, level: float, rng: np.random.Generator
) -> tuple[list[ErrorEstimate], ErrorEstimate]:
    """Return at most four estimates of the L1 error, and the squared error of the first one.

    The first is the headline: `best`, the estimator with the smallest regret over the whole arena,
    or `best_fast` if `best` would take long. The second one is in expectation below the truth. The
    third one is `binned15`, the ECE with 15 bins that most papers report. The fourth one is the
    published estimator with the smallest regret at the nearest n and number of classes. Binned
    estimates have no interval: their bias is unknown. Estimators that do not support `notion` are
    left out.
    """
    n, k = data.n, data.k
    names = [headline_name(notion, p, k)]
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


def headline_name(notion: str, p: Array, k: int) -> str:
    """Return the estimator of the headline for predictions p of k classes: best or best_fast."""
    is_repeated = p.size <= REPEATED and notion != "classwise"
    if notion == "canonical" and k > REPEATED_CLASSES:
        is_repeated = False
    return "best" if is_repeated else "best_fast"


def group_estimates(
    data: Judged, notion: str, p: Array, y: Integers, level: float, rng: np.random.Generator
) -> tuple[list[ErrorEstimate], ErrorEstimate]:
    """Return the L1 error and the squared error by 15 bins, with intervals from halves of groups.

    The values are corrected for the bias that the halves show. Canonical errors have none, because
    bins judge scores.
    """
    assert data.row_groups is not None
    row = ErrorEstimate(
        notion, "l1", "binned15", GROUP_LABEL, Interval(None, level=level), "point", headline=True
    )
    by_estimand = {estimand: replace(row, estimand=estimand) for estimand in ESTIMANDS}
    reason = None
    if notion == "canonical":
        reason = "The estimates of this error need independent rows."
    elif data.row_groups.max() + 1 < MIN_ROWS:
        reason = f"There are fewer than {MIN_ROWS} groups of rows."
    if reason is not None:
        rows = {name: replace(one, reason=reason) for name, one in by_estimand.items()}
        return [rows["l1"]], rows["l2_squared"]
    bootstrap = GroupBootstrap(Binned(), level=level, groups=data.row_groups)
    values = apply(bootstrap, p, y, notion, rng)
    for name in ESTIMANDS:
        e = values[name]
        bias = (e.diagnostics or {}).get("bootstrap_bias", 0.0)
        low, high = (0.0, 1.0) if e.low is None or e.high is None else (e.low, e.high)
        value = float(np.clip(e.value - bias, low, high))
        interval = Interval(value, e.low, e.high, level)
        one = by_estimand[name]
        by_estimand[name] = replace(one, interval=interval, coverage_note=GROUP_COVERAGE)
    return [by_estimand["l1"]], by_estimand["l2_squared"]


def certify(
    notion: str, p: Array, y: Integers, level: float, rng: np.random.Generator
) -> Certified:
    """Return the certified interval of the L1 error of scores p (n,) with events y (n,).

    For class-wise calibration, p and y have shape (n, k).
    """
    try:
        e = CertifiedInterval(level=level)(p, y, rng)["l1"]
    except UNAVAILABLE as error:
        nothing = Interval(None, level=level)
        return Certified(notion, "l1", nothing, ASSUMPTION, as_sentence(error))
    return Certified(notion, "l1", Interval(e.value, e.low, e.high, level), ASSUMPTION)


def _best_published(notion: str, n: int, k: int, names: list[str]) -> list[str]:
    """Return the published estimator with the smallest regret that is not in `names`, as a list.

    The list is empty if there is none.
    """
    rows = nearest_rows("estimators", n, k, notion=notion, estimand="l1")
    for name in rows[rows["regret"].notna()]["estimator"] if len(rows) else ():
        if name in LABELS and name not in names and not name.startswith("best"):
            return [name]
    return []


def _estimate(
    name: str, notion: str, p: Array, y: Integers, level: float, rng: np.random.Generator
) -> dict[str, ErrorEstimate]:
    """Apply one estimator; return {estimand: estimate} for the L1 and the squared error.

    If it cannot be applied, the estimates hold the reason.
    """
    is_learned, is_variational = name.startswith("best"), name.startswith("variational")
    kind = "lower" if name == "best_lower" or is_variational else "point"
    note = ""
    if p.size > LARGEST and is_learned:
        part = np.sort(rng.choice(len(p), max(1, LARGEST // (p.size // len(p))), replace=False))
        note = f"Computed on {len(part):,} rows, drawn at random."
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
    """Add the regret and the coverage that were measured at the (n, k) nearest to n and k."""
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
    """Return the row with the lowest measured coverage, and a sentence on it.

    `rows` has one row per kind of predictions. The first result is None if nothing was measured.
    """
    if abs(level - MEASURED_LEVEL) > 1e-9:
        return None, f"Coverage was only measured for {format_percent(MEASURED_LEVEL)} intervals."
    if rows.empty:
        return None, "Coverage was not measured at this size."
    lowest = rows.loc[(rows["covered"] / rows["draws"]).idxmin()]
    errors = pd.to_numeric(rows["kind"].str.removeprefix("l1_"), errors="coerce").fillna(0.0)
    return lowest, (
        f"This is the lowest coverage among {len(rows)} kinds of predictions with errors from 0 "
        f"to {errors.max():g}, each drawn {lowest['draws']} times with n = {lowest['n']:,} and "
        f"k = {lowest['k']}."
    )


def share(count: int, trials: int) -> Interval:
    """Return count / trials with its exact (Clopper-Pearson) 95 % interval.

    Examples
    --------
    >>> interval = share(19, 20)
    >>> interval.value, round(interval.low, 3), round(interval.high, 3)
    (0.95, 0.751, 0.999)
    """
    return Interval(count / trials, *clopper_pearson(count, trials, 0.95), 0.95)
