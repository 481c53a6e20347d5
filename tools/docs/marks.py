"""Parts of a page that a script writes: they stand between two comments, which name them.

<!-- begin NAME (tools/docs/write.py) -->
...
<!-- end NAME -->
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
SOURCE = "tools/docs/write.py"


def replaced(page: str, name: str, text: str) -> str:
    """The page with `text` as the part `name`, which must be there once."""
    begin, end = f"<!-- begin {name} ({SOURCE}) -->", f"<!-- end {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page needs one {begin!r} and one {end!r}")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{rest.split(end)[1]}"


def part(page: str, name: str) -> str:
    """The text of a part."""
    found = re.search(
        rf"<!-- begin {name} \({re.escape(SOURCE)}\) -->\n\n(.*?)\n\n<!-- end {name} -->",
        page,
        re.S,
    )
    if not found:
        raise ValueError(f"the page has no part {name}")
    return found[1]


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; bars inside cells are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    escaped = ([cell.replace("|", r"\|").replace("\n", " ") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)
