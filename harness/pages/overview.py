"""The first page: what this is, the arena's answer, the papers, how to judge a file, and where each question leads."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from harness.configure import catalogue
from harness.evaluation import counted
from harness.pages import index, layout
from harness.pages.arena_tables import ANSWER_COLUMNS
from harness.pages.sources import Sources

# question, page, what stands there; each page is one click from here
QUESTIONS = (
    ("Is my model calibrated?", "#judge", "one command on a file of predictions"),
    ("Which estimator should I use at my n and k?", "arena/index.html", "the arena, with filters for notion, family, n and k"),
    ("How wrong is the binned ECE, and in which direction?", "estimators/binned15.html", "its card: bias, failures, cost"),
    ("What does an estimator cost for 10,000 predictions?", "estimators/index.html", "measured seconds and their exponent in n"),
    ("Can I trust its interval?", "results/arena/index.html#intervals", "measured coverage of every interval"),
    ("On which problems were they tried, and how is the truth known?", "problems/index.html", "density, map, truth, its error"),
    ("Does this paper's Figure 1 come back?", "papers/index.html", "every figure and table, with a verdict for each number"),
    ("Which claims of the papers hold?", "papers/index.html#claims", "each sentence with the statistic that tests it"),
    ("Where does my own estimator stand?", "#own", "one command, and a verdict on one page"),
    ("What have I run, and what differed?", "runs.html", "variations, sweeps, comparisons, newest first"),
    ("Where does a number come from?", "provenance.html", "versions, stored records, data, rules of counting"),
    ("Which calibration error is meant?", "docs/index.html", "the notions and estimands, with a worked example"),
)  # fmt: skip


def pages(root: Sources) -> Iterator[tuple[str, str]]:
    """index.html."""
    sections = root.sections
    body = layout.render(
        "overview.html.j2", "index.html", sections=sections, total=index.total(sections), heads=ANSWER_COLUMNS,
        findings=index.strongest(root.papers), answers=answers(root), questions=QUESTIONS,
        estimators=catalogue.counts("estimator"), problems=catalogue.counts("problem"),
        said=counted.sentence(index.total(sections)["printed"]), ways=index.ways(sections),
    )  # fmt: skip
    says = "Estimators of calibration error on problems with known truth, and five papers beside what is computed here."
    yield "index.html", layout.page("calharness", body, "index.html", description=says)


def answers(root: Sources) -> list[list[str]]:
    """The arena's answer in ten lines, from its stored results; empty without them."""
    path = root.root / "arena" / "index_answers.csv"
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = [[row[name] for name in ANSWER_COLUMNS] for row in csv.DictReader(file)]
    return [
        [row[0].replace(" = ", "\u00a0=\u00a0"), *row[1:]] for row in rows
    ]  # no line ends inside of "n = 200"
