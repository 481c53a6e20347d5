"""Where chunks of cells are computed: in worker processes of this machine (loky), or of a Dask or Ray cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from harness.errors import BadInputError
from harness.runs import guard

PACKAGES = {"dask": "distributed", "ray": "ray"}
# what engines raise where one of their workers is gone: loky, Dask, Ray
DEATHS = ("TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "RayActorError", "ActorDiedError", "WorkerCrashedError")
Task = tuple[int, bytes, int]  # number of a chunk, the pickled chunk, how many cells it has
Answer = tuple[int, list[guard.Broke]]  # number of a chunk, and those of its cells that ended their process


def check(config: dict[str, Any]) -> None:
    """Raises BadInputError where the package of the engine is absent."""
    if config["engine"] in PACKAGES:
        _optional(PACKAGES[config["engine"]], config["engine"])


def is_death(error: BaseException) -> bool:
    """Whether an engine says with this that one of its workers is gone."""
    return type(error).__name__ in DEATHS


@contextlib.contextmanager
def answers(config: dict[str, Any], workers: int, tasks: Iterable[Task], limits: guard.Limits) -> Iterator[Iterable[Answer]]:
    """The answers to tasks, which are taken as workers become free, in the order in which they are done."""
    import joblib

    engine, driver = config["engine"], guard.Driver.here()
    with _backend(config, workers):
        options: dict[str, Any] = {} if engine == "ray" else {"return_as": "generator_unordered"}
        pool = joblib.Parallel(batch_size=1, pre_dispatch="2*n_jobs", **options)
        with _workers_ignore_interrupts(engine):
            results = pool(joblib.delayed(_guarded)(*task, limits, driver, engine) for task in tasks)
        yield results


def _guarded(at: int, payload: bytes, cells: int, limits: guard.Limits, driver: guard.Driver, engine: str) -> Answer:
    if engine == "loky":
        guard.ends_with(driver)
    with guard.interruptible():
        return at, guard.compute(payload, cells, limits, driver)


@contextlib.contextmanager
def _workers_ignore_interrupts(engine: str) -> Iterator[None]:
    """Worker processes that are started in here ignore Ctrl-C. It reaches them as well as this process, and a worker that is
    importing or waiting has nothing to save: it would only print a traceback. While a worker computes a chunk it does listen, so
    that it can save what it has (`guard.interruptible`)."""
    if engine != "loky" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _backend(config: dict[str, Any], workers: int) -> Iterator[None]:
    import joblib

    engine = config["engine"]
    client = None
    if engine == "dask":
        distributed = _optional("distributed", "dask")
        remote = os.environ.get("DASK_SCHEDULER_ADDRESS")
        local = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        client = distributed.Client(remote) if remote else distributed.Client(**local)
    elif engine == "ray":
        ray = _optional("ray", "ray")
        from ray.util.joblib import register_ray

        local = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers, "include_dashboard": False}
        ray.init(ignore_reinit_error=True, log_to_driver=False, **local)
        register_ray()
    try:
        with joblib.parallel_config(backend=engine, n_jobs=workers):
            yield
    finally:
        if client is not None:
            client.close()


def _optional(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BadInputError(f"engine={extra} needs the package {module}; install calharness[{extra}].") from error
