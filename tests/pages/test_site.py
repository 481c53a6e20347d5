"""`calharness site`: its pages as text, and in a browser."""

import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from browser import chromium, sort_by
from test_arena_answers import row

from harness.common.paths import CHECKOUT
from harness.errors import BadInputError
from harness.pages import assets, build, index, overview, own_results, paper_pages, provenance_page
from harness.pages.arena import answers as arena_answers
from harness.pages.templating import environment

RESULTS = CHECKOUT / "results"
# All parts but the arena's, which have their own tests, and those of other packages.
OWN = {
    "scripts and style": assets.own_files,
    "overview": overview.pages,
    "papers": paper_pages.pages,
    "your runs": own_results.pages,
    "provenance": provenance_page.pages,
}
OTHERS = ("arena/", "estimators/", "problems/", "docs/")  # whose pages are not made here
PAGE = (
    "<!doctype html><html><head><title>x</title></head>"
    "<body>\n<h1>A &lt;b&gt; & c</h1><img src='x.png'></body></html>"
)


def a_run(folder, kind="variations", name="mine", page=PAGE, **content):
    """A folder of results of one's own."""
    place = folder / kind / name
    place.mkdir(parents=True)
    (place / f"{name}.html").write_text(page)
    (place / f"{name}.json").write_text(json.dumps(content))
    return place


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the site of one paper, a variation with markup in its title, and a sweep."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "berta2026").mkdir()
    for name in ("reproduction.csv", "fig2.png", "fig2.csv"):
        (folder / "berta2026" / name).write_bytes((RESULTS / "berta2026" / name).read_bytes())
    (folder / "arena").mkdir()
    for name in ("index.html", "arena/index.html", "berta2026/fig2.html"):
        (folder / name).write_text(PAGE)
    rows = [row(n, notion) for notion in ("binary", "top_label") for n in (50, 200, 1000)]
    table = arena_answers.table(pd.DataFrame(rows))
    table.to_csv(folder / "arena" / "index_recommendations.csv", index=False)
    differs = {"reps": [20, "<i>5</i>"], "problem.a": [{"x": 1}, None]}
    a_run(folder, name="<s>mine", title="A <b> & c", experiment="berta2026_fig2", differs=differs)
    a_run(
        folder,
        "sweeps",
        "bins",
        experiment=None,
        differs={},
        swept={"estimator.binned15.bins": ["5", "10"]},
    )
    build.build(folder, parts=OWN)
    return folder / "site"


class Seen(HTMLParser):
    """Tags, links, ids and headings of a page, for checks that need no browser."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.ids, self.headings = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.ids |= {attributes["id"]} if "id" in attributes else set()
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def pages_of(site):
    """{path: Seen} of the site's own pages; results have tests of their own."""
    return {
        path.relative_to(site).as_posix(): Seen(path.read_text()) for path in site.rglob("*.html")
    }


def test_every_page_can_be_read_without_seeing_it(small):
    pages = pages_of(small)
    assert {
        "index.html",
        "papers/index.html",
        "papers/berta2026.html",
        "runs.html",
        "provenance.html",
    } <= set(pages)
    for name, page in pages.items():
        assert page.all("html")[0]["lang"] == "en" and page.headings.count(1) == 1, name
        assert all(
            later <= earlier + 1 for earlier, later in zip(page.headings, page.headings[1:])
        ), (name, page.headings)
        assert page.all("main")[0]["id"] == "main" and page.all("a")[0] == {
            "class": "skip",
            "href": "#main",
        }, name
        assert (
            all(attributes.get("aria-label") for attributes in page.all("nav"))
            and len(page.all("footer")) == 1
        )
        assert any(attributes.get("aria-current") for attributes in page.all("a")), name
        assert all(attributes.get("alt") for attributes in page.all("img")), name
        assert len(page.all("caption")) == len(page.all("table")), name
        assert all(attributes.get("scope") for attributes in page.all("th")), name
        assert all(
            attributes.get("content")
            for attributes in page.all("meta")
            if attributes.get("name") == "description"
        ), name


def test_every_link_leads_to_a_page_of_the_site_or_to_a_result(small):
    pages = pages_of(small)
    for name, page in pages.items():
        for link in set(page.links) - {"data:,"}:  # the icon, which is none
            file, _, place = link.partition("#")
            to = (small / name).parent / file if file else small / name
            where = os.path.relpath(to.resolve(), small.resolve())
            assert not re.match("[a-z]+:", link), (name, link)
            if where.startswith(OTHERS) or where in ("assets/tables.js", "assets/tables.css"):
                continue
            assert to.is_file(), (name, link)
            assert not place or where not in pages or place in pages[where].ids, (name, link)


def test_results_are_linked_and_not_copied(small):
    pages = pages_of(small)
    assert "../../berta2026/fig2.html" in pages["papers/berta2026.html"].links
    assert "../sweeps/bins/bins.html" in pages["runs.html"].links
    assert "../arena/index.html#intervals" in pages["index.html"].links
    assert not list(small.rglob("fig2.*"))


def test_what_came_from_data_is_text(small):
    page = (small / "runs.html").read_text()
    assert (
        "A &lt;b&gt; &amp; c" in page and "&lt;i&gt;5&lt;/i&gt;" in page and "&lt;s&gt;mine" in page
    )
    assert "<s>mine" not in page and "<i>5" not in page
    assert (
        "left out" in page
        and "problem.a" in page
        and "estimator.binned15.bins" in page
        and "5, 10" in page
    )


def test_the_lines_of_the_first_page_are_the_stored_recommendations(small):
    first = (small / "index.html").read_text()
    lines = overview.answers(small.parent)
    assert [(line["notion"], line["n"]) for line in lines] == [
        ("binary", 200), ("binary", 1000), ("top_label", 200), ("top_label", 1000),
    ]  # fmt: skip
    for line in lines:
        for role in ("own", "rival"):
            name, error = line[role]["name"], line[role]["rmse"]
            assert f'href="estimators/{name}.html"' in first and f">{error}<" in first
        assert line["verdict"] in first


def test_a_later_build_removes_what_is_gone_and_keeps_the_documentation(small, tmp_path):
    names = ["problems/a.html", "problems/b.html"]
    parts = {
        "problems": lambda sources: ((name, "") for name in names),
        "provenance": provenance_page.pages,
    }
    site = build.build(tmp_path, parts=parts).parent
    assert provenance_page.UNBUILT in (site / "docs" / "index.html").read_text()
    (site / "docs" / "index.html").write_text("built")
    (site / "docs" / "more.html").write_text("built")
    copy = site / "results" / "berta2026" / "fig2.html"  # earlier versions copied results
    copy.parent.mkdir(parents=True)
    copy.write_text("")
    names.remove("problems/a.html")
    build.build(tmp_path, parts=parts)
    assert not copy.exists() and not (site / "problems/a.html").exists()
    assert (site / "problems/b.html").is_file()
    assert {path.read_text() for path in (site / "docs").iterdir()} == {"built"}


def test_own_runs_are_listed_beside_the_results(tmp_path):
    (tmp_path / "arena").mkdir()
    assert "There are no runs yet" in own_results.save(tmp_path).read_text()
    a_run(tmp_path, experiment="smoke", differs={"reps": [20, 5]})
    a_run(tmp_path, "compare", "theirs").joinpath("theirs.txt").write_text(
        "First sentence.\n\nSecond."
    )
    a_run(tmp_path, name="mine~1a2b")  # what was moved aside keeps its file names
    (tmp_path / "variations" / "mine~1a2b" / "mine~1a2b.html").rename(
        tmp_path / "variations" / "mine~1a2b" / "mine.html"
    )
    path = own_results.save(tmp_path)
    page = Seen(path.read_text())
    links = [link for link in page.links if link.endswith(".html")]
    assert sorted(links) == [
        "compare/theirs/theirs.html",
        "variations/mine/mine.html",
        "variations/mine~1a2b/mine.html",
    ]
    assert (
        all((tmp_path / link).is_file() for link in links) and not page.all("link")[1:]
    )  # its style is inside
    assert "First sentence." in path.read_text() and "Second." not in path.read_text()
    assert index.OWN_RUNS in index.save(tmp_path).read_text()


def test_a_missing_extra_is_one_sentence(monkeypatch, tmp_path, cli):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "itables", None)
        with pytest.raises(BadInputError, match=r"calharness\[site\]"):
            list(assets.pages())
    code, _, message = cli("site", "folder")
    assert code == 2 and "folder" in message


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(
        w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for w, c in zip((0.2126, 0.7152, 0.0722), parts)
    )


def contrast(first, other):
    light, dark = sorted((luminance(first), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_of_the_style_sheet_can_be_told_apart():
    assert contrast("#ffffff", "#000000") == pytest.approx(21) and contrast(
        "#777777", "#ffffff"
    ) == pytest.approx(4.48, abs=0.01)
    style = environment().get_template("style.css.j2").render()
    blocks = re.findall(r"(@media [^{]*\{\s*)?:root \{([^}]*)\}", style)
    light, dark, printed = {}, {}, {}
    for media, block in blocks:
        result = dict(re.findall(r"--(\w[\w-]*): (#[0-9a-f]{3,6})", block))
        result = {
            k: "#" + "".join(2 * c for c in v[1:]) if len(v) == 4 else v for k, v in result.items()
        }
        (dark if "dark" in media else printed if "print" in media else light).update(result)
    assert len(dark) >= 11 and len(printed) >= 11
    for palette in (light, {**light, **dark}, {**light, **printed}):
        for words in ("ink", "soft", "link", "good", "fair", "bad", "open", "none"):
            for ground in ("paper", "card", "warm"):
                assert contrast(palette[words], palette[ground]) >= 4.5, (
                    words,
                    ground,
                    palette[words],
                    palette[ground],
                )
        for fill in (
            "good-fill",
            "fair-fill",
            "bad-fill",
            "open-fill",
            "none-fill",
        ):  # beside words that say the same
            assert contrast(palette[fill], palette["paper"]) >= 3, (fill, palette["paper"])


# In a browser

TEXT = """() => {
  const parse = text => {
    const m = text.match(/[\\d.]+/g).map(Number);
    return [m[0], m[1], m[2], m[3] ?? 1];
  };
  const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const lum = ([r, g, b]) => [r, g, b].map(v => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const low = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const at = node.parentElement;
    if (!node.textContent.trim() || !at.checkVisibility()) continue;
    if (at.closest("script,style,noscript,svg,.disabled,[disabled]")) continue;
    const [a, b] = [lum(parse(getComputedStyle(at).color)), lum(ground(at))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const text = node.textContent.trim().slice(0, 40);
    if (ratio < 4.5) low.set(`${text} (${at.tagName}.${at.className})`, ratio.toFixed(2));
  }
  return [...low];
}"""
MOST = 3_000_000  # bytes that a page loads


@pytest.mark.slow
def test_every_page_in_a_browser(whole):
    """Opened on a phone and on a desk, light and dark.

    No error, no request, nothing wider than the window, readable, light.
    """
    site, own = whole
    with chromium() as browser:
        for name in own:
            for size, dark in (("phone", False), ("desk", True)):
                with browser.opened(site / name, size, dark) as seen:
                    seen.assert_quiet()
                    assert seen.overflow() <= 0, (name, size)
                    assert seen.page.evaluate(TEXT) == [], (name, size)
                    loaded = seen.page.evaluate(
                        "performance.getEntriesByType('resource').map(one => one.name)"
                    )
                    files = [
                        site / name,
                        *(
                            Path(single.removeprefix("file://"))
                            for single in loaded
                            if single.startswith("file://")
                        ),
                    ]
                    assert sum(file.stat().st_size for file in files) <= MOST, (name, size)
        filters_and_sorts(browser, site / "papers/index.html")
        can_be_used_by_keyboard(browser, site / "papers/index.html")
        prints(browser, site / "papers/index.html")


@pytest.fixture
def whole(tmp_path):
    """The site of the papers as they are, and the paths of its own pages."""
    for path in RESULTS.iterdir():
        if path.is_dir() and path.name not in (
            "site",
            "variations",
            "sweeps",
            "compare",
            "records_of",
        ):
            (tmp_path / path.name).symlink_to(path)
    a_run(tmp_path, experiment="smoke", differs={"reps": [20, 5]})
    parts = OWN | {"scripts and style": assets.pages}
    site = build.build(tmp_path, parts=parts).parent
    yield site, sorted(pages_of(site))


def filters_and_sorts(browser, path):
    with browser.opened(path) as seen:
        page = seen.page
        rows = page.locator("#items tbody tr")
        page.locator("input[type=search]").first.fill("gruber2025 Table")
        page.wait_for_function("document.querySelectorAll('#items tbody tr').length < 25")
        texts = rows.all_inner_texts()
        assert len(texts) >= 5 and all("gruber2025" in text and "Table" in text for text in texts)
        page.locator("input[type=search]").first.fill("")
        page.wait_for_function("document.querySelectorAll('#items tbody tr').length === 25")
        sort_by(page, "#items", 5, "ascending")
        agree = [
            int(text) for text in page.locator("#items tbody tr td:nth-child(5)").all_inner_texts()
        ]
        assert agree == sorted(agree) and len(agree) == 25
        page.locator("#items thead th").nth(1).get_by_role("button", name="Filter").click()
        page.locator(".dtcc-dropdown").get_by_text("ciosek2026").click()
        page.wait_for_function("document.querySelectorAll('#items tbody tr').length < 25")
        papers = page.locator("#items tbody tr td:nth-child(2)").all_inner_texts()
        assert set(papers) == {"ciosek2026"}
        seen.assert_quiet()
    with browser.opened(
        path, "phone"
    ) as seen:  # the first column stays in view while the table is scrolled
        first = seen.page.locator("#items tbody th").first
        seen.page.locator(".scroll:has(> #items)").evaluate("box => box.scrollLeft = 250")
        assert (
            seen.page.locator("#items td").first.bounding_box()["x"]
            < 0
            <= first.bounding_box()["x"]
            < 40
        )


def can_be_used_by_keyboard(browser, path):
    with browser.opened(path) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").bounding_box()["x"] >= 0  # it is seen once it has the focus
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        for _ in range(6):
            page.keyboard.press("Tab")
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        page.locator("#items thead th").nth(5).get_by_role("button").first.focus()
        page.keyboard.press("Enter")
        sorted_by = "document.querySelector('#items thead th:nth-child(6)').ariaSort"
        page.wait_for_function(f"{sorted_by} === 'ascending'")  # DataTables sorts in a later task
        differ = [
            int(text) for text in page.locator("#items tbody tr td:nth-child(6)").all_inner_texts()
        ]
        assert differ == sorted(differ)


def prints(browser, path):
    with browser.opened(path, dark=True) as seen:
        seen.page.emulate_media(media="print")
        assert (
            seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        assert (
            not seen.page.locator("header nav").is_visible()
            and seen.page.locator("h1").is_visible()
        )
