"""Lines that a run and a report print: counts, failures, tables, and where the files are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from harness.commands import drawing
from harness.commands.base import short_path
from harness.commands.experiment import Experiment
from harness.common.tables import text_table
from harness.configure.figure import FORMATS
from harness.evaluation import missing, reproduction
from harness.pages import index, own_results

if TYPE_CHECKING:
    import pandas as pd

MOST_SHOWN = 200  # numbers of a table that fits on a screen


def imported(experiment: Experiment, frame: pd.DataFrame) -> str:
    """', 12 imported' for a run that has records from outside."""
    if not any(one.sources for one in experiment.family):
        return ""
    return f", {frame.loc[~frame['key'].isin(experiment.cells), 'key'].nunique():,} imported"


def print_failures(frame: pd.DataFrame, counts: dict[str, Any]) -> int:
    """Print one line on the cells that failed, and one on those of a refresh that still have an
    earlier number. Returns the exit status."""
    failed = frame[frame["status"].eq("failed")]
    cells = failed["key"].nunique()
    if cells:
        print(
            f"  {cells:,} cells failed, the first with: {_last_line(failed['reason'].iloc[0])}; they run again with the next run",
            file=sys.stderr,
        )
    if counts["failed"] > cells:
        print(
            f"  {counts['failed'] - cells:,} cells failed when they were computed again, the first "
            f"with: {_last_line(counts['reason'])}; what is shown of them was recorded before",
            file=sys.stderr,
        )
    return int(cells > 0)


def print_recorded(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Print how many cells are recorded, and which truths are not."""
    cells = experiment.cell_count
    recorded = f"{cells - experiment.missing(frame):,} of {cells:,} cells are recorded"
    print(f"{experiment.name}: {recorded}{imported(experiment, frame)}")
    absent = experiment.missing_truths(frame)
    if absent:
        name, pairs = next(iter(absent.items()))
        which = ", ".join(" ".join(pair) for pair in pairs[:3]) + (
            " and more" if len(pairs) > 3 else ""
        )
        others = f" and of {len(absent) - 1:,} more problems" if len(absent) > 1 else ""
        print(
            f"  no truth is stored of {name} ({which}){others}: bias and coverage are empty there until it is run again"
        )


def finish_recorded(experiment: Experiment) -> int:
    """Draw what the jobs of a multirun add up to. Returns the exit status."""
    frame = experiment.records(to_draw=True)
    print_recorded(experiment, frame)
    failed = int(frame["status"].eq("failed").any())
    return max(failed, finish(experiment, frame, fresh=False))


def finish(experiment: Experiment, frame: pd.DataFrame, fresh: bool) -> int:
    """Draw a result unless it is drawn already, and print its table. Returns the exit status: 1 if
    no cell has a number."""
    if not experiment.has_numbers(frame):
        return _finish_without_numbers(experiment, frame)
    if fresh or not drawing.is_drawn(experiment, frame):
        _print_files(experiment, frame)
    else:
        _print_table(experiment, frame)
        page = short_path(experiment.folder / f"{experiment.stem}.html")
        print(
            f"  {'up to date':<14}{page}, with figure and tables beside it (`calharness report ...` draws them anew)"
        )
    return 0


def _finish_without_numbers(experiment: Experiment, frame: pd.DataFrame) -> int:
    """Print why there is no number. A paper's item that has no page yet gets one that says so."""
    for line in missing.reasons(frame, experiment.shown_settings()):
        print(f"  {line}", file=sys.stderr)
    of_paper = experiment.paper and not experiment.is_variation
    has_page = of_paper and len(frame) and not drawing.has_picture(experiment)
    what = "its page says what is missing" if has_page else "no picture is drawn or overwritten"
    print(f"  no cell of {experiment.name} has a number, so {what}", file=sys.stderr)
    if has_page:
        _print_files(experiment, frame)
    return 1


def _print_table(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Print the wide table of a run that fits on a screen, and the reasons of its gaps. For a
    paper's item print only the reasons: its page has the table."""
    if not experiment.has_numbers(frame):
        return
    of_paper = bool(experiment.paper and not experiment.is_variation)
    if not of_paper:
        wide = drawing.wide_table(experiment, frame)
        if wide.size <= MOST_SHOWN:
            print(f"\n{wide.columns.name}\n{wide.rename_axis(columns=None).to_string()}\n")
        else:
            print(
                f"  {len(wide):,} rows and {len(wide.columns)} columns are too many to be shown here; table and page have them"
            )
    for line in missing.reasons(frame, experiment.shown_settings(), of_table=not of_paper):
        print(f"  {line}")


def _print_files(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Draw and write everything, and print where it is."""
    _print_table(experiment, frame)
    files, verdicts, notes = drawing.render(experiment, frame)
    for note in notes:
        print(f"  note: {note}")
    pictures = tuple(f".{kind}" for kind in FORMATS)
    rows = []
    for what, ends in (
        ("figure", pictures),
        ("table", (".csv", ".parquet", ".tex")),
        ("page", (".html",)),
    ):
        same = [path for path in files if path.suffix in ends and path.stem == experiment.stem]
        others = f" ({', '.join(path.suffix for path in same[1:])})" if len(same) > 1 else ""
        rows.append((what, f"{short_path(same[0])}{others}"))
        if what == "table" and verdicts:
            compared = [short_path(path) for path in files if path.stem.startswith("reproduction")]
            counts = "; ".join(
                f"{source}: {reproduction.said(n)}" for source, n in verdicts.items()
            )
            rows.append(("paper vs ours", f"{', '.join(compared)}: {counts}"))
    if experiment.paper and not experiment.is_variation:
        rows.append(("all results", short_path(index.save(experiment.out))))
    elif experiment.is_variation:
        rows.append(("your runs", short_path(own_results.save(experiment.out))))
    print(text_table(rows))


def _last_line(reason: Any) -> str:
    return str(reason).strip().splitlines()[-1]
