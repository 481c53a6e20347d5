"""The leaderboard of the arena's page: its rows for every combination of filters, in a browser."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from arena_records import SCALES, records
from browser import chromium, sort_by
from test_arena_page import DEVELOPMENT, FAMILIES, content_of, page_of

from harness.evaluation import arena
from harness.evaluation.arena import blocks
from harness.pages.arena import leaderboard

SECONDS = {"binned15": 1e-4, "debiased15_l1": 1e-2, "kmeans15": 2e-2, "best": 3e-2, "oracle": 1e-3}
FEW = {name: FAMILIES[name] for name in DEVELOPMENT}


def timed(families=FAMILIES, **chosen):
    """Records in which every estimator has its own CPU time."""
    frame = records(families, ("binary", "top_label"), **chosen)
    return frame.assign(cpu_seconds=frame["estimator"].map(SECONDS).fillna(1.0))


@pytest.fixture(scope="module", autouse=True)
def few_resamples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaderboard, "RESAMPLES", 20)
        yield


@pytest.fixture(scope="module")
def content():
    return content_of(timed(FEW))


def test_a_leaderboard_of_every_combination_of_filters(content):
    boards = leaderboard.filtered(content)
    sizes, names = ("50", "200", "1000"), sorted(FEW)
    assert set(boards.groupby(["family", "n", "k"]).groups) == {
        ("all", "all", "all"),
        *((name, "all", "all") for name in names),
        *(("all", n, k) for n in sizes for k in ("all", "2")),
        ("all", "all", "2"),
    }
    place = ["notion", "family", "estimand", "estimator"]
    row = boards[boards["n"].eq("all") & boards["k"].eq("all")].set_index(place)
    row = row.loc[("binary", "power", "l1", "binned15")]
    settings = content.settings.set_index(place).sort_index()
    regrets = settings.loc[("binary", "power", "l1", "binned15"), "regret"].dropna()
    assert row["regret"] == pytest.approx(math.exp(np.log(regrets).mean()))
    assert row["settings"] == len(regrets) == 3  # the calibrated problem has no regret
    assert "best_lower" not in set(boards["estimator"])  # no bound among points


def test_the_rows_of_the_page_are_those_of_the_leaderboards(content):
    section = leaderboard.section(content)
    rows = json.loads(json.dumps(section["rows"], allow_nan=False))
    assert sum(map(len, rows.values())) == len(leaderboard.filtered(content))
    first = content.board[content.board["notion"].eq("binary")].iloc[0]
    assert section["first"] == "binary|l1|all|all|all"
    assert rows["binary|l1|all|all|all"][0][1:] == leaderboard.format_row(first.to_dict())
    marks = {name: mark for mark, name, *_ in rows["binary|l1|all|all|all"]}
    assert marks["oracle"] == "reference" and marks["binned15"] == "frontier"  # the cheapest
    assert [name for name, _ in section["filters"]["family"]][0] == "all"


def test_a_leaderboard_of_one_n_names_what_was_not_run_there():
    frame = timed(FEW)
    left_out = frame["estimator"].eq("kmeans15") & frame["n"].eq(200)
    left_out &= frame["notion"].eq("binary")
    content = content_of(frame[~left_out])
    measured = pd.DataFrame([("kmeans15", "binary", 200, 1.0, "")],
                            columns=[*blocks.KEYS, "cpu_seconds", "reason"])  # fmt: skip
    absent = blocks.states(content.every, measured.assign(cpu_seconds=3600.0))
    rows = leaderboard.section(content, leaderboard.BY_N, absent)["rows"]
    lines = {key: [row for row in part if row[0] == "absent"] for key, part in rows.items()}
    assert {key for key, part in lines.items() if part} == {
        "binary|l1|all|200|all", "binary|l2_squared|all|200|all"
    }  # fmt: skip
    ((_, name, rank, regret, *others),) = lines["binary|l1|all|200|all"]
    assert (name, rank, set(others)) == ("kmeans15", "–", {"–"})
    assert regret.startswith(blocks.COST) and len(others) == len(leaderboard.HEADS) - 3


def test_the_frontier_has_what_no_ranked_estimator_beats(content):
    board = content.board[content.board["notion"].eq("binary") & content.board["estimand"].eq("l1")]
    rows = leaderboard.add_frontier(board).set_index("estimator")
    ranked = rows[rows["rank"].notna()]
    for name, row in rows.iterrows():
        cheaper = ranked[ranked["cpu_seconds"].lt(row["cpu_seconds"])]
        is_beaten = cheaper["regret"].le(row["regret"]).any()
        assert row["frontier"] == (name in ranked.index and not is_beaten), name


@pytest.mark.slow
def test_the_table_follows_the_filters(tmp_path):
    frame = timed(FEW, sizes=(50, 200), reps=4)
    files, _ = page_of(frame, tmp_path, families=FEW, development=["power"])
    content = content_of(frame)
    texts = "[...r.cells].map(c => c.innerText.trim())"
    shown = f"[...document.querySelectorAll('#board tbody tr')].map(r => {texts})"
    with chromium() as browser:
        with browser.opened(files[-1]) as seen:
            page = seen.page
            assert "4 estimators, 4 of them ranked" in page.inner_text("#board-summary")
            page.select_option("select[name=family]", "mixed")
            assert {row[11] for row in page.evaluate(shown)} == {"2 (100 %)"}
            assert "family=mixed" in page.url
            page.select_option("select[name=n]", "200")  # family and n cannot be combined
            assert page.evaluate(shown) == []
            assert "There is no such leaderboard" in page.inner_text("#board-summary")
            page.select_option("select[name=family]", "all")
            rows = page.evaluate(shown)
            (best,) = (row for row in rows if row[0].startswith("best"))
            board = arena.leaderboard(content.settings, "n", resamples=0)
            chosen = board[board["notion"].eq("binary") & board["estimand"].eq("l1")]
            chosen = chosen[chosen["n"].eq(200) & chosen["estimator"].eq("best")]
            assert best[2:4] == leaderboard.format_row(chosen.iloc[0].to_dict())[2:4]
            sort_by(page, "#board", 11, "ascending")  # by CPU time
            assert [row[0].split()[0] for row in page.evaluate(shown)] == sorted(
                SCALES, key=SECONDS.get
            )
            seen.assert_quiet()
        address = f"{files[-1]}#notion=top_label&estimand=l2_squared&n=200"
        with browser.opened(address, size="phone", dark=True) as seen:
            values = {name: seen.page.input_value(f"select[name={name}]")
                      for name in ("notion", "estimand", "family", "n")}  # fmt: skip
            assert values == {
                "notion": "top_label", "estimand": "l2_squared", "family": "all", "n": "200"
            }  # fmt: skip
            assert len(seen.page.evaluate(shown)) == 5 and seen.overflow() <= 0
            seen.assert_quiet()
