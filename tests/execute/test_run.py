"""Run plans: resuming, shards, engines, failures, interruptions, user estimators."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import left_behind
import numpy as np
import pandas as pd
import pytest
from cell_states import cell_states
from faults.common import alive

import harness
from harness.common.seeds import data_rng
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.execute import chunk, stops
from harness.execute.chunk import CellFailedError
from harness.plan.plan import plan
from harness.records import parts, reader
from harness.workflow.experiment import Experiment

SMALL = [
    "problem=[beta_overconfident,dirichlet3_overconfident]",
    "estimator=[binned15,variational_isotonic]",
    "n=[50,100]",
    "reps=3",
]
VALUES = ["key", "problem", "notion", "n", "rep", "estimator", "estimand", "value", "status"]


def same_records(a, b):
    a, b = (f[VALUES].sort_values(["key", "estimand"]).reset_index(drop=True) for f in (a, b))
    pd.testing.assert_frame_equal(a, b, check_exact=True)


def test_one_row_per_estimate_with_the_promised_columns(out):
    frame = harness.run(["experiment=smoke", "reps=1", "n=100", "jobs=1"])
    promised = """key experiment problem notion n rep estimator estimand
    value low high level kind truth truth_error status reason
    seconds cpu_seconds peak_mb run_id""".split()
    assert set(promised) <= set(frame.columns)
    assert (frame["experiment"] == "smoke").all()
    assert not frame.duplicated(["key", "estimand"]).any()
    ok = frame[frame["status"] == "ok"]
    assert ok["value"].notna().all() and (ok["kind"] == "point").all() and (ok["peak_mb"] > 0).all()
    calibrated = ok[(ok["problem"] == "beta_calibrated") & (ok["estimand"] == "l1")]
    assert (calibrated["truth"] == 0).all()
    known = ok[(ok["problem"] == "beta_overconfident") & (ok["estimand"] == "l1")]
    np.testing.assert_allclose(known["truth"], 0.13715662074146, atol=1e-12)


def test_skipped_cells_are_recorded_with_their_reason(out):
    frame = harness.run([*SMALL, "jobs=1"])
    skipped = frame[frame["status"] == "skipped"]
    assert set(skipped["estimator"]) == {"binned15"} and set(skipped["problem"]) == {
        "dirichlet3_overconfident"
    }
    assert skipped["reason"].str.contains("the estimator has no canonical notion").all()
    assert len(skipped) == 6


def test_all_estimators_see_the_same_prefix(out):
    """A small sample is the beginning of a larger one."""
    problem = plan(compose([*SMALL, "jobs=1"])).problems["beta_overconfident"]
    p, y = problem.object.sample(100, data_rng(0, problem.key, 2))
    frame = harness.run([*SMALL, "jobs=1"])
    for n in (50, 100):
        row = frame.query("problem == 'beta_overconfident' and n == @n and rep == 2")
        row = row.query("estimator == 'binned15' and estimand == 'l1'")
        assert (
            row["value"].item() == harness.estimate("binned15", p[:n], y[:n], "binary")["l1"].value
        )


def test_second_run_computes_nothing_and_more_reps_only_the_new(out):
    first = Experiment.of([*SMALL, "jobs=1"]).compute(quiet=True)
    again = Experiment.of([*SMALL, "jobs=1"]).compute(quiet=True)
    more = Experiment.of([*SMALL[:3], "reps=4", "jobs=1"]).compute(quiet=True)
    assert (first["todo"], again["todo"], more["todo"]) == (18, 0, 6)
    assert again["done"] == 18 and more["done"] == 18


BROKEN = """
from harness import UndefinedError
class Fails:
    notions = ("binary",)
    def __call__(self, p, y, rng):
        if len(p) > 60: raise RuntimeError("no memory of this")
        return {"l1": 0.5}
class NotThere:
    def __call__(self, p, y, rng): raise UndefinedError("too dull a sample")
class Infinite:
    def __call__(self, p, y, rng): return {"l1": 0.25, "kl": float("inf")}
class Unknown:
    def __call__(self, p, y, rng): return {"ece": 0.25}
"""


def test_failed_undefined_and_skipped_are_told_apart(out, module):
    module("broken", BROKEN)
    mine = [
        f"+estimator.{n.lower()}._target_=broken.{n}"
        for n in ("Fails", "NotThere", "Infinite", "Unknown")
    ]
    frame = harness.run(
        [*SMALL[:1], "estimator=[binned15]", *SMALL[2:], "jobs=1", "notion=binary", *mine]
    )
    frame = frame[frame["problem"] == "beta_overconfident"]

    def states(name):
        part = frame[frame["estimator"] == name]
        return {
            (n, e if isinstance(e, str) else None, s)
            for n, e, s in zip(part["n"], part["estimand"], part["status"])
        }

    assert states("fails") == {(50, "l1", "ok"), (100, None, "failed")}
    failed = frame[frame["status"] == "failed"]
    assert (
        failed[failed["estimator"] == "fails"]["reason"]
        .str.contains("RuntimeError: no memory of this")
        .all()
    )
    assert failed["reason"].str.contains("Traceback").all()
    assert states("notthere") == {(50, None, "undefined"), (100, None, "undefined")}
    assert states("infinite") == {
        (n, e, s) for n in (50, 100) for e, s in (("l1", "ok"), ("kl", "undefined"))
    }
    assert states("unknown") == {(50, None, "failed"), (100, None, "failed")}
    assert "estimand is 'ece'" in failed[failed["estimator"] == "unknown"]["reason"].iloc[0]


def test_failed_cells_run_again_and_undefined_do_not(out, module):
    module("broken2", BROKEN)
    mine = ["problem=beta_wavy", "estimator=[]", "n=100", "reps=2", "jobs=1"]
    mine += [
        "+estimator.fails._target_=broken2.Fails",
        "+estimator.notthere._target_=broken2.NotThere",
    ]
    counts = Experiment.of(mine).compute(quiet=True)
    assert (counts["todo"], counts["failed"]) == (4, 2)
    counts = Experiment.of(mine).compute(quiet=True)
    assert (counts["todo"], counts["done"], counts["failed"]) == (2, 2, 2)


def test_on_error_raise_stops_with_the_reason_and_keeps_what_is_done(out, module):
    module("broken3", BROKEN)
    mine = [
        "problem=beta_wavy",
        "estimator=[]",
        "n=[50,100]",
        "reps=1",
        "jobs=1",
        "on_error=raise",
        "+estimator.fails._target_=broken3.Fails",
    ]
    with pytest.raises(CellFailedError, match="fails on beta_wavy, n = 100"):
        Experiment.of(mine).compute(quiet=True)
    assert set(reader.load_records(out)["status"]) == {"ok", "failed"}


def test_legacy_rep_is_the_authors_seed(out):
    frame = harness.run(
        [
            "experiment=berta2026_fig1_legacy",
            "problem=beta_shifted_legacy",
            "n=200",
            "reps=[1]",
            "jobs=1",
        ]
    )
    got = frame[frame["estimand"] == "l1"].set_index("estimator")["value"]
    assert (
        abs(got["binned15_mass"] - 0.038475187419344602) < 1e-12
    )  # published run of the authors, seed 1, n = 200


HELD_MODULE = """
import os, time
from pathlib import Path
def count_parts():
    return len(list(Path(os.environ["HELD_PARTS"]).glob("part-*")))
class Held:
    "Wait once HELD_AT parts are written, so that the run cannot end before it gets its signal."
    def __call__(self, p, y, rng):
        while "HELD_AT" in os.environ and count_parts() >= int(os.environ["HELD_AT"]):
            time.sleep(0.01)
        return {"l1": float(p.mean())}
"""
LONG = [
    "problem=[beta_wavy,beta_mixed]",
    "estimator=[binned15]",
    "n=[60]",
    "reps=120",
    "+estimator.held._target_=held_module.Held",
]
PATIENCE = 300.0  # seconds, for what takes a few on a quiet machine


def _disturbed(module, out, count, number, *extra):
    """Start LONG and send signal `number` once `count` parts are written.

    Return (exit status, standard error). The run has a session of its own. It hears Ctrl-C even if
    these tests run in the background, where Ctrl-C is ignored.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *LONG, "jobs=2", f"out={out}", *extra],
        cwd=module("held_module", HELD_MODULE),
        env={
            **os.environ,
            "HELD_AT": str(count),
            "HELD_PARTS": str(out / "records"),
            "OF_FAULTS": str(out),  # by which `alive` knows the processes of this run
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + PATIENCE
    while len(parts.part_files(out)) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, err


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 6])
def test_sigkill_then_run_again_gives_the_undisturbed_records(out, module, tmp_path, parts):
    disturbed = tmp_path / "disturbed"
    _disturbed(module, disturbed, parts, signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while alive(disturbed) and time.monotonic() < end:
        time.sleep(0.02)  # a worker outlives the driver, and finishes the part that it is writing
    before = len(cell_states(disturbed))
    assert 0 < before < 480
    again = Experiment.of([*LONG, "jobs=2", f"out={disturbed}"])
    counts = again.compute(quiet=True)
    assert counts["done"] == before and counts["done"] + counts["todo"] == 480
    same_records(harness.run([*LONG, "jobs=2", f"out={tmp_path / 'quiet'}"]), again.records.read())


@pytest.mark.slow
@pytest.mark.parametrize(
    "number, status, extra",
    [(signal.SIGINT, 130, []), (signal.SIGINT, 130, ["engine=serial"]), (signal.SIGTERM, 143, [])],
)
def test_an_interruption_is_told_once_and_the_run_resumes(
    out, module, tmp_path, number, status, extra
):
    stopped = tmp_path / "stopped"
    code, err = _disturbed(module, stopped, 1 if extra else 3, number, *extra)
    assert code == status
    assert "Traceback" not in err and "interrupted; finished cells are recorded" in err
    result = reader.load_records(stopped)
    assert {"ok", "interrupted"} >= set(result["status"]) and (result["status"] == "ok").any()
    final = harness.run([*LONG, "jobs=2", f"out={stopped}"])
    assert set(final["status"]) == {"ok"} and final["key"].nunique() == 480
    states = [json.loads(path.read_text())["state"] for path in (stopped / "runs").glob("*.json")]
    assert states.count("interrupted") == 1


SHARED = """
def writes(p, y):
    p[:] = 0.5
    return 0.1
def leaves(p, y):
    raise SystemExit(0)
class Malformed:
    def __call__(self, p, y, rng):
        from harness import Estimate
        return {"l1": Estimate(0.5, kind="upper" if len(p) > 16 else "point")}
"""


def test_one_estimator_cannot_harm_another(out, module):
    """Fail alone: estimators that write into their input, call sys.exit or return a wrong bound.

    The other estimators of the same chunk see the data as drawn.
    """
    module("harmful", SHARED)
    alone = harness.run([*SMALL, "jobs=1", f"out={out / 'alone'}"])
    names = ("writes", "leaves", "Malformed")
    mine = [f"+estimator.{n.lower()}._target_=harmful.{n}" for n in names]
    ours = "estimator=[]", *mine, "+estimator.binned15._target_=harness.estimators.Binned"
    frame = harness.run([SMALL[0], *ours, *SMALL[2:], "jobs=1", f"out={out / 'together'}"])
    binary = frame[frame["problem"] == "beta_overconfident"]
    assert binary[binary["estimator"].isin([n.lower() for n in names])]["status"].eq("failed").all()
    assert "read-only" in binary[binary["estimator"] == "writes"]["reason"].iloc[0]
    pick = "estimator == 'binned15' and problem == 'beta_overconfident' and estimand == 'l1'"
    assert binary.query(pick)["value"].tolist() == alone.query(pick)["value"].tolist()


LASTING = """
import os, shutil, time
from pathlib import Path

def detaches(p, y):
    if not os.fork():
        os.setsid()
        if not os.fork():
            Path("PIDS", str(os.getpid())).touch()
            time.sleep(1000)
        time.sleep(1000)
    while not os.listdir("PIDS"):
        time.sleep(0.01)
    return 0.25
def deletes_the_folder(p, y):
    shutil.rmtree(os.getcwd())
    return 0.25
def fine(p, y):
    return 0.25
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux adopts orphans")
def test_detached_processes_end_with_the_run_and_a_deleted_folder_harms_none(out, module, tmp_path):
    pids, folder = tmp_path / "pids", tmp_path / "folder"
    pids.mkdir()
    folder.mkdir()
    own = module("lasting", LASTING.replace("PIDS", str(pids)))
    names = ("detaches", "deletes_the_folder", "fine")
    run = [
        *("problem=beta_wavy", "estimator=[]", "n=30", "reps=1", "jobs=2", f"out={out}"),
        *(f"+estimator.{name}._target_=lasting.{name}" for name in names),
    ]
    paths = os.pathsep.join([str(own), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-m", "harness", *run],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
    )
    rows = harness.load_records(out).drop_duplicates("estimator")
    assert set(rows["estimator"]) == set(names) and set(rows["status"]) == {"ok"}
    detached = [int(path.name) for path in pids.iterdir()]
    deadline = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in detached):
        assert time.monotonic() < deadline, "a detached process was left"
        time.sleep(0.05)


def test_what_an_estimator_leaves_behind_costs_its_own_cells(out, module):
    """On other engines: test_engines.py."""
    module("left_behind_here", left_behind.MODULE)
    own = [f"+estimator.{name}._target_=left_behind_here.{name}" for name in left_behind.REASONS]
    asked = ["problem=beta_wavy", "n=30", "reps=4", "estimator=[binned15]", *own, "jobs=2"]
    left_behind.check(harness.run(asked), 4)
    lost = [name for name, reason in left_behind.REASONS.items() if reason is None]
    again = harness.run(asked)  # what was left behind is not there any more
    assert again[again["estimator"].isin(lost)]["status"].eq("ok").all()


DIES = """
import os, signal
class Mine:
    notions = ("binary",)
    def sample(self, n, rng):
        return rng.random(n), rng.integers(0, 2, n)
    def truth(self, estimand, notion):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_killed_truth_asks_for_another_run_before_it_blames_the_problem(out, module):
    module("dies", DIES)
    own = "problem=[]", "+problem.mine._target_=dies.Mine"
    message = "computing the truth of mine crashed its process .*; run the same command again"
    with pytest.raises(BadInputError, match=message):
        harness.run([*own, "estimator=[binned15]", "n=20", "reps=1", "jobs=1"])
    assert set(reader.load_records(out)["status"]) == {"ok"}


def test_a_replaced_file_in_one_session_is_another_problem(out, tmp_path):
    rng = np.random.default_rng(0)
    values = []
    for size in (50, 60):
        np.savez(tmp_path / "preds.npz", p=rng.random(size), y=rng.integers(0, 2, size))
        frame = harness.run(
            [
                "problem=predictions",
                f"problem.predictions.path={tmp_path}/preds.npz",
                "estimator=[binned15]",
                "jobs=1",
            ]
        )
        values.append((frame["key"].iloc[0], frame["problem_key"].iloc[0], frame["n"].iloc[0]))
    assert (
        len({v[0] for v in values}) == 2
        and len({v[1] for v in values}) == 2
        and [v[2] for v in values] == [50, 60]
    )
    table = harness.evaluate(harness.load_records(out))
    assert (table["reps"] == 1).all()  # two files are two problems of one id


BREAKING = """
import ctypes
import numpy as np

def spins(p, y):
    ctypes.PyDLL(None).sleep(1000)  # keeps the interpreter's lock, as C code can
def grows(p, y):
    held = []
    while True:
        held.append(np.ones(10_000_000))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, said",
    [
        ("spins", "took longer than 6 s"),
        # The second, if it grows by 2 GB before the supervising process looks again
        ("grows", "used more than 1,500 MB|MemoryError"),
    ],
)
def test_a_cell_that_takes_too_much_is_stopped_and_the_run_goes_on(out, module, cli, name, said):
    module("breaking", BREAKING)
    limits = ("cell_timeout=6",) if name == "spins" else ("max_memory=1500",)
    own = (
        "problem=[beta_wavy]",
        "n=40",
        "reps=2",
        "jobs=2",
        "estimator=[binned15]",
        f"+estimator.own._target_=breaking.{name}",
    )
    code, _, err = cli(*own, *limits)
    result = reader.load_records(out)
    mine = result[result["estimator"] == "own"]
    assert (
        code == 1
        and "Traceback" not in err
        and len(mine) == 2
        and set(mine["status"]) == {"failed"}
    )
    assert (
        mine["reason"].str.contains(said).all()
        and mine["reason"].str.contains(limits[0].split("=")[0]).all()
    )
    assert set(result.loc[result["estimator"] == "binned15", "status"]) == {"ok"}


def test_a_killed_driver_leaves_no_worker_behind(out, module, tmp_path):
    """After SIGKILL of the driver alone, no process of the run is alive within PATIENCE."""
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *LONG, "jobs=2", f"out={tmp_path / 'out'}"],
        cwd=module("held_module", HELD_MODULE),
        env={
            **os.environ,
            "HELD_AT": "3",
            "HELD_PARTS": str(tmp_path / "out" / "records"),
            "OF_THIS_TEST": str(tmp_path),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + PATIENCE
    while (
        len(parts.part_files(tmp_path / "out")) < 3
        and process.poll() is None
        and time.monotonic() < end
    ):
        time.sleep(0.02)
    assert len(_alive(tmp_path)) > 2
    process.kill()
    process.wait()
    end = time.monotonic() + PATIENCE
    while _alive(tmp_path) and time.monotonic() < end:
        time.sleep(0.1)
    assert not _alive(tmp_path)


def _alive(tag):
    """Return the processes with OF_THIS_TEST=tag in their environment."""
    result = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"OF_THIS_TEST={tag}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                result.append(int(folder.name))
        except OSError:
            continue
    return result


def test_a_run_without_a_number_says_why_and_draws_nothing(out, module, cli):
    module("never", "def never(p, y):\n    raise ValueError('no luck')\n")
    own = (
        "problem=beta_wavy",
        "estimator=[]",
        "n=[20,40]",
        "reps=1",
        "jobs=1",
        "+estimator.never._target_=never.never",
    )
    code, text, err = cli(*own)
    assert (
        code == 1
        and "no luck" in err
        and "no picture is drawn or overwritten" in err
        and not (out / "variations").exists()
    )
    code, text, err = cli(
        "problem=beta_wavy", "estimator=[simplex_ece]", "n=[20]", "reps=1", "jobs=1"
    )
    assert code == 1 and "skipped simplex_ece: the estimator has no binary notion" in err


def test_an_output_folder_that_cannot_be_is_one_sentence(out, tmp_path, cli):
    (tmp_path / "file").write_text("taken")
    code, _, err = cli("experiment=smoke", f"out={tmp_path}/file", "n=50", "reps=1", "jobs=1")
    assert code == 2 and len(err.strip().splitlines()) == 1 and "Traceback" not in err


def test_a_finished_cell_that_would_now_be_skipped_stays_finished(out, monkeypatch):
    from harness.plan import plan as planning

    command = ["problem=beta_wavy", "estimator=binned15", "n=50", "reps=2", "jobs=1", f"out={out}"]
    harness.run(command)
    before = sorted((out / "records").iterdir())
    monkeypatch.setattr(planning, "skip_reason", lambda *_: "too large now")
    for _ in range(2):
        assert list(harness.run(command)["status"].unique()) == ["ok"]
    assert sorted((out / "records").iterdir()) == before


def test_an_interruption_that_an_estimator_turns_into_another_error_stops_the_run(out, monkeypatch):
    """With engine=serial, our estimators run in this process, which receives the signal."""

    def interrupted(estimator, *given, **named):
        try:
            stops.handle(signal.SIGTERM, None)
        except KeyboardInterrupt:
            raise RuntimeError("Error calling __set_name__") from None

    monkeypatch.setattr(chunk, "apply", interrupted)
    run = Experiment.of([*SMALL, "engine=serial"])
    with pytest.raises(stops.RunInterruptedError) as stop:
        run.compute(quiet=True)
    assert stop.value.terminated
    assert set(reader.load_records(out)["status"]) <= {"interrupted", "skipped"}


def test_an_interruption_in_a_destructor_stops_the_run(out, monkeypatch, capsys):
    """Python ignores what a destructor raises, and prints a traceback of it."""

    class Ends:
        def __del__(self):
            stops.handle(signal.SIGTERM, None)

    def signalled(estimator, *given, **named):
        Ends()
        return apply(estimator, *given, **named)

    apply = chunk.apply
    monkeypatch.setattr(sys, "unraisablehook", stops.show_ignored)
    monkeypatch.setattr(chunk, "apply", signalled)
    with pytest.raises(stops.RunInterruptedError) as stop:
        Experiment.of([*SMALL, "engine=serial", "jobs=1"]).compute(quiet=True)
    assert stop.value.terminated and "ok" in set(reader.load_records(out)["status"])
    assert "Traceback" not in capsys.readouterr().err


def test_an_interruption_that_python_turns_into_another_error_stops_the_run(out, monkeypatch):
    def interrupted(*given):
        with contextlib.suppress(KeyboardInterrupt):
            stops.handle(signal.SIGINT, None)
        raise RuntimeError("Error calling __set_name__")

    monkeypatch.setattr("harness.execute.run._compute", interrupted)
    with pytest.raises(stops.RunInterruptedError, match="the same command resumes the run"):
        Experiment.of([*SMALL, "engine=serial"]).compute(quiet=True)
    monkeypatch.setattr(stops, "handle", lambda *given: None)  # no signal: a defect
    with pytest.raises(RuntimeError, match="__set_name__"):
        Experiment.of([*SMALL, "engine=serial"]).compute(quiet=True)
