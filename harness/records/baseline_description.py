"""Read baseline.json, the description of the arena's stored records.

It tells which problems, families, notions and sample sizes the baseline has. Reading it takes
milliseconds, while reading the records takes seconds. Wrong options are therefore refused at once.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from harness.common.paths import BASELINE
from harness.common.reading import read_text
from harness.common.version import VERSION
from harness.common.writing import write_json
from harness.errors import BadInputError

REMEDY = (
    "`calharness compare --rebuild` computes the missing cells (in hours; the same command resumes "
    "an interrupted run)"
)


@dataclass(frozen=True)
class Description:
    """Contents of the baseline.

    classes    {problem id: number of classes}
    families   {family: [problem ids]}
    notions    notions of the cells
    n          sample sizes, in increasing order
    reps       number of replications
    samples    {problem id: {notion: {n: number of replications}}}
    keys       {problem id: key of the problem}
    origins    {problem id: name of the problem, or of its family, in the experiments' settings}
    configuration   {experiment: digest of the settings that determine its samples}
    estimators      {experiment: estimators whose records are stored}
    """

    classes: dict[str, int]
    families: dict[str, list[str]]
    notions: list[str]
    n: list[int]
    reps: int
    samples: dict[str, dict[str, dict[str, int]]]
    keys: dict[str, str]
    origins: dict[str, str]
    configuration: dict[str, str]
    estimators: dict[str, list[str]]


def find_folder(given: str | Path | None = None) -> Path:
    """Return the folder of the baseline: `given`, or that of the checkout or installed package."""
    return Path(given).expanduser() if given is not None else BASELINE


def file_path(folder: str | Path | None) -> Path:
    """Return the path of the description in a folder (see `find_folder`)."""
    return find_folder(folder) / "baseline.json"


def write(folder: str | Path | None, description: Description) -> Path:
    """Write a description into the folder of a baseline, and return its path."""
    path = file_path(folder)
    write_json(path, {"version": VERSION, **asdict(description)})
    return path


def read(folder: str | Path | None) -> Description:
    """Return the description of the baseline in a folder.

    Raise BadInputError if it is absent or broken.
    """
    path = file_path(folder)
    try:
        content: dict[str, Any] = json.loads(read_text(path))
        description = Description(
            **{field.name: content[field.name] for field in fields(Description)}
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInputError(f"{path} is absent or broken; {REMEDY}.") from None
    is_whole = isinstance(description.classes, dict) and isinstance(description.families, dict)
    if not (is_whole and description.n and description.notions):
        raise BadInputError(f"{path} is absent or broken; {REMEDY}.")
    return description
