"""The records of a configuration, read for drawing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from harness.common.seeds import digest
from harness.common.version import VERSION
from harness.common.writing import SMALLEST
from harness.plan.components import Component
from harness.plan.configured import Configured
from harness.records import imported, parts, reader, schema
from harness.records.truths import missing_truths

# From this number of cells on, repeated texts of records are categories, and only the columns DRAWN
# are read to draw. With a million cells, the driver then stays below 1 GB.
MANY_CELLS = 200_000
DRAWN = (  # columns that the general drawing and the summary of a run need
    "key", "problem", "problem_key", "notion", "n", "estimator", "estimator_key", "estimand",
    "value", "low", "high", "level", "kind", "status", "reason", "cpu_seconds", "truth",
    "truth_error",
)  # fmt: skip
NUMBERS = ("value", "low", "high", "truth", "truth_error")  # numbers that a page shows
Pairs = list[tuple[str, str]]  # (notion, estimand)


@dataclass(frozen=True)
class Recorded(Configured):
    """A configuration whose records can be read."""

    def records(self, to_draw: bool = False) -> pd.DataFrame:
        """Read the records of the experiment and of those whose records it uses. Compute nothing.

        The best attempt at each cell counts. The column `experiment` names the experiment of a row.
        With `to_draw`, the records of very many cells lack the columns that no drawing needs.
        """
        frames = []
        for member in self.family:
            frames.append(member.computed(to_draw))
            frames += [source.records(member.name) for source in member.sources]
        filled = [frame for frame in frames if len(frame)]
        return pd.concat(filled, ignore_index=True) if len(filled) > 1 else (filled or frames)[0]

    @property
    def sources(self) -> list[imported.Source]:
        """Sources of its records from outside."""
        return [imported.Source(**source) for source in self.settings.records_from]

    def computed(self, to_draw: bool = False) -> pd.DataFrame:
        """Read the records of its own cells, as `records` does."""
        frame = reader.empty_frame()
        if self.plan.cells and parts.part_files(self.out):
            columns = DRAWN if to_draw and self._has_many else None
            keys = self._own_keys
            frame = reader.load_records(self.out, keys, columns, categories=self._has_many)
        is_skipped = frame["status"].eq("skipped")
        if is_skipped.any():  # a skip is outdated if the missing data or package is there now
            frame = frame[~is_skipped | frame["key"].isin(set(self.plan.skips))]
        frame = frame.reset_index(drop=True)
        kind = "category" if self._has_many else "object"
        groups = {"problem": self.plan.problems, "estimator": self.plan.estimators}
        for group, components in groups.items():
            # records may have been written under an earlier id
            ids = {component.key: component.id for component in components.values()}
            frame[group] = frame[f"{group}_key"].map(ids).astype(kind)
        name: Any = self.name
        if self._has_many:
            name = pd.Categorical.from_codes(np.zeros(len(frame), dtype=np.int8), [self.name])
        frame.insert(1, "experiment", name)
        return frame

    @cached_property
    def _own_keys(self) -> pa.Array:
        return reader.keys_of(cell.key for cell in self.plan.cells)

    @cached_property
    def _keys(self) -> pa.Array:
        """Keys of all cells whose records it uses, each once."""
        return pc.unique(pa.concat_arrays([member._own_keys for member in self.family]))

    @property
    def cell_count(self) -> int:
        """The number of all cells whose records it uses."""
        return len(self._keys)

    @property
    def _has_many(self) -> bool:
        """True for very many cells, drawn in the general way and from this experiment alone."""
        drawing = ("item", "arena", "ranking", "records_of", "records_from")
        is_special = self.is_sweep or any(getattr(self.settings, name) for name in drawing)
        return len(self.plan.cells) > MANY_CELLS and not is_special

    def missing_truths(self, frame: pd.DataFrame) -> dict[str, Pairs]:
        """Return the truths of estimates in `frame` that no run has computed, by problem."""
        columns = ["problem_key", "notion", "estimand"]
        rows = frame.loc[frame["estimand"].notna(), columns].drop_duplicates()
        estimated = list(rows.itertuples(index=False, name=None))
        missing = {}
        for member in self.family:
            for name, problem in member.plan.problems.items():
                wanted = member.wanted_truths(estimated, problem)
                missing[name] = missing_truths(self.out, problem, wanted)
        return {name: pairs for name, pairs in missing.items() if pairs}

    def wanted_truths(self, estimated: list[tuple[str, str, str]], problem: Component) -> Pairs:
        """Return the truths that are wanted of a problem.

        `estimated` has (problem key, notion, estimand) of the estimates. A ranking by the truths of
        an estimand wants these as well.
        """
        wanted = [(notion, estimand) for key, notion, estimand in estimated if key == problem.key]
        reference = self.settings.ranking.reference if self.settings.ranking else None
        if reference and reference != "full":
            notions = dict.fromkeys(notion for notion, _ in wanted)
            wanted += [(notion, reference) for notion in notions]
        return wanted

    def missing(self, frame: pd.DataFrame) -> int:
        """Return the number of cells that have no finished record in `frame`."""
        finished = frame.loc[frame["status"].isin(schema.FINISHED), "key"].unique()
        is_finished = pc.is_in(self._keys, value_set=pa.array(finished, pa.string()))
        return self.cell_count - int(pc.sum(is_finished).as_py() or 0)

    @staticmethod
    def has_numbers(frame: pd.DataFrame) -> bool:
        """Return True if any record has a number."""
        return bool(schema.has_number(frame).any())

    def stamp(self, frame: pd.DataFrame) -> str:
        """Return a digest of a page's content: numbers to eight digits, configuration, version.

        It does not depend on time and machine.
        """
        columns = ["key", "estimand", "status", "kind", *(["experiment"] if self.others else [])]
        rows = digest_of(frame, columns, NUMBERS)
        content = [rows, self.page_settings(), self.plan.points, VERSION]
        return digest(json.dumps(content, sort_keys=True, default=str))


def digest_of(frame: pd.DataFrame, texts: Iterable[str], numbers: Iterable[str]) -> str:
    """Return sixteen digits that identify the rows by these columns, in any order of the rows.

    Numbers count to eight digits: at twelve, a few of a million differ between processors.
    """
    columns: dict[str, Any] = {}
    for name in texts:
        column = frame[name]
        if not isinstance(column.dtype, pd.CategoricalDtype):
            column = column.fillna("").astype(str)
        elif column.isna().any():
            column = column.cat.add_categories([""]).fillna("")
        columns[name] = column
    for name in numbers:
        columns[name] = _rounded(frame[name].to_numpy(dtype=float))
    hashes = np.sort(
        pd.util.hash_pandas_object(pd.DataFrame(columns, copy=False), index=False).to_numpy()
    )
    return hashlib.blake2b(hashes.tobytes().hex().encode(), digest_size=8).hexdigest()


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values to eight significant digits, 0 below 1e-12, and -inf for NaN."""
    values = np.where(np.abs(values) < SMALLEST, 0.0, values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (7 - np.floor(np.log10(np.where(values != 0.0, np.abs(values), 1.0))))
        rounded = np.round(values * scale) / scale
    return np.where(np.isnan(rounded), -np.inf, rounded)
