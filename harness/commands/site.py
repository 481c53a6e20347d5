"""`calharness site`: write a static web site of a folder of results."""

from __future__ import annotations

import time

from harness.commands.base import OutFolder, results_folder
from harness.common.progress import clock


def command(words: OutFolder = None) -> int:
    """Write all results as one static web site, in about two minutes.

    \b
    calharness site                        writes results/site/index.html
    calharness site out=/scratch/results   writes the site of another folder of results

    The site opens from the disk and needs no network. Its pages link to figures and tables of the
    folder of results. To publish it, publish the whole folder, without records/.

    Its pages are an overview, the papers with every figure, table and claim, the arena, estimators,
    problems, your own variations, sweeps and comparisons, and provenance. `make docs` adds the
    documentation. The command needs the extra `site`: pip install 'calharness[site]'. Without the
    site, results/own_runs.html lists your own runs.
    """
    from harness.pages.build import build

    started = time.monotonic()
    folder = results_folder("site", words or [])
    page = build(folder, quiet=False)
    sizes = [path.stat().st_size for path in page.parent.rglob("*") if path.is_file()]
    seconds = time.monotonic() - started
    print(f"{page}: {len(sizes):,} files, {sum(sizes) / 1e6:.1f} MB, {clock(seconds)}")
    return 0
