"""Build the static site of a folder of results."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.common.writing import whole_file
from harness.pages import (
    assets,
    estimator_cards,
    leaderboard,
    overview,
    own_results,
    paper_pages,
    problem_pages,
    provenance_page,
)
from harness.pages.sources import Content, Files, Sources

PARTS: dict[str, Callable[[Sources], Files]] = {  # slow parts are last
    "scripts and style": assets.pages,
    "overview": overview.pages,
    "papers": paper_pages.pages,
    "your runs": own_results.pages,
    "provenance": provenance_page.pages,
    "arena": leaderboard.pages,
    "estimators": estimator_cards.pages,
    "problems": problem_pages.pages,
}


def build(
    folder: Path,
    out: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
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
    say : callable
        Function that takes a line of progress text.
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
    written: set[Path] = set()
    for name, pages in parts.items():
        started = time.monotonic()
        paths = [write(sources.out / path, content) for path, content in pages(sources)]
        say(f"  {name}: {len(paths):,} files, {time.monotonic() - started:.1f} s")
        written.update(paths)
    _remove_others(sources.out, written)
    return sources.out / "index.html"


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
