"""Run the command line: python -m harness."""

import signal
import sys

# Before `main` handles signals, Ctrl-C ends this process at once and without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from harness.commands.app import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
