"""Family of problems that reads each file of predictions in a folder."""

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
    r"""Family with one Predictions problem per matching file of a folder.

    Members are in the order of the file names. Ids are `<name>/<file without ending>`, followed by
    `/<part>` if a part is chosen. Random streams depend on ids and checksums. If there are no
    files, the family is a single problem with the id `<name>/absent` or `<name>/absent/<part>`,
    which runs skip.

    Parameters
    ----------
    folder : str
        Folder, searched in the working folder, below CALHARNESS_DATA and in the project's cache
        folder.
    pattern : str
        Pattern of file names.
    part : {"train", "val", "test"}, optional
        Read the arrays `<part>_logits` and `<part>_labels` of every file.
    probabilities, logits, labels : str, optional
        Names of the arrays, as in Predictions, if no `part` is chosen.
    order, float32
        As in Predictions.
    name : str, optional
        First part of the ids. By default it is the last part of the folder.
    source : str, optional
        How to get the files. It appears in the message if they are absent.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("resnet.csv", "vgg.csv"):
    ...     _ = (folder / name).write_text("p,y\n0.2,0\n0.7,1\n")
    >>> list(PredictionFiles(str(folder), pattern="*.csv", name="nets").members())
    ['nets/resnet', 'nets/vgg']
    """

    folder: str = ""
    pattern: str = "*.npz"
    part: str | None = None
    probabilities: str | None = None
    logits: str | None = None
    labels: str | None = None
    order: str = "random"
    float32: bool = False
    name: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if not self.folder:
            raise BadInputError("folder is missing; give the folder with the files of predictions.")
        if self.part is not None and self.part not in PARTS:
            raise BadInputError(f"part is {self.part!r}; allowed are {', '.join(PARTS)} and null.")
        if self.part is not None and (self.probabilities or self.logits or self.labels):
            raise BadInputError(
                f"part is {self.part!r}, which names the arrays {self.part}_logits and "
                f"{self.part}_labels; remove probabilities, logits and labels."
            )

    def members(self) -> dict[str, Any]:
        """Return {id: Predictions problem}, or a single absent problem if there are no files."""
        name = self.name or Path(self.folder).name
        end = f"/{self.part}" if self.part else ""
        paths = self.paths()
        if not paths:
            return {f"{name}/absent{end}": AbsentFiles(self._absent())}
        stems = [path.stem for path in paths]
        duplicates = [stem for stem in stems if stems.count(stem) > 1]
        if duplicates:
            raise BadInputError(
                f"{paths[0].parent} has several files {duplicates[0]}.*; their ids would be equal, "
                "because ids have no endings. Rename them."
            )
        arrays = self.probabilities, self.logits, self.labels
        if self.part:
            arrays = None, f"{self.part}_logits", f"{self.part}_labels"
        return {
            f"{name}/{path.stem}{end}": Predictions(
                str(path), *arrays, order=self.order, float32=self.float32, by_content=False
            )
            for path in paths
        }

    def paths(self) -> list[Path]:
        """Return the paths of the matching files, from the first folder that has any."""
        for folder in self._folders():
            paths = sorted(folder.glob("*")) if folder.is_dir() else []
            paths = [p.resolve() for p in paths if p.is_file() and self._matches(p.name)]
            if paths:
                return paths
        return []

    def _matches(self, name: str) -> bool:
        """Return True if a file name matches the pattern and is not hidden."""
        return not name.startswith(".") and fnmatch.fnmatchcase(name, self.pattern)

    def _folders(self) -> list[Path]:
        """Return the folders that are searched, in this order."""
        folder, data = Path(self.folder).expanduser(), os.environ.get("CALHARNESS_DATA")
        if folder.is_absolute():
            return [folder]
        return [
            folder.absolute(),
            *([Path(data).expanduser() / folder] if data else []),
            CACHE / folder,
        ]

    def _absent(self) -> str:
        """Return a clause that says where files were searched and how to get them."""
        text = (
            f"there are no files {self.folder}/{self.pattern} here, "
            "below CALHARNESS_DATA or in the cache folder"
        )
        return f"{text}; {self.source}" if self.source else text


@dataclass(frozen=True)
class AbsentFiles:
    """Problem whose files are absent, so that runs skip it.

    Parameters
    ----------
    reason : str
        Why the files are absent, and how to get them.

    Examples
    --------
    >>> AbsentFiles("there are no files nets/*.npz here").unavailable
    'there are no files nets/*.npz here'
    """

    reason: str

    version = 1
    notions = default_notions = ("binary", "top_label", "classwise", "canonical")
    default_n = default_reps = 1
    n_max = None  # no limit, because nothing is drawn

    @property
    def unavailable(self) -> str:
        return self.reason

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        raise BadInputError(f"{self.reason}.")

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        return None
