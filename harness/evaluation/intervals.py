"""Intervals and tests compared: coverage and width, and how often a test rejects; pure functions on records.

Families are a mapping {family: [ids of problems]}; a problem in none of them is of the family "other".

What counts. An interval is any `low` or `high` at a `level`, whatever the kind of the estimate; it is judged where the truth is
known and covers where low <= truth <= high up to the error of the truth. Cells that gave none (failed, skipped, undefined, or a
value alone) are no misses: they are counted beside, in `without`. A test is an estimate of `p_value`; a problem is calibrated
where some estimator's record of a calibration error on it has the truth 0, miscalibrated where it has another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation import rates
from harness.evaluation.summary import ROUNDING
from harness.math import estimands
from harness.records.schema import has_number

Families = Mapping[str, Sequence[str]]
SETTING = ["notion", "n", "estimand"]
LEVEL = 0.05  # of a test
LEAST_WIDTH = 0.1  # relative: an interval of a point, where both ends are cut at 0, shall not decide a mean of logarithms


def floor(estimand: str, n: Any) -> Any:
    """The error below which none counts: 0.1 / n of a squared error, 0.1 / sqrt(n) of any other.

    Examples
    --------
    >>> float(floor("l1", 100)), floor("l2_squared", 100)
    (0.01, 0.001)
    """
    squared = "l2_squared" in estimand or estimand == "kl"
    return 0.1 / n if squared else 0.1 / np.sqrt(n)


def family_of(problems: pd.Series, families: Families) -> pd.Series:
    """The family of every problem; "other" of those that are in none."""
    known = {problem: family for family, of_it in families.items() for problem in of_it}
    return problems.map(lambda problem: known.get(problem, "other"))


def intervals(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """The estimates that can be judged, one row each: with `family`, `covered`, `sides` (both, lower, upper) and `relative`, the
    width over max(truth, floor); of one bound alone its distance from the truth stands for the width."""
    fine = records[has_number(records) & records["level"].notna() & records["truth"].notna()]
    fine = fine[fine["low"].notna() | fine["high"].notna()]
    low, high, error = (
        fine["low"].fillna(-np.inf),
        fine["high"].fillna(np.inf),
        fine["truth_error"].fillna(0.0) + ROUNDING,
    )
    sides = np.where(fine["low"].isna(), "upper", np.where(fine["high"].isna(), "lower", "both"))
    alone = (fine["low"].fillna(fine["high"]) - fine["truth"]).abs()
    unit = [
        max(truth, floor(name, n))
        for truth, name, n in zip(fine["truth"], fine["estimand"], fine["n"])
    ]
    return fine.assign(
        family=family_of(fine["problem"], families),
        covered=(low - error <= fine["truth"]) & (fine["truth"] <= high + error),
        sides=sides,
        relative=np.where(sides == "both", high - low, alone) / np.array(unit, float),
    )


def coverage_table(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Coverage and width of every interval method.

    Parameters
    ----------
    records : DataFrame
        As of `harness.load_records`.
    families : mapping
        {family: [ids of problems]}.

    Returns
    -------
    DataFrame
        A row per notion, n, estimand and estimator, in each setting those that pass first, the narrowest first: level, sides;
        how many problems (rows of unequal numbers are not to be compared) and samples; the share that covers, coverage, with its
        Wilson 95 % interval coverage_low, coverage_high; least, the smallest that passes (level - 3 standard errors), and passes;
        width, the geometric mean over the problems of mean width / max(truth, floor); worst_family with worst_coverage; fails,
        the families whose coverage is below their own `least`; cpu_seconds, mean of a cell; without, cells that gave no
        interval; and per family its coverage, `coverage_<family>`.
    """
    fine = intervals(records, families)
    names = [*families, *sorted(set(fine["family"]) - set(families))]
    rows = []
    for (notion, n, estimand, estimator), part in fine.groupby([*SETTING, "estimator"], sort=False):
        level, samples = part["level"].iloc[0], len(part)
        low, high = rates.wilson(part["covered"].sum(), samples)
        by = (
            part.groupby("family")["covered"]
            .agg(["mean", "size"])
            .reindex([name for name in names if name in set(part["family"])])
        )
        per_problem = part.groupby("problem")["relative"].mean().clip(lower=LEAST_WIDTH)
        fails = by.index[by["mean"] < rates.least_coverage(level, by["size"])]
        cells = _cells(records, fine, notion, n, estimand, estimator)
        least = rates.least_coverage(level, samples)
        coverage = part["covered"].mean()
        row = {
            "notion": notion, "n": n, "estimand": estimand, "estimator": estimator, "level": level,
            "sides": part["sides"].iloc[0], "problems": part["problem"].nunique(), "samples": samples,
            "coverage": coverage, "coverage_low": low, "coverage_high": high, "least": least,
            "passes": bool(coverage >= least), "width": float(np.exp(np.log(per_problem).mean())),
            "worst_family": by["mean"].idxmin(), "worst_coverage": by["mean"].min(), "fails": ", ".join(fails),
            "cpu_seconds": cells["cpu_seconds"].mean(), "without": len(cells) - samples,
        }  # fmt: skip
        rows.append(row | by["mean"].add_prefix("coverage_").to_dict())
    columns = [
        "level",
        "sides",
        "problems",
        "samples",
        "coverage",
        "coverage_low",
        "coverage_high",
        "least",
        "passes",
        "width",
    ]
    columns += ["worst_family", "worst_coverage", "fails", "cpu_seconds", "without"]
    columns += [f"coverage_{name}" for name in names if name in set(fine["family"])]
    table = pd.DataFrame(rows, columns=[*SETTING, "estimator", *columns])
    return table.sort_values(
        [*SETTING, "passes", "width"], ascending=[True, True, True, False, True], ignore_index=True
    )


def _cells(records, fine, notion, n, estimand, estimator):
    """An estimator's cells on the problems of a setting whose truth is known, one row each."""
    judged = fine[fine["notion"].eq(notion) & fine["n"].eq(n) & fine["estimand"].eq(estimand)][
        "problem"
    ].unique()
    of_it = records["estimator"].eq(estimator) & records["notion"].eq(notion) & records["n"].eq(n)
    return records[of_it & records["problem"].isin(judged)].drop_duplicates("key")


def rejections(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """The p-values, one row each: with `family`, `rejected` (p_value <= 0.05) and `calibrated` (None where no truth tells)."""
    tests = records[has_number(records) & records["estimand"].eq("p_value")]
    known = records[
        records["truth"].notna()
        & records["estimand"].map(lambda name: isinstance(name, str) and _error(name))
    ]
    calibrated = known.groupby(["problem", "notion"])["truth"].max().le(1e-12).to_dict()
    of_problem = [calibrated.get(key) for key in zip(tests["problem"], tests["notion"])]
    rejected = tests["value"].le(LEVEL + 1e-12)
    return tests.assign(
        family=family_of(tests["problem"], families),
        rejected=rejected,
        calibrated=pd.Series(of_problem, tests.index, object),
    )


def _error(name):
    return estimands.is_distance(name) and not name.startswith(("refinement_", "sharpness_"))


def power_table(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Size and power of every test at level 0.05.

    Parameters
    ----------
    records : DataFrame
        With estimates of `p_value`, and of some calibration error whose truth says which problems are calibrated.
    families : mapping
        {family: [ids of problems]}.

    Returns
    -------
    DataFrame
        A row per notion, n and estimator: size, the share of rejections on calibrated problems, with its Wilson 95 % interval
        size_low, size_high and size_samples; holds, whether it is at most 0.05 + 3 standard errors; power, power_low, power_high
        and power_samples on the miscalibrated ones; worst_family with worst_power; cpu_seconds, mean of a cell; without, cells
        that gave no p-value; and per family its power, `power_<family>`.
    """
    fine = rejections(records, families)
    names = [*families, *sorted(set(fine["family"]) - set(families))]
    rows = []
    for (notion, n, estimator), part in fine.groupby(["notion", "n", "estimator"], sort=False):
        null, other = (
            part[part["calibrated"].map(lambda told, is_it=is_it: told is is_it)]
            for is_it in (True, False)
        )
        by = (
            other.groupby("family")["rejected"]
            .mean()
            .reindex([name for name in names if name in set(other["family"])])
        )
        mine = (
            records["estimator"].eq(estimator) & records["notion"].eq(notion) & records["n"].eq(n)
        )
        cells = records[mine].drop_duplicates("key")
        most = LEVEL + 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / max(len(null), 1))
        row = {
            "notion": notion,
            "n": n,
            "estimator": estimator,
            **_share("size", null),
            **_share("power", other),
        }
        row["holds"] = bool(row["size"] <= most) if len(null) else None
        row |= {"worst_family": by.idxmin(), "worst_power": by.min()} if len(by) else {}
        rows.append(
            row
            | {
                "cpu_seconds": cells["cpu_seconds"].mean(),
                "without": len(cells) - len(part),
                **by.add_prefix("power_").to_dict(),
            }
        )
    columns = [
        f"{what}{end}" for what in ("size", "power") for end in ("", "_low", "_high", "_samples")
    ]
    columns = [
        *columns[:4],
        "holds",
        *columns[4:],
        "worst_family",
        "worst_power",
        "cpu_seconds",
        "without",
    ]
    used = set(fine.loc[fine["calibrated"].map(lambda told: told is False), "family"])
    return pd.DataFrame(
        rows,
        columns=[
            "notion",
            "n",
            "estimator",
            *columns,
            *(f"power_{name}" for name in names if name in used),
        ],
    )


def _share(name, part):
    """The share of rejections with its Wilson interval; NaN of none."""
    low, high = rates.wilson(part["rejected"].sum(), len(part)) if len(part) else (np.nan, np.nan)
    mean = part["rejected"].mean() if len(part) else np.nan
    return {name: mean, f"{name}_low": low, f"{name}_high": high, f"{name}_samples": len(part)}
