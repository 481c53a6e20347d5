"""Engines distribute chunks of cells to this process, child processes, or a Dask or Ray cluster.

With every engine except `serial`, a supervised process (see `harness.execute.supervise`) computes a
chunk and writes the records. A worker sends back only the number of failed cells, the times of each
kind of cell, and the cells that ended their process. If a worker is lost, Dask and Ray send its
chunk to another worker.

Faults that need this: a worker, a host or the scheduler of a cluster vanishes. Nobody answers at
the address. Another host does not see the folder of the results.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from harness.common import user_code
from harness.common.escaping import error_message
from harness.configure.addresses import host_and_port
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.execute import processes, stops, supervise
from harness.execute.chunk import run_chunk
from harness.execute.processes import Limits
from harness.execute.supervise import Answer, Task

PACKAGES = {"dask": "distributed", "ray": "ray"}
ANSWERS_WITHIN = 10.0  # seconds within which a cluster must answer
# Seconds within which other hosts must see a new file. NFS may cache for a while that it is absent.
SEEN_WITHIN = 60.0
_RAY_REACHABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0" on all systems: one machine alone
TRIES = 3  # how often Ray sends the chunk of a lost worker to another worker
Answers = Generator[tuple[int, Answer], None, None]  # (number of a chunk, its answer)
Submit = Callable[..., Future[Answer]]


@dataclass
class Here:
    """Engine that computes chunks in this process.

    If this process has run user code, a child process computes them, because such code may have
    changed anything here. Code typed at a prompt exists only in this process and runs here anyway.
    """

    limits: Limits
    workers: int = 1

    def answers(self, tasks: Iterable[Task]) -> Answers:
        """Compute the tasks in turn, and yield (number of the task, answer)."""
        for task in tasks:
            if task.is_typed or not user_code.have_run():
                yield task.number, Answer(run_chunk((task.payload, list(range(task.cells)))))
            else:
                yield task.number, supervise.compute(task, self.limits)


@dataclass
class Workers:
    """Engine that computes chunks in worker processes.

    submit   function that sends a task to a worker and returns a future of the answer
    stop     function that ends all workers early
    workers  number of workers
    most     largest number of tasks that are sent and not yet answered
    """

    submit: Callable[[Task], Future[Answer]]
    stop: Callable[[], None]
    workers: int
    most: int

    def answers(self, tasks: Iterable[Task]) -> Answers:
        """Send the tasks to workers, and yield (number of the task, answer) as they complete.

        On an exception, the workers are stopped.
        """
        tasks, futures = iter(tasks), dict[Future[Answer], int]()
        try:
            while True:
                for task in islice(tasks, self.most - len(futures)):
                    futures[self.submit(task)] = task.number
                if not futures:
                    return
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    yield futures.pop(future), future.result()
        except BaseException:
            self.stop()
            for future in futures:
                future.cancel()
            wait(futures, timeout=2 * processes.WRITES_WITHIN)
            raise


@contextlib.contextmanager
def connected(
    settings: Settings, workers: int, limits: Limits, run_file: Path | None
) -> Iterator[Here | Workers]:
    """Yield the engine that the settings ask for, connected and ready.

    Parameters
    ----------
    settings : Settings
        Settings of the run: engine, address, jobs and limits.
    workers : int
        Number of workers to start on this machine. A cluster at an address has its own workers.
    limits : Limits
        Limits of a cell.
    run_file : Path, optional
        File of the run in the folder of results. All workers of a cluster must be able to see it. A
        file with the same name and the ending ".stop" tells them to stop.

    Raises
    ------
    BadInputError
        If the engine's package is not installed, or no cluster answers at the address.
    WorkerDiedError
        If the cluster loses its workers.
    """
    engine = settings.engine
    is_limited = settings.cell_timeout is not None or settings.max_memory is not None
    if engine == "serial" or settings.jobs == 1 and not is_limited and not settings.address:
        yield Here(limits)
    elif engine == "loky":
        supervise.prepare(workers)
        stopped = threading.Event()
        with ThreadPoolExecutor(workers) as threads:  # each thread supervises a child

            def submit(task: Task) -> Future[Answer]:
                return threads.submit(supervise.compute, task, limits, stopped.is_set)

            yield Workers(submit, stopped.set, workers, 2 * workers)
    else:
        connect = _dask if engine == "dask" else _ray
        with connect(settings, workers) as (submit, processors):
            yield from _cluster(settings, workers, limits, run_file, submit, processors)


def _cluster(
    settings: Settings,
    workers: int,
    limits: Limits,
    run_file: Path | None,
    submit: Submit,
    processors: int,
) -> Iterator[Workers]:
    """Yield an engine for the workers of a cluster, and translate the errors of Dask and Ray.

    `submit` sends a function and its arguments to the cluster, which has `processors` processors.
    """
    if settings.address and settings.jobs < 0:
        workers = processors
    stop_file = run_file and run_file.with_suffix(".stop")
    try:
        yield Workers(
            lambda task: submit(compute_in_cluster, task, limits, run_file),
            stop_file.touch if stop_file else lambda: None,
            workers,
            # Others may use the cluster too, so it gets at most jobs= chunks at a time.
            workers if settings.address else 2 * workers,
        )
    except Exception as error:
        if isinstance(cause := getattr(error, "cause", None), BaseException):
            raise cause from None  # raised in a worker of Ray
        if type(error).__module__.split(".")[0] in PACKAGES.values():
            lost = f"{settings.engine} lost workers ({type(error).__name__})"
            raise processes.WorkerDiedError(
                f"{lost}; finished cells are recorded, and the same command computes the others"
            ) from error
        raise
    finally:
        if stop_file:
            stop_file.unlink(missing_ok=True)


def compute_in_cluster(task: Task, limits: Limits, run_file: Path | None) -> Answer:
    """Compute a chunk in a worker of a cluster, and return the answer.

    Raises
    ------
    BadInputError
        If the worker cannot see `run_file`, so that its records would go to a wrong place.
    """
    if run_file is None:
        return supervise.compute(task, limits)
    deadline = time.monotonic() + SEEN_WITHIN
    while not run_file.is_file():
        if time.monotonic() > deadline:
            raise BadInputError(
                f"a worker on {socket.gethostname()} does not see the folder "
                f"{run_file.parent.parent}; give out= a folder that all workers share, or a "
                "bucket such as s3://BUCKET/FOLDER."
            )
        time.sleep(1.0)
    return supervise.compute(task, limits, run_file.with_suffix(".stop").exists)


@contextlib.contextmanager
def _dask(settings: Settings, workers: int) -> Iterator[tuple[Submit, int]]:
    """Yield the submit function and the number of threads of a Dask cluster.

    If the setting `address` is given, join the cluster there. Otherwise start `workers` workers on
    this machine.
    """
    distributed, address = _package(settings), settings.address
    # Dask needs no memory limit: the workers stay small, and computing processes have max_memory.
    local: dict[str, Any] = {
        "n_workers": workers,
        "threads_per_worker": 1,
        # A server of the scheduler listens even without a dashboard. Port 0 is any that is free.
        "dashboard_address": "127.0.0.1:0",
        "scheduler_kwargs": {"dashboard": False},
        "memory_limit": 0,
        "silence_logs": logging.CRITICAL,
    }
    try:
        # Ctrl-C in a terminal would reach the workers too.
        with stops.ignored_interrupts(), _silent_tracker():
            client = (
                distributed.Client(address, timeout=ANSWERS_WITHIN)
                if address
                else distributed.Client(**local)
            )
    except (OSError, TimeoutError, ValueError) as error:
        raise (_no_answer(settings, error) if address else error) from None
    with client, _only_errors(logging.getLogger("distributed.client")):
        try:
            client.wait_for_workers(1, timeout=ANSWERS_WITHIN)
        except TimeoutError:
            raise BadInputError(
                f"address is {address!r}, a Dask scheduler without workers; start one by "
                f"`dask worker {address}`."
            ) from None
        try:
            yield client.get_executor(pure=False).submit, sum(client.nthreads().values())
        except Exception as error:
            if client.status == "running":
                raise
            raise BadInputError(
                "the Dask scheduler does not answer any more; finished cells are recorded. Start "
                "a scheduler and give the same command again."
            ) from error


@contextlib.contextmanager
def _ray(settings: Settings, workers: int) -> Iterator[tuple[Submit, int]]:
    """Yield the submit function and the number of processors of a Ray cluster.

    If this process is connected to a cluster, use that one. If the setting `address` is given, join
    the cluster there. Otherwise start `workers` workers on this machine.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray, address = _package(settings), settings.address
    # Without an address, Ray would listen on all interfaces of this machine. This switch of its own
    # makes its servers listen on 127.0.0.1. Ray reads it when it is imported, which may be earlier.
    # It is set back afterwards: a cluster that somebody starts from this process is not meant.
    before = os.environ.get(_RAY_REACHABLE)
    os.environ[_RAY_REACHABLE] = "1" if address else "0"
    ray._private.ray_constants.ENABLE_RAY_CLUSTER = bool(address)
    local = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 10**8}
    was_connected, handler = ray.is_initialized(), signal.getsignal(signal.SIGTERM)
    try:
        if not was_connected:
            options = {} if address else local
            ray.init(address or "local", log_to_driver=False, logging_level="ERROR", **options)
    except Exception as error:
        raise (_no_answer(settings, error) if address else error) from None
    finally:
        os.environ.pop(_RAY_REACHABLE)
        if before is not None:
            os.environ[_RAY_REACHABLE] = before
        if threading.current_thread() is threading.main_thread():
            # Ray installs a handler of its own, which would change the exit status.
            signal.signal(signal.SIGTERM, handler)
    remote = ray.remote(num_cpus=1, max_retries=TRIES)(compute_in_cluster)
    try:
        processors = int(ray.cluster_resources().get("CPU", workers))
        yield lambda function, *given: remote.remote(*given).future(), processors
    finally:
        if not was_connected:
            ray.shutdown()


@contextlib.contextmanager
def _only_errors(logger: logging.Logger) -> Iterator[None]:
    """Log no warnings in this block. Dask's client warns when it asks again for lost results."""
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _silent_tracker() -> Iterator[None]:
    """Let the resource tracker of multiprocessing, if it starts in the block, print no warning.

    It outlives a killed process, and would warn of semaphores that it then removes.
    """
    option = "ignore:resource_tracker:UserWarning"
    sys.warnoptions.append(option)
    try:
        yield
    finally:
        sys.warnoptions.remove(option)


def _package(settings: Settings) -> Any:
    """Import and return the package of the engine, distributed or ray.

    Raises
    ------
    BadInputError
        If the package is not installed, or if no server listens at the address.
    """
    engine, address = settings.engine, settings.address
    try:
        package = importlib.import_module(PACKAGES[engine])
        if address and (where := host_and_port(engine, address)):
            socket.create_connection(where, ANSWERS_WITHIN).close()
    except ImportError as error:
        raise BadInputError(
            f"engine={engine} needs the package {PACKAGES[engine]}; install calharness[{engine}]."
        ) from error
    except OSError as error:
        raise _no_answer(settings, error) from None
    return package


def _no_answer(settings: Settings, error: Exception) -> BadInputError:
    reason = next(iter(error_message(error).strip().splitlines()), type(error).__name__)
    return BadInputError(
        f"address is {settings.address!r}, where no {settings.engine} cluster answers ({reason}); "
        "start the cluster, or correct the address."
    )
