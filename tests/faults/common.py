"""What all injections share: the disturbed run, its expected records, and the comparison."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

import harness
from harness.records import parts, reader

REPOSITORY = Path(__file__).resolve().parent.parent.parent
ENGINES = {"loky": "this machine", "dask": "Dask", "ray": "Ray"}
PATIENCE = 900.0  # seconds, for what takes less than 200 on a quiet machine
ORPHANS_AFTER = 75.0  # seconds: helpers of Ray end a minute after a killed driver
PROGRESS = re.compile(r"\s*|.*\d[\d,]* of [\d,]+ cells.*")
SENTENCE = re.compile(
    r"(calharness: |  [\d,]+ cells (failed|of other)|a worker process was killed|"
    r"[\w./]+: [\d,]+ cells).*\S"
)
# Output of the estimator `prints`, which is shown up to a limit in each chunk
PRINTED = re.compile(r"(printed ?)+\S*|\[output beyond .* is not shown\]|p?r?i?n?t?e?d? ?")
MOST_OUTPUT = (
    1_000_000  # characters of standard error; without the limit there are tens of millions
)


DOUBLED = """select count(*) from (select key from r where status = 'ok' group by key
    having count(distinct written) > 1)"""


@dataclass
class Row:
    """Counts of one fault on one engine."""

    fault: str
    engine: str = "loky"
    injected: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    silent: int = 0
    tracebacks: int = 0
    unclear: int = 0
    left: int = 0
    hangs: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def defects(self) -> list[int]:
        """Return all counts but `injected`."""
        return [getattr(self, each.name) for each in fields(self)[3:-1]]

    def judge_messages(self, text: str, expected: int | None) -> None:
        """Count standard error that is not single sentences. Expect `expected` messages of ours."""
        lines = [line for line in re.split(r"[\r\n]", text) if not PROGRESS.fullmatch(line)]
        lines = [line for line in lines if not PRINTED.fullmatch(line)]
        ours = [line for line in lines if line.startswith("calharness: ")]
        bad = [line for line in lines if not SENTENCE.fullmatch(line) or "[Errno" in line]
        if not bad and (expected is None or len(ours) == expected) and len(text) < MOST_OUTPUT:
            return
        if any("Traceback" in line for line in bad):
            self.tracebacks += 1
        elif expected is not None and len(ours) < expected:
            self.silent += 1
        else:
            self.unclear += 1
        self.notes.append(f"messages: {' | '.join(lines)[-600:]!r}")

    def wait(self, process: subprocess.Popen, out: Path) -> str:
        """Wait for the end of a run and of all its processes. Return its standard error."""
        try:
            err = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            self.hangs += 1
            process.kill()
            err = process.communicate()[1]
        end = time.monotonic() + ORPHANS_AFTER
        while (left := alive(out)) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.left += len(left)
        return err

    def judge_status(self, code: int, allowed: tuple[int, ...], err: str) -> None:
        """Count an exit status that is not allowed."""
        if code not in allowed:
            self.wrong += 1
            self.notes.append(f"status {code}: {err[-300:]!r}")


def table(rows: list[Row]) -> list[str]:
    """Return the lines of a Markdown table with one row per fault, all engines together."""
    names = "records lost, doubled, wrong, silent, tracebacks, other unclear messages, "
    titles = ["fault", *ENGINES.values(), *(names + "processes left, hangs").split(", ")]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for fault in dict.fromkeys(row.fault for row in rows):
        same = [row for row in rows if row.fault == fault]
        injected = [sum(row.injected for row in same if row.engine == name) for name in ENGINES]
        defects = np.sum([row.defects for row in same], axis=0).tolist()
        lines.append("| " + " | ".join(map(str, [fault, *injected, *defects])) + " |")
    return lines


class Place:
    """A working folder, and in it the store of an undisturbed run, whose records are `whole`."""

    def __init__(self, folder: Path, reps: int):
        self.folder, self.reps, self.store = folder, reps, folder / "whole"
        self.whole = self.compute(self.store)

    def options(self, out: Path, *extra: str) -> list[str]:
        """Return the options of the disturbed run."""
        return [
            "problem=[beta_wavy,beta_mixed]", "estimator=[binned15]", "n=[60]", "jobs=2",
            f"reps={self.reps}", f"out={out}", "name=faults",
            "+estimator.slow._target_=faults.faulty.slow", *extra,
        ]  # fmt: skip

    def compute(self, out: Path):
        """Compute the run undisturbed, in this process. Return its records."""
        return harness.run(self.options(out), quiet=True)

    def start(self, out: Path, *extra: str, shell: str = "{run}") -> subprocess.Popen:
        """Start the run on the command line, in a session of its own, which receives Ctrl-C.

        `shell` are commands in which it is started, in namespaces in which this user is root.
        """
        return self.start_run(self.options(out, *extra), out, shell)

    def start_run(self, options: list[str], out: Path, shell: str = "{run}") -> subprocess.Popen:
        """Start a run with these options (see `start`)."""
        command = [sys.executable, "-m", "harness", *options]
        if shell != "{run}":
            run = " ".join(f"'{word}'" for word in command)
            text = shell.format(run=run, out=out, bin=Path(sys.executable).parent)
            command = ["unshare", "-rnmpf", "--mount-proc", "bash", "-c", text]
        return subprocess.Popen(
            command, cwd=self.folder, text=True, start_new_session=True,
            env=environment(OF_FAULTS=str(out)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    @staticmethod
    def finished(out: Path) -> set[str]:
        """Return the keys of the cells that a folder has valid records of."""
        rows = reader.query(out, "select distinct key from r where status = 'ok'")
        return {key for (key,) in rows}

    def complete(self, row: Row, out: Path, finished: set[str], twice: bool = False) -> None:
        """Run the same again, undisturbed, and count lost, doubled and wrong records and truths.

        `finished` are keys of cells that the disturbed run has recorded. They must not be computed
        again, unless the disturbed run itself may have computed them `twice`.
        """
        records = self.compute(out)
        row.lost += len(finished - self.finished(out))
        row.lost += len(
            set(self.whole["key"]) - set(records.loc[records["status"].eq("ok"), "key"])
        )
        row.doubled += int(records.duplicated(["key", "estimand"]).sum())
        if not twice:
            row.doubled += reader.query(out, DOUBLED)[0][0]
        columns = ["key", "estimand", "value", "truth"]
        both = records[columns].merge(self.whole[columns], "left", ["key", "estimand"])
        for name in ("value", "truth"):
            mine, expected = both[f"{name}_x"], both[f"{name}_y"]
            row.wrong += int((mine.ne(expected) & ~(mine.isna() & expected.isna())).sum())


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that imports harness and the modules in tests/."""
    path = [str(REPOSITORY), str(REPOSITORY / "tests")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), **more}


def alive(out: Path) -> list[int]:
    """Return the processes of the run into a folder."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_zombie = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            variables = (folder / "environ").read_bytes().split(b"\0")
            if f"OF_FAULTS={out}".encode() in variables and not is_zombie:
                pids.append(int(folder.name))
    return sorted(pids)


def handles_signals(pid: int) -> bool:
    """Return True if a process of Python handles SIGTERM, which Python itself does not."""
    with contextlib.suppress(OSError):
        handled = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
        return handled is not None and bool(int(handled[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def wait_for(process: subprocess.Popen, condition: Callable[..., object], *given: object) -> None:
    """Wait until `condition(*given)`, or the end of a process, for at most PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not condition(*given) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


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
