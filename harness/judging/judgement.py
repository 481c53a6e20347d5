"""A judgement: the findings, and how they become a text, a page and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.judging.as_json import as_json
from harness.judging.findings import Findings
from harness.judging.page import html, write
from harness.judging.terminal import text


@dataclass(frozen=True)
class Judgement(Findings):
    """All that is said about one file, or about several on the same rows."""

    def __str__(self) -> str:
        return text(self)

    def to_html(self, path: Any = None) -> str:
        """Return the page; write it to `path` too if one is given."""
        return html(self) if path is None else write(self, path)

    def to_json(self) -> dict[str, Any]:
        """Return everything but the arrays, as values that json can write."""
        return as_json(self)
