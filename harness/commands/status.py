"""`calharness status`: print which cells a folder of results contains."""

from __future__ import annotations

from harness.commands.base import OutFolder, results_folder


def command(words: OutFolder = None) -> int:
    """Print the numbers of recorded cells by estimator and status, and the latest runs.

    \b
    calharness status
    calharness status out=/scratch/results

    The folder is out=DIR, else CALHARNESS_OUT, else results/.
    """
    from harness.commands.health import status_text

    print(status_text(results_folder("status", words or [])))
    return 0
