"""Pages of all results: the papers with their claims, figures and tables, and outcomes.

index.html is for readers of a folder of results. README.md and <paper>/README.md have the same
content in Markdown, for the host of a Git repository. They link only to files in the repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.wording import format_number
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.evaluation import outcomes, papers, propositions, reproduction, verdicts
from harness.evaluation.claim_tables import describe_result
from harness.pages.templating import environment

MOST_FINDINGS = 3
# {kind of reproduction: its words after a number of figures and tables}
KINDS = {
    "the paper's setting": "in the paper's setting", "part of its data": "on part of its data",
    "from the authors' runs": "from the authors' runs",
    "a twin": "on other data or networks",
    "networks trained again": "on networks trained again", "data absent": "without their data",
}  # fmt: skip
OWN_RUNS = "own_runs.html"
COMMITTED = (".png", ".csv")  # endings of the result files that the repository holds
ARENA = ("README.md", "index.png")  # files of the arena that README.md shows
# Words that the templates explain, with their meanings. Papers predict no numbers.
SOURCES = {
    name: text for name, text in reproduction.SOURCES.items() if name != reproduction.PREDICTED
}
MEANINGS: dict[str, Any] = {
    "outcomes": outcomes.OUTCOMES, "verdicts": verdicts.VERDICTS,
    "sources": SOURCES, "how": papers.HOW, "decisions": propositions.VERDICTS,
}  # fmt: skip


def save(folder: Path) -> Path:
    """Write index.html, README.md and <paper>/README.md into a folder of results.

    Their content comes from the results in the folder and from every paper.yaml. The same results
    give the same bytes. Return the path of index.html.
    """
    path = folder / "index.html"
    own_runs = OWN_RUNS if (folder / OWN_RUNS).is_file() else None
    content = summary([section(paper, folder) for paper in papers.every()])
    _write("index.html.j2", path, own=own_runs, **content)
    for part in content["sections"]:
        place = folder / part["paper"].id
        if part["is_shown"]:
            _write("paper.md.j2", place / "README.md", one=part, **MEANINGS)
    arena = [name for name in ARENA if (folder / "arena" / name).is_file()]
    _write("index.md.j2", folder / "README.md", arena=arena, **content)
    return path


def _write(template: str, path: Path, **values: Any) -> None:
    with whole_file(path) as temporary:
        text = environment().get_template(template).render(**values)
        temporary.write_text(text, encoding="utf-8")


def summary(sections: list[dict[str, Any]]) -> dict[str, Any]:
    """Return values that several templates need: sections, totals, findings and meanings of words.

    `sections` are results of `section`. Findings are those of papers whose results are complete.
    """
    total = {
        name: _in_order(sum((Counter(s["counts"][name]) for s in sections), Counter()), words)
        for name, words in (
            ("printed", outcomes.OUTCOMES),
            ("others", verdicts.VERDICTS),
            ("claims", verdicts.VERDICTS),
            ("propositions", propositions.VERDICTS),
        )
    }
    hows = Counter(entry["item"].how for section in sections for entry in section["items"])
    return {
        "sections": sections, "total": total,
        "kinds": ", ".join(f"{hows[how]} {KINDS[how]}" for how in papers.HOW if hows[how]),
        "findings": strongest(s["paper"] for s in sections if s["is_complete"]),
        "counted": outcomes.sentence(total["printed"]), **MEANINGS,
    }  # fmt: skip


def strongest(known: Iterable[papers.Paper]) -> list[tuple[str, str]]:
    """Return the strongest findings of some papers, at most three, as (paper id, sentence).

    Findings with a rank come first, then the first finding of every paper without a ranked one.
    """
    findings = [(f.rank, paper.id, f.text) for paper in known for f in paper.findings]
    ranked = sorted(entry for entry in findings if entry[0] is not None)
    firsts = {paper: text for _, paper, text in reversed(findings)}
    papers_with_rank = {paper for _, paper, _ in ranked}
    others = [(paper, text) for paper, text in firsts.items() if paper not in papers_with_rank]
    return [*((paper, text) for _, paper, text in ranked), *reversed(others)][:MOST_FINDINGS]


def section(paper: papers.Paper, folder: Path) -> dict[str, Any]:
    """Collect the content of the section on a paper from a folder of results.

    Returns
    -------
    dict
        paper
            The paper.
        items
            Its figures and tables.
        claims, claims_page
            Its claims with their verdicts, and the link to the page of the claims.
        propositions
            Texts of its propositions (`propositions.shown`).
        files
            Names of the pictures and tables of the claims and propositions, and of the table of
            reported numbers.
        is_shown
            True if the folder has a picture or table of the paper.
        counts
            `printed` is {outcome: number}. `others`, `claims` and `propositions` are
            {verdict: number}.
        is_complete
            True if the folder has a page or picture of every figure and table. Only then do the
            findings of the reproduction follow from the results in the folder.
    """
    rows = outcomes.read_rows(folder, paper.id)
    claims = _claims(paper, rows)
    page = papers.page(paper, paper.items["claims"], folder) if "claims" in paper.items else None
    items = [_item(paper, i, rows, folder) for i in paper.items.values() if i.id != "claims"]
    stems = paper.items["claims"].stems(paper.id) if "claims" in paper.items else []
    files = _committed(folder / paper.id, [*stems, "reproduction"])
    # The page has the same content as the picture, which a command draws.
    files += _committed(folder / paper.id, [propositions.STEM], (".csv",))
    stated = propositions.read(folder, paper.id)
    return {
        "paper": paper,
        "items": items,
        "is_complete": all(item["page"] or item["picture"] for item in items),
        "claims": claims,
        "claims_page": _link(page, folder),
        "propositions": propositions.shown(stated),
        "files": files,
        "is_shown": bool(files) or any(item["files"] for item in items),
        "counts": {
            "printed": _in_order(outcomes.count_outcomes(rows, paper.id), outcomes.OUTCOMES),
            "others": outcomes.count_others(rows),
            "claims": _in_order(Counter(claim["verdict"] for claim in claims)),
            "propositions": propositions.count(stated),
        },
    }


def _in_order(
    counts: Mapping[str, int], words: Iterable[str] = verdicts.VERDICTS
) -> dict[str, int]:
    """Sort {word: number} in the order of `words`, with other words last, and drop zeros."""
    order = [*words, *counts]
    return {word: counts[word] for word in dict.fromkeys(order) if counts.get(word)}


def _item(
    paper: papers.Paper, item: papers.Item, rows: pd.DataFrame | None, folder: Path
) -> dict[str, Any]:
    counts = (
        {}
        if rows is None
        else outcomes.count_by_source(outcomes.drop_repeats(rows, item.experiments))
    )
    counts.pop(reproduction.CLAIM, None)
    place, stems = folder / paper.id, item.stems(paper.id)
    # The card shows the first experiment that has a picture or a page.
    links = {
        stem: {end: _link(place / f"{stem}.{end}", folder) for end in ("html", "png")}
        for stem in stems
    }
    shown: dict[str, str | None] = next((x for x in links.values() if any(x.values())), {})
    return {
        "item": item,
        "counts": counts,
        "page": shown.get("html"),
        "picture": shown.get("png"),
        "further": [
            (name, links[stem]["html"])
            for name, stem in zip(item.experiments, stems)
            if links[stem]["html"] and links[stem] is not shown
        ],
        "files": _committed(place, stems),
    }


def _committed(folder: Path, stems: Iterable[str], ends: tuple[str, ...] = COMMITTED) -> list[str]:
    """Return the names of result files with these stems and ends that the repository holds."""
    names = [f"{stem}{end}" for stem in stems for end in ends]
    return [name for name in names if (folder / name).is_file()]


def _claims(paper: papers.Paper, rows: pd.DataFrame | None) -> list[dict[str, str]]:
    """Return the claims of a paper with their verdicts, in the order of reported.csv."""
    try:
        reported = reproduction.reported(paper.id, ["claims"])
    except BadInputError:  # the paper has no claims
        return []
    judged: dict[str, Any] = {}
    if rows is not None:
        claims = outcomes.drop_repeats(rows[rows["source"].eq(reproduction.CLAIM)])
        judged = claims.set_index("row").to_dict("index")
    return [
        _claim(claim, judged.get(claim["row"], {"verdict": "not tested yet"}))
        for claim in reported.to_dict("records")
    ]


def _claim(claim: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, str]:
    ours, low, high = (result.get(name) for name in ("ours", "low", "high"))
    text = result["verdict"]
    if ours is not None:
        side, threshold, statistic = claim["unit"], claim["value"], claim["column"]
        text = describe_result(text, side, threshold, ours, low, high, statistic)
    texts = {"place": claim["place"], "where": result.get("where"), "reason": result.get("reason")}
    return {
        "name": claim["row"],
        "result": text,
        "statistic": claim["column"],
        "wanted": f"{claim['unit']} {format_number(claim['value'], 4)}",
        "verdict": result["verdict"],
        **{name: text if isinstance(text, str) else "" for name, text in texts.items()},
    }


def _link(path: Path | None, folder: Path) -> str | None:
    return path.relative_to(folder).as_posix() if path is not None and path.is_file() else None
