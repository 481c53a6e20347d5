"""Pages of results inside the site: copied with the files that they link to, and with a way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

KEPT = (".csv", ".png", ".svg", ".txt", ".tex", ".pdf")
BACK = '<a href="../index.html">All papers and results</a>'


def of(folder: Path, at: str, back: str, words: str) -> Iterator[tuple[str, str | Path]]:
    """(path in the site, text of a page, or the file that is to be copied) of a folder of results that lies at `at` in the site;
    every page has a link to `back`, a path in the site, before anything else."""
    for path in sorted(folder.rglob("*")):
        where = f"{at}/{path.relative_to(folder).as_posix()}"
        if path.suffix == ".html":
            link = f'<a href="{"../" * where.count("/")}{back}">{words}</a>'
            text = path.read_text(encoding="utf-8")
            yield where, text.replace(BACK, link) if BACK in text else text.replace("<body>", f"<body>\n<nav>{link}</nav>", 1)
        elif path.suffix in KEPT and path.is_file():
            yield where, path
