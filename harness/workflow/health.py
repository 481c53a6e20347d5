"""Find defects in the records of a results folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from harness.common import buckets
from harness.common.escaping import escape
from harness.common.reading import refuse_special
from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.records import compaction, parts, truths
from harness.records.health import Line, examine_parts, unfinished_files
from harness.workflow.experiment import Experiment


def examine(
    out: Path, overrides: list[str] | None = None, compact: bool = False, repair: bool = False
) -> tuple[str, int]:
    """Search a results folder for defects.

    Defects are broken parts (files of records), files of killed processes, cells with several or
    differing records, records without provenance, and unreadable truths.

    Parameters
    ----------
    out : Path
        The results folder.
    overrides : list of str, optional
        Overrides of a run, whose missing cells are counted.
    compact : bool
        Join all readable parts into one.
    repair : bool
        First move unreadable parts and truths to <out>/broken, and delete temporary files of
        killed processes.

    Returns
    -------
    text : str
        One line for each defect, and the number of problems.
    problems : int
        Number of problems. Harmless defects do not count.
    """
    lines = list(_misplaced_files(out))
    if repair:
        repaired = [*(("moved", note) for note in _repair(out)), *_delete_unfinished(out)]
        lines += repaired or [("", "nothing to repair")]
    part_lines, is_broken = examine_parts(out)
    lines += part_lines
    lines += [("PROBLEM", reason) for _, reason in _broken_truths(out)]
    if overrides is not None and not is_broken:
        lines += _missing_cells(out, overrides)
    if compact:
        before, rows = compaction.compact(out)
        joined = f"joined {before} parts into one part of {rows:,} rows"
        lines.append(("", joined if rows else "there is only one part, so nothing to join"))
    problems = sum(kind == "PROBLEM" for kind, _ in lines)
    lines.append(("", format_count(problems, "problem")))
    texts = [escape(f"  {kind:<9}{text}" if kind else f"  {text}") for kind, text in lines]
    return "\n".join([buckets.location(out), *texts]), problems


def _misplaced_files(out: Path) -> Iterator[Line]:
    for name in ("records", "truths", "runs"):
        path = out / name
        if os.path.lexists(path) and not path.is_dir():
            yield "PROBLEM", f"{path} is not a folder; move it away, and the next run creates one"


def _broken_truths(out: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, reason) for each file of truths that cannot be used."""
    for name in buckets.names(out, "truths"):
        try:
            truths.read_truths(out, Path(name).stem)
        except BadInputError as error:
            yield name, str(error).rstrip(".")


def _repair(out: Path) -> list[str]:
    """Move unreadable parts and truths to <out>/broken. Return one line about each."""
    broken = list(_broken_truths(out))
    for path in parts.part_files(out):
        reason = parts.broken_reason(path)
        if reason:
            broken.append((f"records/{path.name}", reason))
    notes: list[str] = []
    notes_file = out / "broken" / "NOTES.txt"
    refuse_special(notes_file)
    for name, reason in broken:
        target = out / "broken" / name.replace("/", "-")
        target.parent.mkdir(exist_ok=True)
        try:
            buckets.set_aside(out, name, target)
        except FileNotFoundError:  # another process has joined the part with others
            continue
        short = reason.removeprefix(f"{buckets.location(out)}/{name} ").partition(";")[0]
        notes.append(escape(f"{buckets.location(out)}/{name} to {target}: {short}"))
        with open(notes_file, "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {notes[-1]}\n")
    return notes


def _delete_unfinished(out: Path) -> Iterator[Line]:
    for path in unfinished_files(out):
        path.unlink(missing_ok=True)
        yield "deleted", f"{path}, which a killed process has left; it contains no finished cell"


def _missing_cells(out: Path, overrides: list[str]) -> Iterator[Line]:
    experiment = Experiment.of([*overrides, f"out={out}"])
    frame = experiment.records.read(to_draw=True)
    missing = experiment.records.missing(frame)
    counts = frame.drop_duplicates("key")["status"].value_counts()
    recorded = {status: int(count) for status, count in counts.items()} or "none"
    yield (
        "",
        f"{experiment.settings.run_name}: {experiment.records.cell_count:,} cells planned, "
        f"recorded {recorded}, {missing:,} missing",
    )
    if missing:
        yield "PROBLEM", "cells are missing; run the experiment again to compute them"
