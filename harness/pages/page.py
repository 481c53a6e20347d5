"""One self-contained HTML page per experiment: what the paper asks, figure, paper against ours, tables, what is missing, and
where it all comes from."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from types import MappingProxyType

from harness.common.version import VERSION
from harness.common.wording import axis_name, format_number, format_printed, format_tolerance
from harness.common.writing import whole_file
from harness.configure import variations
from harness.evaluation import missing, papers, reproduction
from harness.pages import glossary
from harness.pages.templating import environment, inline
from harness.records.schema import has_number

KEPT_IN_GIT = (
    ".csv",
    ".png",
    ".svg",
    ".html",
)  # of a paper's results; the other files are there after a run
MAX_ROWS = 1000  # rows of paper against ours on the page; reproduction.csv holds all


def save(
    experiment, records, files, wide, compared, path: Path, caption: str, diagrams=(), notes=()
) -> Path:
    """Write the page. It says nothing that differs between two computations of the same numbers: no date, no machine, no folder.

    Parameters
    ----------
    experiment : Experiment
        What was run (harness.commands.experiment).
    records, wide, compared : DataFrame
        Its records, its wide table, and the paper's numbers beside ours or None.
    files : list of Path
        The result files, to be linked; the SVG among them is put inline.
    path : Path
        Of the page.
    caption : str
        Of the figure.
    diagrams : iterable of (title, caption, files)
        Reliability diagrams, put inline as well.
    notes : sequence of str
        Sentences on the files of the run.
    """
    svg = next(f for f in files if f.suffix == ".svg")
    settings = experiment.shown_settings()
    own = experiment.is_variation or not experiment.paper
    best = (
        records[["key", "status"]]
        .assign(other=~has_number(records))
        .sort_values("other", kind="stable")
        .drop_duplicates("key")
    )
    statuses = (
        best["status"].value_counts().to_dict()
    )  # a cell with one number is ok, whatever its others are
    statuses["missing"] = experiment.missing(records)
    found = missing.without_number(records) + (
        [] if settings.item or settings.ranking else missing.dashes(records, settings)
    )
    paper = papers.find(experiment.paper)
    template = environment().get_template("report.html.j2")
    page = template.render(
        title=experiment.title,
        of=f"{settings.experiment} ({settings.title})"
        if settings.title and "title" not in experiment.differs
        else settings.experiment,
        name=experiment.name,
        stamp=experiment.stamp(records),
        version=VERSION,
        paper=paper,
        place=_place(experiment, paper, settings),
        own=own,
        svg=inline(svg.read_text(), "caption"),
        diagrams=[
            (t, c, inline(next(f for f in drawn if f.suffix == ".svg").read_text(), f"caption{i}"))
            for i, (t, c, drawn) in enumerate(diagrams, 1)
        ],
        notes=notes,
        heading=_heading(wide.columns.name),
        caption=caption,
        table=_wide_table(wide, settings),
        parts=sections_of(compared, experiment.paper, paper, glossary.plain(settings))
        if compared is not None
        else [],
        verdict_meanings=_used(reproduction.VERDICTS, compared, "verdict"),
        source_meanings=_used(reproduction.SOURCES, compared, "source"),
        how=papers.HOW,
        inf=math.inf,
        statuses={status: int(count) for status, count in statuses.items() if count},
        reasons=missing.causes(found, settings),
        differs=[
            (path, *(variations.brief(value, 4000) for value in pair))
            for path, pair in experiment.differs.items()
        ],
        experiment_id=settings.experiment,
        swept=[(path, ", ".join(values)) for path, values in experiment.swept().items()],
        names=glossary.entries(settings) if experiment.paper else [],
        links=[
            (os.path.relpath(f, path.parent), f.name)
            for f in files
            if own or f.suffix in KEPT_IN_GIT
        ],
        seed=settings.seed,
        cells=records["key"].nunique(),
        configuration=json.dumps(
            {k: v for k, v in experiment.page_settings().items() if k not in ("labels", "figure")},
            indent=1,
        ),
    )
    with whole_file(path) as temporary:
        temporary.write_text(page)
    return path


def _place(experiment, paper, settings):
    """Where a page stands among the items of its paper: {item, further, twin, page, note}, None of a variation or no item."""
    item = (
        paper.item_of(settings.experiment or "") if paper and not experiment.is_variation else None
    )
    if not paper or experiment.is_variation:
        return None
    reasons = settings.reasons
    further = item is not None and item.experiments[0] != experiment.name
    twin = bool(re.search("_offline(_|$)", experiment.name)) or (
        item is not None and not further and item.how == "a twin"
    )
    note = reasons.get("data") or reasons.get("other networks")
    return {
        "item": item,
        "further": further,
        "twin": twin,
        "page": f"{item.stems(paper.id)[0]}.html" if item else "",
        "note": note,
    }


def _used(meanings, compared, column):
    """{word: its meaning} of those that occur in a column."""
    if compared is None or column not in compared:
        return {}
    have = set(compared[column])
    return {word: text for word, text in meanings.items() if word in have}


# Paper against ours


def sections_of(compared, paper_id, paper, plain=MappingProxyType({})):
    """The sections of paper against ours: the paper's own numbers, recomputed ones, and the paper's conclusions. `plain` has the
    plain names of ids that rows and columns begin with.

    Of each: title, words, id, claims (whether it is of claims), counts [(source, {verdict: rows})], columns, rows, shared
    (sentences on what all rows have in common), causes [(mark, rows, reason)], total."""
    if "source" not in compared:
        compared = compared.assign(source="")
    places = reproduction.reported(paper_id, list(dict.fromkeys(compared["item"])))
    places = places.set_index(reproduction.KEY)[
        [c for c in ("place", "quote", "precision") if c in places]
    ]
    compared = compared.drop(columns=[c for c in places if c in compared]).join(
        places, on=reproduction.KEY
    )
    recomputed, claims = (
        compared["source"].isin(reproduction.RECOMPUTED),
        compared["source"].eq(reproduction.CLAIM),
    )
    name = (
        (lambda item: paper.items[item].name if paper and item in paper.items else item)
        if paper_id
        else str
    )
    described = (
        ("What the paper concludes", "Each sentence, the statistic that tests it, and what came out.", "claims", claims),
        ("Paper against ours", "The paper's own numbers alone.", "compared", ~recomputed & ~claims),
        ("Against recomputed numbers", "Not in the paper: its figures and formulas, computed anew by somebody else.",
         "recomputed", recomputed),
    )  # fmt: skip
    return [
        _part(title, words, key, compared[rows], name, plain)
        for title, words, key, rows in described
        if rows.any()
    ]


def _part(title, words, key, compared, item_name, plain):
    rows = _telling_first(compared).to_dict("records")
    causes = _causes(compared)
    marks = {reason: mark for mark, _, reason in causes}
    told: set[str] = set()
    for row in rows:
        row["plain"] = [_told(row[column], plain, told) for column in ("row", "column")]
        row["mark"] = marks.get(_said(row.get("reason")), "")
        row["item_name"] = item_name(row["item"])
        row["place"], row["quote"] = _said(row.get("place")), _said(row.get("quote"))
        row["where"], row["said"] = _said(row.get("where")), _said(row.get("reason"))
        row["reported_text"] = format_printed(
            row["reported"], row["plus_minus"], row.get("precision")
        )
        row["power_text"] = format_tolerance(row.get("power"))
    counts = [
        (source, {v: n for v, n in reproduction.counts(part).items() if n})
        for source, part in compared.groupby("source", sort=False)
    ]
    order = list(reproduction.SOURCES)
    counts.sort(key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))
    shown, shared = _telling_columns(rows)
    return {
        "title": title, "words": words, "id": key, "claims": key == "claims", "counts": counts, "rows": rows, "shown": shown,
        "shared": shared, "causes": causes, "total": len(compared),
    }  # fmt: skip


def _told(text, plain, told) -> str:
    """The plain name of the id that a row or column begins with, where it is the first of them."""
    name = re.match(r"\w*", str(text))[0]
    if name in told or name not in plain:
        return ""
    told.add(name)
    return plain[name]


def _telling_columns(rows):
    """Which of the optional columns differ between rows, and sentences on those that do not."""
    shown, shared = set(), []
    words = {
        "item_name": "item",
        "source": "source",
        "place": "in the paper",
        "reps": "replications of ours",
        "unit": "unit",
    }
    for column, word in words.items():
        values = list(
            dict.fromkeys(
                "" if row.get(column) != row.get(column) else row.get(column) for row in rows
            )
        )
        if len(values) > 1:
            shown.add(column)
        elif values and values[0] not in ("", None):
            shared.append(f"{word}: {format_number(values[0])}")
    for column in ("z", "difference", "mark", "power_text"):
        if any(
            row.get(column) not in (None, "") and row.get(column) == row.get(column) for row in rows
        ):
            shown.add(column)
    return shown, shared


def _causes(compared):
    """[(mark, number of rows, reason)]: identical reasons are one line."""
    said = compared["reason"].map(_said)
    counted = said[said.ne("")].groupby(said, sort=False).size()
    return [(str(i), int(count), reason) for i, (reason, count) in enumerate(counted.items(), 1)]


def _said(text) -> str:
    return text if isinstance(text, str) else ""


def _telling_first(compared):
    """All rows, or the first MAX_ROWS of them, those that differ first."""
    if len(compared) <= MAX_ROWS:
        return compared
    order = (
        "differs",
        "fails",
        "no test",
        "undecided",
        "within error",
        "holds",
        "identical",
        "not reproducible here",
    )
    rank = compared["verdict"].map({verdict: i for i, verdict in enumerate(order)})
    return compared.loc[rank.sort_values(kind="stable").index[:MAX_ROWS]]


# The wide table


def _wide_table(wide, settings):
    """{levels, columns, rows, texts, explained, wide}: the wide table with what explains its names that are bare ids. Entries of
    columns in `texts` are words and stand on the left."""
    groups = {
        name: (group, node)
        for group in ("problem", "estimator")
        for name, node in settings.chosen(group).items()
    }
    explained = {
        name: glossary.short(group, name, node)
        for name, (group, node) in groups.items()
        if name in _texts_of(wide)
    }
    rows, last = [], None
    for index, cells in zip(wide.index, wide.to_numpy()):
        index = index if isinstance(index, tuple) else (index,)
        rows.append(
            (
                index,
                ["" if cell is None or cell != cell else str(cell) for cell in cells],
                index[0] != last,
            )
        )
        last = index[0]
    names = {
        i for i in range(wide.index.nlevels) if any(len(str(index[i])) > 9 for index, _, _ in rows)
    }
    texts = {i for i in range(len(wide.columns)) if any(len(cells[i]) > 28 for _, cells, _ in rows)}
    columns = [" ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in wide.columns]
    return {
        "levels": wide.index.names, "columns": columns, "rows": rows, "texts": texts, "names": names, "explained": explained,
    }  # fmt: skip


def _texts_of(wide):
    """All names in the index and the columns of the table."""
    index = wide.index.to_frame(index=False)
    return {str(name) for column in index for name in index[column].unique()} | set(
        map(str, wide.columns)
    )


def _heading(name):
    """'l1: mean' -> 'L1 calibration error: mean'."""
    estimand, colon, rest = name.partition(":")
    return axis_name(estimand) + colon + rest
