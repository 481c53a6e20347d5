"""Count the printed numbers that each missing file would bring back, as a table for docs/.

data/missing.yaml says which rows of which items need a file. The numbers are counted in the stored
results/<paper>/reproduction.csv.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import yaml
from marks import DOCS, table

from harness.evaluation.outcomes import printed_outcomes, read_rows
from harness.evaluation.papers import read as read_paper

ROOT = DOCS.parent
RESULTS = ROOT / "results"
WITHOUT, AUTHORS = "no number of ours", "from the authors' rows"  # keys of outcomes.OUTCOMES
COLUMNS = [
    "what is missing",
    "its form, and its place below CALHARNESS_DATA",
    "printed numbers without ours",
    "numbers that only the authors' rows give",
    "which",
    "commands for somebody who has it",
]


@dataclass(frozen=True)
class Missing:
    """One entry of data/missing.yaml, which describes the fields."""

    name: str
    what: str
    form: str
    commands: tuple[str, ...]
    numbers: dict[str, dict[str, list[str]]]

    def is_needed_by(self, paper: str, item: str, row: str) -> bool:
        """Return True if the printed numbers in this row of an item need what is missing."""
        patterns = self.numbers.get(paper, {}).get(item, [])
        return any(fnmatch.fnmatchcase(row, pattern) for pattern in patterns)


def entries() -> list[Missing]:
    """Return the entries of data/missing.yaml, in its order."""
    loaded = yaml.safe_load((ROOT / "data" / "missing.yaml").read_text())
    return [
        Missing(name, **{**fields, "commands": tuple(fields["commands"])})
        for name, fields in loaded.items()
    ]


def wanted_numbers(papers: Sequence[str]) -> pd.DataFrame:
    """Return the printed numbers of these papers that a missing file would bring back.

    They have no number of ours, or one that only averages the authors' rows. Columns: paper, item,
    row, column, outcome, and `missing`, the name of the entry of data/missing.yaml.

    Raises
    ------
    ValueError
        If not exactly one entry names a number without ours.
    """
    tables = [printed_outcomes(read_rows(RESULTS, p), p).assign(paper=p) for p in papers]
    numbers = pd.concat(tables, ignore_index=True)
    numbers = numbers[numbers["outcome"].isin([WITHOUT, AUTHORS])]
    known = entries()
    names = [
        [entry.name for entry in known if entry.is_needed_by(r.paper, r.item, r.row)]
        for r in numbers.itertuples()
    ]
    for r, found in zip(numbers.itertuples(), names):
        if len(found) > 1 or (r.outcome == WITHOUT and not found):
            raise ValueError(
                f"{r.paper}, {r.item}, {r.row}: data/missing.yaml names {found}; exactly one entry "
                "is needed."
            )
    kept = ["paper", "item", "row", "column", "outcome"]
    named = numbers[kept].assign(missing=[found[0] if found else None for found in names])
    return named.dropna(subset="missing")


def overview(papers: Sequence[str]) -> str:
    """Return a table with one row for each entry of data/missing.yaml, and the totals."""
    numbers = wanted_numbers(papers)
    rows = []
    for entry in entries():
        mine = numbers[numbers["missing"].eq(entry.name)]
        counts = [str(mine["outcome"].eq(outcome).sum() or "") for outcome in (WITHOUT, AUTHORS)]
        commands = "<br>".join(f"`{command}`" for command in entry.commands)
        rows.append([entry.what, entry.form, *counts, _items(mine), commands])
    totals = [f"{numbers['outcome'].eq(outcome).sum():,}" for outcome in (WITHOUT, AUTHORS)]
    return table(COLUMNS, [*rows, ["all", "", *totals, "", ""]])


def _items(numbers: pd.DataFrame) -> str:
    """Describe numbers by paper and item: "gruber2025 Table 1: 30, Table 5: 30"."""
    parts = []
    for paper, rows in numbers.groupby("paper", sort=False):
        items = read_paper(str(paper)).items
        counts = rows.groupby("item", sort=False).size()
        names = [items[item].name if item in items else item for item in counts.index]
        parts.append(f"{paper} {', '.join(f'{n}: {c}' for n, c in zip(names, counts))}")
    return "; ".join(parts)
