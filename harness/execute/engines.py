"""Engines: where chunks of cells are computed. In this process or its children, or by workers of a Dask or Ray cluster.

Whatever the engine, a chunk is computed by a supervised process (harness.execute.supervise), which writes the records. A
worker sends back counts, times and the cells that ended their process. Engines give the chunk of a lost worker to another.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any

from harness.common import user_code
from harness.common.escaping import message_of
from harness.configure.addresses import host_and_port
from harness.errors import BadInputError
from harness.execute import supervise
from harness.execute.chunk import run_chunk
from harness.execute.supervise import Answer, Limits, Task

PACKAGES = {"dask": "distributed", "ray": "ray"}
ANSWERS_WITHIN = 10.0  # seconds for whoever is at an address
SEEN_WITHIN = 60.0  # seconds until another host sees a new file: network file systems remember what was absent
TRIES = 3  # times that an engine gives a chunk to another worker when one is gone


class Here:
    """Chunks are computed by this process, and by a child where somebody else's code runs or has run here."""

    workers = 1

    def answers(self, tasks: Iterable[Task], limits: Limits, seen: Path | None) -> Iterator[tuple[int, Answer, bool]]:
        for task in tasks:
            if task.is_typed or not user_code.have_run():
                failed, times = run_chunk((task.payload, list(range(task.cells))))
                yield task.number, Answer(failed, times), True
            else:
                yield task.number, supervise.compute(task, limits), False


class Workers:
    """Chunks are computed by workers, which `submit` hands calls to; at most `most` at a time."""

    def __init__(self, submit: Callable[..., Future[Answer]], workers: int, most: int):
        self.submit, self.workers, self.most = submit, workers, most
        self.futures: dict[Future[Answer], int] = {}
        self.stopped = threading.Event()

    def answers(self, tasks: Iterable[Task], limits: Limits, seen: Path | None) -> Iterator[tuple[int, Answer, bool]]:
        """Yield the number of a chunk, its answer, and whether this process computed it, in the order of completion.

        All workers must see the file `seen`, if one is given.
        """
        rest = iter(tasks)
        while True:
            for task in islice(rest, self.most - len(self.futures)):
                self.futures[self._submitted(task, limits, seen)] = task.number
            if not self.futures:
                return
            for future in wait(self.futures, return_when=FIRST_COMPLETED).done:
                yield self.futures.pop(future), future.result(), False

    def _submitted(self, task: Task, limits: Limits, seen: Path | None) -> Future[Answer]:
        return self.submit(supervise.compute, task, limits, self.stopped.is_set)

    def stop(self) -> None:
        """Have the workers record what they have finished, and wait for that."""
        self.stopped.set()
        for future in list(self.futures):
            future.cancel()
        wait(self.futures, timeout=2 * supervise.WRITES_WITHIN)


class ClusterWorkers(Workers):
    """Workers in other places, which look for a file that stops them: `<run id>.stop` beside the file of the run."""

    stop_file: Path | None = None

    def _submitted(self, task: Task, limits: Limits, seen: Path | None) -> Future[Answer]:
        self.stop_file = seen and seen.with_suffix(".stop")
        return self.submit(compute_in_cluster, task, limits, seen, self.stop_file)

    def stop(self) -> None:
        if self.stop_file is None:  # a store of objects: nothing to look at
            return
        self.stop_file.touch()
        super().stop()
        self.stop_file.unlink(missing_ok=True)


def compute_in_cluster(task: Task, limits: Limits, seen: Path | None, stop_file: Path | None) -> Answer:
    """Have a chunk computed, in a worker of a cluster.

    Raises
    ------
    BadInputError
        If this worker does not see the file `seen`.
    """
    end = time.monotonic() + SEEN_WITHIN
    while seen is not None and not seen.is_file():
        if time.monotonic() > end:
            raise BadInputError(
                f"a worker on {socket.gethostname()} does not see the folder {seen.parent.parent}; out must be a folder that "
                "all workers share, or a store such as s3://BUCKET/FOLDER."
            )
        time.sleep(1.0)
    return supervise.compute(task, limits, stop_file.exists if stop_file else lambda: False)


@contextlib.contextmanager
def connected(config: dict[str, Any], workers: int) -> Iterator[Here | Workers]:
    """Yield the workers of the engine. They are started here, so many, or those of the cluster that is joined.

    Raises
    ------
    BadInputError
        If the engine's package is absent, or nobody answers at the address.
    WorkerDiedError
        If the cluster loses its workers.
    """
    engine, address = config["engine"], config["address"]
    is_limited = config["cell_timeout"] is not None or config["max_memory"] is not None
    if engine == "serial" or workers <= 1 and not is_limited and not address:
        yield Here()
        return
    with {"loky": _threads, "dask": _dask, "ray": _ray}[engine](config, workers) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.stop()
            if isinstance(cause := getattr(error, "cause", None), BaseException):  # what a worker of Ray raised
                raise cause from None
            if type(error).__module__.split(".")[0] in PACKAGES.values():
                message = f"{engine} lost workers ({type(error).__name__}); what was finished is recorded"
                raise supervise.WorkerDiedError(message) from error
            raise


@contextlib.contextmanager
def _threads(config: dict[str, Any], workers: int) -> Iterator[Workers]:
    """Threads of this process, each of which supervises a child."""
    supervise.prepare(workers)
    with ThreadPoolExecutor(workers) as threads:
        yield Workers(threads.submit, workers, 2 * workers)


@contextlib.contextmanager
def _dask(config: dict[str, Any], workers: int) -> Iterator[Workers]:
    """A client of the cluster at the address, or of one on this machine."""
    distributed, address = _package(config), config["address"]
    if address:
        try:
            client = distributed.Client(address, timeout=ANSWERS_WITHIN)
        except (OSError, TimeoutError, ValueError) as error:
            raise _silent(config, error) from None
    else:
        with _ignoring_interrupts():  # of the terminal, which would reach the workers too
            # no limit of memory here: computing processes have their own, and the worker itself stays small
            client = distributed.Client(
                n_workers=workers, threads_per_worker=1, memory_limit=0, dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )  # fmt: skip
    with client:
        try:
            client.wait_for_workers(1, timeout=ANSWERS_WITHIN)
        except TimeoutError:
            raise BadInputError(f"address is {address!r}, a scheduler without a worker; start one (dask worker).") from None
        processors = sum(client.nthreads().values())
        try:
            yield _of_cluster(config, client.get_executor(pure=False).submit, workers, processors)
        except Exception as error:
            if client.status == "running":
                raise
            raise BadInputError(
                "the scheduler of Dask is gone; what was finished is recorded, and the same command goes on where one answers."
            ) from error


@contextlib.contextmanager
def _ray(config: dict[str, Any], workers: int) -> Iterator[Workers]:
    """A connection to a Ray cluster: the one that this process has, that at the address, or one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray, address = _package(config), config["address"]
    was_connected = ray.is_initialized()
    local = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 10**8}
    before = signal.getsignal(signal.SIGTERM)
    try:
        if not was_connected:
            options = {} if address else local
            ray.init(address or "local", log_to_driver=False, logging_level="ERROR", **options)
    except Exception as error:
        raise (_silent(config, error) if address else error) from None
    finally:
        if threading.current_thread() is threading.main_thread():  # Ray's would end this process with another status
            signal.signal(signal.SIGTERM, before)
    remote = ray.remote(num_cpus=1, max_retries=TRIES)(compute_in_cluster)
    try:
        processors = int(ray.cluster_resources().get("CPU", workers))
        yield _of_cluster(config, lambda function, *given: remote.remote(*given).future(), workers, processors)
    finally:
        if not was_connected:
            ray.shutdown()


def _of_cluster(config: dict[str, Any], submit: Callable[..., Future[Answer]], workers: int, processors: int) -> ClusterWorkers:
    """Workers of a cluster. One that others use, too, is given no more tasks at a time than jobs= says."""
    if not config["address"]:
        return ClusterWorkers(submit, workers, 2 * workers)
    workers = processors if config["jobs"] < 0 else workers
    return ClusterWorkers(submit, workers, workers)


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, as do processes that are started in here."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _package(config: dict[str, Any]) -> Any:
    """Import the engine's package. Raise BadInputError if it is absent, or nobody is at the address."""
    engine, address = config["engine"], config["address"]
    try:
        package = importlib.import_module(PACKAGES[engine])
        if address and (where := host_and_port(engine, address)):
            socket.create_connection(where, ANSWERS_WITHIN).close()
    except ImportError as error:
        raise BadInputError(f"engine={engine} needs the package {PACKAGES[engine]}; install calharness[{engine}].") from error
    except OSError as error:
        raise _silent(config, error) from None
    return package


def _silent(config: dict[str, Any], error: Exception) -> BadInputError:
    why = next(iter(message_of(error).strip().splitlines()), type(error).__name__)
    return BadInputError(f"address is {config['address']!r}, where no {config['engine']} cluster answers ({why}).")
