"""Check the English of the documentation and of docstrings: `python tools/docs/prose.py`.

The rules are few, so that each finding is worth a change:

* A sentence of a page has at most 35 words.
* Neither a sentence of a page nor a docstring begins with a word such as "What" or "Whether", which
  turns a clause into a noun.
* No string in a list or tuple ends in a space, because such a string is half of a sentence.

The script skips code, tables, headings, quotes and the generated parts of pages.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from notebooks import markdown

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/**/*.md",
    "docs/**/*.ipynb",
    "experiments/*/NOTES.md",
    "harness/**/*.md",
)
MODULES = ("harness/**/*.py", "experiments/**/*.py", "tools/**/*.py")
LONGEST = 35  # words
OPENINGS = re.compile(r"(What|Whether|Those of|Of an?|Of the)\b(?!.*\?$)")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, sentence) of a Markdown page."""
    text = re.sub(r"<!-- begin.*?<!-- end[^>]*-->", _blank, text, flags=re.S)
    text = re.sub(r"^ *(```|~~~).*?^ *\1", _blank, text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->|<[^>\n]+>", _blank, text, flags=re.S)
    block: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_item = re.match(r" *([*+-]|\d+\.) ", line)
        if not line.strip() or is_item or re.match(r" *([#|>]|\$\$|    )", line):
            yield from ((first, sentence) for sentence in _split(" ".join(block)))
            block, first = [], number
        if is_item:
            line = line[is_item.end() :]
        elif re.match(r" *[#|>]", line):
            continue
        block.append(line.strip())


def _blank(match: re.Match[str]) -> str:
    """Return only the line breaks of a match, so that later lines keep their line numbers."""
    return "\n" * match[0].count("\n")


def _split(block: str) -> list[str]:
    """Return the sentences of a paragraph. A link counts as its text, and code as one word."""
    block = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block)
    block = re.sub(r"`[^`]*`", "code", block)
    block = re.sub(r"\$[^$]*\$", "formula", block)
    return [part.strip() for part in re.split(r"(?<=[.!?])[\"”)]*\s+", block) if part.strip()]


def page_findings(path: Path) -> Iterator[str]:
    """Yield one line for each sentence of a page that breaks a rule."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = markdown(json.loads(text))
    for line, sentence in sentences(text):
        words = len(sentence.split())
        if words > LONGEST:
            yield f"{path.relative_to(ROOT)}:{line}: {words} words: {sentence[:60]} ..."
        if OPENINGS.match(sentence):
            yield f"{path.relative_to(ROOT)}:{line}: opening: {sentence[:60]} ..."


def module_findings(path: Path) -> Iterator[str]:
    """Yield one line for each docstring and each string of a module that breaks a rule."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node) or ""
            line = getattr(node, "lineno", 1)
            if re.match(r"(What|Whether|Those|Of|One of)\b", docstring):
                yield f"{path.relative_to(ROOT)}:{line}: opening: {docstring[:60]!r}"
        if isinstance(node, (ast.List, ast.Tuple)):
            for text in node.elts:
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    if text.value.count(" ") > 2 and text.value.endswith(" "):
                        yield f"{path.relative_to(ROOT)}:{text.lineno}: half of a sentence"


def findings() -> list[str]:
    """Return one line for each place in the pages and modules that breaks a rule."""
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    modules = [path for pattern in MODULES for path in sorted(ROOT.glob(pattern))]
    lines = [line for path in pages for line in page_findings(path)]
    return lines + [line for path in modules for line in module_findings(path)]


if __name__ == "__main__":
    lines = findings()
    print("\n".join(lines))
    sys.exit(bool(lines))
