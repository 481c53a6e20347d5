"""Faults of stores.

Parts that are cut, foreign, flipped or of other types; wrong truths; compaction while others read;
two drivers; a clock that jumps; renames as NFS does them; a full disk and a read-only one.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from faults.common import TIMES, Place, Row, command, environment, fresh, generator, run_of

from harness.records import compaction, parts, reader, truths

SMALL = 6  # replications of the stores that are damaged


def _parts(out: Path, rng) -> Path:
    return parts.part_files(out)[rng.integers(len(parts.part_files(out)))]


def _cut(out, rng):
    part = _parts(out, rng)
    part.write_bytes(part.read_bytes()[: rng.integers(part.stat().st_size)])


def _foreign(out, rng):
    """Add a foreign file, or replace a part by one."""
    content = [b"", b"PAR1", rng.bytes(int(rng.integers(1, 5000))), None][rng.integers(4)]
    path = (
        _parts(out, rng)
        if rng.random() < 0.5
        else out / "records" / f"part-{rng.integers(1 << 40):x}.parquet"
    )
    if content is None:
        pq.write_table(pa.table({"key": ["a"], "status": ["ok"]}), path)
    else:
        path.write_bytes(content)


def _flipped(out, rng):
    part = _parts(out, rng)
    content = bytearray(part.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    part.write_bytes(content)


def _other_types(out, rng):
    """Rename a part, with text for numbers, nulls for keys, or an unknown status."""
    part = _parts(out, rng)
    table = pq.read_table(part)
    changes = [
        ("value", "text"),
        ("n", "text"),
        ("value", [1.0]),
        ("key", None),
        ("status", "odd"),
        ("status", None),
        ("rep", None),
    ]
    name, value = changes[rng.integers(len(changes))]
    table = table.set_column(
        table.column_names.index(name), name, pa.array([value] * table.num_rows)
    )
    part.unlink()
    pq.write_table(table, part.with_name(f"part-{rng.integers(1 << 40):x}.parquet"))


def _truth(out, rng):
    paths = sorted((out / "truths").glob("*.json"))
    path = paths[rng.integers(len(paths))]
    stored = json.loads(path.read_text())
    pair = next(name for name, known in stored.items() if name != truths.DIGEST and known)
    changed = {**stored, pair: [stored[pair][0] + float(rng.normal()) * 1e-6, *stored[pair][1:]]}
    path.write_text(
        ["[]", "null", '"text"', "{", "[" * 100_000, json.dumps(changed), ""][rng.integers(7)]
    )


DAMAGES = {
    "truncated part": _cut, "foreign part": _foreign, "flipped bit of a part": _flipped,
    "part of other types": _other_types,
    "changed truths": _truth,
}  # fmt: skip


def small_store(place: Place) -> Path:
    """Return a folder with a small store."""
    folder = place.folder / "small"
    if not folder.exists():
        command(*run_of(folder, SMALL), "jobs=1")
    return folder


def damaged(place: Place, name: str) -> Row:
    """Damage a copy of a store.

    status, doctor and the run name the file and change nothing. doctor --repair moves it aside, and
    the run computes its cells again.
    """
    row, rng = Row(name), generator(name)
    run = [*run_of(place.folder / "x", SMALL), "jobs=1"]
    source = small_store(place)
    whole = reader.load_records(source)
    while row.injected < TIMES:
        out = fresh(source, place.folder / "x")
        DAMAGES[name](out, rng)
        before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        row.injected += 1
        for call in (("status", f"out={out}"), run) if name != "changed truths" else (run,):
            code, _, err = command(*call)
            row.messages(err, 1)
            if code != 2:
                row.wrong += 1
                row.notes.append(f"{call[0]} believed it")
        code, output, err = command("doctor", f"out={out}")
        row.unclear += code != 1 or "PROBLEM" not in output or bool(err)
        if {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} != before:
            row.wrong += 1
            row.notes.append("the store was changed")
        code, output, err = command("doctor", f"out={out}", "--repair")
        row.unclear += code != 0 or "moved" not in output or bool(err)
        import harness

        records = harness.run(run)
        row.lost += len(set(whole["key"]) - set(records.loc[records["status"].eq("ok"), "key"]))
        row.doubled += int(records.duplicated(["key", "estimand"]).sum())
        both = records.merge(whole, on=["key", "estimand"], suffixes=("", "_whole"))
        row.wrong += int(
            (both["value"] != both["value_whole"]).sum()
            + (both["truth"].fillna(-1) != both["truth_whole"].fillna(-1)).sum()
        )
    return row


def _joins(out: Path, times: int, done) -> None:
    """Write small parts and join them, many times."""
    table = pq.read_table(parts.part_files(out)[0])
    for _ in range(times):
        for start in range(0, table.num_rows, max(1, table.num_rows // 8)):
            parts.write_table(out, table.slice(start, max(1, table.num_rows // 8)))
        compaction.compact(out)
    done.value = 1


def beside_compaction(place: Place) -> Row:
    """Read in every way, while another process joins parts."""
    row = Row("compaction beside readers")
    out = fresh(small_store(place), place.folder / "joined")
    whole, states = reader.load_records(out), reader.cell_states(out)
    context = multiprocessing.get_context("fork")
    done = context.Value("i", 0)
    joining = context.Process(target=_joins, args=(out, 5 * TIMES, done))
    joining.start()
    reads = 0
    run = [*run_of(out, SMALL), "jobs=1"]
    while not done.value and joining.is_alive():
        records = reader.load_records(out)
        row.lost += len(set(whole["key"]) - set(records["key"])) + (
            reader.cell_states(out) != states
        )
        row.doubled += int(records.duplicated(["key", "estimand"]).sum())
        row.wrong += int(not records["value"].equals(whole["value"]))
        for call in (("status", f"out={out}"), ("doctor", f"out={out}"), run)[
            : 3 if reads % 5 == 0 else 2
        ]:
            code, output, err = command(*call)
            if code or err:
                row.unclear += 1
                problems = [line for line in output.splitlines() if "PROBLEM" in line]
                row.notes.append(f"{call[0]}: {code} {err[-200:]!r} {problems}")
        reads += 1
    joining.join()
    row.injected = 5 * TIMES if done.value else 0
    row.notes.append(f"{reads} rounds of readers")
    return row


def two_drivers(place: Place) -> Row:
    """Start two runs of the same cells into one folder at the same time."""
    row, rng = Row("two drivers on one folder"), generator("two")
    code = "import sys, time, harness; time.sleep(float(sys.argv[1])); harness.run(sys.argv[2:])"
    while row.injected < TIMES:
        out = place.folder / f"two{row.injected}"
        run = [*run_of(out, SMALL), "jobs=1"]
        both = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(delay), *run], cwd=place.folder,
                stderr=subprocess.PIPE, text=True,
                env=environment(place.folder),
            )
            for delay in (0.0, float(rng.uniform(0.0, 0.2)))
        ]  # fmt: skip
        for process in both:
            row.messages(process.communicate()[1], 0)
        row.injected += 1
        records = reader.load_records(out)
        whole = place.whole[place.whole["rep"] < SMALL]
        row.lost += len(set(whole["key"]) - set(records.loc[records["status"].eq("ok"), "key"]))
        row.doubled += int(records.duplicated(["key", "estimand"]).sum())
        merged = records.merge(whole, on=["key", "estimand"], suffixes=("", "_whole"))
        row.wrong += int((merged["value"] != merged["value_whole"]).sum())
        shutil.rmtree(out)
    return row


_CLOCK = """
import time
clock = time.time
time.time = lambda: clock() + {shift}
import harness
harness.run({run}, quiet=True)
"""
_RENAMES = """
import errno, os, random
rng, rename, failures = random.Random({seed}), os.replace, []

def rename_and_fail(source, target):
    rename(source, target)
    if "part-" in str(target) and rng.random() < 0.5:
        failures.append(target)
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(source))

os.replace = rename_and_fail
import harness
harness.run({run}, quiet=True)
print(len(failures))
"""


def run_patched(row: Row, script: str) -> str:
    """Run a script that changes a function of Python and then computes cells in its own process.

    A process that imports a user's estimator computes in child processes, where the change has no
    effect. So these runs have our estimators alone.
    """
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True
    )
    row.messages(done.stderr, 0)
    row.wrong += done.returncode != 0
    return done.stdout


def run_of_ours(out: Path) -> list[str]:
    """Return the options of the disturbed run without the user's estimator, in one process."""
    options = [text for text in run_of(out, SMALL) if "faulty" not in text]
    return [*options, "jobs=1", "engine=serial"]


def jumping_clock(place: Place) -> Row:
    """Set the clock between runs that compute cells again. The last run counts."""
    row, rng = Row("a clock that jumps"), generator("clock")
    out = place.folder / "clock"
    while row.injected < TIMES:
        run = [*run_of_ours(out), "refresh=true"]
        run_patched(row, _CLOCK.format(shift=float(rng.normal()) * 3e7, run=run))
        row.injected += 1
        last = reader.query(out, "select run_id from r order by written desc limit 1")[0][0]
        records = reader.load_records(out)
        row.wrong += int(records["run_id"].ne(records["run_id"].mode()[0]).sum()) + (
            records["run_id"].iloc[0] != last
        )
        row.doubled += int(records.duplicated(["key", "estimand"]).sum())
        row.lost += int((~records["status"].eq("ok")).sum())
    return row


def renames_of_nfs(place: Place) -> Row:
    """Report renames as failed that were done, as a server does that gets a request twice."""
    row = Row("renames as NFS does them")
    for attempt in range(4 * TIMES):
        if row.injected >= TIMES:
            break
        out = place.folder / f"nfs{attempt}"
        row.injected += int(run_patched(row, _RENAMES.format(seed=attempt, run=run_of_ours(out))))
        records = reader.load_records(out)
        row.lost += int((~records["status"].eq("ok")).sum())
        row.wrong += len(list((out / "records").glob(".*")))
        place.check(row, out, {}, reader.cell_states(out))
    return row


_ON_A_SMALL_DISK = """
mount -t tmpfs -o size={size}k none {disk} && {python} -m harness {run}; echo $? > {status}
mkdir -p {kept} && cp -r {disk}/. {kept}
[ -z "{readonly}" ] && exit
mount -o remount,ro {disk}
{python} -m harness {again} 2> {err}; echo $? > {status}
"""


def small_disk(place: Place, readonly: bool = False) -> Row:
    """Fill a disk of random size during a run, or make it read-only before a second run."""
    name = "read-only folder" if readonly else "full disk"
    row, rng = Row(name), generator(name)
    disk, kept, status = (place.folder / name for name in ("disk", "kept", "status"))
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        row.notes.append("not injected: mounting needs a user namespace, which is not allowed here")
        return row
    tries = 0
    while row.injected < TIMES and tries < 3 * TIMES:
        tries += 1
        disk.mkdir(exist_ok=True)
        out = disk / "out"
        run = [
            *run_of(out, 2 if readonly else SMALL),
            "jobs=1",
            "engine=serial" if rng.random() < 0.8 else "jobs=2",
        ]
        again = [text.replace("reps=2", f"reps={SMALL}") for text in run]
        quoted = [" ".join(f"'{text}'" for text in words) for words in (run, again)]
        script = _ON_A_SMALL_DISK.format(
            size=20_000 if readonly else int(rng.integers(3, 85)) * 4, disk=disk,
            python=sys.executable, run=quoted[0],
            again=quoted[1], status=status, kept=kept, readonly="1" if readonly else "",
            err=place.folder / "err",
        )  # fmt: skip
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script], cwd=place.folder, capture_output=True,
            text=True,
            env=environment(place.folder),
        )  # fmt: skip
        output = (place.folder / "err").read_text() if readonly else done.stderr
        if status.read_text().strip() == "0":
            shutil.rmtree(kept)
            continue
        row.injected += 1
        row.messages(
            "\n".join(line for line in output.splitlines() if not line.startswith("cp:")), 1
        )
        for temporary in (kept / "out").rglob(".*"):
            row.notes.append(f"left {temporary.name}")
        before = reader.cell_states(kept / "out")
        final = run_of(kept / "out", SMALL)
        import harness

        records = harness.run([*final, "jobs=1"])
        place.check(row, kept / "out", before, reader.cell_states(kept / "out"))
        row.lost += int((~records["status"].eq("ok")).sum())
        shutil.rmtree(kept)
    return row


def every(place: Place) -> Iterator[Row]:
    """Inject all faults of stores."""
    yield small_disk(place)
    for name in DAMAGES:
        yield damaged(place, name)
    for fault in (beside_compaction, two_drivers, jumping_clock, renames_of_nfs):
        yield fault(place)
    yield small_disk(place, readonly=True)
