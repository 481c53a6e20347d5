"""Tables that compare confidence intervals (coverage, width) and tests (rejection rates).

`families` is a mapping {family: [ids of problems]}. Problems that it does not name belong to the
family "other".

An estimate has an interval if it has a `level` and at least one of `low` and `high`. It is
evaluated only if the truth is known. The interval covers if low <= truth <= high, up to the error
of the truth. Cells without an interval (failed, skipped, undefined, or a value alone) do not count
as misses. Their number is in the column `without`.

A test is an estimate of `p_value`. A problem is calibrated if the true value of every recorded
calibration error is 0, and miscalibrated if one of them is not 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from harness.evaluation import arena
from harness.evaluation.summary import covers
from harness.math import estimands, rates
from harness.records.schema import has_number

Families: TypeAlias = Mapping[str, Sequence[str]]
SETTING = ["notion", "n", "estimand"]
LEVEL = 0.05  # significance level of a test
# Smallest relative width that enters a geometric mean. Without it an interval that was clipped to
# the single point 0 would make the mean 0.
LEAST_WIDTH = 0.1


def intervals(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Return the estimates whose interval can be compared with a known truth, one row each.

    Columns that are added to those of `records`:

    family
        Family of the problem.
    covered
        True if the interval contains the truth.
    sides
        "both", "lower" or "upper": the ends that the interval has.
    relative
        Width / max(truth, floor), where floor is `arena.floors`. A one-sided bound has its
        distance from the truth in place of the width.
    """
    has_bound = records["low"].notna() | records["high"].notna()
    known = records["level"].notna() & records["truth"].notna()
    rows = records[has_number(records) & has_bound & known]
    low, high, truth = rows["low"], rows["high"], rows["truth"]
    sides = np.where(low.isna(), "upper", np.where(high.isna(), "lower", "both"))
    alone = (low.fillna(high) - truth).abs()
    unit = np.maximum(truth, arena.floors(rows))
    return rows.assign(
        family=_family(rows["problem"], families),
        covered=covers(low, high, truth, rows["truth_error"]) == 1.0,
        sides=sides,
        relative=(high - low).where(sides == "both", alone) / unit,
    )


def _family(problems: pd.Series, families: Families) -> pd.Series:
    named = problems.astype(object).map(arena.map_families(families))
    return named.astype(object).fillna(arena.OTHER)


def summary(judged: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Summarise the rows of `intervals` by the columns `by`.

    Returns
    -------
    DataFrame
        One row per value of `by`, with the further columns

        level, sides
            Nominal level, and the ends that the intervals have.
        samples, coverage
            Number of intervals over problems, n and replications, and the share that covers.
        least, passes
            The smallest coverage that is accepted, level - 3 sqrt(level (1 - level) / samples), and
            True if the coverage reaches it.
        relative
            Geometric mean over the problems of mean width / max(truth, floor).
    """
    grouped = judged.groupby(list(by), sort=False, observed=True)
    table = grouped.agg(
        level=("level", "first"), sides=("sides", "first"), samples=("covered", "size"),
        coverage=("covered", "mean"),
    )  # fmt: skip
    table["least"] = rates.least_coverage(table["level"], table["samples"])
    table["passes"] = table["coverage"] >= table["least"]
    by_problem = judged.groupby([*by, "problem"], observed=True)["relative"].mean()
    logs = np.log(by_problem.clip(lower=LEAST_WIDTH))
    table["relative"] = np.exp(logs.groupby(level=list(by), observed=True).mean())
    return table.reset_index()


def coverage_table(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Compute coverage and width of every interval method.

    Parameters
    ----------
    records : DataFrame
        Records as `harness.load_records` returns them.
    families : mapping
        {family: [ids of problems]}.

    Returns
    -------
    DataFrame
        One row per notion, n, estimand and estimator. In each setting the methods that pass come
        first, sorted by width. Further columns:

        level, sides
            Nominal level, and the ends that the intervals have.
        problems, samples
            Number of problems and of intervals. Rows with different problems are not comparable.
        coverage, coverage_low, coverage_high
            Share of intervals that cover, with its 95 % Wilson interval.
        least, passes
            The smallest coverage that is accepted (level - 3 standard errors), and True if the
            coverage reaches it.
        width
            Geometric mean over the problems of mean width / max(truth, floor).
        worst_family, worst_coverage
            The family with the lowest coverage, and this coverage.
        fails
            The families whose coverage is more than 3 standard errors below the level.
        cpu_seconds
            Mean CPU time of a cell.
        without
            Number of cells that gave no interval.
        coverage_<family>
            Coverage on each family.
    """
    judged = intervals(records, families)
    by = [*SETTING, "estimator"]
    table = summary(judged, by).rename(columns={"relative": "width"}).set_index(by)
    grouped = judged.groupby(by, sort=False, observed=True)
    table["problems"] = grouped["problem"].nunique()
    hits = grouped["covered"].sum()
    table["coverage_low"], table["coverage_high"] = rates.wilson(hits, table["samples"])

    of_family = summary(judged, [*by, "family"]).pivot(index=by, columns="family")
    names = _in_order(judged["family"], families)
    coverage, passes = of_family["coverage"][names], of_family["passes"][names]
    table["worst_family"], table["worst_coverage"] = coverage.idxmin(axis=1), coverage.min(axis=1)
    table["fails"] = passes.eq(False).apply(lambda row: ", ".join(row.index[row]), axis=1)

    # Cells of each estimator on the problems of a setting whose truth is known.
    cells = records.drop_duplicates("key")[["problem", "notion", "n", "estimator", "cpu_seconds"]]
    cells = cells.merge(judged[[*SETTING, "problem"]].drop_duplicates())
    costs = cells.groupby(by, observed=True)["cpu_seconds"].agg(["mean", "size"])
    table["cpu_seconds"], table["without"] = costs["mean"], costs["size"] - table["samples"]
    columns = [
        "level", "sides", "problems", "samples", "coverage", "coverage_low", "coverage_high",
        "least", "passes", "width", "worst_family", "worst_coverage", "fails", "cpu_seconds",
        "without",
    ]  # fmt: skip
    table = table[columns].join(coverage.add_prefix("coverage_")).reset_index()
    return table.sort_values(
        [*SETTING, "passes", "width"], ascending=[True, True, True, False, True], ignore_index=True
    )


def _in_order(present: pd.Series, families: Families) -> list[str]:
    """Return the families that occur in `present`, in the order of `families`, then the others."""
    known = [*families, *sorted(set(present) - set(families))]
    return [name for name in known if name in set(present)]


def rejections(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Return the p-values in the records, one row each.

    Columns that are added: `family`; `rejected`, True if p_value <= 0.05; and `calibrated`, None
    if no truth of the problem is known.
    """
    tests = records[has_number(records) & records["estimand"].eq("p_value")]
    names = [name for name in records["estimand"].dropna().unique() if estimands.is_error(name)]
    known = records[records["truth"].notna() & records["estimand"].isin(names)]
    largest = known.groupby(["problem", "notion"], observed=True)["truth"].max()
    calibrated = largest.le(1e-12).to_dict()
    of_problem = [calibrated.get(key) for key in zip(tests["problem"], tests["notion"])]
    return tests.assign(
        family=_family(tests["problem"], families),
        rejected=tests["value"].le(LEVEL + 1e-12),
        calibrated=pd.Series(of_problem, tests.index, dtype=object),
    )


def power_table(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Compute size and power of every test at level 0.05.

    Parameters
    ----------
    records : DataFrame
        Records with estimates of `p_value`, and of a calibration error whose truth tells which
        problems are calibrated.
    families : mapping
        {family: [ids of problems]}.

    Returns
    -------
    DataFrame
        One row per notion, n and estimator, with the further columns

        size, size_low, size_high, size_samples
            Share of rejections on calibrated problems, its 95 % Wilson interval, and the number of
            tests behind it.
        holds
            True if the size is at most 0.05 + 3 standard errors, None without tests.
        power, power_low, power_high, power_samples
            The same four numbers on miscalibrated problems.
        worst_family, worst_power
            The family with the lowest power, and this power.
        cpu_seconds
            Mean CPU time of a cell.
        without
            Number of cells that gave no p-value.
        power_<family>
            Power on each family.
    """
    by = ["notion", "n", "estimator"]
    tests = rejections(records, families)
    index = pd.MultiIndex.from_frame(tests[by].drop_duplicates())
    table = pd.DataFrame(index=index)
    for name, calibrated in (("size", True), ("power", False)):
        part = tests[tests["calibrated"].eq(calibrated)].groupby(by, observed=True)["rejected"]
        counts = part.agg(["sum", "size"]).reindex(index, fill_value=0)
        samples = counts["size"].where(counts["size"] > 0)
        table[name] = counts["sum"] / samples
        table[f"{name}_low"], table[f"{name}_high"] = rates.wilson(counts["sum"], samples)
        table[f"{name}_samples"] = counts["size"]
    null = table["size_samples"]
    most = LEVEL + 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / null.clip(lower=1))
    holds = (table["size"] <= most).astype(object).where(null > 0, None)
    table.insert(list(table).index("power"), "holds", holds)

    others = tests[tests["calibrated"].eq(False)]
    rejected = others.groupby([*by, "family"], observed=True)["rejected"].mean().unstack("family")
    power = rejected.reindex(index, columns=_in_order(others["family"], families))
    some = power.dropna(how="all")
    table["worst_family"], table["worst_power"] = some.idxmin(axis=1), some.min(axis=1)
    cells = records.drop_duplicates("key").groupby(by, observed=True)["cpu_seconds"]
    table["cpu_seconds"] = cells.mean()
    table["without"] = cells.size() - tests.groupby(by, observed=True).size()
    return table.join(power.add_prefix("power_")).reset_index()
