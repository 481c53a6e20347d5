"""First page of the site: the arena's answer, the papers, and where each question leads."""

from __future__ import annotations

import csv
from pathlib import Path

from harness.configure import catalogue
from harness.pages import index
from harness.pages.arena_tables import ANSWER_COLUMNS
from harness.pages.sources import Files, Sources
from harness.pages.templating import join_equations, page

QUESTIONS = (  # question, link, description; each link is one click from here
    ("Is my model calibrated?", "#judge", "one command on a file of predictions"),
    ("Which estimator should I use at my n and k?", "arena/index.html",
     "the arena, with filters for notion, family, n and k"),
    ("How wrong is the binned ECE, and in which direction?", "estimators/binned15.html",
     "its card: bias, failures, cost"),
    ("What does an estimator cost for 10,000 predictions?", "estimators/index.html",
     "measured seconds and their exponent in n"),
    ("Can I trust its interval?", "results/arena/index.html#intervals",
     "measured coverage of every interval"),
    ("On which problems were they tried, and how is the truth known?", "problems/index.html",
     "density, map, truth, its error"),
    ("Does this paper's Figure 1 come back?", "papers/index.html",
     "every figure and table, with a verdict for each number"),
    ("Which claims of the papers hold?", "papers/index.html#claims",
     "each sentence with the statistic that tests it"),
    ("Where does my own estimator stand?", "#own", "one command, and a verdict on one page"),
    ("What have I run, and what differed?", "runs.html",
     "variations, sweeps, comparisons, newest first"),
    ("Where does a number come from?", "provenance.html",
     "versions, stored records, data, rules of counting"),
    ("Which calibration error is meant?", "docs/index.html",
     "the notions and estimands, with a worked example"),
)  # fmt: skip


def pages(sources: Sources) -> Files:
    """Yield index.html."""
    yield "index.html", page(
        "overview.html.j2", "index.html", "calharness",
        description="Estimators of calibration error on problems with known truth, and five papers "
        "beside what is computed here.",
        heads=ANSWER_COLUMNS, answers=answers(sources.root), questions=QUESTIONS,
        estimators=catalogue.counts("estimator"), problems=catalogue.counts("problem"),
        **index.summary(sources.sections, sources.papers),
    )  # fmt: skip


def answers(root: Path) -> list[list[str]]:
    """Return the arena's answer in ten lines, from its stored results; empty without them."""
    path = root / "arena" / "index_answers.csv"
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = [[row[name] for name in ANSWER_COLUMNS] for row in csv.DictReader(file)]
    return [[join_equations(question), *others] for question, *others in rows]
