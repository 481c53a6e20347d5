"""The Jinja environment of all pages: number formats, tables, drawings, and data for scripts."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from harness.common import names, wording
from harness.common.paths import PACKAGE
from harness.common.version import VERSION
from harness.pages import docstrings

TONES = {
    "identical": "good", "holds": "good", "within error": "fair", "differs": "bad", "fails": "bad",
    "no test": "open", "undecided": "open", "not reproducible here": "none",
    "cannot be tested": "none",
    "recomputed and agreeing": "good", "from the authors' rows": "fair", "constants": "fair",
    "differing": "bad", "within seeds": "fair", "outside seeds": "bad",
    "seeds too far apart": "open",
    "ours of other data": "none", "no number of ours": "none",
    "wins": "good", "loses": "bad",
}  # fmt: skip
NAVIGATION = (
    ("Overview", "index.html"), ("Papers", "papers/index.html"), ("Arena", "arena/index.html"),
    ("Estimators", "estimators/index.html"), ("Problems", "problems/index.html"),
    ("Your runs", "runs.html"), ("Provenance", "provenance.html"), ("Docs", "docs/index.html"),
)  # fmt: skip
# Smallest and largest width of a drawing on a page, relative to the width with which it was drawn.
# At 1.2, a font of 7 points has 11 pixels.
MIN_ZOOM, MAX_ZOOM = 1.2, 2.0
LONG = 28  # characters; a column with a longer entry is wide
NO_BREAK = "\N{NO-BREAK SPACE}"


@functools.cache
def environment() -> Environment:
    """Return the Jinja environment of the templates, whose filters are the formats of `wording`."""
    loader = FileSystemLoader(PACKAGE / "pages" / "templates")
    env = Environment(loader=loader, autoescape=_is_html, trim_blocks=True, lstrip_blocks=True)
    env.globals |= {"tones": TONES, "version": VERSION, "table": table, "zip": zip}
    env.filters |= {
        "amount": wording.format_amount, "blocks": docstrings.blocks, "breakable": breakable,
        "clean": wording.clean, "code": code, "thousands": "{:,}".format, "ends": _ends,
        "estimand": names.estimand_name, "factor": wording.format_factor,
        "joined": join_equations, "markdown": markdown, "notion": names.notion_name,
        "number": wording.format_number, "p_value": _p_value, "percent": wording.format_percent,
        "score": names.score_name, "script_json": script_json,
        "seconds": wording.format_seconds, "signed": wording.format_signed,
        "whole_percent": wording.format_whole_percent,
    }  # fmt: skip
    return env


def page(
    template: str,
    path: str,
    title: str,
    *,
    description: str,
    tables: bool = False,
    alone: bool = False,
    **values: Any,
) -> str:
    """Render a page of the site.

    Parameters
    ----------
    template : str
        File name of the template, which extends page.html.j2.
    path : str
        Path of the page below the root of the site, such as "estimators/kde.html".
    title : str
        Plain text for the heading and the title of the window.
    description : str
        One sentence of plain text.
    tables : bool
        True loads the scripts of interactive tables.
    alone : bool
        True for a page outside of the site, without navigation and with its own style sheet.
    **values
        Further values for the template.
    """
    folder = PurePosixPath(path).parts[0]
    section = [to for _, to in NAVIGATION if to == path or ("/" in to and to.startswith(folder))]
    return environment().get_template(template).render(
        title=title, description=description, tables=tables, alone=alone,
        root="../" * path.count("/"), path=path, navigation=() if alone else NAVIGATION,
        current=section[0] if section else None, **values,
    )  # fmt: skip


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str,
    *,
    id: str,
    interactive: bool = False,
    options: Mapping[str, Any] | None = None,
    text: Iterable[int] = (),
) -> Markup:
    """Render an HTML table with caption and scoped headers.

    The first entry of a row is its header, which stays visible on narrow screens.

    Parameters
    ----------
    columns : sequence of str
        Headings of the columns.
    rows : iterable of sequences
        Rows of entries: texts (which are escaped), markupsafe.Markup (which is not), or pairs
        (text, sort key).
    caption : str
        Sentence that explains the table.
    id : str
        HTML id of the table.
    interactive : bool
        True makes the table sortable and searchable (DataTables). The page then needs tables=True.
    options : mapping
        Options of DataTables that override those in site.js.
    text : iterable of int
        Positions of columns of words, which are aligned left like the first column.
    """
    pairs = [
        [entry if isinstance(entry, tuple) else (entry, None) for entry in row] for row in rows
    ]
    classes = {i: "left" for i in (0, *text)}
    for row in pairs:
        classes |= {i: "long" for i in text if i and len(str(row[i][0])) > LONG}
    macro: Any = environment().get_template("pieces.html.j2").module
    given = json.dumps(options) if options else ""
    rendered: Markup = macro.table_of(columns, pairs, caption, id, interactive, given, classes)
    return rendered


def breakable(text: object) -> Markup:
    """Mark a text for HTML with possible line breaks after each _ of an id.

    Line breaks between a number and its error are forbidden. Text in backquotes becomes code.

    Examples
    --------
    >>> breakable("a_b <i> `c`")
    Markup('a_<wbr>b &lt;i&gt; <code>c</code>')
    """
    escaped = str(escape(str(text)))
    escaped = re.sub(r"(±|\[|≤|≥) ", rf"\1{NO_BREAK}", escaped)
    escaped = re.sub(r"(?<=\w)(_+)(?=\w)", r"\1<wbr>", escaped)
    return code(Markup(escaped))  # noqa: S704 - escaped above


def code(text: object) -> Markup:
    """Mark text in backquotes as code.

    Examples
    --------
    >>> code("x < `y`")
    Markup('x &lt; <code>y</code>')
    """
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(marked)  # noqa: S704 - escaped above


def join_equations(text: object) -> str:
    r"""Forbid line breaks around " = ", as in "n = 200".

    Examples
    --------
    >>> join_equations("at n = 200")
    'at n\xa0=\xa0200'
    """
    return str(text).replace(" = ", f"{NO_BREAK}={NO_BREAK}")


def script_json(value: Any) -> Markup:
    """Convert a value to JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - no element can begin


def inline(svg: str, labelled_by: str = "") -> str:
    """Prepare an SVG for use inside a page, where it scales with the width of the page.

    Its width is between MIN_ZOOM and MAX_ZOOM times the width with which it was drawn.
    `labelled_by` is the HTML id of the element that describes it.
    """
    svg = svg[svg.index("<svg") :]
    width = re.search(r'<svg[^>]*? width="([\d.]+)pt"', svg)
    attributes = f' role="img" aria-labelledby="{labelled_by}"' if labelled_by else ""
    if width:
        most, least = (f"{zoom * float(width[1]):.0f}pt" for zoom in (MAX_ZOOM, MIN_ZOOM))
        attributes += f' style="max-width: {most}; min-width: {least}"'
    svg = svg.replace("<svg", f"<svg{attributes}", 1)
    for size in ("height", "width"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    return svg


def markdown(text: object) -> str:
    r"""Escape a text for Markdown. Text in backquotes stays code.

    Examples
    --------
    >>> markdown("a_b `c_d`")
    'a\\_b `c_d`'
    """
    parts = re.split("(`[^`]+`)", str(text))
    return "".join(
        part if number % 2 else wording.escape_markdown(part) for number, part in enumerate(parts)
    )


def _is_html(template: str | None) -> bool:
    return template is None or not template.endswith(".md.j2")


def _ends(interval: Any) -> str:
    return wording.format_ends(interval.low, interval.high) or wording.DASH


def _p_value(value: float | None) -> str:
    """Format a p-value for an entry of a table, without "p ="."""
    return wording.format_p_value(value).removeprefix("= ").replace(" ", NO_BREAK)
