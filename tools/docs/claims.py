"""What came of every reported number and claim of the papers, from results/*/reproduction.csv and claims.csv."""

from __future__ import annotations

import html
import textwrap

import pandas as pd
from marks import DOCS, table

from harness.configure.catalogue import papers
from harness.evaluation import counted

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
    """Reported numbers of every paper, each once, by where they come from and by verdict."""
    rows = []
    for paper in papers():
        found = counted.rows(RESULTS, paper)
        for source, by_verdict in counted.by_source(counted.once(found)).items():
            if source != "claim":
                rows.append(
                    [paper, source, *(str(by_verdict.get(verdict, "")) for verdict in HEADINGS)]
                )
    return table(["paper", "where the number comes from", *HEADINGS.values()], rows)


def outcomes() -> str:
    """What came of the printed numbers of all papers, in one sentence."""
    total = dict.fromkeys(counted.OUTCOMES, 0)
    for paper in papers():
        for name, number in counted.outcomes(counted.rows(RESULTS, paper), paper).items():
            total[name] += number
    return textwrap.fill(f"{counted.sentence(total)}.", 135)


def failing() -> str:
    """The claims that do not simply hold, and how many do."""
    parts = []
    for paper in papers():
        found = pd.read_csv(RESULTS / paper / "claims.csv")
        n = found["verdict"].value_counts()
        counts = ", ".join(
            f"{n.get(verdict, 0)} {said}" for verdict, said in COUNTED.items() if n.get(verdict, 0)
        )
        head = f"{len(found)} claims: {counts}."
        rows = [
            _row(claim)
            for _, claim in found[found["verdict"] != "holds"]
            .sort_values("verdict", kind="stable")
            .iterrows()
        ]
        columns = [
            "claim, and the paper's words",
            "what was measured",
            "claimed",
            "ours, 99 % interval",
            "verdict",
        ]
        command = f"`calharness report experiment={paper}_claims`"
        parts.append(
            f"### Claims of {paper}\n\n{head} {command} draws all of them.\n\n{table(columns, rows)}"
        )
    return "\n\n".join(parts)


def _row(claim: pd.Series) -> list[str]:
    quote = f"<br>“{_text(claim['quote'])}”" if isinstance(claim["quote"], str) else ""
    compared = f"<br>{_text(claim['compared'])}" if isinstance(claim["compared"], str) else ""
    ours = f"{claim['value']:.3g} ({claim['low']:.3g} to {claim['high']:.3g})"
    said = f"{_text(claim['claim'])}{quote}"
    return [
        said,
        f"{_text(claim['statistic'])}{compared}",
        f"{claim['side']} {claim['threshold']:g}",
        ours,
        claim["verdict"],
    ]


def _text(said: str) -> str:
    return html.escape(str(said), quote=False).replace("*", r"\*").replace("_", r"\_")
