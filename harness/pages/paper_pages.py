"""Pages of the papers: an index with all items and claims, a page for each, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.pages import index
from harness.pages.sources import Files, Sources, copied_files
from harness.pages.templating import page

AGREE, DIFFER = ("identical", "within error"), ("differs",)


def pages(sources: Sources) -> Files:
    """Yield papers/index.html, papers/<paper>.html, and copies of the results of papers and arena.

    The index of results comes along, as the copied pages lead back to it.
    """
    sections = sources.sections
    claims = [{"paper": one["paper"].id, **claim} for one in sections for claim in one["claims"]]
    yield "papers/index.html", page(
        "papers.html.j2", "papers/index.html", "The papers and what came out", tables=True,
        description="Every figure, table and claim of the papers, how it was run and what came out.",
        **index.summary(sections, sources.papers), items=list(_items(sections)), claims=claims,
    )  # fmt: skip
    for one in sections:
        paper, path = one["paper"], f"papers/{one['paper'].id}.html"
        description = f"What came out of {paper.citation}"
        values: dict[str, Any] = {"description": description, "one": one, **index.MEANINGS}
        yield path, page("paper.html.j2", path, paper.title, **values)
    for name in (*(paper.id for paper in sources.papers), "arena"):
        yield from copied_files(sources.root / name, f"results/{name}")
    for name in ("index.html", index.OWN_RUNS):
        if (sources.root / name).is_file():
            yield f"results/{name}", sources.root / name


def _items(sections: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield every item with how many of its numbers agree, differ, or are not judged."""
    for one in sections:
        for entry in one["items"]:
            counts = [pair for verdicts in entry["counts"].values() for pair in verdicts.items()]
            agree = sum(number for verdict, number in counts if verdict in AGREE)
            differ = sum(number for verdict, number in counts if verdict in DIFFER)
            other = sum(number for _, number in counts) - agree - differ
            numbers = {"agree": agree, "differ": differ, "other": other}
            yield {"paper": one["paper"].id, "entry": entry, **numbers}
