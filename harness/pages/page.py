"""One self-contained HTML page per experiment: what the paper asks, figure, paper against ours, tables, what is missing, and
where it all comes from."""

from __future__ import annotations

import base64
import json
import math
import os
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from harness.common.paths import PACKAGE
from harness.common.version import VERSION
from harness.common.writing import SMALLEST, whole_file
from harness.configure import variations
from harness.evaluation import missing, papers, reproduction
from harness.figures.style import ESTIMAND_NAMES
from harness.pages import glossary
from harness.records.schema import has_number

if TYPE_CHECKING:
    from jinja2 import Environment

TONES = {
    "identical": "good", "holds": "good", "within error": "fair", "differs": "bad", "fails": "bad", "no test": "open",
    "undecided": "open", "not reproducible here": "none",
    "recomputed and agreeing": "good", "given and agreeing": "fair", "differing": "bad",
    "not judged": "none",
}  # fmt: skip
RECOMPUTED = ("recomputed by authors' code", "recomputed by independent code")
SOURCES = {
    "printed": "stands in the paper's text or tables",
    "authors' data": "a file that the authors published",
    "read off a figure": "measured in the paper's figure, to the precision of the reading",
    "recomputed by authors' code": "not in the paper: the authors' published code, run again",
    "recomputed by independent code": "not in the paper: code written from the paper by others than the authors and this project",
    reproduction.CLAIM: "a sentence of the paper",
}
KEPT_IN_GIT = (".csv", ".png", ".svg", ".html")  # of a paper's results; the other files are there after a run
MAX_ROWS = 1000  # rows of paper against ours on the page; reproduction.csv holds all
LEAST_TEXT = 1.2  # of its drawn size: letters of 7 points are 11 pixels then


def save(
    experiment, records, files, wide, compared, path: Path, caption: str, diagrams=(), narrow: bytes | None = None, notes=()
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
    narrow : bytes, optional
        The SVG of the figure drawn anew for phones.
    notes : sequence of str
        Sentences on the files of the run.
    """
    svg = next(f for f in files if f.suffix == ".svg")
    settings = experiment.shown_settings()
    own = experiment.is_variation or not experiment.paper
    best = (
        records[["key", "status"]].assign(other=~has_number(records)).sort_values("other", kind="stable").drop_duplicates("key")
    )
    statuses = best["status"].value_counts().to_dict()  # a cell with one number is ok, whatever its others are
    statuses["missing"] = experiment.missing(records)
    found = missing.without_number(records) + ([] if settings.item or settings.ranking else missing.dashes(records, settings))
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
        narrow=base64.b64encode(narrow).decode() if narrow else "",
        diagrams=[
            (t, c, inline(next(f for f in drawn if f.suffix == ".svg").read_text(), f"caption{i}"))
            for i, (t, c, drawn) in enumerate(diagrams, 1)
        ],
        notes=notes,
        heading=_plain(wide.columns.name),
        caption=caption,
        table=_wide_table(wide, settings),
        parts=_parts(compared, experiment.paper, paper, glossary.plain(settings)) if compared is not None else [],
        verdict_meanings=_used(reproduction.VERDICTS, compared, "verdict"),
        source_meanings=_used(SOURCES, compared, "source"),
        tones=TONES,
        how=papers.HOW,
        inf=math.inf,
        statuses={status: int(count) for status, count in statuses.items() if count},
        reasons=missing.causes(found, settings),
        differs=[(path, *(variations.brief(value, 4000) for value in pair)) for path, pair in experiment.differs.items()],
        experiment_id=settings.experiment,
        swept=[(path, ", ".join(values)) for path, values in experiment.swept().items()],
        names=glossary.entries(settings) if experiment.paper else [],
        links=[(os.path.relpath(f, path.parent), f.name) for f in files if own or f.suffix in KEPT_IN_GIT],
        seed=settings.seed,
        cells=records["key"].nunique(),
        configuration=json.dumps(
            {k: v for k, v in experiment.page_settings().items() if k not in ("labels", "figure")}, indent=1
        ),
    )
    with whole_file(path) as temporary:
        temporary.write_text(page)
    return path


def environment() -> Environment:
    """The Jinja environment of the pages, with the filters `number`, `breakable` and `amount`."""
    from jinja2 import Environment, FileSystemLoader

    loader = FileSystemLoader(PACKAGE / "pages" / "templates")
    made = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(number=number, breakable=breakable, amount=amount)
    return made


def _place(experiment, paper, settings):
    """Where a page stands among the items of its paper: {item, further, twin, page, note}, None of a variation or no item."""
    item = paper.item_of(settings.experiment or "") if paper and not experiment.is_variation else None
    if not paper or experiment.is_variation:
        return None
    reasons = settings.reasons
    further = item is not None and item.experiments[0] != experiment.name
    twin = bool(re.search("_offline(_|$)", experiment.name)) or (item is not None and not further and item.how == "a twin")
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


def _parts(compared, paper_id, paper, plain=MappingProxyType({})):
    """The sections of paper against ours: the paper's own numbers, recomputed ones, and the paper's conclusions. `plain` has the
    plain names of ids that rows and columns begin with.

    Of each: title, words, id, claims (whether it is of claims), counts [(source, {verdict: rows})], columns, rows, shared
    (sentences on what all rows have in common), causes [(mark, rows, reason)], total."""
    if "source" not in compared:
        compared = compared.assign(source="")
    places = reproduction.reported(paper_id, list(dict.fromkeys(compared["item"])))
    places = places.set_index(reproduction.KEY)[[c for c in ("place", "quote", "precision") if c in places]]
    compared = compared.drop(columns=[c for c in places if c in compared]).join(places, on=reproduction.KEY)
    recomputed, claims = compared["source"].isin(RECOMPUTED), compared["source"].eq(reproduction.CLAIM)
    name = (lambda item: paper.items[item].name if paper and item in paper.items else item) if paper_id else str
    described = (
        ("What the paper concludes", "Each sentence, the statistic that tests it, and what came out.", "claims", claims),
        ("Paper against ours", "The paper's own numbers alone.", "compared", ~recomputed & ~claims),
        ("Against recomputed numbers", "Not in the paper: its figures and formulas, computed anew by somebody else.",
         "recomputed", recomputed),
    )  # fmt: skip
    return [_part(title, words, key, compared[rows], name, plain) for title, words, key, rows in described if rows.any()]


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
        row["reported_text"] = _as_printed(row["reported"], row["plus_minus"], row.get("precision"))
        row["power_text"] = _share(row.get("power"))
    counts = [
        (source, {v: n for v, n in reproduction.counts(part).items() if n})
        for source, part in compared.groupby("source", sort=False)
    ]
    order = list(SOURCES)
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


def _as_printed(value, error, precision) -> str:
    """'20.66 ± 0.40': with the decimals that number and error were printed with, where these are known (precision 0.01: two)."""
    if value != value or not precision or precision != precision or precision > 1:
        return amount(value, error)
    decimals = round(-math.log10(precision))
    text = f"{value:.{decimals}f}"
    alike = error == error and error > 0 and abs(round(error, decimals) - error) < 1e-9
    return f"{text} ± {error:.{decimals}f}" if alike else amount(text, error)


def _telling_columns(rows):
    """Which of the optional columns differ between rows, and sentences on those that do not."""
    shown, shared = set(), []
    words = {"item_name": "item", "source": "source", "place": "in the paper", "reps": "replications of ours", "unit": "unit"}
    for column, word in words.items():
        values = list(dict.fromkeys("" if row.get(column) != row.get(column) else row.get(column) for row in rows))
        if len(values) > 1:
            shown.add(column)
        elif values and values[0] not in ("", None):
            shared.append(f"{word}: {number(values[0])}")
    for column in ("z", "difference", "mark", "power_text"):
        if any(row.get(column) not in (None, "") and row.get(column) == row.get(column) for row in rows):
            shown.add(column)
    return shown, shared


def _causes(compared):
    """[(mark, number of rows, reason)]: identical reasons are one line."""
    said = compared["reason"].map(_said)
    counted = said[said.ne("")].groupby(said, sort=False).size()
    return [(str(i), int(count), reason) for i, (reason, count) in enumerate(counted.items(), 1)]


def _said(text) -> str:
    return text if isinstance(text, str) else ""


def _share(power) -> str:
    """'± 3 %' of 0.03."""
    if power is None or power != power:
        return ""
    if math.isinf(power) or power < 1e-6:
        return "any" if math.isinf(power) else "exact"
    digits = ",.0f" if power >= 1.0 else ".3g" if power >= 0.1 else ".2g"  # 50.4 % is more than half
    return f"± {100 * power:{digits}} %"


def _telling_first(compared):
    """All rows, or the first MAX_ROWS of them, those that differ first."""
    if len(compared) <= MAX_ROWS:
        return compared
    order = ("differs", "fails", "no test", "undecided", "within error", "holds", "identical", "not reproducible here")
    rank = compared["verdict"].map({verdict: i for i, verdict in enumerate(order)})
    return compared.loc[rank.sort_values(kind="stable").index[:MAX_ROWS]]


# The wide table


def _wide_table(wide, settings):
    """{levels, columns, rows, texts, explained, wide}: the wide table with what explains its names that are bare ids. Entries of
    columns in `texts` are words and stand on the left."""
    groups = {name: (group, node) for group in ("problem", "estimator") for name, node in settings.chosen(group).items()}
    explained = {name: glossary.short(group, name, node) for name, (group, node) in groups.items() if name in _texts_of(wide)}
    rows, last = [], None
    for index, cells in zip(wide.index, wide.to_numpy()):
        index = index if isinstance(index, tuple) else (index,)
        rows.append((index, ["" if cell is None or cell != cell else str(cell) for cell in cells], index[0] != last))
        last = index[0]
    names = {i for i in range(wide.index.nlevels) if any(len(str(index[i])) > 9 for index, _, _ in rows)}
    texts = {i for i in range(len(wide.columns)) if any(len(cells[i]) > 28 for _, cells, _ in rows)}
    columns = [" ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in wide.columns]
    return {
        "levels": wide.index.names, "columns": columns, "rows": rows, "texts": texts, "names": names, "explained": explained,
    }  # fmt: skip


def _texts_of(wide):
    """All names in the index and the columns of the table."""
    index = wide.index.to_frame(index=False)
    return {str(name) for column in index for name in index[column].unique()} | set(map(str, wide.columns))


def _plain(name):
    """'l1: mean' -> 'L1 calibration error: mean'."""
    estimand, colon, rest = name.partition(":")
    text = ESTIMAND_NAMES.get(estimand, estimand)
    return text.replace("$", "").replace("_", "").replace(r"\infty", "∞") + colon + rest


# Texts


def inline(svg: str, labelled_by: str = "") -> str:
    """An SVG for use inside a page: no XML prologue, as wide as the page, but at most twice as wide as it was drawn, and not so
    narrow that its letters cannot be read. `labelled_by` is the id of what says in words what it shows."""
    svg = svg[svg.index("<svg") :]
    drawn = re.search(r'<svg[^>]*? width="([\d.]+)pt"', svg)
    said = f' role="img" aria-labelledby="{labelled_by}"' if labelled_by else ""
    if drawn:
        width = float(drawn[1])
        said += f' style="max-width: {2 * width:.0f}pt; min-width: {LEAST_TEXT * width:.0f}pt"'
    svg = svg.replace("<svg", f"<svg{said}", 1)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1)


def number(value: Any, digits: int = 4) -> str:
    """A number as text: fixed to `digits` significant places, 0 below 1e-12 (as in the files), a dash for none."""
    if value is None or value != value:
        return "–"
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < SMALLEST:
        return "0"
    if float(value) == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.{digits}g}"


def amount(value: Any, error: Any, digits: int = 6) -> str:
    """'0.0713 ± 0.0021': a number with its error, where it has one; a dash for none."""
    text = number(value, digits)
    known = error is not None and error >= SMALLEST and text != "–"
    return f"{text} ± {error:#.2g}".rstrip(".") if known and math.isfinite(error) else text


def breakable(text):
    """The text, where an id may be broken after _, a number is not parted from its error, and `this` is code."""
    from markupsafe import Markup, escape

    said = str(escape(str(text)))
    said = re.sub(r"(± |\[|≤ |≥ )", lambda found: found[1].replace(" ", "\N{NO-BREAK SPACE}"), said)
    said = re.sub(r"(?<=\w)(_+)(?=\w)", r"\1<wbr>", said)
    said = re.sub(r"`([^`]+)`", r"<code>\1</code>", said)
    return Markup(said)
