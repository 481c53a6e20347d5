"""The arena: cross-fitted regret, floor, missing answers, fewer reps and ranks, all by hand."""

import html
import math
import re

import numpy as np
import pandas as pd
import pytest

from harness.configure.arena import Arena
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.evaluation import arena
from harness.workflow import drawing, drawn
from harness.workflow.experiment import Experiment

FAMILIES = {"power": ["p"], "wavy": ["q"]}
CLASSES = {"p": 2, "q": 2, "r": 2}


def rows(estimator, values, problem="p", n=100, estimand="l1", truth=0.3, notion="binary", **more):
    """Return one record per replication.

    None stands for an undefined cell. A text is the status of a record without an estimand.
    """
    base = {
        "estimator": estimator,
        "problem": problem,
        "notion": notion,
        "n": n,
        "estimand": estimand,
        "truth": truth,
        "truth_error": 0.0,
        "status": "ok",
        "kind": "point",
        "low": None,
        "high": None,
        "cpu_seconds": 0.5,
        "peak_mb": 10.0,
        "seed": 0,
    }
    lost = {"estimand": None, "truth": np.nan, "truth_error": np.nan, "value": np.nan}
    records = []
    for rep, value in enumerate(values):
        row = base | {
            "key": f"{estimator}|{problem}|{n}|{rep}|{notion}",
            "rep": rep,
            "value": value,
        }
        if value is None:
            row |= {"status": "undefined", "value": np.nan}
        elif isinstance(value, str):
            row |= {**lost, "status": value}
        records.append(row | more)
    return records


def settings_of(*parts, **more):
    records = pd.DataFrame([row for part in parts for row in part])
    return arena.settings(records, FAMILIES, CLASSES, **more)


def of(table, estimator, column, **chosen):
    for name, value in {"estimator": estimator, **chosen}.items():
        table = table[table[name].eq(value)]
    (entry,) = table[column]
    return entry


def two_by_two():
    """a is off by 0.1 on p and 0.2 on q, b by 0.2 and 0.05."""
    return settings_of(
        rows("a", [0.4, 0.2]), rows("b", [0.5, 0.1]),
        rows("a", [0.3, 0.3], "q", truth=0.1), rows("b", [0.15, 0.15], "q", truth=0.1),
    )  # fmt: skip


def test_two_estimators_on_two_problems_by_hand():
    table = two_by_two()
    columns = {
        "rmse": [0.1, 0.2, 0.2, 0.05], "regret": [1, 2, 4, 1], "bias": [0, 0, 0.2, 0.05],
        "sd": [0.02**0.5, 0.08**0.5, 0, 0], "over": [0.5, 0.5, 1, 1], "reps": [2] * 4,
    }  # fmt: skip
    for name, values in columns.items():
        assert np.allclose(table[name], values), name
    assert table["best"].tolist() == ["a", "a", "b", "b"]
    assert table["family"].tolist() == ["power", "power", "wavy", "wavy"]
    board = arena.leaderboard(table, resamples=50)
    assert np.allclose(board["regret"], [2**0.5, 2]) and board["estimator"].tolist() == ["b", "a"]
    assert np.allclose(board["worst"], [2, 4]) and board["worst_at"].tolist() == ["power", "wavy"]
    by_family = arena.leaderboard(table, by="family", resamples=50)
    assert np.allclose(by_family["regret"], [1, 2, 1, 4])
    assert by_family["rank"].tolist() == [1, 2, 1, 2]
    assert by_family[["low", "high", "rank_low", "rank_high"]].isna().all(axis=None)


def test_the_denominator_is_chosen_on_the_other_half_of_the_replications():
    """a is off by 0.1 in rep 0 and 0.4 in rep 1, b by 0.2 in both.

    Rep 0 chooses a, whose error in rep 1 is 0.4. Rep 1 chooses b, whose error in rep 0 is 0.2. The
    regret of a is sqrt(0.4 / 0.4 * 0.1 / 0.2), that of b sqrt(0.2 / 0.4 * 0.2 / 0.2).
    """
    table = settings_of(rows("a", [0.4, 0.7]), rows("b", [0.5, 0.5]))
    assert np.allclose(table["regret"], [0.5**0.5, 0.5**0.5])


def test_regret_is_not_biased_by_the_smallest_of_many_noisy_errors():
    """40 equally good estimators: the mean log regret of one of them is 0.

    The smallest of their RMSEs is 30 % too small, so that a regret without division of the
    replications would be about 1.4. The bound is three standard errors over 60 problems.
    """
    spread = {f"e{i:02}": 1.0 for i in range(40)}
    frame = random_records(np.random.default_rng(0), 60, spread, reps=8, sizes=(100,))
    problems = sorted(frame["problem"].unique())
    table = arena.settings(frame, {"power": problems}, dict.fromkeys(problems, 2))
    smallest = table.groupby("problem")["rmse"].transform("min")
    assert np.exp(np.log(table["rmse"] / smallest).mean()) > 1.3
    logs = np.log(table["regret"]).groupby(table["problem"]).mean()
    assert abs(logs.mean()) < 3 * logs.std() / 60**0.5


def test_one_replication_cannot_be_divided():
    assert settings_of(rows("a", [0.4]), rows("b", [0.5]))["regret"].isna().all()


def test_a_truth_of_zero_has_no_regret_and_an_error_of_its_own():
    """b is off by 0.03 and 0.04 on two calibrated problems, and by 0.2 on a third problem."""
    table = settings_of(
        rows("a", [0.4, 0.2]), rows("b", [0.5, 0.1]),
        rows("b", [0.03, 0.03], "q", truth=0.0), rows("b", [0.04, 0.04], "r", truth=1e-18),
    )  # fmt: skip
    assert table["calibrated"].tolist() == table["problem"].isin(["q", "r"]).tolist()
    assert np.isnan(table["regret"]).tolist() == table["calibrated"].tolist()
    board = arena.leaderboard(table, resamples=0)
    assert np.isclose(of(board, "b", "rmse"), 0.2) and of(board, "b", "settings") == 1
    assert np.isclose(of(board, "b", "rmse_calibrated"), (0.03**2 / 2 + 0.04**2 / 2) ** 0.5)
    assert np.isnan(of(board, "a", "rmse_calibrated"))


def test_monte_carlo_error_of_the_rmse():
    """Squared errors 0.01 and 0.09: RMSE sqrt(0.05), sd 0.08 / sqrt 2."""
    table = settings_of(rows("a", [0.4, 0.6]))
    assert math.isclose(table["rmse_se"][0], (0.08 / 2**0.5) / (2 * 0.05**0.5 * 2**0.5))


def test_the_floor():
    """At n = 100 the floor is 0.01 for l1 and 0.001 for l2_squared. No error below it counts as
    better.
    """
    for estimand, values in (("l1", (0.3, 0.309, 0.32)), ("l2_squared", (0.3, 0.3009, 0.302))):
        parts = (rows(name, [v, v], estimand=estimand) for name, v in zip("abc", values))
        assert np.allclose(settings_of(*parts)["regret"], [1, 1, 2]), estimand


def test_a_cell_without_an_answer_has_the_worst_error_of_its_rep():
    table = settings_of(rows("a", [0.4, "failed"]), rows("b", [0.5, 0.7]), rows("c", [None, 0.35]))
    assert of(table, "a", "failed") == 1 and of(table, "c", "undefined") == 1
    assert math.isclose(
        of(table, "a", "rmse"), ((0.01 + 0.16) / 2) ** 0.5
    )  # b is off by 0.4 in rep 1
    assert math.isclose(of(table, "c", "rmse"), ((0.04 + 0.0025) / 2) ** 0.5)
    assert math.isclose(of(table, "a", "bias"), 0.1) and of(table, "a", "reps") == 1
    assert of(arena.leaderboard(table, resamples=20), "a", "failed") == 1


def test_what_a_lost_cell_costs_is_at_most_what_an_answer_in_range_can():
    """The truth is 0.3, so that a value in [0, 1] is off by at most 0.7."""
    table = settings_of(rows("a", ["failed", 0.3]), rows("wild", [9.3, 0.3]))
    assert math.isclose(of(table, "a", "rmse"), (0.49 / 2) ** 0.5)


def test_an_estimator_that_always_fails_has_regret_and_one_that_never_can_has_none():
    """Failed everywhere on q, it has the worst error there.

    Skipped there, it is not applicable, and 50 % give no rank.
    """
    for status, regret in (("failed", 4.0), ("skipped", np.nan)):
        table = settings_of(
            rows("a", [0.4, 0.2]),
            rows("b", [0.5, 0.1]),
            rows("d", [0.3, 0.3]),
            rows("d", [status, status], "q"),
            rows("a", [0.3, 0.3], "q", truth=0.1),
            rows("b", [0.15, 0.15], "q", truth=0.1),
        )
        assert np.isclose(of(table, "d", "regret", problem="q"), regret, equal_nan=True)
        board = arena.leaderboard(table, resamples=20)
        assert of(board, "d", "share") == (1.0 if status == "failed" else 0.5)
        assert np.isnan(of(board, "d", "rank")) == (status == "skipped")
        assert of(board, "d", status) == 2


def test_a_bound_that_fails_everywhere_in_a_setting_stays_a_bound():
    table = settings_of(
        rows("a", [0.4, 0.2]), rows("bound", [0.5, 0.5], kind="upper", high=0.5),
        rows("a", [0.4, 0.2], "q"), rows("bound", ["failed", "failed"], "q"),
    )  # fmt: skip
    assert table.loc[table["estimator"].eq("bound"), "kind"].tolist() == ["upper", "upper"]
    assert table.loc[table["estimator"].eq("bound"), "regret"].isna().all()


def test_a_skip_for_want_of_the_notion_is_no_row():
    table = settings_of(
        rows("a", [0.4, 0.2]),
        rows("b", [0.5, 0.1]),
        rows("b", ["skipped"], notion="top_label"),
        rows("a", [0.4], notion="top_label"),
    )
    assert table.loc[table["notion"].eq("top_label"), "estimator"].tolist() == ["a"]


def test_oracles_bounds_and_own_estimators_are_not_the_best_published():
    table = settings_of(
        rows("a", [0.4, 0.2]), rows("oracle", [0.31, 0.29]), rows("best", [0.32, 0.28]),
        rows("bound", [0.3, 0.3], kind="upper", high=0.3),
        rows("variational_isotonic", [0.3, 0.3]),
    )  # fmt: skip
    assert set(table["best"].dropna()) == {"a"}
    assert np.isnan(of(table, "bound", "regret")) and of(table, "bound", "coverage") == 1.0
    assert np.isclose(of(table, "best", "regret"), 0.2)
    assert np.isclose(of(table, "oracle", "regret"), 0.1)
    board = arena.leaderboard(table, resamples=20)
    assert of(board, "best", "rank") == 1 and np.isnan(of(board, "oracle", "rank"))
    assert not {"bound", "variational_isotonic"} & set(board["estimator"])
    alone = settings_of(rows("a", [0.4, 0.4]), rows("mine", [0.3, 0.3]), published=["a"])
    assert alone["best"].eq("a").all()


def test_a_setting_with_an_oracle_alone_has_no_best():
    assert settings_of(rows("oracle", [0.31, 0.29]))["best"].isna().all()


def test_an_estimator_with_fewer_reps_is_compared_on_those_that_it_has():
    """Reps 0 and 1 are hard: a has 0.2 there and 0.02 later. d, off by 0.2 in them, equals a.

    e is off by 0.001 in rep 0 alone. It is never the best, because it lacks replications.
    """
    table = settings_of(
        rows("a", [0.5, 0.5, 0.32, 0.32]), rows("b", [0.7, 0.7, 0.4, 0.4]),
        rows("d", [0.5, 0.5]), rows("e", [0.301]),
    )  # fmt: skip
    assert math.isclose(of(table, "d", "rmse"), 0.2) and math.isclose(of(table, "d", "regret"), 1.0)
    assert set(table["best"]) == {"a"} and math.isclose(of(table, "a", "regret"), 1.0)
    assert math.isclose(of(table, "e", "regret"), 0.05)  # the floor 0.01 against 0.2


def test_records_in_any_order_give_the_same():
    frame = random_records(np.random.default_rng(0), 4, {"a": 1.0, "b": 1.3, "best": 0.9})
    frame.loc[frame.index[5], ["status", "value"]] = ["undefined", np.nan]
    problems = frame["problem"].unique()
    families = {"power": problems[:2], "wavy": problems[2:]}
    tables = [
        arena.settings(records, families, dict.fromkeys(problems, 2))
        for records in (frame, _with_categories(frame.sample(frac=1.0, random_state=1)))
    ]
    arrays = ["values", "errors", "lost"]
    plain = (table.drop(columns=arrays) for table in tables)
    pd.testing.assert_frame_equal(*plain, check_dtype=False)
    tables[1] = tables[1].sample(frac=1.0, random_state=2)
    boards = (arena.leaderboard(table, by="n", resamples=30) for table in tables)
    pd.testing.assert_frame_equal(*boards, check_dtype=False)
    assert arena.better(tables[0], "a", "b") == arena.better(tables[1], "a", "b")


def _with_categories(frame):
    """Return the records with categories as in the stored baseline, one of which does not occur."""
    names = ["problem", "notion", "estimator", "estimand", "kind", "status"]
    frame = frame.astype(dict.fromkeys(names, "category"))
    return frame.assign(estimator=frame["estimator"].cat.add_categories(["absent"]))


def random_records(rng, problems, spread, reps=10, sizes=(100, 400), between=0.0):
    """Values with sd spread / sqrt(n), correlated over estimators.

    `between` varies an estimator's spread over problems.
    """
    names, shape = list(spread), (problems, len(spread), len(sizes), reps)
    index = pd.MultiIndex.from_product(
        [[f"p{i}" for i in range(problems)], names, sizes, range(reps)]
    )
    frame = index.to_frame(index=False, name=["problem", "estimator", "n", "rep"])
    scale = np.array(list(spread.values())) * np.exp(between * rng.normal(size=shape[:2]))
    noise = 0.5 * rng.normal(size=(problems, 1, 1, reps)) + rng.normal(size=shape)
    frame["value"] = 0.3 + (scale[:, :, None, None] * noise).ravel() / np.sqrt(frame["n"])
    return frame.assign(
        key=frame.index.astype(str),
        notion="binary",
        estimand="l1",
        truth=0.3,
        truth_error=0.0,
        status="ok",
        kind="point",
        low=np.nan,
        high=np.nan,
        cpu_seconds=0.1,
        peak_mb=10.0,
    )


def test_one_wide_family_makes_wide_intervals():
    """Log regrets of a: 0 in one family and log 4 in the other; t with one degree of freedom."""
    board = arena.leaderboard(two_by_two(), resamples=200)
    half = 12.706 * np.log(2)
    assert np.isclose(of(board, "a", "low"), np.exp(np.log(2) - half), rtol=1e-3)
    assert np.isclose(of(board, "a", "high"), np.exp(np.log(2) + half), rtol=1e-3)
    assert (of(board, "a", "rank_low"), of(board, "a", "rank_high")) == (1, 2)


def test_a_family_counts_once_however_many_problems_it_has():
    """a is twice as bad as b on p, and half as bad on three problems of another family."""
    others = ["q", "r", "s"]
    parts = [rows("a", [0.5, 0.1]), rows("b", [0.4, 0.2])]
    for name in others:
        parts += [rows("a", [0.4, 0.2], name), rows("b", [0.5, 0.1], name)]
    records = pd.DataFrame([row for part in parts for row in part])
    table = arena.settings(records, {"power": ["p"], "wavy": others}, dict.fromkeys("pqrs", 2))
    board = arena.leaderboard(table, resamples=0)
    assert np.allclose(board["regret"], 2**0.5) and board["families"].tolist() == [2, 2]


def test_mixtures_are_refused():
    table = settings_of(rows("a", [0.4, 0.2]), rows("b", [0.5, 0.1]))
    with pytest.raises(BadInputError, match="family"):
        arena.leaderboard(table, by="notion")
    with pytest.raises(BadInputError, match="classes"):
        settings_of(rows("a", [0.4], "z"))
    with pytest.raises(BadInputError, match="a on p"):
        settings_of(rows("a", [0.4]), rows("a", [0.5]))


def test_power_is_of_p_values():
    tests = rows("t", [0.01, 0.2, 0.04, 0.9], estimand="p_value", truth=np.nan)
    table = settings_of(tests, rows("a", [0.4]))
    assert of(table, "t", "power") == 0.5
    assert np.isnan(of(table, "a", "power")) and np.isnan(of(table, "t", "regret"))


def test_coverage_and_width():
    second = [r | {"rep": 1} for r in rows("a", [0.2], low=0.1, high=0.25)]
    table = settings_of(rows("a", [0.4], low=0.2, high=0.5), second)
    assert table["coverage"].tolist() == [0.5] and np.isclose(table["width"][0], (0.3 + 0.15) / 2)


WRONG = (
    [],
    {"families": []},
    {"families": {"a": "p"}},
    {"other": {}},
    {"families": {"a": ["p"], "b": ["p"]}},
)


@pytest.mark.parametrize("wrong", WRONG)
def test_families_are_checked(wrong):
    with pytest.raises(BadInputError, match="arena"):
        Arena.from_value(wrong)
    assert Arena.from_value({"families": "arena"}) and Arena.from_value(None) is None


def test_every_problem_of_the_arena_has_one_family_and_is_in_one_part():
    """The parts name their problems, the families all of them."""
    parts = [compose([f"experiment={name}"]) for name in ("arena", "arena_hundred")]
    named = [problem for part in parts for problem in part.problem]
    assert sorted(arena.map_families(parts[0].arena.families)) == sorted(named)
    assert arena.read_families(parts[1].arena) == parts[0].arena.families


@pytest.mark.slow
def test_a_small_arena_from_cells_to_its_page(tmp_path):
    """The page is self-contained, states the rule, and is drawn once."""
    experiment = Experiment.of(
        [
            "experiment=arena",
            "problem=[beta_calibrated,beta_overconfident,dirichlet3_overconfident]",
            "estimator=[binned15,kmeans15,debiased15,oracle]",
            "n=[50,200]",
            "reps=3",
            "jobs=1",
            f"out={tmp_path}",
        ]
    )
    experiment.compute(quiet=True)
    frame = experiment.records.read()
    files, _, _ = drawing.render(experiment, frame)
    text = files[-1].read_text()
    assert files[-1].name == f"{experiment.identity.stem}.html" and drawn.is_drawn(
        experiment, frame
    )
    assert arena.RULE.split(";")[0] in html.unescape(text) and "<img" in text
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text).lower().split()
    board = pd.read_csv(
        tmp_path / "variations" / experiment.identity.stem / f"{experiment.identity.stem}.csv"
    )
    assert set(board["notion"]) == {"binary", "top_label", "canonical"}
    assert board["regret"].gt(0).all()
    terminal = drawing.wide_table(experiment, frame)
    assert list(terminal.columns) == ["rank", "estimator", "mean regret"]
