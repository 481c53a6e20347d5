"""Faults of processes: killed drivers and workers, signals of schedulers and users, estimators.

Each fault is injected on the processes of this machine, and on Dask and Ray if they are installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from faults.common import (
    PATIENCE,
    TIMES,
    Place,
    Row,
    alive,
    environment,
    generator,
    handles_signals,
    more_parts,
    wait_for,
)

from harness.execute.engines import PACKAGES
from harness.records import parts, reader

FAULTS = {  # estimators of common.MODULE: recorded reason of a cell, or None if it does not fail
    "hang": "took longer than 10 s and was stopped; raise cell_timeout",
    "late": "took longer than 10 s and was stopped; raise cell_timeout",  # other cells take 10 ms
    "spin": "took longer than 10 s and was stopped",
    "memory": "used more than 600 MB|MemoryError.*raise max_memory",
    "segfault": "crashed its process .SIG",
    "leave": "ended its process with exit status 3",
    "limit": "lowered a limit of its process",
    "interrupt": "^KeyboardInterrupt",
    "message": r"^ValueError: \\x1b\[2J no UTF-8 \\udc80",
    "fork": None,
    "detach": None,
    "folder": None,
    "patch": None,
}
SIGNALS = {
    "SIGKILL of the driver": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "Ctrl-C": signal.SIGINT,
}
# Words in the command lines of processes that serve a cluster and compute nothing
SERVERS = (
    b"resource_tracker",
    b"gcs_server",
    b"raylet/raylet",
    b"/ray/_private",
    b"/ray/dashboard",
    b"Agent",
)


def on(engine: str) -> str:
    """Return the end of a row's name for an engine."""
    return "" if engine == "loky" else f" on {engine.capitalize()}"


def ended(place: Place, name: str, engine: str = "loky") -> Row:
    """Send the driver a signal at random moments. Each run resumes the one before.

    Three in four moments are within two seconds after a part was written, the others are within two
    seconds after the command began to handle signals. On Dask and Ray all are after a part was
    written.
    """
    row, rng, at_work = Row(f"{name}{on(engine)}"), generator(name), 0
    number, folder = SIGNALS[name], 0
    out = place.folder / f"{engine}{number}ended{folder}"
    while row.injected < TIMES and row.hangs < 3:
        before, seen = reader.cell_states(out), len(parts.part_files(out))
        process = place.start(out, f"engine={engine}")
        wait_for(process, handles_signals, process.pid)
        if engine != "loky" or rng.random() < 0.75:
            wait_for(process, more_parts, out, seen)
        time.sleep(float(rng.uniform(0.0, 2.0)))
        together = number == signal.SIGINT or rng.random() < 0.5  # the terminal sends Ctrl-C to all
        running = process.poll() is None
        if running:
            (os.killpg if together else os.kill)(process.pid, number)
            row.injected += 1
        err = row.wait(process, out)
        after = reader.cell_states(out)
        place.check(row, out, before, after)
        if running:
            at_work += len(parts.part_files(out)) > seen
            status = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[number]
            row.messages(err, int(number != signal.SIGKILL))
            if process.returncode != status:
                row.wrong += 1
                row.notes.append(f"status {process.returncode}: {err[-300:]!r}")
        if not running or sum(state == "ok" for state in after.values()) > 0.8 * len(place.keys):
            place.complete(row, out)
            folder += 1
            out = place.folder / f"{engine}{number}ended{folder}"
    place.complete(row, out)
    row.notes.append(f"{at_work} of {row.injected} after the run had recorded cells")
    return row


def worker_killed(place: Place, engine: str = "loky") -> Row:
    """Kill processes of a run other than its driver at random moments. The run goes on.

    Status 2 is right if the kill hit the process that computes the truths after all cells.
    """
    name = "SIGKILL of a worker"
    row, rng = Row(f"{name}{on(engine)}"), generator(name)
    tried = 0
    while row.injected < TIMES and tried < TIMES and row.hangs < 3:
        out = place.folder / f"{engine}killed{tried}"
        tried += 1
        process = place.start(out, f"engine={engine}")
        end = time.monotonic() + PATIENCE
        while row.injected < TIMES and process.poll() is None and time.monotonic() < end:
            time.sleep(float(rng.uniform(0.2, 3.0)))
            if engine != "loky" and not parts.part_files(out):
                continue
            workers = [pid for pid in alive(out) if pid != process.pid and _is_worker(pid)]
            if workers and process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(rng.choice(workers)), signal.SIGKILL)
                    row.injected += 1
        err = row.wait(process, out)
        row.messages(err)
        without_truths = process.returncode == 2 and "computing the truth of" in err
        if process.returncode not in (0, 1) and not without_truths:
            row.wrong += 1
            row.notes.append(f"status {process.returncode}: {err[-300:]!r}")
        before = reader.cell_states(out)
        again = engine != "loky"  # the chunk of a lost worker is computed again as a whole
        place.complete(row, out, computed_twice=again)
        place.check(row, out, before, reader.cell_states(out), computed_twice=again)
    row.notes.append(f"in {tried} runs")
    return row


def _is_worker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return not any(word in command for word in SERVERS)
    return False


def misbehaving(place: Place, engine: str = "loky") -> list[Row]:
    """Run all estimators of FAULTS, which misbehave at some samples, in one run."""
    out, reps = place.folder / f"{engine}misbehaving", 3 * TIMES
    working = place.folder / "working"
    working.mkdir(exist_ok=True)
    targets = [f"+estimator.{name}._target_=faulty.{name}" for name in FAULTS]
    run = [
        "problem=beta_wavy", "estimator=[binned15]", "n=[60]", f"reps={reps}", "jobs=4",
        f"out={out}", "name=faults", f"engine={engine}",
        "cell_timeout=10", "max_memory=600", *targets,
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *run], cwd=working, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=environment(place.folder, OF_FAULTS=str(out), FOLDER_OF_FAULTS=str(working)),
    )  # fmt: skip
    whole = Row("all", injected=1)
    whole.messages(whole.wait(process, out))
    if process.returncode != 1:
        whole.wrong += 1
        whole.notes.append(f"status {process.returncode}")
    records = reader.load_records(out)
    import harness

    calm = harness.run(
        ["problem=beta_wavy", "estimator=[binned15]", "n=[60]", f"reps={reps}", "jobs=1",
         f"out={place.folder / 'calm'}", "+estimator.slow._target_=faulty.slow"]
    )  # fmt: skip
    mean = calm[calm["estimator"].eq("slow")].set_index("rep")["value"]
    pair = [
        frame[frame["estimator"].eq("binned15")].set_index(["rep", "estimand"])["value"]
        for frame in (records, calm)
    ]
    whole.wrong += not pair[0].sort_index().equals(pair[1].sort_index())  # neighbours' numbers
    chosen = [rep for rep in range(reps) if _chosen(rep)]
    rows = [_misbehaved(name, records, mean, chosen, reps) for name in FAULTS]
    if engine == "loky":  # one row for each estimator
        rows[0] = _sum(rows[0].fault, [rows[0], whole])
        rows[0].injected -= 1
        return rows
    total = _sum(f"estimators of all these kinds{on(engine)}", [*rows, whole])
    total.injected -= 1
    return [total]


def _misbehaved(name: str, records, mean, chosen: list[int], reps: int) -> Row:
    """Compare the records of an estimator with its expected values and reasons."""
    row, mine = Row(f"estimator: {name}"), records[records["estimator"].eq(name)]
    row.injected = len(chosen)
    row.lost = reps - mine["key"].nunique()
    row.doubled = int(mine.duplicated(["key", "estimand"]).sum())
    failed, fine = mine[mine["status"].eq("failed")], mine[mine["status"].eq("ok")]
    row.wrong = int((fine["value"].to_numpy() != mean.loc[fine["rep"]].to_numpy()).sum())
    reason = FAULTS[name]
    expected = set() if reason is None else set(chosen)
    if unexpected := set(failed["rep"]) ^ expected:
        row.wrong += len(unexpected)
        row.notes.append(f"replications {sorted(unexpected)}: {failed['reason'].tolist()[:2]}")
    if reason is not None:
        texts = failed["reason"].fillna("").str.replace(r".*\n", "", regex=True)
        row.unclear = int((~texts.str.contains(reason)).sum())
        row.silent = int(texts.eq("").sum())
        row.notes += texts[~texts.str.contains(reason)].tolist()[:2]
    return row


def _sum(fault: str, rows: list[Row]) -> Row:
    """Add the counts of rows."""
    total = Row(fault, notes=[f"{row.fault}: {note}" for row in rows for note in row.notes])
    for name, value in vars(total).items():
        if isinstance(value, int):
            setattr(total, name, sum(getattr(row, name) for row in rows))
    return total


def _chosen(rep: int) -> bool:
    """Return True if the estimators of common.MODULE misbehave on the sample of a replication."""
    import faulty

    from harness import reduce
    from harness.common.seeds import problem_rng
    from harness.configure.options import option
    from harness.plan.components import build_component
    from harness.problems.base import ProblemSpec

    problem = build_component("problem", "beta_wavy", option("problem", "beta_wavy").config)
    p, y = problem.object.sample(
        60, problem_rng(0, ProblemSpec.of(problem.object), problem.key, rep)
    )
    return faulty._chosen(reduce(p, y, "binary")[0])


def every(place: Place) -> Iterator[Row]:
    """Inject all faults of processes of this machine."""
    for name in SIGNALS:
        yield ended(place, name)
    yield worker_killed(place)
    yield from misbehaving(place)


def on_cluster(place: Place, engine: str) -> Iterator[Row]:
    """Inject all faults of processes on Dask or Ray."""
    if importlib.util.find_spec(PACKAGES[engine]) is None:
        notes = [f"not injected: {PACKAGES[engine]} is not installed"]
        yield Row(f"all faults{on(engine)}", notes=notes)
        return
    for name in SIGNALS:
        yield ended(place, name, engine)
    yield worker_killed(place, engine)
    yield from misbehaving(place, engine)
