"""End processes that would outlive this process if it were killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

# Program of the watchdog. Its standard input ends when this process ends.
_KILL = """
import os, signal, sys
os.read(0, 1)
for descriptor in map(int, sys.argv[1:]):
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


@contextlib.contextmanager
def ends_with_us(processes: set[int]) -> Iterator[None]:
    """Kill some processes if this process ends inside the block, even by SIGKILL.

    Another process watches. It holds descriptors of the processes, because the system may give
    their ids to others. Without `processes`, before Linux 5.3 and on other systems, nothing is
    watched.
    """
    if not processes or not hasattr(os, "pidfd_open"):
        yield
        return
    descriptors = []
    for process in processes:
        with contextlib.suppress(OSError):  # the process has ended, or Linux is older than 5.3
            descriptors.append(os.pidfd_open(process))
    watchdog = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _KILL, *map(str, descriptors)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        start_new_session=True,
    )
    for descriptor in descriptors:
        os.close(descriptor)
    try:
        yield
    finally:
        watchdog.kill()
        watchdog.communicate()
