"""Run the command line: python -m harness."""

import sys

from harness.commands.app import main

if __name__ == "__main__":
    sys.exit(main())
