"""Apply every estimator to the same four points, for docs/explanation/glossary.md.

four_points.csv stores numbers, because all estimators together take seconds. An estimator without
rows there is run when the page is built.

python tools/docs/four_points.py      run all estimators and write four_points.csv

The rows of an estimator stay unchanged if it cannot run in this environment, for example because
its library is not installed. They also stay unchanged if the new numbers differ only by rounding.
So a run on another processor does not change the file.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from marks import table

import harness
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, EstimatorSpec

P, Y = (0.1, 0.4, 0.7, 0.8), (0, 1, 0, 1)
FILE = Path(__file__).with_name("four_points.csv")
COLUMNS = ("estimator", "notion", "estimand", "value", "low", "high", "level", "kind", "reason")
NUMBERS = ("value", "low", "high", "level")
Row = dict[str, str]
FAMILIES = {  # {heading: modules that define the estimators under this heading}
    "Scores and their parts": ("anchors", "accuracy", "auroc", "corp", "calibration_line"),
    "Bins": (
        "binned", "bin_variants", "sweep", "debiased_interval", "normal_debiased",
        "scaling_binning", "tcal", "interval_ce", "rejection_share", "simplex_ece",
        "berta2026.authors", "popordanoska2024.authors",
    ),
    "Cumulative and smoothed residuals": (
        "cumulative", "smooth_ece", "smooth_calibration", "laplace_kernel", "kde_top_label",
        "logit_smoothing", "loess_errors",
    ),
    "Kernel regression and kernel errors": (
        "dirichlet_kernel", "kernel_ridge", "kernel_errors", "ckce",
        "grouped_ckce",
    ),
    "What recalibration gains": ("variational", "stacking", "root_brier"),
    "Tuned by the calibration-estimation risk": (
        "tuned", "gruber2025.authors", "gruber2025.risk_curve",
    ),
    "Learned": ("best",),
    "Posterior of the gap": ("gap_posterior",),
    "Certified bounds": ("certified",),
    "Tests": ("score_tests", "skce_block_test", "calibration_belt", "safe_test"),
    "Intervals and tests around another estimator": (
        "resampling", "subsampling", "consistency", "bootstrap",
    ),
    "Other libraries": ("peers",),
}  # fmt: skip
OTHERS = "More estimators"  # heading of modules that no family names


def outcome(name: str) -> list[Row]:
    """Apply the estimator `name` to the four points, and return one row per estimand.

    If there is no number, return a single row with the reason.
    """
    estimator = harness.load_estimator(name)
    spec = EstimatorSpec.of(estimator)
    notion = next(n for n in ("binary", "top_label", "classwise", "canonical") if n in spec.notions)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimates = harness.estimate(estimator, P, Y, notion)
    except (BadInputError, UndefinedError) as error:
        reason = str(error).removesuffix(".").partition("cannot be applied: ")[2] or str(error)
        if spec.unavailable:
            reason = f"not run here: {spec.unavailable}"
        return [_row(name, notion, reason=reason)]
    return [_row(name, notion, estimand, estimate) for estimand, estimate in estimates.items()]


def _row(
    name: str, notion: str, estimand: str = "", e: Estimate | None = None, reason: str = ""
) -> Row:
    row = dict.fromkeys(COLUMNS, "")
    row |= {"estimator": name, "notion": notion, "estimand": estimand, "reason": reason}
    if e is not None:
        row["kind"] = e.kind
        for key in NUMBERS:
            number = getattr(e, key)
            row[key] = "" if number is None else f"{round(number, 4) + 0.0:g}"
    return row


def same(first: list[Row], second: list[Row]) -> bool:
    """Return True if two lists of rows are equal, where numbers may differ by rounding."""
    return len(first) == len(second) and all(_alike(a, b) for a, b in zip(first, second))


def _alike(a: Row, b: Row) -> bool:
    def is_near(x: str, y: str) -> bool:
        if x == y or not (x and y):
            return x == y
        return math.isclose(float(x), float(y), rel_tol=2e-3, abs_tol=3e-4)

    equal = (a[key] == b[key] for key in COLUMNS if key not in NUMBERS)
    return all(equal) and all(is_near(a[key], b[key]) for key in NUMBERS)


def stored() -> dict[str, list[Row]]:
    """Read four_points.csv and return {estimator: rows}."""
    rows: dict[str, list[Row]] = {}
    if FILE.exists():
        with FILE.open(newline="") as file:
            for row in csv.DictReader(file):
                rows.setdefault(row["estimator"], []).append(row)
    return rows


def current(names: Iterable[str]) -> Iterator[tuple[str, list[Row]]]:
    """Yield (estimator, rows) for each name, with stored rows where they are still right.

    An estimator that cannot run in this environment also keeps its stored rows.
    """
    before = stored()
    for name in names:
        can_run = EstimatorSpec.of(harness.load_estimator(name)).unavailable is None
        fresh = outcome(name) if can_run or name not in before else before[name]
        yield name, before[name] if name in before and same(fresh, before[name]) else fresh


def write() -> None:
    """Run every estimator that runs here, and write four_points.csv."""
    rows_by_name = dict(current(harness.list_estimators()))
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for rows in rows_by_name.values():
            writer.writerows(rows)


def family(name: str) -> str:
    """Return the heading under which the page lists an estimator."""
    module = type(harness.load_estimator(name)).__module__
    for prefix in ("harness.", "experiments.", "estimators."):
        module = module.removeprefix(prefix)
    titles = (
        title
        for title, modules in FAMILIES.items()
        if any(f"{module}.".startswith(f"{start}.") for start in modules)
    )
    return next(titles, OTHERS)


def tables() -> str:
    """Return one Markdown table per heading. Estimators with equal outcomes share a row."""
    before = stored()
    grouped: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name in harness.list_estimators():
        rows = before.get(name) or outcome(name)
        group = grouped.setdefault(family(name), {})
        group.setdefault((rows[0]["notion"], _outcome(rows)), []).append(name)
    parts = []
    for title in filter(grouped.get, [*FAMILIES, OTHERS]):
        outcomes = grouped[title]
        rows = [
            [", ".join(f"`{name}`" for name in names), notion, numbers]
            for (notion, numbers), names in outcomes.items()
        ]
        parts.append(f"### {title}\n\n{table(['estimator', 'notion', 'on the four points'], rows)}")
    return "\n\n".join(parts)


def _outcome(rows: list[Row]) -> str:
    if rows[0]["reason"]:
        return f"*no number*: {rows[0]['reason']}"
    return "; ".join(f"`{row['estimand']}` {_number(row)}" for row in rows)


def _number(row: Row) -> str:
    level = f" ({100 * float(row['level']):g} %)" if row["level"] else ""
    if row["kind"] == "upper":
        return f"at most {row['high']}{level}"
    if row["kind"] == "lower":
        return f"at least {row['low']}{level}"
    if not (row["low"] or row["high"]):
        return "" if row["kind"] == "interval" else row["value"]
    interval = f"in [{row['low'] or '…'}, {row['high'] or '…'}]{level}"
    return interval if row["kind"] == "interval" else f"{row['value']} {interval}"


if __name__ == "__main__":
    write()
