"""Processes that an estimator or a cluster has started end in time, whoever is their parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.execute import isolation, watchdog

PATIENCE = 120.0  # seconds, for what takes less than one on a quiet machine
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")

# `subprocess` needs a program that runs on, and prints nothing.
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(1000)"]
# A forking process, whose child starts a process in a new session from a thread, and ends it
FROM_A_THREAD = f"""
import os, subprocess, threading
from harness.execute import isolation
if not os.fork():
    started = []
    def start():
        started.append(subprocess.Popen({SLEEP}, start_new_session=True))
    thread = threading.Thread(target=lambda: (start(), stop.wait()))
    stop = threading.Event()
    thread.start()
    while not started:
        pass
    isolation.end_detached()
    os._exit(0 if started[0].wait(60) == -9 else 1)
os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
# A process that starts another one, keeps its standard output open there, and then waits
WATCHED = f"""
import subprocess, time
from harness.execute import watchdog
started = subprocess.Popen({SLEEP})
with watchdog.ends_with_us({{started.pid}}):
    print(started.pid, flush=True)
    time.sleep(1000)
"""
ENDED = WATCHED.replace("    time.sleep(1000)\n", "    pass\nprint(started.poll())\nstarted.kill()")


def test_a_process_that_a_thread_has_detached_ends_with_the_cell():
    assert subprocess.run([sys.executable, "-c", FROM_A_THREAD], timeout=PATIENCE).returncode == 0


def test_descendants_are_children_of_all_threads_and_their_children():
    process = subprocess.Popen(["sh", "-c", "sleep 1000 & echo; wait"], stdout=subprocess.PIPE)
    process.stdout.readline()
    family = isolation.with_descendants(process.pid)
    assert family[0] == process.pid and len(family) == 2
    assert set(family) <= set(isolation.with_descendants(os.getpid()))
    for each in family:
        os.kill(each, signal.SIGKILL)
    process.communicate()


def test_a_watched_process_ends_if_this_one_is_killed():
    """The pipe ends when the last process that has it open has ended."""
    with subprocess.Popen([sys.executable, "-c", WATCHED], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.kill()
        assert process.communicate(timeout=PATIENCE)[0] == b""


def test_nothing_is_watched_where_the_system_refuses_it(monkeypatch):
    def refused(process):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refused, raising=False)
    with watchdog.ends_with_us({os.getpid()}):
        pass


def test_a_watched_process_goes_on_after_the_block():
    done = subprocess.run(
        [sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.split()[1:] == ["None"], done.stderr
