"""Read published results of other people as records.

An entry of the option `records_from` names a file and a reader. Instead of a file, it may name a
pack: a data file that data/packs.yaml describes. The reader is a function that takes the path of
the file. It returns a DataFrame with one row per estimate, and these columns:

required   problem, notion, n, rep, estimator, estimand, value
optional   truth, truth_error, and other columns of records (`schema.COLUMNS`)
refused    key, problem_key, estimator_key, run_id, status, seed, written

All columns that the reader does not return are filled in here. The status is `imported`, or
`undefined` if the value is not finite. The key is a digest of the cell and of the file's checksum,
so it is the same on every machine. runs/<run id>.json describes the source. Only this description
is written to the folder of results; the rows are read from the file whenever they are needed.
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
from harness.plan import targets
from harness.records import schema
from harness.sources import packs

CELL = ["problem", "notion", "n", "rep", "estimator"]  # columns that identify a cell
NEEDED = (*CELL, "estimand", "value")
FILLED_IN = (  # columns that a reader must not return
    "key", "problem_key", "estimator_key", "run_id", "status", "seed", "written",
)  # fmt: skip
COLUMNS = schema.COLUMNS | dict.fromkeys(schema.TRUTHS, "float")


@dataclass(frozen=True)
class Source:
    """An entry of `records_from`.

    reader   dotted path of the function that reads the file
    file     path of the file, unless `pack` is given
    pack     name of a pack in data/packs.yaml, unless `file` is given
    """

    reader: str
    file: str | None = None
    pack: str | None = None

    @property
    def path(self) -> Path:
        """Path of the file. A relative path is also looked up in the folder CALHARNESS_DATA.

        Raises
        ------
        BadInputError
            If there is no such file or pack, or if the file of a pack has a wrong checksum.
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
            f"records_from names {given}, which is neither in the working folder nor in the folder "
            "CALHARNESS_DATA; correct the path."
        )

    def _pack_path(self) -> Path:
        known = packs.packs()
        if self.pack not in known:
            raise BadInputError(
                f"records_from names the pack {self.pack!r}, which does not exist"
                f"{guess(str(self.pack), list(known))}; `calharness data list` shows all packs."
            )
        pack = known[self.pack]
        path = pack.path_below(None if pack.is_shipped else packs.folder())
        if not path.is_file():
            raise BadInputError(f"records_from needs {path}, which is absent; {pack.remedy}.")
        if pack.sha256 not in (None, sha256(path)):
            raise BadInputError(
                f"{path} has the sha256 {sha256(path)}, but data/packs.yaml expects {pack.sha256}; "
                "fetch the file again."
            )
        return path

    @property
    def name(self) -> str:
        """Name of the pack, or of the file without a pack."""
        return self.pack or Path(str(self.file)).name

    @property
    def run_id(self) -> str:
        """Run id of the records. It depends only on the file's content and the reader."""
        return f"imported-{digest(f'{sha256(self.path)}|{self.reader}')}"

    def records(self, experiment: str) -> pd.DataFrame:
        """Return the records of the file, as records of the experiment with the id `experiment`."""
        path = self.path
        return _read(path, sha256(path), self.reader, self.run_id).assign(experiment=experiment)

    def described(self) -> str:
        """Return a phrase such as "12 imported cells (24 estimates) of file.csv"."""
        frame = self.records("")
        return (
            f"{frame['key'].nunique():,} imported cells ({len(frame):,} estimates) of {self.name}"
        )

    def description(self) -> dict[str, Any]:
        """Return the description of the source that runs/<run id>.json contains."""
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
        """Write the description to <out>/runs/<run id>.json, unless that file exists."""
        name = f"runs/{self.run_id}.json"
        if name not in buckets.names(out, "runs"):
            buckets.write_json(out, name, self.description())


@functools.lru_cache(maxsize=8)
def _read(path: Path, checksum: str, reader: str, run_id: str) -> pd.DataFrame:
    """Return the records that a reader makes of a file, with all columns of records and truths.

    `checksum` is the sha256 of the file.
    """
    frame = targets.import_object(reader, "records_from")(path).reset_index(drop=True)
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
    """Raise BadInputError if columns are missing or not allowed, or if an estimate occurs twice.

    `reader` names the reader and the file at the beginning of messages.
    """
    absent = [name for name in NEEDED if name not in frame]
    wrong = [str(name) for name in frame if name in FILLED_IN or name not in COLUMNS]
    message = ""
    if absent:
        message = f"returns no column {', '.join(absent)}"
    elif wrong:
        message = f"returns {', '.join(wrong)}, which is not allowed"
    if message:
        allowed = ", ".join(name for name in COLUMNS if name not in FILLED_IN)
        raise BadInputError(f"{reader} {message}; the allowed columns are {allowed}.")
    row = [*CELL, "estimand"]
    twice = frame.duplicated(row)
    if twice.any():
        raise BadInputError(
            f"{reader} returns {frame.loc[twice, row].iloc[0].to_list()} twice; return one row "
            "for each estimate."
        )
