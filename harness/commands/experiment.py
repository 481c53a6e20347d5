"""Plan an experiment from its configuration, and compute its cells.

`harness.records.recorded` reads the records, and `harness.commands.drawing` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.configure import record_sources, sweeps, variations
from harness.configure.compose import compose, out_folder
from harness.configure.settings import Settings
from harness.execute import pending, run, truths
from harness.plan import plan as planning
from harness.plan.selection import check_estimands
from harness.records import reader, stored
from harness.records.recorded import Recorded

Points = list[tuple[dict[str, Any], Settings]]  # points of a sweep: ({path: value}, settings)


@dataclass(frozen=True)
class Experiment(Recorded):
    """A run's configuration with its plan, which can be computed and whose records can be read."""

    @classmethod
    def of(cls, overrides: list[str], stored_in: Path | None = None) -> Experiment:
        """Return the experiment that overrides describe, as on the command line.

        `stored_in` is explained in `of_settings`.
        """
        return cls.of_settings(compose(list(overrides)), stored_in=stored_in)

    @classmethod
    def of_settings(
        cls, settings: Settings, points: Points | None = None, stored_in: Path | None = None
    ) -> Experiment:
        """Make the plan of a run with these settings, and return the run as an `Experiment`.

        Parameters
        ----------
        settings : Settings
            Composed settings.
        points : list, optional
            Points of a sweep. By default, they follow from the settings.
        stored_in : Path, optional
            Folder of stored records. A plan may depend on data files that are absent on this
            machine; it is then read from the stored file of the experiment.
        """
        operation = {
            name: getattr(settings, name) for name in variations.OPERATIONAL if name != "experiment"
        }
        others = []
        for name in record_sources.experiments(settings):
            configured = variations.as_configured(name, settings.trust, settings.config_dir)
            assert configured is not None
            others.append(cls._plan(replace(configured, **operation), None, (), stored_in))
        return cls._plan(settings, points, tuple(others), stored_in)

    @classmethod
    def _plan(
        cls,
        settings: Settings,
        points: Points | None,
        others: tuple[Experiment, ...],
        stored_in: Path | None,
    ) -> Experiment:
        reference = variations.as_configured(
            settings.experiment, settings.trust, settings.config_dir
        )
        swept = {path for values, _ in points or () for path in values}
        differs = variations.differences(settings, reference)
        differs = {path: pair for path, pair in differs.items() if path not in swept}
        if differs:
            settings = replace(settings, labels=variations.labels(settings, differs))
        if set(settings.estimator) != set((reference or settings).estimator):
            # The experiment's own choice of estimators for the figure no longer fits.
            if "figure.estimators" not in differs:
                settings = replace(settings, figure=replace(settings.figure, estimators=None))
        if points is None and settings.sweep:
            points = sweeps.points(settings)
        if points is not None:
            plan = planning.union(settings, points)
        elif stored_in is not None and settings.name:
            path = stored.file_path(stored_in, settings.name)
            plan = stored.load_plan(path, settings, lambda: planning.plan(settings))
        else:
            plan = planning.plan(settings)
        # The file of an experiment may name estimands that only some of its variations have.
        if plan.estimators and (not reference or "figure.estimand" in differs):
            wanted = settings.figure.estimand
            check_estimands("figure.estimand", wanted, plan.estimators)
        configured = sweeps.points(reference) if reference and reference.sweep else []
        configured_points = [values for values, _ in configured]
        return cls(settings, plan, out_folder(settings.out), differs, configured_points, others)

    def compute(self, quiet: bool = False) -> dict[str, Any]:
        """Compute the missing cells and truths of all experiments whose records this run uses.

        Return the sums of the counts of `run.execute`, and the reason of the first failed cell.
        """
        counts: dict[str, Any] = {}
        for member in self.family:
            for source in member.sources:
                source.record(self.out)
            for name, value in run.execute(member.plan, quiet).items():
                if name == "reason":
                    counts.setdefault(name, value)
                else:
                    counts[name] = counts.get(name, 0) + value
            problems = member.plan.problems.values()
            estimators = member.plan.estimators.values()
            keys = [[component.key for component in group] for group in (problems, estimators)]
            estimated = reader.estimated(self.out, *keys)
            truths.store(self.out, ((p, member.wanted_truths(estimated, p)) for p in problems))
        return counts

    def expected_seconds(self, states: pending.States | None = None, past: Any = None) -> float:
        """Return the wall-clock seconds that the run's own missing cells are expected to take.

        `states` and `past` are results of `pending.read_states` and `reader.seconds_per_cell`. By
        default, they are read from the folder of results.
        """
        if not self.plan.cells:
            return 0.0
        kinds = pending.pending(self.plan, self.out, states).tally.kinds
        seconds = pending.Costs(self.plan, self.out, past).total(kinds)
        return seconds / pending.worker_count(self.plan.settings)
