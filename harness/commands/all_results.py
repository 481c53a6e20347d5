"""Draw, compute or store the results of all papers, for `calharness results`."""

from __future__ import annotations

import fnmatch
import itertools
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
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
from harness.execute.pending import read_states
from harness.execute.processes import WorkerDiedError
from harness.execute.stops import RunInterruptedError
from harness.pages import index
from harness.records import reader, stored


class Outcome(Enum):
    """Result of the attempt to draw an experiment."""

    DRAWN = "drawn"
    NUMBERLESS = "no cell has a number"
    UNSTORED = "no stored records"


def select(patterns: list[str]) -> list[str]:
    """Return the experiments of papers that match one of the patterns.

    Without patterns, return all of them.
    """
    known = completion.experiment_of_paper()
    chosen = {pattern: fnmatch.filter(known, pattern) for pattern in patterns or ["*"]}
    for pattern, names in chosen.items():
        if not names:
            raise BadInputError(
                f"no experiment of a paper matches {pattern!r}; "
                "`calharness list experiments` shows all."
            )
    return [name for name in known if any(name in names for names in chosen.values())]


def redraw(names: list[str], out: Path) -> int:
    """Draw all experiments that have stored records, and the index page. Return the exit status.

    For each paper, records are unpacked into a temporary folder, so that `out` receives only
    figures, tables and pages.
    """
    outcomes, failures = Counter[Outcome](), list[str]()
    for paper, group in itertools.groupby(sorted(names, key=_find_paper), _find_paper):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / paper
            _copy_reproduction(out / paper, folder)
            unpacked: set[str] = set()
            for name in group:
                with _noting(name, failures):
                    outcomes[_redraw(name, out / stored.FOLDER, Path(scratch), unpacked)] += 1
            if folder.is_dir():
                shutil.copytree(folder, out / paper, dirs_exist_ok=True)
    return _finish(outcomes, failures, out)


def compute(names: list[str], overrides: list[str], out: Path) -> int:
    """Compute missing cells of experiments, the cheapest experiment first, and draw the results.

    Return the exit status.
    """
    print(f"planning {len(names):,} experiments", file=sys.stderr)
    outcomes, failures = Counter[Outcome](), list[str]()
    recorded, past = read_states(out), reader.seconds_per_cell(out)
    costs: list[tuple[float, Experiment]] = []
    for experiment in _plan(names, overrides, failures):
        family = experiment.family
        costs.append(
            (sum(member.expected_seconds(recorded, past) for member in family), experiment)
        )
    costs.sort(key=lambda entry: entry[0])
    for number, (_, experiment) in enumerate(costs):
        left = sum(seconds for seconds, _ in costs[number:])
        state = f"about {clock(left)} left" if left else "no cells left to compute"
        print(f"{number + 1} of {len(costs)}: {experiment.name}, {state}", file=sys.stderr)
        with _noting(experiment.name, failures):
            outcomes[_compute(experiment, failures)] += 1
    return _finish(outcomes, failures, out)


def store(names: list[str], overrides: list[str], out: Path) -> int:
    """Write the records of each experiment to a stored file. Return the exit status.

    Experiments without any number are left out.
    """
    failures: list[str] = []
    for experiment in _plan(names, overrides, failures):
        with _noting(experiment.name, failures):
            frame = experiment.computed()
            if not experiment.has_numbers(frame):
                continue
            path = stored.file_path(out / stored.FOLDER, experiment.name)
            size = stored.store(frame, experiment.plan, experiment.out, path).stat().st_size
            count, planned = frame["key"].nunique(), len(experiment.plan.cells)
            print(f"  {experiment.name}: {count:,} of {planned:,} cells, {size / 1e3:,.0f} kB")
    return _print_failures(failures)


def draw_index(out: Path, failures: list[str]) -> None:
    """Draw the index page, which links to all results."""
    with _noting("index.html", failures):
        index.save(out)


def _find_paper(name: str) -> str:
    return str(option("experiment", name).config["paper"])


def _copy_reproduction(source: Path, target: Path) -> None:
    """Copy the files reproduction* from the folder `source` to the folder `target`.

    They contain the numbers of a paper beside ours. Rows of experiments that no longer exist are
    left out. Drawing an experiment then replaces only the rows of this experiment.
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


def _redraw(name: str, folder: Path, scratch: Path, unpacked: set[str]) -> Outcome:
    """Unpack the stored records of an experiment and draw it. Return the outcome.

    Parameters
    ----------
    name : str
        Id of the experiment.
    folder : Path
        Folder of the stored files.
    scratch : Path
        Folder that receives records and results.
    unpacked : set of str
        Experiments that are unpacked already.
    """
    config = option("experiment", name).config
    is_stored = stored.file_path(folder, name).is_file()
    if not (is_stored or config.get("records_of") or config.get("records_from")):
        return Outcome.UNSTORED
    experiment = Experiment.of([f"experiment={name}", f"out={scratch}"], stored_in=folder)
    for member in experiment.family:
        path = stored.file_path(folder, member.name)
        if path.is_file() and member.name not in unpacked:
            stored.unpack(path, member.plan, scratch)
            unpacked.add(member.name)
    return _draw(experiment)


def _draw(experiment: Experiment) -> Outcome:
    """Draw an experiment, and return Outcome.DRAWN, or NUMBERLESS if no record has a number."""
    frame = experiment.records()
    if not experiment.has_numbers(frame):
        return Outcome.NUMBERLESS
    for note in drawing.render(experiment, frame)[2]:
        print(f"  {experiment.name}: {note}")
    return Outcome.DRAWN


def _compute(experiment: Experiment, failures: list[str]) -> Outcome:
    """Compute and draw an experiment, and return Outcome.DRAWN or NUMBERLESS.

    If no record has a number, print the reasons.
    """
    failed = experiment.compute()["failed"]
    if failed:
        failures.append(
            f"{experiment.name}: {failed:,} cells failed; the same command computes them again"
        )
    outcome = _draw(experiment)
    if outcome == Outcome.NUMBERLESS:
        settings = experiment.shown_settings()
        for line in missing.reasons(experiment.records(), settings, of_table=False):
            print(f"  {experiment.name}: {line}")
    return outcome


def _plan(names: list[str], overrides: list[str], failures: list[str]) -> list[Experiment]:
    """Plan the experiments. An experiment that cannot be planned is added to `failures`."""
    planned = []
    for name in names:
        with _noting(name, failures):
            planned.append(Experiment.of([f"experiment={name}", *overrides]))
    return planned


@contextmanager
def _noting(name: str, failures: list[str]) -> Iterator[None]:
    """Catch an error of the block, so that other experiments still run.

    The message of the error is added to the list `failures`.
    """
    try:
        yield
    except RunInterruptedError:  # an interruption stops all experiments
        raise
    except (BadInputError, WorkerDiedError, OSError) as error:
        failures.append(f"{name}: {error}")
    except Exception as error:  # a defect in one drawing must not stop the others
        failures.append(f"{name}: {type(error).__name__}: {error}")


def _finish(outcomes: Counter[Outcome], failures: list[str], out: Path) -> int:
    """Draw the index page, and print how many experiments were drawn and why others were not."""
    draw_index(out, failures)
    print(f"{format_count(outcomes[Outcome.DRAWN], 'experiment')} drawn into {out}")
    if unstored := outcomes[Outcome.UNSTORED]:
        print(
            f"  {unstored:,} not drawn: their records are not in {out / stored.FOLDER} (a Git "
            "checkout has those of most experiments); `calharness results --compute` computes them"
        )
    if numberless := outcomes[Outcome.NUMBERLESS]:
        print(f"  {numberless:,} not drawn: none of their cells has a number")
    return _print_failures(failures)


def _print_failures(failures: list[str]) -> int:
    for failure in failures:
        print(f"  {failure}", file=sys.stderr)
    return int(bool(failures))
