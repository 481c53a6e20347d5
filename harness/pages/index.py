"""results/index.html: the papers, what they conclude and all their items, with a picture, how each was run and what came out."""

from __future__ import annotations

import base64
import collections
import hashlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.version import VERSION
from harness.common.wording import format_number
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.evaluation import counted, papers, reproduction
from harness.pages.templating import environment

MOST = 3_000_000  # bytes of the page
WIDTHS = (
    400,
    300,
    220,
    150,
)  # of a thumbnail, in pixels; the first with which the page is small enough
MOST_FINDINGS = 3
OWN_RUNS = "own_runs.html"
Thumbnail = tuple[str, int, int, str]  # data URI, width, height, and a digest of picture and width
_THUMBNAIL = re.compile(
    r'<img src="(data:image/png;base64,[A-Za-z0-9+/=]+)" width="(\d+)" height="(\d+)" data-of="([0-9a-f]{16})"'
)


def save(folder: Path) -> Path:
    """Write <folder>/index.html from what the folder holds (pages, pictures, reproduction.csv) and what every paper.yaml says. It
    asks for nothing outside itself, and the same results give the same bytes."""
    described = papers.every()
    held = {paper.id: counted.rows(folder, paper.id) for paper in described}
    sections = [section(paper, held[paper.id], folder) for paper in described]
    before = thumbnails_of(folder / "index.html")
    template = environment().get_template("index.html.j2")
    for width in WIDTHS:
        pictures = {
            (one["paper"].id, item["item"].id): _inlined(item["picture"], width, before)
            for one in sections
            for item in one["items"]
        }
        text = template.render(
            sections=sections, pictures=pictures, findings=strongest(described), version=VERSION, how=papers.HOW,
            verdicts=reproduction.VERDICTS, outcomes=counted.OUTCOMES, sources=reproduction.SOURCES, total=total(sections),
            said=counted.sentence(total(sections)["printed"]), ways=ways(sections),
            own=OWN_RUNS if (folder / OWN_RUNS).is_file() else None,
        )  # fmt: skip
        if len(text.encode()) <= MOST:
            break
    path = folder / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def strongest(described: Iterable[papers.Paper]) -> list[tuple[str, str]]:
    """[(paper id, sentence)] of MOST_FINDINGS findings: those that have a rank, by it, then the first of each other paper."""
    described = list(described)
    every = [
        (finding.rank, paper.id, finding.text) for paper in described for finding in paper.findings
    ]
    ranked = sorted((one for one in every if one[0] is not None), key=lambda one: one[0])
    have = {paper for _, paper, _ in ranked}
    first = [
        (None, paper.id, paper.findings[0].text)
        for paper in described
        if paper.findings and paper.id not in have
    ]
    return [(paper, text) for _, paper, text in (ranked + first)[:MOST_FINDINGS]]


def section(paper: papers.Paper, found: pd.DataFrame | None, folder: Path) -> dict[str, Any]:
    """What the page says of a paper: its items, claims, and counts: {printed: {outcome: number}, others and claims: {verdict:
    number}}."""
    items = [
        _item(paper, item, found, folder) for item in paper.items.values() if item.id != "claims"
    ]
    own, claims = paper.items.get("claims"), _claims(paper, found)
    return {
        "paper": paper,
        "items": items,
        "claims": claims,
        "claims_page": _link(papers.page(paper, own, folder), folder) if own else None,
        "counts": {
            "printed": _in_order(counted.outcomes(found, paper.id), counted.OUTCOMES),
            "others": {} if found is None else counted.others(counted.once(found)),
            "claims": _in_order(collections.Counter(claim["verdict"] for claim in claims)),
        },
    }


def _in_order(counts, words=reproduction.VERDICTS):
    """{word: number} in the order of `words`, without those that count nothing."""
    order = list(words)
    held = {word: number for word, number in counts.items() if number}
    return dict(
        sorted(
            held.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)
        )
    )


def _item(paper, item, found, folder):
    counts = (
        reproduction.counts_by_source(counted.once(found, item.experiments))
        if found is not None
        else {}
    )
    page = papers.page(paper, item, folder)
    pictures = [folder / paper.id / f"{stem}.png" for stem in item.stems(paper.id)]
    picture = page.with_suffix(".png") if page else None
    return {
        "item": item,
        "counts": {source: held for source, held in counts.items() if source != reproduction.CLAIM},
        "page": _link(page, folder),
        "picture": next((path for path in [picture, *pictures] if path is not None and path.is_file()), None),
        "further": [(name, _link(folder / paper.id / f"{stem}.html", folder))
                    for name, stem in zip(item.experiments, item.stems(paper.id)) if folder / paper.id / f"{stem}.html" != page],
    }  # fmt: skip


def _claims(paper, found):
    """[{name, quote, place, statistic, verdict, where}] of the paper's claims, in the order of reported.csv."""
    try:
        known = reproduction.reported(paper.id, ["claims"])
    except BadInputError:  # it has none
        return []
    judged = {}
    if found is not None:
        of_claims = counted.once(found[found["source"].eq(reproduction.CLAIM)])
        judged = {row["row"]: row for row in of_claims.to_dict("records")}
    return [_claim(claim, judged.get(claim["row"], {})) for claim in known.to_dict("records")]


def _claim(claim, row):
    ours = row.get("ours")
    known = ours is not None and ours == ours
    low, high = row.get("low"), row.get("high")
    interval = (
        f" [{format_number(low, 4)}, {format_number(high, 4)}]"
        if known and low is not None and low == low
        else ""
    )
    return {
        "name": claim["row"],
        "quote": claim["quote"] if isinstance(claim["quote"], str) else "",
        "place": claim["place"] if isinstance(claim["place"], str) else "",
        "statistic": claim["column"],
        "wanted": f"{claim['unit']} {format_number(claim['value'], 4)}",
        "found": f"{format_number(ours, 4)}{interval}" if known else "",
        "verdict": row.get("verdict", "not tested yet"),
        "where": row["where"] if isinstance(row.get("where"), str) else "",
    }


def total(sections: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The counts of `section` over all papers."""
    found: dict[str, Any] = {
        name: collections.Counter() for name in ("printed", "others", "claims")
    }
    for one in sections:
        for name, counts in one["counts"].items():
            found[name].update(counts)
    return {
        name: _in_order(held, counted.OUTCOMES if name == "printed" else reproduction.VERDICTS)
        for name, held in found.items()
    }


def ways(sections: list[dict[str, Any]]) -> dict[str, int]:
    """{way of running: number of figures and tables}, in the order of `papers.HOW`."""
    return _in_order(
        collections.Counter(item["item"].how for one in sections for item in one["items"]),
        papers.HOW,
    )


def _link(path, folder):
    return path.relative_to(folder).as_posix() if path is not None and path.is_file() else None


def thumbnails_of(page: Path) -> dict[str, Thumbnail]:
    """{what it is of: thumbnail} of a page that was written before: a picture that stays is not made smaller again."""
    text = page.read_text(encoding="utf-8", errors="replace") if page.is_file() else ""
    return {
        of: (data, int(width), int(height), of)
        for data, width, height, of in _THUMBNAIL.findall(text)
    }


def _inlined(path: Path | None, width: int, before: dict[str, Thumbnail]) -> Thumbnail | None:
    """The thumbnail of a picture, from those of before if it is there; None without a picture."""
    if path is None:
        return None
    of = hashlib.blake2b(path.read_bytes(), digest_size=8, salt=str(width).encode()).hexdigest()
    if of in before:
        return before[of]
    held, *size = thumbnail(path, width)
    return f"data:image/png;base64,{base64.b64encode(held).decode()}", *size, of


def thumbnail(path: Path, width: int) -> tuple[bytes, int, int]:
    """(PNG, width, height) of a picture made smaller, in 64 colours."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.reduce(max(min(picture.size) // (2 * width), 1)).convert("RGBA")
    flat = Image.new("RGB", small.size, "white")
    flat.paste(small, mask=small.getchannel("A"))
    flat.thumbnail((width, width), Image.Resampling.LANCZOS)
    held = io.BytesIO()
    flat.quantize(64, dither=Image.Dither.NONE).save(held, "PNG")
    return held.getvalue(), *flat.size
