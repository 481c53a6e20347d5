"""The one Jinja environment of all pages, and what templates show: texts, numbers, drawings, data for scripts."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from harness.common import wording
from harness.common.paths import PACKAGE

TONES = {
    "identical": "good", "holds": "good", "within error": "fair", "differs": "bad", "fails": "bad", "no test": "open",
    "undecided": "open", "not reproducible here": "none",
    "recomputed and agreeing": "good", "given and agreeing": "fair", "differing": "bad",
    "not judged": "none", "wins": "good", "loses": "bad",
}  # fmt: skip
LEAST_TEXT = 1.2  # a drawing's smallest width over the one it was drawn with: letters of 7 points are 11 pixels then
MOST_TEXT = 2.0  # its largest


@functools.cache
def environment() -> Environment:
    """Return the environment of harness/pages/templates, with the formats of `wording` as filters."""
    loader = FileSystemLoader(PACKAGE / "pages" / "templates")
    made = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.globals["tones"] = TONES
    made.filters |= {
        "amount": wording.format_amount, "breakable": breakable, "clean": wording.clean, "ends": _ends,
        "estimand": wording.estimand_name, "fitted": wording.fitted, "notion": wording.notion_name,
        "number": wording.format_number, "p_value": _p_value, "percent": wording.format_percent,
        "score": wording.score_name,
    }  # fmt: skip
    return made


def breakable(text: object) -> Markup:
    """A text whose ids may be broken after _ and whose numbers are not parted from their errors; `this` becomes code.

    Examples
    --------
    >>> breakable("a_b <i> `c`")
    Markup('a_<wbr>b &lt;i&gt; <code>c</code>')
    """
    escaped = str(escape(str(text)))
    escaped = re.sub(
        r"(± |\[|≤ |≥ )", lambda match: match[1].replace(" ", "\N{NO-BREAK SPACE}"), escaped
    )
    escaped = re.sub(r"(?<=\w)(_+)(?=\w)", r"\1<wbr>", escaped)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))  # noqa: S704 - escaped above


def script_json(value: Any) -> Markup:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - no element can begin


def inline(svg: str, labelled_by: str = "") -> str:
    """An SVG for use inside a page, which its viewBox scales.

    It is as wide as the page, but at most twice as wide as it was drawn, and not so narrow that its letters cannot be
    read. `labelled_by` is the id of the element that says in words what it shows.
    """
    svg = svg[svg.index("<svg") :]
    drawn = re.search(r'<svg[^>]*? width="([\d.]+)pt"', svg)
    attributes = f' role="img" aria-labelledby="{labelled_by}"' if labelled_by else ""
    if drawn:
        width = float(drawn[1])
        attributes += (
            f' style="max-width: {MOST_TEXT * width:.0f}pt; min-width: {LEAST_TEXT * width:.0f}pt"'
        )
    svg = svg.replace("<svg", f"<svg{attributes}", 1)
    for size in ("height", "width"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    return svg


def _ends(interval: Any) -> str:
    return wording.format_ends(interval.low, interval.high) or wording.DASH


def _p_value(value: float | None) -> str:
    """A p-value alone in a cell of a table."""
    return wording.format_p_value(value).removeprefix("= ").replace(" ", "\N{NO-BREAK SPACE}")
