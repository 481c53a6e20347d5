"""The site's pages from the arena's numbers.

leaderboards, cards of estimators, pages of problems.
"""

import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from browser import chromium, sort_by

from harness.common.paths import CHECKOUT
from harness.configure import catalogue
from harness.evaluation import arena
from harness.pages import (
    arena_data,
    arena_tables,
    assets,
    build,
    costs,
    docstrings,
    estimator_bias,
    estimator_cards,
    failures,
    leaderboard,
    problem_pages,
)
from harness.pages.sources import Sources
from harness.pages.templating import environment
from harness.plan import components
from harness.records.truths import read_truths

QUESTIONS = yaml.safe_load((Path(__file__).parents[1] / "site_questions.yaml").read_text())
PROBLEMS = {  # {problem: (family, truth)}; power is a development family of the arena
    "beta_calibrated": ("power", 0.0),
    "beta_overconfident": ("power", 0.14),
    "beta_wavy": ("cubic", 0.04),
}
BIASES = {"binned15": 0.05, "debiased15_l1": -0.01, "best": 0.002, "oracle": 0.0}
SECONDS = {"binned15": 1e-4, "debiased15_l1": 1e-2, "best": 3e-2, "oracle": 1e-3}


def cells():
    """Records of four estimators, and of an interval that holds in one of two replications."""
    rng = np.random.default_rng(0)
    rows = []
    for problem, (_, truth) in PROBLEMS.items():
        for n in (200, 1000):
            place = {"problem": problem, "n": n}
            for rep in range(4):
                for name, bias in BIASES.items():
                    for estimand, true in (("l1", truth), ("l2_squared", truth**2)):
                        value = true + bias + 0.005 * rng.standard_normal()
                        cost = SECONDS[name] * n / 200
                        rows.append({**place, "estimator": name, "estimand": estimand, "rep": rep,
                                     "value": value, "kind": "point", "truth": true,
                                     "cpu_seconds": cost})  # fmt: skip
                high = truth + (0.1 if rep % 2 else -0.1)
                rows.append({**place, "estimator": "certified_interval", "estimand": "l1",
                             "rep": rep, "value": truth, "low": truth - 0.2, "high": high,
                             "kind": "interval", "truth": truth, "cpu_seconds": 0.001})  # fmt: skip
    return pd.DataFrame(rows).assign(notion="binary", status="ok")


@pytest.fixture(scope="module")
def small():
    families = {"power": ["beta_calibrated", "beta_overconfident"], "cubic": ["beta_wavy"]}
    settings = arena.settings(cells(), families, dict.fromkeys(PROBLEMS, 2))
    return arena_data.ArenaResults(settings, families, {}, 120)


@pytest.fixture()
def here(small, monkeypatch, tmp_path):
    """Sources of a few estimators and problems, in an arena that is the small one."""
    monkeypatch.setattr(arena_data, "read", lambda: small)
    estimators, problems = ("binned15", "skce", "peer_netcal_ece15"), ("beta_wavy", "fitted")
    return Sources(tmp_path, tmp_path / "site", estimators=estimators, problems=problems)


def overall(small, estimand="l1"):
    boards = arena_data.filtered_by(small.boards)
    return boards[boards["estimand"].eq(estimand)]


def test_a_leaderboard_of_every_combination_of_filters(small):
    boards = small.boards
    assert set(boards.groupby(["family", "n", "k"]).groups) == {
        (family, n, k)
        for family in ("all", "power", "cubic")
        for n in ("all", "200", "1000")
        for k in ("all", "2")
        if k == "all" or family == "all"
    }
    place = ["family", "n", "k", "estimand", "estimator"]
    row = boards.set_index(place).loc[("power", "200", "all", "l1", "binned15")]
    settings = small.settings.set_index(["family", "n", "estimand", "estimator"]).sort_index()
    regrets = settings.loc[("power", 200, "l1", "binned15"), "regret"]
    assert row["regret"] == pytest.approx(math.exp(np.log(regrets).mean()))
    assert (row["settings"], row["ranked"]) == (1, 3)  # the calibrated problem has no regret
    assert "certified_interval" not in set(boards["estimator"])  # no bound among points
    assert boards.loc[boards["estimator"].eq("oracle"), "rank"].isna().all()


def test_the_rows_of_the_page_are_those_of_the_leaderboards(small):
    data = json.loads(json.dumps(leaderboard.packed(small.boards), allow_nan=False))
    assert sum(map(len, data["rows"].values())) == len(small.boards)
    row = dict(zip(data["fields"], data["rows"]["l1|all|all|all"][0]))
    first = overall(small).sort_values("rank").iloc[0]
    assert data["estimators"][row["estimator"]] == first["estimator"] and row["rank"] == 1
    assert row["regret"] == pytest.approx(first["regret"], rel=0.005)
    assert data["at"][row["worst_at"]] == first["worst_at"]
    assert "l1|power|200|all" in data["rows"] and "l1|power|all|2" not in data["rows"]


def test_the_frontier_holds_what_nothing_ranked_beats(small):
    rows = leaderboard.with_frontier(overall(small)).set_index("estimator")
    assert rows.loc["binned15", "frontier"] == 1 and rows.loc["oracle", "frontier"] == 0
    text = leaderboard.alt(rows.reset_index())
    assert "3 ranked" in text and "binned15" in text and "oracle" not in text


def test_the_arenas_pages(here):
    pages = dict(leaderboard.pages(here))
    picture = "arena/pictures/errors_binary.png"
    assert set(pages) == {"arena/index.html", "arena/binary.html", picture}
    answers = pages["arena/index.html"]
    for text in (
        'src="pictures/errors_binary.png"', 'href="../estimators/debiased15_l1.html"',
        "undecided: only 1 test family",
    ):  # fmt: skip
        assert text in answers, text
    assert pages[picture][1:4] == b"PNG"
    board = pages["arena/binary.html"]
    link = '<th scope="row" class="left"><a href="../estimators/best.html">'
    assert arena.RULE[:60] in board and link in board
    bound = r"certified_interval.html\">.*?>interval<.*?>0 %<"  # it holds in half of the samples
    assert re.search(bound, board, flags=re.S)
    chart = leaderboard.chart([])
    assert chart["data"] == {"name": "rows"}
    assert {parameter["name"] for parameter in chart["params"]} == {"kind", "picked"}


def test_an_installation_without_an_arena_says_so(here, monkeypatch):
    monkeypatch.setattr(arena_data, "read", lambda: None)
    ((path, page),) = leaderboard.pages(here)
    assert path == "arena/index.html" and "no stored results" in page


def test_an_estimator_fails_where_it_is_furthest_behind(small):
    rows = dict(list(small.settings.groupby("estimator")))
    first, *_ = failures.failures("binned15", rows)
    words, alt = failures.words(first), failures.alt(first)
    assert first.setting["estimand"] == "l1" and len(first.best_rows)
    assert re.search(r"off by \+0\.0\d+ on average where the truth is 0", words)
    assert "nearly all of the error is bias" in words and first.setting["best"] in words
    assert first.setting["problem"] in alt and first.setting["best"] in alt
    assert failures.picture(first)[1:4] == b"PNG"
    assert failures.failures("best", rows) == []  # it is as good as any
    (bound, *_) = failures.failures("certified_interval", rows)
    assert "the interval holds in 50 % of 4 samples" in failures.words(bound)


def test_cards_say_what_is_known_and_what_is_not(here):
    result = dict(estimator_cards.pages(here))
    card = result["estimators/binned15.html"]
    for text in (
        "sum_b (n_b / n)", "Guo et al. (2017), ICML, eq. 3", "mostly too large", "n^1.00",
        'class="sticky strip"',
    ):  # fmt: skip
        assert text in card, text
    assert "No rank: the estimator is not in the arena" in result["estimators/skce.html"]
    assert "the package netcal is not installed" in result["estimators/peer_netcal_ece15.html"]
    pictures = [path for path in result if path.endswith(".png")]
    assert pictures and all(f'src="../{path}"' in card for path in pictures)
    assert result["estimators/index.html"].count('href="peer_netcal_ece15.html"') == 1


def test_over_estimates_are_counted_where_the_truth_is_not_zero(small):
    rows = small.settings[small.settings["estimator"].eq("debiased15_l1")]
    rows = rows[rows["estimand"].eq("l1")]
    share = estimator_bias.over_share(rows)
    apart = rows[rows["truth"].gt(0.0)]
    assert share == pytest.approx(apart["over"].mean()) and share < 0.3
    assert estimator_bias.over_share(rows[rows["truth"].eq(0.0)]) is None


def test_exponents_are_those_of_a_power_law(small):
    (cost,) = costs.costs("binned15", small.settings)
    assert (cost.source, cost.notion, cost.exponent.problems) == (costs.ARENA, "binary", 3)
    assert cost.exponent.value == pytest.approx(1.0)
    assert cost.at(200) == pytest.approx(1e-4) and cost.at(5000) is None  # nothing is extrapolated


def test_costs_of_the_others_are_measured_or_have_a_reason():
    rows = costs.benchmarked()
    assert (rows["cpu_seconds"].notna() | rows["reason"].notna()).all()
    assert not rows.duplicated(["estimator", "k", "n"]).any()
    (cost,) = costs.costs("skce_biased", None)
    assert cost.source == costs.BENCHMARK and cost.exponent.value > 0.5  # a kernel matrix


def test_docstrings_are_escaped_and_split_into_blocks():
    macro = environment().get_template("pieces.html.j2").module.prose
    assert macro("A <b> `x<y`").strip() == "<p>A &lt;b&gt; <code>x&lt;y</code></p>"
    kinds = [kind for kind, _ in docstrings.blocks("Is:\n    a = b\nof it.\n\n* one\n* two")]
    assert kinds == ["text", "formula", "text", "list"]


def test_a_page_of_a_problem(here):
    item, family = (problem_pages.read_problem(name, None, {}, here) for name in here.problems)
    assert item.scores.startswith("The frequency of the event given the score")
    node = catalogue.config("problem", "beta_wavy")
    key = components.build_component("problem", "beta_wavy", node).key
    assert read_truths(here.root, key)  # computed truths are stored
    result = dict(problem_pages.pages(here))
    page = result["problems/beta_wavy.html"]
    for text in (
        "Binary, L1 error",
        "Gauss-Legendre quadrature",
        "Most and least accurate estimators",
        "harness.problems.Beta",
    ):
        assert text in page, text
    assert result["problems/pictures/beta_wavy.png"][1:4] == b"PNG"
    assert "not drawn:" in result["problems/fitted.html"] and family.absent


def build_site(sources):
    """Build the arena's pages and the cards of `here`, with scripts and style."""
    parts = {"assets": assets.pages, "arena": leaderboard.pages, "cards": estimator_cards.pages}
    return build.build(sources.root, parts=parts, sources=sources).parent


@pytest.mark.slow
def test_table_and_chart_follow_the_filters(here):
    site = build_site(here)
    texts = "[...r.cells].map(c => c.innerText.trim())"
    shown = f"[...document.querySelectorAll('#board tbody tr')].map(r => {texts})"
    drawn = "charts.get('cost').view.data('rows').map(r => [r.estimator, r.settings])"
    ready = "window.charts?.get('cost')?.view.data('rows').length === 4"
    with chromium() as browser:
        with browser.opened(site / "arena" / "binary.html") as seen:
            page = seen.page
            page.wait_for_function(ready)
            whole = page.evaluate(shown)
            static = [
                arena_tables.leaderboard_row(r)
                for r in overall(arena_data.read()).to_dict("records")
            ]
            assert sorted(whole) == sorted(
                [[str(e) for e in row] for row in static]
            )  # the script writes what the page had
            page.select_option("#filter-family", "cubic")
            page.select_option("#filter-n", "200")
            assert [row[10] for row in page.evaluate(shown)] == ["1 (100 %)"] * 4
            assert sorted(page.evaluate(drawn)) == sorted([[name, 1] for name in BIASES])
            board = "document.querySelector('.board .dt-layout-table')"
            box = f"(e => e.scrollWidth - e.clientWidth)({board})"
            assert page.evaluate(box) == 0  # nothing is scrolled sideways at 1,280 pixels
            assert (
                "family=cubic" in page.url
                and "4 estimators, 3 of them ranked" in page.inner_text("#board-summary")
            )
            sort_by(page, "#board", 10, "ascending")  # by CPU time
            cost = [row[0] for row in page.evaluate(shown)]
            assert cost == sorted(SECONDS, key=SECONDS.get)
            sort_by(page, "#board", 2, "ascending")  # by rank, both ways: who has none is last
            assert page.evaluate(shown)[-1][0] == "oracle"
            sort_by(page, "#board", 2, "descending")
            assert page.evaluate(shown)[-1][0] == "oracle"
            page.click("#board_wrapper button:has-text('Columns')")
            page.click("div.dt-button-collection button:has-text('Over')")
            assert "Over" not in page.inner_text("#board thead") and "Bias" in page.inner_text(
                "#board thead"
            )
            page.keyboard.press("Escape")
            page.fill("#board_wrapper input[type=search]", "binned")
            assert [row[0] for row in page.evaluate(shown)] == ["binned15"]
            page.click("#board tbody a")
            assert page.inner_text("h1") == "binned15"
            seen.assert_quiet()
        with browser.opened(
            f"{site / 'arena' / 'binary.html'}#estimand=l2_squared&n=1000", size="phone"
        ) as seen:
            seen.page.wait_for_function(ready)
            assert (
                seen.page.input_value("#filter-n") == "1000"
                and seen.page.input_value("#filter-estimand") == "l2_squared"
            )
            assert seen.overflow() <= 0
            seen.assert_quiet()
        for path in ("arena/index.html", "estimators/index.html", "estimators/binned15.html"):
            with browser.opened(site / path, size="phone", dark=True) as seen:
                assert seen.overflow() <= 0, path
                first = "[...document.querySelectorAll('thead th:first-child')]"
                wide = seen.page.evaluate(f"{first}.map(th => th.offsetWidth)")
                assert wide and max(wide) < 390 / 2, (
                    path
                )  # it stays in view, and the rest needs the room
                seen.assert_quiet()


def test_the_questions_take_at_most_three_clicks():
    assert len(QUESTIONS) >= 10 and all(
        1 <= len(item["clicks"]) <= 3 and item["answer"] for item in QUESTIONS
    )


@pytest.mark.slow
def test_the_site_answers_the_questions():
    site = Path(os.environ.get("CALHARNESS_SITE") or CHECKOUT / "results" / "site")
    if not (site / "arena" / "index.html").is_file():
        pytest.skip(f"`calharness site` has not built {site}")
    with chromium() as browser, browser.opened(site / "index.html") as seen:
        for item in QUESTIONS:
            seen.page.goto((site / "index.html").as_uri())
            for click in item["clicks"]:
                name, _, value = click.partition("=")
                if value:
                    seen.page.select_option(f"#filter-{name}", value)
                else:
                    seen.page.click(f'a[href="{click}"] >> visible=true')
            for answer in item["answer"]:
                for _ in range(50):  # until the page's scripts have run
                    text = " ".join(seen.page.inner_text("main").split())
                    if re.search(answer, text):
                        break
                    seen.page.wait_for_timeout(100)
                else:
                    raise AssertionError((item["question"], answer, text[:300]))
