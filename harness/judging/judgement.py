"""A judgement: the answers about predictions, with methods that give text, page and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.writing import write_text
from harness.judging import as_json, page, terminal
from harness.judging.findings import Answers


@dataclass(frozen=True)
class Judgement(Answers):
    """All answers about one file, or about several files with the same rows (see `Answers`)."""

    def __str__(self) -> str:
        """Return the text for a terminal."""
        return terminal.text(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the judgement as an HTML page, and write it to `path` if that is given.

        Raises
        ------
        BadInputError
            If `path` is a file that `judge` did not write, or if it cannot be written.
        """
        if path is not None:
            page.refuse_other_files(path)
        text = page.html(self)
        if path is not None:
            write_text(path, text)
        return text

    def to_json(self) -> dict[str, Any]:
        """Return all answers, without curves and maps, as values that json can write."""
        return as_json.as_json(self)
