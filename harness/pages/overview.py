"""First page of the site: recommended estimators, the papers, and links for common questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.names import NOTIONS
from harness.configure import catalogue
from harness.pages import index
from harness.pages.arena import answers as arena_answers
from harness.pages.arena import overview as arena_overview
from harness.pages.sources import Files, Sources
from harness.pages.templating import page

# (question, link, description of the linked page); {arena} is the arena's page
QUESTIONS = (
    ("Is my model calibrated?", "#judge", "one command on a file of predictions"),
    ("Which estimator should I use at my n?", "{arena}", "the arena's answer by notion and n"),
    ("Which estimator is best for my family of problems, n and number of classes?",
     "{arena}#leaderboards", "the leaderboard with filters"),
    ("How wrong is the binned ECE, and in which direction?", "estimators/binned15.html",
     "the page of binned15: bias, failures, cost"),
    ("What does an estimator cost for 10,000 predictions?", "estimators/index.html",
     "measured CPU seconds and their growth with n"),
    ("Can I trust the interval of an estimator?", "{arena}#intervals",
     "measured coverage of every interval"),
    ("On which problems were the estimators compared, and how is the truth known?",
     "problems/index.html", "distribution of scores, miscalibration, true values with errors"),
    ("Can Figure 1 of a paper be reproduced?", "papers/index.html",
     "every figure and table, with a verdict for each number"),
    ("Which claims of the papers hold?", "papers/index.html#claims",
     "each claim with the statistic that tests it"),
    ("Where does my own estimator stand?", "#own", "one command, and a verdict on one page"),
    ("What have I run, and with which settings?", "runs.html",
     "variations, sweeps, comparisons, newest first"),
    ("Where does a number come from?", "provenance.html",
     "versions, stored records, data, rules of counting"),
    ("What is meant by calibration error?", "docs/index.html",
     "the notions and estimands, with a worked example"),
)  # fmt: skip


def pages(sources: Sources) -> Files:
    """Yield index.html."""
    arena = arena_overview.arena_page(sources) or "arena/index.html"
    questions = [(text, link.format(arena=arena), what) for text, link, what in QUESTIONS]
    yield "index.html", page(
        "overview.html.j2", "index.html", "calharness",
        description="Estimators of calibration error on problems with known truth, and the numbers "
        "of five papers compared with ours.",
        heads=arena_answers.FIRST_COLUMNS, answers=answers(sources.root), questions=questions,
        simple=simple_rules(sources.root),
        arena=arena,
        estimators=catalogue.counts("estimator"), problems=catalogue.counts("problem"),
        **index.summary(sources.sections),
    )  # fmt: skip


def simple_rules(root: Path) -> list[dict[str, Any]]:
    """Return the simple rules for the L1 error that come before `best` at an n, with notions."""
    table = arena_answers.read_simple(root / "arena" / "index_simple_rules.csv")
    rules = (
        (words, arena_answers.describe_simple(table, notion, "l1"))
        for notion, words in NOTIONS.items()
    )
    return [
        {"notion": words, "rule": rule} for words, rule in rules if rule and rule["recommended"]
    ]


def answers(root: Path) -> list[dict[str, Any]]:
    """Return the lines of the table of estimators, from the arena's stored recommendations.

    The list is empty if there are no stored results.
    """
    path = root / "arena" / "index_recommendations.csv"
    return arena_answers.first_lines(pd.read_csv(path)) if path.is_file() else []
