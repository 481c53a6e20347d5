"""The site of a folder of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.writing import whole_file
from harness.report import counted, papers
from harness.runs.options import ids
from harness.site import assets

if TYPE_CHECKING:
    import pandas as pd

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
    papers : tuple of harness.report.papers.Paper
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


def build(folder: Path, out: Path | None = None, say: Callable[[str], None] = lambda text: None) -> Path:
    """Write the site of a folder of results into `out` (default <folder>/site). Returns the path of its index.html."""
    root = Sources.of(folder, out)
    for path, content in _everything(root, say):
        _write(root.out / path, content)
    return root.out / "index.html"


def _everything(root: Sources, say: Callable[[str], None]) -> Iterator[Asset]:
    yield from assets.files()
    for pages in _rooms():
        for path, content in pages(root):
            yield path, content.encode() if isinstance(content, str) else content


def _rooms() -> list[Callable[[Sources], Iterator[Page] | Iterator[Asset]]]:
    return []


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
