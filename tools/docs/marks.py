"""Read and replace the generated parts of a page.

A generated part stands between two comments with its name and with the script that writes it:

    <!-- begin NAME (tools/docs/write.py) -->
    ...
    <!-- end NAME -->
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
WRITE, LISTS = "tools/docs/write.py", "tools/docs/component_lists.py"


def replaced(page: str, name: str, text: str, script: str = WRITE) -> str:
    """Return `page` with `text` in place of the part `name` that `script` generates.

    Raises ValueError if the part does not occur exactly once.
    """
    begin, end = f"<!-- begin {name} ({script}) -->", f"<!-- end {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page needs one {begin!r} and one {end!r}")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{rest.split(end)[1]}"


def part(page: str, name: str) -> str:
    """Return the text of the part `name` of a page, which write.py generates."""
    match = re.search(
        rf"<!-- begin {name} \({re.escape(WRITE)}\) -->\n\n(.*?)\n\n<!-- end {name} -->",
        page,
        re.S,
    )
    if not match:
        raise ValueError(f"the page has no part {name}")
    return match[1]


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table. Vertical bars in its entries are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    escaped = ([text.replace("|", r"\|").replace("\n", " ") for text in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)
