"""The faults, as a table, and the one way to inject and to judge them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from faults.common import PATIENCE, Place, Row, alive, generator, handles_signals, wait_for

from harness.commands import app
from harness.records import parts, truths
from harness.workflow.health import examine

Process, Generator = subprocess.Popen, np.random.Generator

# During a run


def signal_driver(
    process: Process, out: Path, rng: Generator, engine: str, number: signal.Signals
) -> int:
    """Send the driver a signal at a random moment, and return 1, or 0 if the run had ended.

    Three in four moments are within two seconds after the first part was written, the others are
    within two seconds after the command began to handle signals. On Dask and Ray all are after a
    part was written.
    """
    wait_for(process, handles_signals, process.pid)
    if engine != "loky" or rng.random() < 0.75:
        wait_for(process, parts.part_files, out)
    time.sleep(float(rng.uniform(0.0, 2.0)))
    if process.poll() is not None:
        return 0
    together = number == signal.SIGINT or rng.random() < 0.5  # the terminal sends Ctrl-C to all
    (os.killpg if together else os.kill)(process.pid, number)
    return 1


# Words in the command lines of processes that serve a cluster and compute nothing
SERVERS = (
    b"resource_tracker",
    b"gcs_server",
    b"raylet/raylet",
    b"/ray/_private",
    b"/ray/dashboard",
    b"Agent",
)


def kill_workers(process: Process, out: Path, rng: Generator, engine: str) -> int:
    """Kill processes of a run other than its driver at random moments. Return how many."""
    killed, end = 0, time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        time.sleep(float(rng.uniform(0.2, 3.0)))
        if engine != "loky" and not parts.part_files(out):
            continue
        workers = [pid for pid in alive(out) if pid != process.pid and _is_worker(pid)]
        if workers and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(rng.choice(workers)), signal.SIGKILL)
                killed += 1
    return killed


def _is_worker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return not any(word in command for word in SERVERS)
    return False


# In a finished store


def _a_part(out: Path, rng: Generator) -> Path:
    return parts.part_files(out)[rng.integers(len(parts.part_files(out)))]


def cut(out: Path, rng: Generator) -> None:
    part = _a_part(out, rng)
    part.write_bytes(part.read_bytes()[: rng.integers(part.stat().st_size)])


def flip(out: Path, rng: Generator) -> None:
    part = _a_part(out, rng)
    content = bytearray(part.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    part.write_bytes(content)


def add_foreign(out: Path, rng: Generator) -> None:
    """Add a foreign file, or replace a part by one."""
    content = [b"", b"PAR1", rng.bytes(int(rng.integers(1, 5000))), None][rng.integers(4)]
    added = out / "records" / f"part-{rng.integers(1 << 40):x}.parquet"
    path = _a_part(out, rng) if rng.random() < 0.5 else added
    if content is None:
        pq.write_table(pa.table({"key": ["a"], "status": ["ok"]}), path)
    else:
        path.write_bytes(content)


def change_types(out: Path, rng: Generator) -> None:
    """Rename a part, with text for numbers, nulls for keys, or an unknown status."""
    part = _a_part(out, rng)
    table = pq.read_table(part)
    changes = [("value", "text"), ("n", "text"), ("value", [1.0]), ("key", None),
               ("status", "odd"), ("status", None), ("rep", None)]  # fmt: skip
    name, value = changes[rng.integers(len(changes))]
    column = pa.array([value] * table.num_rows)
    table = table.set_column(table.column_names.index(name), name, column)
    part.unlink()
    pq.write_table(table, part.with_name(f"part-{rng.integers(1 << 40):x}.parquet"))


def change_truths(out: Path, rng: Generator) -> None:
    paths = sorted((out / "truths").glob("*.json"))
    path = paths[rng.integers(len(paths))]
    stored = json.loads(path.read_text())
    pair = next(name for name, known in stored.items() if name != truths.DIGEST and known)
    changed = {**stored, pair: [stored[pair][0] + float(rng.normal()) * 1e-6, *stored[pair][1:]]}
    texts = ["[]", "null", '"text"', "{", "[" * 100_000, json.dumps(changed), ""]
    path.write_text(texts[rng.integers(len(texts))])


# Around a run. These are shell commands, which create the file `{out}.injected` with the fault.

FULL_DISK = """
mkdir -p {{out}} && mount -t tmpfs -o size={kilobytes}k none {{out}}
{{run}} engine={engine}; status=$?
{{{{ cp -r {{out}} {{out}}.kept; umount -l {{out}}; cp -r {{out}}.kept/. {{out}}; }}}} 2> /dev/null
[ $status = 0 ] || touch {{out}}.injected
exit $status
"""
# A host is a network of its own. DASK_..._TCP is the time after which Dask gives up a silent host.
TWO_HOSTS = """
export DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP=12s
address=tcp://10.77.0.1:8786
options="--nthreads 1 --memory-limit 0 --no-dashboard"
ip link set lo up
unshare -n sleep 1000 & other=$!
sleep 0.5
ip link add near type veth peer name far && ip link set far netns $other
ip addr add 10.77.0.1/30 dev near && ip link set near up
nsenter -t $other -n sh -c 'ip addr add 10.77.0.2/30 dev far; ip link set far up; ip link set lo up'
{{bin}}/dask scheduler --host 10.77.0.1 --port 8786 --no-dashboard > /dev/null 2>&1 &
{{bin}}/dask worker $address $options > /dev/null 2>&1 &
nsenter -t $other -n {{bin}}/dask worker $address $options > /dev/null 2>&1 &
sleep 8
{{run}} engine=dask address=$address & driver=$!
while kill -0 $driver && ! ls {{out}}/records 2> /dev/null | grep -q ^part; do sleep 0.1; done
sleep {seconds}
kill -0 $driver && ip link set near down && touch {{out}}.injected
wait $driver
"""


def fill_a_disk(rng: Generator) -> str:
    engine = "serial" if rng.random() < 0.5 else "loky"
    return FULL_DISK.format(kilobytes=int(rng.integers(3, 100)) * 4, engine=engine)


def lose_a_host(rng: Generator) -> str:
    return TWO_HOSTS.format(seconds=float(rng.uniform(0.0, 2.0)))


@dataclass(frozen=True)
class Fault:
    """A fault, how it is injected, and the expected end of the disturbed run.

    name      name in the table
    status    exit statuses of the disturbed run that are right
    messages  number of sentences that it prints, None for any number
    disturb   function (process, out, generator, engine) that injects faults into the run
    damage    function (out, generator) that damages a finished store, before the run reads it
    around    function (generator) that returns shell commands to start the run in
    twice     cells may be computed twice, and one record of them counts
    """

    name: str
    status: tuple[int, ...]
    messages: int | None
    disturb: Callable[[Process, Path, Generator, str], int] | None = None
    damage: Callable[[Path, Generator], None] | None = None
    around: Callable[[Generator], str] | None = None
    twice: bool = False


KILLED = "SIGKILL of a worker"
RUNS = (
    Fault("SIGKILL of the driver", (-9,), 0, partial(signal_driver, number=signal.SIGKILL)),
    Fault("SIGTERM", (143,), 1, partial(signal_driver, number=signal.SIGTERM)),
    Fault("Ctrl-C", (130,), 1, partial(signal_driver, number=signal.SIGINT)),
    Fault(KILLED, (0, 1), None, kill_workers),
)
STORES = (
    Fault("full disk", (2,), 1, around=fill_a_disk),
    Fault("truncated part", (2,), 1, damage=cut),
    Fault("flipped bit of a part", (2,), 1, damage=flip),
    Fault("foreign part", (2,), 1, damage=add_foreign),
    Fault("part of other types", (2,), 1, damage=change_types),
    Fault("changed truths", (2,), 1, damage=change_truths),
)
HOSTS = (Fault("lost host of a Dask worker", (0,), 0, around=lose_a_host, twice=True),)


def inject(place: Place, fault: Fault, times: int, engine: str = "loky") -> Row:
    """Inject a fault until it has happened `times` times, and judge each disturbed run.

    A run that was disturbed early is resumed by the next one, and disturbed again.
    """
    row, rng = Row(fault.name, engine), generator(f"{fault.name} {engine}")
    # On a cluster, the chunk of a lost worker is computed again as a whole.
    twice = fault.twice or engine != "loky" and fault.disturb is kill_workers
    name, finished = f"{fault.name} {engine}".replace(" ", "-"), set()
    out = place.folder / f"{name}-0"
    for attempt in range(1, 3 * times + 1):
        if fault.damage:
            injected, code, err = _read_damaged(place, fault.damage, row, out, rng)
        else:
            injected, code, err = _run_disturbed(place, fault, row, out, rng)
        row.injected += injected
        before, finished = finished, place.finished(out)
        row.lost += len(before - finished)
        if code == 0:
            row.lost += len(set(place.whole["key"]) - finished)
        if injected:
            row.judge_messages(err, fault.messages)
            # Instead of a worker, the process may be hit that computes the truths after all cells.
            if not (fault.name == KILLED and code == 2 and "computing the truth of" in err):
                row.judge_status(code, fault.status, err)
        is_last = row.injected >= times or row.hangs >= 3 or attempt == 3 * times
        is_early = len(finished) < 0.8 * len(place.whole["key"].unique())
        if fault.disturb and is_early and not is_last:
            continue
        place.complete(row, out, finished, twice)
        shutil.rmtree(out)
        if is_last:
            break
        out, finished = place.folder / f"{name}-{attempt}", set()
    return row


def _run_disturbed(
    place: Place, fault: Fault, row: Row, out: Path, rng: Generator
) -> tuple[int, int, str]:
    """Start a run and disturb it. Return (number of injections, exit status, standard error)."""
    if fault.around:
        process = place.start(out, shell=fault.around(rng))
    else:
        process = place.start(out, f"engine={row.engine}")
    injected = fault.disturb(process, out, rng, row.engine) if fault.disturb else 0
    err = row.wait(process, out)
    return injected + Path(f"{out}.injected").exists(), process.returncode, err


def _read_damaged(
    place: Place, damage: Callable[[Path, Generator], None], row: Row, out: Path, rng: Generator
) -> tuple[int, int, str]:
    """Damage a copy of the finished store, run on it in this process, and repair it.

    The run must change nothing, and `doctor` must name the damaged file and move it aside.
    """
    shutil.copytree(place.store, out)
    damage(out, rng)
    before = _contents(out)
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        code = app.main(place.options(out))
    text, _ = examine(out)
    if _contents(out) != before:
        row.wrong += 1
        row.notes.append("the store was changed")
    moved, _ = examine(out, repair=True)
    row.unclear += "PROBLEM" not in text or "moved" not in moved
    return 1, code, err.getvalue()


def _contents(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
