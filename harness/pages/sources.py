"""What the pages of the site are made of: results, papers, ids; and the types of what a part of the site gives."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from harness.configure.options import ids
from harness.evaluation import counted, papers
from harness.pages import index

Content = (
    str | bytes | Path | None
)  # of a page, of a picture; the file that is copied; None: what is there stays
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
        lists: dict[str, Any] = {
            f"{kind}s": tuple(ids(kind)) for kind in ("estimator", "problem", "experiment")
        }
        return cls(
            root,
            out or root / "site",
            described,
            {p.id: counted.rows(root, p.id) for p in described},
            **lists,
        )

    @functools.cached_property
    def sections(self) -> list[dict[str, Any]]:
        """What is to be said of every paper, as of `harness.pages.index.section`."""
        return [index.section(paper, self.held[paper.id], self.root) for paper in self.papers]


def files_of(folder: Path, place: str) -> Iterator[tuple[str, Path]]:
    """Yield (path in the site, file to copy) of all files below a folder of results."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield f"{place}/{path.relative_to(folder).as_posix()}", path
