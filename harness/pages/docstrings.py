"""Docstrings in NumPy form: sections, and blocks of text for a page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

HEAD = re.compile(r"^(\w[\w ]*)\n-{3,}$", flags=re.M)
Block = tuple[str, list[str]]  # kind ("text", "formula", "list") and its items


def sections(doc: str) -> dict[str, str]:
    """Split a docstring into its sections by name; the part above the first is named "".

    Examples
    --------
    >>> sections("Mean.\\n\\nNotes\\n-----\\nUnbiased.")
    {'': 'Mean.', 'Notes': 'Unbiased.'}
    """
    first, *others = HEAD.split(doc)
    return {
        name: text.strip("\n") for name, text in zip(["", *others[::2]], [first, *others[1::2]])
    }


def blocks(text: str) -> Iterator[Block]:
    """Split a section into paragraphs, indented formulas and bullet lists.

    Examples
    --------
    >>> list(blocks("Of `p`:\\n\\n    sum_b |gap_b|"))
    [('text', ['Of `p`:']), ('formula', ['sum_b |gap_b|'])]
    """
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.lstrip().startswith(("* ", "- ")):
            yield "list", re.split(r"\n?[*-] ", "\n" + paragraph.strip())[1:]
            continue
        # a formula may follow its sentence without an empty line
        for part in re.split(r"(?m)((?:^    .*(?:\n|\Z))+)", paragraph):
            if part.startswith("    "):
                yield "formula", [textwrap.dedent(part).strip("\n")]
            elif part.strip():
                yield "text", [" ".join(part.split())]
