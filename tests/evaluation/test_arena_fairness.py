"""Blocks that were not run, verdicts under other rules, and the median of three estimators."""

import itertools

import numpy as np
import pandas as pd
import pytest
from arena_records import records

from harness.evaluation import arena
from harness.evaluation.arena import blocks
from harness.evaluation.arena.sensitivity import AS_SHOWN, ON_TEST, ONE_CORRECTION, sensitivity
from harness.evaluation.arena.simple_rule import ALL_N, RULE_ID, TIE, medians, simple_rules

NAMES = ("power", "wavy", "mixed", "stepped", "local", "sparse", "ties", "rough", "tail", "cubic")
FAMILIES = {name: [f"{name}_k2", f"{name}_k2_calibrated"] for name in NAMES}
CLASSES = {problem: 2 for problems in FAMILIES.values() for problem in problems}
DEVELOPMENT = list(NAMES[:4])
SCALES = {"best": 0.5, "binned15": 2.0, "debiased15_l1": 1.0, "kmeans15": 0.6, "sweep_mass": 0.6,
          "corp": 0.6, "oracle": 0.1}  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    return records(FAMILIES, scales=SCALES, reps=20)


@pytest.fixture(scope="module")
def settings(frame):
    table = arena.settings(frame, FAMILIES, CLASSES)
    return table[table["estimand"].isin(arena.MAIN)]


def test_an_oracle_is_no_estimator_and_no_rival(settings):
    names = settings["estimator"]
    assert "oracle" in set(names)
    assert arena.count_estimators(names) == names.nunique() - 1
    assert "oracle" not in set(arena.rivals(settings, DEVELOPMENT)["estimator"])
    named = arena.recommendations(settings, DEVELOPMENT)["confidence_set"]
    assert not any("oracle" in names for names in named)


def test_blocks_without_cells_are_missing_and_their_cost_decides(frame):
    """corp has no n = 1,000, and kmeans15 no n = 50 and 1,000."""
    kept = ~(frame["estimator"].eq("corp") & frame["n"].eq(1000))
    kept &= ~(frame["estimator"].eq("kmeans15") & frame["n"].isin((50, 1000)))
    kept &= ~(frame["estimator"].eq("oracle") & frame["n"].eq(50))  # no estimator: not told
    table = arena.settings(frame[kept], FAMILIES, CLASSES)
    absent = blocks.missing(table)
    cells = 20 * 20  # problems and replications
    assert absent.to_numpy().tolist() == [
        ["corp", "binary", 1000, cells], ["kmeans15", "binary", 50, cells],
        ["kmeans15", "binary", 1000, cells],
    ]  # fmt: skip
    limit = 60.0 * blocks.LIMIT / cells  # CPU seconds of a cell at the limit
    measured = absent.assign(cpu_seconds=[1.01 * limit, 0.99 * limit, np.nan], reason=["", "", "s"])
    states = blocks.states(table, measured)
    assert states["state"].tolist() == [blocks.COST, blocks.YET, blocks.COST]
    assert states["minutes"].tolist() == pytest.approx([10.1, 9.9, np.inf])
    unknown = blocks.states(table, measured[:0])
    assert unknown["state"].eq(blocks.YET).all() and unknown["minutes"].isna().all()
    assert blocks.count_minutes(states) == "10 CPU minutes"
    assert blocks.count_minutes(unknown) == "at least 0 CPU minutes"


def test_the_rule_as_shown_counts_the_lines_of_the_recommendations(settings):
    shown = arena.recommendations(settings, DEVELOPMENT)
    table = sensitivity(settings, DEVELOPMENT).set_index("rule")
    for verdict in ("better", "worse"):
        assert table.loc[AS_SHOWN, verdict] == shown["verdict"].eq(verdict).sum()
    assert table["lines"].eq(len(shown)).all()
    logs = np.log(shown["ratio"]).groupby(shown["estimand"]).mean()
    ends = table.loc[AS_SHOWN, ["smallest", "largest"]].tolist()
    assert ends == pytest.approx(np.exp([logs.min(), logs.max()]))
    assert table.loc[ONE_CORRECTION, "better"] <= table.loc[AS_SHOWN, "better"]
    # A rival that is chosen where it is compared has at most the mean error of the other choice.
    assert table.loc[ON_TEST, "largest"] >= table.loc[AS_SHOWN, "largest"]


def test_the_median_is_that_of_numpy_and_keeps_missing_values(settings):
    members = ("binned15", "corp", "kmeans15")
    rows = medians(settings, members)
    place = ["problem", "n", "estimand"]
    row = rows.iloc[0]
    parts = [
        settings[settings["estimator"].eq(name)].set_index(place).loc[tuple(row[place])]
        for name in members
    ]
    expected = np.median([part["values"] for part in parts], axis=0) - row["truth"]
    assert row["errors"] == pytest.approx(expected)
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean(expected**2)))
    holes = [values.copy() for values in settings["values"]]
    for values, name in zip(holes, settings["estimator"]):
        values[0] = np.nan if name == "corp" else values[0]
    assert all(np.isnan(e[0]) for e in medians(settings.assign(values=holes), members)["errors"])


def test_three_estimators_are_chosen_on_the_development_families_alone(settings):
    table = simple_rules(settings, DEVELOPMENT)
    l1 = table[table["estimand"].eq("l1")].set_index("n")
    assert sorted(l1.loc[ALL_N, "members"]) == ["corp", "kmeans15", "sweep_mass"]
    test = ~settings["family"].isin(DEVELOPMENT)
    worse = [values + 1.0 if is_test else values
             for values, is_test in zip(settings["values"], test)]  # fmt: skip
    changed = simple_rules(settings.assign(values=worse), DEVELOPMENT)
    assert changed["members"].tolist() == table["members"].tolist()
    assert (changed["ratio"] > table["ratio"]).all() and not changed["recommended"].any()
    # On the test families the ratio is that of the errors, as everywhere in the arena.
    tested = settings[test & settings["estimand"].eq("l1")]
    both = pd.concat([tested, medians(tested, l1.loc[ALL_N, "members"])])
    assert l1.loc[ALL_N, "ratio"] == pytest.approx(arena.better(both, RULE_ID, "best").ratio)


def test_a_rule_is_recommended_where_its_own_ratio_is_a_tie(settings):
    """The mean over n hides an n at which the rule is worse."""
    first = settings["n"].min()
    # `best` becomes much worse at the first n, and better at the others.
    factors = np.where(settings["n"].eq(first), 1000.0, 0.3)
    factors = np.where(settings["estimator"].eq("best"), factors, 1.0)
    scaled = settings.assign(
        rmse=factors * settings["rmse"],
        errors=[factor * e for factor, e in zip(factors, settings["errors"])],
    )
    table = simple_rules(scaled, DEVELOPMENT)
    at_n = table[table["n"].ne(ALL_N)]
    assert at_n["recommended"].eq(at_n["ratio"] <= TIE).all()
    assert at_n["recommended"].eq(at_n["n"].eq(first)).all()
    together = table[table["n"].eq(ALL_N)]
    assert (together["ratio"] < 1.0).all() and not together["recommended"].any()


def test_the_chosen_three_have_the_smallest_mean_log_rmse(settings):
    board = settings[settings["estimand"].eq("l1") & settings["family"].isin(DEVELOPMENT)]
    names = [name for name in SCALES if arena.is_published(name)]
    (chosen,) = simple_rules(settings[settings["estimand"].eq("l1")], DEVELOPMENT)["members"].map(
        frozenset
    ).unique()  # fmt: skip
    losses = {}
    for three in itertools.combinations(names, 3):
        rows = medians(board[~board["calibrated"]], three)
        logs = np.log(np.maximum(rows["rmse"], arena.floors(rows)))
        losses[frozenset(three)] = logs.groupby([rows["n"], rows["family"]]).mean().mean()
    assert chosen == min(losses, key=losses.get)


def test_a_board_of_two_published_estimators_has_no_rule(settings):
    few = settings[settings["estimator"].isin(("best", "corp", "kmeans15"))]
    assert simple_rules(few, DEVELOPMENT).empty
