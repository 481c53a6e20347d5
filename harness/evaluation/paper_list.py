"""Print papers with their items and the verdicts on them, for `calharness list papers`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.common.paths import short_path
from harness.common.tables import WIDEST, line_width
from harness.common.wording import format_count
from harness.configure.compose import out_folder
from harness.errors import BadInputError
from harness.evaluation import outcomes, papers, verdicts
from harness.evaluation.papers import Item, Paper


def print_papers(words: list[str]) -> None:
    """Print the items of papers whose descriptions contain all words.

    Raise BadInputError if there is no such item.
    """
    folder = out_folder(None)
    blocks, undrawn = [], 0
    for paper in papers.every():
        items = [item for item in paper.items.values() if _has_words(paper, item, words)]
        if not items:
            continue
        rows = outcomes.read_rows(folder, paper.id)
        lines = _wrap(paper.id, [paper.title, paper.citation, paper.address], "  ")
        for item in items:
            undrawn += papers.page(paper, item, folder) is None
            lines += _wrap(f"  {item.name}", _describe(paper, item, rows, folder), "      ")
        blocks.append("\n".join(lines))
    if not blocks:
        raise BadInputError(
            f"no paper or item matches {' '.join(words)}; `calharness list papers` shows all."
        )
    print("\n\n".join(blocks))
    if undrawn:
        pages = "has no page" if undrawn == 1 else "have no page"
        print(
            f"\n{format_count(undrawn, 'item')} {pages} in {short_path(folder)}; their commands "
            "draw them there"
        )


def _has_words(paper: Paper, item: Item, words: list[str]) -> bool:
    texts = [paper.id, paper.title, paper.authors, paper.citation]
    texts += [item.id, item.name, item.about, item.how, *item.experiments]
    texts += [item.needs or "", item.fetch or ""]
    text = " ".join(texts).lower()
    return all(word.lower() in text for word in words)


def _describe(paper: Paper, item: Item, rows: Any, folder: Path) -> Iterator[str]:
    """Yield lines about an item: content, setting, verdicts, gaps, commands and page."""
    yield item.about
    yield f"setting: {item.how}"
    if rows is not None:
        for source, counts in outcomes.count_by_source(
            outcomes.drop_repeats(rows, item.experiments)
        ).items():
            yield f"{source}: {verdicts.counts_text(counts)}"
    if item.needs:
        yield f"missing: {item.needs}"
    if item.fetch:
        yield f"get the files: {item.fetch}"
    yield f"command: {item.command}"
    if page := papers.page(paper, item, folder):
        yield f"page: {short_path(page)}"


def _wrap(head: str, texts: Iterable[str], indent: str) -> list[str]:
    """Return a head line and the texts below it, wrapped to `line_width`."""
    width = max(line_width() or WIDEST, 30)
    wrapper = textwrap.TextWrapper(
        width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
    return [head, *(line for text in texts for line in wrapper.wrap(text))]
