"""Write the baseline from the records of a results folder; `harness.records.baseline` reads it."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from harness.common.paths import CHECKOUT
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.plan.cells import Cell
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec
from harness.records import baseline, baseline_description, reader, schema, tables
from harness.records.baseline import COLUMNS, COST_OF
from harness.records.baseline_description import REMEDY, Description, find_folder
from harness.records.tables import NUMBERS

BITS = 16  # significant bits of stored estimates
SORTED_BY = ["problem", "notion", "estimand", "n", "rep"]


def store(
    plans: Mapping[str, Plan], out: Path, folder: str | Path | None = None, *, whole: bool = True
) -> list[Path]:
    """Write the baseline from the records of a results folder, and return the written paths.

    Parameters
    ----------
    plans : mapping
        {experiment: plan} of the arena's compared experiments.
    out : Path
        Folder of results with the records of the arena.
    folder : path, optional
        Folder of the baseline; by default that of the checkout.
    whole : bool
        If False, `plans` have only some estimators. Only their files are written, and their rows
        of the table of costs.

    Raises
    ------
    BadInputError
        If a cell has no finished record, because gaps would favour the estimator that is compared.
        The error is also raised if `folder` is not given in an installed package, because the
        baseline of a package cannot be changed.
    """
    if folder is None and CHECKOUT is None:
        raise BadInputError(
            "the baseline of an installed package cannot be changed; give baseline=DIR for a new "
            "one."
        )
    frames = []
    for name, plan in plans.items():
        frame, missing = _recorded(plan, out)
        if missing:
            raise BadInputError(
                f"{len(missing):,} cells of {name} have no record in {out}, the first "
                f"{missing[0].described}; {REMEDY}."
            )
        frames.append(frame)
    frame = baseline.concatenate(frames)
    frame = frame[~frame.duplicated(["key", "estimand"])]
    where = find_folder(folder)
    written = _write_estimators(frame, out, where)
    costs, description = _mean_costs(frame), describe(plans)
    if whole:
        for path in set(baseline.estimator_files(where)) - set(written):  # the arena lost them
            path.unlink()
    else:
        costs = _with_other_costs(costs, baseline.read_costs(where), plans)
        description = _with_estimators(baseline_description.read(where), description)
    with whole_file(baseline.cost_path(where)) as temporary:
        text = costs.to_csv(index=False, float_format="%.5g")
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))
    written.append(baseline.cost_path(where))
    if whole or description != baseline_description.read(where):
        written.append(baseline_description.write(where, description))
    return written


def check_samples(plans: Mapping[str, Plan], folder: str | Path | None = None) -> None:
    """Raise BadInputError if the samples of plans are not those of the baseline in a folder.

    Estimators may differ. Data files must be the same. An experiment that the baseline does not
    have yet may have any part of its samples.
    """
    where = find_folder(folder)
    description = baseline_description.read(where)
    for name, plan in plans.items():
        if name not in description.configuration:
            _check_part(name, plan, description)
        elif description.configuration[name] != baseline.samples_digest(plan.settings):
            raise baseline.unusable(where, f"the cells of {name} have changed")
        for id, problem in plan.problems.items():
            if reason := ProblemSpec.of(problem.object).unavailable:
                raise BadInputError(f"the samples of {id} cannot be drawn: {reason}")
            if description.keys.get(id) != problem.key:
                raise baseline.unusable(where, f"the samples of {id} have changed")


def _check_part(name: str, plan: Plan, description: Description) -> None:
    """Raise BadInputError if a new experiment has samples that the baseline does not have."""
    for problem, notions in describe({name: plan}).samples.items():
        for notion, sizes in notions.items():
            stored = description.samples.get(problem, {}).get(notion, {})
            for n, reps in sizes.items():
                if reps > stored.get(n, 0):
                    raise BadInputError(
                        f"{name} is not in the baseline, which has {stored.get(n, 0)} of its "
                        f"{reps} samples of {problem}, {notion}, n = {n}; give the experiment "
                        "samples of the arena, or compute the whole baseline."
                    )


def _write_estimators(frame: pd.DataFrame, out: Path, folder: Path) -> list[Path]:
    """Write one file for each estimator of the records, and return the paths."""
    written = []
    for estimator, rows in frame.groupby("estimator", sort=True, observed=True):
        rows = rows.astype({name: object for name in SORTED_BY if name not in ("n", "rep")})
        rows = tables.add_methods(rows.sort_values(SORTED_BY, kind="stable"), out)
        rows = rows.assign(**{name: shortened(rows[name].to_numpy(float)) for name in NUMBERS})
        (key,) = rows["estimator_key"].unique()
        cells = int(rows["key"].nunique())
        content = {"estimator": estimator, "estimator_key": key, "cells": cells}
        content |= tables.run_descriptions(rows, out)
        path = tables.file_path(folder, str(estimator))
        written.append(tables.write(rows, COLUMNS, content, path, pa.float32()))
    return written


def shortened(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round numbers to BITS significant bits, which compress better than all digits.

    The relative error is at most 2 ** -BITS, or 1.6e-5.

    Examples
    --------
    >>> shortened(np.array([0.0, 0.75, 1 / 3])).round(8).tolist()
    [0.0, 0.75, 0.33333588]
    """
    mantissas, exponents = np.frexp(numbers)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissas, BITS)), exponents - BITS))


def _mean_costs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean seconds of the cells with a number, one row per estimator and setting."""
    cells = frame[schema.has_number(frame)].drop_duplicates("key")
    groups = cells.groupby(COST_OF, observed=True, sort=True)
    means = groups[[*tables.TIMES]].mean()
    means.insert(0, "cells", groups.size())
    return means.reset_index()


def _with_other_costs(
    costs: pd.DataFrame, stored: pd.DataFrame, plans: Mapping[str, Plan]
) -> pd.DataFrame:
    """Return stored costs in which the estimators of the plans have the new costs."""
    computed = {id for plan in plans.values() for id in plan.estimators}
    others = stored[~stored["estimator"].isin(computed)]
    every = pd.concat([others, costs.astype({name: others[name].dtype for name in COST_OF})])
    return every.sort_values(COST_OF, kind="stable")


def _with_estimators(stored: Description, added: Description) -> Description:
    """Return a stored description with the estimators of `added` and its new experiments."""
    every = {name: [*ids] for name, ids in stored.estimators.items()}
    for name, ids in added.estimators.items():
        every[name] = [*dict.fromkeys([*every.get(name, ()), *ids])]
    configuration = {**added.configuration, **stored.configuration}
    return replace(stored, estimators=every, configuration=configuration)


def describe(plans: Mapping[str, Plan]) -> Description:
    """Return the description of a baseline with the cells of {experiment: plan}."""
    samples: dict[str, dict[str, dict[str, int]]] = {}
    for plan in plans.values():
        for cell in plan.cells:
            of_notion = samples.setdefault(cell.problem, {}).setdefault(cell.notion, {})
            of_notion[str(cell.n)] = max(of_notion.get(str(cell.n), 0), cell.rep + 1)
    problems = {id: part for plan in plans.values() for id, part in plan.problems.items()}
    classes = {id: ProblemSpec.of(part.object).classes for id, part in problems.items()}
    reps = {pair for notions in samples.values() for ns in notions.values() for pair in ns.items()}
    present = {
        family: [name for name in members if name in classes]
        for family, members in baseline.families().items()
    }
    return Description(
        classes=classes,
        families={family: members for family, members in present.items() if members},
        notions=sorted({notion for notions in samples.values() for notion in notions}),
        n=sorted({int(n) for n, _ in reps}),
        reps=max((count for _, count in reps), default=0),
        samples=samples,
        keys={id: part.key for id, part in problems.items()},
        origins={id: part.origin for id, part in problems.items()},
        configuration={
            name: baseline.samples_digest(plan.settings) for name, plan in plans.items()
        },
        estimators={name: [*plan.estimators] for name, plan in plans.items()},
    )


def _recorded(plan: Plan, out: Path) -> tuple[pd.DataFrame, list[Cell]]:
    """Return the records of a plan, and the cells of the plan to be computed.

    A cell is to be computed if it has no record, or only records of interrupted attempts.
    """
    columns = [name for name in baseline.ALL if name != "truth_method"]
    frame = reader.empty_frame()[columns]
    if out.exists():
        keys = reader.key_array(cell.key for cell in plan.cells)
        frame = reader.load_records(out, keys, columns)
    ended = set(frame.loc[frame["status"].isin((*schema.FINISHED, "failed")), "key"])
    return frame, [cell for cell in plan.cells if cell.key not in ended]
