"""A configuration with its plan: what it is called, and where its results go."""

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

    settings            the composed settings
    plan                its cells
    out                 the folder of records and results
    differs             what the run changes in its experiment, {path: (as configured, here)}
    configured_points   the points of a sweep that the experiment itself is
    others              the experiments whose records it uses, as they are configured
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
        """The keys of all cells whose records it uses, its own and those of others."""
        return {cell.key for one in self.family for cell in one.plan.cells}

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
        """Whether it is a sweep over values of parameters."""
        return bool(self.plan.swept)

    @property
    def is_variation(self) -> bool:
        """Whether it is something else than an experiment as configured: its results are its own."""
        return self.is_sweep or not self.settings.experiment or bool(self.differs)

    @property
    def sentence(self) -> str:
        """What it is, in words: 'a sweep over bins of a variation of smoke (n)'."""
        base = (
            variations.sentence(self.settings, self.differs)
            if self.differs or not self.settings.experiment
            else None
        )
        if not self.is_sweep:
            return base or str(self.settings.experiment)
        over = f"a sweep over {', '.join(self.plan.swept.values())}"
        return f"{over} of {base or self.settings.experiment}" if self.settings.experiment else over

    @property
    def title(self) -> str:
        """The title of its page. That of a variation or sweep says what it changes, and does not bear the experiment's."""
        experiment = self.settings.experiment
        if not self.is_variation or not experiment:
            return self.settings.title or self.name
        over = f" swept over {', '.join(self.plan.swept.values())}" if self.is_sweep else ""
        changes = variations.changes(
            self.settings,
            {p: pair for p, pair in self.differs.items() if p not in ("title", "name")},
        )
        title = (
            f"{experiment}{over}" if over and not changes else f"A variation of {experiment}{over}"
        )
        title = f"{title}: {changes}" if changes else title
        return f"{self.settings.title}. {title}" if "title" in self.differs else title

    @property
    def stem(self) -> str:
        """File name of the results: the experiment's name without the paper's; a variation's own."""
        if self.is_variation:
            return self._own_name()
        if self.settings.arena:
            return self.name.removeprefix("arena_")
        return self.name.removeprefix(f"{self.paper}_") if self.paper else self.name

    @property
    def folder(self) -> Path:
        """Where the results go: <out>/<paper>, <out>/arena or <out>/<name>; <out>/variations/<own name>; <out>/sweeps/<own
        name>."""
        if self.is_variation:
            return self.out / ("sweeps" if self.is_sweep else "variations") / self._own_name()
        return self.out / (self.paper or ("arena" if self.settings.arena else self.name))

    def _own_name(self) -> str:
        given = self.settings.name
        as_configured = (
            self.is_sweep and not self.differs and self.plan.points == self.configured_points
        )
        if given and (not self.settings.experiment or "name" in self.differs or as_configured):
            return str(given)
        words = "".join(f"-{word.replace('.', '_')}" for word in self.plan.swept.values())
        return f"{self.settings.experiment or 'adhoc'}{words}-{self.identity}"

    @property
    def identity(self) -> str:
        """Eight digits that identify what is run and drawn, its name aside."""
        own = variations.identity(self.settings)
        if not self.is_sweep:
            return own
        return digest(json.dumps([own, self.plan.points], sort_keys=True, default=str))[:8]

    def swept(self) -> dict[str, list[str]]:
        """{path: its values, as texts} of a sweep."""
        plan = self.plan
        return {
            path: list(dict.fromkeys(sweeps.said(p[path]) for p in plan.points if path in p))
            for path in plan.swept
        }

    def shown_settings(self) -> Settings:
        """The configuration for what draws: also with `files`, [(problem, n)] whose replications are no samples, as they share
        rows of a file, and `subsets`, those of them with fewer rows than the file has. To a paper or a ranking its files are the
        population, and only all rows are no sample."""
        population = self.paper or self.settings.ranking
        ids: dict[bool, set[tuple[str, int]]] = {True: set(), False: set()}
        for plan in (one.plan for one in self.family):
            held = {
                name
                for name, problem in plan.problems.items()
                if ProblemSpec.of(problem.object).rows_of_a_file
            }
            drawn = (
                {(c.problem, c.n) for c in plan.cells if c.problem in held}
                if held and not population
                else set()
            )
            for name, n in drawn | plan.all_rows:
                ids[(name, n) in plan.all_rows].add((plan.problems[name].id, n))
        return replace(
            self.settings, files=sorted(ids[True] | ids[False]), subsets=sorted(ids[False])
        )

    def page_settings(self) -> dict[str, Any]:
        """The configuration without what says where and on how many processes it runs, and without an arena where it is none."""
        silent = {*variations.OPERATIONAL, *(["arena"] if self.settings.arena is None else [])} - {
            "experiment"
        }
        return {k: v for k, v in self.settings.to_dict().items() if k not in silent}
