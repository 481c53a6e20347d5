"""Every estimator on four points: computed, kept in four_points.csv, and written into docs/explanation/glossary.md.

An estimator that cannot run in this environment (another library, a file of weights) keeps the rows that four_points.csv has of
it. A number that differs by no more than rounding keeps its text, so that another processor changes nothing.
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
Row = dict[str, str]
FAMILIES = {  # by the module in which the estimator's class is defined, or by the beginning of its id
    "Scores and their parts": ("anchors", "accuracy", "auroc", "corp"),
    "Bins": (
        "binned", "bin_variants", "sweep", "debiased_interval", "normal_debiased", "scaling_binning", "tcal", "interval_ce",
        "berta2026.authors", "popordanoska2024.authors",
    ),
    "Cumulative and smoothed residuals": ("cumulative", "smooth_ece", "laplace_kernel", "kde_top_label"),
    "Kernel regression and kernel errors": ("dirichlet_kernel", "kernel_ridge", "kernel_errors", "ckce"),
    "What recalibration gains": ("variational", "stacking", "root_brier"),
    "Tuned by the calibration-estimation risk": ("tuned", "gruber2025.authors", "risk_curve"),
    "Learned": ("best",),
    "Certified bounds": ("certified",),
    "Tests": ("score_tests", "skce_block_test"),
    "Intervals and tests around another estimator": ("resampling", "subsampling", "consistency", "bootstrap"),
    "Other libraries": ("peers",),
}  # fmt: skip


def outcome(name: str) -> list[Row]:
    """The rows of one estimator on the four points: one for each estimand, or one with the reason why there is none."""
    made = harness.load_estimator(name)
    spec = EstimatorSpec.of(made)
    notion = next(n for n in ("binary", "top_label", "classwise", "canonical") if n in spec.notions)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = harness.estimate(made, P, Y, notion)
    except (BadInputError, UndefinedError) as error:
        why = str(error).removesuffix(".").partition("cannot be applied: ")[2] or str(error)
        return [
            _row(
                name,
                notion,
                reason=f"not run here: {spec.unavailable}" if spec.unavailable else why,
            )
        ]
    return [_row(name, notion, estimand, estimate) for estimand, estimate in found.items()]


def _row(
    name: str, notion: str, estimand: str = "", e: Estimate | None = None, reason: str = ""
) -> Row:
    numbers = (
        {} if e is None else {"value": e.value, "low": e.low, "high": e.high, "level": e.level}
    )
    text = {key: "" if x is None else f"{round(x, 4) + 0.0:g}" for key, x in numbers.items()}
    blank = dict.fromkeys(COLUMNS, "")
    what = {
        "estimator": name,
        "notion": notion,
        "estimand": estimand,
        "kind": e.kind if e else "",
        "reason": reason,
    }
    return {**blank, **what, **text}


def same(first: list[Row], second: list[Row]) -> bool:
    """Whether the rows of an estimator say the same, numbers within rounding."""
    return len(first) == len(second) and all(_alike(a, b) for a, b in zip(first, second))


def _alike(a: Row, b: Row) -> bool:
    def near(x: str, y: str) -> bool:
        return (
            x == y or bool(x and y) and math.isclose(float(x), float(y), rel_tol=2e-3, abs_tol=3e-4)
        )

    texts = ("estimator", "notion", "estimand", "kind", "reason")
    return all(a[key] == b[key] for key in texts) and all(
        near(a[key], b[key]) for key in ("value", "low", "high", "level")
    )


def stored() -> dict[str, list[Row]]:
    """{estimator: its rows} of four_points.csv."""
    found: dict[str, list[Row]] = {}
    if FILE.exists():
        with FILE.open(newline="") as f:
            for row in csv.DictReader(f):
                found.setdefault(row["estimator"], []).append(row)
    return found


def current(names: Iterable[str]) -> Iterator[tuple[str, list[Row]]]:
    """Rows of the estimators, those of four_points.csv where these are the same or the estimator cannot run here."""
    kept = stored()
    for name in names:
        here = EstimatorSpec.of(harness.load_estimator(name)).unavailable is None
        fresh = outcome(name) if here or name not in kept else kept[name]
        yield name, kept[name] if name in kept and same(fresh, kept[name]) else fresh


def write() -> dict[str, list[Row]]:
    """Compute what can be computed here, and write four_points.csv."""
    found = dict(current(harness.list_estimators()))
    with FILE.open("w", newline="") as f:
        out = csv.DictWriter(f, COLUMNS, lineterminator="\n")
        out.writeheader()
        for rows in found.values():
            out.writerows(rows)
    return found


def family(name: str) -> str:
    """The heading under which an estimator stands."""
    module = (
        type(harness.load_estimator(name))
        .__module__.removeprefix("harness.")
        .removeprefix("experiments.")
    )
    module = module.removeprefix("estimators.")
    return next(
        title
        for title, modules in FAMILIES.items()
        if any(f"{module}.".startswith(f"{one}.") for one in modules)
    )


def text(found: dict[str, list[Row]]) -> str:
    """The tables of all estimators, those with the same outcome in one row."""
    grouped: dict[str, dict[tuple[str, str], list[str]]] = {title: {} for title in FAMILIES}
    for name, rows in found.items():
        grouped[family(name)].setdefault((rows[0]["notion"], _said(rows)), []).append(name)
    parts = []
    for title, outcomes in grouped.items():
        rows = [
            [", ".join(f"`{name}`" for name in names), notion, said]
            for (notion, said), names in outcomes.items()
        ]
        parts.append(f"### {title}\n\n{table(['estimator', 'notion', 'on the four points'], rows)}")
    return "\n\n".join(parts)


def _said(rows: list[Row]) -> str:
    if rows[0]["reason"]:
        return f"*no number*: {rows[0]['reason']}"
    return "; ".join(f"`{row['estimand']}` {_number(row)}" for row in rows)


def _number(row: Row) -> str:
    level = f" ({100 * float(row['level']):g} %)" if row["level"] else ""
    if row["kind"] == "upper":
        return f"at most {row['high']}{level}"
    if row["kind"] == "lower":
        return f"at least {row['low']}{level}"
    between = (
        f" in [{row['low'] or '…'}, {row['high'] or '…'}]{level}"
        if row["low"] or row["high"]
        else ""
    )
    return between.removeprefix(" ") if row["kind"] == "interval" else row["value"] + between
