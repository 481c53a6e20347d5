"""Read the records of the cells of plans, to draw figures, tables and pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.records import imported, parts, reader, schema
from harness.records.truths import missing_truths

# Above these numbers of cells, texts are read as categories, and drawing reads only the columns
# DRAWN. A process that draws a million cells then stays below 1 GB, and one that draws 100,000
# with 520,000 estimates needs 120 MB less. Users get frames with texts as objects for longer.
MANY_CELLS = 200_000
MANY_TO_DRAW = 20_000
DRAWN = (  # columns that figures, tables and the summary of a run need
    "key", "problem", "problem_key", "notion", "n", "estimator", "estimator_key", "estimand",
    "value", "low", "high", "level", "kind", "status", "reason", "cpu_seconds", "truth",
    "truth_error",
)  # fmt: skip
Pairs = list[tuple[str, str]]  # (notion, estimand)


@dataclass(frozen=True)
class PlanRecords:
    """Records of the cells of plans in one folder of results. Nothing is computed.

    Parameters
    ----------
    plans : tuple of Plan
        The plan of a run, and the plans of the experiments whose records it also uses.
    out : Path
        Folder of records.
    """

    plans: tuple[Plan, ...]
    out: Path

    def read(self, to_draw: bool = False) -> pd.DataFrame:
        """Return the records of all plans, with those that their settings import from files.

        The best attempt at each cell counts. The column `experiment` says which experiment a row
        belongs to. With `to_draw`, columns that no drawing needs are left out if there are many
        cells.
        """
        frames = []
        for plan, keys in zip(self.plans, self._keys_by_plan):
            frames.append(_read_cells(plan, keys, self.out, to_draw))
            frames += [source.records(plan.settings.run_name) for source in sources(plan)]
        filled = [frame for frame in frames if len(frame)]
        return pd.concat(filled, ignore_index=True) if len(filled) > 1 else (filled or frames)[0]

    def read_own(self) -> pd.DataFrame:
        """Return the records of the cells of the first plan, in the form of `read`."""
        return _read_cells(self.plans[0], self._keys_by_plan[0], self.out)

    @cached_property
    def _keys_by_plan(self) -> list[pa.Array]:
        return [reader.key_array(cell.key for cell in plan.cells) for plan in self.plans]

    @cached_property
    def _keys(self) -> pa.Array:
        """Keys of the cells of all plans, each once."""
        return pc.unique(pa.concat_arrays(self._keys_by_plan))

    @property
    def cell_count(self) -> int:
        """Number of the cells of all plans."""
        return len(self._keys)

    def missing(self, frame: pd.DataFrame) -> int:
        """Return the number of cells that have no finished record in `frame`."""
        finished = frame.loc[frame["status"].isin(schema.FINISHED), "key"].unique()
        is_finished = pc.is_in(self._keys, value_set=pa.array(finished, pa.string()))
        return self.cell_count - int(pc.sum(is_finished).as_py() or 0)

    def imported(self, frame: pd.DataFrame) -> int:
        """Return the number of cells in `frame` that belong to no plan, so that a file has them."""
        return len(set(frame["key"]).difference(self._keys.to_pylist()))

    def missing_truths(self, frame: pd.DataFrame) -> dict[str, Pairs]:
        """Return the truths that estimates in `frame` need and that are not stored yet.

        The result is {name of the problem in the plan: [(notion, estimand)]}.
        """
        columns = ["problem_key", "notion", "estimand"]
        rows = frame.loc[frame["estimand"].notna(), columns].drop_duplicates()
        estimated = list(rows.itertuples(index=False, name=None))
        missing = {}
        for plan in self.plans:
            for name, problem in plan.problems.items():
                wanted = wanted_truths(plan, estimated, problem)
                missing[name] = missing_truths(self.out, problem, wanted)
        return {name: pairs for name, pairs in missing.items() if pairs}


def sources(plan: Plan) -> list[imported.Source]:
    """Return the sources of a plan's imported records, from the setting `records_from`."""
    return [imported.Source(**source) for source in plan.settings.records_from]


def wanted_truths(plan: Plan, estimated: list[tuple[str, str, str]], problem: Component) -> Pairs:
    """Return the pairs (notion, estimand) whose truths are needed for a problem of a plan.

    `estimated` contains (problem key, notion, estimand) of all estimates. If the models of a
    ranking are ordered by the truths of an estimand, these truths are needed too.
    """
    wanted = [(notion, estimand) for key, notion, estimand in estimated if key == problem.key]
    reference = plan.settings.ranking.reference if plan.settings.ranking else None
    if reference and reference != "full":
        notions = dict.fromkeys(notion for notion, _ in wanted)
        wanted += [(notion, reference) for notion in notions]
    return wanted


def _read_cells(plan: Plan, keys: pa.Array, out: Path, to_draw: bool = False) -> pd.DataFrame:
    """Return the records of a plan's cells, whose keys are `keys`."""
    frame = reader.empty_frame()
    has_many = _has_more_cells(plan, MANY_TO_DRAW if to_draw else MANY_CELLS)
    if plan.cells and parts.part_files(out):
        columns = DRAWN if to_draw and has_many else None
        frame = reader.load_records(out, keys, columns, categories=has_many)
    is_skipped = frame["status"].eq("skipped")
    if is_skipped.any():  # drop outdated skips: the missing file or package may exist by now
        frame = frame[~is_skipped | frame["key"].isin(set(plan.skips))]
    frame = frame.reset_index(drop=True)
    kind = "category" if has_many else "object"
    groups = {"problem": plan.problems, "estimator": plan.estimators}
    for group, components in groups.items():
        # Records may have been written under an earlier id.
        ids = {component.key: component.id for component in components.values()}
        frame[group] = frame[f"{group}_key"].map(ids).astype(kind)
        if has_many:  # the order of the keys would become the order of the names
            names = frame[group].cat.categories.sort_values()
            frame[group] = frame[group].cat.reorder_categories(names)
    name: Any = plan.settings.run_name
    if has_many:
        name = pd.Categorical.from_codes(np.zeros(len(frame), dtype=np.int8), [name])
    frame.insert(1, "experiment", name)
    return frame


def _has_more_cells(plan: Plan, limit: int) -> bool:
    """Return True if a plan has more than `limit` cells and no special kind of drawing.

    Sweeps, rankings, arenas, items of papers, and records of other experiments count as special.
    """
    drawing = ("item", "arena", "ranking", "records_of", "records_from")
    is_special = bool(plan.swept) or any(getattr(plan.settings, name) for name in drawing)
    return len(plan.cells) > limit and not is_special
