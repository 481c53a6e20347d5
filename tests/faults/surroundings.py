"""Faults of surroundings: buckets, clocks, time limits, many readers, formulas, lost hosts."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from faults.common import (
    PATIENCE,
    REPOSITORY,
    TIMES,
    Place,
    Row,
    command,
    environment,
    generator,
    more_parts,
    run_of,
    wait_for,
)
from faults.stores import SMALL

from harness.common import buckets
from harness.records import reader

AT_ONCE = 4  # runs that lose a host at the same time, because each waits for half a minute
YEAR = 3.156e7  # seconds
LEADS = ("=1+1", "@SUM(A1)", "+1+1", "-1+1")  # formulas of spreadsheets

_JUMPING_CLOCK = """
import os, time
real = time.time
def jumped():
    return real() + ({shift} if os.path.exists({mark!r}) else 0.0)
time.time = jumped
"""
_SERVER = """
import os, sys
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

bucket = DomainDispatcherApplication(create_backend_app)
def answer(environ, start):
    if not os.path.exists(sys.argv[2]):
        return bucket(environ, start)
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start("503 Service Unavailable", [("Content-Type", "application/xml")])
    return [b"<Error><Code>SlowDown</Code></Error>"]
run_simple("127.0.0.1", int(sys.argv[1]), answer, threaded=True)
"""
_ON_A_FULL_DISK = """
mount -t tmpfs -o size={size}k none {disk} && TMPDIR={disk} {python} -m harness {run}
echo $? > {status}
"""
# A host is a network of its own. DASK_..._TCP is the time after which Dask gives up a silent host.
_TWO_HOSTS = """
export DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP=12s
address=tcp://10.77.0.1:8786
options="--nthreads 1 --memory-limit 0 --no-dashboard"
ip link set lo up
unshare -n sleep 1000 & other=$!
sleep 0.5
ip link add near type veth peer name far && ip link set far netns $other
ip addr add 10.77.0.1/30 dev near && ip link set near up
nsenter -t $other -n sh -c 'ip addr add 10.77.0.2/30 dev far; ip link set far up; ip link set lo up'
{dask} scheduler --host 10.77.0.1 --port 8786 --no-dashboard > /dev/null 2>&1 &
{dask} worker $address $options > /dev/null 2>&1 &
nsenter -t $other -n {dask} worker $address $options > /dev/null 2>&1 &
sleep {start}
{python} -m harness {run} engine=dask address=$address & driver=$!
while kill -0 $driver && ! ls {out}/records 2> /dev/null | grep -q ^part; do sleep 0.1; done
sleep {moment}
kill -0 $driver && ip link set near down && touch {status}
wait $driver
"""


def clock_jumps(place: Place) -> Row:
    """Set the clock of all processes a year forwards or back, at random moments of a run."""
    row, rng = Row("a clock that jumps a year during a run"), generator("jump")
    while row.injected < TIMES:
        out, patch = place.folder / f"jump{row.injected}", place.folder / "clock"
        mark = patch / "jumped"
        shutil.rmtree(patch, ignore_errors=True)
        patch.mkdir()
        shift = YEAR * rng.choice([-1.0, 1.0])
        text = _JUMPING_CLOCK.format(shift=shift, mark=str(mark))
        (patch / "sitecustomize.py").write_text(text)
        process = place.start(out, "reps=60", folders=(patch,))
        wait_for(process, more_parts, out)
        time.sleep(float(rng.uniform(0.0, 0.5)))
        row.injected += process.poll() is None
        mark.touch()
        row.messages(row.wait(process, out), 0)
        row.wrong += process.returncode != 0
        place.check(row, out, {}, reader.cell_states(out))
        code, _, err = command("doctor", f"out={out}")
        row.wrong += code != 0
        row.notes += [err] if err else []
        place.complete(row, out)
        shutil.rmtree(out)
    return row


def formulas(place: Place) -> Row:
    """Give labels that a spreadsheet would compute, and search the exported CSV files for them."""
    row, rng = Row("formulas in CSV files"), generator("formulas")
    while row.injected < TIMES:
        out = place.folder / f"formulas{row.injected}"
        text = f"{LEADS[row.injected % len(LEADS)]}+{int(rng.integers(1000))}"
        labels = [
            f"labels.{kind}={json.dumps(text)}"
            for kind in ("estimator.binned15", "problem.beta_wavy")
        ]
        code, _, err = command(*run_of(out, 2), "jobs=1", *labels)
        row.injected += 1
        row.messages(err, 0)
        row.wrong += code != 0
        cells = []
        for path in out.rglob("*.csv"):
            with open(path, newline="") as file:
                cells += [cell for line in csv.reader(file) for cell in line]
        row.lost += not any(text in cell for cell in cells)
        row.wrong += sum(map(is_formula, cells))
    return row


def is_formula(cell: str) -> bool:
    """Return True if a spreadsheet would compute a cell. A negative number is no formula."""
    if not cell or cell[0] not in "=+-@\t\r":
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def full_disk_but_a_bucket(place: Place) -> Row:
    """Fill the disk of temporary files during a run whose records go to a bucket."""
    row, rng = Row("full disk, records in a bucket"), generator("bucket")
    disk, status = place.folder / "disk", place.folder / "status"
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        row.notes.append("not injected: mounting needs a user namespace, which is not allowed here")
        return row
    disk.mkdir(exist_ok=True)
    tries = 0
    while row.injected < TIMES and tries < 3 * TIMES:
        tries += 1
        store = place.folder / f"store{tries}"
        store.mkdir()
        run = [text.replace("faults", "full") for text in run_of(store, SMALL)]
        run = [text if text[:4] != "out=" else f"out={store.as_uri()}" for text in run]
        script = _ON_A_FULL_DISK.format(
            size=int(rng.integers(1, 12)) * 4, disk=disk, python=sys.executable, status=status,
            run=" ".join(f"'{text}'" for text in run),
        )  # fmt: skip
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script], cwd=place.folder, capture_output=True,
            text=True, env=environment(place.folder, XDG_CACHE_HOME=str(place.folder / "cache")),
        )  # fmt: skip
        if status.read_text().strip() == "0":
            continue
        row.injected += 1
        row.messages(done.stderr, 1)
        before = reader.cell_states(store)
        place.check(row, store, {}, before)
        place.compute(store, SMALL)
        after = reader.cell_states(store)
        place.check(row, store, before, after)
        row.lost += sum(state != "ok" for state in after.values())
    return row


@contextlib.contextmanager
def s3_server(place: Place, flag: Path) -> Iterator[dict[str, str] | None]:
    """Yield the environment of an S3 server, which answers 503 while the file `flag` exists.

    Yield None if moto is not installed (`make engines` installs it).
    """
    python = REPOSITORY / ".venv-moto" / "bin" / "python"
    if not python.exists():
        yield None
        return
    (place.folder / "server.py").write_text(_SERVER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [str(python), "server.py", str(port), str(flag)], cwd=place.folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + PATIENCE
    while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < end:
        time.sleep(0.1)
    try:
        yield {
            "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_EC2_METADATA_DISABLED": "true",
            "XDG_CACHE_HOME": str(place.folder / "cache"),
        }  # fmt: skip
    finally:
        server.kill()
        server.wait()


def silent_bucket(place: Place) -> Row:
    """Let a bucket answer 503 for 1 to 10 s, once for 60 s, at random moments of runs."""
    row, rng = Row("a bucket that answers 503"), generator("503")
    flag = place.folder / "flag"
    with s3_server(place, flag) as variables:
        if variables is None:
            row.notes.append("not injected: moto is not installed (`make engines` installs it)")
            return row
        os.environ.update(variables)
        from pyarrow import fs

        fs.FileSystem.from_uri("s3://faults?allow_bucket_creation=true")[0].create_dir("faults")
        ended = folder = 0
        while row.injected < TIMES:
            address = f"s3://faults/of/{folder}"
            process = place.start(address)
            time.sleep(float(rng.uniform(3.0, 8.0)))
            row.injected += process.poll() is None
            flag.touch()
            time.sleep(60.0 if row.injected == 1 else float(rng.uniform(1.0, 10.0)))
            flag.unlink()
            err = row.wait(process, address)
            ended += process.returncode != 0
            row.messages(err, int(process.returncode != 0))
            row.wrong += process.returncode not in (0, 2)
            out = buckets.local_folder(address)
            place.check(row, out, {}, states := reader.cell_states(out))
            if sum(state == "ok" for state in states.values()) > 0.8 * len(place.keys):
                place.complete(row, out)
                folder += 1
        place.complete(row, buckets.local_folder(address))
        row.notes.append(f"{ended} of {row.injected} runs ended with a message")
    for name in variables:
        os.environ.pop(name)
    return row


def lost_hosts(place: Place) -> Row:
    """Cut the network of a host with a Dask worker, at random moments of runs."""
    row, rng = Row("a host of a Dask worker that vanishes"), generator("host")
    dask = Path(sys.executable).parent / "dask"
    alone = ["unshare", "-rnmpf", "--mount-proc"]
    if not dask.exists() or subprocess.run([*alone, "ip", "link"], capture_output=True).returncode:
        row.notes.append("not injected: Dask, the command ip or a user namespace is missing")
        return row
    tries = 0
    while row.injected < TIMES and tries < 2 * TIMES:
        runs = {}
        for _ in range(min(AT_ONCE, TIMES - row.injected)):
            out, status = place.folder / f"host{tries}", place.folder / f"cut{tries}"
            script = _TWO_HOSTS.format(
                dask=dask, python=sys.executable, out=out, status=status, start=8.0,
                run=" ".join(f"'{text}'" for text in run_of(out, 100)),
                moment=float(rng.uniform(0.0, 2.0)),
            )  # fmt: skip
            runs[out, status] = subprocess.Popen(
                [*alone, "bash", "-c", script], cwd=place.folder, text=True, start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env=environment(place.folder, OF_FAULTS=str(out)),
            )  # fmt: skip
            tries += 1
        for (out, status), process in runs.items():
            row.messages(row.wait(process, out), 0)
            row.injected += status.exists()
            row.wrong += process.returncode != 0
            place.complete(row, out, computed_twice=True)
            shutil.rmtree(out)
    return row


def every(place: Place) -> Iterator[Row]:
    """Inject all faults of surroundings."""
    yield formulas(place)
    yield clock_jumps(place)
    yield full_disk_but_a_bucket(place)
    yield silent_bucket(place)
    yield lost_hosts(place)
