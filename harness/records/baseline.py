"""Write and read the baseline: stored records of all estimators in the arena.

The arena runs all estimators on all problems with known truths. `calharness compare` compares a new
estimator with these records.

results/baseline/<experiment>.parquet    records of one experiment, without diagnostics
results/baseline/baseline.json           problems, families and sizes (see baseline_description)

Some of these experiments (intervals, tests, pairs of models) are shown on the arena's page, but not
compared. Reading the baseline needs no data files, because truths are stored too. A file is refused
if the experiment in conf/ has other cells by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.paths import CHECKOUT
from harness.configure.compose import compose
from harness.configure.options import option
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.plan import plan as planning
from harness.plan.cells import Block, Cell, Cells
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec
from harness.records import baseline_description, reader, schema, stored, stored_columns
from harness.records.baseline_description import REMEDY, Description, find_folder

WHOLE = "arena_index"  # the experiment whose `records_of` lists all experiments of the arena
COMPARED = (  # columns of records that `harness.evaluation.arena` reads, and the reason
    "key", "problem", "notion", "n", "rep", "estimator", "seed", "estimand", "value", "low",
    "high", "kind", "status", "reason", "cpu_seconds", "truth", "truth_error",
)  # fmt: skip
OTHER = "other"  # name for the family of problems that belong to no family


@dataclass(frozen=True)
class Baseline:
    """Stored records of the arena, with their plans and the properties of their problems.

    folder     folder of the stored records
    families   {family: [problem ids]}
    classes    {problem id: number of classes}
    plans      {experiment: plan whose cells are stored}
    """

    folder: Path
    families: dict[str, list[str]]
    classes: dict[str, int]
    plans: dict[str, Plan]

    def find_family(self, problem: str) -> str:
        """Return the name of the family that a problem belongs to, or OTHER."""
        families = (family for family, members in self.families.items() if problem in members)
        return next(families, OTHER)

    def blocks(self, experiment: str) -> Sequence[Block]:
        """Return the cells of an experiment, one block per problem."""
        cells = self.plans[experiment].cells
        assert isinstance(cells, Cells), "experiments of the arena are no sweeps"
        return cells.blocks

    def find_cells(self, plan: Plan) -> set[str]:
        """Return the keys of the stored cells with a problem and an estimator of `plan`."""
        problems = {problem.key for problem in plan.problems.values()}
        estimators = {estimator.key for estimator in plan.estimators.values()}
        keys: set[str] = set()
        for block in chain.from_iterable(map(self.blocks, self.plans)):
            shared = {name: key for name, key in block.estimators.items() if key in estimators}
            if shared and block.problem_key in problems:
                keys.update(cell.key for cell in replace(block, estimators=shared))
        return keys

    def records(
        self, columns: Iterable[str] = stored.COLUMNS, choose: stored.Choice | None = None
    ) -> pd.DataFrame:
        """Return all stored records with truths, in the form of `load_records`.

        There are about four million rows. `columns` and `choose` select the columns and rows that
        are read (see `stored.load_frame`), which saves memory. Texts become pandas categories,
        except for the key.
        """
        wanted = list(columns)
        frame = stored_columns.concatenate([
            stored.load_frame(
                stored.file_path(self.folder, name), plan, {*wanted, "key", "estimand"}, choose
            )
            for name, plan in self.plans.items()
        ])  # fmt: skip
        twice = frame.duplicated(["key", "estimand"])
        frame = frame[wanted]
        return frame[~twice].reset_index(drop=True) if twice.any() else frame

    def truths(self) -> dict[str, dict[str, Any]]:
        """Return the known truths: {problem key: {"notion|estimand": [value, error, method]}}."""
        truths: dict[str, dict[str, Any]] = {}
        for name in self.plans:
            content = stored.metadata(stored.file_path(self.folder, name))
            for key, pairs in content["truths"].items():
                known = {pair: truth for pair, truth in pairs.items() if truth}
                truths.setdefault(key, {}).update(known)
        return truths


def experiments(compared: bool = True) -> list[str]:
    """Return the ids of the arena's experiments whose estimators are compared.

    With `compared=False`, return the ids of those that the arena's page only shows: intervals,
    tests and pairs of models. The key `arena` in conf/experiment marks the compared ones.
    """
    names: list[str] = option("experiment", WHOLE).config["records_of"]
    return [
        name for name in names if bool(option("experiment", name).config.get("arena")) == compared
    ]


def compose_settings(name: str) -> Settings:
    """Return the settings of an experiment, without changes."""
    return compose([f"experiment={name}"])


def families() -> dict[str, list[str]]:
    """Return {family: [problem ids]} as conf/experiment/arena.yaml defines the families."""
    settings: dict[str, Any] = option("experiment", "arena").config.get("arena") or {}
    return {family: list(members) for family, members in (settings.get("families") or {}).items()}


# Write


def store(out: Path, folder: str | Path | None = None) -> list[Path]:
    """Write the baseline from the records of a results folder, and return the written paths.

    Parameters
    ----------
    out : Path
        Folder of results with the records of the arena.
    folder : path, optional
        Folder of the new baseline; by default that of the checkout.

    Raises
    ------
    BadInputError
        If a cell of a compared experiment has no finished record, because gaps would favour the
        estimator that is compared. An experiment that is only shown is left out in this case.
        The error is also raised if `folder` is not given in an installed package, because the
        baseline of a package cannot be changed.
    """
    if folder is None and CHECKOUT is None:
        raise BadInputError(
            "the baseline of an installed package cannot be changed; give baseline=DIR for a new "
            "one."
        )
    where = find_folder(folder)
    written: list[Path] = []
    compared: list[Plan] = []
    needed = experiments()
    for name in [*needed, *experiments(compared=False)]:
        plan = planning.plan(compose_settings(name))
        frame, missing = _recorded(plan, out)
        if missing and name not in needed:
            continue
        if missing:
            raise BadInputError(
                f"{len(missing):,} cells of {name} have no record in {out}, the first "
                f"{missing[0].described}; {REMEDY}."
            )
        written.append(stored.store(frame, plan, out, stored.file_path(where, name)))
        if name in needed:
            compared.append(plan)
    return [*written, baseline_description.write(where, describe(compared))]


def describe(plans: Iterable[Plan]) -> Description:
    """Return the description of a baseline with the cells of these plans."""
    classes: dict[str, int] = {}
    notions: set[str] = set()
    sizes: set[int] = set()
    reps = 0
    for plan in plans:
        specs = {id: ProblemSpec.of(problem.object) for id, problem in plan.problems.items()}
        classes |= {id: spec.classes for id, spec in specs.items()}
        for cell in plan.cells:
            notions.add(cell.notion)
            sizes.add(cell.n)
            reps = max(reps, cell.rep + 1)
    present = {
        family: [name for name in members if name in classes]
        for family, members in families().items()
    }
    present = {family: members for family, members in present.items() if members}
    return Description(classes, present, sorted(notions), sorted(sizes), reps)


def _recorded(plan: Plan, out: Path) -> tuple[pd.DataFrame, list[Cell]]:
    """Return the records of a plan, without diagnostics, and the cells of the plan to be computed.

    A cell is to be computed if it has no record, or only records of interrupted attempts.
    """
    frame = reader.empty_frame()
    if out.exists():
        keys = reader.key_array(cell.key for cell in plan.cells)
        frame = reader.load_records(out, keys, categories=False)
    ended = set(frame.loc[frame["status"].isin((*schema.FINISHED, "failed")), "key"])
    return frame.assign(diagnostics=None), [cell for cell in plan.cells if cell.key not in ended]


# Read


def read(folder: str | Path | None = None) -> Baseline:
    """Read the description of the baseline and make its plans.

    The records themselves are read later, by `Baseline.records`.

    Raises
    ------
    BadInputError
        If the baseline is absent or broken, or if an experiment of conf/ has other cells by now.
    """
    where = find_folder(folder)
    plans = {}
    for name in experiments():
        path, settings = stored.file_path(where, name), compose_settings(name)
        if not path.is_file():
            raise BadInputError(f"there is no baseline of {name} in {where}; {REMEDY}.")
        with _add_remedy(where):
            plans[name] = stored.load_plan(path, settings, partial(planning.plan, settings))
            stored.check_plan(path, plans[name])
    description = baseline_description.read(where)
    return Baseline(where, description.families, description.classes, plans)


def load(folder: str | Path | None = None) -> pd.DataFrame:
    """Return all records of the baseline with truths, in the form of `load_records`."""
    return read(folder).records()


@contextmanager
def _add_remedy(where: Path) -> Iterator[None]:
    """Add the folder of the baseline and a remedy to a BadInputError that the block raises."""
    try:
        yield
    except BadInputError as error:
        raise BadInputError(
            f"the baseline in {where} cannot be used: {str(error).rstrip('.')}; {REMEDY}."
        ) from error
