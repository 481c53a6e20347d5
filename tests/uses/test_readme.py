"""README is short, its commands work, its pictures exist and its numbers are the stored ones."""

import json
import re

import numpy as np
import pytest
from printed import ROOT, blocks, run

from harness.configure.arena import Arena
from harness.evaluation import arena

TEXT = (ROOT / "README.md").read_text()


def test_the_readme_is_short_and_begins_with_its_two_commands():
    assert TEXT.count("\n") <= 100
    first = blocks("README.md")[0]
    assert "make run" in first.text and "calharness judge preds.csv" in first.text


def test_pictures_and_links_exist():
    pictures, links = (
        re.findall(r"!\[[^]]+\]\((.*?)\)", TEXT),
        re.findall(r"[^!]\[[^]]+\]\((.*?)\)", TEXT),
    )
    assert len(pictures) == 3 and len(links) > 10
    assert [path for path in [*pictures, *links] if not (ROOT / path).is_file()] == []


def test_pages_say_how_many_problems_the_arena_has():
    baseline = json.loads((ROOT / "results/baseline/baseline.json").read_text())
    assert len(baseline["families"]) == 44 and "in 44 families" in TEXT
    pages = [
        "docs/tutorials/own-estimator.md",
        "docs/explanation/trust.md",
        "harness/estimators/BEST_NOTES.md",
    ]
    for text in (TEXT, *((ROOT / page).read_text() for page in pages)):
        assert re.search(rf"\b{len(baseline['classes'])} problems\b", text)


@pytest.fixture(scope="module")
def regrets():
    """Settings of the stored arena with a regret, and the development families."""
    from harness.pages.arena import data as arena_data

    settings = arena_data.read().settings
    development = arena.read_development(Arena("arena"))
    return settings[settings["regret"].notna()], development


@pytest.mark.slow
def test_the_page_on_best_names_the_families_with_a_regret_above_3(regrets):
    settings, development = regrets
    own = settings[settings["estimator"].eq("best") & settings["estimand"].isin(arena.MAIN)]
    groups = [own[name] for name in ("notion", "estimand", "family", "n")]
    means = np.exp(np.log(own["regret"]).groupby(groups).mean()).reset_index()
    worst = means.loc[means.groupby("family")["regret"].idxmax()]
    worst = worst[worst["regret"].gt(3.0)]
    page = (ROOT / "docs/explanation/best.md").read_text()
    part = page[page.index("**Families of the arena.**") : page.index("Most are waves")]
    tests, others = part.split("development families")
    for text, is_development in ((tests, False), (others, True)):
        rows = worst[worst["family"].isin(development) == is_development]
        named = {
            row.family: f"{row.regret:.1f}" + ", class-wise" * (row.notion == "classwise")
            for row in rows.itertuples()
        }
        assert dict(re.findall(r"`(\w+)`\s\(([^)]+)\)", text)) == named


@pytest.mark.slow
def test_the_notes_say_what_the_stored_records_give(regrets):
    """Compare the geometric means of regrets on the test families with BEST_NOTES.md."""
    settings, development = regrets
    settings = settings[
        ~settings["family"].isin(development)
        & settings["notion"].ne("classwise")  # the notes report it apart
    ]
    notes = re.sub(r"\s+", " ", (ROOT / "harness/estimators/BEST_NOTES.md").read_text())
    for estimand in ("l1", "l2_squared"):
        part = settings[settings["estimand"].eq(estimand)]
        logs = (
            np.log(part["regret"])
            .groupby([part[name] for name in ("estimator", "notion", "family", "n", "k")])
            .mean()
        )
        table = np.exp(logs.groupby("estimator").agg(["mean", "max"])).assign(
            cells=logs.groupby("estimator").size()
        )
        published = table[
            table["cells"].eq(table["cells"].max()) & table.index.map(arena.is_published)
        ]
        other = published["mean"].idxmin()
        ours, first = (table.loc[name] for name in ("best", "best_plain")), published.loc[other]
        entries = [f"{estimand}, test", *(f"{x['mean']:.2f} ({x['max']:.1f})" for x in ours)]
        entries += [f"{other} {first['mean']:.2f} ({first['max']:.1f})"]
        assert f"| {' | '.join(entries)} |" in notes


@pytest.mark.slow
def test_commands_work_as_printed(tmp_path):
    run(blocks("README.md"), tmp_path)
