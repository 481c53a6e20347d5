"""Summarise the verdicts on reported numbers and claims as Markdown, for docs/ and the README.

The verdicts are read from results/*/reproduction.csv and results/*/claims.csv.
"""

from __future__ import annotations

import html
import re
import textwrap

import pandas as pd
from marks import DOCS, table

from harness.configure.catalogue import papers
from harness.evaluation.claim_tables import describe_result
from harness.evaluation.outcomes import (
    OUTCOMES,
    count_by_source,
    count_outcomes,
    drop_repeats,
    read_rows,
    sentence,
)
from harness.evaluation.papers import read as read_paper
from harness.evaluation.reproduction import PRINTED
from harness.evaluation.verdicts import UNJUDGED

RESULTS = DOCS.parent / "results"
COUNTED = {
    "holds": "hold",
    "fails": "fail",
    "undecided": "undecided",
    "not reproducible here": "not tested here",
}
HEADINGS = {
    "identical": "identical",
    "within error": "within error",
    "differs": "differs",
    "no test": "no test",
    "not reproducible here": "not judged",
}


def verdicts() -> str:
    """Return a table with the number of verdicts of each kind, by paper and source of the number.

    A number that a paper prints twice counts once.
    """
    rows = []
    for paper in papers():
        numbers = drop_repeats(read_rows(RESULTS, paper))
        for source, by_verdict in count_by_source(numbers).items():
            if source != "claim":
                counts = (str(by_verdict.get(verdict, "")) for verdict in HEADINGS)
                rows.append([paper, source, *counts])
    return table(["paper", "where the number comes from", *HEADINGS.values()], rows)


def missing() -> str:
    """Return a table that counts the printed numbers that were not computed here, by item.

    The last column names the missing data. It is taken from paper.yaml, or else from the reason of
    the verdict.
    """
    lines = []
    for paper in papers():
        items = read_paper(paper).items
        numbers = drop_repeats(read_rows(RESULTS, paper))
        wanted = numbers["source"].eq(PRINTED) & numbers["verdict"].eq(UNJUDGED)
        for item, rows in numbers[wanted & numbers["ours"].isna()].groupby("item", sort=False):
            known = items.get(item)
            needs = known.needs if known and known.needs else rows["reason"].iloc[0]
            first = re.split(r"[.;:] (?=[A-Za-z])", needs)[0].rstrip(".")
            lines.append([paper, known.name if known else item, str(len(rows)), first])
    return table(["paper", "item", "printed numbers", "what is missing"], lines)


def outcomes() -> str:
    """Return one sentence that counts the verdicts on the printed numbers of all papers."""
    total = dict.fromkeys(OUTCOMES, 0)
    for paper in papers():
        for name, number in count_outcomes(read_rows(RESULTS, paper), paper).items():
            total[name] += number
    return textwrap.fill(f"{sentence(total)}.", 135)


def failing() -> str:
    """Return, for each paper, the counts of its verdicts and a table of claims that do not hold."""
    parts = []
    for paper in papers():
        claims = pd.read_csv(RESULTS / paper / "claims.csv")
        n = claims["verdict"].value_counts()
        counts = ", ".join(f"{n[key]} {verb}" for key, verb in COUNTED.items() if n.get(key))
        head = f"{len(claims)} claims: {counts}."
        others = claims[claims["verdict"] != "holds"].sort_values("verdict", kind="stable")
        rows = [_row(claim) for _, claim in others.iterrows()]
        columns = [
            "claim, and its result with the 99 % interval",
            "the paper's words",
            "what was measured",
            "it holds if this is",
        ]
        command = f"`calharness report experiment={paper}_claims`"
        parts.append(
            f"### Claims of {paper}\n\n{head} {command} draws all of them.\n\n"
            f"{table(columns, rows)}"
        )
    return "\n\n".join(parts)


def _row(claim: pd.Series) -> list[str]:
    result = describe_result(
        claim["verdict"],
        claim["side"],
        claim["threshold"],
        *claim[["value", "low", "high"]],
        claim["statistic"],
    )
    quote = f"“{_text(claim['quote'])}”" if isinstance(claim["quote"], str) else ""
    compared = f"<br>{_text(claim['compared'])}" if isinstance(claim["compared"], str) else ""
    return [
        f"{_text(claim['claim'])}: **{_text(result)}**",
        quote,
        f"{_text(claim['statistic'])}{compared}",
        f"{claim['side']} {claim['threshold']:g}",
    ]


def _text(text: str) -> str:
    return html.escape(str(text), quote=False).replace("*", r"\*").replace("_", r"\_")
