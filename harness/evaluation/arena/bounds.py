"""Bounds and confidence intervals in the arena: how often they are right, and how close."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation.arena.resampling import Floats
from harness.evaluation.arena.rules import BOUND_KINDS, is_anchor, is_bound

ROW = ["notion", "estimand", "n", "estimator"]
LEAST_VALID = 0.9  # share of settings in which a usable bound is right
LEAST_COVERAGE = 0.9  # coverage that an interval of level 95 % should reach on every problem
SHARE = 0.93  # share of errors that the narrowest interval of fixed width contains
BOUND_COLUMNS = [*ROW, "kind", "settings", "valid", "coverage", "gap", "cpu_seconds"]
INTERVAL_COLUMNS = [
    *ROW, "families", "problems", "coverage", "lowest", "lowest_family", "share",
    "coverage_calibrated", "width", "relative_width", "cpu_seconds",
]  # fmt: skip


def bounds(settings: pd.DataFrame) -> pd.DataFrame:
    """Compare lower bounds, upper bounds and certified intervals with the truth.

    Settings whose truth is 0 do not count: every lower bound of 0 is exact there.

    Returns
    -------
    DataFrame
        One row per notion, estimand, n and estimator. Bounds that are right in 90 % of the settings
        come first, and within each kind the closest one.

        kind
            lower, upper or interval. Estimators such as `variational_*`, whose value is a lower
            bound in expectation, are of the kind lower.
        settings
            Number of settings.
        valid
            Share of settings in which the mean value lies on the right side of the truth, up to two
            Monte Carlo errors. For intervals: the share in which at least 90 % contain the truth.
        coverage
            Share of samples in which the bound or interval holds, as a mean over families.
        gap
            Median over settings of the distance of the mean value from the truth. For intervals:
            the median of the mean width.
        cpu_seconds
            Geometric mean of the CPU seconds of an estimate.
    """
    apart = settings["kind"].isin(BOUND_KINDS) | settings["estimator"].map(is_bound).astype(bool)
    rows = settings[apart & settings["reps"].gt(0) & _has_positive_truth(settings)]
    by_kind = rows["kind"].where(rows["kind"].isin(BOUND_KINDS), "lower")
    rows = rows.assign(kind=by_kind)
    error = rows["sd"].fillna(0.0) / np.sqrt(rows["reps"])
    lower, interval = rows["kind"].eq("lower"), rows["kind"].eq("interval")
    sign = np.where(lower, 1.0, -1.0)
    beyond = sign * rows["bias"] > 2.0 * error + 1e-12
    holds = rows["over"].where(~lower, 1.0 - rows["over"])
    rows = rows.assign(
        valid=np.where(interval, rows["coverage"].ge(LEAST_COVERAGE), ~beyond),
        coverage=rows["coverage"].fillna(holds),
        gap=np.where(interval, rows["width"], rows["bias"].abs()),
        cpu_seconds=np.log(rows["cpu_seconds"].clip(lower=1e-12)),
    )
    grouped = rows.groupby([*ROW, "kind"])
    table = grouped.agg(
        settings=("problem", "size"), valid=("valid", "mean"), gap=("gap", "median"),
        cpu_seconds=("cpu_seconds", "mean"),
    )  # fmt: skip
    by_family = rows.groupby([*ROW, "kind", "family"])["coverage"].mean()
    table["coverage"] = by_family.groupby(level=[*ROW, "kind"]).mean()
    table["cpu_seconds"] = np.exp(table["cpu_seconds"])
    table = table.reset_index().assign(invalid=lambda rows: rows["valid"].lt(LEAST_VALID))
    order = [*ROW[:3], "invalid", "kind", "gap"]
    return table.sort_values(order, ignore_index=True)[BOUND_COLUMNS]


def interval_table(settings: pd.DataFrame) -> pd.DataFrame:
    """Return coverage and width of the intervals of point estimators.

    Returns
    -------
    DataFrame
        One row per notion, estimand, n and estimator, over settings whose truth is above 0:

        families, problems
            Number of families and of problems.
        coverage, lowest, lowest_family
            Coverage as a mean over families, the lowest coverage of a family, and its name.
        share
            Share of problems with a coverage of at least 90 %.
        coverage_calibrated
            Mean coverage over the problems whose truth is 0; NaN if there are none.
        width
            Mean width, first over the problems of a family, then over families.
        relative_width
            `width` divided by the width of the narrowest interval [value - a, value + b] that
            contains the truth in 93 % of the samples. a and b are the same for all problems, and
            all families have the same weight.
        cpu_seconds
            Geometric mean of the CPU seconds of an estimate.
    """
    has_interval = settings["width"].notna() & settings["coverage"].notna()
    apart = settings["kind"].isin(BOUND_KINDS) | settings["estimator"].map(
        lambda name: is_bound(name) or is_anchor(name)
    ).astype(bool)
    rows = settings[has_interval & ~apart]
    tables = [
        {**dict(zip(ROW, key)), **_intervals(part)} for key, part in rows.groupby(ROW, sort=True)
        if _has_positive_truth(part).any()
    ]  # fmt: skip
    return pd.DataFrame(tables, columns=INTERVAL_COLUMNS)


def _has_positive_truth(settings: pd.DataFrame) -> pd.Series:
    return settings["truth"].notna() & ~settings["calibrated"]


def _intervals(part: pd.DataFrame) -> dict[str, Any]:
    """Return the entries of a row of `interval_table` from the settings of one estimator."""
    rows = part[_has_positive_truth(part)]
    families = rows.groupby("family")[["coverage", "width"]].mean()
    width = float(families["width"].mean())
    narrowest = narrowest_width(*weighted_errors(rows))
    seconds = np.log(part["cpu_seconds"].clip(lower=1e-12)).mean()
    return {
        "families": len(families), "problems": rows["problem"].nunique(),
        "coverage": families["coverage"].mean(), "lowest": families["coverage"].min(),
        "lowest_family": families["coverage"].idxmin(),
        "share": rows["coverage"].ge(LEAST_COVERAGE).mean(),
        "coverage_calibrated": part.loc[part["calibrated"], "coverage"].mean(), "width": width,
        "relative_width": width / narrowest if narrowest > 0.0 else math.nan,
        "cpu_seconds": float(np.exp(seconds)),
    }  # fmt: skip


def weighted_errors(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the errors of all samples of the settings, and weights, equal for all families."""
    errors = np.stack(rows["errors"].to_list())
    known = ~np.isnan(errors) & ~np.stack(rows["lost"].to_list())
    samples = pd.Series(known.sum(axis=1))
    of_family = samples.groupby(rows["family"].to_numpy()).transform("sum")
    weight = 1.0 / of_family.to_numpy(float) / rows["family"].nunique()
    return errors[known], np.repeat(weight, samples)


def narrowest_width(values: Floats, weights: Floats, share: float = SHARE) -> float:
    """Return the width of the narrowest interval that contains a share of weighted values.

    Examples
    --------
    >>> narrowest_width(np.array([0.0, 5.0, 6.0, 7.0]), np.full(4, 0.25), 0.75)
    2.0
    """
    order = np.argsort(values)
    values, total = values[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    # The interval that starts at value i ends at the first value with enough weight in between.
    ends = np.searchsorted(total, total[:-1] + share * total[-1] - 1e-12)
    inside = ends < len(total)
    return float((values[ends[inside] - 1] - values[inside]).min())
