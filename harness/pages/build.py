"""The site of a folder of results."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
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
    sources_page,
)
from harness.pages.sources import Content, Sources

Room = Callable[[Sources], Iterable[tuple[str, Content]]]


def build(
    folder: Path,
    out: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    rooms: dict[str, Room] | None = None,
) -> Path:
    """Write the site of a folder of results into `out` (default <folder>/site), and remove what an earlier one had and this one
    has not; <out>/docs is left alone if the documentation was built into it. Returns the path of its index.html.

    Parameters
    ----------
    folder, out : Path
        Of the results, and of the site.
    say : callable
        Is told of every part what it took.
    rooms : dict
        {what it is: a function of Sources that gives (path, content)} of the parts; default all.

    Raises
    ------
    BadInputError
        If the extra `site` is not installed.
    """
    root = Sources.of(folder, out)
    written: set[Path] = set()
    for words, room in (every() if rooms is None else rooms).items():
        started = time.monotonic()
        paths = [_written(root.out, *one) for one in room(root)]
        say(f"  {words}: {len(paths):,} files, {time.monotonic() - started:.1f} s")
        written |= {root.out / path for path in paths}
    _prune(root.out, written)
    return root.out / "index.html"


def every() -> dict[str, Room]:
    """The parts of the site, in the order in which they are made: what takes long comes last."""
    found: dict[str, Room] = {
        "scripts and style": assets.files,
        "overview": overview.pages,
        "papers": paper_pages.pages,
        "their results": paper_pages.results,
        "your runs": own_results.pages,
        "provenance": sources_page.pages,
    }
    for words, module in (
        ("arena", leaderboard),
        ("estimators", estimator_cards),
        ("problems", problem_pages),
    ):
        found |= {words: module.pages, f"files of {words}": module.assets}
    return found


def _written(out: Path, path: str, content: Content) -> str:
    write(out / path, content)
    return path


def write(path: Path, content: Content) -> None:
    """Write a file of the site, unless it is the copy of one that has not changed since."""
    if content is None:
        return
    if isinstance(content, Path):
        there = path.stat() if path.is_file() else None
        given = content.stat()
        if there is None or (there.st_size, there.st_mtime_ns) != (
            given.st_size,
            given.st_mtime_ns,
        ):
            with whole_file(path) as temporary:
                shutil.copy2(content, temporary)
        return
    with whole_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def _prune(out: Path, written: set[Path]) -> None:
    """Remove what earlier builds wrote into the folders of this one."""
    tops = {path.relative_to(out).parts[0] for path in written if path.parent != out} - {"docs"}
    for path in [path for top in sorted(tops) for path in (out / top).rglob("*")]:
        if path.is_file() and path not in written:
            path.unlink()
