"""Much work: many readers at once, and runs of many cells on each engine."""

from __future__ import annotations

import importlib.util
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults.common import PATIENCE, Place, Row, fresh, more_parts, wait_for
from faults.processes import on
from faults.stores import small_store

from harness.execute.engines import PACKAGES
from harness.records import reader

READERS, PROCESSES = 1000, 100  # threads that read at the same time, and processes that they are in
CELLS = 100_000  # cells of a long run


def many_readers(place: Place) -> Row:
    """Read a store in many threads of many processes at once, while a run writes to it."""
    row, out = (
        Row(f"{READERS:,} readers at once"),
        fresh(small_store(place), place.folder / "read"),
    )
    process = place.start(out)
    wait_for(process, more_parts, out)
    context = multiprocessing.get_context("fork")
    ready, answers = context.Barrier(READERS), context.SimpleQueue()
    readers = [
        context.Process(target=_read_in_threads, args=(out, place, ready, answers))
        for _ in range(PROCESSES)
    ]
    for each in readers:
        each.start()
    end = time.monotonic() + PATIENCE
    while row.injected < READERS and time.monotonic() < end:
        if answers.empty():
            time.sleep(0.02)
            continue
        error, wrong = answers.get()
        row.injected += 1
        row.wrong += wrong
        row.tracebacks += bool(error)
        row.notes += [error] if error else []
    row.hangs += READERS - row.injected
    row.injected = READERS
    for each in readers:
        each.kill()
        each.join()
    row.messages(row.wait(process, out), 0)
    place.complete(row, out)
    return row


def _read_in_threads(out: Path, place: Place, ready, answers) -> None:
    """Read in several threads of this process."""
    with ThreadPoolExecutor(each := READERS // PROCESSES) as threads:
        for _ in range(each):
            threads.submit(lambda: answers.put(_read(out, place, ready)))


def _read(out: Path, place: Place, ready) -> tuple[str, bool]:
    """Read the records when all readers are ready. Return an error, and True if values differ."""
    try:
        ready.wait(PATIENCE)
        records = reader.load_records(out)
        both = records.merge(place.whole, on=["key", "estimand"], suffixes=("", "_whole"))
        same = len(both) == len(records) and both["value"].equals(both["value_whole"])
        return "", not same or bool(records.duplicated(["key", "estimand"]).any())
    except BaseException as error:
        return f"{type(error).__name__}: {error}", False


def many_cells(place: Place, engine: str) -> Row:
    """Compute many cells on an engine. Count missing and doubled ones."""
    row, out = Row(f"{CELLS:,} cells{on(engine)}"), place.folder / f"{engine}cells"
    process = place.start(
        out, "problem=beta_wavy", "estimator=[binned15]", "~estimator.slow", "n=[20]",
        f"reps={CELLS}", f"engine={engine}",
    )  # fmt: skip
    row.injected = 1
    row.messages(row.wait(process, out), 0)
    row.wrong += process.returncode != 0
    states = reader.cell_states(out)
    row.lost = CELLS - sum(state == "ok" for state in states.values())
    records = reader.load_records(out)
    row.doubled = int(records.duplicated(["key", "estimand"]).sum())
    return row


def every(place: Place) -> Iterator[Row]:
    """Try all kinds of much work."""
    for engine, package in (("loky", "numpy"), *PACKAGES.items()):
        if importlib.util.find_spec(package):
            yield many_cells(place, engine)
    yield many_readers(place)
