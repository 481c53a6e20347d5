"""Page of an experiment: figure, comparison with the paper, tables, missing numbers, and sources.

The page is one HTML file that works without any other file. It names no date, machine or folder,
so that two computations of the same numbers give the same bytes.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.names import axis_name
from harness.common.wording import format_number, format_printed, format_tolerance
from harness.common.writing import whole_file
from harness.configure import catalogue, options, variations
from harness.configure.identity import Identity
from harness.configure.settings import Settings
from harness.evaluation import missing, outcomes, papers, reproduction, verdicts
from harness.evaluation.claim_tables import describe_result
from harness.pages.templating import LONG, environment, inline
from harness.records.schema import has_number

MAX_ROWS = 1000  # largest number of compared numbers on a page; reproduction.csv has all
FIRST_VERDICTS = (  # if there are more numbers, those with the first verdicts are shown
    "differs", "fails", "outside seeds", "no test", "undecided", "within seeds", "within error",
    "holds", "identical", "not reproducible here",
)  # fmt: skip
OPTIONAL = {  # {column: its name in the sentence that replaces it if all rows have one value}
    "item_name": "item", "source": "source", "place": "in the paper",
    "reps": "replications of ours", "unit": "unit",
}  # fmt: skip
TEXTS = ("reason", "place", "quote", "where")
Names = Mapping[str, str]


def save(
    identity: Identity,
    settings: Settings,
    records: pd.DataFrame,
    missing_cells: int,
    files: Sequence[Path],
    wide: pd.DataFrame,
    compared: pd.DataFrame | None,
    caption: str,
    diagrams: Iterable[tuple[str, str, Sequence[Path]]] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write the page of an experiment, and return its path.

    Parameters
    ----------
    identity : Identity
        Names of the experiment, its differences from its file, and the path of the page.
    settings : Settings
        Settings of the experiment, with `files` and `subsets`.
    records : DataFrame
        Records of the experiment.
    missing_cells : int
        Number of cells without a finished record.
    files : list of Path
        Result files, to which the page links. The SVG among them becomes part of the page.
    wide : DataFrame
        The wide table of the results.
    compared : DataFrame or None
        The comparison of our numbers with the paper's, as `reproduction.compare` returns it.
    caption : str
        Caption of the figure.
    diagrams : iterable of (title, caption, files)
        Reliability diagrams, which also become part of the page.
    notes : sequence of str
        Sentences on the files of the run.
    """
    paper = papers.find(settings.paper)
    is_own = identity.is_variation or not settings.paper
    original = settings.experiment
    if settings.title and "title" not in identity.differs:
        original = f"{original} ({settings.title})"
    # Count each cell once; a cell with at least one number counts as ok.
    order = (~has_number(records)).sort_values(kind="stable").index
    statuses = records.loc[order].drop_duplicates("key")["status"].value_counts().to_dict()
    statuses["missing"] = missing_cells
    lacking = missing.without_number(records)
    if not (settings.item or settings.ranking):
        lacking += missing.dashes(records, settings)
    labels = _names(settings)
    sections = []
    if compared is not None:
        sections = build_sections(compared, settings.paper, paper)
    shown = identity.configuration()
    estimand, colon, rest = str(wide.columns.name).partition(":")
    page = environment().get_template("report.html.j2").render(
        title=identity.title, original=original, name=settings.run_name, own=is_own, paper=paper,
        notes=notes, caption=caption, place=_place(identity, paper, settings),
        svg=_inline(files, "caption"),
        diagrams=[(title, text, _inline(drawn, f"caption{i}"))
                  for i, (title, text, drawn) in enumerate(diagrams, 1)],
        heading=axis_name(estimand) + colon + rest, table=_wide_table(wide),
        sections=sections, how=papers.HOW, inf=math.inf, describe_result=describe_result,
        verdict_meanings=_used(verdicts.VERDICTS, compared, "verdict"),
        source_meanings=_used(reproduction.SOURCES, compared, "source"),
        statuses={status: count for status, count in statuses.items() if count},
        reasons=missing.causes(lacking, settings),
        differs=[(option, *(variations.shorten(value, 4000) for value in pair))
                 for option, pair in identity.differs.items()],
        swept=[(option, ", ".join(values)) for option, values in identity.swept().items()],
        experiment_id=settings.experiment,
        names=[(group, labels[name], name, _description(group, name, node))
               for group, name, node in _chosen(settings)],
        links=[(os.path.relpath(file, identity.folder), file.name) for file in files],
        seed=settings.seed, cells=records["key"].nunique(),
        configuration=json.dumps(
            {key: shown[key] for key in shown if key not in ("labels", "figure")}, indent=1
        ),
    )  # fmt: skip
    with whole_file(identity.page) as temporary:
        temporary.write_text(page)
    return identity.page


def _inline(files: Sequence[Path], labelled_by: str) -> str:
    return inline(next(f for f in files if f.suffix == ".svg").read_text(), labelled_by)


def _place(
    identity: Identity, paper: papers.Paper | None, settings: Settings
) -> dict[str, Any] | None:
    """Describe how an experiment relates to the figures and tables of its paper.

    Return None for a variation and for an experiment without a paper.
    """
    if not paper or identity.is_variation:
        return None
    item = paper.find_item(settings.experiment or "")
    further = item is not None and item.experiments[0] != settings.run_name
    is_twin = item is not None and not further and item.how == "a twin"
    return {
        "item": item, "further": further,
        "twin": is_twin or re.search("_offline(_|$)", settings.run_name) is not None,
        "page": f"{item.stems(paper.id)[0]}.html" if item else "",
        "note": settings.reasons.get("data") or settings.reasons.get("other networks"),
    }  # fmt: skip


def _used(meanings: Names, compared: pd.DataFrame | None, column: str) -> dict[str, str]:
    """Return those entries of {word: meaning} whose word occurs in a column of the comparison."""
    present = set(compared[column]) if compared is not None and column in compared else set()
    return {word: text for word, text in meanings.items() if word in present}


# Names of problems and estimators


def _chosen(settings: Settings) -> list[tuple[str, str, Any]]:
    """Return (group, id, configuration) for all problems and estimators of the settings."""
    groups = ("problem", "estimator")
    return [(group, *item) for group in groups for item in settings.chosen(group).items()]


def _names(settings: Settings) -> dict[str, str]:
    """Return {id: label}. The label of an id without one is the id."""
    return {
        name: settings.labels.texts(group).get(name, name) for group, name, _ in _chosen(settings)
    }


def _description(group: str, name: str, node: Any) -> str:
    """Describe a problem or estimator by the text in its YAML, else by the docstring of its class.

    The values of its parameters are appended.
    """
    target = node.get("_target_", "") if isinstance(node, dict) else ""
    known = options.option(group, name) if name in options.ids(group) else None
    about = (known.about if known else "") or catalogue.docstring(target)
    if known and known.config.get("_target_") == target:
        node = known.config
    texts = (catalogue.first_sentence(about), _parameters(node))
    return "; ".join(text for text in texts if text)


def _parameters(node: Any) -> str:
    """Format {_target_: ..., bins: 15, rule: width} as 'bins 15, rule width'."""
    given = {key: value for key, value in node.items() if key != "_target_"} if node else {}
    return ", ".join(
        f"{key.replace('_', ' ')} {catalogue.short_text(value)}"
        for key, value in given.items()
        if value not in (None, "", [], {})
    )


# Paper against ours


def build_sections(
    compared: pd.DataFrame, paper_id: str | None, paper: papers.Paper | None
) -> list[dict[str, Any]]:
    """Return the sections of the page that compare our numbers with reported ones.

    There are up to four: claims, numbers of the paper, predictions, and numbers that others
    recomputed.

    Parameters
    ----------
    compared : DataFrame
        The result of `reproduction.compare`.
    paper_id : str or None
        Id of the paper. None for a comparison without a file of reported numbers.
    paper : Paper or None
        Description of the paper.

    Returns
    -------
    list of dict
        title, words, id
            Title, explanation and HTML id of the section.
        claims
            True for the section of claims.
        counts
            [(source, {verdict: number of rows})].
        rows, total
            The rows that are shown, and the number of all rows.
        shown, shared
            Optional columns that are shown, and sentences on columns with one value in all rows.
        causes
            [(footnote mark, number of rows, reason)].
    """
    reported = reproduction.reported(str(paper_id), list(dict.fromkeys(compared["item"])))
    columns = [name for name in ("place", "quote", "precision") if name in reported]
    compared = compared.drop(columns=columns, errors="ignore").join(
        reported.set_index(reproduction.KEY)[columns], on=reproduction.KEY
    )
    names = {item.id: item.name for item in paper.items.values()} if paper else {}
    compared = compared.assign(item_name=[names.get(item, item) for item in compared["item"]])
    recomputed = compared["source"].isin(reproduction.RECOMPUTED)
    claims = compared["source"].eq(reproduction.CLAIM)
    predicted = compared["source"].eq(reproduction.PREDICTED)
    described = (
        ("What the paper concludes",
         "Each sentence of the paper, the statistic that tests it, and the result.",
         "claims", claims),
        ("Paper against ours", "Only numbers that the paper or its authors published.",
         "compared", ~recomputed & ~claims & ~predicted),
        ("Predictions against ours", "These numbers are predictions of a theory, not of a paper.",
         "predicted", predicted),
        ("Against recomputed numbers",
         "These numbers are not in the paper: others computed its figures and formulas again.",
         "recomputed", recomputed),
    )  # fmt: skip
    return [
        {"title": title, "words": words, "id": key, "claims": key == "claims",
         **_section(compared[rows])}
        for title, words, key, rows in described
        if rows.any()
    ]  # fmt: skip


def _section(part: pd.DataFrame) -> dict[str, Any]:
    texts = {name: part[name] for name in TEXTS if name in part}
    part = part.assign(**{n: text.where(text.map(type).eq(str), "") for n, text in texts.items()})
    reasons = part.loc[part["reason"].ne(""), "reason"].value_counts(sort=False)
    marks = {reason: str(i) for i, reason in enumerate(reasons.index, 1)}
    rows = _first_rows(part).to_dict("records")
    for row in rows:
        row["mark"] = marks.get(row["reason"], "")
        row["reported_text"] = format_printed(
            row["reported"], row["plus_minus"], row.get("precision")
        )
        row["power_text"] = format_tolerance(row.get("power"))
    shown, shared = _optional_columns(pd.DataFrame(rows))
    return {
        "counts": list(outcomes.count_by_source(part).items()), "rows": rows,
        "shown": shown, "shared": shared, "total": len(part),
        "causes": [(marks[reason], count, reason) for reason, count in reasons.items()],
    }  # fmt: skip


def _optional_columns(rows: pd.DataFrame) -> tuple[set[str], list[str]]:
    """Return the optional columns whose values differ, and sentences on the other ones."""
    shown, shared = set(), []
    for column, word in OPTIONAL.items():
        values = rows[column].astype(object).fillna("").unique() if column in rows else [""]
        if len(values) > 1:
            shown.add(column)
        elif values[0] != "":
            shared.append(f"{word}: {format_number(values[0])}")
    for column in ("z", "difference", "mark", "power_text"):
        if column in rows and (rows[column].notna() & rows[column].ne("")).any():
            shown.add(column)
    return shown, shared


def _first_rows(part: pd.DataFrame) -> pd.DataFrame:
    """Return all rows, or the first MAX_ROWS in the order of FIRST_VERDICTS if there are more."""
    if len(part) <= MAX_ROWS:
        return part
    rank = part["verdict"].map(FIRST_VERDICTS.index)
    return part.loc[rank.sort_values(kind="stable").index[:MAX_ROWS]]


# The wide table


def _wide_table(wide: pd.DataFrame) -> dict[str, Any]:
    """Convert the wide table to levels, columns and rows for the template.

    In the returned dictionary, `levels` are the names of the row index, `texts` the positions of
    columns with long entries, and `names` the positions of levels with long entries.
    """
    index = wide.index.to_frame(index=False).astype(str)
    cells = wide.astype(object).where(wide.notna(), "").astype(str).to_numpy().tolist()
    keys = [key if isinstance(key, tuple) else (key,) for key in wide.index]
    firsts = [i == 0 or key[0] != keys[i - 1][0] for i, key in enumerate(keys)]
    lengths = wide.astype(str).map(len).max() if len(wide) else pd.Series(dtype=int)
    return {
        "levels": wide.index.names,
        "columns": [
            " ".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in wide.columns
        ],
        "rows": list(zip(keys, cells, firsts)),
        "texts": {i for i, length in enumerate(lengths) if length > LONG},
        "names": {i for i, name in enumerate(index) if index[name].map(len).max() > 9},
    }
