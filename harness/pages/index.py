"""The page results/index.html: the papers with their claims, figures and tables, and outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.wording import format_number
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.evaluation import outcomes, papers, reproduction, verdicts
from harness.evaluation.claim_tables import describe_result
from harness.pages.templating import environment

MOST_FINDINGS = 3
OWN_RUNS = "own_runs.html"
# Words that the templates explain, with their meanings.
MEANINGS: dict[str, Any] = {
    "outcomes": outcomes.OUTCOMES, "verdicts": verdicts.VERDICTS,
    "sources": reproduction.SOURCES, "how": papers.HOW,
}  # fmt: skip


def save(folder: Path) -> Path:
    """Write <folder>/index.html from the results in the folder and from every paper.yaml.

    The same results give the same bytes.
    """
    known = papers.every()
    path = folder / "index.html"
    own_runs = OWN_RUNS if (folder / OWN_RUNS).is_file() else None
    content = summary([section(paper, folder) for paper in known], known)
    with whole_file(path) as temporary:
        text = environment().get_template("index.html.j2").render(own=own_runs, **content)
        temporary.write_text(text, encoding="utf-8")
    return path


def summary(sections: list[dict[str, Any]], known: Iterable[papers.Paper]) -> dict[str, Any]:
    """Return values that several templates need: sections, totals, findings and meanings of words.

    `sections` are results of `section`, `known` are the papers.
    """
    total = {
        name: _in_order(sum((Counter(s["counts"][name]) for s in sections), Counter()), words)
        for name, words in (
            ("printed", outcomes.OUTCOMES),
            ("others", verdicts.VERDICTS),
            ("claims", verdicts.VERDICTS),
        )
    }
    hows = Counter(entry["item"].how for section in sections for entry in section["items"])
    return {
        "sections": sections, "total": total, "ways": _in_order(hows, papers.HOW),
        "findings": strongest(known), "counted": outcomes.sentence(total["printed"]), **MEANINGS,
    }  # fmt: skip


def strongest(known: Iterable[papers.Paper]) -> list[tuple[str, str]]:
    """Return the strongest findings of all papers, at most three, as (paper id, sentence).

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
        counts
            `printed` is {outcome: number}. `others` and `claims` are {verdict: number}.
    """
    rows = outcomes.read_rows(folder, paper.id)
    claims = _claims(paper, rows)
    page = papers.page(paper, paper.items["claims"], folder) if "claims" in paper.items else None
    return {
        "paper": paper,
        "items": [_item(paper, i, rows, folder) for i in paper.items.values() if i.id != "claims"],
        "claims": claims,
        "claims_page": _link(page, folder),
        "counts": {
            "printed": _in_order(outcomes.count_outcomes(rows, paper.id), outcomes.OUTCOMES),
            "others": outcomes.count_others(rows),
            "claims": _in_order(Counter(claim["verdict"] for claim in claims)),
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
    page = papers.page(paper, item, folder)
    stems = [folder / paper.id / stem for stem in item.stems(paper.id)]
    pictures = [path.with_suffix(".png") for path in ([page] if page else []) + stems]
    pages = [path.with_name(f"{path.name}.html") for path in stems]
    return {
        "item": item,
        "counts": counts,
        "page": _link(page, folder),
        "picture": next((path for path in (_link(p, folder) for p in pictures) if path), None),
        "further": [
            (name, _link(path, folder))
            for name, path in zip(item.experiments, pages)
            if path != page and path.is_file()
        ],
    }


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
