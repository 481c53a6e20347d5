"""Content of the site: results, papers and ids."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.configure import catalogue
from harness.configure.options import ids, option
from harness.evaluation import papers
from harness.pages import index

Content = str | bytes | Path  # of a file of the site; a path is copied
Files = Iterator[tuple[str, Content]]  # (path below the root of the site, content)


@dataclass(frozen=True)
class Sources:
    """Content of the site.

    Parameters
    ----------
    root, out : Path
        Folders of the results and of the site.
    papers : tuple of harness.evaluation.papers.Paper
        All papers that have a paper.yaml.
    estimators, problems : tuple of str
        All ids.
    """

    root: Path
    out: Path
    papers: tuple[papers.Paper, ...] = ()
    estimators: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, root: Path, out: Path | None = None) -> Sources:
        """Collect the content of a folder of results; `out` is <root>/site unless given."""
        known = tuple(papers.every())
        return cls(
            root, out or root / "site", known, tuple(ids("estimator")), tuple(ids("problem"))
        )

    @functools.cached_property
    def sections(self) -> list[dict[str, Any]]:
        """`harness.pages.index.section` of every paper."""
        return [index.section(paper, self.root) for paper in self.papers]


def copied_files(folder: Path, place: str) -> Iterator[tuple[str, Path]]:
    """Yield (path in the site, path of the file) of all files below a folder of results."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield f"{place}/{path.relative_to(folder).as_posix()}", path


def describe_problem(name: str) -> str:
    """Describe a problem in a sentence: by its YAML, else by its class and parameters."""
    text = catalogue.first_sentence(option("problem", name).about)
    if not text:
        node = catalogue.config("problem", name)
        kind = catalogue.first_sentence(catalogue.docstring(node["_target_"]))
        text = f"{kind}: {catalogue.short_text(node)}"
    return text
