"""The papers: an index with all their items and claims, and a page for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.evaluation import counted, papers, reproduction
from harness.pages import index, layout
from harness.pages.sources import Sources, files_of

WIDTH = 480  # of a thumbnail, in pixels
THUMBNAILS = "papers/thumbnails"
AGREE, DIFFER = ("identical", "within error"), ("differs",)


def pages(root: Sources) -> Iterator[tuple[str, str | bytes | None]]:
    """papers/index.html, papers/<paper>.html and the thumbnails."""
    yield "papers/index.html", _index(root.sections)
    for one in root.sections:
        pictures: dict[str, tuple[str, int, int] | None] = {}
        for item in one["items"]:
            path = f"{THUMBNAILS}/{one['paper'].id}_{item['item'].id}.png"
            pictures[item["item"].id], content = thumbnail(item["picture"], path, root.out)
            if pictures[item["item"].id] is not None:
                yield path, content
        yield f"papers/{one['paper'].id}.html", _paper(one, pictures)


def results(root: Sources) -> Iterator[tuple[str, Path]]:
    """The results of the papers and the arena, with the index of results that their pages lead back to."""
    for name in (*(paper.id for paper in root.papers), "arena"):
        yield from files_of(root.root / name, f"results/{name}")
    for name in ("index.html", index.OWN_RUNS):
        if (root.root / name).is_file():
            yield f"results/{name}", root.root / name


def thumbnail(
    source: Path | None, path: str, out: Path
) -> tuple[tuple[str, int, int] | None, bytes | None]:
    """((path, width, height), content): content is None where the site has the thumbnail and its source is no newer; of no
    source both are None."""
    from PIL import Image

    if source is None:
        return None, None
    made = out / path
    if made.is_file() and made.stat().st_mtime >= source.stat().st_mtime:
        with Image.open(made) as old:
            return (path, *old.size), None
    content, width, height = index.thumbnail(source, WIDTH)
    return (path, width, height), content


def _index(sections: list[dict[str, Any]]) -> str:
    path = "papers/index.html"
    body = layout.render(
        "papers.html.j2", path, sections=sections, total=index.total(sections), items=list(_items(sections)),
        claims=list(_claims(sections)), outcomes=counted.OUTCOMES, verdicts=reproduction.VERDICTS, sources=reproduction.SOURCES,
        how=papers.HOW, said=counted.sentence(index.total(sections)["printed"]), ways=index.ways(sections),
    )  # fmt: skip
    says = "Every figure, table and claim of the papers, how it was run and what came out."
    return layout.page("The papers and what came out", body, path, description=says, tables=True)


def _items(sections: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every item with its numbers of all sources: how many agree, differ, are not judged."""
    for one in sections:
        for entry in one["items"]:
            counts = [pair for held in entry["counts"].values() for pair in held.items()]
            total = sum(n for _, n in counts)
            agree, differ = (
                sum(n for word, n in counts if word in words) for words in (AGREE, DIFFER)
            )
            yield {
                "paper": one["paper"].id,
                "entry": entry,
                "agree": agree,
                "differ": differ,
                "other": total - agree - differ,
            }


def _claims(sections: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in sections:
        for claim in one["claims"]:
            yield {"paper": one["paper"].id, **claim}


def _paper(one: dict[str, Any], pictures: dict[str, tuple[str, int, int] | None]) -> str:
    paper = one["paper"]
    path = f"papers/{paper.id}.html"
    here = {
        name: (layout.root(path) + picture[0], *picture[1:]) if picture else None
        for name, picture in pictures.items()
    }
    body = layout.render(
        "paper.html.j2",
        path,
        one=one,
        pictures=here,
        outcomes=counted.OUTCOMES,
        verdicts=reproduction.VERDICTS,
        sources=reproduction.SOURCES,
        how=papers.HOW,
    )
    return layout.page(paper.title, body, path, description=f"What came out of {paper.citation}")
