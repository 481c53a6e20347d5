"""Pages of results inside the site: copied with the files that they link to, and with a way back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

KEPT = (".csv", ".png", ".svg", ".txt", ".tex", ".pdf")
LINK = re.compile(r'<a href="([^":#?]+)">(.*?)</a>', re.S)  # to a file beside the page
BACK = '<a href="../index.html">All papers and results</a>'


def of(folder: Path, at: str, back: str, words: str) -> Iterator[tuple[str, str | Path]]:
    """(path in the site, text of a page, or the file that is to be copied) of a folder of results that lies at `at` in the site;
    every page has a link to `back`, a path in the site, before anything else, and none to a file that the site has not."""
    for path in sorted(folder.rglob("*")):
        where = f"{at}/{path.relative_to(folder).as_posix()}"
        if path.suffix == ".html":
            link = f'<a href="{"../" * where.count("/")}{back}">{words}</a>'
            text = _without_dead_links(path.read_text(encoding="utf-8"), path.parent)
            yield where, text.replace(BACK, link) if BACK in text else text.replace("<body>", f"<body>\n<nav>{link}</nav>", 1)
        elif path.suffix in KEPT and path.is_file():
            yield where, path


def _without_dead_links(text: str, folder: Path) -> str:
    """The words alone of links to files that are not copied: of other kinds, or not in version control and so not there."""

    def kept(found: re.Match[str]) -> str:
        path = folder / found[1]
        return found[0] if found[0] == BACK or (path.suffix in (*KEPT, ".html") and path.is_file()) else found[2]

    return LINK.sub(kept, text)
