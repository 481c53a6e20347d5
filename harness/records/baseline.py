"""Read the baseline: stored records of all estimators in the arena.

The arena runs all estimators on all problems with known truths. `calharness compare` compares a new
estimator with these records.

results/baseline/<estimator>.parquet     records of one estimator, without diagnostics and times
results/baseline/costs.csv.gz            mean seconds of a cell, for each setting and estimator
results/baseline/baseline.json           problems, families and sizes (see baseline_description)

The files of estimators are plain Parquet with the columns COLUMNS. Estimates have 16 significant
bits (a relative error of at most 1.6e-5), which is far below their errors. Keys of cells follow
from other columns (`cells.cell_key`).

Reading the baseline needs no data files, because truths are stored too. It is refused if an
experiment of the arena in conf/ has other cells by now. `harness.records.baseline_store` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness.configure.compose import compose
from harness.configure.options import option
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.plan.plan import Plan
from harness.plan.selection import build_selected
from harness.records import baseline_description, schema, table_plan, tables
from harness.records.baseline_description import REMEDY, Description, find_folder

WHOLE = "arena_index"  # the experiment whose `records_of` lists all experiments of the arena
COLUMNS = (  # columns of the files, in the order of the files
    "problem", "notion", "n", "rep", "estimator", "estimand", "value", "low", "high", "level",
    "kind", "status", "reason", "truth", "truth_error", "truth_method", "problem_key",
    "estimator_key", "seed", "run_id",
)  # fmt: skip
COST_OF = ["estimator", "problem", "notion", "n"]
COMPARED = (  # columns of records that `harness.evaluation.arena` reads, and the reason
    "key", "problem", "notion", "n", "rep", "estimator", "seed", "estimand", "value", "low",
    "high", "kind", "status", "reason", "cpu_seconds", "truth", "truth_error",
)  # fmt: skip
ALL = (*dict.fromkeys(("key", *COLUMNS, *tables.TIMES)),)
OTHER = "other"  # name for the family of problems that belong to no family
CHOSEN_BY = ("problem", "notion", "n", "rep", "estimator", "estimand", "status", "truth")
Choice = Callable[[pd.DataFrame], pd.Series]  # takes rows with these columns, returns their mask


@dataclass(frozen=True)
class Baseline:
    """Stored records of the arena, with the properties of their problems.

    folder        folder of the stored records
    description   problems, families and sizes
    settings      {experiment: settings} of the experiments whose cells are stored
    """

    folder: Path
    description: Description
    settings: dict[str, Settings]

    @property
    def families(self) -> dict[str, list[str]]:
        """{family: [problem ids]}."""
        return self.description.families

    @property
    def classes(self) -> dict[str, int]:
        """{problem id: number of classes}."""
        return self.description.classes

    def find_family(self, problem: str) -> str:
        """Return the name of the family that a problem belongs to, or OTHER."""
        families = (family for family, members in self.families.items() if problem in members)
        return next(families, OTHER)

    def find_cells(self, plan: Plan) -> set[str]:
        """Return the keys of the stored cells with a problem and an estimator of `plan`."""
        estimators = {estimator.key for estimator in plan.estimators.values()}
        problems = {problem.key for problem in plan.problems.values()}
        found: set[str] = set()
        for path in estimator_files(self.folder):
            if tables.metadata(path)["estimator_key"] in estimators:
                rows = tables.read(path, [*tables.CELL, "key"])
                found |= set(rows.loc[rows["problem_key"].isin(problems), "key"])
        return found

    def records(self, columns: Iterable[str] = ALL, choose: Choice | None = None) -> pd.DataFrame:
        """Return all stored records with truths, in the form of `load_records`.

        There are about six million rows. `columns` and `choose` select the columns and rows that
        are read, which saves memory. Texts become pandas categories, except for the key. The
        seconds of a row are the mean of its setting and estimator.
        """
        wanted = list(columns)
        files = estimator_files(self.folder)
        costs = self.costs() if {*wanted} & {*tables.TIMES} else None
        return concatenate([read_file(path, wanted, choose, costs) for path in files])

    def costs(self) -> pd.DataFrame:
        """Return mean seconds of a cell, for each estimator, problem, notion and n."""
        return read_costs(self.folder)

    def truths(self) -> dict[str, dict[str, Any]]:
        """Return the known truths: {problem key: {"notion|estimand": [value, error, method]}}."""
        truths: dict[str, dict[str, Any]] = {}
        for path in estimator_files(self.folder):
            columns = [*tables.TRUTH_OF, *schema.TRUTHS, "truth_method"]
            for key, pairs in tables.known_truths(tables.read(path, columns)).items():
                known = {pair: truth for pair, truth in pairs.items() if truth}
                truths.setdefault(key, {}).update(known)
        return truths


def read_costs(folder: Path) -> pd.DataFrame:
    """Return the table of costs of a baseline (see `Baseline.costs`)."""
    return pd.read_csv(cost_path(folder))


def read_file(
    path: Path,
    columns: Iterable[str] = ALL,
    choose: Choice | None = None,
    costs: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return columns and rows of the file of an estimator, with its seconds from a table of costs.

    The arguments are those of `Baseline.records` and its result for one estimator. Without `costs`,
    seconds are missing.
    """
    wanted = list(columns)
    rows = tables.read(path, {*wanted, *tables.CELL, *COST_OF, *CHOSEN_BY} - {"key"})
    if choose is not None:
        rows = rows[choose(rows).to_numpy(dtype=bool)].reset_index(drop=True)
    if "key" in wanted:  # of the chosen rows alone, because making keys takes most of the time
        rows["key"] = tables.keys(rows)
    if costs is not None:
        settings = pd.MultiIndex.from_frame(rows[COST_OF].astype({"n": "int64"}))
        means = costs.set_index(COST_OF).reindex(settings).reset_index(drop=True)
        rows = rows.assign(**{name: means[name] for name in tables.TIMES})
    return rows.reindex(columns=wanted)


def concatenate(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return one frame with the rows of all frames, which have the same columns.

    Unlike `pandas.concat`, this keeps categories as categories, in alphabetical order.
    """
    columns: dict[str, Any] = {}
    for name in frames[0]:
        parts = [frame[name] for frame in frames]
        if isinstance(parts[0].dtype, pd.CategoricalDtype):
            parts = [p.cat.rename_categories(p.cat.categories.astype(object)) for p in parts]
            columns[name] = pd.api.types.union_categoricals(parts, sort_categories=True)
        else:
            columns[name] = pd.concat(parts, ignore_index=True).array
    return pd.DataFrame(columns, copy=False)


def experiments(compared: bool = True) -> list[str]:
    """Return the ids of the arena's experiments whose estimators are compared.

    With `compared=False`, return the ids of those that the arena's page only shows: intervals,
    tests and pairs of models. The key `arena` in conf/experiment marks the compared ones.
    """
    names: list[str] = option("experiment", WHOLE).config["records_of"]
    return [
        name for name in names if bool(option("experiment", name).config.get("arena")) == compared
    ]


def compose_settings(name: str, overrides: Sequence[str] = ()) -> Settings:
    """Return the settings of an experiment. `overrides` are those of a command line."""
    return compose([f"experiment={name}", *overrides])


def families() -> dict[str, list[str]]:
    """Return {family: [problem ids]} as conf/experiment/arena.yaml defines the families."""
    settings: dict[str, Any] = option("experiment", "arena").config.get("arena") or {}
    return {family: list(members) for family, members in (settings.get("families") or {}).items()}


def estimator_files(folder: Path) -> list[Path]:
    """Return the paths of the files of all estimators, sorted by name."""
    return sorted(folder.glob("*.parquet"))


def cost_path(folder: Path) -> Path:
    """Return the path of the table of costs."""
    return folder / "costs.csv.gz"


def read(folder: str | Path | None = None) -> Baseline:
    """Read the description of the baseline, and check that it fits the arena's experiments.

    The records themselves are read later, by `Baseline.records`.

    Raises
    ------
    BadInputError
        If the baseline is absent or broken, or if an experiment of conf/ has other cells by now.
    """
    where = find_folder(folder)
    description = baseline_description.read(where)
    settings = {name: compose_settings(name) for name in experiments()}
    for name, of_experiment in settings.items():
        if reason := _changed(name, of_experiment, description):
            raise unusable(where, reason)
    if outdated := _outdated(settings, description, where):
        raise unusable(
            where,
            f"the numbers of {', '.join(outdated)} have changed",
            f"`calharness compare --rebuild {' '.join(outdated)}` computes them again",
        )
    return Baseline(where, description, settings)


def load(folder: str | Path | None = None) -> pd.DataFrame:
    """Return all records of the baseline with truths, in the form of `load_records`."""
    return read(folder).records()


def unusable(folder: Path, reason: str, remedy: str = REMEDY) -> BadInputError:
    """Return the error for a baseline that does not fit the arena's experiments."""
    return BadInputError(f"the baseline in {folder} cannot be used: {reason}; {remedy}.")


def samples_digest(settings: Settings) -> str:
    """Return a digest of the settings of an experiment that determine its samples.

    Estimators are left out. Each has its key in its file, so that its numbers can change alone.
    """
    return table_plan.configuration_digest(replace(settings, estimator={}))


def _changed(name: str, settings: Settings, description: Description) -> str | None:
    """Return the reason why the samples of an experiment are not those of the baseline."""
    if name not in description.configuration:
        return None  # a new experiment, whose estimators `_outdated` names
    if description.configuration[name] != samples_digest(settings):
        return f"the cells of {name} have changed"
    if removed := {*description.estimators.get(name, ())} - settings.estimator.keys():
        return f"{name} no longer has {', '.join(sorted(removed))}"
    for origin, config in settings.problem.items():
        try:
            members = build_selected("problem", {origin: config})
        except BadInputError:  # its data files are not on this machine
            continue
        for id, part in members.items():
            changed = description.keys.get(id, part.key) != part.key
            if changed and not table_plan.depends_on_data(part.object):
                return f"the samples of {id} have changed"
    return None


def _outdated(settings: dict[str, Settings], description: Description, folder: Path) -> list[str]:
    """Return the estimators of the experiments whose stored records are not those of today."""
    outdated: dict[str, None] = {}
    for name, of_experiment in settings.items():
        for id, part in build_selected("estimator", of_experiment.estimator).items():
            path = tables.file_path(folder, id)
            is_stored = id in description.estimators.get(name, []) and path.is_file()
            if not is_stored or tables.metadata(path).get("estimator_key") != part.key:
                outdated[id] = None
    return [*outdated]
