"""Page of a comparison: the arena's page, with a verdict in place of the recommendations."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from harness.common.names import NOTIONS
from harness.common.user_code import read_docstring
from harness.common.wording import DASH, format_factor, format_seconds
from harness.common.writing import whole_file
from harness.comparing import sentences
from harness.comparing.cells import Comparison
from harness.comparing.evaluate import Verdict
from harness.evaluation.latex import latex
from harness.pages.arena import leaderboard
from harness.pages.arena import page as arena_page

MOST_ROWS = 12  # rows of the table on a user's problem


def save(stem: Path, comparison: Comparison, verdict: Verdict, frame: pd.DataFrame) -> list[Path]:
    """Write the files of a comparison, and return their paths, the page last.

    The files are figures, a table in LaTeX, tables as CSV, the sentences as a text file, and the
    HTML page. `stem` is their folder and name without ending. `frame` holds the records.
    """
    request, value = comparison.request, comparison.component.object
    settings, name = comparison.experiment.settings, verdict.name
    if request.kind == "problem":
        title, own, families = f"The arena's estimators on {name}", None, {}
        table = problem_table(verdict.tables[""], name)
    else:
        title, own, families = f"{name} in the arena", name, comparison.arena.families
        table = family_table(verdict.tables[""], name)
    texts = {".tex": latex(table), ".txt": "\n\n".join(verdict.sentences) + "\n"}
    for end, text in texts.items():
        with whole_file(stem.with_name(stem.name + end)) as temporary:
            temporary.write_text(text)
    values = arena_page.page_values(verdict.content, frame, families, verdict.development, {})
    values |= {
        "leaderboard": leaderboard.section(verdict.content, leaderboard.BY_N),
        "title": title, "request": request, "verdict": verdict, "table": table,
        "left_out": sentences.describe_left_out(comparison.absent),
        "doc": read_docstring(value.calibrator if request.kind == "calibrator" else value),
    }  # fmt: skip
    figures = arena_page.drawings(verdict.content, frame, families, settings, own)
    tables = {f"{end}.csv": rows for end, rows in verdict.tables.items()}
    page = stem.with_name(f"{stem.name}.html")
    written = [stem.with_name(stem.name + end) for end in texts]
    pages = {page: "comparison.html.j2"}
    return [*arena_page.write(stem, figures, tables, pages, values, settings, written), page]


def family_table(families: pd.DataFrame, own: str) -> pd.DataFrame:
    """Return a table of texts with one row per notion, estimand and family.

    `families` is the result of `opponents.by_family`.
    """
    rows = [
        {
            "notion": NOTIONS[row.notion], "estimand": row.estimand, "family": row.family,
            "regret (RMSE / best of each setting)": format_factor(row.regret),
            "RMSE / best": _ratio(row.ratio_best),
            "RMSE / published rival": _ratio(row.ratio_published),
            "published rival": row.rival or DASH,
            "RMSE / constant": _ratio(row.ratio_constant),
            "settings": f"{row.settings:,}", "time": format_seconds(row.seconds),
            "CPU time": format_seconds(row.cpu_seconds),
        }
        for row in families.itertuples(index=False)
    ]  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "family"])
    table.columns.name = f"{own} in each family of the arena"
    return table


def _ratio(value: float) -> str:
    return format_factor(value) if math.isfinite(value) else DASH


def problem_table(judged: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a table of the RMSE and regret of the estimators on a user's problem, best first.

    Estimators that may be the best have a star.
    """
    groups = judged.groupby(["notion", "estimand", "n"], sort=True)
    rows = [
        {
            "notion": NOTIONS[notion], "estimand": estimand, "n": f"{n:,}", "rank": str(rank),
            "estimator": f"{row.estimator}{' *' if row.may_be_best else ''}",
            "bias": f"{row.bias:+.2g}", "RMSE": f"{row.rmse:.2g}",
            "regret": _ratio(row.regret), "CPU time": format_seconds(row.cpu_seconds),
        }
        for (notion, estimand, n), part in groups
        for rank, row in enumerate(part.head(MOST_ROWS).itertuples(index=False), 1)
    ]  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "n", "rank"])
    table.columns.name = f"the most accurate estimators on {name} (* may be the best)"
    return table
