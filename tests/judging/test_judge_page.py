"""Page, terminal text, JSON and thresholds of judgements made by hand.

Names from the data do no harm in any of them.
"""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import judged
import pytest
from browser import chromium
from matplotlib.text import Text

from harness import BadInputError
from harness.evaluation import reliability
from harness.figures import reliability_plot
from harness.judging import as_json, pictures, thresholds
from harness.judging.answers import QUESTIONS
from harness.judging.findings import Interval

MAKERS = {
    "one file": lambda: judged.judgement(4, 200, drawn=1),
    "two classes": lambda: judged.judgement(2, 200),
    "two files": lambda: judged.compared(3, 200, drawn=0),
    "nothing": judged.nothing,
    "names": lambda: judged.judgement(10, 200, classes=judged.NASTY, drawn=2),
}
SHOWN_NAMES = ["$x_1$", r"$\frac{1}{", "مرحبا بالعالم", "猫", "[31mred[0m"]


@pytest.fixture(scope="module")
def judgements():
    return {name: make() for name, make in MAKERS.items()}


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


@pytest.mark.parametrize("name", MAKERS)
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


@pytest.mark.parametrize("name", MAKERS)
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
    assert [tag for tag in tags if tag in ("h1", "h2")] == ["h1", *["h2"] * 8]


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
    for name in ("<script>alert(1)</script>", "100 % & more", *SHOWN_NAMES):
        assert name in shown
    assert max(map(len, re.findall(r"<bdi[^>]*>(.*?)</bdi>", text))) < 120


def test_names_in_diagrams_are_no_mathematics():
    data = judged.data(3, 60, ("$x_{", r"$\frac{1}{", "$a$"))
    panels = reliability.panels(data.p, data.y, "classes", classes=data.classes, resamples=0)
    figure = reliability_plot.figure(panels)
    figure.draw_without_rendering()
    assert any(r"\$x_{  ($n$" in text.get_text() for text in figure.findobj(Text))


def test_same_judgement_same_bytes(pages):
    again = with_few_drawings("two classes", MAKERS["two classes"]())
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


def test_glossary_has_the_terms_of_the_judgement(pages):
    terms = {name: re.findall("<dt>(.*?)</dt>", text) for name, text in pages.items()}
    assert "binary" in terms["two classes"] and "canonical" not in terms["two classes"]
    assert "paired difference" in terms["two files"]
    assert "paired difference" not in terms["one file"] and "binary" not in terms["one file"]


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


@pytest.mark.parametrize("name", MAKERS)
def test_tables_in_markdown_are_whole(judgements, name):
    text = judgements[name].to_markdown()
    tables = re.findall(r"(?:^\|.*\|\n?)+", text, flags=re.M)
    assert len(tables) == 2 and text.endswith("</details>\n")
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().splitlines()}
        assert len(widths) == 1
    assert "<script" not in text


# The terminal


@pytest.mark.parametrize("name", MAKERS)
def test_terminal_has_few_short_lines(judgements, name):
    lines = str(judgements[name]).splitlines()
    assert len(lines) <= (30 if name == "two files" else 25) and max(map(len, lines)) <= 100
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if line.startswith("1. ")] and "--html" in lines[-1]


def test_terminal_shows_the_answers(judgements):
    text = " ".join(str(judgements["two files"]).split())
    for part in (
        *judgements["two files"].sentences,
        "top-label, L1 error: 0.042 (95 % interval 0.0294 to 0.0588)",
        "p = 0.0036",
        "worst classes: 0 0.05 [0.02, 0.09]",
    ):
        assert part in text
    assert "12 rows are too few" in str(judgements["nothing"])
    judgement = judgements["one file"]
    cautious = replace(
        judgement, how_far=replace(judgement.how_far, cautions=("All labels are a.",))
    )
    assert "All labels are a." in str(cautious)


def test_terminal_stays_within_its_lines_whatever_the_sentences(judgements):
    judgement = judgements["two files"]
    answers = {
        question: replace(answer, sentence="One word after the other. " * 40)
        for question, answer in judgement.answers.items()
    }
    lines = str(replace(judgement, **answers)).splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 100
    assert sum(line.endswith(" …") for line in lines) >= 5
    titles = [line[:2] for line in lines if line[1:3] == ". "]
    assert titles == ["1.", "2.", "3.", "4.", "5."]


# JSON and thresholds


@pytest.mark.parametrize("name", MAKERS)
def test_json_is_plain_and_every_number_has_a_value_or_a_reason(judgements, name):
    content = judgements[name].to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["schema"] == "calharness.judge" and content["schema_version"] == 1
    for number, row in content["numbers"].items():
        assert (row["value"] is None) == (row["reason"] is not None)
        assert row["level"] == 0.95 or number.rpartition(".")[2] not in ("low", "high")
    assert set(QUESTIONS) <= set(content)


def test_docstring_names_every_field_of_the_schema(judgements):
    content = judgements["two files"].to_json()
    for name in content:
        assert re.search(rf"^    .*\b{name}\b", as_json.__doc__, flags=re.M), name
    interval = content["how_far"]["errors"][0]["interval"]
    assert interval == pytest.approx({"value": 0.042, "low": 0.0294, "high": 0.0588, "level": 0.95})
    assert content["others"][0]["data"]["name"] == "other <model>"


def test_short_names(judgements):
    numbers = as_json.numbers(judgements["two files"])
    expected = {
        "top_label.l1.value": 0.042,
        "top_label.l1.high": 0.0588,
        "top_label.l1.binned15.value": 0.0462,
        "top_label.rejected": 1.0,
        "top_label.p_value": 0.0036,
        "top_label.l1.certified.high": 0.12,
        "worst_class.l1.value": 0.05,
        "confidence_gap.low": 0.03,
        "log_loss.value": 0.31,
        "brier.miscalibration.high": 0.02,
        "log_loss.gain.value": 0.02,
        "log_loss.gain.vector.low": 0.002,
        "class.1.l1.value": 0.025,
        "group.site.north.gap.value": 0.03,
        "difference.log_loss.high": 0.024,
        "other <model>:top_label.l1.high": 0.0588,
    }
    assert {name: numbers[name]["value"] for name in expected} == pytest.approx(expected)
    assert numbers["canonical.p_value"]["reason"] == "the test needs at least 50 rows."
    assert numbers["top_label.kl.value"] == {
        "value": None,
        "level": None,
        "reason": "5,599 of the confidences are exactly 1.",
    }


def test_infinite_and_missing_numbers_are_null(judgements):
    judgement = judgements["one file"]
    first = replace(judgement.how_far.errors[0], interval=Interval(math.nan, -math.inf, math.inf))
    content = replace(judgement, how_far=replace(judgement.how_far, errors=(first,))).to_json()
    interval = content["how_far"]["errors"][0]["interval"]
    assert interval == {"value": None, "low": None, "high": None, "level": 0.95}
    assert content["numbers"]["top_label.l1.value"]["value"] is None


def exceeded(judgement, *texts):
    outcomes = thresholds.outcomes(judgement, [thresholds.parse(text) for text in texts])
    return [outcome.sentence for outcome in outcomes if outcome.is_exceeded]


def test_thresholds_are_exceeded_above_and_not_at_the_limit(judgements):
    judgement = judgements["one file"]
    limits = ["top_label.l1.value=0.042", "log_loss.gain.low=0.5", "confidence_gap.high=inf"]
    assert exceeded(judgement, *limits) == []
    assert exceeded(judgement, "top_label.l1.high=0.05", "worst_class.l1.low=0.5") == [
        "top_label.l1.high is 0.0588 (95 % level), above the limit of 0.05."
    ]
    name_with_sign = thresholds.parse("class.a=b.l1.high=1")
    assert name_with_sign == thresholds.Threshold("class.a=b.l1.high", 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("top_label", "NAME=LIMIT"),
        ("top_label.l1.high=low", "NAME=LIMIT"),
        ("top_label.l1.high=nan", "NAME=LIMIT"),
        ("toplabel.l1.high=1", "did you mean 'top_label.l1.high'"),
        ("top_label.l1.hi=1", "did you mean 'top_label.l1.high'"),
        ("canonical.p_value=1", "no value for these predictions: the test needs at least 50 rows."),
        ("difference.log_loss.high=1", "--json lists all names"),
    ],
)
def test_thresholds_without_a_number_are_refused(judgements, text, message):
    with pytest.raises(BadInputError, match=re.escape(message)):
        exceeded(judgements["one file"], text)


def test_thresholds_without_an_answer_give_the_reason(judgements):
    with pytest.raises(BadInputError, match="12 rows are too few"):
        exceeded(judgements["nothing"], "top_label.l1.high=1")
