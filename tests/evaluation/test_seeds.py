"""Printed numbers of one network, judged by the seeds of networks that were trained again."""

import numpy as np
import pandas as pd
import pytest

from harness.configure.compose import compose
from harness.evaluation import outcomes, reproduction, seeds

ROW = "CIFAR-10, LeNet"  # printed: accuracy .727, cross entropy .823, CKCE .301
PLACE = ("moskvichev2025", ["table1"])


def compared(values, widest, *more):
    """Compare the values of some seeds with the printed accuracy of LeNet."""
    frame = pd.DataFrame({"row": ROW, "column": "accuracy", "value": values, "key": "cell"})
    table = seeds.intervals(frame, seeds.PLACE)
    settings = compose(["experiment=moskvichev2025_table1", *more])
    ours = seeds.answers(table, lambda row, column: widest, settings, "not trained")
    rows = reproduction.compare(ours, *PLACE)
    return rows.set_index(["row", "column"])


def test_the_interval_covers_one_more_network():
    """20,000 times five seeds and one more, all normal. Four standard errors of 95 % are 0.62 %."""
    draws = np.random.default_rng(0).normal(3, 2, (20_000, 6))
    frame = pd.DataFrame({"trial": np.repeat(np.arange(20_000), 5), "value": draws[:, :5].ravel()})
    table = seeds.intervals(frame, ["trial"])
    covered = (table["low"] <= draws[:, 5]) & (draws[:, 5] <= table["high"])
    assert covered.mean() == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 20_000))


def test_the_interval_of_five_seeds():
    """2.776 standard deviations (four degrees of freedom) times the root of 6 / 5."""
    values = np.array([0.72, 0.73, 0.74, 0.70, 0.71])
    (row,) = seeds.intervals(pd.DataFrame({"a": 0, "value": values}), ["a"]).itertuples()
    assert row.half == pytest.approx(2.776445 * values.std(ddof=1) * np.sqrt(1.2), rel=1e-6)
    assert (row.low, row.high) == pytest.approx((row.mean - row.half, row.mean + row.half))


@pytest.mark.parametrize(
    ("values", "widest", "verdict"),
    [
        ([0.72, 0.73, 0.74], 0.2, "within seeds"),
        ([0.62, 0.63, 0.64], 0.2, "outside seeds"),
        ([0.72, 0.73, 0.74], 0.05, "no test"),  # the interval is 0.0994 wide
        ([0.62, 0.63, 0.64], 0.05, "no test"),
    ],
)
def test_verdicts(values, widest, verdict):
    row = compared(values, widest).loc[(ROW, "accuracy")]
    assert (row["verdict"], row["reps"], row["cells"]) == (verdict, 3, 1)
    assert row["high"] - row["low"] == pytest.approx(2 * 4.302653 * 0.01 * np.sqrt(4 / 3), rel=1e-6)
    assert "3 seeds is 0.0994 wide" in row["reason"] and f"differ by {widest}" in row["reason"]
    assert np.isnan(row["power"]) and np.isnan(row["z"])


def test_one_seed_judges_nothing():
    row = compared([0.727], 0.2).loc[(ROW, "accuracy")]
    assert row["verdict"] == "not reproducible here" and row["reason"] == seeds.ONE
    other = compared([0.727], 0.2).loc[(ROW, "CKCE")]
    assert np.isnan(other["ours"]) and other["reason"] == "not trained"


def test_seeds_with_a_reason_are_shown_and_not_judged():
    row = compared([0.72, 0.73, 0.74], 0.2, "+reasons.seeds=too short").loc[(ROW, "accuracy")]
    assert row["verdict"] == "not reproducible here" and row["reason"] == "too short"
    assert row["ours"] == pytest.approx(0.73) and row["low"] < 0.72 < 0.74 < row["high"]


@pytest.mark.parametrize(
    ("values", "widest", "outcome"),
    [
        ([0.72, 0.73, 0.74], 0.2, "within seeds"),
        ([0.62, 0.63, 0.64], 0.2, "outside seeds"),
        ([0.72, 0.73, 0.74], 0.05, "seeds too far apart"),
    ],
)
def test_networks_trained_again_never_count_as_digits(values, widest, outcome):
    """A value that equals the printed digits does not count as recomputed, either."""
    rows = compared(values, widest).reset_index().assign(experiment="trained")
    counts = outcomes.count_outcomes(rows, "moskvichev2025")
    assert counts[outcome] == 1 and counts["recomputed and agreeing"] == counts["differing"] == 0
    assert counts["no test"] == 0
    text = outcomes.sentence(counts)
    assert "For 1, networks were trained again: " in text
    assert "trained again" not in outcomes.sentence({**counts, outcome: 0})
