"""What a written page of results says: its heading, and the texts of its tables."""

from __future__ import annotations

import re
from html.parser import HTMLParser

HEADING = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)
Row = list[str]


def heading(page: str) -> str | None:
    """The text of the page's h1.

    Examples
    --------
    >>> heading("<h1>a &lt; b</h1>")
    'a < b'
    """
    found = HEADING.search(page)
    return _text(found[1]) if found else None


def table(page: str, name: str) -> list[Row] | None:
    """The rows of texts of the first table of this class, headers included; None where there is no such table.

    Examples
    --------
    >>> table('<table class="x"><tr><th>a_<wbr>b</th><td>1</td></tr></table>', "x")
    [['a_b', '1']]
    """
    opened = re.search(rf'<table class="(?:[^"]* )?{re.escape(name)}(?: [^"]*)?"', page)
    if not opened:
        return None
    reader = _Table()
    reader.feed(page[opened.start() : page.index("</table>", opened.start()) + len("</table>")])
    return reader.rows


class _Table(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self.inside = False
            self.rows[-1][-1] = " ".join(self.rows[-1][-1].split())

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def _text(piece: str) -> str:
    from markupsafe import Markup

    return " ".join(str(Markup(piece).striptags()).split())
