"""The estimates of a calibration error on the page of a judgement, with their measured accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness.calibrators import HistogramBinning, Isotonic, Temperature, VectorScaling
from harness.common.wording import format_percent, is_known, join_numbers
from harness.errors import BadInputError, UndefinedError
from harness.estimators.application import apply
from harness.estimators.base import Estimator
from harness.estimators.best import Best, BestLower
from harness.estimators.bin_variants import CubeRootBins
from harness.estimators.binned import Binned
from harness.estimators.certified import CertifiedInterval
from harness.estimators.normal_debiased import NormalDebiased
from harness.estimators.resampled_interval import MIN_ROWS
from harness.estimators.variational import Variational
from harness.judging.bins import Array, Integers
from harness.judging.clusters import GroupBootstrap
from harness.judging.findings import Certified, ErrorEstimate
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.measured import (
    FEW_QUANTITY,
    FEW_VALUES,
    FEWEST_EXPECTED,
    KINDS,
    MEASURED_LEVEL,
    beyond_sizes,
    coverage_rows,
    nearest_rows,
)
from harness.judging.words import as_sentence
from harness.math.rates import clopper_pearson

AT_MOST = "on average at most the error, may be negative"
LABELS = {
    "best": "learned estimate",
    "best_fast": "learned estimate (one partition)",
    "best_lower": f"cross-fitted stack ({AT_MOST})",
    "variational_temperature": f"cross-fitted temperature ({AT_MOST})",
    "variational_isotonic": f"cross-fitted isotonic ({AT_MOST})",
    "variational_histogram": f"cross-fitted histogram ({AT_MOST})",
    "variational_vector": f"cross-fitted vector scaling ({AT_MOST})",
    "binned15": "15 bins of equal width, the usual ECE",
    "debiased15_l1": "15 bins of equal width, debiased",
    "binned_cube_root": "n^(1/3) bins of equal mass",
}
# Equal to the estimators of these ids in conf/estimator, which the library does not read.
ESTIMATORS: dict[str, Estimator] = {
    "best": Best(),
    "best_fast": Best(repeats=1),
    "best_lower": BestLower(),
    "variational_temperature": Variational(Temperature()),
    "variational_isotonic": Variational(Isotonic()),
    "variational_histogram": Variational(HistogramBinning()),
    "variational_vector": Variational(VectorScaling()),
    "binned15": Binned(bins=15, rule="width"),
    "debiased15_l1": NormalDebiased(bins=15, rule="mass"),
    "binned_cube_root": CubeRootBins(Binned(rule="mass")),
}
WITHOUT_INTERVAL = (
    "There is no interval, because the bias is unknown: bins hide part of the error and add noise."
)
GROUP_LABEL = "15 bins of equal width, less their bias"
GROUP_COVERAGE = (
    "The interval holds for the error that 15 bins can resolve, and for many {units}. Coverage was "
    "not measured {beyond}."
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
    or `best_fast` if `best` would take long. The second one is in expectation at most the truth,
    and may be negative. The third one is `binned15`, the ECE with 15 bins that most papers report.
    The fourth one is the published estimator with the smallest regret at the nearest n and number
    of classes. Binned estimates have no interval: their bias is unknown. Estimators that do not
    support `notion` are left out.
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
    rows = [_with_measurements(by_estimand["l1"], p, n, k) for by_estimand in by_name]
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
        reason = f"There are fewer than {MIN_ROWS} {data.units}."
        if data.weighted_rows is not None and data.given >= MIN_ROWS:
            reason = f"The weights let fewer than {MIN_ROWS} {data.units} count."
    if reason is not None:
        rows = {name: replace(one, reason=reason) for name, one in by_estimand.items()}
        return [rows["l1"]], rows["l2_squared"]
    bootstrap = GroupBootstrap(Binned(), level=level, groups=data.row_groups)
    values = apply(bootstrap, p, y, notion, rng)
    beyond = "for rows in groups" if data.group_count else "for rows with weights"
    note = GROUP_COVERAGE.format(units=data.units, beyond=beyond)
    for name in ESTIMANDS:
        e = values[name]
        bias = (e.diagnostics or {}).get("bootstrap_bias", 0.0)
        low, high = (0.0, 1.0) if e.low is None or e.high is None else (e.low, e.high)
        value = float(np.clip(e.value - bias, low, high))
        interval = Interval(value, e.low, e.high, level)
        one = by_estimand[name]
        by_estimand[name] = replace(one, interval=interval, coverage_note=note, beyond=beyond)
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
        estimator: Any = ESTIMATORS[name]
        if is_learned or is_variational:
            estimator = replace(estimator, level=level)
        values = apply(estimator, p, y, notion, rng)
    except UNAVAILABLE as error:
        reason = as_sentence(error)
        return {estimand: replace(row, estimand=estimand, reason=reason) for estimand in ESTIMANDS}
    return {
        estimand: replace(row, estimand=estimand, interval=_interval(values[estimand], kind, level))
        for estimand in ESTIMANDS
        if estimand in values
    }


def _interval(e: Any, kind: str, level: float) -> Interval:
    low = e.low if e.low is None or e.low >= 1e-12 else 0.0
    # Cut at 0, the mean of a lower bound would exceed the error of calibrated predictions.
    value = float(e.value) if kind == "lower" else max(float(e.value), 0.0)
    return Interval(value, low, e.high, level)


def _with_measurements(row: ErrorEstimate, p: Array, n: int, k: int) -> ErrorEstimate:
    """Add the regret and the coverage that were measured at the (n, k) nearest to n and k.

    p are the scores (n,) or vectors (n, k) that are judged.
    """
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
        distinct = len(np.unique(p)) if p.ndim == 1 else 0
        is_few = 1 < distinct <= FEW_VALUES[1]
        if is_few:
            quantity, k = f"few_values.{row.estimand}.{row.estimator}", 2
        rows = coverage_rows(quantity, n, k)
        beyond = beyond_sizes(quantity, n, k) or _beyond_kinds(rows, interval, p)
        if is_few and (distinct < FEW_VALUES[0] or quantity != FEW_QUANTITY):
            beyond = f"for scores with only {distinct} different values"
        if beyond is not None:
            note = f"Coverage was not measured {beyond}."
            row = replace(row, beyond=beyond)
        else:
            lowest = rows.loc[(rows["covered"] / rows["draws"]).idxmin()]
            row = replace(
                row,
                coverage=share(round(lowest["covered"]), int(lowest["draws"])),
                measured_at=(int(lowest["n"]), int(lowest["k"])),
            )
            note = (
                f"This is the lowest coverage among {len(rows)} kinds of simulated {KINDS}, with "
                f"errors from 0 to {rows['truth'].max():.2g}, each drawn {lowest['draws']} times "
                f"with n = {lowest['n']:,} and k = {lowest['k']}."
                + (f" Their scores have {join_numbers(FEW_VALUES)} different values." * is_few)
            )
    return replace(row, coverage_note=f"{row.coverage_note} {note}".strip())


def _beyond_kinds(rows: pd.DataFrame, interval: Interval, p: Array) -> str | None:
    """Return how an interval or its scores p (n,) differ from those of the measured kinds.

    `rows` are the measured coverage at the nearest size. The result completes "was not measured
    ...". It is None if there is no difference. Vectors p (n, k) may have events of any number.
    """
    if abs(interval.level - MEASURED_LEVEL) > 1e-9:
        measured = format_percent(MEASURED_LEVEL)
        return f"at the {format_percent(interval.level)} level (but at {measured})"
    if ((p == 0.0) | (p == 1.0)).all():
        return "for scores of only 0 and 1"
    expected = min(float(p.sum()), float((1.0 - p).sum()))
    if p.ndim == 1 and expected < FEWEST_EXPECTED:
        name = "events" if p.mean() < 0.5 else "non-events"
        return f"with {expected:.2g} expected {name} (but with at least {FEWEST_EXPECTED})"
    largest = float(rows["truth"].max())
    if interval.low is not None and interval.low > largest:
        return f"for errors above {largest:.2g}"
    return None


def share(count: int, trials: int) -> Interval:
    """Return count / trials with its exact (Clopper-Pearson) 95 % interval.

    Examples
    --------
    >>> interval = share(19, 20)
    >>> interval.value, round(interval.low, 3), round(interval.high, 3)
    (0.95, 0.751, 0.999)
    """
    return Interval(count / trials, *clopper_pearson(count, trials, 0.95), 0.95)
