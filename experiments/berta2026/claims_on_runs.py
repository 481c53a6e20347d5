"""Conclusions of the paper on the published runs of Table 1, as tests.

Errors are clustered by data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import t

from harness.configure.settings import Settings
from harness.evaluation import claims, items
from harness.evaluation.claims import Statistic, absolute

from . import aggregation, table1

TABLE1 = "berta2026_table1_published"  # the experiment of these runs
FOUNDATION = ["TabICLv2", "RealTabPFN-2.5"]
TREE_BASED = ["WS CatBoost", "WS LGBM", "CatBoost", "LightGBM"]
SIMPLE = ["Nadaraya-Watson", "TS", "Isotonic", "PartitionWise"]
WARM, SCRATCH = TREE_BASED[:2], TREE_BASED[2:]
CLASSIFIERS = [*FOUNDATION, *TREE_BASED, *SIMPLE]
# Number of the authors' partitions. Replications 10 to 19 of the published runs are rows that their
# table repeats.
PARTITIONS = 10
BINARY_L1, BINARY_SQUARED, MULTICLASS_L2, MULTICLASS_SQUARED = table1.COLUMNS


def claims_on_shares(records: pd.DataFrame) -> dict[str, Statistic]:
    """Test the claims on Table 1, with the authors' published runs.

    Differences are in percentage points of the largest estimate.
    """
    names = {
        "foundation models recover most": (None, [*table1.COLUMNS]),
        "warm start helps proper errors, binary": (difference(WARM, SCRATCH), [BINARY_SQUARED]),
        "warm start helps proper errors, multiclass": (
            difference(WARM, SCRATCH),
            [MULTICLASS_SQUARED],
        ),
        "both strategies are comparable, binary L1": (difference(SCRATCH, WARM), [BINARY_L1]),
        "both strategies are comparable, multiclass L2": (
            difference(SCRATCH, WARM),
            [MULTICLASS_L2],
        ),
        "simple methods are less accurate": (
            difference(FOUNDATION + TREE_BASED, SIMPLE),
            [*table1.COLUMNS],
        ),
        "every simple method is less accurate": (None, [*table1.COLUMNS]),
        "warm-started CatBoost is the best without a GPU": (None, [*table1.COLUMNS]),
    }
    if not items.with_number(records).shape[0]:
        why = f"it needs the authors' published runs (experiment={TABLE1})"
        return {name: claims.untested(why) for name in names}
    tables, keys = shares_by_column(records)
    by_claim = {
        name: contrast(tables, weights, columns)
        for name, (weights, columns) in names.items()
        if weights
    }
    for name in by_claim:
        if name.startswith("both"):
            by_claim[name] = absolute(
                replace(
                    by_claim[name],
                    why=f"{by_claim[name].why}; 5 points is our reading of comparable",
                )
            )
    level = claims.among(len(SIMPLE))
    losses = {
        name: contrast(
            tables, difference(FOUNDATION + TREE_BASED, [name]), [*table1.COLUMNS], level
        )
        for name in SIMPLE
    }
    nearest = min(losses, key=lambda name: losses[name].value)
    by_claim["every simple method is less accurate"] = replace(
        claims.smallest(losses.values()),
        why=f"smallest of {len(SIMPLE)}: {nearest}, {losses[nearest].why}",
        cells=losses[nearest].cells,
    )
    # Claims on the best classifiers are tested by the smallest lead.
    by_claim["foundation models recover most"] = smallest_lead(
        tables, FOUNDATION, [*TREE_BASED, *SIMPLE]
    )
    others = [name for name in (*TREE_BASED, *SIMPLE) if name != "WS CatBoost"]
    by_claim["warm-started CatBoost is the best without a GPU"] = smallest_lead(
        tables, ["WS CatBoost"], others
    )
    return {name: replace(statistic, keys=keys) for name, statistic in by_claim.items()}


def shares_by_column(records: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """Return {column: Table 1's percentages of every group}, and the keys of the cells."""
    used = records[records["notion"].isin(table1.PRIMARY) & records["n"].gt(table1.SMALLEST)]
    used = used[used["estimator"].isin(CLASSIFIERS)]
    cells = aggregation.make_cells(
        used, Settings.from_dict({}), ["l1", "l2", "l2_squared"], table1.BY[table1.APART]
    )
    by = table1.BY[table1.PAPER]
    tables = aggregation.shares(
        cells, table1.COLUMNS, table1.PRIMARY, by, CLASSIFIERS, table1.LEAST
    )
    return {column: tables[column].dropna(how="all") for column in table1.COLUMNS}, tuple(
        cells["key"]
    )


def difference(first: list[str], second: list[str]) -> dict[str, float]:
    """Return the weights of the mean of the first classifiers minus that of the second."""
    return {name: 1 / len(first) for name in first} | {name: -1 / len(second) for name in second}


def contrast(
    tables: Mapping[str, pd.DataFrame],
    weights: Mapping[str, float],
    columns: list[str],
    level: float = claims.LEVEL,
) -> Statistic:
    """Test a weighted sum of classifiers' percentages, averaged over columns.

        x_i = sum over the classifiers of weight times percentage, in group i
        estimate = mean over the columns of the mean of x_i over the groups
        variance = sum over the kinds of task of G / (G - 1) sum_g d_g^2
        d_g = sum over the columns, and the groups i in g, of (x_i - mean) / (N times columns)

    The kinds of task are binary and multiclass. For each, N is the number of groups, and G the
    number of data sets g. The interval is clustered by data set. Binary and multiclass data sets
    are different, so that their clusters are independent. Student's t has the degrees of freedom of
    the smaller number of data sets.
    """
    estimate, used = 0.0, []
    parts: dict[str, pd.Series] = {}
    for column in columns:
        values = (
            (tables[column][list(weights)] * pd.Series(weights)).sum(axis=1, skipna=False).dropna()
        )
        estimate += values.mean() / len(columns)
        used.append(len(values))
        sums = (values - values.mean()).groupby(level="dataset").sum()
        sums /= len(values) * len(columns)
        notion = table1.COLUMNS[column][0]
        parts[notion] = parts[notion].add(sums, fill_value=0.0) if notion in parts else sums
    variance = sum(len(part) / (len(part) - 1) * (part**2).sum() for part in parts.values())
    clusters = min(map(len, parts.values()))
    half = t.ppf((1 + level) / 2, clusters - 1) * np.sqrt(variance)
    groups = " + ".join(map(str, used))
    data_sets = " + ".join(str(len(part)) for part in parts.values())
    note = f"{groups} groups (data set, model) of {data_sets} data sets"
    return Statistic(estimate, estimate - half, estimate + half, claims.PAPER, (), note, sum(used))


def smallest_lead(
    tables: Mapping[str, pd.DataFrame], leaders: list[str], others: list[str]
) -> Statistic:
    """Test the smallest lead of a leader over another classifier.

    The lead is that of the mean of the four percentages.
    """
    pairs = [difference([leader], [other]) for leader in leaders for other in others]
    level = claims.among(len(pairs))
    parts = [contrast(tables, weights, [*table1.COLUMNS], level) for weights in pairs]
    return replace(claims.smallest(parts), cells=parts[0].cells)


def count_runs(records: pd.DataFrame) -> pd.DataFrame:
    """Return the item `text`: data sets, model families and mean number of published runs."""
    rows = []
    once = records.drop_duplicates(["problem", "notion", "rep"])
    once = once[once["notion"].isin(table1.NAMES)]
    once = once.join(items.parameters(once, "problem", "dataset", "config"))
    for notion, mine in once.groupby("notion", sort=False):
        family = mine["config"].astype(str).str.split("_").str[0]
        runs = (mine["rep"] % PARTITIONS).groupby(mine["problem"]).nunique().mean()
        counts = {"data sets": mine["dataset"].nunique(), "different models": family.nunique()}
        for column, value in (counts | {"runs per data set and model": runs}).items():
            rows.append(
                {
                    "item": "text",
                    "row": table1.NAMES[notion].capitalize(),
                    "column": column,
                    "value": float(value),
                }
            )
    return pd.DataFrame(rows, columns=items.ANSWER).assign(error=0.0, reps=np.inf)
