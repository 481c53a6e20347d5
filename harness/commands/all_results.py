"""The results of all papers at once: drawn from stored records, computed from nothing, or stored."""

from __future__ import annotations

import fnmatch
import functools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands import drawing
from harness.commands.experiment import Experiment
from harness.common.progress import clock
from harness.common.writing import write_csv
from harness.configure.options import ids, option
from harness.errors import BadInputError
from harness.records import reader, stored
from harness.records import states as recorded

if TYPE_CHECKING:
    import pandas as pd


def of_papers() -> list[str]:
    """The ids of the experiments that belong to papers."""
    return [name for name in ids("experiment") if option("experiment", name).config.get("paper")]


def chosen(words: list[str]) -> list[str]:
    """The experiments of papers that match one of the patterns; all of them without any."""
    every = of_papers()
    found = [
        name for name in every if not words or any(fnmatch.fnmatch(name, word) for word in words)
    ]
    lost = [word for word in words if not fnmatch.filter(every, word)]
    if lost:
        raise BadInputError(
            f"no experiment of a paper matches {lost[0]!r}; `calharness list experiments` shows all."
        )
    return found


def redraw(chosen: list[str], out: Path) -> int:
    """Draw what has stored records, and the index."""
    folder, drawn, started = out / stored.FOLDER, 0, time.monotonic()
    failed: list[str] = []
    papers: dict[str, list[str]] = {}
    for name in chosen:
        papers.setdefault(_paper(name), []).append(name)
    for paper, names in papers.items():
        with tempfile.TemporaryDirectory() as scratch:
            unpacked: set[str] = set()
            for name in names:
                drawn += _attempt(
                    name,
                    failed,
                    functools.partial(_redraw_one, name, folder, Path(scratch), unpacked),
                )
            _put(Path(scratch) / paper, out / paper)
    _index(out, failed)
    return _said(drawn, failed, out, started)


def _paper(name: str) -> str:
    return str(option("experiment", name).config["paper"])


def _redraw_one(name: str, folder: Path, scratch: Path, unpacked: set[str]) -> bool:
    """Unpack and draw one experiment; whether it has any number."""
    config = option("experiment", name).config
    if not (
        stored.path_of(folder, name).is_file()
        or config.get("records_of")
        or config.get("records_from")
    ):
        return False
    experiment = Experiment.of([f"experiment={name}", f"out={scratch}"], stored_in=folder)
    for one in experiment.family:
        path = stored.path_of(folder, one.name)
        if path.is_file() and one.name not in unpacked:
            stored.unpack(path, one.plan, scratch)
            unpacked.add(one.name)
    return _draw(experiment)


def _draw(experiment: Experiment) -> bool:
    frame = experiment.records()
    if not len(frame) or not experiment.has_numbers(frame):
        return False
    _, verdicts, notes = drawing.render(experiment, frame)
    for note in notes:
        print(f"  {experiment.name}: {note}")
    return True


def _put(source: Path, target: Path) -> None:
    """Put what was drawn in its place. In the tables of paper against ours the rows of experiments that were not drawn stay, but
    for those that exist no more."""
    import pandas as pd

    if not source.is_dir():
        return
    target.mkdir(parents=True, exist_ok=True)
    known = of_papers()
    for path in sorted(source.iterdir()):
        there = target / path.name
        if path.name.startswith("reproduction") and there.is_file():
            read = pd.read_csv if path.suffix == ".csv" else pd.read_parquet
            new, old = read(path), read(there)
            stay = old["experiment"].isin(known) & ~old["experiment"].isin(new["experiment"])
            rows = pd.concat([old[stay], new], ignore_index=True)
            rows = rows.sort_values("experiment", kind="stable")
            if path.suffix == ".csv":
                write_csv(rows, path)
            else:
                rows.to_parquet(path, index=False)
        shutil.copyfile(path, there)


def compute(chosen: list[str], overrides: list[str], out: Path) -> int:
    """Compute what no record holds, the cheapest experiment first, and draw everything."""
    started, failed = time.monotonic(), list[str]()
    print(f"planning {len(chosen):,} experiments", file=sys.stderr)
    planned = _planned(chosen, overrides, failed)
    states, past = recorded.states(out), reader.seconds_per_cell(out)
    costs = [
        sum(one.expected_seconds(states=states, past=past) for one in e.family) for e in planned
    ]
    order = sorted(range(len(planned)), key=lambda position: costs[position])
    print(
        f"{len(planned):,} experiments, about {clock(sum(costs))} by past records and what estimators declare",
        file=sys.stderr,
    )
    drawn = 0
    for number, position in enumerate(order, 1):
        experiment, later = planned[position], sum(costs[other] for other in order[number:])
        left = (
            f"about {clock(costs[position] + later)} left"
            if costs[position] + later
            else "nothing left to compute"
        )
        print(f"{number} of {len(order)}: {experiment.name}, {left}", file=sys.stderr)
        drawn += _attempt(
            experiment.name, failed, functools.partial(_compute_one, experiment, later, failed)
        )
    _index(out, failed)
    return _said(drawn, failed, out, started)


def _planned(chosen: list[str], overrides: list[str], failed: list[str]) -> list[Experiment]:
    """The experiments that can be planned; the others are noted in `failed`."""
    planned: list[Experiment] = []

    def plan(name: str) -> bool:
        planned.append(Experiment.of([f"experiment={name}", *overrides]))
        return True

    for name in chosen:
        _attempt(name, failed, functools.partial(plan, name))
    return planned


def _compute_one(experiment: Experiment, later: float, failed: list[str]) -> bool:
    counts = experiment.compute(later=later)
    if counts["failed"]:
        failed.append(
            f"{experiment.name}: {counts['failed']:,} cells failed; they run again with the same command"
        )
    drawn = _draw(experiment)
    if not drawn:
        from harness.evaluation import missing

        for line in missing.reasons(
            experiment.records(), experiment.shown_settings(), of_table=False
        ):
            print(f"  {experiment.name}: {line}")
    return drawn


def store(chosen: list[str], overrides: list[str], out: Path) -> int:
    """Store the records of the experiments that have cells of their own."""
    total, cells, started, failed = 0, 0, time.monotonic(), list[str]()
    planned = _planned(chosen, overrides, failed)
    loaded, paper = None, None
    for experiment in planned:
        if experiment.paper != paper:  # many small parts are read once for a paper
            of_paper = [one for one in planned if one.paper == experiment.paper]
            paper, loaded = (
                experiment.paper,
                reader.load_records(
                    out, {c.key for one in of_paper for c in one.plan.cells}, categories=False
                ),
            )

        def one(experiment: Experiment = experiment, loaded: pd.DataFrame | None = loaded) -> bool:
            nonlocal total, cells
            frame = experiment.computed(loaded)
            if not len(frame) or not experiment.has_numbers(frame):
                return False
            path = stored.store(
                frame,
                experiment.plan,
                experiment.out,
                stored.path_of(out / stored.FOLDER, experiment.name),
            )
            size, own = path.stat().st_size, frame["key"].nunique()
            missing = len(experiment.plan.cells) - own
            lack = f"; {missing:,} cells are missing" if missing else ""
            print(
                f"  {experiment.name}: {own:,} cells, {size / 1e3:,.0f} kB, {size / own:.1f} bytes a cell{lack}"
            )
            total, cells = total + size, cells + own
            return True

        _attempt(experiment.name, failed, one)
    print(f"{cells:,} cells in {total / 1e6:.2f} MB, {time.monotonic() - started:.0f} s")
    for text in failed:
        print(f"  {text}", file=sys.stderr)
    return int(bool(failed))


def _attempt(name: str, failed: list[str], action: Callable[[], object]) -> bool:
    """Do it; one experiment that cannot be done stops no other: what is wrong is noted. Whether it was done."""
    from harness.execute.run import RunInterruptedError
    from harness.execute.supervise import WorkerDiedError

    try:
        return bool(action())
    except RunInterruptedError:  # the user stops all of them
        raise
    except (BadInputError, WorkerDiedError, OSError) as error:
        failed.append(f"{name}: {error}")
    except Exception as error:  # a defect in one drawing
        failed.append(f"{name}: {type(error).__name__}: {error}")
    return False


def _index(out: Path, failed: list[str]) -> None:
    try:
        from harness.pages import index
    except ImportError:
        return
    _attempt("index.html", failed, lambda: index.save(out))


def _said(drawn: int, failed: list[str], out: Path, started: float) -> int:
    print(
        f"{drawn:,} experiment{'' if drawn == 1 else 's'} drawn into {out}, {clock(time.monotonic() - started)}"
    )
    for text in failed:
        print(f"  {text}", file=sys.stderr)
    return int(bool(failed))
