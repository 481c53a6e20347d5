"""Where chunks of cells are computed: in worker processes of this machine (loky), or of a Dask or Ray cluster.

Whatever the engine, a worker hands its chunk to a process of its own (harness.execute.supervise), which writes the records. All
that comes back is which cells ended that process. An engine that lost a worker gives its chunk to another, or raises
one of DEATHS.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.common.escaping import message_of
from harness.configure.addresses import host_and_port
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.execute import supervise

PACKAGES = {"dask": "distributed", "ray": "ray"}
ANSWERS_WITHIN = 10.0  # seconds for whoever is at an address
SEEN_WITHIN = 60.0  # seconds until another host sees what was just written: file systems of a network remember what was not there
MANAGER = "ExecutorManagerThread"  # of loky
TRIES = 3  # times that an engine gives a chunk to another worker when one is gone
# what engines raise where one of their workers is gone: loky, Dask, Ray
DEATHS = (
    "TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "RayActorError", "ActorDiedError",
    "WorkerCrashedError", "NodeDiedError", "OutOfMemoryError",
)  # fmt: skip
# number of a chunk, the pickled chunk, how many cells it has, whose code computes it (`Plan.owner`)
Task = tuple[int, bytes, int, str | None]
Answer = tuple[int, list[supervise.Broke]]  # number of a chunk, and those of its cells that ended their process


def worker_count(settings: Settings) -> int:
    """Worker processes of a run."""
    import joblib

    if settings.engine == "serial":
        return 1
    return int(joblib.cpu_count() if settings.jobs < 0 else settings.jobs)


def is_death(error: BaseException) -> bool:
    """Whether an engine says with this that one of its workers is gone."""
    return type(error).__name__ in DEATHS


@contextlib.contextmanager
def connected(settings: Settings, workers: int) -> Iterator[Settings]:
    """Join the cluster that the configuration asks for, or start one of so many workers on this machine; it ends with the block.

    Yields
    ------
    Settings
        Those of the run; with an address and jobs=-1, `jobs` is the number of processors of the cluster.

    Raises
    ------
    BadInputError
        If the engine's package is absent, nobody answers at the address.
    """
    if settings.engine not in PACKAGES:
        yield settings
        return
    package = _optional(settings.engine)
    if settings.address:
        _answers(settings)
    with _dask(package, settings, workers) if settings.engine == "dask" else _ray(package, settings, workers) as processors:
        joined = settings.address and settings.jobs < 0
        yield replace(settings, jobs=processors) if joined else settings


@contextlib.contextmanager
def answers(
    settings: Settings, workers: int, tasks: Iterable[Task], limits: supervise.Limits, seen: Path | None
) -> Iterator[Iterable[Answer]]:
    """The answers to tasks, which are taken as workers become free, in the order in which they are done; within `connected`. All
    workers must see the file `seen`, if one is given."""
    engine = settings.engine
    most = workers if settings.address else 2 * workers  # a cluster that others use, too, is given no more than jobs= says
    common = limits, supervise.Driver.here(), None if engine == "loky" else seen, f"calharness-{uuid.uuid4().hex}"
    if engine == "loky":
        with _of_loky(workers, tasks, common) as found:
            yield found
    elif engine == "dask":
        with _of_dask(most, tasks, common) as found:
            yield found
    else:
        with _of_ray(most, tasks, common) as found:
            yield found


def _guarded(
    at: int,
    payload: bytes,
    cells: int,
    owner: str | None,
    limits: supervise.Limits,
    driver: supervise.Driver,
    seen: Path | None,
    run: str,
    stopped: Callable[[str], bool] = lambda run: False,
) -> Answer:
    """In a worker: have a chunk computed. `stopped` is asked now and then whether the run is."""
    if seen is not None and not _is_seen(seen):
        raise BadInputError(
            f"a worker on {socket.gethostname()} does not see the folder {seen.parent.parent}; out must be a folder that all "
            "workers share, or a store such as s3://BUCKET/FOLDER."
        )
    with supervise.interruptible():
        supervise.begin_run(run)
        return at, supervise.compute(payload, cells, owner, limits, driver, lambda: stopped(run))


def _guarded_here(*task: Any) -> Answer:
    """In a worker of loky, which is to end with the process that started the run."""
    supervise.ends_with(task[5])
    return _guarded(*task)


def _is_seen(path: Path) -> bool:
    end = time.monotonic() + SEEN_WITHIN
    while not path.is_file():
        if time.monotonic() > end:
            return False
        time.sleep(1.0)
    return True


@contextlib.contextmanager
def _of_loky(workers: int, tasks: Iterable[Task], common: tuple[Any, ...]) -> Iterator[Iterator[Answer]]:
    import joblib

    calls = (joblib.delayed(_guarded_here)(*task, *common) for task in tasks)
    pool = joblib.Parallel(n_jobs=workers, backend="loky", batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered")
    with _workers_ignore_interrupts():
        found: Generator[Any, None, None] = pool(calls)
    try:
        yield found
    except BaseException as error:
        _end(found, error)
        raise


def _end(answers: Generator[Any, None, None], error: BaseException) -> None:
    """End workers as if the error had come up while their answers were waited for; left alone they would be ended with a
    warning. The thread that hands out their work may stumble over what is taken away from it, and is not listened to."""
    hook = threading.excepthook
    threading.excepthook = lambda found: None if getattr(found.thread, "name", "") == MANAGER else hook(found)
    try:
        with contextlib.suppress(type(error)):
            answers.throw(error)
    finally:
        threading.excepthook = hook


@contextlib.contextmanager
def _workers_ignore_interrupts() -> Iterator[None]:
    """Worker processes that are started in here ignore Ctrl-C. It reaches them as well as this process, and a worker that is
    importing or waiting has nothing to save: it would only print a traceback. While a worker computes a chunk it does listen, so
    that it can save what it has (`guard.interruptible`)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _dask(distributed: Any, settings: Settings, workers: int) -> Iterator[int]:
    """Hold a client, which is the default one from then on; yields the number of the cluster's threads."""
    import logging

    if settings.address:
        try:
            client = distributed.Client(settings.address, timeout=ANSWERS_WITHIN)
        except (OSError, TimeoutError, ValueError) as error:
            raise _silent(settings, error) from None
    else:
        with _workers_ignore_interrupts():
            # no limit of memory here: the guarded process has its own, and the worker itself stays small
            client = distributed.Client(
                n_workers=workers, threads_per_worker=1, memory_limit=0, dashboard_address=None, silence_logs=logging.CRITICAL
            )
    with client:
        try:
            client.wait_for_workers(1, timeout=ANSWERS_WITHIN)
        except TimeoutError:
            raise BadInputError(
                f"address is {settings.address!r}, a scheduler without a worker; start one (dask worker)."
            ) from None
        yield sum(client.nthreads().values())


@contextlib.contextmanager
def _of_dask(most: int, tasks: Iterable[Task], common: tuple[Any, ...]) -> Iterator[Iterator[Answer]]:
    import distributed

    client = distributed.default_client()
    held: set[Any] = set()

    def submit(task: Task) -> Any:
        return client.submit(_guarded, *task, *common, _is_stopped_on_dask, pure=False)

    def done() -> Iterable[Any]:
        found: Iterable[Any] = distributed.wait(list(held), return_when="FIRST_COMPLETED").done
        return found

    try:
        yield _in_turn(tasks, most, held, submit, done, lambda future: future.result())
    except BaseException as error:
        if client.status != "running" and not isinstance(error, KeyboardInterrupt):
            raise BadInputError(
                "the scheduler of Dask is gone; what was finished is recorded, and the same command goes on where one answers."
            ) from error
        with contextlib.suppress(Exception):
            client.run(_stop_on_dask, common[-1])
            distributed.wait(list(held), timeout=supervise.WRITES_WITHIN)
        raise


_stopped: set[str] = set()  # of this worker of Dask: the runs that are stopped


def _stop_on_dask(run: str) -> None:
    """In a worker, beside the threads that have chunks computed."""
    _stopped.add(run)


def _is_stopped_on_dask(run: str) -> bool:
    return run in _stopped


@contextlib.contextmanager
def _ray(ray: Any, settings: Settings, workers: int) -> Iterator[int]:
    """Hold a connection to a Ray cluster, one that is there already where this process has one; yields its processors."""
    if ray.is_initialized():
        yield int(ray.cluster_resources().get("CPU", workers))
        return
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    local = {} if settings.address else {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 10**8}
    try:
        try:
            ray.init(settings.address or "local", log_to_driver=False, logging_level="ERROR", **local)
        except Exception as error:
            if not settings.address:
                raise
            raise _silent(settings, error) from None
        finally:
            if in_main and before is not None:  # Ray's would end this process with another status
                signal.signal(signal.SIGTERM, before)
        yield int(ray.cluster_resources().get("CPU", workers))
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _of_ray(most: int, tasks: Iterable[Task], common: tuple[Any, ...]) -> Iterator[Iterator[Answer]]:
    import ray

    remote = ray.remote(num_cpus=1, max_retries=TRIES)(_guarded)
    held: set[Any] = set()

    def submit(task: Task) -> Any:
        return remote.remote(*task, *common, _is_stopped_on_ray)

    def done() -> Iterable[Any]:
        found: Iterable[Any] = ray.wait(list(held))[0]
        return found

    def result(reference: Any) -> Answer:
        try:
            found: Answer = ray.get(reference)
            return found
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None

    try:
        yield _in_turn(tasks, most, held, submit, done, result)
    except BaseException:
        with contextlib.suppress(Exception):
            # not ray.cancel: where a task ends at that moment, it aborts this process (2.60, CompletePendingTask)
            flag = ray.remote(num_cpus=0)(_Flag).options(name=common[-1]).remote()
            ray.wait(list(held), num_returns=len(held), timeout=supervise.WRITES_WITHIN)
            del flag
        raise


class _Flag:
    """An actor that is there, under the name of a run, once that is stopped."""


def _is_stopped_on_ray(run: str) -> bool:
    import ray

    try:
        return ray.get_actor(run) is not None
    except ValueError:
        return False


def _in_turn(
    tasks: Iterable[Task],
    most: int,
    held: set[Any],
    submit: Callable[[Task], Any],
    done: Callable[[], Iterable[Any]],
    answer: Callable[[Any], Answer],
) -> Iterator[Answer]:
    """The answers to tasks, of which at most so many are handed out at a time; `held` are those."""
    rest = iter(tasks)
    while True:
        while len(held) < most and (task := next(rest, None)) is not None:
            held.add(submit(task))
        if not held:
            return
        for one in list(done()):
            held.discard(one)
            yield answer(one)


def _optional(engine: str) -> Any:
    import importlib

    if engine == "ray":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module(PACKAGES[engine])
    except ImportError as error:
        raise BadInputError(f"engine={engine} needs the package {PACKAGES[engine]}; install calharness[{engine}].") from error


def _answers(settings: Settings) -> None:
    """Raise BadInputError where nobody is at the address."""
    where = host_and_port(settings.engine, settings.address)
    if where is None:  # Ray's auto
        return
    try:
        socket.create_connection(where, ANSWERS_WITHIN).close()
    except OSError as error:
        raise _silent(settings, error) from None


def _silent(settings: Settings, error: Exception) -> BadInputError:
    why = next(iter(message_of(error).strip().splitlines()), type(error).__name__)
    return BadInputError(f"address is {settings.address!r}, where no {settings.engine} cluster answers ({why}).")
