"""Build the static site of a folder of results."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.common.progress import clock
from harness.common.writing import whole_file
from harness.pages import (
    assets,
    estimator_cards,
    overview,
    own_results,
    paper_pages,
    problem_pages,
    provenance_page,
)
from harness.pages.arena import overview as arena_overview
from harness.pages.sources import Content, Files, Sources

PARTS: dict[str, Callable[[Sources], Files]] = {  # slow parts are last
    "scripts and style": assets.pages,
    "overview": overview.pages,
    "papers": paper_pages.pages,
    "your runs": own_results.pages,
    "provenance": provenance_page.pages,
    "arena": arena_overview.pages,
    "estimators": estimator_cards.pages,
    "problems": problem_pages.pages,
}
LAST_BUILD = "build.json"  # {part: seconds} of the last build
# CPU seconds of the slow parts, measured on a busy machine.
FIRST_BUILD = {"scripts and style": 2.0, "arena": 25.0, "estimators": 36.0, "problems": 22.0}


def build(
    folder: Path,
    out: Path | None = None,
    quiet: bool = True,
    parts: Mapping[str, Callable[[Sources], Files]] = PARTS,
    sources: Sources | None = None,
) -> Path:
    """Write the site of a folder of results, and remove files of an earlier build.

    Files in <out>/docs are kept.

    Parameters
    ----------
    folder : Path
        Folder of results.
    out : Path, optional
        Folder of the site. Default: <folder>/site.
    quiet : bool
        Show no progress on standard error.
    parts : mapping
        {name of a part of the site: function}. The function takes a `Sources` object and yields
        (path, content) for each file of the part.
    sources : Sources, optional
        Inputs of the site. Default: all inputs for the folder.

    Returns
    -------
    Path
        Path of index.html.

    Raises
    ------
    BadInputError
        If the extra `site` is not installed.
    """
    sources = sources or Sources.of(folder, out)
    seconds = {**FIRST_BUILD, **_read_last_build(sources.out)}
    written: set[Path] = set()
    for number, (name, pages) in enumerate(parts.items()):
        if not quiet:
            left = clock(sum(seconds.get(part, 1.0) for part in list(parts)[number:]))
            print(f"{number + 1} of {len(parts)}: {name}, about {left} left", file=sys.stderr)
        started = time.monotonic()
        written |= {write(sources.out / path, content) for path, content in pages(sources)}
        seconds[name] = round(time.monotonic() - started, 1)
    write(sources.out / LAST_BUILD, json.dumps(seconds))
    _remove_others(sources.out, written)
    return sources.out / "index.html"


def _read_last_build(out: Path) -> dict[str, float]:
    """Return {part: seconds} of the last build in this folder, or {} if there is none."""
    try:
        content = json.loads((out / LAST_BUILD).read_text())
        return {name: float(seconds) for name, seconds in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write(path: Path, content: Content) -> Path:
    """Write the content of a file of the site to a path, and return the path."""
    with whole_file(path) as temporary:
        if isinstance(content, Path):
            shutil.copyfile(content, temporary)
        else:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _remove_others(out: Path, written: set[Path]) -> None:
    """Remove files of an earlier build from the folders to which this build has written.

    The folder "results" has copies of results that earlier versions made.
    """
    folders = {path.relative_to(out).parts[0] for path in written if path.parent != out} - {"docs"}
    folders.add("results")
    for path in [path for folder in sorted(folders) for path in (out / folder).rglob("*")]:
        if path.is_file() and path not in written:
            path.unlink()
