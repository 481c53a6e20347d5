"""Many files of predictions as a family of problems: one per file of a folder."""

from __future__ import annotations

import fnmatch
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.paths import CACHE
from harness.errors import BadInputError
from harness.problems.base import Truth
from harness.problems.predictions import Predictions

PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class PredictionFiles:
    """A family of problems, one Predictions per file of `folder` whose name matches `pattern`, in the order of the names.

    Ids are `<name>/<file without ending>`, with `/<part>` where one is given. What is random is seeded by ids and checksums.
    Without such files the family is a single problem, `<name>/absent[/<part>]`, whose cells are skipped.

    Parameters
    ----------
    folder : str
        Looked for in the working folder, below CALHARNESS_DATA and in the project's cache folder.
    pattern : str
        Which of its files are taken.
    part : {"train", "val", "test"}, optional
        Takes the arrays `<part>_logits` and `<part>_labels` of every file.
    probabilities, logits, labels : str, optional
        Without `part`: names of the arrays, as in Predictions.
    name : str, optional
        What the ids begin with; the folder's last part by default.
    source : str, optional
        How the files can be had, said where they are absent.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("resnet.csv", "vgg.csv"):
    ...     _ = (folder / name).write_text("p,y\\n0.2,0\\n0.7,1\\n")
    >>> list(PredictionFiles(str(folder), pattern="*.csv", name="nets").members())
    ['nets/resnet', 'nets/vgg']
    """

    folder: str = ""
    pattern: str = "*.npz"
    part: str | None = None
    probabilities: str | None = None
    logits: str | None = None
    labels: str | None = None
    name: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if not self.folder:
            raise BadInputError(
                "folder is missing; the folder that holds the files of predictions is needed."
            )
        if self.part is not None and self.part not in PARTS:
            raise BadInputError(f"part is {self.part!r}; allowed are {', '.join(PARTS)} and null.")
        if self.part is not None and (self.probabilities or self.logits or self.labels):
            raise BadInputError(
                f"part is {self.part!r} beside names of arrays; part itself names them {self.part}_logits and so on."
            )

    def members(self) -> dict[str, Any]:
        """{id: Predictions}, or the one absent problem."""
        name = self.name or Path(self.folder).name
        end = f"/{self.part}" if self.part else ""
        paths = self.paths()
        if not paths:
            return {f"{name}/absent{end}": AbsentFiles(self._absent())}
        twice = [
            path.stem for path in paths if [other.stem for other in paths].count(path.stem) > 1
        ]
        if twice:
            raise BadInputError(
                f"{paths[0].parent} holds several files {twice[0]}.*; ids are the names without endings."
            )
        arrays = self.probabilities, self.logits, self.labels
        if self.part:
            arrays = None, f"{self.part}_logits", f"{self.part}_labels"
        return {
            f"{name}/{path.stem}{end}": Predictions(str(path), *arrays, by_content=False)
            for path in paths
        }

    def paths(self) -> list[Path]:
        """The files, of the first place that has any."""
        for place in self._places():
            found = sorted(place.glob("*")) if place.is_dir() else []
            found = [p.resolve() for p in found if p.is_file() and self._matches(p.name)]
            if found:
                return found
        return []

    def _matches(self, name: str) -> bool:
        return not name.startswith(".") and fnmatch.fnmatchcase(name, self.pattern)

    def _places(self) -> list[Path]:
        given, data = Path(self.folder).expanduser(), os.environ.get("CALHARNESS_DATA")
        if given.is_absolute():
            return [given]
        return [
            given.absolute(),
            *([Path(data).expanduser() / given] if data else []),
            CACHE / given,
        ]

    def _absent(self) -> str:
        text = f"there are no files {self.folder}/{self.pattern} here, below CALHARNESS_DATA or in the cache folder"
        return f"{text}; {self.source}" if self.source else text


@dataclass(frozen=True)
class AbsentFiles:
    """A problem that stands for files that are not there: its cells are skipped with the reason.

    Parameters
    ----------
    reason : str
        Why, and how to get the files.

    Examples
    --------
    >>> AbsentFiles("there are no files nets/*.npz here").unavailable
    'there are no files nets/*.npz here'
    """

    reason: str

    version = 1
    notions = default_notions = ("binary", "top_label", "classwise", "canonical")
    default_n = default_reps = 1
    n_max = None  # any n that an experiment asks for: nothing is drawn

    @property
    def unavailable(self) -> str:
        return self.reason

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        raise BadInputError(f"{self.reason}.")

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        return None
