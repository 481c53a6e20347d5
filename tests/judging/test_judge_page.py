"""Page, Markdown and terminal text of judgements made by hand.

Names from the data do no harm in any of them.
"""

import re
from dataclasses import replace
from html.parser import HTMLParser

import judged
import numpy as np
import pytest
from browser import chromium
from matplotlib.text import Text

import harness
from harness import BadInputError
from harness.figures import reliability_plot
from harness.judging import pictures
from harness.judging.answers import QUESTIONS
from harness.judging.verdict import advise, choose_verdict
from harness.math import reliability

SHOWN_NAMES = ["$x_1$", r"$\frac{1}{", "مرحبا بالعالم", "猫", "[31mred[0m"]


@pytest.fixture(scope="module")
def pages(judgements):
    return {
        name: with_few_drawings(name, judgement).to_html() for name, judgement in judgements.items()
    }


def with_few_drawings(name, judgement):
    """Leave out most drawings, which take most of the time. The judgement "one file" keeps all."""
    if judgement.where is None or name == "one file":
        return judgement
    where = judgement.where
    return replace(
        judgement,
        where=where if name == "names" else replace(where, panels=(), groups=()),
        how_far=replace(judgement.how_far, errors=judgement.how_far.errors[:1]),
        gains=replace(judgement.gains, gains=()),
    )


class Parsed(HTMLParser):
    """The elements of a page as (tag, attributes), and its text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        assert not self.open
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    def attributes(self, key):
        return [attributes[key] for _, attributes in self.elements if key in attributes]


# The page


@pytest.mark.parametrize("name", judged.MAKERS)
def test_page_is_whole_and_loads_nothing(pages, name):
    parsed = Parsed(pages[name])
    ids = parsed.attributes("id")
    assert len(ids) == len(set(ids))
    tags = {tag for tag, _ in parsed.elements}
    assert not tags & {"script", "iframe", "object", "embed", "img"}
    links = parsed.attributes("href") + parsed.attributes("src")
    assert all(link.startswith(("#", "data:,")) for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert not any(key.startswith("on") for _, attributes in parsed.elements for key in attributes)
    assert not re.search(r"@import|url\((?!#)", pages[name])


@pytest.mark.parametrize("name", judged.MAKERS)
def test_page_is_accessible(pages, name):
    """Pictures have words, tables have captions and headers, and the keyboard reaches all
    regions.
    """
    elements = Parsed(pages[name]).elements
    words = [a["aria-label"] for _, a in elements if a.get("role") == "img"]
    assert len(words) == pages[name].count("<figure") and all(len(text) > 40 for text in words)
    assert all(a.get("aria-hidden") == "true" for tag, a in elements if tag == "svg")
    tags = [tag for tag, _ in elements]
    assert tags.count("caption") == tags.count("table")
    assert all("scope" in a for tag, a in elements if tag == "th")
    regions = [a for _, a in elements if a.get("role") == "region"]
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in regions)
    assert [tag for tag in tags if tag in ("h1", "h2")] == ["h1", *["h2"] * 7]


def test_the_verdict_and_numbers_of_every_model_come_before_the_five_answers(judgements, pages):
    text = Parsed(pages["two files"]).text
    places = [text.index(f"{i}. {title}") for i, title in enumerate(QUESTIONS.values(), 1)]
    assert places == sorted(places)
    top = text[: places[0]]
    assert top.count("Overconfident: says") == 2 and top.count("4.2 points") == 2
    assert text.index("neither is shown to be better calibrated") < text.index("Overconfident")
    sentences = judgements["two files"].sentences
    assert all(sentence in text[places[0] :] for sentence in sentences)
    diagrams = Parsed(pages["two files"]).attributes("aria-label")
    assert sum(words.startswith("Reliability diagram of 200 rows") for words in diagrams) == 2


@pytest.mark.parametrize(
    "text",
    [
        "0.0294 to 0.0588",
        "96.1 %",
        "0.004 to 0.12",
        "The rows are independent.",
        "0.01 to 0.03",
        "2,000 calibrated samples with n = 1,000 and k = 10",
        "4.1 % to 5.6 %",
        "level of all intervals and tests is 95 %",
    ],
)
def test_page_has_every_number_with_its_level(pages, text):
    assert text in Parsed(pages["one file"]).text


def test_page_without_answers(pages, judgements):
    text = Parsed(pages["nothing"]).text
    assert text.count("12 rows are too few; at least 50 are needed.") == 4
    assert "<table" not in pages["nothing"]
    judgement = judgements["one file"]
    where = replace(judgement.where, panels=(), classes=(), regions=(), groups=())
    calibrated = replace(judgement.calibrated, rejected=None)
    open_one = replace(judgement, calibrated=calibrated, where=where, how_far=None, gains=None)
    assert "Nothing can be said for or against" in open_one.to_html()


def test_names_do_no_harm(pages):
    """Names are shown as they are, without control characters, mathematics and markup."""
    text = pages["names"]
    assert "<script" not in text and "\x1b" not in text and "\u202e" not in text
    shown = Parsed(text).text
    long = "a very long name of a class " * 6
    for name in ("<script>alert(1)</script>", "100 % & more", long.strip(), *SHOWN_NAMES):
        assert name in shown


def test_names_in_diagrams_are_no_mathematics():
    data = judged.data(3, 60, ("$x_{", r"$\frac{1}{", "$a$"))
    panels = reliability.panels(data.p, data.y, "classes", classes=data.classes, resamples=0)
    figure = reliability_plot.figure(panels)
    figure.draw_without_rendering()
    assert any(r"\$x_{  ($n$" in text.get_text() for text in figure.findobj(Text))


def test_same_judgement_same_bytes(pages):
    again = with_few_drawings("two classes", judged.MAKERS["two classes"]())
    assert again.to_html() == pages["two classes"]


def test_page_only_overwrites_pages(judgements, tmp_path):
    path = tmp_path / "report.html"
    text = judgements["nothing"].to_html(path)
    assert path.read_text() == text and judgements["nothing"].to_html(path) == text
    other = tmp_path / "other.html"
    other.write_text("<!doctype html><title>mine</title>")
    for path in (other, tmp_path):
        with pytest.raises(BadInputError, match=path.name):
            judgements["nothing"].to_html(path)
    assert "mine" in other.read_text()


def test_a_picture_fits_both_widths(judgements):
    """Letters of 8 points have 8 pixels in a window of 390 pixels, and at most 16 in a wide one."""
    judgement = judgements["two files"]
    versus = pictures.draw_differences(judgement.versus)
    for picture in (versus, pictures.draw_groups(judgement.where)):
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture.svg)[1])
        largest = float(re.search(r"max-width: (\d+)px", picture.svg)[1])
        assert width <= 390 - 2 * 12 and largest <= 2 * width
        assert "var(--first)" in picture.svg and "#0072b2" not in picture.svg.lower()
    assert "−0.004 to 0.024" in versus.words
    assert pictures.draw_gains(replace(judgement.gains, gains=())) is None


def test_terms_of_the_judgement_are_explained_where_they_are_used(pages):
    terms = {name: re.findall("<dt>(.*?)</dt>", text) for name, text in pages.items()}
    assert "binary" in terms["two classes"] and "canonical" not in terms["two classes"]
    assert "paired difference" in terms["two files"]
    assert "paired difference" not in terms["one file"] and "binary" not in terms["one file"]


def test_advice_follows_from_the_gains_and_the_verdict(judgements):
    judgement = judgements["one file"]
    assert advise(judgements["nothing"]) is None
    best = next(g for g in judgement.gains.gains if g.method == judgement.gains.best)
    assert advise(judgement).text == f"Recalibrate by {best.label}"
    assert advise(judgement).note == judgement.gains.sentence
    nothing = replace(judgement, gains=replace(judgement.gains, best=None))
    assert advise(nothing).text == "Collect more rows before you change anything"
    calibrated = harness.judge([0.2, 0.8] * 500, [0, 0, 0, 1, 1, 1, 0, 1, 0, 1] * 100)
    assert calibrated.gains.best is None and choose_verdict(calibrated)[1] == "good"
    assert advise(calibrated).text == "Leave the predictions as they are"
    wrong = harness.judge([0.0, 0.2, 0.8] * 20, [1, 0, 1] * 20)
    assert advise(wrong).text == "Never state a probability of 0: 20 were wrong"


FIRST_SCREEN = """[...document.querySelectorAll('.verdict, .figures dd, .model svg, .advice')]
    .map(e => e.getBoundingClientRect().bottom)"""


@pytest.mark.slow
@pytest.mark.parametrize(("k", "models"), [(2, 1), (10, 1), (10, 2)])
@pytest.mark.parametrize("power", [1.0, 1.5])
def test_the_first_screen_answers_and_paper_has_every_question(k, models, power, tmp_path):
    """Verdict, interval, rows, advice and diagram stand on the first 800 pixels."""
    rng = np.random.default_rng(k)
    true = rng.dirichlet(np.full(k, 0.5), 1000)
    y = (true.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    p = (true + 1e-3) ** power
    p /= p.sum(axis=1, keepdims=True)
    second = (true + 1e-2) / (true + 1e-2).sum(axis=1, keepdims=True) if models == 2 else None
    path = tmp_path / "page.html"
    harness.judge(p, y, second=second).to_html(path)
    with chromium() as browser, browser.opened(path) as seen:
        seen.page.set_viewport_size({"width": 1280, "height": 800})
        assert max(seen.page.evaluate(FIRST_SCREEN)) <= 800
        closed = seen.page.evaluate("document.documentElement.scrollHeight")
        assert closed < 1800
        seen.page.click("summary >> nth=1")
        assert seen.page.evaluate("document.documentElement.scrollHeight") > closed
        pages = seen.page.pdf(format="A4").count(b"/Type /Page\n")
        assert 2 <= pages <= models + 1


@pytest.mark.slow
def test_page_in_a_browser(pages, tmp_path):
    """Light and dark, wide and narrow: no request, no message, no scrolling sideways.

    On a phone, no table needs scrolling sideways either.
    """
    tables = "[...document.querySelectorAll('.scroll')]"
    count_wide = f"{tables}.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    with chromium() as browser:
        for i, text in enumerate(pages.values()):
            (tmp_path / f"{i}.html").write_text(text)
            for size, dark in (("desk", False), ("phone", True)):
                with browser.opened(tmp_path / f"{i}.html", size, dark) as seen:
                    seen.assert_quiet()
                    assert seen.overflow() <= 0, (i, size)
                    assert size == "desk" or seen.page.evaluate(count_wide) == 0, i


@pytest.mark.slow
def test_all_names_are_drawn():
    picture = pictures.draw_classes(judged.judgement(10, 200, classes=judged.NASTY).where)
    for name in ("&lt;scrip…", "100 % &amp; more", *SHOWN_NAMES):
        assert name in picture.svg


@pytest.mark.slow
def test_page_of_a_hundred_classes_is_small():
    text = judged.judgement(100, 2000).to_html()
    heads = [a for tag, a in Parsed(text).elements if tag == "th" and a["scope"] == "row"]
    assert len(text) < 1.5e6 and len(heads) >= 100


# Markdown


@pytest.mark.parametrize("name", judged.MAKERS)
def test_tables_in_markdown_are_whole(judgements, name):
    text = judgements[name].to_markdown()
    tables = re.findall(r"(?:^\|.*\|\n?)+", text, flags=re.M)
    assert len(tables) == 2 and text.endswith("</details>\n")
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().splitlines()}
        assert len(widths) == 1
    assert "<script" not in text


# The terminal


@pytest.mark.parametrize("name", judged.MAKERS)
def test_terminal_has_short_printable_lines(judgements, name):
    lines = str(judgements[name]).splitlines()
    assert max(map(len, lines)) <= 100 and all(line.isprintable() for line in lines)
    assert [line for line in lines if line.startswith("1. ")] and "--html" in lines[-1] + lines[-2]


def test_terminal_shows_the_answers(judgements):
    text = " ".join(str(judgements["two files"]).split())
    for part in (
        *judgements["two files"].sentences,
        "top-label, L1 error: 0.042 (95 % interval 0.0294 to 0.0588)",
        "p = 0.0036",
        "L1 error by class: 0 0.05 [0.02, 0.09]",
    ):
        assert part in text
    judgement = judgements["one file"]
    cautious = replace(
        judgement, how_far=replace(judgement.how_far, cautions=("All labels are a.",))
    )
    assert "All labels are a." in str(cautious)


def test_nothing_is_cut_from_the_terminal(judgements):
    judgement = judgements["two files"]
    long = "One word after the other. " * 40 + "Its end."
    answers = {
        question: replace(answer, sentence=long) for question, answer in judgement.answers.items()
    }
    tests = [replace(test, note=long) for test in judgement.calibrated.tests]
    answers["calibrated"] = replace(answers["calibrated"], tests=tests)
    bounds = [replace(bound, assumption=long) for bound in judgement.how_far.certified]
    answers["how_far"] = replace(answers["how_far"], cautions=[long] * 3, certified=bounds)
    answers["where"] = replace(answers["where"], notes=[long] * 2)
    data = replace(judgement.data, name="n" * 300, understood=long)
    lines = str(replace(judgement, data=data, **answers)).splitlines()
    assert max(map(len, lines)) <= 100
    # Five sentences, three notes of tests, three cautions, an assumption, two notes, the head.
    assert " ".join(" ".join(lines).split()).count(long) == 15
    assert "".join(lines).replace(" ", "").count("n" * 300) == 1
    titles = [line[:2] for line in lines if line[1:3] == ". "]
    assert titles == ["1.", "2.", "3.", "4.", "5."]
