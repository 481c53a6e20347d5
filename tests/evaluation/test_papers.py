"""What every paper.yaml says, `calharness list papers`, and the index of all results."""

import re

import numpy as np
import pandas as pd
import pytest

from harness.errors import BadInputError
from harness.evaluation import outcomes, papers, reproduction
from harness.pages import index

YAML = """
title: On estimating calibration errors
authors: [A. Author, B. Author]
year: 2026
venue: A venue
address: https://example.org/paper
citation: "A. Author and B. Author. On estimating calibration errors. 2026."
asks: How large is the error of binary predictions?
claims: It is small where the sample is large.
here: It is as small as the paper says.
findings: [a first finding, {rank: 1, text: the strongest of all}]
items:
  fig1:
    name: "Figure 1"
    about: error by number of samples
    experiments: [moskvichev2025_fig1]
    how: the paper's setting
    needs: null
  table1:
    name: "Table 1"
    about: networks on images
    experiments: [moskvichev2025_table1_offline, moskvichev2025_table1]
    how: a twin
    needs: The networks of the paper are not published.
  claims:
    name: Claims
    about: its conclusions
    experiments: [moskvichev2025_claims]
    how: "a twin"
    needs: null
"""
REPORTED = """item,row,column,value,unit,plus_minus,reps,precision,source,place,quote
fig1,a,error,0.5,,0.1,10,0.1,printed,Figure 1,
fig1,b,error,0.25,,,,0.01,printed,Figure 1,
table1,net,error,0.3,,,,0.1,printed,Table 1,
table1,net,anew,0.3,,,,0,recomputed by independent code,,
claims,errors shrink,mean change from n = 100 to 1000,0,below,,,0,claim,p. 3,The error gets smaller.
"""


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """Return a function that writes a paper.yaml with `new` in place of `old`."""
    folder = tmp_path / "experiments" / "moskvichev2025"
    folder.mkdir(parents=True)
    monkeypatch.setattr(papers, "EXPERIMENTS", folder.parent)
    monkeypatch.setattr(reproduction, "paper_folder", lambda paper: folder.parent / paper)
    (folder / "reported.csv").write_text(REPORTED)

    def write(old="", new=""):
        assert old in YAML
        (folder / "paper.yaml").write_text(YAML.replace(old, new, 1) if old else YAML)
        return papers.read("moskvichev2025")

    return write


@pytest.fixture
def results(tmp_path):
    """A folder of results: a picture and a page of both items, and what came out."""
    from PIL import Image

    folder = tmp_path / "results" / "moskvichev2025"
    folder.mkdir(parents=True)
    for stem in ("fig1", "table1_offline", "claims"):
        Image.fromarray(np.random.default_rng(0).integers(0, 255, (300, 800, 4), np.uint8)).save(
            folder / f"{stem}.png"
        )
        (folder / f"{stem}.html").write_text("<p>page</p>")
    unjudged, anew = "not reproducible here", "recomputed by independent code"
    rows = [
        ("fig1", "fig1", "a", "error", "printed", 0.5, np.nan, "identical"),
        ("fig1", "fig1", "b", "error", "printed", 0.9, np.nan, "differs"),
        ("table1", "table1", "net", "error", "printed", np.nan, np.nan, unjudged),
        ("table1_offline", "table1", "net", "error", "printed", 0.2, np.nan, unjudged),
        ("table1", "table1", "net", "anew", anew, 0.3, np.nan, "within error"),
        ("claims", "claims", "errors shrink", "mean change", "claim", -0.2, -0.3, "holds"),
    ]
    rows = [(f"moskvichev2025_{stem}", *row) for stem, *row in rows]
    frame = pd.DataFrame(
        rows, columns=["experiment", "item", "row", "column", "source", "ours", "low", "verdict"]
    )
    frame.assign(high=-0.1, where="ours").to_csv(folder / "reproduction.csv", index=False)
    return folder.parent


def test_a_paper_is_read(paper):
    result = paper()
    assert result.authors == "A. Author, B. Author" and list(result.items) == [
        "fig1",
        "table1",
        "claims",
    ]
    assert result.items["table1"].stems("moskvichev2025") == ["table1_offline", "table1"]
    assert (
        result.find_item("moskvichev2025_table1").id == "table1"
        and result.find_item("moskvichev2025_fig2") is None
    )
    assert [(f.rank, f.text) for f in result.findings] == [
        (None, "a first finding"),
        (1, "the strongest of all"),
    ]
    assert papers.find("nobody1999") is None and papers.find(None) is None


MISTAKES = [
    ("title: On estimating calibration errors", "", "lacks title"),
    ("here: It is as small as the paper says.", "here: ", "here: "),
    ("year: 2026", "year: soon", "year: Value 'soon'"),
    ("how: a twin", "how: a twim", r"items.table1.how is 'a twim' \(did you mean 'a twin'\?\)"),
    ("experiments: [moskvichev2025_fig1]", "experiments: x", "items.fig1.experiments: "),
    ("    about: networks on images\n", "", "lacks items.table1.about"),
    ("asks:", "ask:", "Key 'ask' not in 'Paper'"),
    ("findings: [a first finding, ", "findings: [3, ", r"findings\[0\]: "),
    ("year: 2026", "year: [2026", "is not valid YAML"),
]


@pytest.mark.parametrize(("old", "new", "says"), MISTAKES)
def test_a_mistake_is_one_sentence_with_its_place(paper, old, new, says):
    with pytest.raises(BadInputError, match=says) as error:
        paper(old, new)
    message = str(error.value)
    assert "experiments/moskvichev2025/paper.yaml" in message and "\n" not in message


def test_items_name_experiments_that_there_are(paper):
    with pytest.raises(BadInputError, match="items.fig1.experiments has 'moskvichev2025_fig9'"):
        papers.check(paper("[moskvichev2025_fig1]", "[moskvichev2025_fig9]"))
    with pytest.raises(BadInputError, match="'berta2026_fig1', an experiment of berta2026"):
        papers.check(paper("[moskvichev2025_fig1]", "[berta2026_fig1]"))


@pytest.mark.parametrize("name", papers.described())
def test_what_is_said_of_the_papers_is_true_of_the_experiments(name):
    """Every paper.yaml is readable. An experiment has its page in at most one item."""
    result = papers.read(name)
    papers.check(result)
    pages = [item.experiments[0] for item in result.items.values()]
    assert len(set(pages)) == len(pages) and list(result.items)[-1] == "claims"
    for item in result.items.values():
        assert item.fetch is None or item.fetch.startswith("calharness data ")
        assert item.how in ("the paper's setting", "a twin") or item.needs or item.id == "claims"


def test_a_number_counts_once_by_who_judges_it(results):
    rows = outcomes.read_rows(results, "moskvichev2025")
    once = outcomes.drop_repeats(rows)
    assert len(once) == 5 and outcomes.count_others(rows) == {"within error": 1}
    order = ["moskvichev2025_table1_offline", "moskvichev2025_table1"]
    of_item = outcomes.drop_repeats(rows, order)
    assert outcomes.count_by_source(of_item) == {
        "printed": {"not reproducible here": 1},
        "recomputed by independent code": {"within error": 1},
    }
    assert of_item.set_index("column").loc["error", "experiment"] == order[0]


def test_a_number_of_ours_counts_before_a_row_without_one():
    """A verdict comes first, then a number on other data, whatever the order of the rows."""
    rows = pd.DataFrame(
        {
            "experiment": ["absent", "twin", "judged", "absent", "twin"],
            "item": "table1", "row": ["a", "a", "a", "b", "b"], "column": "value",
            "verdict": 2 * ["not reproducible here"] + ["differs"] + 2 * ["not reproducible here"],
            "ours": [np.nan, 1.0, 2.0, np.nan, 3.0],
        }
    )  # fmt: skip
    once = outcomes.drop_repeats(rows).set_index("row")
    assert once["experiment"].to_dict() == {"a": "judged", "b": "twin"}


def test_printed_numbers_are_counted_by_what_came_of_them(paper, results, monkeypatch):
    """A number that a formula or the authors' rows give is not counted as recomputed."""
    paper()
    result, none = (
        outcomes.read_rows(results, "moskvichev2025"),
        dict.fromkeys(outcomes.OUTCOMES, 0),
    )
    assert outcomes.count_outcomes(result, "moskvichev2025") == {
        **none,
        "recomputed and agreeing": 1,
        "differing": 1,
        "ours of other data": 1,
    }
    assert outcomes.count_outcomes(None, "moskvichev2025") == {**none, "no number of ours": 3}
    lines = [
        line + (",formula" if ",a,error" in line else ",") for line in REPORTED.splitlines()[1:]
    ]
    reproduction.reported_path("moskvichev2025").write_text(
        "\n".join([REPORTED.splitlines()[0] + ",given_by", *lines])
    )
    assert outcomes.count_outcomes(result, "moskvichev2025") == {
        **none,
        "constants": 1,
        "differing": 1,
        "ours of other data": 1,
    }
    reproduction.reported_path("moskvichev2025").write_text(REPORTED)
    monkeypatch.setattr(
        outcomes.options,
        "option",
        lambda *of: type("Option", (), {"config": {"records_from": [1]}}),
    )
    assert outcomes.count_outcomes(result, "moskvichev2025") == {
        **none,
        "from the authors' rows": 1,
        "differing": 1,
        "ours of other data": 1,
    }


def test_the_index_shows_every_item_and_asks_for_nothing_outside(paper, results):
    paper()
    path = index.save(results)
    page = path.read_text()
    assert path == results / "index.html"
    assert not re.search(r'(src|href)="(https?:)?//|@import|url\(', page)
    for link in re.findall(r'<a href="([^"]+)"', page):
        assert (results / link).is_file()
    pictures = re.findall(r'<img src="([^"]+)" alt="([^"]+)"', page)
    names = ["Figure 1: error by number of samples", "Table 1: networks on images"]
    assert [alt for _, alt in pictures] == names
    assert all((results / picture).is_file() for picture, _ in pictures)
    for text in (
        'href="moskvichev2025/table1_offline.html"',
        "The networks of the paper are not published.",
        '<b>errors shrink</b>: <span class="good">holds, by 0.10 to 0.30</span>',
        "on our data",
    ):
        assert text in page
    assert page.index("the strongest of all") < page.index("Results of the reproduction")
    assert "nan" not in page
    assert index.save(results).read_text() == page


def test_the_pages_in_markdown_need_no_page_in_html(paper, results):
    """They show verdicts, claims and figures, and are the same whether or not pages are drawn."""
    paper("error by number of samples", "error_1 | error_2 by `n`, in <bits> of $x$")
    index.save(results)
    pages = {name: (results / name) for name in ("README.md", "moskvichev2025/README.md")}
    texts = {name: path.read_text() for name, path in pages.items()}
    for path in [*results.rglob("*.html")]:
        path.unlink()
    index.save(results)
    assert texts == {name: path.read_text() for name, path in pages.items()}
    for name, text in texts.items():
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert (pages[name].parent / link).is_file(), (name, link)
    first, page = texts.values()
    assert "| [moskvichev2025](moskvichev2025/README.md) | 1 recomputed and" in first
    assert "| errors shrink | holds, by 0.10 to 0.30 | mean change from n = 100 to 1000" in page
    assert r"![Figure 1: error\_1 \| error\_2 by `n`, in &lt;bits&gt; of \$x\$](fig1.png)" in page
    assert "[table1_offline.png](table1_offline.png)" in page


def test_a_folder_without_results_of_a_paper_gets_no_page_of_it(paper, tmp_path):
    paper()
    index.save(tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").rglob("*.md")] == ["README.md"]
    assert "](moskvichev2025" not in (tmp_path / "new" / "README.md").read_text()


def test_an_empty_folder_has_an_index_that_says_so(paper, tmp_path):
    paper()
    page = index.save(tmp_path / "new").read_text()
    assert (
        "3 <span" in page
        and "3 are not judged" in page
        and "no picture yet" in page
        and "not tested yet" in page
    )


@pytest.mark.parametrize("absent", ["fig1", "table1_offline"])
def test_findings_are_only_those_of_results_in_the_folder(paper, results, absent):
    """A part of a paper's figures does not show its findings."""
    paper()
    found = ("the strongest of all", "a first finding", "It is as small as the paper says.")
    page = index.save(results).read_text()
    assert all(text in page for text in found)
    for path in results.glob(f"*/{absent}.*"):
        path.unlink()
    page = index.save(results).read_text()
    assert not any(text in page for text in (*found, "strongest findings"))


def test_papers_are_listed(paper, results, cli, monkeypatch):
    paper()
    monkeypatch.setenv("CALHARNESS_OUT", str(results))
    code, text, _ = cli("list", "papers")
    assert (
        code == 0
        and text.startswith("moskvichev2025\n")
        and "printed: 1 identical, 1 differs" in text
    )
    assert (
        "setting: a twin" in text
        and "missing: The networks of the paper are not published." in text
    )
    assert "fig1.html" in text and "calharness experiment=moskvichev2025_fig1" in text
    assert "Figure 1" not in cli("list", "papers", "networks")[1]
    code, _, error = cli("list", "papers", "nothing-of-it")
    assert code == 2 and "no paper or item matches nothing-of-it" in error


def test_lines_of_the_list_are_as_narrow_as_they_should_be(paper, results, cli, monkeypatch):
    paper()
    monkeypatch.setenv("CALHARNESS_OUT", str(results))
    monkeypatch.setenv("COLUMNS", "44")
    lines = cli("list", "papers")[1].splitlines()
    assert max(len(line) for line in lines if "/" not in line and "=" not in line) <= 44
