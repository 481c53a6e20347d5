"""Conclusions of the paper as tests: Figures 1 and 3, Table 2, and the published runs of Table 1.

Values are first averaged over problems and sample sizes within a replication. The replications are
independent. The sample sizes of one replication are not, because a small sample is the beginning of
a larger one. Errors on Table 1 are clustered by data set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import t

from harness.configure.settings import Settings
from harness.evaluation import claims, items
from harness.evaluation.claims import Statistic, absolute
from harness.figures import claims_plot

from . import aggregation, table1

CV, IN_SAMPLE, TREES = (
    "variational_isotonic_berta2026",
    "variational_isotonic_insample",
    "variational_catboost_ws_berta2026",
)
ECE, KMEANS_15 = "binned15_mass", "kmeans15"
CALIBRATED, OVER, SHIFTED = "beta_calibrated", "beta_overconfident", "beta_shifted"
CALIBRATED_3 = ["dirichlet3_calibrated", "dirichlet10_calibrated"]
MISCALIBRATED_3 = [
    f"dirichlet{k}_{name}" for k in (3, 10) for name in ("underconfident", "overconfident")
]
CENTRED, UNDER, MIXED = (
    "beta_overconfident_centred",
    "beta_underconfident_centred",
    "beta_mixed",
)
FEW, MANY = 200, 10_000  # the smallest and the largest n of Figures 1 and 3
FOUNDATION = ["TabICLv2", "RealTabPFN-2.5"]
TREE_BASED = ["WS CatBoost", "WS LGBM", "CatBoost", "LightGBM"]
SIMPLE = ["Nadaraya-Watson", "TS", "Isotonic", "PartitionWise"]
WARM, SCRATCH = TREE_BASED[:2], TREE_BASED[2:]
CLASSIFIERS = [*FOUNDATION, *TREE_BASED, *SIMPLE]
# Number of the authors' partitions. Replications 10 to 19 of the published runs are rows that their
# table repeats.
PARTITIONS = 10
BINARY_L1, BINARY_SQUARED, MULTICLASS_L2, MULTICLASS_SQUARED = table1.COLUMNS
FIG1, FIG3, TABLE1, TABLE2 = (
    "berta2026_fig1",
    "berta2026_fig3",
    "berta2026_table1_published",
    "berta2026_table2",
)


def statistics(records: pd.DataFrame, settings: Settings) -> dict[str, Statistic]:
    """Return {name of the claim in reported.csv: statistic}."""
    parts = {name: records[records["experiment"].eq(name)] for name in (FIG1, FIG3, TABLE2, TABLE1)}
    return {
        **claims_on_figures(parts[FIG1], parts[FIG3]),
        **claims_on_parts(parts[TABLE2]),
        **claims_on_shares(parts[TABLE1]),
    }


render, table, summary, reproduced_claims = claims_plot.item_functions(statistics)


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the claims, and the counts of data sets, models and runs that the text states.

    The counts are compared with those of the published runs.
    """
    published = records[records["experiment"].eq(TABLE1)]
    return pd.concat(
        [reproduced_claims(records, settings), count_runs(published)],
        ignore_index=True,
    )


# Figures 1 and 3


def claims_on_figures(fig1: pd.DataFrame, fig3: pd.DataFrame) -> dict[str, Statistic]:
    """Test the claims on binary problems (L1, Figure 1) and multiclass problems (L2, Figure 3).

    `fig1` and `fig3` are the records of these figures.
    """
    binary, multiclass = errors(fig1, "l1"), errors(fig3, "l2")
    mis_1 = binary[binary["problem"].isin([OVER, SHIFTED])]
    mis_3, calibrated_3 = (
        multiclass[multiclass["problem"].isin(names)] for names in (MISCALIBRATED_3, CALIBRATED_3)
    )
    by_claim = {
        "cross-validation gives a lower bound, binary": by_problem(claims.largest, binary, CV),
        "cross-validation gives a lower bound, multiclass": by_problem(
            claims.largest, multiclass, CV
        ),
        "isotonic regression in sample overestimates": by_problem(
            claims.smallest, binary, IN_SAMPLE
        ),
        "binned ECE overestimates": mean_error(binary, ECE),
        "cross-validation avoids overestimation at n = 10,000, multiclass": by_problem(
            claims.largest, multiclass[multiclass["n"].eq(MANY)], CV
        ),
        "binning is wrong on calibrated predictions, CV is not": nearer(
            calibrated_3, CV, KMEANS_15
        ),
        "cross-validation is closer to the truth than binning, binary": nearer(mis_1, CV, ECE),
        "cross-validation converges faster than binning, binary": faster(mis_1, CV, ECE),
        "cross-validation is closer to the truth than binning, multiclass": nearer(
            mis_3, CV, KMEANS_15
        ),
        "cross-validation converges faster than binning, multiclass": faster(mis_3, CV, KMEANS_15),
    }
    calibrated = binary[binary["problem"].eq(CALIBRATED)]
    few, many = (binary[binary["n"].eq(n)] for n in (FEW, MANY))
    by_claim["isotonic regression in sample overestimates more with few samples"] = larger_error(
        few, many, IN_SAMPLE
    )
    miscalibrated = [binary[binary["problem"].eq(p)] for p in (OVER, SHIFTED)]
    level = claims.among(len(miscalibrated))
    parts = [larger_error(calibrated, part, IN_SAMPLE, level) for part in miscalibrated]
    by_claim["isotonic regression in sample overestimates more when calibrated"] = claims.smallest(
        parts
    )
    return by_claim


def larger_error(
    first: pd.DataFrame, second: pd.DataFrame, estimator: str, level: float = claims.LEVEL
) -> Statistic:
    """Test the mean error on `first` minus that on `second`, over replications.

    The error is estimate - truth of one estimator. Both arguments are parts of the result of
    `errors`.
    """
    frames = (first, second)
    means = [per_replication(frame, estimator) for frame in frames]
    errors_by_rep = [mean["error"].rename(i) for i, mean in enumerate(means)]
    pairs = pd.concat(errors_by_rep, axis=1).dropna()
    if not len(pairs):
        return claims.untested(f"no cell of {estimator} is recorded")
    keys = [key for mean in means for key in mean["keys"]]
    why = _describe(frames, len(pairs))
    return claims.estimate_difference(pairs[0], pairs[1], keys, claims.PAPER, why, level)


def by_problem(
    choose: Callable[[list[Statistic]], Statistic], numbers: pd.DataFrame, estimator: str
) -> Statistic:
    """Test the mean of estimate - truth on the problem where it is largest or smallest.

    `choose` is `claims.largest` or `claims.smallest`. A bound must hold on every problem, so that a
    small value on one problem must not hide a violation on another. The intervals hold for all
    problems at once.
    """
    problems = numbers.loc[numbers["estimator"].eq(estimator), "problem"].unique()
    level = claims.among(len(problems))
    parts = [
        mean_error(numbers[numbers["problem"].eq(problem)], estimator, problem, level)
        for problem in problems
    ]
    if not parts:
        return claims.untested(f"no cell of {estimator} is recorded")
    return choose(parts)


def errors(records: pd.DataFrame, estimand: str) -> pd.DataFrame:
    """Return the records of an estimand with number and truth, and `error` = value - truth."""
    stored = items.with_number(records, estimand).dropna(subset="truth")
    return stored.assign(error=stored["value"] - stored["truth"])


def per_replication(numbers: pd.DataFrame, estimator: str, value: str = "error") -> pd.DataFrame:
    """Return the mean of a column of one estimator over problems and sample sizes, by replication.

    The mean is in the column `error`. `keys` has the keys of the cells. A replication that lacks a
    cell is left out.
    """
    mine = numbers[numbers["estimator"].eq(estimator)]
    grouped = mine.groupby("rep")
    means = grouped.agg(error=(value, "mean"), cells=(value, "size"), keys=("key", tuple))
    return means[means["cells"].eq(means["cells"].max())]


def mean_error(
    numbers: pd.DataFrame,
    estimator: str,
    problem: str | None = None,
    level: float = claims.LEVEL,
) -> Statistic:
    """Test the mean of estimate - truth over replications.

    With `problem` the text of the statistic names this problem.
    """
    mine = per_replication(numbers, estimator)
    if not len(mine):
        return claims.untested(f"no cell of {estimator} is recorded")
    why = f"{problem}, " * bool(problem) + _describe([numbers], len(mine))
    return claims.estimate_mean(mine["error"], mine["keys"], claims.PAPER, why, level)


def nearer(numbers: pd.DataFrame, ours: str, other: str) -> Statistic:
    """Test the mean of |error of `other`| - |error of `ours`| on the same samples."""
    far = numbers.assign(size=numbers["error"].abs())
    first, second = per_replication(far, other, "size"), per_replication(far, ours, "size")
    pairs = first.add_prefix("other_").join(second, how="inner")
    if not len(pairs):
        return claims.untested(f"{ours} and {other} have no sample in common")
    keys = [*pairs["other_keys"], *pairs["keys"]]
    return claims.estimate_difference(
        pairs["other_error"], pairs["error"], keys, claims.PAPER, _describe([numbers], len(pairs))
    )


def faster(numbers: pd.DataFrame, ours: str, other: str) -> Statistic:
    """Test the difference of two rates of convergence: that of `ours` minus that of `other`.

    A rate is minus the slope of log |error| in log n, with |error| averaged over problems and
    replications at each n. The standard error is that of the jackknife over replications.
    """
    sizes = numbers.assign(size=numbers["error"].abs())
    sizes = sizes[sizes["estimator"].isin([ours, other])]
    mean = sizes.pivot_table(index=["n", "estimator"], columns="rep", values="size").dropna(axis=1)
    if not len(mean) or mean.index.nunique() != 2 * sizes["n"].nunique():
        return claims.untested(f"{ours} and {other} have no sample in common")

    def difference_of_slopes(by_replication: pd.DataFrame) -> float:
        logs = np.log(by_replication.mean(axis=1)).unstack("estimator")
        slopes = np.polyfit(np.log(logs.index), logs[[other, ours]], 1)[0]
        return float(slopes[0] - slopes[1])

    reps = mean.shape[1]
    without = [difference_of_slopes(mean.drop(columns=rep)) for rep in mean.columns]
    error = np.sqrt((reps - 1) * np.var(without))
    why = _describe([numbers], reps)
    return claims.attach_interval(
        difference_of_slopes(mean), error, reps, sizes["key"], claims.PAPER, why
    )


def _describe(frames: Iterable[pd.DataFrame], reps: int) -> str:
    """Return a phrase on the problems, sample sizes and replications behind a statistic."""
    numbers = pd.concat(frames)
    problems, sizes = numbers["problem"].nunique(), numbers["n"].nunique()
    text = f"{problems} problem{'s' * (problems > 1)} at {sizes} sample size{'s' * (sizes > 1)}"
    return f"{text}, averaged in each of {reps} replications"


# Table 2


def claims_on_parts(records: pd.DataFrame) -> dict[str, Statistic]:
    """Test the claims on over- and underconfidence, with warm-started CatBoost."""
    stored = items.with_number(records[records["estimator"].eq(TREES)])

    def part(problem: str, estimand: str) -> tuple[np.ndarray, np.ndarray, pd.Series]:
        mine = stored[stored["problem"].eq(problem) & stored["estimand"].eq(estimand)]
        return mine["value"].to_numpy(), mine["truth"].to_numpy(), mine["key"]

    by_claim = {}
    for problem, present, absent in ((CENTRED, "over", "under"), (UNDER, "under", "over")):
        none, _, keys = part(problem, f"l1_{absent}")
        note = f"WS CatBoost, n = 5,000, {len(none)} replications"
        by_claim[f"no {absent}-confidence is found in the {present}-confident scenario"] = (
            claims.estimate_mean(
                none, keys, claims.PAPER, f"{note}; 0.0005 is what rounds to the printed 0.000"
            )
        )
        whole, truth, keys = part(problem, f"l1_{present}")
        ratio = claims.estimate_mean(
            whole / truth - 1.0, keys, claims.PAPER, f"{note}; 5 % is our reading of matches"
        )
        by_claim[f"the {present}-confident part is the true error"] = absolute(ratio)
    shares = [part(MIXED, name) for name in ("l1_over", "l1_under")]
    level = claims.among(len(shares))
    why = f"{note}; 10 % is our reading of well separated"
    parts = [
        absolute(claims.estimate_mean(value / truth - 1.0, keys, claims.PAPER, why, level))
        for value, truth, keys in shares
    ]
    by_claim["over- and under-confidence are separated"] = claims.largest(parts)
    return by_claim


# Table 1


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
        "temperature scaling is less accurate than trees": (
            difference(SCRATCH, ["TS"]),
            [BINARY_SQUARED],
        ),
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
    note = "one of the four simple methods, against the trees without a warm start"
    temperature = by_claim["temperature scaling is less accurate than trees"]
    by_claim["temperature scaling is less accurate than trees"] = replace(
        temperature, why=f"{temperature.why}; {note}"
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
