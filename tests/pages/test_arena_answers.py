"""The arena's answers as texts: one line per notion, estimand and n."""

import math

import numpy as np
import pandas as pd
import pytest

import harness
from harness.pages import overview
from harness.pages.arena import answers as arena_answers
from harness.pages.arena import bounds as arena_bounds

SIDE = {"rmse": 0.0123, "rmse_calibrated": 0.004, "bias": -0.002, "relative": 0.93,
        "regret": 1.2, "low": 1.1, "high": 1.3, "cpu": 0.023}  # fmt: skip


def row(n=200, notion="binary", estimand="l1", **changed):
    """A row of `arena.recommendations`."""
    return {
        "notion": notion, "estimand": estimand, "n": n,
        "own": "best", **{f"own_{name}": value for name, value in SIDE.items()},
        "rival": "tcal", **{f"rival_{name}": value for name, value in SIDE.items()},
        "ratio": 0.8, "low": 0.7, "high": 0.9, "p_value": 0.001, "p_holm": 0.004,
        "verdict": "better", "families": 18, "confidence_set": ("best", "tcal", "a", "b", "c"),
        "simulated_n": 1234.5, **changed,
    }  # fmt: skip


def lines(*rows):
    (section,) = arena_answers.sections(pd.DataFrame(rows))
    return [line for board in section["boards"] for line in board["lines"]]


def test_a_line_has_both_estimators_the_ratio_and_the_set():
    (line,) = lines(row())
    own = {"name": "best", "rmse": "0.012", "zero": "0.004", "bias": "−0.002 (93 %)",
           "cost": "23 ms"}  # fmt: skip
    assert line["own"] == own and line["rival"] == own | {"name": "tcal"}
    assert line["ratio"] == "0.80 [0.70, 0.90]" and line["p"] == "p = 0.004"
    assert (line["tone"], line["set"], line["more"]) == ("good", ["best", "tcal", "a"], ["b", "c"])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "better: its error is 20 % smaller"),
        ({"verdict": "worse", "ratio": 1.3}, "worse: its error is 30 % larger"),
        ({"verdict": "worse", "ratio": 2.5}, "worse: its error is 2.5 times as large"),
        ({"verdict": "undecided", "high": 1.2}, "undecided: 30 % smaller to 20 % larger"),
        ({"verdict": "undecided", "families": 1}, "undecided: only 1 test family"),
        ({"verdict": "undecided", "families": 4}, "undecided: only 4 test families"),
        ({"verdict": "undecided", "ratio": math.nan, "families": 0}, "not compared"),
    ],
)
def test_verdicts_in_words(changed, words):
    assert arena_answers.describe_verdict(row(**changed)).replace("\xa0", " ") == words


def test_the_order_is_that_of_notions_estimands_and_n():
    rows = [row(1000), row(50), row(50, estimand="l2_squared", simulated_n=math.nan),
            row(50, "canonical"), row(50, "top_label")]  # fmt: skip
    sections = arena_answers.sections(pd.DataFrame(rows))
    assert [section["notion"] for section in sections] == ["binary", "top_label", "canonical"]
    first, second = sections[0]["boards"]
    assert [line["n"] for line in first["lines"]] == [50, 1000]
    assert (first["estimand"], second["estimand"]) == ("l1", "l2_squared")


@pytest.mark.parametrize(
    ("needed", "words"),
    [(1234.5, "about 1,200 samples"), (math.inf, "more than 5,000 samples"), (math.nan, "")],
)
def test_the_n_for_an_error_of_a_hundredth(needed, words):
    rows = [row(200, simulated_n=needed), row(5000, simulated_n=needed)]
    (section,) = arena_answers.sections(pd.DataFrame(rows))
    sentence = section["boards"][0]["needed"]
    assert words in sentence and bool(sentence) == bool(words)


def test_records_without_rival_or_without_answers():
    nothing = {f"rival_{name}": math.nan for name in SIDE}
    compared = {"ratio": math.nan, "low": math.nan, "high": math.nan, "p_holm": math.nan}
    alone = row(rival=None, **nothing, **compared, verdict="undecided", families=0)
    (line,) = lines(alone | {"confidence_set": ()})
    assert line["rival"] is None and line["own"]["name"] == "best" and line["set"] == []
    assert (line["verdict"], line["ratio"], line["p"]) == ("not compared", "–", "")
    empty = pd.DataFrame([row()])[:0]
    assert arena_answers.sections(empty) == [] and arena_answers.first_lines(empty) == []


def test_the_line_of_python_computes_the_simple_rule():
    members = ("binned15", "debiased15_l1", "kde_top_label")
    place = {"notion": "classwise", "estimand": "l1", "members": members}
    interval = {"low": 0.8, "high": 1.0}
    simple = pd.DataFrame([{**place, **interval, "n": n, "ratio": ratio}
                           for n, ratio in ((0, 0.9), (200, 1.2), (1000, 0.7))])  # fmt: skip
    rule = arena_answers.describe_simple(simple, "classwise", "l1")
    assert rule["ratio"] == "0.90 [0.80, 1.00]" and rule["recommended"] == "n = 1,000"
    assert rule["by_n"] == "1.20 at n = 200, 0.70 at n = 1,000"
    p, y = harness.load_problem("dirichlet3_overconfident").sample(100, np.random.default_rng(0))
    value = eval(rule["code"], {"np": np, "harness": harness, "p": p, "y": y})
    values = [harness.estimate(name, p, y, "classwise")["l1"].value for name in members]
    assert value == sorted(values)[1]
    worse = arena_answers.describe_simple(simple.assign(ratio=1.04), "classwise", "l1")
    assert worse["recommended"] == ""
    assert arena_answers.describe_simple(simple, "binary", "l1") is None
    assert arena_answers.describe_simple(None, "classwise", "l1") is None


def test_the_first_page_of_the_site_reads_the_stored_table(tmp_path):
    assert overview.answers(tmp_path) == []  # no stored results
    rows = [row(n, notion) for notion in ("canonical", "binary") for n in (50, 200, 1000)]
    rows.append(row(200, estimand="l2_squared"))
    (tmp_path / "arena").mkdir()
    path = tmp_path / "arena" / "index_recommendations.csv"
    arena_answers.table(pd.DataFrame(rows)).to_csv(path, index=False)
    assert pd.read_csv(path)["confidence_set"].eq("best tcal a b c").all()
    shown = [(line["notion"], line["n"]) for line in overview.answers(tmp_path)]
    assert shown == [("binary", 200), ("binary", 1000), ("canonical", 200), ("canonical", 1000)]


def test_bounds_and_intervals_are_texts_by_notion():
    place = {"estimand": "l1", "n": 200, "estimator": "best", "coverage": 0.96}
    bounds = pd.DataFrame([
        {**place, "notion": notion, "kind": "lower", "valid": 0.975, "gap": 0.0321,
         "cpu_seconds": 0.002} for notion in ("top_label", "binary")
    ])  # fmt: skip
    first, second = arena_bounds.bound_sections(bounds)
    assert [first["name"], second["name"]] == ["binary", "top-label"]
    assert first["rows"] == [["best", "lower", "L1 error", "200", "98 %", "96 %", "0.032", "2 ms"]]
    assert len(first["rows"][0]) == len(arena_bounds.BOUND_HEADS)
    entry = {**place, "notion": "binary", "lowest": 0.5, "lowest_family": "dead_zone",
             "share": 0.9, "width": 0.1, "relative_width": 1.5}  # fmt: skip
    (section,) = arena_bounds.interval_sections(pd.DataFrame([entry]))
    texts = ["best", "L1 error", "200", "96 %", "50 % (dead zone)", "90 %", "0.1", "1.5"]
    assert section["rows"] == [texts] and len(texts) == len(arena_bounds.INTERVAL_HEADS)
    assert arena_bounds.bound_sections(bounds[:0]) == []
