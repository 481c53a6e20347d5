"""Run the command line: python -m harness."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def _end(signum: int, frame: FrameType | None) -> NoReturn:
    """End this process with a message: a signal came before the command began, or after it ended.

    Python would raise an interruption where nothing catches it.
    """
    try:
        os.write(2, b"calharness: interrupted\n")
    finally:
        os._exit(128 + signum)


def _end_on_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


_end_on_signals()

from harness.commands import app  # noqa: E402  imports take a second


def main() -> int:
    """Run the command line of this process, and return its exit status."""
    status = app.main()
    _end_on_signals()  # Python takes some tenths of a second to end
    return status


if __name__ == "__main__":
    sys.exit(main())
