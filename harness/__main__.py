"""python -m harness: the command line."""

import sys

from harness.commands import run


def main() -> int:
    """The exit status of a command in a process of its own."""
    return run.main()


if __name__ == "__main__":
    sys.exit(main())
