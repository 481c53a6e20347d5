"""Draw, compute or store the results of all papers and of the arena, for `calharness results`."""

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

from harness.common.paths import BASELINE
from harness.common.wording import format_count
from harness.common.writing import whole_file, write_csv
from harness.configure import catalogue
from harness.configure.options import option
from harness.errors import BadInputError
from harness.evaluation import missing, propositions
from harness.execute.pending import pending, read_states
from harness.execute.processes import WorkerDiedError
from harness.execute.stops import RunInterruptedError
from harness.figures import figure_files, propositions_plot
from harness.pages import index
from harness.records import baseline, tables
from harness.records.schema import has_numbers
from harness.workflow import drawing
from harness.workflow.experiment import Experiment

PROPOSITIONS = f"_{propositions.STEM}"  # end of the names that stand for a paper's propositions
ARENA = baseline.WHOLE  # the experiment of the arena's page
ARENA_COLUMNS = (*baseline.COMPARED, "level")  # of the records, that the page reads


class Outcome(Enum):
    """Result of the attempt to draw an experiment."""

    DRAWN = "drawn"
    NUMBERLESS = "no cell has a number"
    UNSTORED = "no stored records"


def select(patterns: list[str], with_others: bool) -> list[str]:
    """Return the experiments of papers that match one of the patterns.

    Without patterns, return all of them. With `with_others`, <paper>_propositions (see
    harness.evaluation.propositions) and, as the last, the arena are among them.
    """
    known = catalogue.experiment_of_paper()
    if with_others:
        known = [*known, *(f"{paper}{PROPOSITIONS}" for paper in propositions.papers()), ARENA]
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

    `names` are experiments of papers, <paper>_propositions, and ARENA for the page of the arena.
    Propositions are computed. For each paper, records are unpacked into a temporary folder, so that
    `out` receives only figures, tables and pages.
    """
    outcomes, failures = Counter[Outcome](), list[str]()
    stated = [name for name in names if name.endswith(PROPOSITIONS)]
    of_papers = [name for name in names if name != ARENA and name not in stated]
    for paper, group in itertools.groupby(sorted(of_papers, key=_find_paper), _find_paper):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / paper
            _copy_reproduction(out / paper, folder)
            unpacked: set[str] = set()
            for name in group:
                with _noting(name, failures):
                    outcomes[_redraw(name, out / tables.FOLDER, Path(scratch), unpacked)] += 1
            if folder.is_dir():
                shutil.copytree(folder, out / paper, dirs_exist_ok=True)
    for name in stated:
        with _noting(name, failures):
            outcomes[_draw_propositions(name.removesuffix(PROPOSITIONS), out)] += 1
    if ARENA in names:
        with _noting(ARENA, failures):
            outcomes[_redraw_arena(out)] += 1
    return _finish(outcomes, failures, out)


def compute(names: list[str], overrides: list[str], out: Path) -> int:
    """Compute missing cells of experiments, the smallest experiment first, and draw the results.

    Return the exit status.
    """
    print(f"planning {len(names):,} experiments", file=sys.stderr)
    outcomes, failures = Counter[Outcome](), list[str]()
    recorded = read_states(out)
    work: list[tuple[int, int, Experiment]] = []  # rows and cells to compute
    for experiment in _plan(names, overrides, failures):
        tallies = [pending(plan, out, recorded).tally for plan in experiment.records.plans]
        cells = sum(tally.counts["todo"] for tally in tallies)
        work.append((sum(tally.rows for tally in tallies), cells, experiment))
    work.sort(key=lambda entry: entry[:2])
    for number, (_, cells, experiment) in enumerate(work):
        print(
            f"{number + 1} of {len(work)}: {experiment.settings.run_name}, "
            f"{cells:,} cells to compute",
            file=sys.stderr,
        )
        with _noting(experiment.settings.run_name, failures):
            outcomes[_compute(experiment, failures)] += 1
    return _finish(outcomes, failures, out)


def store(names: list[str], overrides: list[str], out: Path) -> int:
    """Write the records of each experiment to a stored file. Return the exit status.

    Experiments without any number are left out.
    """
    failures: list[str] = []
    for experiment in _plan(names, overrides, failures):
        name = experiment.settings.run_name
        with _noting(name, failures):
            frame = experiment.records.read_own()
            if not has_numbers(frame):
                continue
            path = tables.file_path(out / tables.FOLDER, name)
            size = tables.store(frame, experiment.plan, experiment.records.out, path).stat().st_size
            count, planned = frame["key"].nunique(), len(experiment.plan.cells)
            print(f"  {name}: {count:,} of {planned:,} cells, {size / 1e3:,.0f} kB")
    return _print_failures(failures)


def _draw_propositions(paper: str, out: Path) -> Outcome:
    """Compute the propositions of a paper, and write propositions.csv and a picture of them."""
    frame = propositions.compute(paper)
    stem = out / paper / propositions.STEM
    stem.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(stem.with_suffix(".csv")) as temporary:
        write_csv(frame, temporary)
    figure_files.save(propositions_plot.figure(frame), stem)
    return Outcome.DRAWN


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
        rows = rows[rows["experiment"].isin(catalogue.experiment_of_paper())]
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
    is_stored = tables.file_path(folder, name).is_file()
    if not (is_stored or config.get("records_of") or config.get("records_from")):
        return Outcome.UNSTORED
    experiment = Experiment.of([f"experiment={name}", f"out={scratch}"], stored_in=folder)
    for plan in experiment.records.plans:
        member = plan.settings.run_name
        path = tables.file_path(folder, member)
        if path.is_file() and member not in unpacked:
            tables.unpack(path, plan, scratch)
            unpacked.add(member)
    return _draw(experiment)


def _redraw_arena(out: Path) -> Outcome:
    """Draw the arena's page from the baseline and from the stored records of its other parts.

    The records are those in `out`, else those of the checkout or of the installed package. For four
    million rows it takes a minute of CPU time and 1.3 GB of memory.
    """
    folder = out if (out / BASELINE.name).is_dir() else BASELINE.parent
    records = {"arena": baseline.read(folder / BASELINE.name).records(ARENA_COLUMNS)}
    for name in baseline.experiments(compared=False):  # intervals, tests, pairs of models
        path = tables.file_path(folder / tables.FOLDER, name)
        if path.is_file():
            records[name] = tables.read(path, ARENA_COLUMNS)
    frames = [
        frame.assign(experiment=pd.Categorical([name] * len(frame)))
        for name, frame in records.items()
    ]
    arena = Experiment.of([f"experiment={ARENA}", f"out={out}"])
    drawing.render_arena(arena, baseline.concatenate(frames))
    return Outcome.DRAWN


def _draw(experiment: Experiment) -> Outcome:
    """Draw an experiment, and return Outcome.DRAWN, or NUMBERLESS if no record has a number."""
    frame = experiment.records.read()
    if not has_numbers(frame):
        return Outcome.NUMBERLESS
    for note in drawing.render(experiment, frame)[2]:
        print(f"  {experiment.settings.run_name}: {note}")
    return Outcome.DRAWN


def _compute(experiment: Experiment, failures: list[str]) -> Outcome:
    """Compute and draw an experiment, and return Outcome.DRAWN or NUMBERLESS.

    If no record has a number, print the reasons.
    """
    failed, name = experiment.compute()["failed"], experiment.settings.run_name
    if failed:
        failures.append(f"{name}: {failed:,} cells failed; the same command computes them again")
    outcome = _draw(experiment)
    if outcome == Outcome.NUMBERLESS:
        frame = experiment.records.read()
        for line in missing.reasons(frame, experiment.settings, of_table=False):
            print(f"  {name}: {line}")
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
            f"  {unstored:,} not drawn: their records are not in {out / tables.FOLDER} (a Git "
            "checkout has those of most experiments); `calharness results --compute` computes them"
        )
    if numberless := outcomes[Outcome.NUMBERLESS]:
        print(f"  {numberless:,} not drawn: none of their cells has a number")
    return _print_failures(failures)


def _print_failures(failures: list[str]) -> int:
    for failure in failures:
        print(f"  {failure}", file=sys.stderr)
    return int(bool(failures))
