"""The statistics of berta2026's claims, on frames whose answers are known."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from harness.experiments.berta2026 import claims, group_errors, legacy
from harness.experiments.berta2026 import claims_on_runs as shares
from record_frames import record_frame
from scipy.stats import t

from harness.configure.compose import compose
from harness.evaluation import reproduction
from harness.evaluation.claims import OURS, PAPER, estimate_difference, estimate_mean
from harness.records.schema import COLUMNS as RECORD_COLUMNS

CLAIMS = reproduction.reported("berta2026", ["claims"])


def estimates(errors, problems, sizes=(200, 10_000), reps=3, estimand="l1", experiment=claims.FIG1):
    """Return `reps` replications per problem and size from {estimator: error of its values}.

    The truth is 0.1; replication r adds r / 1000 to the error.
    """
    rows = [
        {"problem": problem, "n": n, "rep": rep, "estimator": estimator}
        | {"value": 0.1 + error + rep / 1000}
        for estimator, error in errors.items()
        for problem in problems
        for n in sizes
        for rep in range(reps)
    ]
    return record_frame(rows, estimand=estimand, experiment=experiment, truth=0.1)


def published(values, notion):
    """Return imported records of two models of four data sets.

    `values` has the primary and the squared error of each classifier.
    """
    names = (shares.table1.PRIMARY[notion], "l2_squared")
    rows = []
    for i, config in product(range(4), ("CatBoost_r1", "XGBoost_r2")):
        parameters = json.dumps({"dataset": f"{notion}{i}", "fold": 0, "config": config})
        task = {"problem": f"{notion}{i}/0/{config}", "problem_parameters": parameters}
        for classifier, errors in values.items():
            for estimand, value in zip(names, errors):
                rows.append({**task, "estimator": classifier, "estimand": estimand, "value": value})
    common = {"status": "imported", "seconds": 1.0, "notion": notion, "n": 500}
    return record_frame(rows, experiment=shares.TABLE1, **common)


def test_errors_are_averaged_within_a_replication():
    """12 replications of two problems and two sizes are twelve values, not 48."""
    stored = estimates({claims.CV: 0.01}, ["p", "q"], reps=12)
    result = claims.mean_error(claims.errors(stored, "l1"), claims.CV)
    expected = estimate_mean(0.01 + np.arange(12) / 1000, (), OURS)
    assert (result.value, result.low, result.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
    assert result.cells == 12 and len(result.keys) == 48


def test_a_replication_that_lacks_a_cell_is_left_out():
    records = estimates({claims.CV: 0.01}, ["p", "q"])
    lacking = records.drop(records.index[records["rep"].eq(2)][0])
    assert claims.mean_error(claims.errors(lacking, "l1"), claims.CV).cells == 2


def test_nearer_is_of_absolute_errors_on_the_same_samples():
    """|0.03 + r / 1000| - |-0.02 + r / 1000| = 0.01 + 2 r / 1000."""
    stored = estimates({claims.ECE: 0.03, claims.CV: -0.02}, ["p"], reps=12)
    both = claims.errors(stored, "l1")
    result = claims.nearer(both, claims.CV, claims.ECE)
    shift = np.arange(12) / 1000
    expected = estimate_difference(0.03 + shift, 0.02 - shift, (), OURS)
    assert (result.value, result.low) == pytest.approx((expected.value, expected.low))
    assert claims.nearer(both, claims.CV, "kmeans30").why


def test_a_rate_is_the_slope_of_the_mean_error():
    """The errors are 1 / sqrt(n) and 1 / n, times 1 to 1.011: the slopes are -1/2 and -1."""
    sizes, reps = (100, 1000, 10_000), 12
    parts = [estimates({claims.ECE: n**-0.5, claims.CV: 1 / n}, ["p"], (n,), reps) for n in sizes]
    stored = pd.concat(parts, ignore_index=True)
    error = stored["value"] - stored["truth"] - stored["rep"] / 1000
    stored["value"] = stored["truth"] + error * (1 + stored["rep"] / 1000)
    result = claims.faster(claims.errors(stored, "l1"), claims.CV, claims.ECE)
    assert result.value == pytest.approx(0.5) and result.cells == reps
    assert result.high - result.low < 1e-6
    assert claims.faster(claims.errors(stored, "l1"), claims.CV, "kmeans30").why


def test_a_rate_on_all_problems_is_that_of_the_worst():
    """Cross-validation falls faster on p by 1/2, and as fast on q, with a level for two."""
    sizes, reps = (100, 1000, 10_000), 12
    parts = [
        estimates({claims.ECE: n**-0.5, claims.CV: n**rate}, [problem], (n,), reps)
        for problem, rate in (("p", -1.0), ("q", -0.5))
        for n in sizes
    ]
    stored = pd.concat(parts, ignore_index=True)
    error = stored["value"] - stored["truth"] - stored["rep"] / 1000
    stored["value"] = stored["truth"] + error * (1 + stored["rep"] / 1000)
    numbers = claims.errors(stored, "l1")
    worst = claims.faster_on_all(numbers, claims.CV, claims.ECE)
    alone = claims.faster(numbers[numbers["problem"].eq("q")], claims.CV, claims.ECE)
    assert worst.value == pytest.approx(alone.value, abs=1e-12) and ": q," in worst.why
    assert worst.low <= alone.low and worst.high >= alone.high


def test_a_bound_is_judged_on_the_problem_where_it_is_worst():
    """-0.02 on p does not hide +0.01 on q; each of two intervals has the level 0.995."""
    parts = [estimates({claims.CV: e}, [p], reps=12) for p, e in (("p", -0.02), ("q", 0.01))]
    both = pd.concat(parts, ignore_index=True)
    result = claims.by_problem(claims.claims.largest, claims.errors(both, "l1"), claims.CV)
    expected = estimate_mean(0.01 + np.arange(12) / 1000, (), OURS, level=0.995)
    assert (result.value, result.high) == pytest.approx((expected.value, expected.high))
    assert result.why.startswith("q, ") and result.where == PAPER
    assert claims.by_problem(claims.claims.largest, claims.errors(both, "l1"), claims.ECE).why


def test_a_contrast_of_one_column_is_clustered_as_the_table_is():
    """Equal to mean_and_errors of the differences, with Student's t of the data sets."""
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([list("abcde"), ["x", "y"]], names=["dataset", "config"])
    values = pd.DataFrame(rng.uniform(0, 100, (10, 2)), index, columns=["A", "B"])
    result = shares.contrast(
        {shares.BINARY_L1: values},
        shares.difference(["A"], ["B"]),
        [shares.BINARY_L1],
    )
    differences = (values["A"] - values["B"]).to_frame("d")
    expected = group_errors.mean_and_errors(
        differences, differences.index.get_level_values("dataset")
    ).loc["d"]
    assert result.value == pytest.approx(expected["mean"])
    assert result.high - result.value == pytest.approx(t.ppf(0.995, 4) * expected["se_clustered"])
    assert result.where == PAPER


def test_columns_of_other_data_sets_are_independent_and_of_the_same_are_not():
    index = pd.MultiIndex.from_product([list("abcd"), ["x"]], names=["dataset", "config"])
    values = pd.DataFrame({"A": [1.0, 2.0, 3.0, 4.0], "B": 0.0}, index)
    weights = shares.difference(["A"], ["B"])
    alone = shares.contrast({shares.BINARY_L1: values}, weights, [shares.BINARY_L1])
    two = {
        shares.BINARY_L1: values,
        shares.BINARY_SQUARED: values,
        shares.MULTICLASS_L2: values,
    }
    same = shares.contrast(two, weights, [shares.BINARY_L1, shares.BINARY_SQUARED])
    apart = shares.contrast(two, weights, [shares.BINARY_L1, shares.MULTICLASS_L2])
    assert same.high - same.value == pytest.approx(alone.high - alone.value)
    assert apart.high - apart.value == pytest.approx((alone.high - alone.value) / np.sqrt(2))


def test_the_size_of_a_difference_has_no_negative_end():
    across, below = (claims.claims.Statistic(-1.0, -3.0, high, PAPER) for high in (2.0, -0.5))
    assert (claims.absolute(across).low, claims.absolute(across).high) == (0.0, 3.0)
    assert (
        claims.absolute(below).low,
        claims.absolute(below).high,
        claims.absolute(below).value,
    ) == (0.5, 3.0, 1.0)


@pytest.fixture(scope="module")
def table():
    """Warm-started trees recover all of the squared errors, those from scratch half, TS between;
    foundation models most."""
    few = {name: (0.05, 0.002) for name in shares.SIMPLE}
    rest = {name: (0.08, 0.008) for name in shares.WARM} | {
        name: (0.08, 0.004) for name in shares.SCRATCH
    }
    values = few | rest | {"TS": (0.05, 0.005)} | {name: (0.1, 0.01) for name in shares.FOUNDATION}
    return pd.concat(
        [published(values, notion) for notion in ("binary", "canonical")], ignore_index=True
    )


def test_shares_of_the_largest_of_the_published_runs(table):
    result = shares.claims_on_shares(table)
    assert result["warm start helps proper errors, binary"].value == pytest.approx(40.0)
    assert result["both strategies are comparable, multiclass L2"].value == pytest.approx(0.0)
    simple = result["every simple method is less accurate"]
    assert simple.value == pytest.approx(30.0) and "TS" in simple.why
    assert result["foundation models recover most"].value == pytest.approx(
        20.0
    )  # ahead of warm-started trees in every column
    assert result["warm-started CatBoost is the best without a GPU"].value == pytest.approx(
        0.0
    )  # LightGBM is as good
    assert all(statistic.where == PAPER and statistic.keys for statistic in result.values())


def test_counts_of_the_text(table):
    again = table.assign(rep=1)
    result = shares.count_runs(pd.concat([table, again, table.assign(rep=10)])).set_index(
        ["row", "column"]
    )["value"]
    assert result.to_dict() == {
        (name, column): value
        for name in ("Binary", "Multiclass")
        for column, value in (
            ("data sets", 4),
            ("different models", 2),
            ("runs per data set and model", 2),
        )
    }


def test_every_claim_has_a_statistic_and_no_other(table):
    settings = compose(["experiment=berta2026_claims"])
    parts = {"l1": 0.02, "l1_over": 0.0, "l1_under": 0.0}
    trees = [
        estimates(
            {claims.TREES: error},
            [claims.CENTRED, claims.UNDER, claims.MIXED],
            (5000,),
            estimand=name,
            experiment=claims.TABLE2,
        )
        for name, error in parts.items()
    ]
    two = estimates(
        {e: 0.01 for e in (claims.CV, claims.IN_SAMPLE, claims.ECE)},
        [claims.CALIBRATED, claims.OVER, claims.SHIFTED],
    )
    names = [*claims.CALIBRATED_3, *claims.MISCALIBRATED_3]
    three = {e: 0.02 for e in (claims.CV, claims.KMEANS_15)}
    figures = [two, estimates(three, names, estimand="l2", experiment=claims.FIG3)]
    records = pd.concat([*figures, *trees, table], ignore_index=True)
    statistics = claims.statistics(records, settings)
    assert set(statistics) == set(CLAIMS["row"])
    assert not any(np.isnan(statistic.value) for statistic in statistics.values())
    compared = reproduction.compare(
        claims.reproduced(records, settings), "berta2026", settings.compare
    )
    assert set(compared["verdict"]) <= {"holds", "fails", "undecided", "differs"}


def test_a_published_run_without_a_cell_of_ours_is_not_computed():
    """Nothing computed: every classifier of the experiment says so, those that need weights say
    that."""
    settings = compose(["experiment=berta2026_fig1_heavy_legacy"])
    lost = pd.DataFrame(columns=[*RECORD_COLUMNS, "truth", "truth_error"])
    ours = legacy.reproduced(lost, settings, "l1")
    whys = ours.groupby("column")["why"].unique().map(list)
    assert whys["WS LGBM (CV)"] == [legacy.NOT_COMPUTED]
    assert whys["TabICLv2 (CV)"] == [legacy.WEIGHTS]
    assert "Isotonic (CV)" not in whys


def test_means_over_9_or_11_runs_count_ours_as_often():
    """Seed 7 counts no time in Figure 1; a mean that the authors took over ten runs stays."""
    settings = compose(["experiment=berta2026_fig1_legacy"])
    labels = {"variational_isotonic_berta2026": "Isotonic (CV)", "binned15_mass": "ECE (15 bins)"}
    rows = [
        {"key": f"{name}{rep}", "problem": "beta_overconfident_legacy", "notion": "binary",
         "n": 10_000, "rep": rep, "estimator": name, "estimand": "l1", "value": float(rep)}
        for name in labels
        for rep in range(10)
    ]  # fmt: skip
    ours = legacy.reproduced(record_frame(rows), settings, "l1")
    ours = ours[ours["item"].eq("fig1") & ours["value"].notna()]
    ours = ours.set_index("column").loc[list(labels.values())]
    assert ours["reps"].to_list() == [9.0, 10.0]
    assert ours["value"].to_list() == pytest.approx([38 / 9, 4.5])
    assert len(ours["keys"].iloc[0]) == 9
