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
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from harness.common import user_code
from harness.common.escaping import message_of
from harness.configure.addresses import host_and_port
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.execute import supervise
from harness.execute.chunk import run_chunk
from harness.execute.supervise import Answer, Limits, Task

PACKAGES = {"dask": "distributed", "ray": "ray"}
ANSWERS_WITHIN = 10.0  # seconds for whoever is at an address
SEEN_WITHIN = 60.0  # seconds until another host sees a new file: network file systems remember what was absent
TRIES = 3  # times that an engine gives a chunk to another worker when one is gone
Answers = Generator[
    tuple[int, Answer, bool], None, None
]  # number of a chunk, its answer, whether this process computed it


@dataclass
class Here:
    """This process computes chunks, and a child of it where somebody else's code runs or has run here."""

    limits: Limits
    workers: int = 1

    def answers(self, tasks: Iterable[Task]) -> Answers:
        """Yield the answers to tasks."""
        for task in tasks:
            if task.is_typed or not user_code.have_run():
                failed, times = run_chunk((task.payload, list(range(task.cells))))
                yield task.number, Answer(failed, times), True
            else:
                yield task.number, supervise.compute(task, self.limits), False


@dataclass
class Workers:
    """Workers that `submit` hands tasks to, at most `most` at a time; `stop` has them record what they have finished."""

    submit: Callable[[Task], Future[Answer]]
    stop: Callable[[], None]
    workers: int
    most: int

    def answers(self, tasks: Iterable[Task]) -> Answers:
        """Yield the answers to tasks in the order of completion. After an exception the workers are stopped."""
        rest, futures = iter(tasks), dict[Future[Answer], int]()
        try:
            while True:
                futures |= {
                    self.submit(task): task.number
                    for task in islice(rest, self.most - len(futures))
                }
                if not futures:
                    return
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    yield futures.pop(future), future.result(), False
        except BaseException:
            self.stop()
            for future in futures:
                future.cancel()
            wait(futures, timeout=2 * supervise.WRITES_WITHIN)
            raise


@contextlib.contextmanager
def connected(
    settings: Settings, workers: int, limits: Limits, run_file: Path | None
) -> Iterator[Here | Workers]:
    """Yield the workers of the engine: so many that are started here, or those of the cluster that is joined.

    Those of a cluster must all see `run_file`, if it is given, and are stopped by a file beside it.

    Raises
    ------
    BadInputError
        If the engine's package is absent, or nobody answers at the address.
    WorkerDiedError
        If the cluster loses its workers.
    """
    engine, address = settings.engine, settings.address
    is_limited = settings.cell_timeout is not None or settings.max_memory is not None
    if engine == "serial" or settings.jobs == 1 and not is_limited and not address:
        yield Here(limits)
    elif engine == "loky":
        supervise.prepare(workers)
        stopped = threading.Event()
        with ThreadPoolExecutor(workers) as threads:  # each thread supervises a child
            submit = lambda task: threads.submit(supervise.compute, task, limits, stopped.is_set)  # noqa: E731
            yield Workers(submit, stopped.set, workers, 2 * workers)
    else:
        with (_dask if engine == "dask" else _ray)(settings, workers) as (hand_out, processors):
            if address and settings.jobs < 0:
                workers = processors
            stop_file = run_file and run_file.with_suffix(".stop")
            try:
                yield Workers(
                    lambda task: hand_out(compute_in_cluster, task, limits, run_file),
                    stop_file.touch if stop_file else lambda: None,
                    workers,
                    workers
                    if address
                    else 2 * workers,  # one that others use, too, is given no more than jobs= says
                )
            except Exception as error:
                if isinstance(
                    cause := getattr(error, "cause", None), BaseException
                ):  # what a worker of Ray raised
                    raise cause from None
                if type(error).__module__.split(".")[0] in PACKAGES.values():
                    message = f"{engine} lost workers ({type(error).__name__}); what was finished is recorded"
                    raise supervise.WorkerDiedError(message) from error
                raise
            finally:
                if stop_file:
                    stop_file.unlink(missing_ok=True)


def compute_in_cluster(task: Task, limits: Limits, run_file: Path | None) -> Answer:
    """Have a chunk computed, in a worker of a cluster.

    Raises
    ------
    BadInputError
        If this worker does not see the file of the run.
    """
    if run_file is None:
        return supervise.compute(task, limits)
    end = time.monotonic() + SEEN_WITHIN
    while not run_file.is_file():
        if time.monotonic() > end:
            raise BadInputError(
                f"a worker on {socket.gethostname()} does not see the folder {run_file.parent.parent}; out must be a folder "
                "that all workers share, or a store such as s3://BUCKET/FOLDER."
            )
        time.sleep(1.0)
    return supervise.compute(task, limits, run_file.with_suffix(".stop").exists)


@contextlib.contextmanager
def _dask(settings: Settings, workers: int) -> Iterator[tuple[Callable[..., Future[Answer]], int]]:
    """Yield what calls a function on the Dask cluster at the address, or on one of this machine, and its number of threads."""
    distributed, address = _package(settings), settings.address
    local = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    # no limit of memory: computing processes have their own, and the worker itself stays small
    local |= {"memory_limit": 0, "silence_logs": logging.CRITICAL}
    in_main = threading.current_thread() is threading.main_thread()
    before = (
        signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    )  # workers ignore Ctrl-C of the terminal
    try:
        client = (
            distributed.Client(address, timeout=ANSWERS_WITHIN)
            if address
            else distributed.Client(**local)
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise (_silent(settings, error) if address else error) from None
    finally:
        if in_main:
            signal.signal(signal.SIGINT, before)
    with client:
        try:
            client.wait_for_workers(1, timeout=ANSWERS_WITHIN)
        except TimeoutError:
            raise BadInputError(
                f"address is {address!r}, a scheduler without a worker; start one (dask worker)."
            ) from None
        try:
            yield client.get_executor(pure=False).submit, sum(client.nthreads().values())
        except Exception as error:
            if client.status == "running":
                raise
            raise BadInputError(
                "the scheduler of Dask is gone; what was finished is recorded, and the same command goes on where one answers."
            ) from error


@contextlib.contextmanager
def _ray(settings: Settings, workers: int) -> Iterator[tuple[Callable[..., Future[Answer]], int]]:
    """Yield what calls a function on the Ray cluster that this process is connected to, that at the address, or one of this
    machine, and its number of processors."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray, address = _package(settings), settings.address
    local = (
        {}
        if address
        else {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 10**8}
    )
    was_connected, before = ray.is_initialized(), signal.getsignal(signal.SIGTERM)
    try:
        if not was_connected:
            ray.init(address or "local", log_to_driver=False, logging_level="ERROR", **local)
    except Exception as error:
        raise (_silent(settings, error) if address else error) from None
    finally:
        if (
            threading.current_thread() is threading.main_thread()
        ):  # Ray's would end this process with another status
            signal.signal(signal.SIGTERM, before)
    remote = ray.remote(num_cpus=1, max_retries=TRIES)(compute_in_cluster)
    try:
        processors = int(ray.cluster_resources().get("CPU", workers))
        yield lambda function, *given: remote.remote(*given).future(), processors
    finally:
        if not was_connected:
            ray.shutdown()


def _package(settings: Settings) -> Any:
    """Import the engine's package. Raise BadInputError if it is absent, or nobody is at the address."""
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
        raise _silent(settings, error) from None
    return package


def _silent(settings: Settings, error: Exception) -> BadInputError:
    why = next(iter(message_of(error).strip().splitlines()), type(error).__name__)
    return BadInputError(
        f"address is {settings.address!r}, where no {settings.engine} cluster answers ({why})."
    )
