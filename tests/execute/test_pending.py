"""The cells that are still to do: plans in little memory, shards, and states of records."""

import tracemalloc
from itertools import chain, islice

import numpy as np
import pytest
from cell_states import cell_states
from record_parts import row, write

from harness.configure.compose import compose
from harness.execute.pace import Pace
from harness.execute.pending import (
    FINISHED,
    States,
    make_chunks,
    pending,
    read_states,
    shard_samples,
)
from harness.plan.plan import plan
from harness.records import reader, schema

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
    chunks = make_chunks(work.samples(), len(made.cells) // 2, Pace(made, {}), 2)
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
        expected, found = cell_states(out, run_id), read_states(out, run_id)
        assert found.lookup(cells) == [
            codes[expected.get(cell.key, "interrupted")] for cell in cells
        ]
        assert len(found) == len(expected.keys() - {"no digest"})
    failed = "select key from r where run_id = 'run0' and status = 'failed'"
    failed_keys = {key for key, *_ in reader.query(out, failed)}
    assert reader.failures(out, "run0", alone=False) == sum(
        status == "failed" for key, status in cell_states(out).items() if key in failed_keys
    )
