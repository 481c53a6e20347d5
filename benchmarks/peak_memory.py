"""Measure the peak memory of a call, above the resident memory just before it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import multiprocessing
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from harness.common.escaping import error_message

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
KERNEL, RUSAGE = "VmHWM", "ru_maxrss"


class Peak(NamedTuple):
    """Peak resident memory of a call in MB (10^6 bytes), and the counter `method` that was read.

    `mb` is None if there is no value, and `reason` then says why.
    """

    mb: float | None
    method: str
    reason: str | None = None


def measure_peak(
    call: Callable[[], Any], seconds: float = 60.0, first: Callable[[], Any] | None = None
) -> Peak:
    """Return the peak memory of one call, measured in a child process that is forked from this one.

    Parameters
    ----------
    call : callable without arguments
        Function to measure. It runs in the child process, and its result is discarded.
    seconds : float
        Limit in CPU seconds. A call that takes longer is ended and has no value. The limit is not
        in wall seconds, because these depend on the load of the machine.
    first : callable without arguments, optional
        Function that the child process calls before the first reading, for example a smaller call
        of the same kind. Pages of libraries and code are then resident and do not count. Its errors
        are ignored.

    Returns
    -------
    Peak
        `mb` is None if the call raised, took too long or died, or if the peak cannot be read.

    Notes
    -----
    The kernel's counter VmHWM is the peak of the whole process. Writing 5 to
    /proc/self/clear_refs just before the call resets it, so that earlier peaks do not count. If
    that file cannot be written, ru_maxrss is read before and after the call. If ru_maxrss has
    not risen, the call stayed below an earlier peak, and there is no value.

    Free memory of the allocator is returned to the system before the call (malloc_trim of glibc).
    Otherwise the call could use that memory without raising the peak. The resolution is that of
    memory pages. A value of a few tenths of a MB is noise.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measured, args=(call, first, sender, seconds))
    child.start()
    sender.close()
    try:
        peak: Peak = receiver.recv()
        return peak
    except EOFError:
        child.join()
        if child.exitcode == -signal.SIGXCPU:
            return Peak(None, "", f"it takes more than {seconds:g} CPU seconds")
        return Peak(None, "", f"the process died (exit code {child.exitcode})")
    finally:
        if child.is_alive():
            child.kill()
        child.join()


def _measured(
    call: Callable[[], Any], first: Callable[[], Any] | None, sender: Any, seconds: float
) -> None:
    if first is not None:
        with contextlib.suppress(Exception):
            first()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(
        resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), resource.RLIM_INFINITY)
    )
    try:
        before, method = _reset()
        call()
        after = _status(KERNEL) if method == KERNEL else _rusage()
    except BaseException as error:
        reason = " ".join(f"{type(error).__name__}: {error_message(error)}".split())[:200]
        sender.send(Peak(None, "", reason))
        return
    if method == RUSAGE and after <= before:
        sender.send(Peak(None, method, "it stays below what the process held before"))
    else:
        sender.send(Peak(max(after - before, 0.0) / 1e6, method))


def _reset() -> tuple[float, str]:
    """Reset the peak. Return the bytes in use, and the counter to read after the call."""
    try:
        CLEAR.write_text("5")
        return _status("VmRSS"), KERNEL
    except OSError:
        return _rusage(), RUSAGE


def _status(name: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return 1024.0 * float(line.split()[1])


def _rusage() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)
