"""The results of all papers: drawn from stored records, computed, or stored."""

from __future__ import annotations

import fnmatch
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from harness.commands import completion, drawing
from harness.commands.experiment import Experiment
from harness.common.progress import clock
from harness.common.wording import format_count
from harness.common.writing import write_csv
from harness.configure.options import option
from harness.errors import BadInputError
from harness.evaluation import missing
from harness.execute.run import RunInterruptedError
from harness.execute.supervise import WorkerDiedError
from harness.pages import index
from harness.records import reader, states, stored


def select(patterns: list[str]) -> list[str]:
    """Return the experiments of papers that match a pattern, all of them without any pattern."""
    names = completion.experiment_of_paper()
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise BadInputError(
                f"no experiment of a paper matches {pattern!r}; "
                "`calharness list experiments` shows all."
            )
    if not patterns:
        return names
    return [name for name in names if any(fnmatch.fnmatch(name, p) for p in patterns)]


def redraw(names: list[str], out: Path) -> int:
    """Draw the experiments that have stored records, and the index. Returns the exit status.

    Records are unpacked into a temporary folder for each paper. So `out` receives results alone.
    """
    drawn, failures, started = 0, list[str](), time.monotonic()
    for paper, group in itertools.groupby(sorted(names, key=_paper_of), _paper_of):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / paper
            _copy_reproduction(out / paper, folder)
            unpacked: set[str] = set()
            for name in group:
                with _noting(name, failures):
                    drawn += _redraw(name, out / stored.FOLDER, Path(scratch), unpacked)
            if folder.is_dir():
                shutil.copytree(folder, out / paper, dirs_exist_ok=True)
    draw_index(out, failures)
    return _finish(drawn, failures, out, started)


def compute(names: list[str], overrides: list[str], out: Path) -> int:
    """Compute missing cells, the cheapest experiment first, and draw. Returns the exit status."""
    drawn, failures, started = 0, list[str](), time.monotonic()
    print(f"planning {len(names):,} experiments", file=sys.stderr)
    recorded, past = states.states(out), reader.seconds_per_cell(out)
    queue = []
    for experiment in _plan(names, overrides, failures):
        family = experiment.family
        seconds = sum(member.expected_seconds(recorded, past) for member in family)
        queue.append((seconds, experiment))
    queue.sort(key=lambda entry: entry[0])
    for number, (_, experiment) in enumerate(queue):
        left = sum(seconds for seconds, _ in queue[number:])
        state = f"about {clock(left)} left" if left else "nothing left to compute"
        print(f"{number + 1} of {len(queue)}: {experiment.name}, {state}", file=sys.stderr)
        with _noting(experiment.name, failures):
            drawn += _compute(experiment, failures)
    draw_index(out, failures)
    return _finish(drawn, failures, out, started)


def store(names: list[str], overrides: list[str], out: Path) -> int:
    """Store the records of the experiments that have cells. Returns the exit status."""
    total, cells, failures, started = 0, 0, list[str](), time.monotonic()
    for experiment in _plan(names, overrides, failures):
        with _noting(experiment.name, failures):
            frame = experiment.computed()
            if not experiment.has_numbers(frame):
                continue
            path = stored.path_of(out / stored.FOLDER, experiment.name)
            size = stored.store(frame, experiment.plan, experiment.out, path).stat().st_size
            count = frame["key"].nunique()
            absent = len(experiment.plan.cells) - count
            print(
                f"  {experiment.name}: {count:,} cells, {size / 1e3:,.0f} kB, "
                f"{size / count:.1f} bytes a cell{f'; {absent:,} cells are missing' * bool(absent)}"
            )
            total, cells = total + size, cells + count
    print(f"{cells:,} cells in {total / 1e6:.2f} MB, {time.monotonic() - started:.0f} s")
    return _print_failures(failures)


def draw_index(out: Path, failures: list[str]) -> None:
    """Draw the page of all results."""
    with _noting("index.html", failures):
        index.save(out)


def _paper_of(name: str) -> str:
    return str(option("experiment", name).config["paper"])


def _copy_reproduction(source: Path, target: Path) -> None:
    """Copy the tables of paper against ours, without the rows of experiments that are gone.

    Drawing an experiment then replaces only its own rows.
    """
    for path in source.glob("reproduction*"):
        as_csv = path.suffix == ".csv"
        rows = pd.read_csv(path) if as_csv else pd.read_parquet(path)
        rows = rows[rows["experiment"].isin(completion.experiment_of_paper())]
        target.mkdir(parents=True, exist_ok=True)
        if as_csv:
            write_csv(rows, target / path.name)
        else:
            rows.to_parquet(target / path.name, index=False)


def _redraw(name: str, folder: Path, scratch: Path, unpacked: set[str]) -> bool:
    """Unpack and draw an experiment. Returns False if it has no number."""
    config = option("experiment", name).config
    is_stored = stored.path_of(folder, name).is_file()
    if not (is_stored or config.get("records_of") or config.get("records_from")):
        return False
    experiment = Experiment.of([f"experiment={name}", f"out={scratch}"], stored_in=folder)
    for member in experiment.family:
        path = stored.path_of(folder, member.name)
        if path.is_file() and member.name not in unpacked:
            stored.unpack(path, member.plan, scratch)
            unpacked.add(member.name)
    return _draw(experiment)


def _draw(experiment: Experiment) -> bool:
    """Draw an experiment. Returns False if it has no number."""
    frame = experiment.records()
    if not experiment.has_numbers(frame):
        return False
    for note in drawing.render(experiment, frame)[2]:
        print(f"  {experiment.name}: {note}")
    return True


def _compute(experiment: Experiment, failures: list[str]) -> bool:
    """Compute and draw an experiment. Returns False if it has no number, and prints why."""
    failed = experiment.compute()["failed"]
    if failed:
        failures.append(
            f"{experiment.name}: {failed:,} cells failed; they run again with the same command"
        )
    drawn = _draw(experiment)
    if not drawn:
        settings = experiment.shown_settings()
        for line in missing.reasons(experiment.records(), settings, of_table=False):
            print(f"  {experiment.name}: {line}")
    return drawn


def _plan(names: list[str], overrides: list[str], failures: list[str]) -> list[Experiment]:
    """Plan the experiments. A failure is noted and stops no other."""
    planned = []
    for name in names:
        with _noting(name, failures):
            planned.append(Experiment.of([f"experiment={name}", *overrides]))
    return planned


@contextmanager
def _noting(name: str, failures: list[str]) -> Iterator[None]:
    """Add an error of an experiment to `failures`, so that the others go on."""
    try:
        yield
    except RunInterruptedError:  # the user stops all experiments
        raise
    except (BadInputError, WorkerDiedError, OSError) as error:
        failures.append(f"{name}: {error}")
    except Exception as error:  # a defect in one drawing
        failures.append(f"{name}: {type(error).__name__}: {error}")


def _finish(drawn: int, failures: list[str], out: Path, started: float) -> int:
    seconds = clock(time.monotonic() - started)
    print(f"{format_count(drawn, 'experiment')} drawn into {out}, {seconds}")
    return _print_failures(failures)


def _print_failures(failures: list[str]) -> int:
    for failure in failures:
        print(f"  {failure}", file=sys.stderr)
    return int(bool(failures))
