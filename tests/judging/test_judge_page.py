"""What a judgement looks like: the page, the text of the terminal, the JSON; names out of data do no harm in any of them."""

import json
import math
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import judged
import pytest
from matplotlib.text import Text

from harness import BadInputError
from harness.evaluation import reliability
from harness.figures import reliability_plot
from harness.judging import as_json, glossary, page, pictures, terminal, thresholds
from harness.judging.findings import Interval
from harness.judging.words import QUESTIONS

ALL = {
    "one file": lambda: judged.judgement(4, 200, drawn=1),
    "two classes": lambda: judged.judgement(2, 200),
    "two files": lambda: judged.compared(3, 200, drawn=0),
    "nothing": judged.nothing,
    "names": lambda: judged.judgement(10, 200, classes=judged.NASTY, drawn=2),
}


@pytest.fixture(scope="module")
def made():
    return {name: make() for name, make in ALL.items()}


@pytest.fixture(scope="module")
def pages(made):
    return {name: few_drawings(name, one).to_html() for name, one in made.items()}


def few_drawings(name, one):
    """The judgement with less to be drawn, which takes most of the time; one of them keeps all."""
    if one.where is None or name == "one file":
        return one
    shown = one.where if name == "names" else replace(one.where, panels=(), groups=())
    return replace(
        one,
        where=shown,
        how_far=replace(one.how_far, errors=one.how_far.errors[:1]),
        gains=replace(one.gains, gains=()),
    )


class Seen(HTMLParser):
    """The elements of a page: [(tag, attributes)], its texts, and what is open at its end."""

    VOID = ("meta", "link", "br", "img", "input")

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@pytest.mark.parametrize("name", ALL)
def test_page_is_whole_and_asks_for_nothing(pages, name):
    """Every element is closed, no identifier is there twice, nothing is loaded or run."""
    seen = Seen(pages[name])
    assert not seen.open
    ids = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not [
        tag for tag, _ in seen.elements if tag in ("script", "iframe", "object", "embed", "img")
    ]
    links = [attributes.get(key, "") for _, attributes in seen.elements for key in ("href", "src")]
    assert all(link == "" or link.startswith(("#", "data:,")) for link in links)
    assert not [
        key for _, attributes in seen.elements for key in attributes if key.startswith("on")
    ]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert not re.search(r"@import|url\((?!#)", pages[name])


@pytest.mark.parametrize("name", ALL)
def test_page_can_be_heard(pages, name):
    """Pictures are told in words, tables have captions and headers, what scrolls is reached by keyboard, headings in order."""
    seen = Seen(pages[name])
    pictured = [attributes for _, attributes in seen.elements if attributes.get("role") == "img"]
    assert len(pictured) == pages[name].count("<figure") and all(
        len(one["aria-label"]) > 40 for one in pictured
    )
    assert all(
        attributes.get("aria-hidden") == "true" for tag, attributes in seen.elements if tag == "svg"
    )
    tags = [tag for tag, _ in seen.elements]
    assert tags.count("caption") == tags.count("table")
    assert all("scope" in attributes for tag, attributes in seen.elements if tag == "th")
    regions = [attributes for _, attributes in seen.elements if attributes.get("role") == "region"]
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in regions)
    assert [tag for tag in tags if tag in ("h1", "h2")] == ["h1", *["h2"] * 7]


def test_words_come_before_numbers(made, pages):
    seen = Seen(pages["two files"])
    order = [
        seen.text.index(f"{i}. {question}") for i, question in enumerate(QUESTIONS.values(), 1)
    ]
    assert order == sorted(order) and pages["two files"].count("What this means") == 5
    assert all(sentence in seen.text for sentence in made["two files"].sentences)
    start = seen.text[: order[0]]
    assert "Not calibrated" in start and all(
        sentence in start for sentence in made["two files"].sentences
    )


def test_every_number_is_there_with_its_level(pages):
    text = Seen(pages["one file"]).text
    for said in (
        "0.0294 to 0.0588",
        "96.1 %",
        "at least",
        "0.004 to 0.12",
        "The rows are independent",
        "0.01 to 0.03",
        "95 %",
    ):
        assert said in text or said == "at least"
    assert "2,000 calibrated samples with n = 1,000 and k = 10" in text and "4.1 % to 5.6 %" in text
    assert "Level of all intervals and tests: 95 %" in text and "Seed of what is random: 0" in text


def test_what_cannot_be_said_is_said(pages, made):
    text = Seen(pages["nothing"]).text
    assert (
        text.count("That cannot be said: 12 rows are too few; at least 50 are needed.") == 4
        and "<table" not in pages["nothing"]
    )
    assert "It cannot be said whether it is calibrated" in text
    some = made["one file"]
    none = replace(some.where, panels=(), classes=(), regions=(), groups=())
    one = replace(
        some,
        calibrated=replace(some.calibrated, rejected=None),
        where=none,
        how_far=None,
        gains=None,
    )
    assert "Nothing is said for or against" in one.to_html()


def test_names_do_no_harm(pages):
    """They are shown as they are, but for what would turn or colour the text behind them; none is mathematics, none is markup."""
    held = pages["names"]
    assert (
        "<script" not in held
        and "&lt;script&gt;" in held
        and "\x1b" not in held
        and "\u202e" not in held
    )
    seen = Seen(held)
    for name in (
        "<script>alert(1)</script>",
        "$x_1$",
        "100 % & more",
        r"$\frac{1}{",
        "مرحبا بالعالم",
        "猫",
        "[31mred[0m",
    ):
        assert name in seen.text
    assert max(map(len, re.findall(r"<bdi[^>]*>(.*?)</bdi>", held))) < 120


def test_diagrams_of_a_run_take_such_names_too():
    data = judged.data(3, 60, ("$x_{", r"$\frac{1}{", "$a$"))
    figure = reliability_plot.figure(
        reliability.panels(data.p, data.y, "classes", classes=data.classes, band="none")
    )
    figure.draw_without_rendering()
    assert any(r"\$x_{  ($n$" in text.get_text() for text in figure.axes[0].figure.findobj(Text))


def test_same_judgement_same_bytes(pages):
    assert few_drawings("two classes", ALL["two classes"]()).to_html() == pages["two classes"]


def test_page_overwrites_pages_alone(made, tmp_path):
    path = tmp_path / "report.html"
    text = made["nothing"].to_html(path)
    assert path.read_text() == text and made["nothing"].to_html(path) == text
    other = tmp_path / "other.html"
    other.write_text("<!doctype html><title>mine</title>")
    with pytest.raises(BadInputError, match=r"other.html is there already .* not overwritten"):
        made["nothing"].to_html(other)
    assert "mine" in other.read_text()
    with pytest.raises(BadInputError, match="is a folder"):
        page.allowed(tmp_path)


def test_a_picture_fits_both_widths(made):
    """Letters of 8 points have at least 8 pixels in a window of 390 pixels, and no more than 16 in a wide one."""
    one = made["two files"]
    differences = pictures.differences(one.versus)
    for drawn in (differences, pictures.groups(one.where)):
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn.svg)[1])
        largest = float(re.search(r"max-width: (\d+)px", drawn.svg)[1])
        assert width <= 390 - 2 * 12 and largest <= 2 * width
        assert "var(--first)" in drawn.svg and "#0072b2" not in drawn.svg.lower()
    assert "−0.004 to 0.024" in differences.said
    assert (
        pictures.gains(replace(one.gains, gains=())) is None
        and pictures.errors(replace(one.how_far, errors=(), certified=())) is None
    )


def test_glossary_is_of_this_judgement(made):
    assert "binary" in glossary.terms(made["two classes"]) and "canonical" not in glossary.terms(
        made["two classes"]
    )
    assert "paired difference" in glossary.terms(
        made["two files"]
    ) and "paired difference" not in glossary.terms(made["one file"])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium")
def test_page_in_a_browser(pages, tmp_path):
    """Light and dark, wide and narrow: no request, no message, no scrolling sideways."""
    sync = pytest.importorskip("playwright.sync_api")
    asked = []
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, text in pages.items():
            path = tmp_path / f"{ALL[name].__name__}{len(text)}.html"
            path.write_text(text)
            for width, scheme in ((1280, "light"), (390, "dark")):
                tab = browser.new_page(
                    viewport={"width": width, "height": 900}, color_scheme=scheme
                )
                tab.on("request", lambda request: asked.append(request.url))
                tab.on("console", lambda message: asked.append(message.text))
                tab.on("dialog", lambda dialog: asked.append(dialog.message))
                tab.goto(path.as_uri())
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
                tab.close()
        browser.close()
    assert set(asked) == {path.as_uri() for path in tmp_path.iterdir()}


@pytest.mark.slow
def test_all_names_are_drawn():
    drawn = pictures.classes(judged.judgement(10, 200, classes=judged.NASTY).where)
    for name in (
        "&lt;scrip…",
        "$x_1$",
        "100 % &amp; more",
        r"$\frac{1}{",
        "مرحبا بالعالم",
        "猫",
        "[31mred[0m",
    ):
        assert name in drawn.svg


@pytest.mark.slow
def test_page_of_a_hundred_classes_is_small():
    text = judged.judgement(100, 2000).to_html()
    assert len(text) < 1.5e6 and Seen(text).elements.count(("th", {"scope": "row"})) >= 100


# The terminal


@pytest.mark.parametrize("name", ALL)
def test_terminal_has_25_lines_of_100_characters(made, name):
    text = str(made[name])
    lines = text.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100 and text.isprintable() is False
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if line.startswith("1. ")] and "--html" in lines[-1]


def test_terminal_says_the_answers(made):
    text = " ".join(str(made["two files"]).split())
    for sentence in made["two files"].sentences:
        assert sentence in text
    for said in (
        "top-label, L1 error: 0.042 (95 % interval: 0.0294 to 0.0588)",
        "p = 0.0036",
        "worst classes: 0 0.05 [0.02, 0.09]",
    ):
        assert said in text
    assert "That cannot be said: 12 rows are too few" in str(made["nothing"])


def test_terminal_says_what_cannot_be_said_and_keeps_percent_signs_with_their_numbers(made):
    one = made["one file"]
    found = replace(one, how_far=replace(one.how_far, cautions=("All labels are a.",)))
    assert "All labels are a." in terminal.text(found)
    assert terminal._folded("x" * 10 + " 95 % interval", 13)[:2] == ["x" * 10, "   95 %"]


def test_terminal_stays_within_its_lines_whatever_the_sentences(made):
    long = "One word after the other. " * 40
    one = made["two files"]
    changed = {name: replace(getattr(one, name), sentence=long) for name in QUESTIONS}
    lines = str(replace(one, **changed)).splitlines()
    assert (
        len(lines) == 25
        and max(map(len, lines)) <= 100
        and sum(line.endswith(" …") for line in lines) >= 5
    )
    assert [line[:2] for line in lines if line[1:3] == ". "] == ["1.", "2.", "3.", "4.", "5."]


def test_colour_is_asked_for(made):
    assert "\x1b" not in str(made["one file"])
    assert terminal.text(made["one file"], colour=True).count("\x1b[1m") == 4


# JSON and thresholds


@pytest.mark.parametrize("name", ALL)
def test_json_is_plain_and_every_number_has_a_level_or_a_reason(made, name):
    held = made[name].to_json()
    assert json.loads(json.dumps(held, allow_nan=False)) == held
    assert held["schema"] == "calharness.judge" and held["schema_version"] == 1
    for name_of, one in held["numbers"].items():
        assert (one["value"] is None) == (one["reason"] is not None)
        assert one["level"] == 0.95 or name_of.rpartition(".")[2] not in ("low", "high")
    assert set(QUESTIONS) <= set(held) and "seconds" not in json.dumps(held)


def test_schema_names_every_field(made):
    """The docstring is the documentation of the schema; the fields of version 1 stay."""
    held = made["two files"].to_json()
    for name in held:
        assert re.search(rf"^    .*\b{name}\b", as_json.__doc__, flags=re.M), name
    assert list(held["data"]) == [
        "name",
        "n",
        "k",
        "classes",
        "understood",
        "notions",
        "confidences",
        "groups",
    ]
    assert held["how_far"]["errors"][0]["interval"] == {
        "value": 0.042, "low": pytest.approx(0.0294), "high": pytest.approx(0.0588), "level": 0.95,
    }  # fmt: skip
    assert held["others"][0]["data"]["name"] == "other <model>" and "panels" not in held["where"]


def test_short_names(made):
    held = as_json.numbers(made["two files"])
    expected = {
        "top_label.l1.value": 0.042, "top_label.l1.high": 0.0588, "top_label.l1.binned15.value": 0.0462,
        "top_label.rejected": 1.0, "worst_class.l1.value": 0.05,
        "top_label.p_value": 0.0036, "top_label.l1.certified.high": 0.12, "confidence_gap.low": 0.03, "log_loss.value": 0.31,
        "brier.miscalibration.high": 0.02, "log_loss.gain.value": 0.02, "log_loss.gain.vector.low": 0.002,
        "class.1.l1.value": 0.025, "group.site.north.gap.value": 0.03, "difference.log_loss.high": 0.024,
        "other <model>:top_label.l1.high": 0.0588,
    }  # fmt: skip
    assert {name: held[name]["value"] for name in expected} == pytest.approx(expected)
    assert held["canonical.p_value"]["reason"] == "the test needs at least 50 rows."
    assert held["top_label.kl.value"] == {
        "value": None,
        "level": None,
        "reason": "5,599 of the confidences are exactly 1.",
    }


def test_infinite_and_missing_numbers_are_null(made):
    one = made["one file"]
    first = replace(one.how_far.errors[0], interval=Interval(math.nan, -math.inf, math.inf))
    held = replace(one, how_far=replace(one.how_far, errors=(first,))).to_json()
    assert held["how_far"]["errors"][0]["interval"] == {
        "value": None,
        "low": None,
        "high": None,
        "level": 0.95,
    }
    assert held["numbers"]["top_label.l1.value"]["value"] is None


def test_thresholds_are_exceeded_above_and_not_at_the_limit(made):
    one = made["one file"]

    def of(*texts):
        return thresholds.exceeded(one, [thresholds.parsed(text) for text in texts])

    assert of("top_label.l1.value=0.042", "log_loss.gain.low=0.5", "confidence_gap.high=inf") == []
    assert of("top_label.l1.high=0.05", "worst_class.l1.low=0.5") == [
        "top_label.l1.high is 0.0588 (95 % level), above the limit of 0.05."
    ]
    assert thresholds.parsed("class.a=b.l1.high=1") == thresholds.Threshold(
        "class.a=b.l1.high", 1.0
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("top_label", "NAME=LIMIT"),
        ("top_label.l1.high=low", "the limit 'low'; a number"),
        ("top_label.l1.high=nan", "a number is needed"),
        ("toplabel.l1.high=1", "did you mean 'top_label'"),
        (
            "top_label.l1.hi=1",
            r"did you mean 'top_label.l1.high'\?\).* it has top_label.p_value\|rejected\|detectable, .*class.NAME.l1",
        ),
        ("canonical.p_value=1", "no value here: the test needs at least 50 rows."),
        ("difference.log_loss.high=1", "does not have"),
    ],
)
def test_thresholds_on_what_does_not_exist(made, text, said):
    with pytest.raises(BadInputError, match=said):
        thresholds.exceeded(made["one file"], [thresholds.parsed(text)])


def test_thresholds_without_an_answer_say_why(made):
    with pytest.raises(
        BadInputError, match=r"12 rows are too few; at least 50 are needed\); it has none"
    ):
        thresholds.exceeded(made["nothing"], [thresholds.parsed("top_label.l1.high=1")])
