"""Faults of processes: killed drivers and workers, signals of schedulers and users, estimators."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from faults.common import PATIENCE, TIMES, Place, Row, alive, environment, generator, gone_within

from harness.records import parts, reader

FAULTS = {  # estimators of common.MODULE: recorded reason of a cell
    "hang": "took longer than 3 s and was stopped; raise cell_timeout",
    "spin": "took longer than 3 s and was stopped",
    "memory": "used more than 600 MB|MemoryError.*raise max_memory",
    "segfault": "crashed its process .SIG",
    "leave": "ended its process with exit status 3", "fork": None,
}  # fmt: skip
SIGNALS = {
    "SIGKILL of the driver": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "Ctrl-C": signal.SIGINT,
}


def ended(place: Place, name: str) -> Row:
    """Send the driver a signal at random moments. Each run resumes the one before.

    Three in four moments are within two seconds after a part was written, the others anywhere.
    """
    row, rng, slowest, at_work = Row(name), generator(name), 0.0, 0
    number, folder = SIGNALS[name], 0
    out = place.folder / f"{number}ended{folder}"
    while row.injected < TIMES:
        before, seen = reader.cell_states(out), len(parts.part_files(out))
        process = place.start(out)
        after_a_part, end = rng.random() < 0.75, time.monotonic() + PATIENCE
        while (
            after_a_part
            and len(parts.part_files(out)) <= seen
            and process.poll() is None
            and time.monotonic() < end
        ):
            time.sleep(0.02)
        time.sleep(float(rng.uniform(0.0, 2.0)))
        together = number == signal.SIGINT or rng.random() < 0.5  # the terminal sends Ctrl-C to all
        running = process.poll() is None
        if running:
            (os.killpg if together else os.kill)(process.pid, number)
            row.injected += 1
            if number == signal.SIGKILL:
                slowest = max(slowest, gone_within(out))
        _, err = process.communicate(timeout=PATIENCE)
        after = reader.cell_states(out)
        place.check(row, out, before, after)
        if running:
            at_work += len(parts.part_files(out)) > seen
            status = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[number]
            if process.returncode != status:
                row.unclear += 1
                row.notes.append(f"status {process.returncode}: {err[-300:]!r}")
            elif number != signal.SIGKILL:
                row.messages(err, 1)
        if not running or sum(state == "ok" for state in after.values()) > 0.8 * len(place.keys):
            place.complete(row, out)
            folder += 1
            out = place.folder / f"{number}ended{folder}"
    place.complete(row, out)
    row.notes.append(f"{at_work} of {row.injected} after the run had recorded cells")
    if number == signal.SIGKILL:
        row.notes.append(f"no process was left {slowest:.1f} s later")
    return row


def worker_killed(place: Place) -> Row:
    """Kill processes of a run other than its driver at random moments. The run goes on."""
    name = "SIGKILL of a worker"
    row, rng = Row(name), generator(name)
    tried = 0
    while row.injected < TIMES and tried < TIMES:
        out = place.folder / f"killed{tried}"
        tried += 1
        process = place.start(out)
        end = time.monotonic() + PATIENCE
        while row.injected < TIMES and process.poll() is None and time.monotonic() < end:
            time.sleep(float(rng.uniform(0.2, 3.0)))
            workers = [pid for pid in alive(out) if pid != process.pid and not _is_tracker(pid)]
            if workers and process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(rng.choice(workers)), signal.SIGKILL)
                    row.injected += 1
        _, err = process.communicate(timeout=PATIENCE)
        row.messages(err)
        if process.returncode not in (0, 1):
            row.notes.append(f"status {process.returncode}: {err[-300:]!r}")
        gone_within(out)
        before = reader.cell_states(out)
        place.compute(out)
        place.check(row, out, before, reader.cell_states(out))
        row.lost += len(place.keys) - sum(
            state == "ok" for state in reader.cell_states(out).values()
        )
    row.notes.append(f"in {tried} runs")
    return row


def _is_tracker(pid: int) -> bool:
    """Return True for loky's resource tracker, which prints tracebacks if killed."""
    with contextlib.suppress(OSError):
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def misbehaving(place: Place) -> list[Row]:
    """Run estimators that hang, spin in C, take memory, crash, leave or fork at some samples."""
    out, reps = place.folder / "misbehaving", 3 * TIMES
    targets = [f"+estimator.{name}._target_=faulty.{name}" for name in FAULTS]
    run = [
        "problem=beta_wavy", "estimator=[binned15]", "n=[60]", f"reps={reps}", "jobs=2",
        f"out={out}", "name=faults",
        "cell_timeout=3", "max_memory=600", *targets,
    ]  # fmt: skip
    process = subprocess.run(
        [sys.executable, "-m", "harness", *run], cwd=place.folder, capture_output=True, text=True,
        env=environment(place.folder),
    )  # fmt: skip
    records = reader.load_records(out)
    import harness

    calm = harness.run(
        [
            *run[:4],
            f"out={place.folder / 'calm'}",
            "jobs=1",
            "problem=beta_wavy",
            "+estimator.slow._target_=faulty.slow",
        ][1:]
    )
    mean = calm[calm["estimator"].eq("slow")].set_index("rep")["value"]
    pair = [
        frame[frame["estimator"].eq("binned15")].set_index(["rep", "estimand"])["value"]
        for frame in (records, calm)
    ]
    beside = (
        0 if pair[0].sort_index().equals(pair[1].sort_index()) else 1
    )  # those that misbehave in nothing
    rows = []
    for name, reason in FAULTS.items():
        row, mine = Row(f"estimator: {name}"), records[records["estimator"].eq(name)]
        row.lost = reps - mine["key"].nunique()
        row.doubled = int(mine.duplicated(["key", "estimand"]).sum())
        failed, fine = mine[mine["status"].eq("failed")], mine[mine["status"].eq("ok")]
        row.wrong = (
            int((fine["value"].to_numpy() != mean.loc[fine["rep"]].to_numpy()).sum()) + beside
        )
        chosen = [rep for rep in range(reps) if _chosen(rep)]
        row.injected = len(chosen)
        if reason is None:
            row.wrong += len(failed)
        else:
            row.wrong += len(set(failed["rep"]) ^ set(chosen))
            row.unclear = int(
                (
                    ~failed["reason"]
                    .map(lambda text: text.splitlines()[-1])
                    .astype(str)
                    .str.contains(reason)
                ).sum()
            )
        rows.append(row)
    rows[0].messages(process.stderr)
    if process.returncode != 1:
        rows[0].notes.append(f"status {process.returncode}: {process.stderr[-300:]!r}")
    return rows


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


def every(place: Place) -> list[Row]:
    """Inject all faults of processes."""
    return [*(ended(place, name) for name in SIGNALS), worker_killed(place), *misbehaving(place)]
