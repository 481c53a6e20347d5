"""The arena's stored records, against which an own estimator, problem or calibrator is compared (`calharness compare`).

results/baseline/<experiment>.parquet    the records of the arena's experiments, compactly (harness.records.stored), without
diagnostics
results/baseline/baseline.json           of every problem its number of classes, and the family that it belongs to
results/baseline/arena_pairs.parquet     and others that the arena's page shows beside: nothing is compared with them

The numbers depend on no data at hand: problems that are fitted to files are stored with their truths, and compared by what was
recorded, where the files are absent. A file whose cells are not those that the arena has today is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.paths import BASELINE, CHECKOUT
from harness.common.version import VERSION
from harness.common.writing import write_json
from harness.configure.compose import compose
from harness.configure.options import option
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.plan import plan as planning
from harness.plan.cells import Block, Cell, Draws, Kind
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec
from harness.records import reader, schema, stored

WHOLE = "arena_index"  # the experiment that names the parts of the arena, in `records_of`
REMEDY = "`calharness compare --rebuild` computes what is missing, which may take hours and is resumed by the same command"
OTHER = "other"  # the family of a problem that the arena names in none


@dataclass(frozen=True)
class Baseline:
    """records: as of `load_records`, with truths; families: {family: [problem ids]}; classes: {problem id: k}; plans: by
    experiment, those of the stored records."""

    records: pd.DataFrame
    families: dict[str, list[str]]
    classes: dict[str, int]
    plans: dict[str, Plan]

    def family_of(self, problem: str) -> str:
        """The family of a problem of the arena."""
        return next(
            (family for family, members in self.families.items() if problem in members), OTHER
        )

    def truths(self) -> dict[str, dict[str, Any]]:
        """{problem key: {"notion|estimand": [truth, error, method]}}, for a results folder."""
        rows = self.records.dropna(subset=["truth"]).drop_duplicates(
            ["problem_key", "notion", "estimand"]
        )
        found: dict[str, dict[str, Any]] = {}
        for key, notion, name, value, error in rows[
            ["problem_key", "notion", "estimand", "truth", "truth_error"]
        ].to_numpy():
            found.setdefault(key, {})[f"{notion}|{name}"] = [value, error, "the arena's baseline"]
        return found


def folder_of(given: str | Path | None = None) -> Path:
    """Where the baseline is: as given, else results/baseline of the checkout, else that of the installed package."""
    return Path(given).expanduser() if given is not None else BASELINE


def experiments() -> dict[str, tuple[str, ...]]:
    """{name: overrides} of the experiments that make up the arena: those that conf/experiment/arena_index.yaml names and that
    have the key `arena` themselves (intervals and tests are shown beside it, and nothing is compared with them)."""
    named = option("experiment", WHOLE).config["records_of"]
    return {
        name: (f"experiment={name}",)
        for name in named
        if option("experiment", name).config.get("arena")
    }


def beside() -> dict[str, tuple[str, ...]]:
    """{name: overrides} of the other experiments that the arena's page shows: intervals, tests, pairs of models."""
    named = option("experiment", WHOLE).config["records_of"]
    return {
        name: (f"experiment={name}",)
        for name in named
        if not option("experiment", name).config.get("arena")
    }


def families() -> dict[str, list[str]]:
    """{family: [problem ids]} as conf/experiment/arena.yaml has it."""
    said: dict[str, Any] = option("experiment", "arena").config.get("arena") or {}
    return {family: list(members) for family, members in (said.get("families") or {}).items()}


def classes_of(plan: Plan) -> dict[str, int]:
    """{problem id: number of classes} of a plan whose problems are made."""
    return {name: ProblemSpec.of(one.object).classes for name, one in plan.problems.items()}


def store(out: Path, folder: str | Path | None = None) -> list[Path]:
    """Write the baseline from the records of a results folder; returns its files. Of the experiments `beside` those are written
    that are complete there.

    Raises
    ------
    BadInputError
        If a cell of the arena has no finished record there: a baseline with gaps would favour whoever is compared. And without
        `folder` if the package is no checkout: what is installed is only read.
    """
    if folder is None and CHECKOUT is None:
        raise BadInputError(
            "this installation's baseline is only read; give baseline=DIR, where the new one is to be written."
        )
    where, written = folder_of(folder), []
    classes: dict[str, int] = {}
    for name, overrides in experiments().items():
        plan = planning.plan(compose([*overrides]))
        frame, missing = _recorded(plan, out)
        if missing:
            first = missing[0]
            raise BadInputError(
                f"{len(missing):,} cells of {name} have no record in {out}, the first "
                f"{first.estimator} on {first.problem}, n = {first.n}, rep {first.rep}; {REMEDY}."
            )
        written.append(stored.store(frame, plan, out, stored.path_of(where, name)))
        classes |= classes_of(plan)
    for name, overrides in beside().items():
        plan = planning.plan(compose([*overrides]))
        frame, missing = _recorded(plan, out)
        if not missing:
            written.append(stored.store(frame, plan, out, stored.path_of(where, name)))
    chosen = {
        family: [name for name in members if name in classes]
        for family, members in families().items()
    }
    told = {
        "version": VERSION,
        "classes": classes,
        "families": {family: members for family, members in chosen.items() if members},
    }
    write_json(where / "baseline.json", told)
    return [*written, where / "baseline.json"]


def _recorded(plan: Plan, out: Path) -> tuple[pd.DataFrame, list[Cell]]:
    """Return the records of a plan without diagnostics, and the cells that have no finished one."""
    keys = reader.keys_of(cell.key for cell in plan.cells)
    frame = (
        reader.load_records(out, keys, categories=False) if out.exists() else reader.empty_frame()
    )
    ended = set(frame.loc[frame["status"].isin((*schema.FINISHED, "failed")), "key"])
    return frame.assign(diagnostics=None), [cell for cell in plan.cells if cell.key not in ended]


def read(folder: str | Path | None = None) -> Baseline:
    """The baseline.

    Raises
    ------
    BadInputError
        If it is absent, broken, or of cells that are not the arena's of today.
    """
    where = folder_of(folder)
    absent = [name for name in experiments() if not stored.path_of(where, name).is_file()]
    if absent:
        raise BadInputError(f"there is no baseline of {absent[0]} in {where}; {REMEDY}.")
    frames, plans = [], {}
    for name, overrides in experiments().items():
        path, settings = stored.path_of(where, name), compose([*overrides])
        try:
            plans[name] = stored.plan_of(path, settings, partial(planning.plan, settings))
            frames.append(stored.frame_of(path, plans[name]))
        except BadInputError as error:
            raise BadInputError(
                f"the baseline in {where} cannot be used: {str(error).rstrip('.')}; {REMEDY}."
            ) from error
    told = _described(where)
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    frame = frame.drop_duplicates(["key", "estimand"], ignore_index=True)
    return Baseline(frame, told["families"], told["classes"], plans)


def load(folder: str | Path | None = None) -> pd.DataFrame:
    """The records of the baseline, as of `load_records`, with truths (see `read`)."""
    return read(folder).records


def _described(where: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((where / "baseline.json").read_text())
        if isinstance(told["classes"], Mapping) and isinstance(told["families"], Mapping):
            return told
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise BadInputError(
        f"{where / 'baseline.json'} is absent or broken; put back an earlier one, or: {REMEDY}."
    )


def estimator_plan(
    baseline: Baseline, own: Component, of_run: Mapping[str, Any]
) -> tuple[Plan, dict[str, str]]:
    """The cells of an own estimator on the problems of the arena, on the draws that the baseline's estimators had; and of the
    problems that cannot be drawn from here, why. `of_run`: options of the run, as out and jobs."""
    plans = list(baseline.plans.values())
    problems: dict[str, Component] = {}
    absent: dict[str, str] = {}
    cells: dict[str, Cell] = {}
    reasons: dict[Kind, str] = {}
    spec = EstimatorSpec.of(own.object)
    for plan in plans:
        made = _problems_here(plan, absent)
        of: dict[str, list[Cell]] = {name: [] for name in made}
        for cell in plan.cells:
            if cell.problem in of:
                of[cell.problem].append(cell)
        for name, held in of.items():
            problem = ProblemSpec.of(made[name].object)
            draws = list(dict.fromkeys((cell.rep, cell.n) for cell in held))
            notions = list(dict.fromkeys(cell.notion for cell in held))
            for cell in Block(
                name,
                made[name].key,
                plan.settings.seed,
                Draws((), (), draws),
                notions,
                {own.id: own.key},
            ):
                cells.setdefault(cell.key, cell)
                if reason := planning.skip_reason(problem, spec, cell.notion, cell.n):
                    reasons[cell.kind] = reason
        problems = {**made, **problems}
    changes = {"estimator": {own.id: own.config}, "experiment": None, "name": None, **of_run}
    return Plan(
        replace(plans[0].settings, **changes),
        problems,
        {own.id: own},
        list(cells.values()),
        reasons,
    ), absent


def _problems_here(plan: Plan, absent: dict[str, str]) -> dict[str, Component]:
    """The problems of a stored plan that can be drawn from here; of the others `absent` is told why."""
    found: dict[str, Component] = {}
    origins = {one.origin for one in plan.problems.values()}
    for origin, config in plan.settings.problem.items():
        if origin not in origins:
            continue
        names = [name for name, one in plan.problems.items() if one.origin == origin]
        try:
            made = planning.chosen("problem", {origin: config})
        except BadInputError as error:
            absent |= dict.fromkeys(names, str(error))
            continue
        for name in names:
            reason = (
                ProblemSpec.of(made[name].object).unavailable
                if name in made
                else "its data are not here"
            )
            if reason is None and made[name].key != plan.problems[name].key:
                reason = "its data are others here than those of the baseline"
            if reason:
                absent[name] = reason
            else:
                found[name] = made[name]
    return found


def problem_plan(
    baseline: Baseline, name: str, config: dict[str, Any], most: float, of_run: Mapping[str, Any]
) -> Plan:
    """The cells of the arena's estimators on an own problem, as many replications of as many sizes as the arena has; of the
    estimators those whose cells took at most `most` CPU seconds at its largest n."""
    plans = list(baseline.plans.values())
    costs = baseline.records.dropna(subset=["value"])
    costs = costs[costs["n"].eq(costs["n"].max())].groupby("estimator")["cpu_seconds"].mean()
    estimators = {
        eid: one for plan in reversed(plans) for eid, one in plan.settings.estimator.items()
    }
    cheap = {eid: one for eid, one in estimators.items() if costs.get(eid, float("inf")) <= most}
    if not cheap:
        raise BadInputError(f"no estimator of the baseline takes at most {most:g} s for a cell.")
    own: dict[str, Any] = {
        "problem": {name: config},
        "estimator": cheap,
        "experiment": None,
        "name": None,
    }
    return planning.plan(replace(plans[0].settings, **own, **of_run))
