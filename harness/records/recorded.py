"""Read the records of a run's configuration, to draw figures, tables and pages."""

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

# Above this number of cells, texts are read as categories, and drawing reads only the columns
# DRAWN. A process that draws a million cells then stays below 1 GB.
MANY_CELLS = 200_000
DRAWN = (  # columns that figures, tables and the summary of a run need
    "key", "problem", "problem_key", "notion", "n", "estimator", "estimator_key", "estimand",
    "value", "low", "high", "level", "kind", "status", "reason", "cpu_seconds", "truth",
    "truth_error",
)  # fmt: skip
NUMBERS = ("value", "low", "high", "truth", "truth_error")  # columns of numbers that pages show
Pairs = list[tuple[str, str]]  # (notion, estimand)


@dataclass(frozen=True)
class Recorded(Configured):
    """A run's configuration with its plan, whose records can be read."""

    def records(self, to_draw: bool = False) -> pd.DataFrame:
        """Return the records of this run and of the experiments whose records it uses.

        Nothing is computed. The best attempt at each cell counts. The column `experiment` says
        which experiment a row belongs to. With `to_draw`, columns that no drawing needs are left
        out if there are very many cells.
        """
        frames = []
        for member in self.family:
            frames.append(member.computed(to_draw))
            frames += [source.records(member.name) for source in member.sources]
        filled = [frame for frame in frames if len(frame)]
        return pd.concat(filled, ignore_index=True) if len(filled) > 1 else (filled or frames)[0]

    @property
    def sources(self) -> list[imported.Source]:
        """Sources of imported records, from the setting `records_from`."""
        return [imported.Source(**source) for source in self.settings.records_from]

    def computed(self, to_draw: bool = False) -> pd.DataFrame:
        """Return the records of this run's own cells, in the form of `records`."""
        frame = reader.empty_frame()
        if self.plan.cells and parts.part_files(self.out):
            columns = DRAWN if to_draw and self._has_many else None
            keys = self._own_keys
            frame = reader.load_records(self.out, keys, columns, categories=self._has_many)
        is_skipped = frame["status"].eq("skipped")
        if is_skipped.any():  # drop outdated skips: the missing file or package may exist by now
            frame = frame[~is_skipped | frame["key"].isin(set(self.plan.skips))]
        frame = frame.reset_index(drop=True)
        kind = "category" if self._has_many else "object"
        groups = {"problem": self.plan.problems, "estimator": self.plan.estimators}
        for group, components in groups.items():
            # Records may have been written under an earlier id.
            ids = {component.key: component.id for component in components.values()}
            frame[group] = frame[f"{group}_key"].map(ids).astype(kind)
        name: Any = self.name
        if self._has_many:
            name = pd.Categorical.from_codes(np.zeros(len(frame), dtype=np.int8), [self.name])
        frame.insert(1, "experiment", name)
        return frame

    @cached_property
    def _own_keys(self) -> pa.Array:
        return reader.key_array(cell.key for cell in self.plan.cells)

    @cached_property
    def _keys(self) -> pa.Array:
        """Keys of all cells whose records this run uses, each once."""
        return pc.unique(pa.concat_arrays([member._own_keys for member in self.family]))

    @property
    def cell_count(self) -> int:
        """Number of all cells whose records this run uses."""
        return len(self._keys)

    @property
    def _has_many(self) -> bool:
        """True if the run has more than MANY_CELLS cells and no special kind of drawing.

        Sweeps, rankings, arenas, items of papers, and records of other experiments count as
        special.
        """
        drawing = ("item", "arena", "ranking", "records_of", "records_from")
        is_special = self.is_sweep or any(getattr(self.settings, name) for name in drawing)
        return len(self.plan.cells) > MANY_CELLS and not is_special

    def missing_truths(self, frame: pd.DataFrame) -> dict[str, Pairs]:
        """Return the truths that estimates in `frame` need and that are not stored yet.

        The result is {name of the problem in the plan: [(notion, estimand)]}.
        """
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
        """Return the pairs (notion, estimand) whose truths are needed for a problem.

        `estimated` contains (problem key, notion, estimand) of all estimates. If the models of a
        ranking are ordered by the truths of an estimand, these truths are needed too.
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
        """Return a digest of what a page shows: numbers, configuration and version.

        Numbers are first rounded to eight significant digits, so that the digest is the same on
        every machine.
        """
        columns = ["key", "estimand", "status", "kind", *(["experiment"] if self.others else [])]
        rows = digest_frame(frame, columns, NUMBERS)
        content = [rows, self.page_settings(), self.plan.points, VERSION]
        return digest(json.dumps(content, sort_keys=True, default=str))


def digest_frame(frame: pd.DataFrame, texts: Iterable[str], numbers: Iterable[str]) -> str:
    """Return a digest (16 hexadecimal digits) of some columns of a frame.

    The digest does not depend on the order of the rows. Numbers are first rounded to eight
    significant digits. With twelve digits, a few numbers in a million would differ between
    processors.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    texts, numbers : iterables of str
        Names of the columns of texts and of numbers.
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
    """Return values rounded to eight significant digits.

    Values below 1e-12 become 0, and NaN becomes -inf.
    """
    values = np.where(np.abs(values) < SMALLEST, 0.0, values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (7 - np.floor(np.log10(np.where(values != 0.0, np.abs(values), 1.0))))
        rounded = np.round(values * scale) / scale
    return np.where(np.isnan(rounded), -np.inf, rounded)
