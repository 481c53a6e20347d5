"""Runs of many cells, and of estimators that misbehave."""

from __future__ import annotations

import contextlib
import re
import time
from itertools import count
from pathlib import Path

from cell_states import cell_states
from faults import faulty
from faults.common import Place, Row

import harness
from harness.common.seeds import problem_rng
from harness.configure.options import option
from harness.plan.components import build_component
from harness.problems.base import ProblemSpec
from harness.records import reader

ESTIMATORS = {  # estimators in `faulty`: recorded reason of a cell, or None if it does not fail
    "raises": "^ZeroDivisionError",
    "hangs": "took longer than 10 s and was stopped; raise cell_timeout",
    "hangs_in_c": "took longer than 10 s and was stopped; raise cell_timeout",
    "eats_memory": "used more than 600 MB|MemoryError.*raise max_memory",
    "crashes": "crashed its process .SIG",
    "exits": "ended its process with exit status 3",
    "forks": None,
    "detaches": None,
    "prints": "took longer than 10 s and was stopped; raise cell_timeout",
    "alters": "^ValueError.*read-only",
}


def run_estimators(place: Place, times: int, engine: str = "loky") -> list[Row]:
    """Run all estimators of `faulty`. Each misbehaves on `times` of three times as many samples."""
    out = place.folder / f"{engine}-estimators"
    samples = _samples(times)
    targets = [f"+estimator.{name}._target_=faults.faulty.{name}" for name in ESTIMATORS]
    process = place.start_run(
        ["problem=beta_wavy", "estimator=[binned15]", "n=[60]", f"reps={list(samples)}", "jobs=2",
         f"out={out}", "name=faults", f"engine={engine}", "cell_timeout=10", "max_memory=600",
         *targets],
        out,
    )  # fmt: skip
    rows = [Row(f"estimator {name.replace('_', ' ')}", engine, times) for name in ESTIMATORS]
    err = rows[0].wait(process, out)
    rows[0].judge_messages(err, None)
    rows[0].judge_status(process.returncode, (1,), err)
    records = reader.load_records(out).set_index("rep")
    ours = records[records["estimator"].eq("binned15") & records["estimand"].eq("l1")]["value"]
    for rep, (p, y) in samples.items():  # neighbours of misbehaving estimators
        rows[0].wrong += ours.get(rep) != harness.estimate("binned15", p, y, "binary")["l1"].value
    for row, (name, reason) in zip(rows, ESTIMATORS.items()):
        _judge_estimator(row, records[records["estimator"].eq(name)], samples, reason)
    return rows


def _samples(times: int) -> dict[int, tuple]:
    """Return {rep: (p, y)}: samples on which the estimators misbehave, and twice as many others."""
    problem = build_component("problem", "beta_wavy", option("problem", "beta_wavy").config)
    spec, samples, left = ProblemSpec.of(problem.object), {}, {True: times, False: 2 * times}
    for rep in count():
        p, y = problem.object.sample(60, problem_rng(0, spec, problem.key, rep))
        p, y = harness.reduce(p, y, "binary")
        if left[faulty.is_selected(p)]:
            samples[rep] = p, y
            left[faulty.is_selected(p)] -= 1
        if not any(left.values()):
            return samples


def _judge_estimator(row: Row, records, samples: dict[int, tuple], reason: str | None) -> None:
    """Compare the records of an estimator with its expected values and reasons."""
    row.lost += len(set(samples) - set(records.index))
    row.doubled += int(records.index.duplicated().sum())
    for rep, record in records.iterrows():
        p = samples[rep][0]
        if reason is None or not faulty.is_selected(p):
            row.wrong += record["value"] != float(p.mean())
        elif record["status"] != "failed":
            row.wrong += 1
        else:
            text = (record["reason"] or "").splitlines()[-1:]
            row.silent += not text
            if text and not re.search(reason, text[0]):
                row.unclear += 1
                row.notes += text


CELLS = 100_000


def compute_many_cells(place: Place) -> Row:
    """Compute many cells, draw them, and count missing and doubled ones. Note the driver's peak."""
    row, out = Row(f"{CELLS:,} cells", injected=1), place.folder / "cells"
    process = place.start_run(
        ["problem=beta_wavy", "estimator=[binned15]", "n=[20]", f"reps={CELLS}", "jobs=2",
         f"out={out}", "name=faults"],
        out,
    )  # fmt: skip
    peak = 0
    while process.poll() is None:
        with contextlib.suppress(OSError, TypeError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = int(re.search(r"VmHWM:\s*(\d+)", status)[1])
        time.sleep(0.2)
    err = row.wait(process, out)
    row.judge_messages(err, 0)
    row.judge_status(process.returncode, (0,), err)
    row.lost = CELLS - sum(state == "ok" for state in cell_states(out).values())
    row.doubled = int(reader.load_records(out).duplicated(["key", "estimand"]).sum())
    row.notes.append(f"the driver used at most {peak / 1024:,.0f} MB")
    return row
