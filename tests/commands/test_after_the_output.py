"""A signal after the last output of a command ends it with a word."""

import signal
import subprocess
import sys

PROGRAM = """
import atexit, os, signal, sys
sys.argv[1:] = ["--version"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
from harness.__main__ import main
atexit.register(os.kill, os.getpid(), signal.{name})
sys.exit(main())
"""


def test_a_signal_after_the_last_output_is_told():
    for name in ("SIGINT", "SIGTERM"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True
        )
        assert done.returncode == 128 + getattr(signal, name)
        assert done.stdout.startswith("calharness ") and done.stderr == "calharness: interrupted\n"
