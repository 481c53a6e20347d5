"""`calharness status`: the contents of a results folder."""

from __future__ import annotations

from harness.commands.base import OutFolder, results_folder


def command(words: OutFolder = None) -> int:
    """Print what the records of a results folder hold.

    \b
    calharness status
    calharness status out=/scratch/results

    The folder is out=DIR, else CALHARNESS_OUT, else results/.
    """
    from harness.commands.health import status_text

    print(status_text(results_folder("status", words or [])))
    return 0
