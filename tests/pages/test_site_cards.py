"""The site's pages from the arena's numbers: overview, cards of estimators, pages of problems."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from browser import chromium

from harness.common.paths import CHECKOUT
from harness.configure import catalogue
from harness.evaluation import arena
from harness.pages import (
    assets,
    build,
    costs,
    docstrings,
    estimator_bias,
    estimator_cards,
    failures,
    problem_pages,
)
from harness.pages.arena import data as arena_data
from harness.pages.arena import overview as arena_overview
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


def test_the_site_links_to_the_page_of_the_arena(here):
    ((path, page),) = arena_overview.pages(here)
    assert path == "arena/index.html" and "calharness results arena_index" in page
    card = dict(estimator_cards.pages(here))["estimators/binned15.html"]
    assert "Binary, L1 error</th>" in card  # without a link: the page of the arena is not drawn
    (here.root / "arena").mkdir()
    (here.root / "arena/index.html").write_text("drawn")
    ((_, page),) = arena_overview.pages(here)
    assert 'href="../../arena/index.html#leaderboards"' in page
    card = dict(estimator_cards.pages(here))["estimators/binned15.html"]
    assert 'href="../../arena/index.html#notion=binary&amp;estimand=l1"' in card


def test_an_installation_without_an_arena_says_so(here, monkeypatch):
    monkeypatch.setattr(arena_data, "read", lambda: None)
    ((path, page),) = arena_overview.pages(here)
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
    assert "netcal" in result["estimators/peer_netcal_ece15.html"]
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


@pytest.mark.slow
def test_cards_fit_on_a_phone(here):
    parts = {"assets": assets.pages, "cards": estimator_cards.pages}
    site = build.build(here.root, parts=parts, sources=here).parent
    with chromium() as browser:
        for path in ("estimators/index.html", "estimators/binned15.html"):
            with browser.opened(site / path, size="phone", dark=True) as seen:
                assert seen.overflow() <= 0, path
                first = "[...document.querySelectorAll('thead th:first-child')]"
                wide = seen.page.evaluate(f"{first}.map(th => th.offsetWidth)")
                # It stays in view, and the other columns need the room.
                assert wide and max(wide) < 390 / 2, path
                seen.assert_quiet()


def test_the_questions_take_at_most_three_clicks():
    assert len(QUESTIONS) >= 10 and all(
        1 <= len(item["clicks"]) <= 3 and item["answer"] for item in QUESTIONS
    )


@pytest.mark.slow
def test_the_site_answers_the_questions():
    site = Path(os.environ.get("CALHARNESS_SITE") or CHECKOUT / "results" / "site")
    if not all((folder / "arena/index.html").is_file() for folder in (site, site.parent)):
        pytest.skip(f"`make site` has not built {site}")
    with chromium() as browser, browser.opened(site / "index.html") as seen:
        for item in QUESTIONS:
            seen.page.goto((site / "index.html").as_uri())
            for click in item["clicks"]:
                name, _, value = click.partition("=")
                if value:
                    seen.page.select_option(f"#board-filters select[name={name}]", value)
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
