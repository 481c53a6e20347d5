"""Pages of the papers: an index of figures, tables and claims, a page per paper, and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from harness.pages import index
from harness.pages.sources import Files, Sources
from harness.pages.templating import page

AGREE = ("identical", "within error")


def pages(sources: Sources) -> Files:
    """Yield papers/index.html and papers/<paper>.html."""
    sections = sources.sections
    claims = [
        {"paper": section["paper"].id, **claim}
        for section in sections
        for claim in section["claims"]
    ]
    yield "papers/index.html", page(
        "papers.html.j2", "papers/index.html", "The papers and their reproduction", tables=True,
        description="Every figure, table and claim of the papers, with its outcome.",
        **index.summary(sections), items=list(_items(sections)), claims=claims,
        results=f"../{sources.results}",
    )  # fmt: skip
    for section in sections:
        paper, path = section["paper"], f"papers/{section['paper'].id}.html"
        description = f"Reproduction of {paper.citation}"
        values: dict[str, Any] = {"description": description, "one": section, **index.MEANINGS}
        values["results"] = f"../{sources.results}"
        yield path, page("paper.html.j2", path, paper.title, **values)


def _items(sections: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield every figure and table, with counts of numbers that agree, differ or are not judged."""
    for section in sections:
        for entry in section["items"]:
            counts = sum((Counter(verdicts) for verdicts in entry["counts"].values()), Counter())
            agree = sum(counts[verdict] for verdict in AGREE)
            numbers = {"agree": agree, "differ": counts["differs"]}
            numbers["other"] = counts.total() - agree - counts["differs"]
            yield {"paper": section["paper"].id, "entry": entry, **numbers}
