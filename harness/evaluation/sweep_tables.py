"""Result tables of a parameter sweep, with a column for each swept parameter."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from harness.configure import sweeps
from harness.configure.settings import Settings
from harness.evaluation import tables
from harness.evaluation.convergence import add_errors
from harness.evaluation.summary import evaluate
from harness.plan.plan import Plan
from harness.records.parameters import parameter_columns

Point: TypeAlias = dict[str, Any]  # {name of a swept parameter: value}


@dataclass(frozen=True)
class SweepResults:
    """Result tables of a planned sweep.

    A point of a sweep is one combination of values of the swept parameters. Not every parameter
    matters to every cell: a parameter of one estimator does not change the cells of another.
    """

    plan: Plan

    def rows(self, records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
        """Return `harness.evaluate` of the records at each point of the sweep.

        The first columns are the swept parameters. A parameter that does not matter to a row is
        None there.
        """
        long, points = self._by_point(records)
        cells = long.groupby(["point", "problem_key", "notion", "n", "estimator_key"])
        # The first cell of a process also loads packages; the median is not affected.
        long["cpu_seconds"] = cells["cpu_seconds"].transform("median")
        table = evaluate(long, settings.files, apart=["point"])
        table = add_errors(table, long, settings, apart=["point"])
        order = {name: i for i, name in enumerate(settings.problem)}
        table["_problem"] = table["problem"].map(lambda name: order.get(name, len(order)))
        table["_rank"] = [self._ranks(points[i]) for i in table["point"]]
        table = table.sort_values(
            ["_problem", "notion", "n", "estimator", "_rank"], kind="stable", ignore_index=True
        )
        values = [points[i] for i in table["point"]]
        for position, name in enumerate(self.plan.swept.values()):
            column = pd.Series([point.get(name) for point in values], dtype=object)
            table.insert(position, name, column)
        return table.drop(columns=["_rank", "_problem", "point"])

    def _by_point(self, records: pd.DataFrame) -> tuple[pd.DataFrame, list[Point]]:
        """Return one copy of each record for every point that its cell belongs to, and the points.

        The new column `point` is a position in the list of points. A point holds only the
        parameters that matter to the cell. Points with fewer parameters come first.
        """
        known = {_identity(point): point for many in self.plan.values.values() for point in many}
        points = sorted(known.values(), key=lambda point: (len(point), self._ranks(point)))
        position = {_identity(point): i for i, point in enumerate(points)}
        of_cell = {
            key: [position[_identity(point)] for point in many]
            for key, many in self.plan.values.items()
        }
        rows = records[records["key"].isin(of_cell)]
        rows = rows.drop(columns=parameter_columns(rows))  # the points hold these values
        rows = rows.assign(point=[of_cell[key] for key in rows["key"]])
        return rows.explode("point", ignore_index=True).astype({"point": int}), points

    def _ranks(self, point: Point) -> tuple[int, ...]:
        """Return the sort key of a point: the position of each value among its parameter's values.

        The position is -1 for a parameter that the point does not hold.
        """
        return tuple(
            ranks[comparable(point[name])] if name in point else -1
            for name, ranks in self._places.items()
        )

    @functools.cached_property
    def _places(self) -> dict[str, dict[Any, int]]:
        return {
            name: {comparable(value): i for i, value in enumerate(self.values(name))}
            for name in self.plan.swept.values()
        }

    def values(self, name: str) -> list[Any]:
        """Return the values of a swept parameter, sorted if all are numbers, else as configured."""
        path = next(path for path, word in self.plan.swept.items() if word == name)
        given = [point[path] for point in self.plan.points if path in point]
        values = list({comparable(value): value for value in given}.values())
        return sorted(values) if are_numbers(values) else values

    def summary(self, records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
        """Return the table of `rows` with labels next to the ids.

        Values of parameters that are not numbers become texts.
        """
        frame = self.rows(records, settings)
        for name in self.plan.swept.values():
            given = [value for value in frame[name] if value is not None]
            if are_numbers(given):
                frame[name] = frame[name].astype(float).convert_dtypes()
            else:
                frame[name] = [None if value is None else _text(value) for value in frame[name]]
        return tables.with_labels(frame, settings, len(self.plan.swept))

    def table(self, records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
        """Return the wide table of the sweep, with one row level per swept parameter.

        The row levels are problem, notion if there are several, n, and the parameters. The columns
        are the estimators. An estimator that a parameter does not change has the same entry for
        all its values. A problem with no cell that depends on the parameter has one row with the
        value 'all'.
        """
        long, points = self._at_every_point(records)
        table = tables.wide(long, settings, apart=["point"])
        if table.empty:
            return table
        heading, levels = table.columns.name, table.index.to_frame(index=False)
        first = [name for name in levels if name not in ("n", "point")]
        values = [points[i] for i in levels["point"]]
        for name in self.plan.swept.values():
            levels[name] = [sweeps.shown_text(p[name]) if name in p else "all" for p in values]
        table = table.reset_index(drop=True)

        # Sort the rows by problem (in the order of appearance), then n, then point. Drop rows and
        # columns that hold no number.
        places = levels[first].apply(lambda column: pd.factorize(column)[0])
        places = places.assign(n=levels["n"], point=levels.pop("point"))
        order = places.sort_values([*first, "n", "point"]).index
        table = table.loc[order].set_axis(pd.MultiIndex.from_frame(levels.loc[order]), axis=0)
        has_digit = table.apply(lambda column: column.str.contains(r"\d"))
        some = has_digit.drop(columns="truth", errors="ignore")
        kept = has_digit.any() | (has_digit.columns == "truth")
        table = table.loc[some.any(axis=1), kept]
        table.columns.name = heading
        return table

    def _at_every_point(self, records: pd.DataFrame) -> tuple[pd.DataFrame, list[Point]]:
        """Return one copy of each record for every point of its problem that agrees with its cell.

        This fills every row of the wide table. The points of a problem hold the parameters that
        matter to any cell of the problem. A cell agrees with a point if all parameters that matter
        to the cell have the same value. Also return the list of points, to which the column
        `point` refers.
        """
        long, bearing = self._by_point(records)
        every: dict[Any, Point] = {}
        parts = []
        for _, rows in long.groupby("problem", sort=False):
            shapes = {tuple(bearing[i]) for i in rows["point"].unique()}
            names = {name for shape in shapes for name in shape}
            paths = {path: name for path, name in self.plan.swept.items() if name in names}
            points = [
                {name: point[path] for path, name in paths.items() if path in point}
                for point in self.plan.points
            ]
            candidates = {_identity(point): point for point in points}
            agreeing: dict[Any, list[Any]] = defaultdict(list)
            for shape in shapes:
                for identity, point in candidates.items():
                    values = {name: point.get(name) for name in shape}
                    agreeing[_identity(values)].append(identity)
            identities = [agreeing[_identity(bearing[i])] for i in rows["point"]]
            parts.append(rows.assign(point=identities).explode("point"))
            every |= candidates
        if not parts:
            return long, []
        order = sorted(every, key=lambda identity: self._ranks(every[identity]))
        position = {identity: i for i, identity in enumerate(order)}
        whole = pd.concat(parts, ignore_index=True)
        whole["point"] = [position[identity] for identity in whole["point"]]
        return whole, [every[identity] for identity in order]


def are_numbers(values: Iterable[Any]) -> bool:
    """Return True if all values are numbers. True and False do not count as numbers."""
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def comparable(value: Any) -> Any:
    """Convert a value to a form that can be compared and hashed, in which 1 and 1.0 are equal."""
    if value is None or isinstance(value, float) and math.isnan(value):
        return None
    return float(value) if are_numbers([value]) else sweeps.value_text(value)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (int, float)) else sweeps.value_text(value)


def _identity(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Convert {name: value} to a tuple that can be compared and hashed."""
    return tuple((name, comparable(values[name])) for name in sorted(values))
