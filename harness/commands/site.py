"""`calharness site`: the static site of a folder of results."""

from __future__ import annotations

import sys
import time

from harness.common.progress import clock
from harness.configure.compose import out_folder
from harness.errors import BadInputError


def command(arguments: list[str]) -> int:
    """`calharness site [out=DIR]`."""
    from harness.pages.build import build

    wrong = next((text for text in arguments if not text.startswith("out=")), None)
    if wrong:
        raise BadInputError(f"site does not take {wrong!r}; it takes out=DIR, the folder of results.")
    started = time.monotonic()
    given = next((text.partition("=")[2] for text in arguments), None)
    path = build(out_folder(given), say=lambda text: print(text, file=sys.stderr))
    files = [one for one in path.parent.rglob("*") if one.is_file()]
    size = sum(one.stat().st_size for one in files)
    print(f"{path}: {len(files):,} files, {size / 1e6:.1f} MB, {clock(time.monotonic() - started)}")
    return 0
