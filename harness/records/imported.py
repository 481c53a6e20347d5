"""Records from outside: a file of somebody else's results, read into the records' schema by a function of the paper's package.

An entry of `records_from` names a file, or a pack (data/packs.yaml), and the reader, path -> DataFrame, one row per estimate. The
reader gives problem, notion, n, rep, estimator, estimand and value, and what else it knows of records.COLUMNS, truth and
truth_error. The rest is filled in here: status `imported` (`undefined` where the value is not finite), a key that is the same for
everybody (of the file's sha256 and of what the row is of), and the run id of a description of where the rows come from.
Nothing is written but that description, runs/<run id>.json; the rows are read from the file whenever they are needed.
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

NEEDED = ("problem", "notion", "n", "rep", "estimator", "estimand", "value")
OF_A_CELL = ("problem", "notion", "n", "rep", "estimator")
OWN = (
    "key",
    "problem_key",
    "estimator_key",
    "run_id",
    "status",
    "seed",
    "written",
)  # columns that no reader gives


@dataclass(frozen=True)
class Source:
    """One entry of `records_from`: a file or a pack, and the dotted path of its reader."""

    reader: str
    file: str | None = None
    pack: str | None = None

    @property
    def path(self) -> Path:
        """Where the file is: a pack's own place; a path as it is, of a paper's package if it begins with experiments/, else below
        CALHARNESS_DATA. Raises BadInputError where it is not."""
        if self.pack:
            every = packs.packs()
            if self.pack not in every:
                raise BadInputError(
                    f"records_from has pack {self.pack!r}, which there is not{guess(self.pack, list(every))}."
                )
            pack = every[self.pack]
            place = pack.at(None if pack.is_shipped else packs.folder())
            if not place.is_file():
                raise BadInputError(f"records_from needs {place}, which is not there; {pack.how}.")
            if pack.sha256 not in (None, sha256(place)):
                raise BadInputError(
                    f"{place} has sha256 {sha256(place)}, expected {pack.sha256}; it is not used."
                )
            return place
        given = Path(str(self.file)).expanduser()
        base = os.environ.get("CALHARNESS_DATA")
        own = (
            [EXPERIMENTS.joinpath(*given.parts[1:])] if given.parts[:1] == ("experiments",) else []
        )
        for place in (given, *own, *([Path(base).expanduser() / given] if base else [])):
            if place.is_file():
                return place
        raise BadInputError(
            f"records_from needs {given}, which is neither here nor below CALHARNESS_DATA; give a file's path."
        )

    @property
    def name(self) -> str:
        """What it is called: the pack, or the file's name."""
        return self.pack or Path(str(self.file)).name

    @property
    def run_id(self) -> str:
        """Leads to `description`; the same for everybody who has this file and this reader."""
        return f"imported-{digest(f'{sha256(self.path)}|{self.reader}')}"

    def records(self, experiment: str) -> pd.DataFrame:
        """The rows as of `Experiment.records`, `experiment` being whose they are."""
        place = self.path
        return _read(place, sha256(place), self.reader, self.run_id).assign(experiment=experiment)

    def described(self) -> str:
        """A sentence on what is imported."""
        frame = self.records("")
        return (
            f"{frame['key'].nunique():,} imported cells ({len(frame):,} estimates) of {self.name}"
        )

    def description(self) -> dict[str, Any]:
        """Where the rows come from, as runs/<run id>.json holds it."""
        pack = packs.packs()[self.pack] if self.pack else None
        told = ("citation", "repository", "commit", "licence", "note")
        return {
            "run_id": self.run_id, "state": "imported", "config": {"name": self.name}, "cells": {"todo": 0},
            "file": self.path.name, "sha256": sha256(self.path), "reader": self.reader,
            "origin": {name: text for name in told if (text := getattr(pack, name, None))},
        }  # fmt: skip

    def record(self, out: Path) -> None:
        """Write the description to <out>/runs/<run id>.json, unless it is there."""
        name = f"runs/{self.run_id}.json"
        if name not in buckets.names(out, "runs"):
            buckets.write_json(out, name, self.description())


@functools.lru_cache(maxsize=8)
def _read(path: Path, checksum: str, reader: str, run_id: str) -> pd.DataFrame:
    frame = components.imported(reader, "records_from")(path).reset_index(drop=True)
    said = f"{reader}, which reads {path.name},"
    absent = [name for name in NEEDED if name not in frame]
    known = (*schema.COLUMNS, "truth", "truth_error")
    wrong = [str(name) for name in frame if name in OWN or name not in known]
    if absent or wrong:
        what = (
            f"gives no {', '.join(absent)}"
            if absent
            else f"gives {', '.join(wrong)}, which no reader may give"
        )
        raise BadInputError(
            f"{said} {what}; a record has {', '.join(name for name in known if name not in OWN)}."
        )
    cell = list(OF_A_CELL)
    twice = frame.duplicated([*cell, "estimand"])
    if twice.any():
        raise BadInputError(
            f"{said} gives {frame.loc[twice, [*cell, 'estimand']].iloc[0].to_list()} twice; a row is of one."
        )
    identity = [
        json.dumps(row, default=str) for row in frame[cell].itertuples(index=False, name=None)
    ]
    codes, once = pd.factorize(np.asarray(identity, dtype=object))
    parameters = {f"{group}_parameters": "{}" for group in ("problem", "estimator")}
    defaults = {**parameters, "kind": "point", "seed": -1, "reason": None}
    for name, kind in (schema.COLUMNS | {"truth": "float", "truth_error": "float"}).items():
        if name not in frame:
            frame[name] = defaults.get(name, np.nan if kind == "float" else None)
    fine = np.isfinite(frame["value"].astype(float))
    frame["status"] = np.where(fine, "imported", "undefined")
    frame["reason"] = frame["reason"].where(~fine | frame["reason"].notna(), None)
    frame.loc[~fine & frame["reason"].isna(), "reason"] = "no finite number was published"
    frame["key"] = np.array([digest(f"{checksum}|{text}") for text in once], dtype=object)[codes]
    for group in ("problem", "estimator"):
        names, every = pd.factorize(frame[group])
        frame[f"{group}_key"] = np.array(
            [digest(f"{checksum}|{group}|{name}") for name in every], dtype=object
        )[names]
    frame["run_id"] = run_id
    return frame.astype({name: schema.dtype(kind) for name, kind in schema.COLUMNS.items()})[
        ["key", *[name for name in known if name != "key"]]
    ]
