"""Parser of NumPy docstrings for pages: sections, and blocks of text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

HEAD = re.compile(r"^(\w[\w ]*)\n-{3,}$", flags=re.M)
Block = tuple[str, list[str]]  # (kind: "text", "formula" or "list"; paragraphs or list entries)


def sections(doc: str) -> dict[str, str]:
    r"""Split a docstring into {name of a section: text}; the part before the first one is named "".

    Examples
    --------
    >>> sections("Mean.\n\nNotes\n-----\nUnbiased.")
    {'': 'Mean.', 'Notes': 'Unbiased.'}
    """
    first, *others = HEAD.split(doc)
    return {
        name: text.strip("\n") for name, text in zip(["", *others[::2]], [first, *others[1::2]])
    }


def blocks(text: str) -> Iterator[Block]:
    r"""Split the text of a section into paragraphs, indented formulas and bullet lists.

    Examples
    --------
    >>> list(blocks("Of `p`:\n\n    sum_b |gap_b|"))
    [('text', ['Of `p`:']), ('formula', ['sum_b |gap_b|'])]
    """
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.lstrip().startswith(("* ", "- ")):
            yield "list", re.split(r"\n?[*-] ", "\n" + paragraph.strip())[1:]
            continue
        # There may be no empty line between a sentence and a formula.
        for part in re.split(r"(?m)((?:^    .*(?:\n|\Z))+)", paragraph):
            if part.startswith("    "):
                yield "formula", [textwrap.dedent(part).strip("\n")]
            elif part.strip():
                yield "text", [" ".join(part.split())]
