"""Hook of mkdocs: make the lists of estimators, calibrators and problems when pages are built.

The pages in docs/ have a sentence in place of each list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import catalogue  # noqa: E402
import four_points  # noqa: E402
from marks import LISTS, replaced  # noqa: E402

# {page: {part: function that returns its text}}
PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "reference/estimators.md": {"estimators": catalogue.estimators},
    "reference/calibrators.md": {"calibrators": catalogue.calibrators},
    "reference/problems.md": {"problems": catalogue.problems},
    "explanation/glossary.md": {"four points": four_points.tables},
}


def filled(page: str, text: str) -> str:
    """Return the text of a page of docs/ with its lists."""
    for name, make in PARTS.get(page, {}).items():
        text = replaced(text, name, make(), LISTS)
    return text


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the lists of a page. mkdocs calls this before it renders the page."""
    return filled(page.file.src_uri, markdown)
