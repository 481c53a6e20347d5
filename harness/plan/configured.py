"""A run's configuration together with its plan, and the names and paths of its results."""

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
    """A run's configuration together with its plan.

    The run belongs to an experiment of conf/experiment/, or to none.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    plan : Plan
        Cells of the run.
    out : Path
        Folder of records and results.
    differs : dict
        Settings in which the run differs from the file of its experiment, as
        {path: (value in the file, value in the run)}.
    configured_points : list of dict
        Points of the sweep in the file of the experiment. Without a sweep there, it is empty.
    others : tuple of Configured
        Experiments whose records the run also uses, each without changes.
    """

    settings: Settings
    plan: Plan
    out: Path
    differs: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    configured_points: list[dict[str, Any]] = field(default_factory=list)
    others: tuple[Any, ...] = ()

    @property
    def family(self) -> tuple[Any, ...]:
        """The run itself, and the experiments whose records it uses."""
        return (self, *self.others)

    @property
    def cells(self) -> set[str]:
        """Keys of all cells whose records this run uses, including those of other experiments."""
        return {cell.key for member in self.family for cell in member.plan.cells}

    @property
    def name(self) -> str:
        """Name of the run; `adhoc` if it has none."""
        return self.settings.name or "adhoc"

    @property
    def paper(self) -> str | None:
        """Id of the paper that the experiment reproduces, or None."""
        return self.settings.paper

    @property
    def is_sweep(self) -> bool:
        """True if the run is a sweep over values of parameters."""
        return bool(self.plan.swept)

    @property
    def is_variation(self) -> bool:
        """True unless the run is an experiment exactly as its file in conf/experiment/ says.

        A sweep always counts as a variation.
        """
        return self.is_sweep or not self.settings.experiment or bool(self.differs)

    @property
    def is_paper_item(self) -> bool:
        """True if the run is an experiment of a paper, without any change."""
        return bool(self.paper) and not self.is_variation

    @property
    def sentence(self) -> str:
        """Description of the run, such as 'a sweep over bins of a variation of smoke (n)'."""
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
        """Title of the page of results. For a variation or sweep, the title names the changes."""
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
        """Name of the result files without ending: the experiment's id without the paper's id.

        For a variation, it is the name of the variation.
        """
        if self.is_variation:
            return self._variation_name
        prefix = "arena" if self.settings.arena else self.paper
        return self.name.removeprefix(f"{prefix}_") if prefix else self.name

    @property
    def folder(self) -> Path:
        """Folder of the results.

        For an experiment without changes it is <out>/<paper>, <out>/arena or <out>/<name>. For a
        variation it is <out>/variations/<stem>, and for a sweep <out>/sweeps/<stem>.
        """
        if self.is_variation:
            return self.out / ("sweeps" if self.is_sweep else "variations") / self.stem
        return self.out / (self.paper or ("arena" if self.settings.arena else self.name))

    @property
    def page(self) -> Path:
        """Path of the HTML page of the results."""
        return self.folder / f"{self.stem}.html"

    @property
    def _variation_name(self) -> str:
        """Name of a variation or sweep.

        It is the name that the user has given. Without one, it consists of the experiment's id, the
        swept parameters and the identity.
        """
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
        """Eight hexadecimal digits that identify the run's settings and sweep, without its name."""
        identity = variations.identity(self.settings)
        if not self.is_sweep:
            return identity
        content = json.dumps([identity, self.plan.points], sort_keys=True, default=str)
        return digest(content)[:8]

    def swept(self) -> dict[str, list[str]]:
        """Return {path: texts of its values} of a sweep."""
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

        If samples are rows of a file, replications share rows. A figure must not treat them as
        independent. `files` lists the pairs (problem, n) with such samples. `subsets` lists those
        pairs of `files` for which n is smaller than the number of rows.

        A paper or a ranking regards a file as the population. There, `files` lists only the pairs
        for which n is the number of rows.
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
        """Return {setting: value} of the settings that a page shows.

        Settings with the role OPERATION, such as folders and processes, are left out. So is `arena`
        if it is None.
        """
        hidden = set(variations.OPERATIONAL) - {"experiment"}
        if self.settings.arena is None:
            hidden.add("arena")
        return {k: v for k, v in self.settings.to_dict().items() if k not in hidden}
