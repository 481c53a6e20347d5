"""Records from outside: somebody else's results, read into the schema of records.

An entry of `records_from` names a file, or a pack (data/packs.yaml), and a reader: a function of
the paper's package that takes the path and returns a DataFrame with one row per estimate. The
frame has the columns NEEDED, and any others of schema.COLUMNS, `truth` and `truth_error`.

The other columns are filled in here. The status is `imported`, or `undefined` if the value is not
finite. The key is a digest of the file's sha256 and of the cell, so it is the same for everybody.
The run id leads to a description of the source, runs/<run id>.json. Only this description is
written; the rows are read from the file when they are needed.
"""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.common import buckets
from harness.common.data_files import sha256
from harness.common.paths import EXPERIMENTS
from harness.common.seeds import digest
from harness.errors import BadInputError, guess
from harness.plan import components
from harness.records import schema
from harness.sources import packs

CELL = ["problem", "notion", "n", "rep", "estimator"]  # columns that identify a cell
NEEDED = (*CELL, "estimand", "value")
FILLED_IN = (  # columns that no reader may give
    "key", "problem_key", "estimator_key", "run_id", "status", "seed", "written",
)  # fmt: skip
COLUMNS = schema.COLUMNS | dict.fromkeys(schema.TRUTHS, "float")


@dataclass(frozen=True)
class Source:
    """An entry of `records_from`: a file or a pack, and the dotted path of its reader."""

    reader: str
    file: str | None = None
    pack: str | None = None

    @property
    def path(self) -> Path:
        """The path of the file. A relative one is also looked for below CALHARNESS_DATA.

        Raises
        ------
        BadInputError
            If there is no such file or pack, or a pack has another checksum.
        """
        if self.pack:
            return self._pack_path()
        given = Path(str(self.file)).expanduser()
        places = [given]
        if given.parts[:1] == ("experiments",):
            places.append(EXPERIMENTS.joinpath(*given.parts[1:]))
        if data := os.environ.get("CALHARNESS_DATA"):
            places.append(Path(data).expanduser() / given)
        for place in places:
            if place.is_file():
                return place
        raise BadInputError(
            f"records_from needs {given}, which is neither here nor below CALHARNESS_DATA; give "
            "the path of a file."
        )

    def _pack_path(self) -> Path:
        known = packs.packs()
        if self.pack not in known:
            raise BadInputError(
                f"records_from has pack {self.pack!r}, which does not exist"
                f"{guess(str(self.pack), list(known))}."
            )
        pack = known[self.pack]
        path = pack.path_below(None if pack.is_shipped else packs.folder())
        if not path.is_file():
            raise BadInputError(f"records_from needs {path}, which is not there; {pack.remedy}.")
        if pack.sha256 not in (None, sha256(path)):
            raise BadInputError(
                f"{path} has sha256 {sha256(path)}, expected {pack.sha256}; it is not used."
            )
        return path

    @property
    def name(self) -> str:
        """The name of the pack or of the file."""
        return self.pack or Path(str(self.file)).name

    @property
    def run_id(self) -> str:
        """The name of `description`, the same for everybody with this file and this reader."""
        return f"imported-{digest(f'{sha256(self.path)}|{self.reader}')}"

    def records(self, experiment: str) -> pd.DataFrame:
        """Return the rows as `Experiment.records` does, under the name of an experiment."""
        path = self.path
        return _read(path, sha256(path), self.reader, self.run_id).assign(experiment=experiment)

    def described(self) -> str:
        """Return a clause with the number of imported cells and their source."""
        frame = self.records("")
        return (
            f"{frame['key'].nunique():,} imported cells ({len(frame):,} estimates) of {self.name}"
        )

    def description(self) -> dict[str, Any]:
        """Return the content of runs/<run id>.json, which describes the source."""
        pack = packs.packs()[self.pack] if self.pack else None
        fields = ("citation", "repository", "commit", "licence", "note")
        return {
            "run_id": self.run_id,
            "state": "imported",
            "config": {"name": self.name},
            "cells": {"todo": 0},
            "file": self.path.name,
            "sha256": sha256(self.path),
            "reader": self.reader,
            "origin": {name: text for name in fields if (text := getattr(pack, name, None))},
        }

    def record(self, out: Path) -> None:
        """Write the description to <out>/runs/<run id>.json, if it is not there."""
        name = f"runs/{self.run_id}.json"
        if name not in buckets.names(out, "runs"):
            buckets.write_json(out, name, self.description())


@functools.lru_cache(maxsize=8)
def _read(path: Path, checksum: str, reader: str, run_id: str) -> pd.DataFrame:
    """Return the rows that a reader gives for a file, with all columns of records and truths."""
    frame = components.import_object(reader, "records_from")(path).reset_index(drop=True)
    _check_frame(frame, f"{reader}, which reads {path.name},")
    parameters = {f"{group}_parameters": "{}" for group in ("problem", "estimator")}
    defaults = {**parameters, "kind": "point", "seed": -1, "reason": None}
    for name, kind in COLUMNS.items():
        if name not in frame:
            frame[name] = defaults.get(name, np.nan if kind == "float" else None)
    is_finite = np.isfinite(frame["value"].astype(float))
    frame["status"] = np.where(is_finite, "imported", "undefined")
    frame["reason"] = frame["reason"].where(~is_finite | frame["reason"].notna(), None)
    frame.loc[~is_finite & frame["reason"].isna(), "reason"] = "no finite number was published"
    cells = [json.dumps(row, default=str) for row in frame[CELL].itertuples(index=False, name=None)]
    frame["key"] = [digest(f"{checksum}|{cell}") for cell in cells]
    for group in ("problem", "estimator"):
        frame[f"{group}_key"] = [digest(f"{checksum}|{group}|{name}") for name in frame[group]]
    frame["run_id"] = run_id
    frame = frame.astype({name: schema.dtype(kind) for name, kind in schema.COLUMNS.items()})
    return frame[list(COLUMNS)]


def _check_frame(frame: pd.DataFrame, reader: str) -> None:
    """Raise BadInputError if columns are missing or not allowed, or if a row occurs twice."""
    absent = [name for name in NEEDED if name not in frame]
    wrong = [str(name) for name in frame if name in FILLED_IN or name not in COLUMNS]
    message = ""
    if absent:
        message = f"gives no {', '.join(absent)}"
    elif wrong:
        message = f"gives {', '.join(wrong)}, which no reader may give"
    if message:
        allowed = ", ".join(name for name in COLUMNS if name not in FILLED_IN)
        raise BadInputError(f"{reader} {message}; a record has {allowed}.")
    row = [*CELL, "estimand"]
    twice = frame.duplicated(row)
    if twice.any():
        raise BadInputError(
            f"{reader} gives {frame.loc[twice, row].iloc[0].to_list()} twice; an estimate has one "
            "row."
        )
