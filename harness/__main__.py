"""python -m harness: the command line."""

import sys

from harness.commands.app import main

if __name__ == "__main__":
    sys.exit(main())
