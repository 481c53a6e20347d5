"""Summarise the verdicts on reported numbers and claims as Markdown, for docs/ and the README.

The verdicts are read from results/*/reproduction.csv and results/*/claims.csv.
"""

from __future__ import annotations

import html
import textwrap

import pandas as pd
from marks import DOCS, table
from missing import overview

from harness.configure.catalogue import papers
from harness.evaluation import propositions
from harness.evaluation.claim_tables import describe_result
from harness.evaluation.outcomes import (
    OUTCOMES,
    count_by_source,
    drop_repeats,
    printed_outcomes,
    read_rows,
    sentence,
)
from harness.evaluation.reproduction import STANDARD_ERROR

RESULTS = DOCS.parent / "results"
ONE_TEST = "gruber2025_table4_halves"  # compares five numbers of the same rows
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
    "within seeds": "within seeds",
    "outside seeds": "outside seeds",
    "not reproducible here": "not judged",
}


def stored_papers(file: str = "reproduction.csv") -> list[str]:
    """Return the papers whose results are stored. A new paper has none."""
    return [paper for paper in papers() if (RESULTS / paper / file).is_file()]


def verdicts() -> str:
    """Return a table with the number of verdicts of each kind, by paper and source of the number.

    A number that a paper prints twice counts once. Verdicts that no number has are left out.
    """
    rows = []
    for paper in stored_papers():
        numbers = drop_repeats(read_rows(RESULTS, paper))
        for source, by_verdict in count_by_source(numbers).items():
            if source != "claim":
                rows.append([paper, source, by_verdict])
    shown = [verdict for verdict in HEADINGS if any(verdict in counts for *_, counts in rows)]
    lines = [[*names, *(str(counts.get(v, "")) for v in shown)] for *names, counts in rows]
    headings = [HEADINGS[verdict] for verdict in shown]
    return table(["paper", "where the number comes from", *headings], lines)


def missing() -> str:
    """Return the table of missing files, with the printed numbers that each would bring back."""
    return overview(stored_papers())


def outcomes() -> str:
    """Count the outcomes of the printed numbers of all papers, and say which ones agree."""
    parts = [printed_outcomes(read_rows(RESULTS, paper), paper) for paper in stored_papers()]
    table = pd.concat(parts)
    counts = table["outcome"].value_counts()
    total = {name: int(counts.get(name, 0)) for name in OUTCOMES}
    agreeing = table[table["outcome"].eq("recomputed and agreeing")]
    return textwrap.fill(f"{sentence(total)}. {kinds(agreeing)}{stated()}", 135)


def stated() -> str:
    """Return a sentence with the numbers of propositions by verdict, or nothing without any."""
    tables = [propositions.read(RESULTS, paper) for paper in stored_papers("propositions.csv")]
    if not tables:
        return ""
    counts = propositions.count(pd.concat(tables))
    words = {"holds": "hold", "fails": "fail", "cannot be tested": "cannot be tested"}
    parts = ", ".join(f"{count} {words[verdict]}" for verdict, count in counts.items())
    return f" Of {sum(counts.values())} propositions, {parts}."


def kinds(agreeing: pd.DataFrame) -> str:
    """Return sentences on what the recomputed numbers are that agree.

    `agreeing` has their rows from `printed_outcomes`.
    """
    is_error = agreeing["column"].str.endswith(STANDARD_ERROR)
    has_ridge = agreeing["of"].str.contains("float32_ridge")
    one_test = agreeing["experiment"].eq(ONE_TEST)
    accuracy = agreeing["column"].eq("accuracy")
    return (
        f"Of the {len(agreeing)}, {is_error.sum()} are standard errors and {accuracy.sum()} "
        f"accuracies. {has_ridge.sum()} ({(has_ridge & is_error).sum()} of these standard errors) "
        "are of kernel ridge, whose ridge we chose after seeing the numbers. "
        f"{one_test.sum()} are one test, of DenseNet-161's rows."
    )


def failing() -> str:
    """Return, for each paper, the counts of its verdicts and a table of claims that do not hold."""
    parts = []
    for paper in stored_papers("claims.csv"):
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
