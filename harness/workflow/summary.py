"""Print the results of a run or report: counts, failures, tables, and paths of files."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from harness.common.paths import short_path
from harness.common.tables import frame_text, text_table
from harness.common.wording import format_count
from harness.configure.figure import FORMATS
from harness.evaluation import missing, papers, reproduction
from harness.evaluation.verdicts import counts_text
from harness.pages import index, own_results
from harness.records.schema import has_numbers
from harness.workflow import drawing, drawn
from harness.workflow.experiment import Experiment

MOST_SHOWN = 200  # largest number of entries of a table that is printed
KINDS = {  # {kind of result file: its endings}
    "figure": tuple(f".{kind}" for kind in FORMATS),
    "table": (".csv", ".parquet", ".tex"),
    "page": (".html",),
}


def announce(experiment: Experiment) -> None:
    """Print what a variation or sweep changes, and where its results go."""
    identity = experiment.identity
    if identity.is_variation:
        print(f"{identity.sentence}; its results go to {short_path(identity.folder)}")


def imported(experiment: Experiment, frame: pd.DataFrame) -> str:
    """Return ', 12 imported' for an experiment with imported records, else an empty text."""
    if not any(plan.settings.records_from for plan in experiment.records.plans):
        return ""
    return f", {experiment.records.imported(frame):,} imported"


def print_failures(frame: pd.DataFrame, counts: dict[str, Any]) -> int:
    """Print the number of failed cells, and return the exit status.

    Cells that failed when they were computed again, but have an earlier number, are counted in a
    second line.
    """
    failed = frame[frame["status"].eq("failed")]
    cells = failed["key"].nunique()
    if cells:
        print(
            f"  {cells:,} cells failed, the first with: {_last_line(failed['reason'].iloc[0])}; "
            "the next run computes them again",
            file=sys.stderr,
        )
    if counts["failed"] > cells:
        print(
            f"  {counts['failed'] - cells:,} cells failed when they were computed again, the first "
            f"with: {_last_line(counts['reason'])}; their earlier numbers are shown",
            file=sys.stderr,
        )
    return int(cells > 0)


def print_recorded(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Print how many cells of an experiment are recorded, and which truths are missing."""
    records, cells = experiment.records, experiment.records.cell_count
    recorded = f"{cells - records.missing(frame):,} of {cells:,} cells are recorded"
    print(f"{experiment.settings.run_name}: {recorded}{imported(experiment, frame)}")
    absent = records.missing_truths(frame)
    if absent:
        name, pairs = next(iter(absent.items()))
        print(
            f"  truths are missing for {format_count(len(absent), 'problem')}, such as "
            f"{' '.join(pairs[0])} of {name}, so bias and coverage stay empty there; run it again "
            "to compute them"
        )


def finish_recorded(experiment: Experiment) -> int:
    """Draw a result of a multirun from its records. Return the exit status."""
    frame = experiment.records.read(to_draw=True)
    print_recorded(experiment, frame)
    failed = int(frame["status"].eq("failed").any())
    return max(failed, finish(experiment, frame, redraw=False))


def finish(experiment: Experiment, frame: pd.DataFrame, redraw: bool) -> int:
    """Print the table of a result, and draw figure, tables and page if necessary.

    It is necessary if `redraw` is True, or if the page does not show these records. Return the exit
    status, which is 1 if no cell has a number.
    """
    if not has_numbers(frame):
        return _finish_without_numbers(experiment, frame)
    _print_table(experiment, frame)
    if redraw or not drawn.is_drawn(experiment, frame):
        _draw(experiment, frame)
    else:
        page = short_path(experiment.identity.page)
        print(f"  {'up to date':<14}{page} (`calharness report ...` draws it again)")
    return 0


def _finish_without_numbers(experiment: Experiment, frame: pd.DataFrame) -> int:
    """Print why no cell has a number, and return the exit status.

    For an experiment of a paper without a figure, write a page with the reasons.
    """
    settings = experiment.settings
    for line in missing.reasons(frame, settings):
        print(f"  {line}", file=sys.stderr)
    is_paper_item = experiment.identity.is_paper_item
    has_page = is_paper_item and len(frame) and not drawing.has_picture(experiment)
    effect = "its page says what is missing" if has_page else "no picture is drawn or overwritten"
    print(f"  no cell of {settings.run_name} has a number, so {effect}", file=sys.stderr)
    if has_page:
        _draw(experiment, frame)
    return 1


def _print_table(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Print the table of a result, and the reasons why numbers are missing in it.

    The table of a paper's experiment is not printed, because its page shows it.
    """
    has_table = not experiment.identity.is_paper_item
    if has_table:
        wide = drawing.wide_table(experiment, frame)
        if wide.size <= MOST_SHOWN:
            print(f"\n{wide.columns.name}\n{frame_text(wide.rename_axis(columns=None))}\n")
        else:
            print(
                f"  the table has {len(wide):,} rows and {len(wide.columns)} columns, too many to "
                "print; its files and the page contain it"
            )
    for line in missing.reasons(frame, experiment.settings, of_table=has_table):
        print(f"  {line}")


def _draw(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Draw a result, write its files, and print their paths."""
    files, counts, notes = drawing.render(experiment, frame)
    identity = experiment.identity
    for note in notes:
        print(f"  note: {note}")
    rows = []
    for kind, endings in KINDS.items():
        same = [p for p in files if p.suffix in endings and p.stem == identity.stem]
        others = f" ({', '.join(path.suffix for path in same[1:])})" if len(same) > 1 else ""
        rows.append((kind, f"{short_path(same[0])}{others}"))
    if counts:
        compared = [short_path(path) for path in files if path.stem.startswith("reproduction")]
        texts = (f"{source}: {counts_text(count)}" for source, count in counts.items())
        reporter = "theory" if set(counts) == {reproduction.PREDICTED} else "paper"
        rows.append((f"{reporter} vs ours", f"{', '.join(compared)}: {'; '.join(texts)}"))
    is_own_paper = identity.is_paper_item and papers.find(experiment.settings.paper) is None
    if is_own_paper:
        own_results.describe_item(identity)
    if identity.is_paper_item and not is_own_paper:
        rows.append(("all results", short_path(index.save(identity.out))))
    elif identity.is_paper_item or identity.is_variation:
        rows.append(("your runs", short_path(own_results.save(identity.out))))
    print(text_table(rows))


def _last_line(reason: Any) -> str:
    return str(reason).strip().splitlines()[-1]
