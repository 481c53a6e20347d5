"""The baseline: the arena's stored records, with which `calharness compare` compares.

results/baseline/<experiment>.parquet    stored records of the arena's experiments, no diagnostics
results/baseline/baseline.json           number of classes of every problem, problems of each family

The folder also holds records that only the arena's page shows (intervals, tests, pairs of models).
The numbers depend on no data at hand: problems that are fitted to files are stored with their
truths. A file whose cells are not those of today's arena is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from harness.common.paths import BASELINE, CHECKOUT
from harness.common.version import VERSION
from harness.common.writing import write_json
from harness.configure.compose import compose
from harness.configure.options import option
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.plan import plan as planning
from harness.plan.cells import Cell
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec
from harness.records import reader, schema, stored

WHOLE = "arena_index"  # the experiment whose `records_of` names the parts of the arena
REMEDY = (
    "`calharness compare --rebuild` computes the missing cells (hours; the same command resumes it)"
)
COMPARED = (  # columns of records that `harness.evaluation.arena` reads
    "key", "problem", "notion", "n", "rep", "estimator", "seed", "estimand", "value", "low",
    "high", "kind", "status", "cpu_seconds", "truth", "truth_error",
)  # fmt: skip
OTHER = "other"  # family of a problem that is in no family of the arena


@dataclass(frozen=True)
class Baseline:
    """The arena's stored records and what they belong to.

    folder     the folder of the stored records
    families   {family: [problem ids]}
    classes    {problem id: number of classes}
    plans      {experiment: plan of its stored records}
    """

    folder: Path
    families: dict[str, list[str]]
    classes: dict[str, int]
    plans: dict[str, Plan]

    def family_of(self, problem: str) -> str:
        """Return the family of a problem of the arena."""
        families = (family for family, members in self.families.items() if problem in members)
        return next(families, OTHER)

    def records(
        self, columns: Iterable[str] = stored.COLUMNS, choose: stored.Choice | None = None
    ) -> pd.DataFrame:
        """Return the records with truths, as `load_records` does. Texts are categories.

        `columns` and `choose` (see `stored.frame_of`) save memory: there are a million rows.
        """
        wanted = list(columns)
        frames = []
        for name, plan in self.plans.items():
            path = stored.path_of(self.folder, name)
            frames.append(stored.frame_of(path, plan, {*wanted, "key", "estimand"}, choose))
        frame = joined(frames)
        twice = frame.duplicated(["key", "estimand"])
        frame = frame[wanted]
        return frame[~twice].reset_index(drop=True) if twice.any() else frame

    def truths(self) -> dict[str, dict[str, Any]]:
        """Return {problem key: {"notion|estimand": [truth, error, method]}} of the known truths."""
        truths: dict[str, dict[str, Any]] = {}
        for name in self.plans:
            content = stored.metadata(stored.path_of(self.folder, name))
            for key, pairs in content["truths"].items():
                known = {pair: truth for pair, truth in pairs.items() if truth}
                truths.setdefault(key, {}).update(known)
        return truths


def folder_of(given: str | Path | None = None) -> Path:
    """Return the given folder, by default that of the checkout or of the installed package."""
    return Path(given).expanduser() if given is not None else BASELINE


def experiments(compared: bool = True) -> list[str]:
    """Return the experiments of the arena, by their key `arena` in conf/experiment.

    With `compared=False`, return those that its page only shows: intervals, tests, pairs.
    """
    names: list[str] = option("experiment", WHOLE).config["records_of"]
    return [
        name for name in names if bool(option("experiment", name).config.get("arena")) == compared
    ]


def settings_of(name: str) -> Settings:
    """Return the settings of one of these experiments."""
    return compose([f"experiment={name}"])


def families() -> dict[str, list[str]]:
    """Return {family: [problem ids]} of conf/experiment/arena.yaml."""
    settings: dict[str, Any] = option("experiment", "arena").config.get("arena") or {}
    return {family: list(members) for family, members in (settings.get("families") or {}).items()}


# Write


def store(out: Path, folder: str | Path | None = None) -> list[Path]:
    """Write the baseline from the records of a results folder, and return its files.

    Experiments that the page only shows are left out if their records are incomplete.

    Raises
    ------
    BadInputError
        If a cell of the arena has no finished record: gaps would favour the estimator that is
        compared. Also without `folder` in an installed package, whose baseline is only read.
    """
    if folder is None and CHECKOUT is None:
        raise BadInputError(
            "the baseline of this installation is read only; give baseline=DIR for the new one."
        )
    where = folder_of(folder)
    written: list[Path] = []
    classes: dict[str, int] = {}
    needed = experiments()
    for name in [*needed, *experiments(compared=False)]:
        plan = planning.plan(settings_of(name))
        frame, missing = _recorded(plan, out)
        if missing and name not in needed:
            continue
        if missing:
            raise BadInputError(
                f"{len(missing):,} cells of {name} have no record in {out}, the first "
                f"{missing[0].described}; {REMEDY}."
            )
        written.append(stored.store(frame, plan, out, stored.path_of(where, name)))
        if name in needed:
            specs = {id: ProblemSpec.of(problem.object) for id, problem in plan.problems.items()}
            classes |= {id: spec.classes for id, spec in specs.items()}
    present = {
        family: [name for name in members if name in classes]
        for family, members in families().items()
    }
    content = {
        "version": VERSION,
        "classes": classes,
        "families": {family: members for family, members in present.items() if members},
    }
    write_json(where / "baseline.json", content)
    return [*written, where / "baseline.json"]


def _recorded(plan: Plan, out: Path) -> tuple[pd.DataFrame, list[Cell]]:
    """Return the records of a plan without diagnostics, and the cells without a finished one."""
    frame = reader.empty_frame()
    if out.exists():
        keys = reader.keys_of(cell.key for cell in plan.cells)
        frame = reader.load_records(out, keys, categories=False)
    ended = set(frame.loc[frame["status"].isin((*schema.FINISHED, "failed")), "key"])
    return frame.assign(diagnostics=None), [cell for cell in plan.cells if cell.key not in ended]


# Read


def read(folder: str | Path | None = None) -> Baseline:
    """Read the description and the plans of the baseline; `Baseline.records` reads its records.

    Raises
    ------
    BadInputError
        If it is absent or broken, or if its cells are not those of today's arena.
    """
    where = folder_of(folder)
    plans = {}
    for name in experiments():
        path, settings = stored.path_of(where, name), settings_of(name)
        if not path.is_file():
            raise BadInputError(f"there is no baseline of {name} in {where}; {REMEDY}.")
        with _naming(where):
            plans[name] = stored.plan_of(path, settings, partial(planning.plan, settings))
            stored.check_plan(path, plans[name])
    content = _read_description(where)
    return Baseline(where, content["families"], content["classes"], plans)


def load(folder: str | Path | None = None) -> pd.DataFrame:
    """Return the records of the baseline, as `load_records` does, with truths."""
    return read(folder).records()


def joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of frames with the same columns.

    Texts stay categories, in alphabetical order; `pandas.concat` would expand them.
    """
    columns: dict[str, Any] = {}
    for name in frames[0]:
        parts = [frame[name] for frame in frames]
        if isinstance(parts[0].dtype, pd.CategoricalDtype):
            parts = [p.cat.rename_categories(p.cat.categories.astype(object)) for p in parts]
            columns[name] = union_categoricals(parts, sort_categories=True)
        else:
            columns[name] = np.concatenate(parts)
    return pd.DataFrame(columns, copy=False)


@contextmanager
def _naming(where: Path) -> Iterator[None]:
    """Name the folder of the baseline and the remedy in a BadInputError of the block."""
    try:
        yield
    except BadInputError as error:
        raise BadInputError(
            f"the baseline in {where} cannot be used: {str(error).rstrip('.')}; {REMEDY}."
        ) from error


def _read_description(where: Path) -> dict[str, Any]:
    """Return the content of baseline.json."""
    try:
        content: dict[str, Any] = json.loads((where / "baseline.json").read_text())
        if isinstance(content["classes"], Mapping) and isinstance(content["families"], Mapping):
            return content
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise BadInputError(
        f"{where / 'baseline.json'} is absent or broken; put back an earlier one, or: {REMEDY}."
    )
