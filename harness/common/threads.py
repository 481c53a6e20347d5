"""Limit numerical libraries to one thread, because cells already run in parallel processes.

Fault that needs this: BLAS starts one thread per processor in each of several workers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread inside the block.

    threadpoolctl limits the libraries that are already loaded. Environment variables limit those
    that are imported inside the block.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)  # an estimator may have removed it
            if value is not None:
                os.environ[name] = value
