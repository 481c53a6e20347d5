"""The table of a sweep: a column for each swept parameter."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from harness.configure import sweeps
from harness.evaluation import tables
from harness.evaluation.selection import label
from harness.evaluation.summary import evaluate
from harness.plan.plan import Plan


@dataclass(frozen=True)
class SweepResults:
    """The results of the sweep that `plan` is of."""

    plan: Plan

    def rows(self, records, settings):
        """harness.evaluate for every point of the sweep: its columns behind one column for each swept parameter, which is empty
        in the rows that the parameter does not change."""

        long, combinations = self._by_point(records)
        cells = long.groupby(["point", "problem_key", "notion", "n", "estimator_key"])[
            "cpu_seconds"
        ]
        long["cpu_seconds"] = cells.transform(
            "median"
        )  # the first cell of a process also loads what it needs
        found = evaluate(long, settings.files, apart=["point"])
        points = [combinations[i] for i in found.pop("point")]
        for position, name in enumerate(self.plan.swept.values()):
            found.insert(
                position,
                name,
                pd.Series([point.get(name) for point in points], dtype=object, index=found.index),
            )
        order = {name: i for i, name in enumerate(settings.problem)}
        found["_rank"] = self._ranked(points)
        found["_problem"] = found["problem"].map(lambda name: order.get(name, len(order)))
        found = found.sort_values(
            ["_problem", "notion", "n", "estimator", "_rank"], kind="stable", ignore_index=True
        )
        return found.drop(columns=["_rank", "_problem"])

    def _by_point(self, records):
        """(records with a column `point`, points): the records of a cell are repeated for every point of the sweep that the cell
        is of, and `point` counts the points; a point holds the values that matter to a cell, those of fewer parameters first."""
        held = {_identity(values): values for many in self.plan.values.values() for values in many}
        ranks = dict(zip(held, self._ranked(held.values())))
        order = sorted(held, key=lambda values: (len(values), ranks[values]))
        number = {values: i for i, values in enumerate(order)}
        points = {
            key: [number[_identity(values)] for values in many]
            for key, many in self.plan.values.items()
        }
        records = records[records["key"].isin(points)]
        long = records.loc[
            records.index.repeat([len(points[key]) for key in records["key"]])
        ].reset_index(drop=True)
        long["point"] = [point for key in records["key"] for point in points[key]]
        return long, [held[values] for values in order]

    def _ranked(self, points):
        """For each of these points the places of its values in the orders of the parameters, -1 for a parameter it lacks."""
        ranks = {
            name: {comparable(v): i for i, v in enumerate(self.values(name))}
            for name in self.plan.swept.values()
        }
        return [
            tuple(
                rank[comparable(point[name])] if name in point else -1
                for name, rank in ranks.items()
            )
            for point in points
        ]

    def values(self, name):
        """The values of a swept parameter: numbers by size, others in the order given."""
        path = next(path for path, word in self.plan.swept.items() if word == name)
        values = list(
            {
                comparable(point[path]): point[path] for point in self.plan.points if path in point
            }.values()
        )
        return sorted(values) if are_numbers(values) else values

    def summary(self, records, settings):
        """The rows with labels beside the ids; lists and mappings as text."""
        frame = self.rows(records, settings)
        for name in self.plan.swept.values():
            if name in frame:
                values = [
                    None if v is None else v if isinstance(v, (int, float)) else sweeps.said(v)
                    for v in frame[name]
                ]
                plain = all(
                    v is None or isinstance(v, (int, float)) and not isinstance(v, bool)
                    for v in values
                )
                frame[name] = values if plain else [None if v is None else str(v) for v in values]
                if plain:
                    frame[name] = frame[name].astype(float).convert_dtypes()
        for group in ("estimator", "problem"):
            frame.insert(
                len(self.plan.swept),
                f"{group}_label",
                [label(settings, group, name) for name in frame[group]],
            )
        return frame

    def table(self, records, settings):
        """The wide table (harness.evaluation.tables.wide) with a level for each swept parameter behind problem, notion and n.

        An estimator that a parameter does not change has the same entry at each of the parameter's values; a problem on which the
        parameter has no influence at all has one row, whose value is 'all'.
        """

        long, points = self._at_every_point(records)
        table = tables.wide(long, settings, apart=["point"])
        if not len(table):
            return table
        rows = table.index.to_frame(index=False)
        order = [name for name in rows if name not in ("n", "point")]
        values = [points[i] for i in rows["point"]]
        for name in self.plan.swept.values():
            rows[name] = [sweeps.said(point[name]) if name in point else "all" for point in values]
        first = {name: {v: i for i, v in enumerate(dict.fromkeys(rows[name]))} for name in order}
        places = (
            rows[order]
            .apply(lambda column: column.map(first[column.name]))
            .assign(n=rows["n"], point=rows.pop("point"))
        )
        sorting = places.sort_values(list(places)).index
        name, table = table.columns.name, table.reset_index(drop=True).loc[sorting]
        table.index = pd.MultiIndex.from_frame(rows.loc[sorting])
        numbers = table.map(lambda entry: any(character.isdigit() for character in entry)).drop(
            columns="truth", errors="ignore"
        )
        empty = [column for column in numbers if not numbers[column].any()]
        table = table[numbers.any(axis=1)].drop(
            columns=empty
        )  # missing.reasons says what gave no number
        table.columns.name = name
        return table

    def _at_every_point(self, records):
        """(records with a column `point`, points): as `_by_point`, but a cell is repeated for all points of its problem that
        agree with the cell's own values, so that every row of the table is full. The points of a problem are made of the
        parameters that matter to any of its cells."""
        long, bearing = self._by_point(records)
        every: dict[tuple, dict] = {}
        found = []
        for _, mine in long.groupby("problem", sort=False):
            held = [bearing[i] for i in mine["point"].unique()]
            names = [
                name for name in self.plan.swept.values() if any(name in values for values in held)
            ]
            paths = {path: name for path, name in self.plan.swept.items() if name in names}
            points = [
                {name: point[path] for path, name in paths.items() if path in point}
                for point in self.plan.points
            ]
            own = {_identity(point): point for point in points}
            every |= own
            agreeing: dict[tuple, list] = {}
            for shape in {tuple(values) for values in held}:
                for identity, point in own.items():
                    agreeing.setdefault(
                        _identity({name: point.get(name) for name in shape}), []
                    ).append(identity)
            points = [agreeing[_identity(bearing[i])] for i in mine["point"]]
            many = mine.loc[mine.index.repeat([len(one) for one in points])]
            found.append(many.assign(point=[identity for one in points for identity in one]))
        ranks = dict(zip(every, self._ranked(every.values())))
        order = sorted(every, key=ranks.get)
        number = {identity: i for i, identity in enumerate(order)}
        long = pd.concat(found, ignore_index=True) if found else long
        return long.assign(point=long["point"].map(number) if found else []), [
            every[identity] for identity in order
        ]


def are_numbers(values):
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def comparable(value):
    """A value as something that can be compared and hashed, 1 and 1.0 alike."""
    if value is None or isinstance(value, float) and value != value:
        return None
    return (
        float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else sweeps.said(value)
    )


def _identity(values):
    """Values by name as something that can be hashed."""
    return tuple((name, comparable(values[name])) for name in sorted(values))
