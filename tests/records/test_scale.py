"""Long sweeps: plans in little memory, shards, joining of parts, records as categories."""

import subprocess
import sys
import tracemalloc
from itertools import chain, islice

import numpy as np
import pandas as pd
import pytest
from test_records import row, write

import harness
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.execute.pending import (
    FINISHED,
    Costs,
    States,
    make_chunks,
    pending,
    read_states,
    shard_samples,
)
from harness.plan.cells import Cells, Draws
from harness.plan.plan import plan
from harness.records import compaction, parts, reader, schema

RUN = ["problem=[beta_wavy,beta_mixed]", "estimator=[binned15,simplex_ece]", "n=[20,30]"]


def planned(reps, *more):
    return plan(compose([*RUN, f"reps={reps}", *more]))


def peak_mb(reps, out, recorded_cells):
    """Return the peak Python memory while a plan is made, searched and cut into chunks."""
    settings = compose([*RUN, f"reps={reps}", "jobs=2"])
    tracemalloc.start()
    made = plan(settings)
    work = pending(made, out, recorded_cells)
    marked = list(islice(work.samples(), 1000))
    chunks = make_chunks(work.samples(), len(made.cells) // 2, Costs(made, out, []), 2)
    chunk = next(chunks)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert len(marked) == 1000 and chunk[0].rep == 0
    return peak


def test_a_plan_of_any_length_takes_the_same_memory(out):
    """Plans of 10^8 and 10^5 cells are compared, with a million recorded cells held as numbers."""
    keys = np.sort(np.random.default_rng(0).integers(0, 2**63, 1_000_000, dtype=np.uint64))
    held = States(keys, np.full(len(keys), FINISHED, dtype=np.uint8))
    peak_mb(500, out, held)  # what is imported and cached at first
    small, large = peak_mb(12_500, out, held), peak_mb(12_500_000, out, held)
    assert len(planned(12_500_000).cells) == 10**8
    assert large < 1.2 * small + 0.5 and large < 20


def test_cells_are_those_of_a_list():
    made = planned(3)
    cells = list(made.cells)
    assert (
        isinstance(made.cells, Cells)
        and len(cells) == len(made.cells) == 24
        and len({cell.key for cell in cells}) == 24
    )
    assert made.cells == cells and cells[3] in made.cells
    # the key of a cell is a pure function of its identity (more keys: tests/golden/test_frozen.py)
    assert (cells[0].key, cells[-1].key) == ("fe31a6899cf675ac", "77bd4e8b1b556f8e")
    assert {cell.estimator for cell in cells if made.skip(cell)} == {"simplex_ece"}
    assert (
        dict(made.skips) == {cell.key: made.skip(cell) for cell in cells if made.skip(cell)}
        and len(made.skips) == 12
    )
    draws = Draws([4, 2], (10, 20), [(0, 99)])
    assert list(draws) == [(4, 10), (4, 20), (2, 10), (2, 20), (0, 99)]


def test_shards_have_every_cell_once_and_samples_whole():
    whole = planned(40)
    of = [
        [*chain.from_iterable(shard_samples(planned(40, "shards=3", f"shard={shard}")))]
        for shard in range(3)
    ]
    assert sorted(cell.key for cells in of for cell in cells) == sorted(
        cell.key for cell in whole.cells
    )
    samples = [{(cell.problem, cell.rep, cell.n) for cell in cells} for cells in of]
    assert sum(map(len, samples)) == len(set().union(*samples)) and all(samples)


@pytest.mark.parametrize("more", [(), ("shards=2", "shard=1")])
def test_every_cell_of_a_shard_is_counted_and_yielded_once(out, more):
    made = planned(5, *more)
    work = pending(made, out)
    counts = work.tally.counts
    cells = [*chain.from_iterable(shard_samples(made))]
    assert counts["cells"] == len(cells) == counts["todo"] + counts["skipped"] > 0
    assert counts["todo"] == sum(work.tally.kinds.values()) == sum(map(len, work.samples()))
    assert len(list(work.new_skips())) == counts["new_skips"] == counts["skipped"] > 0


def test_states_are_those_of_the_records(out):
    """States agree with `cell_states` for many attempts in several parts, also for one run."""
    cells = list(planned(3).cells)
    rng = np.random.default_rng(1)
    for part in range(6):
        rows = [
            row(
                cells[number].key,
                str(rng.choice(schema.STATUSES[:5])),
                run_id=f"run{part % 2}",
            )
            for number in rng.integers(0, len(cells), 15)
        ]
        write(out, *rows, *([row("no digest", "ok")] if part == 3 else []))
    codes = {"ok": 1, "undefined": 1, "skipped": 2, "failed": 3, "interrupted": 0}
    for run_id in (None, "run1", "none"):
        expected, found = reader.cell_states(out, run_id), read_states(out, run_id)
        assert found.lookup(cells) == [
            codes[expected.get(cell.key, "interrupted")] for cell in cells
        ]
        assert len(found) == len(expected.keys() - {"no digest"})
    failed = "select key from r where run_id = 'run0' and status = 'failed'"
    failed_keys = {key for key, *_ in reader.query(out, failed)}
    assert reader.failures(out, "run0", alone=False) == sum(
        status == "failed" for key, status in reader.cell_states(out).items() if key in failed_keys
    )


def test_many_parts_are_joined_by_a_run(out, monkeypatch):
    monkeypatch.setattr(compaction, "MANY", 6)
    run = ["problem=[beta_wavy]", "estimator=[binned15]", "n=20", "reps=40", "engine=serial"]
    first = harness.run([*run, f"out={out}"])  # eight chunks
    assert len(parts.part_files(out)) == 1 and not list((out / "records").glob(".*"))
    pd.testing.assert_frame_equal(first, harness.run([*run, f"out={out}"]))
    assert set(first["status"]) == {"ok"} and first["key"].nunique() == 40


def write_cells(out, *numbers, **more):
    return write(out, *(row(f"{number:016x}", "ok", 0.5, "l1", **more) for number in numbers))


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


def test_texts_that_repeat_are_categories(out):
    run = ["problem=[beta_wavy]", "estimator=[binned15,simplex_ece]", "n=20", "reps=30"]
    records = harness.run([*run, "engine=serial", f"out={out}"])
    coded, plain = harness.load_records(out), harness.load_records(out, categories=False)
    texts = list(reader.ENUMS)
    assert all(isinstance(coded[name].dtype, pd.CategoricalDtype) for name in texts)
    assert not any(isinstance(plain[name].dtype, pd.CategoricalDtype) for name in texts)
    pd.testing.assert_frame_equal(plain, records.drop(columns="experiment"))
    as_objects = coded.astype(dict.fromkeys(texts, "object"))
    pd.testing.assert_frame_equal(as_objects.fillna(np.nan), plain.fillna(np.nan))
    summaries = harness.evaluate(coded), harness.evaluate(plain)
    pd.testing.assert_frame_equal(*summaries, check_dtype=False)
    columns, keys = ["truth", "n", "estimand"], list(coded["key"].unique()[:3])
    some = harness.load_records(out, columns=columns, keys=keys)
    assert list(some.columns) == columns and 0 < len(some) < len(coded)
    assert some["truth"].notna().any()
    with pytest.raises(BadInputError, match="columns contains 'valeu'"):
        harness.load_records(out, columns=["valeu"])
    for keys in (["none"], []):
        nothing = harness.load_records(out, keys=keys)
        assert len(nothing) == 0 and list(nothing.columns) == list(coded.columns)


def test_times_of_long_records_are_those_of_a_sample(out, monkeypatch):
    for _ in range(2):
        write_cells(out, *range(500), cpu_seconds=0.25)
    exact = reader.seconds_per_cell(out)
    monkeypatch.setattr(reader, "SAMPLED_BYTES", 2000)
    assert reader.seconds_per_cell(out) == exact and exact[0][-1] == 0.25


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
