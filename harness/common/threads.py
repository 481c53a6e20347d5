"""One thread for linear algebra: every worker process of this project uses one, for parallelism is over cells."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra and OpenMP to one thread inside the block.

    The limit holds for libraries that are loaded already and, through the environment variables that they read when they are
    loaded, for those that the block imports.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
