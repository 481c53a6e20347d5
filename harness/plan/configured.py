"""A configuration with its plan: its name, title and identity, and the folder of its results."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.common.seeds import digest
from harness.configure import sweeps, variations
from harness.configure.settings import Settings
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec


@dataclass(frozen=True)
class Configured:
    """A configuration with its plan.

    Parameters
    ----------
    settings : Settings
        The composed settings.
    plan : Plan
        Its cells.
    out : Path
        The folder of records and results.
    differs : dict
        Changes of the run in its experiment: {path: (as configured, here)}.
    configured_points : list of dict
        The points of the sweep if the experiment itself is a sweep.
    others : tuple of Configured
        The experiments whose records it uses, as they are configured.
    """

    settings: Settings
    plan: Plan
    out: Path
    differs: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    configured_points: list[dict[str, Any]] = field(default_factory=list)
    others: tuple[Any, ...] = ()

    @property
    def family(self) -> tuple[Any, ...]:
        """The experiment and those whose records it uses."""
        return (self, *self.others)

    @property
    def cells(self) -> set[str]:
        """Keys of all cells whose records the experiment uses, those of others included."""
        return {cell.key for member in self.family for cell in member.plan.cells}

    @property
    def name(self) -> str:
        """The run's name, `adhoc` for a run without one."""
        return self.settings.name or "adhoc"

    @property
    def paper(self) -> str | None:
        """The paper that the experiment reproduces, None for others."""
        return self.settings.paper

    @property
    def is_sweep(self) -> bool:
        """True for a sweep over values of parameters."""
        return bool(self.plan.swept)

    @property
    def is_variation(self) -> bool:
        """True for a sweep, and unless it is an experiment as configured."""
        return self.is_sweep or not self.settings.experiment or bool(self.differs)

    @property
    def is_paper_item(self) -> bool:
        """True for an experiment of a paper as configured."""
        return bool(self.paper) and not self.is_variation

    @property
    def sentence(self) -> str:
        """A description such as 'a sweep over bins of a variation of smoke (n)'."""
        experiment = self.settings.experiment
        base = str(experiment)
        if self.differs or not experiment:
            base = variations.sentence(self.settings, self.differs)
        if not self.is_sweep:
            return base
        sweep = f"a sweep over {', '.join(self.plan.swept.values())}"
        return f"{sweep} of {base}" if experiment else sweep

    @property
    def title(self) -> str:
        """The title of its page. For a variation or sweep, it names the changes."""
        experiment = self.settings.experiment
        if not self.is_variation or not experiment:
            return self.settings.title or self.name
        differs = {p: pair for p, pair in self.differs.items() if p not in ("title", "name")}
        changes = variations.changes(self.settings, differs)
        title = experiment
        if self.is_sweep:
            title += f" swept over {', '.join(self.plan.swept.values())}"
        if changes or not self.is_sweep:
            title = f"A variation of {title}"
        if changes:
            title += f": {changes}"
        return f"{self.settings.title}. {title}" if "title" in self.differs else title

    @property
    def stem(self) -> str:
        """File name of the results: the experiment's name without the paper's."""
        if self.is_variation:
            return self._variation_name
        prefix = "arena" if self.settings.arena else self.paper
        return self.name.removeprefix(f"{prefix}_") if prefix else self.name

    @property
    def folder(self) -> Path:
        """The folder of the results.

        <out>/<paper>, <out>/arena or <out>/<name>; <out>/variations/<stem>; <out>/sweeps/<stem>.
        """
        if self.is_variation:
            return self.out / ("sweeps" if self.is_sweep else "variations") / self.stem
        return self.out / (self.paper or ("arena" if self.settings.arena else self.name))

    @property
    def page(self) -> Path:
        """The page of the results."""
        return self.folder / f"{self.stem}.html"

    @property
    def _variation_name(self) -> str:
        """The name that the user gave, else one made of experiment, swept words and identity."""
        as_configured = (
            self.is_sweep and not self.differs and self.plan.points == self.configured_points
        )
        is_given = not self.settings.experiment or "name" in self.differs or as_configured
        if self.settings.name and is_given:
            return str(self.settings.name)
        words = "".join(f"-{word.replace('.', '_')}" for word in self.plan.swept.values())
        return f"{self.settings.experiment or 'adhoc'}{words}-{self.identity}"

    @property
    def identity(self) -> str:
        """Eight digits that identify the cells and the drawing, but not the name."""
        identity = variations.identity(self.settings)
        if not self.is_sweep:
            return identity
        content = json.dumps([identity, self.plan.points], sort_keys=True, default=str)
        return digest(content)[:8]

    def swept(self) -> dict[str, list[str]]:
        """Return the values of a sweep by path, as texts."""
        return {
            path: list(
                dict.fromkeys(
                    sweeps.value_text(point[path]) for point in self.plan.points if path in point
                )
            )
            for path in self.plan.swept
        }

    def shown_settings(self) -> Settings:
        """Return the settings for drawing, with `files` and `subsets` filled in.

        `files` are pairs (problem, n) whose replications share rows of a file, so that they are no
        independent samples. `subsets` are those with fewer rows than the file. For a paper or a
        ranking, the file is the population: only all of its rows are no sample.
        """
        is_population = self.paper or self.settings.ranking
        files, subsets = set[tuple[str, int]](), set[tuple[str, int]]()
        for plan in (member.plan for member in self.family):
            pairs = set(plan.all_rows)
            from_file = {
                name
                for name, problem in plan.problems.items()
                if ProblemSpec.of(problem.object).rows_of_a_file
            }
            if from_file and not is_population:
                pairs |= {(c.problem, c.n) for c in plan.cells if c.problem in from_file}
            for name, n in pairs:
                shown = (plan.problems[name].id, n)
                files.add(shown)
                if (name, n) not in plan.all_rows:
                    subsets.add(shown)
        return replace(self.settings, files=sorted(files), subsets=sorted(subsets))

    def page_settings(self) -> dict[str, Any]:
        """Return the settings that a page shows: no folders, processes, or missing arena."""
        hidden = set(variations.OPERATIONAL) - {"experiment"}
        if self.settings.arena is None:
            hidden.add("arena")
        return {k: v for k, v in self.settings.to_dict().items() if k not in hidden}
