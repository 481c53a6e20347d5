"""A comparison with the arena's stored baseline.

Only what is new is computed: the own estimator on the arena's problems, replications and base seed, or the arena's cheap
estimators on the own problem. The baseline is only read.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands import comparison_cells, comparison_verdicts
from harness.commands.comparison_options import Asked, checked, refuse_unknown
from harness.commands.comparison_verdicts import CHEAP, Verdict
from harness.configure.compose import out_folder
from harness.configure.options import ids, option
from harness.configure.settings import as_list
from harness.contract.check import Finding
from harness.errors import BadInputError, guess
from harness.math import estimands
from harness.plan import components, requirements
from harness.plan.plan import Plan
from harness.records import baseline

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "compare"


def compare(target: Any, kind: str = "estimator", **options: Any) -> pd.DataFrame:
    """The rows of `harness.compare` (see there)."""
    refuse_unknown(options)
    given: dict[str, Any] = {
        name: tuple(as_list(options.pop(name, None)))
        for name in ("n", "family", "notion", "estimand")
    }
    found = verdict(checked(Asked(kind, target, **given, **options)), say=lambda text: None)
    table = found.settings
    best = table["estimator"].eq(table["best"])
    chosen = table if kind == "problem" else table[table["estimator"].eq(found.name) | best]
    return chosen.drop(columns=["errors", "lost"], errors="ignore").reset_index(drop=True)


def verdict(asked: Asked, say: Callable[[str], None]) -> Verdict:
    """Compare, and write the verdict; `say` is told what goes on.

    Raises
    ------
    BadInputError
        If what is to be compared cannot be, or there is no baseline.
    """
    name, config, recordable = _own(asked)
    out = out_folder(asked.out)
    with tempfile.TemporaryDirectory() as scratch:
        store = (
            out if recordable else Path(scratch)
        )  # typed at a prompt: its key does not change when it does
        group = "problem" if asked.kind == "problem" else "estimator"
        own = components.configured(group, name, config)
        requirements.verify(group, own)
        for estimand in asked.estimand:
            estimands.check_name(str(estimand))
        held = baseline.read(asked.baseline)
        of_run = {
            "out": str(store),
            "jobs": asked.jobs,
            "engine": "loky" if recordable else "serial",
            "seed": 0,
        }
        if group == "estimator":
            plan, absent = baseline.estimator_plan(held, own, of_run)
        else:
            plan, absent = baseline.problem_plan(held, own.id, config, CHEAP, of_run), {}
        plan = _restricted(plan, asked, held)
        findings: list[Finding] = []
        say(
            f"{len(plan.cells) - len(plan.skips):,} cells on the arena's draws; the first ones, then the contract test, then all"
        )
        counts = comparison_cells.computed(
            plan,
            own,
            group,
            store,
            asked,
            held,
            recordable,
            lambda: findings.extend(comparison_cells.findings(asked, own, say, recordable)),
        )
        frame = comparison_cells.records(plan, store, held, asked, group)
        notes = [
            f"{len(names)} of the arena's problems are left out: {reason}"
            for reason, names in comparison_verdicts.by_reason(absent).items()
        ]
        write = (
            comparison_verdicts.of_estimator
            if group == "estimator"
            else comparison_verdicts.of_problem
        )
        found = write(own.id, frame, held, asked, out / FOLDER / name, plan, findings, notes)
    return replace(found, counts=counts)


def _own(asked: Asked) -> tuple[str, dict[str, Any], bool]:
    """(id, configuration, whether it lies in a file, so that its records can be kept)."""
    target, kind = asked.target, asked.kind
    group = "problem" if kind == "problem" else "estimator"
    if isinstance(target, str) and "." not in target and kind != "calibrator":
        if target not in ids(group):
            raise BadInputError(
                f"there is no {group} {target!r}{guess(target, ids(group))}; one's own is module.Name, and `calharness list` "
                "shows all others."
            )
        from omegaconf import OmegaConf

        config: Any = OmegaConf.to_container(
            OmegaConf.create(option(group, target).config), resolve=True
        )
        return target, config, True
    if isinstance(target, str):
        if "." not in target:
            raise BadInputError(f"calibrator is {target!r}; it must be module.Name.")
        name, config = target.rpartition(".")[2], {"_target_": target}
    elif dataclasses.is_dataclass(target) and not isinstance(target, type):
        name, config = type(target).__name__, components.configuration(target)
    elif inspect.isfunction(target) or isinstance(target, type):
        name, config = (
            target.__qualname__,
            {"_target_": f"{target.__module__}.{target.__qualname__}"},
        )
    else:
        raise BadInputError(
            f"{kind} is {target!r}; an id, 'module.Name', a function, a class, or an instance of a dataclass is needed."
        )
    if not isinstance(target, str):
        made, of = (
            config["_target_"],
            target if inspect.isfunction(target) or isinstance(target, type) else type(target),
        )
        if "<" in made or components.imported(made, kind) is not of:
            raise BadInputError(
                f"{kind} {name} cannot be found again as {made}; define it at the top of a module."
            )
    if kind == "calibrator":
        name, config = (
            f"variational_{name}",
            {"_target_": "harness.estimators.Variational", "calibrator": config},
        )
    name = re.sub(r"\W", "_", name)
    return f"own_{name}" if name in ids(group) else name, config, "__main__." not in str(config)


def _restricted(plan: Plan, asked: Asked, held: baseline.Baseline) -> Plan:
    """The plan with the cells that are asked for. Raises BadInputError where that is nothing, or nothing the baseline has."""
    have: dict[str, list[Any]] = {
        "n": sorted({cell.n for cell in plan.cells}),
        "family": sorted(held.families),
        "notion": sorted({c.notion for c in plan.cells}),
    }
    if asked.kind == "problem" and asked.family:
        raise BadInputError("family= is of the arena's problems; with problem= there is but one.")
    for name, known in have.items():
        unknown = [value for value in getattr(asked, name) if value not in known]
        if unknown:
            raise BadInputError(
                f"{name} is {unknown[0]!r}, which the baseline does not have; it has {', '.join(map(str, known))}."
            )
    most = 1 + max((cell.rep for cell in plan.cells), default=-1)
    if asked.reps is not None and asked.reps > most:
        raise BadInputError(f"reps is {asked.reps}; the baseline has {most} replications.")
    cells = [
        cell
        for cell in plan.cells
        if (not asked.n or cell.n in asked.n)
        and (asked.reps is None or cell.rep < asked.reps)
        and (not asked.family or held.family_of(cell.problem) in asked.family)
        and (not asked.notion or cell.notion in asked.notion)
    ]
    plan = replace(plan, cells=cells)
    if len(plan.skips) == len(cells):
        why = next(iter(plan.skips.values()), "no cell is left")
        raise BadInputError(f"nothing can be compared: {why}.")
    return plan
