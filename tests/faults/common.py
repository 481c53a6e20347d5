"""Common parts of the injections: the disturbed run, its expected records, and the comparison."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.common import buckets
from harness.records import parts

REPOSITORY = Path(__file__).resolve().parent.parent.parent
TIMES = 20  # injections of each fault
PATIENCE = 900.0  # seconds, for what takes less than 200 on a quiet machine
ORPHANS_AFTER = 10.0  # seconds after which no process of a run may be left
MODULE = """
import ctypes, os, resource, shutil, time
import numpy as np

def slow(p, y):
    time.sleep(0.02)
    return float(p.mean())
def _chosen(p):
    return int(p[0] * 1e6) % 3 == 0  # of some samples only, which nobody chose
def hang(p, y):
    time.sleep(1000 if _chosen(p) else 0)
    return float(p.mean())
def late(p, y):
    time.sleep(1000 if _chosen(p) else 0.01)
    return float(p.mean())
def spin(p, y):
    if _chosen(p):
        ctypes.PyDLL(None).sleep(1000)  # holds the interpreter, as C code does
    return float(p.mean())
def memory(p, y):
    held = []
    while _chosen(p):
        held.append(np.ones(5_000_000))
    return float(p.mean())
def segfault(p, y):
    return ctypes.string_at(0) if _chosen(p) else float(p.mean())
def leave(p, y):
    return os._exit(3) if _chosen(p) else float(p.mean())
def fork(p, y):
    if _chosen(p) and not os.fork():
        return -1.0
    return float(p.mean())
def detach(p, y):
    if _chosen(p) and not os.fork():
        os.setsid()
        os.fork()
        time.sleep(1000)
    return float(p.mean())
def limit(p, y):
    if _chosen(p):
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    return float(p.mean())
def folder(p, y):
    if _chosen(p):
        shutil.rmtree(os.environ["FOLDER_OF_FAULTS"], ignore_errors=True)
    return float(p.mean())
def interrupt(p, y):
    if _chosen(p):
        raise KeyboardInterrupt
    return float(p.mean())
def message(p, y):
    if _chosen(p):
        raise ValueError("\\x1b[2J no UTF-8 \\udc80")
    return float(p.mean())
def patch(p, y):
    mean = float(p.mean())
    if _chosen(p):
        np.abs = np.mean = np.sum = lambda x, *rest, **names: 7.0
    return mean
"""
TITLE = (
    "fault",
    "injected",
    "records lost",
    "doubled",
    "wrong",
    "silent",
    "tracebacks",
    "other unclear messages",
    "processes left",
    "hangs",
)
PROGRESS = re.compile(r"\s*|.*\d[\d,]* of [\d,]+ cells.*")
SAID = re.compile(
    r"(calharness: |  [\d,]+ cells (failed|of other)|a worker process was killed|"
    r"[\w./]+: [\d,]+ cells).*\S"
)


@dataclass
class Row:
    """A row of the table, with a count for each column of TITLE."""

    fault: str
    injected: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    silent: int = 0
    tracebacks: int = 0
    unclear: int = 0
    orphans: int = 0
    hangs: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> list[int]:
        """Return the counts of defects, in the order of TITLE."""
        messages = (self.silent, self.tracebacks, self.unclear)
        return [self.lost, self.doubled, self.wrong, *messages, self.orphans, self.hangs]

    def line(self) -> str:
        """Return the row in Markdown."""
        return f"| {' | '.join([self.fault, str(self.injected), *map(str, self.counts)])} |"

    def messages(self, text: str, wanted: int | None = None) -> None:
        """Count standard error that is not single sentences. Expect `wanted` messages of ours."""
        lines = [line for line in re.split(r"[\r\n]", text) if not PROGRESS.fullmatch(line)]
        ours = [line for line in lines if line.startswith("calharness: ")]
        bad = [line for line in lines if not SAID.fullmatch(line) or "[Errno" in line]
        if not bad and (wanted is None or len(ours) == wanted):
            return
        if any("Traceback" in line for line in bad):
            self.tracebacks += 1
        elif wanted is not None and len(ours) < wanted:
            self.silent += 1
        else:
            self.unclear += 1
        self.notes.append(f"said: {' | '.join(lines)[-600:]!r}")

    def wait(self, process: subprocess.Popen, out: Path | str) -> str:
        """Wait for the end of a run and of all its processes. Return its standard error."""
        try:
            err = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            self.hangs += 1
            self.notes.append(f"still running after {PATIENCE:.0f} s")
            process.kill()
            err = process.communicate()[1]
        self.orphans += len(left_processes(out))
        return err


def run_of(out: Path | str, reps: int, *extra: str) -> list[str]:
    """Return the options of the disturbed run."""
    return [
        "problem=[beta_wavy,beta_mixed]", "estimator=[binned15]", "n=[60]", f"reps={reps}",
        "jobs=2", f"out={out}", "name=faults",
        "+estimator.slow._target_=faulty.slow", *extra,
    ]  # fmt: skip


class Place:
    """A working folder with the module of estimators, and the records of an undisturbed run."""

    def __init__(self, folder: Path, reps: int):
        self.folder, self.reps = folder, reps
        (folder / "faulty.py").write_text(MODULE)
        sys.path.insert(0, str(folder))
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self.whole = self.compute(folder / "whole")

    @property
    def keys(self) -> set[str]:
        """Keys of all cells of the run."""
        return set(self.whole["key"])

    def compute(self, out: Path, reps: int | None = None):
        """Compute the run in this process, without figures."""
        import harness

        return harness.run(run_of(buckets.location(out), reps or self.reps))

    def start(
        self, out: Path | str, *extra: str, folders: tuple[Path, ...] = (), **variables: str
    ) -> subprocess.Popen:
        """Start the run on the command line, in its own session, which receives Ctrl-C.

        `folders` come first in its module path, and `variables` are added to its environment.
        """
        return subprocess.Popen(
            [sys.executable, "-m", "harness", *run_of(out, self.reps, *extra)], cwd=self.folder,
            text=True,
            env=environment(*folders, self.folder, OF_FAULTS=str(out), **variables),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    def check(
        self,
        row: Row,
        out: Path,
        before: dict[str, str],
        after: dict[str, str],
        computed_twice: bool = False,
    ) -> None:
        """Count lost cells, finished cells with several records, and values that differ.

        With `computed_twice`, cells may have several records, of which one counts.
        """
        from harness.records import reader

        finished = ("ok", "skipped", "undefined")
        row.lost += sum(
            after.get(key) not in finished for key, state in before.items() if state in finished
        )
        if not after:
            return
        if not computed_twice:
            row.doubled += reader.query(
                out,
                "select count(*) from (select key from r where status = 'ok' "
                "group by key having count(distinct written) > 1)",
            )[0][0]
        records = reader.load_records(out)
        row.doubled += int(records.duplicated(["key", "estimand"]).sum())
        both = records[records["status"].eq("ok")].merge(
            self.whole, on=["key", "estimand"], how="left", suffixes=("", "_whole")
        )
        row.wrong += int((both["value"] != both["value_whole"]).sum())

    def complete(self, row: Row, out: Path, computed_twice: bool = False) -> None:
        """Run missing cells, and count lost, doubled and wrong ones."""
        from harness.records import reader

        self.compute(out)
        after = reader.cell_states(out)
        row.lost += sum(after.get(key) != "ok" for key in self.keys)
        self.check(row, out, {}, after, computed_twice)


def environment(*folders: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that imports harness, tests and modules in `folders`."""
    path = [str(REPOSITORY), str(REPOSITORY / "tests"), *map(str, folders)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), **more}


def alive(out: Path | str) -> list[int]:
    """Return the processes of the run into a folder."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            if (
                f"OF_FAULTS={out}".encode() in (folder / "environ").read_bytes().split(b"\0")
                and stat[0] != "Z"
            ):
                pids.append(int(folder.name))
    return sorted(pids)


def handles_signals(pid: int) -> bool:
    """Return True if a process of Python handles SIGTERM, which Python itself does not."""
    with contextlib.suppress(OSError):
        handled = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
        return handled is not None and bool(int(handled[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def more_parts(out: Path, seen: int = 0) -> bool:
    """Return True if a folder has more than `seen` parts."""
    return len(parts.part_files(out)) > seen


def wait_for(process: subprocess.Popen, condition: Callable[..., bool], *given: object) -> None:
    """Wait until `condition(*given)`, or the end of a process, for at most PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not condition(*given) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def left_processes(out: Path | str) -> list[int]:
    """Return processes of the run that are left after ORPHANS_AFTER seconds, and kill them."""
    end = time.monotonic() + ORPHANS_AFTER
    while (left := alive(out)) and time.monotonic() < end:
        time.sleep(0.05)
    for process in left:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
    return left


def command(*arguments: str) -> tuple[int, str, str]:
    """Call the command line in this process. Return (exit status, output, errors)."""
    from harness.commands.app import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(arguments))
        except BaseException as error:
            return 99, out.getvalue(), f"Traceback: {type(error).__name__}: {error}"
    return code, out.getvalue(), err.getvalue()


def fresh(source: Path, out: Path) -> Path:
    """Copy a results folder."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(source, out)
    return out


def generator(name: str) -> np.random.Generator:
    """Return the generator for a fault, the same in every run."""
    return np.random.default_rng(list(name.encode()))


def write_record(out, after=0.0, **more):
    """Write one record."""
    part = parts.Part(out, after)
    common = {
        "key": "a", "problem": "p", "problem_key": "00", "problem_parameters": "{}",
        "notion": "binary", "n": 10, "rep": 0,
        "estimator": "e", "estimator_key": "11", "estimator_parameters": "{}", "seed": 0,
        "run_id": "r",
    }  # fmt: skip
    part.add({**common, **more}, [{"status": "ok", "value": 0.5, "estimand": "l1"}])
    part.write()
