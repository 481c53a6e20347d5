"""Measure the overhead of a long sweep: time and memory per step.

    python benchmarks/scale.py [CELLS] [FOLDER]
    python benchmarks/scale.py --curve [ENGINE] CELLS ...     writes rows of benchmarks/scale.csv

The sweep has CELLS (default 100,000) cells of binned15 on beta_overconfident, with n = 100 and two
workers. Every step runs in its own process. The output shows the wall and CPU seconds of each step
and the peak memory of the driver. The CPU seconds of a run include its workers. FOLDER keeps the
records; without it they are deleted.

`--curve` only runs the sweep, for each number of cells, with an engine (loky, dask or ray; default:
loky). A row of benchmarks/scale.csv has the time and memory of a run, the size of its records, the
commit and the load. Rows of the same engine and number of cells are replaced.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import uuid
from pathlib import Path

CODE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CODE))

TABLE = CODE / "benchmarks" / "scale.csv"
N, JOBS = 100, 2
SAMPLED = 3000  # samples that are drawn without an estimator, to time the draw
TICK = os.sysconf("SC_CLK_TCK")


def configuration(cells, out, engine="loky"):
    from harness.configure.compose import compose

    return compose(
        [
            "problem=[beta_overconfident]",
            "estimator=[binned15]",
            f"n=[{N}]",
            f"reps={cells}",
            f"jobs={JOBS}",
            f"engine={engine}",
            f"out={out}",
            "name=scale",
        ]
    )


def plan_cells(cells, out):
    """Plan the cells and cut the first chunk. Return the time and the peak of Python objects."""
    from harness.execute.pace import Pace
    from harness.execute.pending import States, make_chunks, pending
    from harness.plan.plan import plan

    settings = configuration(cells, out)
    tracemalloc.start()
    start = time.perf_counter()
    work_plan = plan(settings)
    work = pending(work_plan, Path(out), States())
    kinds, todo = work.tally.kinds, work.tally.counts["todo"]
    chunks = make_chunks(work.samples(), todo, Pace(work_plan, kinds), JOBS)
    next(chunks)
    return {
        "seconds": time.perf_counter() - start,
        "python_mb": tracemalloc.get_traced_memory()[1] / 2**20,
    }


def run(cells, out, engine="loky"):
    from harness.execute.run import execute
    from harness.plan.plan import plan

    return execute(plan(configuration(cells, out, engine)), quiet=True)


def load(cells, out, columns=None):
    from harness import load_records

    start = time.perf_counter()
    frame = load_records(out, columns=columns.split(",") if columns else None)
    return {
        "seconds": time.perf_counter() - start,
        "rows": len(frame),
        "frame_mb": frame.memory_usage(deep=True).sum() / 2**20,
    }


def inside(cells, out):
    """Return the CPU seconds per cell inside the estimator, and those of drawing one sample."""
    from harness import load_problem, load_records
    from harness.common.seeds import problem_rng
    from harness.problems.base import ProblemSpec

    frame = load_records(out, columns=["key", "cpu_seconds"])
    problem = load_problem("beta_overconfident")
    spec = ProblemSpec.of(problem)
    start = time.process_time()
    for rep in range(SAMPLED):
        problem.sample(N, problem_rng(0, spec, "0123456789abcdef", rep))
    return {
        "estimator": float(frame["cpu_seconds"].mean()),
        "draw": (time.process_time() - start) / SAMPLED,
    }


STEPS = {"plan": plan_cells, "run": run, "load": load, "inside": inside}


def measure(step, cells, out, *more):
    """Run a step in its own process. Return its result with `wall` and `cpu` seconds.

    `cpu` includes the children of the process.
    """
    tag = uuid.uuid4().hex
    command = [sys.executable, __file__, "--step", step, str(cells), str(out), *more]
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={**os.environ, "CALHARNESS_BENCHMARK_STEP": tag, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    cpu, ended = {}, threading.Event()

    def poll():
        while not ended.wait(0.5):
            cpu.update(_cpu_seconds(tag))

    thread = threading.Thread(target=poll)
    thread.start()
    output, _ = process.communicate()
    ended.set()
    thread.join()
    if process.returncode:
        raise SystemExit(f"{step} ended with exit status {process.returncode}")
    report = json.loads(output.splitlines()[-1])
    cpu[process.pid] = report["driver_cpu"]
    return {"wall": time.perf_counter() - start, "cpu": sum(cpu.values()), **report}


def _cpu_seconds(tag):
    """Return {process id: CPU seconds} of the live processes of a step."""
    seconds = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"CALHARNESS_BENCHMARK_STEP={tag}".encode() in (folder / "environ").read_bytes():
                rest = (folder / "stat").read_text().rpartition(")")[2].split()
                seconds[int(folder.name)] = (int(rest[11]) + int(rest[12])) / TICK
        except OSError:
            continue
    return seconds


def peak_mb():
    """Return the peak memory of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    if peaks:
        return peaks[0] / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine():
    from harness.records.provenance import processor

    return f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def curve(engine, sizes):
    """Run the sweep for each number of cells, and replace its row in the table after each run."""
    from harness.records.provenance import git_state, processor

    for cells in sizes:
        with tempfile.TemporaryDirectory() as folder:
            result = measure("run", cells, folder, engine)
            parts = list((Path(folder) / "records").glob("part-*"))
            size = sum(part.stat().st_size for part in parts)
        if result["failed"] or result["todo"] != cells:
            raise SystemExit(f"{result['failed']} of {result['todo']} cells failed")
        row = {
            "engine": engine,
            "cells": cells,
            "wall_s": round(result["wall"], 1),
            "cpu_s": round(result["cpu"], 1),
            "driver_cpu_s": round(result["driver_cpu"], 1),
            "cpu_ms_per_cell": round(1e3 * result["cpu"] / cells, 3),
            "driver_mb": round(result["driver_mb"]),
            "parts": len(parts),
            "bytes_per_cell": round(size / cells, 1),
            "load": round(os.getloadavg()[0], 1),
            "processor": f"{processor()}, {os.cpu_count()} cores",
            "commit": git_state().get("commit", "")[:8],
        }
        print(row, flush=True)
        rows = {}
        if TABLE.exists():
            with open(TABLE, newline="") as file:
                rows = {(r["engine"], int(r["cells"])): r for r in csv.DictReader(file)}
        rows[engine, cells] = row
        with open(TABLE, "w", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[key] for key in sorted(rows))


def report(cells, out):
    print(f"{cells:,} cells, n = {N}, {JOBS} workers; {machine()}", flush=True)
    planning = measure("plan", cells, out)
    print(
        f"plan of {cells:,} cells: {planning['seconds']:.2f} s, "
        f"{planning['python_mb']:.1f} MB of Python objects",
        flush=True,
    )
    first = measure("run", cells, out)
    parts = list((out / "records").glob("part-*"))
    size = sum(part.stat().st_size for part in parts) / 2**20
    print(
        f"run: {first['wall']:.0f} s wall, {first['cpu']:.0f} s CPU of all processes "
        f"({first['driver_cpu']:.0f} s of the driver), driver {first['driver_mb']:,.0f} MB",
        flush=True,
    )
    print(
        f"  {len(parts)} parts, {size:.0f} MB; "
        f"{first['todo']:,} computed, {first['failed']:,} failed"
    )
    inner = measure("inside", cells, out)
    rest = first["cpu"] / cells - inner["estimator"] - inner["draw"]
    print(
        f"  CPU of a cell: {first['cpu'] / cells * 1e3:.3f} ms, of which the estimator "
        f"{inner['estimator'] * 1e3:.3f}, the draw {inner['draw'] * 1e3:.3f}, "
        f"the rest {rest * 1e3:.3f}",
        flush=True,
    )
    again = measure("run", cells, out)
    print(
        f"run again, nothing to do: {again['wall']:.1f} s wall, {again['cpu']:.1f} s CPU, "
        f"{again['driver_mb']:,.0f} MB",
        flush=True,
    )
    for columns in ("", "problem,n,rep,estimator,estimand,value"):
        loading = measure("load", cells, out, *([columns] if columns else []))
        what = f"{columns.count(',') + 1} columns" if columns else "all columns"
        print(
            f"load_records, {what}: {loading['seconds']:.1f} s wall, {loading['cpu']:.1f} s CPU "
            f"with the imports, {loading['rows']:,} rows, frame {loading['frame_mb']:,.0f} MB, "
            f"process {loading['driver_mb']:,.0f} MB",
            flush=True,
        )
    print(f"load at the end {os.getloadavg()[0]:.1f}")


def main(arguments):
    if arguments[:1] == ["--step"]:
        _, step, cells, *more = arguments
        answer = STEPS[step](int(cells), *more)
        used = os.times()
        print(json.dumps({**answer, "driver_mb": peak_mb(), "driver_cpu": used.user + used.system}))
        return
    if arguments[:1] == ["--curve"]:
        engine = arguments.pop(1) if arguments[1].isalpha() else "loky"
        curve(engine, [int(text.replace("_", "")) for text in arguments[1:]])
        return
    cells = int(arguments[0].replace("_", "").replace(",", "")) if arguments else 100_000
    if len(arguments) > 1:
        report(cells, Path(arguments[1]).resolve())
        return
    with tempfile.TemporaryDirectory() as folder:
        report(cells, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
