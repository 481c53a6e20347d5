"""Inputs of the site: a folder of results, the papers, and the ids of estimators and problems."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.configure import catalogue
from harness.configure.options import ids, option
from harness.evaluation import papers
from harness.pages import index

Content = str | bytes | Path  # content of a file of the site; the file at a Path is copied
Files = Iterator[tuple[str, Content]]  # (path below the root of the site, content)


@dataclass(frozen=True)
class Sources:
    """Inputs of the site.

    Parameters
    ----------
    root, out : Path
        Folder of the results, and folder of the site.
    papers : tuple of harness.evaluation.papers.Paper
        Descriptions of all papers that have a paper.yaml.
    estimators, problems : tuple of str
        Ids of all estimators, and of all problems.
    """

    root: Path
    out: Path
    papers: tuple[papers.Paper, ...] = ()
    estimators: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, root: Path, out: Path | None = None) -> Sources:
        """Collect the inputs of the site for a folder of results.

        `out` is the folder of the site, by default <root>/site.
        """
        known = tuple(papers.every())
        return cls(
            root, out or root / "site", known, tuple(ids("estimator")), tuple(ids("problem"))
        )

    @property
    def results(self) -> str:
        """Relative link from the root of the site to the folder of results, such as "../".

        Pages link to figures and tables there, because copies would be most of the site's bytes.
        """
        return f"{Path(os.path.relpath(self.root, self.out)).as_posix()}/"

    @functools.cached_property
    def sections(self) -> list[dict[str, Any]]:
        """The result of `harness.pages.index.section` for every paper."""
        return [index.section(paper, self.root) for paper in self.papers]


def describe_problem(name: str) -> str:
    """Describe a problem by the text in its YAML, else by its class and its parameters.

    Return "" for a user's own problem.
    """
    if name not in ids("problem"):
        return ""
    text = catalogue.first_sentence(option("problem", name).about)
    if not text:
        node = catalogue.config("problem", name)
        kind = catalogue.first_sentence(catalogue.docstring(node["_target_"]))
        text = f"{kind}: {catalogue.short_text(node)}"
    return text
