"""Many small parts are joined, while others read and write."""

import subprocess
import sys

import pandas as pd
import pytest
from record_parts import write_cells

import harness
from harness.configure.compose import compose
from harness.execute.pending import (
    pending,
)
from harness.plan.plan import plan
from harness.records import compaction, parts, reader


def test_many_parts_are_joined_by_a_run(out, monkeypatch):
    monkeypatch.setattr(compaction, "MANY", 6)
    run = ["problem=[beta_wavy]", "estimator=[binned15]", "n=20", "reps=40", "engine=serial"]
    first = harness.run([*run, f"out={out}"])  # eight chunks
    assert len(parts.part_files(out)) == 1 and not list((out / "records").glob(".*"))
    pd.testing.assert_frame_equal(first, harness.run([*run, f"out={out}"]))
    assert set(first["status"]) == {"ok"} and first["key"].nunique() == 40


def test_joining_keeps_every_row_and_leaves_large_and_broken_parts(out, monkeypatch):
    monkeypatch.setattr(compaction, "MANY", 5)
    monkeypatch.setattr(compaction, "ROWS", 7)
    written = [write_cells(out, *range(100 * part, 100 * part + 5)) for part in range(8)]
    before = reader.load_records(out)
    folder, broken = out / "records", written[0]
    broken.write_bytes(broken.read_bytes()[:-1])
    note = folder / compaction.NOTE
    note.touch()
    compaction.keep_few(out)
    assert len(parts.part_files(out)) == 8 and note.exists()  # another driver joins
    note.unlink()
    compaction.keep_few(out)
    assert len(parts.part_files(out)) == 2 and broken.exists() and not list(folder.glob(".*"))
    (joined,) = (file for file in parts.part_files(out) if file != broken)
    kept = reader.load_records(joined)
    assert len(kept) == len(before) - 5 and set(kept["key"]) < set(before["key"])
    for name, value in (("LARGE_MB", 0.0), ("MANY", 1), ("SHARE", 10**9)):
        monkeypatch.setattr(compaction, name, value)
    compaction.keep_few(out)
    assert len(parts.part_files(out)) == 2


def test_a_reader_sees_every_row_once_at_every_step_of_a_join(out, monkeypatch):
    """The new part is there before the old ones go."""
    for part in range(4):
        write_cells(out, *range(10 * part, 10 * part + 5))
    whole = reader.load_records(out)
    counts = []
    unlink = type(out).unlink

    def look(path, **options):
        frame = reader.load_records(out)
        pd.testing.assert_frame_equal(frame, whole)
        if path.suffix == ".parquet":  # a part, not a temporary file
            counts.append(len(frame))
        unlink(path, **options)

    monkeypatch.setattr(type(out), "unlink", look)
    assert compaction.compact(out) == (4, 20) and counts == [20] * 4
    pd.testing.assert_frame_equal(reader.load_records(out), whole)


DRIVER = """
import sys
from harness.execute import run
from harness.execute import pending
from harness.records import compaction
compaction.MANY, pending.CHUNK_CELLS, run.LOOK_AFTER = 8, 10, 3
import harness
harness.run([*sys.argv[1:], "engine=serial"])
"""


@pytest.mark.slow
def test_two_drivers_join_the_same_folder_and_a_reader_misses_nothing(out):
    """Each driver joins parts after every third chunk, while this process reads again and again."""
    shared = ["problem=[beta_wavy]", "estimator=[binned15]", "n=20", "reps=800", f"out={out}"]
    drivers = [
        subprocess.Popen([sys.executable, "-c", DRIVER, *shared, "shards=2", f"shard={shard}"])
        for shard in range(2)
    ]
    seen: set[str] = set()
    while any(driver.poll() is None for driver in drivers):
        if parts.part_files(out):
            now = set(reader.load_records(out, columns=["key"])["key"])
            assert seen <= now
            seen = now
    assert [driver.returncode for driver in drivers] == [0, 0]
    found = reader.load_records(out)
    assert found["key"].nunique() == 800 and set(found["status"]) == {"ok"}
    assert not found.duplicated(["key", "estimand"]).any()
    assert len(parts.part_files(out)) < 50 and not (out / "records" / compaction.NOTE).exists()
    assert pending(plan(compose(shared)), out).tally.counts["done"] == 800
