"""`calharness site`: the static site of a folder of results."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from harness.common.progress import clock
from harness.errors import BadInputError


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="out=DIR", show_default=False, help="The folder of results."),
    ] = None,
) -> int:
    """Write all results as one static site; some two minutes.

    \b
    calharness site                        writes results/site/index.html
    calharness site out=/scratch/results   of another folder of results

    The site opens from the disk and asks for no network: overview, papers with every figure, table
    and claim, the arena, estimators, problems, your own variations, sweeps and comparisons,
    provenance. `make docs` puts the documentation beside it. It needs the extra `site`:
    pip install 'calharness[site]'. After every run of your own results/own_runs.html lists your
    runs, without the site.
    """
    from harness.configure.compose import out_folder
    from harness.pages.build import build

    wrong = next((text for text in words or [] if not text.startswith("out=")), None)
    if wrong:
        raise BadInputError(
            f"site does not take {wrong!r}; it takes out=DIR, the folder of results."
        )
    started = time.monotonic()
    given = next((text.partition("=")[2] for text in words or []), None)
    path = build(out_folder(given), say=lambda text: print(text, file=sys.stderr))
    files = [one for one in path.parent.rglob("*") if one.is_file()]
    size = sum(one.stat().st_size for one in files)
    print(f"{path}: {len(files):,} files, {size / 1e6:.1f} MB, {clock(time.monotonic() - started)}")
    return 0
