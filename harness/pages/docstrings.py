"""Docstrings of numpy's form as HTML: their sections, formulas, paragraphs and lists."""

from __future__ import annotations

import re
import textwrap

from markupsafe import Markup, escape

HEAD = re.compile(r"^(\w[\w ]*)\n-{3,}$", flags=re.M)
ABOUT_BIAS = re.compile(
    r"\b(un)?bias|over-?estimat|under-?estimat|lower bound|upper bound|too (large|small|high|low)|at most the",
    flags=re.I,
)


def sections(doc: str) -> dict[str, str]:
    """The sections of a docstring by their names; what stands above the first has the name "".

    Examples
    --------
    >>> sections("Mean.\\n\\nNotes\\n-----\\nUnbiased.")
    {'': 'Mean.', 'Notes': 'Unbiased.'}
    """
    parts = HEAD.split(doc)
    return {
        "": parts[0].strip("\n"),
        **{name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2])},
    }


def html(text: str) -> Markup:
    """Paragraphs, indented formulas and bullet lists of a docstring's section as HTML; everything is escaped.

    Examples
    --------
    >>> html("Of `p`:\\n\\n    sum_b |gap_b|")
    Markup('<p>Of <code>p</code>:</p>\\n<pre class="formula">sum_b |gap_b|</pre>')
    """
    return Markup("\n").join(_block(block) for block in re.split(r"\n\s*\n", text) if block.strip())


def _block(block: str) -> Markup:
    lines = block.split("\n")
    if all(line.startswith("    ") for line in lines if line.strip()):
        return Markup('<pre class="formula">{}</pre>').format(textwrap.dedent(block).strip("\n"))
    if lines[0].lstrip().startswith(("* ", "- ")):
        items = re.split(r"\n?[*-] ", "\n" + block.strip())[1:]
        return Markup("<ul>{}</ul>").format(
            Markup("").join(Markup("<li>{}</li>").format(_line(item)) for item in items)
        )
    start = next((i for i, line in enumerate(lines) if line.startswith("    ")), None)
    if start is not None and start > 0:  # a formula that follows its sentence without an empty line
        end = next(
            (i for i in range(start, len(lines)) if not lines[i].startswith("    ")), len(lines)
        )
        rest = [_block("\n".join(lines[end:]))] if end < len(lines) else []
        return Markup("\n").join(
            [_block("\n".join(lines[:start])), _block("\n".join(lines[start:end])), *rest]
        )
    return Markup("<p>{}</p>").format(_line(block))


def _line(text: str) -> Markup:
    said = str(escape(" ".join(text.split())))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", said))  # noqa: S704 - escaped above


def on_bias(doc: str) -> str:
    """The sentences of summary and notes that say in which direction it is biased, or what it bounds.

    Examples
    --------
    >>> on_bias("Mean.\\n\\nNotes\\n-----\\nBiased upwards by noise. O(n).")
    'Biased upwards by noise.'
    """
    held = sections(doc)
    prose = [
        p
        for part in ("", "Notes")
        for p in re.split(r"\n\s*\n", held.get(part, ""))
        if not p.startswith("    ")
    ]
    sentences = [
        s
        for p in prose
        for s in re.split(r"(?<=[a-z0-9)\]\"`][.;])\s+(?=[A-Z`])", " ".join(p.split()))
    ]
    return " ".join(s for s in sentences if ABOUT_BIAS.search(s))
