"""Run the command line: python -m harness."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def _end(signum: int, frame: FrameType | None) -> NoReturn:
    """End this process with a message, because a signal came while it imports the commands."""
    try:
        os.write(2, b"calharness: interrupted\n")
    finally:
        os._exit(128 + signum)


for _number in (signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, _end)

from harness.commands.app import main  # noqa: E402  imports take a second

if __name__ == "__main__":
    sys.exit(main())
