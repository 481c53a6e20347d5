"""An experiment: its configuration, planned; its cells, computed; its records, read.

`harness.commands.drawing` draws it."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.configured import Configured
from harness.common.seeds import digest
from harness.common.version import VERSION
from harness.configure import record_sources as others
from harness.configure import sweeps, variations
from harness.configure.compose import compose, out_folder
from harness.configure.settings import Settings
from harness.execute import run, truths
from harness.plan import pending
from harness.plan import plan as planning
from harness.plan.components import Component
from harness.records import imported, parts, reader, schema, stored
from harness.records import states as recorded
from harness.records.truths import missing_truths

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MANY_CELLS = (
    200_000  # from which on texts of records are categories, where the drawing is the general one
)
DRAWN = (  # what that looks at, and what says of a run
    "key", "problem", "problem_key", "notion", "n", "estimator", "estimator_key", "estimand", "value", "low", "high", "level",
    "kind", "status", "reason", "cpu_seconds", "truth", "truth_error",
)  # fmt: skip
Points = list[tuple[dict[str, Any], Settings]]  # of a sweep: values by path, and settings
NUMBERS = ("value", "low", "high", "truth", "truth_error")  # that a page shows


@dataclass(frozen=True)
class Experiment(Configured):
    """A configuration that can be planned, computed and read. Nothing is drawn here."""

    @classmethod
    def of(cls, overrides: list[str], stored_in: Path | None = None) -> Experiment:
        """Compose overrides (as on the command line) and plan, as `of_settings`."""
        return cls.of_settings(compose(list(overrides)), stored_in=stored_in)

    @classmethod
    def of_settings(
        cls, settings: Settings, points: Points | None = None, stored_in: Path | None = None
    ) -> Experiment:
        """Plan composed settings; or the points of a sweep over them, pairs (values by path, settings). Plans that
        depend on data are those of the records stored in the folder `stored_in`, where it has them."""
        here = {
            name: getattr(settings, name) for name in variations.OPERATIONAL if name != "experiment"
        }
        configs = [
            replace(variations.as_configured(name, settings.trust), **here)
            for name in others.experiments(settings)
        ]
        return cls._planned(
            settings,
            points,
            tuple(cls._planned(one, stored_in=stored_in) for one in configs),
            stored_in,
        )

    @classmethod
    def _planned(
        cls,
        settings: Settings,
        points: Points | None = None,
        named: tuple[Experiment, ...] = (),
        stored_in: Path | None = None,
    ) -> Experiment:
        reference = variations.as_configured(settings.experiment, settings.trust)
        swept = {path for values, _ in points or () for path in values}
        differs = {
            path: pair
            for path, pair in variations.differences(settings, reference).items()
            if path not in swept
        }
        if differs:
            settings = replace(settings, labels=variations.labels(settings, differs))
        chosen, configured = (set(one.estimator) for one in (settings, reference or settings))
        if (
            chosen != configured and "figure.estimators" not in differs
        ):  # those of the run, not the experiment's
            settings = replace(settings, figure=replace(settings.figure, estimators=None))
        points = sweeps.points(settings) if points is None and settings.sweep else points
        if points is not None:
            plan = planning.union(settings, points)
        elif stored_in is not None and settings.name:
            plan = stored.plan_of(
                stored.path_of(stored_in, settings.name), settings, lambda: planning.plan(settings)
            )
        else:
            plan = planning.plan(settings)
        if plan.estimators and (
            not reference or "figure.estimand" in differs
        ):  # of an experiment it is a wish: its variations
            planning.check_estimands(
                "figure.estimand", settings.figure.estimand, plan.estimators
            )  # show what they have
        own = sweeps.points(reference) if reference and reference.sweep else []
        return cls(
            settings, plan, out_folder(settings.out), differs, [values for values, _ in own], named
        )

    def compute(self, quiet: bool = False, later: float = 0.0) -> dict[str, Any]:
        """Run what no record holds, of this experiment and of those whose records it uses, and compute the truths of what was
        estimated; returns the counts of `run.execute`, summed."""
        counts: dict[str, Any] = {}
        expected = [one.expected_seconds() if self.others else 0.0 for one in self.family]
        for position, one in enumerate(self.family):
            found = one._compute(quiet, later + sum(expected[position + 1 :]))
            added = {
                name: counts.get(name, 0) + count
                for name, count in found.items()
                if name != "reason"
            }
            counts = {**found, **counts, **added}
        return counts

    def expected_seconds(
        self,
        without: Set[str] = frozenset(),
        states: recorded.States | None = None,
        past: Any = None,
    ) -> float:
        """Wall seconds that its own cells should take that no record holds, those `without` aside. `states` and `past` are as in
        `pending.pending` and `pending.Costs`."""
        if not self.plan.cells:
            return 0.0
        tally = pending.pending(self.plan, self.out, states, without).tally
        costs = pending.Costs(self.plan, self.out, past)
        return costs.total(tally.kinds) / pending.worker_count(self.plan.settings)

    def _compute(self, quiet: bool, later: float) -> dict[str, Any]:
        for source in self.sources:
            source.record(self.out)
        counts = run.execute(self.plan, quiet, later)
        keys = [
            [one.key for one in chosen.values()]
            for chosen in (self.plan.problems, self.plan.estimators)
        ]
        given = reader.estimated(self.out, *keys)
        truths.store(
            self.out,
            ((one, self._wanted_truths(given, one)) for one in self.plan.problems.values()),
        )
        return counts

    def records(self, to_draw: bool = False) -> pd.DataFrame:
        """The records of this plan's cells, best attempt each, with the truths that are stored, those of the experiments that
        `records_of` names, and those from outside. The column `experiment` says whose a row is. Nothing is computed. Of very
        many cells those `to_draw` lack the columns that nothing here looks at."""
        import pandas as pd

        found = [
            frame
            for one in self.family
            for frame in (
                one.computed(to_draw=to_draw),
                *(s.records(one.name) for s in one.sources),
            )
        ]
        filled = [frame for frame in found if len(frame)]
        return pd.concat(filled, ignore_index=True) if len(filled) > 1 else (filled or found)[0]

    @property
    def sources(self) -> list[imported.Source]:
        """Where its records from outside come from."""
        return [imported.Source(**one) for one in self.settings.records_from]

    def computed(self, loaded: pd.DataFrame | None = None, to_draw: bool = False) -> pd.DataFrame:
        """The records of its own cells, as of `records`; from `loaded`, what `load_records` gave of many experiments at once."""
        import numpy as np
        import pandas as pd

        if loaded is not None:
            frame = loaded[loaded["key"].isin([cell.key for cell in self.plan.cells])]
        elif not self.plan.cells or not parts.part_files(self.out):
            frame = reader.empty_frame()
        else:
            columns = DRAWN if to_draw and self._is_long else None
            frame = reader.load_records(self.out, self._wanted, columns, categories=self._is_long)
        outdated = frame["status"].eq("skipped")
        if outdated.any():
            outdated &= ~frame["key"].isin(self.plan.skips)  # what was missing then is there now
            frame = frame[~outdated]
        frame = frame.reset_index(drop=True)
        for group, made in (("problem", self.plan.problems), ("estimator", self.plan.estimators)):
            ids = {
                one.key: one.id for one in made.values()
            }  # records that were written under an id of before have today's here
            frame[group] = (
                frame[f"{group}_key"]
                .map(ids)
                .astype("category" if self._is_long and loaded is None else "object")
            )
        whose = (
            pd.Categorical.from_codes(np.zeros(len(frame), dtype=np.int8), [self.name])
            if self._is_long
            else self.name
        )
        frame.insert(1, "experiment", whose)
        return frame

    @cached_property
    def _wanted(self) -> pa.Array:
        """The keys of its own cells."""
        return reader.keys_of(cell.key for cell in self.plan.cells)

    @property
    def cell_count(self) -> int:
        """The number of all cells whose records it uses."""
        return len(self._wanted) if self._is_long else len(self.cells)

    @property
    def _is_long(self) -> bool:
        own = any(
            getattr(self.settings, name)
            for name in ("item", "arena", "ranking", "records_of", "records_from")
        )
        return len(self.plan.cells) > MANY_CELLS and not own and not self.is_sweep

    def missing_truths(self, frame: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
        """{problem: [(notion, estimand)]} of truths that no run has computed yet, of what was estimated in `frame`."""
        return {
            name: pairs for one in self.family for name, pairs in one._missing_truths(frame).items()
        }

    def _missing_truths(self, frame: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
        seen = frame[frame["estimand"].notna()].drop_duplicates(
            ["problem_key", "notion", "estimand"]
        )
        given = list(zip(seen["problem_key"], seen["notion"], seen["estimand"]))
        wanted = {
            name: (one, self._wanted_truths(given, one)) for name, one in self.plan.problems.items()
        }
        missing = {name: missing_truths(self.out, *asked) for name, asked in wanted.items()}
        return {name: pairs for name, pairs in missing.items() if pairs}

    def _wanted_truths(
        self, given: list[tuple[str, str, str]], problem: Component
    ) -> list[tuple[str, str]]:
        """[(notion, estimand)] whose truths are wanted of a problem, by `given`, what was estimated: [(problem key, notion,
        estimand)]. A ranking by the truths of an estimand wants these as well."""
        wanted = [(notion, estimand) for key, notion, estimand in given if key == problem.key]
        reference = self.settings.ranking.reference if self.settings.ranking else None
        if reference and reference != "full":
            wanted += [
                (notion, reference) for notion in dict.fromkeys(notion for notion, _ in wanted)
            ]
        return wanted

    def missing(self, frame: pd.DataFrame) -> int:
        """Planned cells, of the experiments whose records it uses too, that have no finished record."""
        finished = frame.loc[frame["status"].isin(schema.FINISHED), "key"]
        return (
            self.cell_count - finished.nunique()
            if self._is_long
            else len(self.cells - set(finished))
        )

    @staticmethod
    def has_numbers(frame: pd.DataFrame) -> bool:
        """Whether any cell gave one."""
        return bool(schema.has_number(frame).any())

    def stamp(self, frame: pd.DataFrame) -> str:
        """Identifies what the page shows: the cells and their numbers, to eight digits, the configuration, and the version of
        the package. The same numbers drawn at another time or on another machine have the same stamp."""
        whose = ["experiment"] if self.others else []
        rows = reader.digest_of(frame, ["key", "estimand", "status", "kind", *whose], NUMBERS)
        content = [rows, self.page_settings(), self.plan.points, VERSION]
        return digest(json.dumps(content, sort_keys=True, default=str))
