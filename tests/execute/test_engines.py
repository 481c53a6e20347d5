"""Each engine and launcher: equal records, resuming on another, dead workers, stopped runs.

The tests start the clusters on this machine. A test is skipped if its package is not installed.
SLURM is skipped unless CALHARNESS_SLURM names a script that starts a cluster: `SCRIPT start DIR`,
`. DIR/env.sh`, `SCRIPT stop DIR`.
"""

import contextlib
import importlib.util
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import left_behind
import numpy as np
import pandas as pd
import pytest

import harness
from harness.configure.addresses import check_address
from harness.errors import BadInputError
from harness.execute import engines, supervise
from harness.execute.processes import Limits
from harness.records import parts, reader
from harness.workflow.experiment import Experiment

SMALL = [
    "problem=[beta_overconfident,dirichlet3_overconfident]",
    "estimator=[binned15,variational_isotonic]",
    "n=[50,100]",
]
BOUNDS = [
    "key",
    "problem",
    "notion",
    "n",
    "rep",
    "estimator",
    "estimand",
    "status",
    "value",
    "low",
    "high",
    "level",
    "diagnostics",
]
PATIENCE = 300.0  # seconds for steps that take a few on a quiet machine
BIN = Path(sys.executable).parent
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}


def same_records(a, b):
    """Assert the same cells with the same numbers, bit by bit."""
    a, b = (f[BOUNDS].sort_values(["key", "estimand"]).reset_index(drop=True) for f in (a, b))
    pd.testing.assert_frame_equal(a, b, check_exact=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def needs(package, extra):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"the package {package} is absent: pip install calharness[{extra}]")


def wait_for(ready, what):
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module", autouse=True)
def quiet_ray():
    """Ray sends no usage statistics and writes no token."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Return start("name", command...) -> process, which has its own cache as on another host.

    After the tests, the process and all that it started are ended.
    """
    started = []

    def start(name, *command):
        folder = tmp_path_factory.mktemp(name)
        log, env = (
            open(folder / "log", "wb"),
            {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        )
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env=env,
        )
        started.append(process)
        return process

    yield start
    for process in reversed(started):
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def dask_cluster(start, *threads):
    """Yield (address, processes) of a Dask scheduler and of workers with so many threads."""
    import distributed

    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    dask = str(BIN / "dask")
    started = [
        start(
            "scheduler",
            dask,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
        )
    ]
    wait_for(lambda: listens(port), "no scheduler")
    worker = "--no-dashboard", "--memory-limit", "0", "--nthreads"
    started += [start("worker", dask, "worker", address, *worker, count) for count in threads]
    with distributed.Client(address, timeout=PATIENCE) as client:
        client.wait_for_workers(len(threads), timeout=PATIENCE)
    return address, started


@pytest.fixture(scope="module")
def scheduler(processes):
    """The address of a Dask scheduler with two workers, of two threads and of one."""
    return dask_cluster(processes, "2", "1")[0]


@pytest.fixture(scope="module")
def head(processes, tmp_path_factory):
    """The address of a Ray head."""
    port = free_port()
    where = f"--port={port}", "--node-ip-address=127.0.0.1"
    processes(
        "head",
        str(BIN / "ray"),
        "start",
        "--head",
        *where,
        "--num-cpus=2",
        "--include-dashboard=false",
        "--block",
    )
    wait_for(lambda: listens(port), "no head")
    return f"127.0.0.1:{port}"


WHERE = ["loky", "dask", "dask at an address", "ray", "ray at an address"]


@pytest.fixture
def engine(request):
    """Return the options of an engine by its name in WHERE."""
    name, at, _ = request.param.partition(" at ")
    if name in engines.PACKAGES:
        needs(engines.PACKAGES[name], name)
    options = [f"engine={name}", "jobs=2"]
    if at:
        options.append(
            f"address={request.getfixturevalue({'dask': 'scheduler', 'ray': 'head'}[name])}"
        )
    return options


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Records of one process."""
    return harness.run(
        [*SMALL, "reps=6", "engine=serial", f"out={tmp_path_factory.mktemp('serial')}"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", WHERE, indirect=True)
def test_equal_records_begun_on_another_engine(engine, reference, out):
    """One process computes a sixth of the cells, the engine computes the others."""
    Experiment.of([*SMALL, "reps=1", "engine=serial"]).compute(quiet=True)
    whole = Experiment.of([*SMALL, "reps=6", *engine])
    counts = whole.compute(quiet=True)
    assert (counts["done"], counts["todo"], counts["failed"]) == (6, 30, 0)
    same_records(reference, whole.records.read())
    again = Experiment.of([*SMALL, "reps=6", "engine=serial"]).compute(quiet=True)
    assert (again["done"], again["todo"]) == (36, 0)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask at an address"], indirect=True)
def test_workers_that_share_no_disk_write_to_a_store(engine, reference, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = Experiment.of([*SMALL, "reps=6", *engine, f"out={(tmp_path / 'store').as_uri()}"])
    assert run.compute(quiet=True)["todo"] == 36
    same_records(reference, run.records.read())
    assert (
        len(parts.part_files(run.records.out))
        == len(list((tmp_path / "store" / "records").iterdir()))
        > 1
    )


LISTENS = """
import importlib, sys
import psutil
from harness.configure.compose import compose
from harness.execute import engines
from harness.execute.processes import Limits

importlib.import_module(engines.PACKAGES[sys.argv[1]])  # its switches must not be read by then
settings = compose([f"engine={sys.argv[1]}", "jobs=2"])
with engines.connected(settings, 2, Limits(60.0), None):
    here = psutil.Process()
    found = [
        connection.laddr.ip
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections()
        if connection.status == "LISTEN"
    ]
    print("listens", *found)
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_of_this_machine_listens_on_this_machine_alone(engine):
    needs(engines.PACKAGES[engine], engine)
    needs("psutil", "test")
    done = subprocess.run(
        [sys.executable, "-c", LISTENS, engine], capture_output=True, text=True, timeout=PATIENCE
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("listens"))
    addresses = line.split()[1:]
    assert len(addresses) > 2
    assert {address.removeprefix("::ffff:") for address in addresses} == {"127.0.0.1"}


BREAKING = """
import ctypes, os, signal, time
from pathlib import Path
import numpy as np

def killed(p, y):
    os.kill(os.getpid(), signal.SIGKILL)
def leaves(p, y):
    os._exit(3)
def leaves_quietly(p, y):
    os._exit(0)
def crashes(p, y):
    ctypes.string_at(0)
def spins(p, y):
    ctypes.PyDLL(None).sleep(1000)  # keeps the interpreter's lock, as C code can
def giant(p, y):
    return float(np.ones(10**11)[0])
def forks(p, y):
    return 0.25 if os.fork() else 0.5
def kills_its_worker_once(p, y):
    forking = os.getppid()
    worker = int(Path(f"/proc/{forking}/stat").read_text().rpartition(")")[2].split()[1])
    if worker == DRIVER:  # no worker of an engine is in between
        worker = forking
    command = Path(f"/proc/{worker}/cmdline").read_text()
    near_driver = DRIVER in (os.getpid(), forking, worker)  # the trial in a child of the driver
    if not os.path.exists("MARK") and not near_driver:
        Path("MARK").write_text(command)
        os.kill(worker, signal.SIGKILL)
        time.sleep(60)
    return 0.25
def sleeps(p, y):
    time.sleep(0.2)
    return 0.5
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds a worker by /proc")
@pytest.mark.parametrize("engine", WHERE, indirect=True)
def test_a_dead_worker_costs_nothing_and_a_crashing_estimator_its_own_cells(
    engine, out, module, tmp_path
):
    mark = tmp_path / "mark"
    module("breaking_here", BREAKING.replace("MARK", str(mark)).replace("DRIVER", str(os.getpid())))
    reasons = {
        "killed": "SIGKILL",
        "leaves": "exit status 3",
        "leaves_quietly": "exit status 0",
        "crashes": "SIG",
        "spins": "took longer than 5 s",
        "giant": "MemoryError",
    }
    fine = ("forks", "kills_its_worker_once")
    own = [f"+estimator.{name}._target_=breaking_here.{name}" for name in (*reasons, *fine)]
    asked = ["problem=beta_wavy", "n=40", "reps=2", "estimator=[binned15]", "cell_timeout=5"]
    run = Experiment.of([*asked, *own, *engine])
    in_children = (
        engine[0] == "engine=loky"
    )  # there the process that is killed holds the cell, which fails with it
    counts = run.compute(quiet=True)
    assert counts["failed"] == 12 + in_children
    if in_children:
        assert run.compute(quiet=True)["todo"] == 13
    killed = mark.read_text()
    assert "harness.execute" in killed or "multiprocessing" in killed or "ray::" in killed, killed
    found = run.records.read()
    state = found.groupby("estimator")["status"].agg(set).to_dict()
    assert state == {
        **dict.fromkeys(("binned15", *fine), {"ok"}),
        **dict.fromkeys(reasons, {"failed"}),
    }
    assert set(found.loc[found["estimator"] == "forks", "value"]) == {0.25}
    for name, reason in reasons.items():
        told = found.loc[found["estimator"] == name, "reason"]
        assert len(told) == 2 and told.str.contains(reason).all()


KILLED_BETWEEN = """
import os, signal, time
from pathlib import Path

def die_once(process, name):
    try:
        open(f"MARKS/{name}", "x").close()
    except FileExistsError:
        return
    os.kill(process, signal.SIGKILL)
    time.sleep(60)
class Draws:
    notions = ("binary",)
    def sample(self, n, rng):
        die_once(os.getpid(), "computing")
        forking = os.getppid()
        worker = int(Path(f"/proc/{forking}/stat").read_text().rpartition(")")[2].split()[1])
        if worker != DRIVER:
            die_once(worker, "worker")
        p = rng.random(n)
        return p, (p > 0.5).astype(int)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds a worker by /proc")
@pytest.mark.parametrize("engine", ["loky", "dask", "ray"], indirect=True)
def test_a_process_that_is_killed_between_two_cells_costs_none_and_nobody_is_blamed(
    engine, out, module, tmp_path, capfd
):
    """Samples are drawn between two cells. Once, their process is killed, and once its worker."""
    marks = tmp_path / "marks"
    marks.mkdir()
    text = KILLED_BETWEEN.replace("MARKS", str(marks)).replace("DRIVER", str(os.getpid()))
    module("killed_between", text)
    own = "problem=[]", "+problem.draws._target_=killed_between.Draws"
    run = Experiment.of([*own, "estimator=[binned15]", "n=40", "reps=8", *engine])
    assert run.compute(quiet=True)["failed"] == 0
    is_cluster = engine[0] != "engine=loky"
    killed = {"computing", "worker"} if is_cluster else {"computing"}
    assert {path.name for path in marks.iterdir()} == killed
    records = run.records.read()
    assert records["key"].nunique() == 8 and set(records["status"]) == {"ok"}
    assert "drawing its sample" not in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask", "ray"], indirect=True)
def test_what_an_estimator_leaves_behind_costs_its_own_cells(engine, out, module):
    module("left_behind_there", left_behind.MODULE)
    own = [f"+estimator.{name}._target_=left_behind_there.{name}" for name in left_behind.REASONS]
    asked = ["problem=beta_wavy", "n=30", "reps=4", "estimator=[binned15]", *own, *engine]
    left_behind.check(harness.run(asked), 4)


OTHERS = """
import sys
import numpy as np

def changes_numpy(p, y):
    np.abs = lambda x, *rest, **names: 0 * x + 7.0
    return 0.25
def changes_the_sample(p, y):
    for array in (p, y):
        try:
            array.setflags(write=True)
        except ValueError:
            continue
        array.sort()
    return float(p[0])
def measures(p, y):
    neighbours = [name for name in sys.modules if name == "harness_neighbour"]
    return float(np.abs(p - y).mean()) + len(neighbours)
class Draws:
    notions = ("binary",)
    def sample(self, n, rng):
        np.abs = lambda x, *rest, **names: 0 * x + 5.0
        p = rng.random(n)
        return p, (p > 0.5).astype(int)
    def truth(self, estimand, notion):
        np.sqrt = np.sum = lambda x, *rest, **names: 9.0
        return 0.5
"""
AT_IMPORT = """
import numpy as np
np.abs = np.sqrt = lambda x, *rest, **names: 0 * x + 3.0
def changes_at_import(p, y):
    return 0.25
"""
OURS = [
    "problem=[beta_overconfident,beta_wavy]",
    "notion=all",
    "estimator=[binned15,debiased15]",
    "n=100",
    "reps=6",
]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["serial", *WHERE], indirect=True)
def test_user_code_does_not_change_the_numbers_of_others(engine, tmp_path, module, monkeypatch):
    """An estimator, a module and a problem change numpy. Another estimator writes into its
    sample.
    """
    for name in ("abs", "sqrt", "sum"):
        monkeypatch.setattr(
            np, name, getattr(np, name)
        )  # put back: planning imports modules into this process
    module("harness_others", OTHERS)
    measures = "+estimator.measures._target_=harness_others.measures"
    alone = Experiment.of([*OURS, measures, "engine=serial", f"out={tmp_path / 'alone'}"])
    alone.compute(quiet=True)
    expected = alone.records.read()
    module("harness_neighbour", AT_IMPORT)
    names = ("changes_numpy", "changes_the_sample")
    others = [f"+estimator.{name}._target_=harness_others.{name}" for name in names]
    others += ["+estimator.changes_at_import._target_=harness_neighbour.changes_at_import"]
    others += ["+problem.draws._target_=harness_others.Draws"]
    run = Experiment.of([*OURS, measures, *others, *engine, f"out={tmp_path / 'beside'}"])
    assert run.compute(quiet=True)["failed"] == 0
    found = run.records.read()
    assert set(found["estimator"]) == {*expected["estimator"], *names, "changes_at_import"}
    same_records(expected, found[found["key"].isin(expected["key"])])
    truths = ["problem", "notion", "estimand", "truth", "truth_error"]
    of_ours = [
        frame[frame["problem"] != "draws"][truths].dropna().drop_duplicates()
        for frame in (expected, found)
    ]
    assert len(of_ours[0]) > 4
    pd.testing.assert_frame_equal(
        *(frame.sort_values(truths).reset_index(drop=True) for frame in of_ours), check_exact=True
    )


TEXTS = r"""
from harness import Estimate, UndefinedError

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")
class Odd(SyntaxError):
    filename = 3
def no_utf8(p, y):
    raise FileNotFoundError("no file \udc80.csv")
def mute(p, y):
    raise Mute()
def odd(p, y):
    raise Odd()
def steers(p, y):
    raise ValueError("\x1b[2J\r\x07\x9b31m\u202e")
def undefined(p, y):
    raise UndefinedError("\udc80 \x1b[2J")
def undefined_and_mute(p, y):
    raise type("MuteToo", (UndefinedError,), {"__str__": Mute.__str__})
def names(p, y):
    return {"l1\udc80\x1b": 0.5}
def diagnoses(p, y):
    return Estimate(0.5, diagnostics={"\udc80\x1b": 1.0})
"""
FAILED = {
    "no_utf8": r"FileNotFoundError: no file \udc80.csv",
    "mute": "Mute: (its message cannot be read",
    "odd": "Odd: its message cannot be read",
    "steers": r"ValueError: \x1b[2J\r\x07\x9b31m\u202e",
    "names": r"estimand is 'l1\udc80\x1b'",
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["serial", *WHERE], indirect=True)
def test_an_unencodable_text_costs_its_own_cells(engine, out, module):
    module("harness_texts", TEXTS)
    names = [*FAILED, "undefined", "undefined_and_mute", "diagnoses"]
    own = [f"+estimator.{name}._target_=harness_texts.{name}" for name in names]
    asked = ["problem=beta_wavy", "n=40", "reps=4", "estimator=[binned15]", *own, *engine]
    for _ in range(2):
        run = Experiment.of(asked)
        assert run.compute(quiet=True)["failed"] == 4 * len(FAILED)
    found = run.records.read()
    state = found.groupby("estimator")["status"].agg(lambda states: "|".join(set(states))).to_dict()
    undefined = dict.fromkeys(("undefined", "undefined_and_mute"), "undefined")
    assert state == {
        **dict.fromkeys(FAILED, "failed"),
        **undefined,
        "binned15": "ok",
        "diagnoses": "ok",
    }
    for name, message in FAILED.items():
        reasons = found.loc[found["estimator"] == name, "reason"]
        assert len(reasons) == 4 and reasons.str.contains(message, regex=False).all(), reasons.iloc[
            0
        ]
    texts = found[["reason", "diagnostics", "estimand"]].fillna("").to_numpy().ravel()
    assert not any("\x1b" in text or "\udc80" in text for text in texts)
    assert set(found.loc[found["estimator"] == "diagnoses", "diagnostics"]) == {
        r'{"\\udc80\\x1b": 1.0}'
    }


def processes_below(pid):
    """Return the descendants of a process."""
    found = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    parents = {int(a): int(b) for a, b in (line.split() for line in found.splitlines())}
    below, grows = {pid}, True
    while grows:
        more = {one for one, parent in parents.items() if parent in below} - below
        below, grows = below | more, bool(more)
    return below - {pid}


@pytest.mark.slow
@pytest.mark.parametrize("number,status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("engine", ["dask", "dask at an address", "ray"], indirect=True)
def test_a_run_on_a_cluster_can_be_stopped(engine, number, status, out, module, tmp_path):
    """Ctrl-C goes to all processes of a terminal, SIGTERM to one. Finished cells are recorded."""
    folder = module("breaking_there", BREAKING)
    command = [
        sys.executable,
        "-m",
        "harness",
        "problem=beta_wavy",
        "n=20",
        "reps=600",
        "estimator=[binned15]",
    ]
    command += ["+estimator.sleeps._target_=breaking_there.sleeps", *engine]
    paths = os.pathsep.join([str(folder), str(Path(harness.__file__).parents[1])])
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths},
        # SIGINT is ignored where the tests run in the background
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(
        lambda: process.poll() is not None or len(parts.part_files(out)) > 0, "nothing was recorded"
    )
    below = processes_below(process.pid)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, err
    assert "interrupted; finished cells are recorded" in err and "Traceback" not in err, err
    found = reader.load_records(out)
    assert {"ok", "interrupted"} >= set(found["status"]) and (found["status"] == "ok").any()
    wait_for(
        lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in below), "processes are left"
    )


def test_warnings_of_a_library_are_not_logged_during_a_run():
    logger = logging.getLogger("library.of.a.cluster")
    with engines._only_errors(logger):
        assert not logger.isEnabledFor(logging.WARNING) and logger.isEnabledFor(logging.ERROR)
    assert logger.isEnabledFor(logging.WARNING)


def test_a_second_cluster_of_dask_needs_no_port_of_the_first(out):
    """Dask's scheduler listens on port 8787 unless told otherwise, and warns if it is taken."""
    needs("distributed", "dask")
    with socket.socket() as first, warnings.catch_warnings():
        with contextlib.suppress(OSError):  # another cluster has the port
            first.bind(("127.0.0.1", 8787))
            first.listen()
        warnings.filterwarnings("error", message="Port")
        frame = harness.run([*SMALL, "reps=1", "engine=dask", "jobs=2", f"out={out}"])
    assert set(frame["status"]) == {"ok", "skipped"}


ENGINES = [
    ("dask", "127.0.0.1:{}"),
    ("dask", "tcp://127.0.0.1:{}"),
    ("ray", "127.0.0.1:{}"),
    ("ray", "ray://127.0.0.1:{}"),
]


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_run_in_one_sentence(out, module, processes):
    needs("distributed", "dask")
    module("breaking_then", BREAKING.replace("0.2", "0.02").replace("DRIVER", "0"))
    address, (scheduler, *_) = dask_cluster(processes, "1", "1")
    ends = threading.Thread(
        target=lambda: (wait_for(lambda: parts.part_files(out), "no records"), scheduler.kill())
    )
    asked = [
        "problem=beta_wavy",
        "n=20",
        "reps=2000",
        "estimator=[]",
        "+estimator.sleeps._target_=breaking_then.sleeps",
    ]
    run = Experiment.of([*asked, "engine=dask", f"address={address}"])
    ends.start()
    with pytest.raises(BadInputError, match="the Dask scheduler does not answer"):
        run.compute(quiet=True)
    ends.join()
    status = run.records.read()["status"]
    assert {"ok", "interrupted"} >= set(status) and (status == "ok").any()


@pytest.mark.slow
@pytest.mark.parametrize("name,address", ENGINES)
def test_an_address_without_a_cluster_is_one_sentence(name, address, out, cli):
    needs(engines.PACKAGES[name], name)
    code, _, err = cli(*SMALL, "reps=1", f"engine={name}", f"address={address.format(free_port())}")
    assert code == 2 and err.count("\n") == 1 and f"where no {name} cluster answers" in err, err


def test_addresses_are_checked():
    for engine, address, said in (
        ("loky", "head:8786", "address is 'head:8786', but engine=loky runs on this machine only"),
        ("serial", "head:8786", "but engine=serial runs on this machine only"),
        ("dask", "head", "address is 'head'; with engine=dask, allowed are HOST:PORT"),
        ("dask", "auto", "with engine=dask, allowed are"),
        ("dask", "head:99999", "with engine=dask, allowed are"),
        ("dask", 8786, "address is 8786; with engine=dask, allowed are"),
        ("ray", "tcp://head:1", "with engine=ray, allowed are auto, HOST:PORT or ray://HOST:PORT"),
        ("ray", [1, 2], "with engine=ray, allowed are"),
    ):
        with pytest.raises(BadInputError) as refused:
            check_address(engine, address)
        assert said in str(refused.value)
    for engine, address in (
        ("dask", "head:8786"),
        ("dask", "tls://[::1]:1"),
        ("ray", "auto"),
        ("ray", "ray://a.b:10001"),
    ):
        check_address(engine, address)
    with pytest.raises(BadInputError, match="engine=loky runs on this machine only"):
        Experiment.of([*SMALL, "engine=loky", "address=head:8786"])


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "SEEN_WITHIN", 0.0)
    absent = tmp_path / "out" / "runs" / "some.json"
    with pytest.raises(
        BadInputError,
        match="does not see the folder .*out; give out= a folder that all workers share",
    ):
        engines.compute_in_cluster(supervise.Task(0, b"", 1, None, False, ()), Limits(1), absent)


def launched(launcher, out, *more, env=None):
    """Run two shards as jobs of a Hydra launcher, and return the records."""
    command = [
        sys.executable,
        "-m",
        "harness",
        "-m",
        *SMALL,
        "reps=6",
        "jobs=1",
        "shards=2",
        "shard=0,1",
        f"out={out}",
    ]
    done = subprocess.run(
        [*command, f"hydra/launcher={launcher}", *more],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=out.parent,
        env={**os.environ, "PYTHONPATH": str(Path(harness.__file__).parents[1]), **(env or {})},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = {int(len(list(out.glob("runs/*.json"))))}
    assert parts == {2}
    return Experiment.of([*SMALL, "reps=6", f"out={out}"]).records.read()


@pytest.mark.slow
def test_equal_records_by_the_joblib_launcher(reference, tmp_path):
    same_records(reference, launched("joblib", tmp_path / "out"))


@pytest.mark.slow
def test_equal_records_by_submitit_on_this_machine(reference, tmp_path):
    needs("hydra_plugins.hydra_submitit_launcher", "slurm")
    same_records(
        reference, launched("submitit_local", tmp_path / "out", "hydra.launcher.timeout_min=5")
    )


@pytest.fixture
def slurm(tmp_path):
    """Environment of a SLURM with one node, started here."""
    needs("hydra_plugins.hydra_submitit_launcher", "slurm")
    script = os.environ.get("CALHARNESS_SLURM")
    if not script:
        pytest.skip("CALHARNESS_SLURM names no script that starts a SLURM")
    ports = {"SLURMCTLD_PORT": str(free_port()), "SLURMD_PORT": str(free_port())}
    folder = tmp_path / "slurm"
    started = subprocess.run(
        [script, "start", str(folder)],
        env={**os.environ, **ports},
        stdout=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    assert started.returncode == 0
    told = subprocess.run(
        ["bash", "-c", f". {folder}/env.sh; env -0"], capture_output=True, text=True, check=True
    ).stdout
    yield dict(pair.split("=", 1) for pair in told.split("\0") if pair)
    subprocess.run([script, "stop", str(folder)], check=True)


@pytest.mark.slow
def test_equal_records_by_slurm(slurm, reference, tmp_path):
    same_records(
        reference,
        launched("submitit_slurm", tmp_path / "out", "hydra.launcher.timeout_min=5", env=slurm),
    )
