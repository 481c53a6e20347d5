"""python -m harness: the command line."""

import sys

from harness.commands import run
from harness.common import collector


def main() -> int:
    """The exit status of a command in a process of its own."""
    collector.seldom()
    return run.main()


if __name__ == "__main__":
    sys.exit(main())
