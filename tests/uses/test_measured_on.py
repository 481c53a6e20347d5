"""Tables of measured numbers name the commit on which they were measured."""

import re

import pytest
from printed import ROOT

PAGES = (
    *("docs/speed.md", "docs/scaling.md", "docs/reliability.md"),
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/explanation/*.md")),
)
BLOCK = re.compile(r"<!-- (?:begin|measured).*?<!-- end.*?-->", re.S)
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)
COMMIT = re.compile(r"[Mm]easured\s+on\s+`[0-9a-f]{8}`")
NUMBER = re.compile(r"\*{0,2}[<≤]?[-−]?\d[\d,.]*([eE]-?\d+)?\*{0,2}\b")
# Pairs of a page and a block, or the first title of a table. tools/docs/write.py and
# tests/uses/test_numbers.py compare them with stored records, whose keys have revisions.
FROM_RECORDS = {
    ("docs/explanation/best.md", "class-wise"),
    ("docs/explanation/best.md", "wins"),
    ("docs/explanation/best.md", "sensitivity"),
    ("docs/explanation/best.md", "simple rule"),
    ("docs/explanation/binning.md", "arena"),
    ("docs/explanation/trust.md", "extent"),
    ("docs/explanation/trust.md", "arena"),
    ("docs/explanation/discrepancies.md", "DenseNet-40, CIFAR-10"),
    ("docs/explanation/discrepancies.md", "truth"),
    ("docs/explanation/discrepancies.md", "verdicts"),
}
# Numbers of four points, which tests compute again.
BY_HAND = {
    ("docs/explanation/which-error.md", "prediction *p*"),
    ("docs/explanation/which-error.md", "`binary`"),
}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def is_measured(table):
    """Return True if more than half of the cells after the first column begin with a number."""
    body = [cell for line in table.splitlines()[2:] for cell in cells(line)[1:] if cell]
    return sum(bool(NUMBER.match(cell)) for cell in body) > len(body) / 2


def units(text):
    """Yield (start, end, name) of generated blocks with a measured table, and of other ones."""
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        if any(is_measured(table) for table in TABLE.findall(block[0])):
            yield *block.span(), re.search(r"(?:begin|measured:?) (.*?)(?: \(| -->)", block[0])[1]
    for table in TABLE.finditer(text):
        inside = any(b.start() <= table.start() < b.end() for b in blocks)
        if not inside and is_measured(table[0]):
            yield *table.span(), next(cell for cell in cells(table[0].splitlines()[0]) if cell)


def unnamed(page, text):
    """Return the names of the measured tables without a commit in them or just before them."""
    end, names = 0, []
    for start, stop, name in sorted(units(text)):
        before = text[end:start].rpartition("\n## ")[2]
        named = COMMIT.search(before + text[start:stop])
        if not named and (page, name) not in FROM_RECORDS | BY_HAND:
            names.append(name)
        end = stop
    return names


@pytest.mark.parametrize("page", PAGES)
def test_measured_tables_name_their_commit(page):
    assert unnamed(page, (ROOT / page).read_text()) == []


def test_a_table_without_a_commit_is_found():
    table = "| call | s |\n|---|---|\n| a | 0.2 |\n| b | 1.5 |\n"
    named = f"Measured on `0123abcd`:\n\n{table}"
    assert unnamed("page", f"{named}\nMore.\n\n{table}") == ["call"]
    assert unnamed("page", f"{named}\nMore.\n\n{named}") == []
    assert unnamed("page", f"Measured on `0123abcd`.\n\n## Next\n\n{table}") == ["call"]
