"""The site of a folder of results."""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.writing import whole_file
from harness.configure.options import ids
from harness.evaluation import counted, papers
from harness.pages import index

if TYPE_CHECKING:
    import pandas as pd

Content = str | bytes | Path | None  # of a page, of a picture; the file that is copied; None: what is there stays
Page = tuple[str, str]  # path below the site's root, HTML
Asset = tuple[str, bytes]


@dataclass(frozen=True)
class Sources:
    """What the pages are made of.

    Parameters
    ----------
    root : Path
        The folder of results.
    out : Path
        The folder that the site goes to.
    papers : tuple of harness.evaluation.papers.Paper
        All that have a paper.yaml.
    held : dict
        {paper: rows of its reproduction.csv, or None}.
    estimators, problems, experiments : tuple of str
        All ids.
    """

    root: Path
    out: Path
    papers: tuple[papers.Paper, ...] = ()
    held: dict[str, pd.DataFrame | None] = field(default_factory=dict)
    estimators: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()

    @classmethod
    def of(cls, root: Path, out: Path | None = None) -> Sources:
        """Those of a folder of results; `out` is <root>/site unless given."""
        described = tuple(papers.every())
        lists: dict[str, Any] = {f"{kind}s": tuple(ids(kind)) for kind in ("estimator", "problem", "experiment")}
        return cls(root, out or root / "site", described, {p.id: counted.rows(root, p.id) for p in described}, **lists)

    @functools.cached_property
    def sections(self) -> list[dict[str, Any]]:
        """What is to be said of every paper, as of `harness.pages.index.section`."""
        return [index.section(paper, self.held[paper.id], self.root) for paper in self.papers]


Room = Callable[[Sources], Iterable[tuple[str, Content]]]


def build(
    folder: Path, out: Path | None = None, say: Callable[[str], None] = lambda text: None, rooms: dict[str, Room] | None = None
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
    from harness.pages import assets, estimator_cards, leaderboard, overview, own_results, problem_pages, sources_page
    from harness.pages import paper_pages as papers

    found: dict[str, Room] = {
        "scripts and style": assets.files,
        "overview": overview.pages,
        "papers": papers.pages,
        "their results": papers.results,
        "your runs": own_results.pages,
        "provenance": sources_page.pages,
    }
    for words, module in (("arena", leaderboard), ("estimators", estimator_cards), ("problems", problem_pages)):
        found |= {words: module.pages, f"files of {words}": module.assets}
    return found


def files_of(folder: Path, place: str) -> Iterator[tuple[str, Path]]:
    """Yield (path in the site, file to copy) of all files below a folder of results."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield f"{place}/{path.relative_to(folder).as_posix()}", path


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
        if there is None or (there.st_size, there.st_mtime_ns) != (given.st_size, given.st_mtime_ns):
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
