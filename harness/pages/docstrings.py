"""Docstrings in NumPy form: sections, and blocks of text for a page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

HEAD = re.compile(r"^(\w[\w ]*)\n-{3,}$", flags=re.M)
ABOUT_BIAS = re.compile(
    r"\b(un)?bias|over-?estimat|under-?estimat|lower bound|upper bound|too (large|small|high|low)"
    r"|at most the",
    flags=re.I,
)
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


def on_bias(doc: str) -> str:
    """Return the sentences of summary and notes on the direction of bias, or on what it bounds.

    Examples
    --------
    >>> on_bias("Mean.\\n\\nNotes\\n-----\\nBiased upwards by noise. O(n).")
    'Biased upwards by noise.'
    """
    parts = sections(doc)
    paragraphs = re.split(r"\n\s*\n", f"{parts['']}\n\n{parts.get('Notes', '')}")
    prose = [" ".join(p.split()) for p in paragraphs if not p.startswith("    ")]
    sentences = [s for p in prose for s in re.split(r"(?<=[a-z0-9)\]\"`][.;])\s+(?=[A-Z`])", p)]
    return " ".join(sentence for sentence in sentences if ABOUT_BIAS.search(sentence))
