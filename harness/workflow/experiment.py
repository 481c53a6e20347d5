"""Plan an experiment from its configuration, and compute its cells.

An `Experiment` is made of parts: settings (`harness.configure.settings`), names and paths of its
results (`harness.configure.identity`), its plan (`harness.plan.plan`) and its records
(`harness.records.plan_records`). `harness.workflow.drawing` draws it. Rooms above the workflow get
those parts that they need.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.configure import record_sources, sweeps, variations
from harness.configure.compose import compose, out_folder
from harness.configure.identity import Identity
from harness.configure.settings import OPERATIONAL, Settings
from harness.errors import BadInputError
from harness.execute import run, truths
from harness.plan import plan as planning
from harness.plan.plan import Plan
from harness.plan.selection import check_estimands
from harness.problems.base import ProblemSpec
from harness.records import plan_records, reader, tables
from harness.records.plan_records import PlanRecords

Points = list[tuple[dict[str, Any], Settings]]  # points of a sweep: ({path: value}, settings)


@dataclass(frozen=True)
class Experiment:
    """A run of an experiment of conf/experiment/, of a variation of one, or of neither.

    Parameters
    ----------
    settings : Settings
        Settings of the run, with `files` and `subsets` filled in.
    identity : Identity
        Names of the run, its differences from the experiment, and the paths of its results.
    plan : Plan
        Cells of the run.
    records : PlanRecords
        Records of these cells, and of the experiments whose records the run also uses.
    """

    settings: Settings
    identity: Identity
    plan: Plan
    records: PlanRecords

    @classmethod
    def of(cls, overrides: list[str], stored_in: Path | None = None) -> Experiment:
        """Return the experiment that overrides describe, as on the command line.

        `stored_in` is explained in `of_settings`.
        """
        if isinstance(overrides, str):
            raise BadInputError(
                f"the options are the text {overrides!r}; give a list of texts, such as "
                "['experiment=smoke', 'reps=2']."
            )
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
        others = _plan_others(settings, stored_in)
        reference = variations.configured(settings)
        swept = {path for values, _ in points or () for path in values}
        differs = variations.differences(settings, reference)
        differs = {path: pair for path, pair in differs.items() if path not in swept}
        settings = _adapt_figure(settings, reference, differs)
        if points is None and settings.sweep:
            points = sweeps.points(settings)
        plan = _make_plan(settings, points, stored_in)
        # The file of an experiment may name estimands that only some of its variations have.
        if plan.estimators and (not reference or "figure.estimand" in differs):
            wanted = settings.figure.estimand
            check_estimands("figure.estimand", wanted, plan.estimators)
        configured = sweeps.points(reference) if reference and reference.sweep else []
        out = out_folder(settings.out)
        own, expected = ([values for values, _ in some or ()] for some in (points, configured))
        identity = Identity(settings, out, differs, own, expected)
        plans = (plan, *others)
        return cls(_fill_files(settings, plans), identity, plan, PlanRecords(plans, out))

    def compute(self, quiet: bool = False) -> dict[str, Any]:
        """Compute the missing cells and truths of all experiments whose records this run uses.

        Return the sums of the counts of `run.execute`, and the reason of the first failed cell.
        """
        counts: dict[str, Any] = {}
        out = self.records.out
        for plan in self.records.plans:
            for source in plan_records.sources(plan):
                source.record(out)
            for name, value in run.execute(plan, quiet).items():
                if name == "reason":
                    counts.setdefault(name, value)
                else:
                    counts[name] = counts.get(name, 0) + value
            self.store_truths(plan)
        return counts

    def store_truths(self, plan: Plan | None = None) -> None:
        """Compute and store the missing truths of the estimates of a plan, by default the own."""
        plan = plan or self.plan
        problems, estimators = plan.problems.values(), plan.estimators.values()
        keys = [[component.key for component in group] for group in (problems, estimators)]
        estimated = reader.estimated(self.records.out, *keys)
        wanted = ((p, plan_records.wanted_truths(plan, estimated, p)) for p in problems)
        truths.store(self.records.out, wanted)


def _plan_others(settings: Settings, stored_in: Path | None) -> list[Plan]:
    """Return the plans of the experiments in `records_of`, each without changes."""
    operation = {name: getattr(settings, name) for name in OPERATIONAL if name != "experiment"}
    plans = []
    for name in record_sources.experiments(settings):
        configured = variations.as_configured(name, settings.trust, settings.config_dir)
        assert configured is not None
        configured = replace(configured, **operation)
        points = sweeps.points(configured) if configured.sweep else None
        plans.append(_make_plan(configured, points, stored_in))
    return plans


def _adapt_figure(
    settings: Settings, reference: Settings | None, differs: variations.Differences
) -> Settings:
    """Return settings whose labels and figure fit the components of a variation."""
    if differs:
        settings = replace(settings, labels=variations.labels(settings, differs))
    if set(settings.estimator) != set((reference or settings).estimator):
        # The experiment's own choice of estimators for the figure no longer fits.
        if "figure.estimators" not in differs:
            settings = replace(settings, figure=replace(settings.figure, estimators=None))
    return settings


def _make_plan(settings: Settings, points: Points | None, stored_in: Path | None) -> Plan:
    if points is not None:
        return planning.union(settings, points)
    if stored_in is not None and settings.name:
        path = tables.file_path(stored_in, settings.name)
        return tables.load_plan(path, settings, lambda: planning.plan(settings))
    return planning.plan(settings)


def _fill_files(settings: Settings, plans: Iterable[Plan]) -> Settings:
    """Return the settings with `files` and `subsets` filled in.

    If samples are rows of stored data, replications share rows. A figure must not treat them as
    independent. `files` lists the pairs (problem, n) with such samples. `subsets` lists those pairs
    of `files` for which n is smaller than the number of rows.

    A paper or a ranking regards a file as the population. There, `files` lists only the pairs for
    which n is the number of rows.
    """
    is_population = settings.paper or settings.ranking
    files, subsets = set[tuple[str, int]](), set[tuple[str, int]]()
    for plan in plans:
        pairs = set(plan.all_rows)
        from_file = {
            name
            for name, problem in plan.problems.items()
            if ProblemSpec.of(problem.object).shares_rows
        }
        if from_file and not is_population:
            pairs |= {(c.problem, c.n) for c in plan.cells if c.problem in from_file}
        for name, n in pairs:
            shown = (plan.problems[name].id, n)
            files.add(shown)
            if (name, n) not in plan.all_rows:
                subsets.add(shown)
    return replace(settings, files=sorted(files), subsets=sorted(subsets))
