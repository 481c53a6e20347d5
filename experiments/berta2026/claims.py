"""Conclusions of the paper as tests: Figures 1 and 3, and Table 2.

Values are first averaged over problems and sample sizes within a replication. The replications are
independent. The sample sizes of one replication are not, because a small sample is the beginning of
a larger one. `claims_on_runs` has the claims on Table 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import claims, items
from harness.evaluation.claims import Statistic, absolute
from harness.figures import claims_plot

from .claims_on_runs import TABLE1, claims_on_shares, count_runs

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
FIG1, FIG3, TABLE2 = "berta2026_fig1", "berta2026_fig3", "berta2026_table2"


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
        "cross-validation converges faster than binning, overconfident": faster(
            mis_1[mis_1["problem"].eq(OVER)], CV, ECE
        ),
        "cross-validation converges faster than binning, shifted": faster(
            mis_1[mis_1["problem"].eq(SHIFTED)], CV, ECE
        ),
        "cross-validation is closer to the truth than binning, multiclass": nearer(
            mis_3, CV, KMEANS_15
        ),
        "cross-validation converges faster than binning, multiclass": faster_on_all(
            mis_3, CV, KMEANS_15
        ),
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


def faster_on_all(numbers: pd.DataFrame, ours: str, other: str) -> Statistic:
    """Return `faster` on the problem where the difference is smallest.

    The interval holds for all problems at once.
    """
    problems = numbers["problem"].unique()
    level = claims.among(len(problems))
    parts = []
    for problem in problems:
        part = faster(numbers[numbers["problem"].eq(problem)], ours, other, level)
        parts.append(replace(part, why=f"smallest of {len(problems)}: {problem}, {part.why}"))
    return claims.smallest(parts) if parts else faster(numbers, ours, other)


def faster(numbers: pd.DataFrame, ours: str, other: str, level: float = claims.LEVEL) -> Statistic:
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
        difference_of_slopes(mean), error, reps, sizes["key"], claims.PAPER, why, level
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
