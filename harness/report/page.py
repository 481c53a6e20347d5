"""One self-contained HTML page per experiment: figure, tables, paper against ours, what is missing, and where it comes from."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

from harness.common.paths import PACKAGE
from harness.common.version import VERSION
from harness.common.writing import whole_file
from harness.report import missing, reproduction
from harness.report.style import ESTIMAND_NAMES
from harness.runs import sweeps, variations
from harness.runs.records import has_number

KEPT_IN_GIT = (".csv", ".png", ".svg", ".html")  # of a paper's results; the other files are there after a run
MAX_ROWS = 5000  # rows of paper against ours on the page; reproduction.csv holds all


def save(experiment, records, files, wide, compared, path: Path, caption: str, diagrams=()) -> Path:
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
    """
    from jinja2 import Environment, FileSystemLoader

    loader = FileSystemLoader(PACKAGE / "report" / "templates")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["number"] = number
    svg = next(f for f in files if f.suffix == ".svg")
    config = experiment.shown_config()
    own = experiment.is_variation or not experiment.paper
    best = records.assign(other=~has_number(records)).sort_values("other", kind="stable").drop_duplicates("key")
    statuses = best["status"].value_counts().to_dict()  # a cell with one number is ok, whatever its others are
    statuses["missing"] = experiment.missing(records)
    page = environment.get_template("report.html.j2").render(
        title=config["title"] or experiment.name,
        name=experiment.name,
        stamp=experiment.stamp(records),
        version=VERSION,
        paper=experiment.paper,
        svg=inline(svg.read_text()),
        diagrams=[(t, c, inline(next(f for f in own if f.suffix == ".svg").read_text())) for t, c, own in diagrams],
        notes=experiment.notes(),
        heading=_plain(wide.columns.name),
        caption=caption,
        wide=wide,
        levels=wide.index.names,
        rows=[(index if isinstance(index, tuple) else (index,), list(row)) for index, row in zip(wide.index, wide.to_numpy())],
        compared=_telling_first(compared).to_dict("records") if compared is not None else None,
        explained=compared is not None and bool(compared["reason"].notna().any()),
        compared_total=len(compared) if compared is not None else 0,
        verdicts=reproduction.counts(compared) if compared is not None else {},
        meaning=reproduction.VERDICTS,
        statuses={status: int(count) for status, count in statuses.items() if count},
        reasons=missing.without_number(records)
        + ([] if config["item"] or config["ranking"] else missing.dashes(records, config)),
        differs=[(path, *(variations.brief(value, 200) for value in pair)) for path, pair in experiment.differs.items()],
        experiment_id=config["experiment"],
        swept=_swept(experiment.plan),
        links=[(os.path.relpath(f, path.parent), f.name) for f in files if own or f.suffix in KEPT_IN_GIT],
        seed=config["seed"],
        cells=records["key"].nunique(),
        configuration=json.dumps({k: v for k, v in experiment.page_config().items() if k not in ("labels", "figure")}, indent=1),
    )
    with whole_file(path) as temporary:
        temporary.write_text(page)
    return path


def _swept(plan):
    """[(path, its values)] of a sweep."""
    values = {path: dict.fromkeys(sweeps.said(point[path]) for point in plan.points if path in point) for path in plan.swept}
    return [(path, ", ".join(said)) for path, said in values.items()]


def _plain(name):
    """'l1: mean' -> 'L1 calibration error: mean'."""
    estimand, colon, rest = name.partition(":")
    text = ESTIMAND_NAMES.get(estimand, estimand)
    return text.replace("$", "").replace("_", "").replace(r"\infty", "∞") + colon + rest


def _telling_first(compared):
    """All rows, or the first MAX_ROWS of them in the order differs, within error, identical, not reproducible here."""
    if len(compared) <= MAX_ROWS:
        return compared
    rank = compared["verdict"].map({"differs": 0, "no test": 1, "within error": 1, "identical": 2, "not reproducible here": 3})
    return compared.loc[rank.sort_values(kind="stable").index[:MAX_ROWS]]


def inline(svg: str) -> str:
    """An SVG for use inside a page: no XML prologue, as wide as the page, but at most twice as wide as it was drawn."""
    svg = svg[svg.index("<svg") :]
    drawn = re.search(r'<svg[^>]*? width="([\d.]+)pt"', svg)
    if drawn:
        svg = svg.replace("<svg", f'<svg style="max-width: {2 * float(drawn[1]):.0f}pt"', 1)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1)


def number(value, digits=4):
    """A number as text: fixed to `digits` significant places, a dash for none."""
    if value is None or value != value:
        return "–"
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if float(value) == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.{digits}g}"
