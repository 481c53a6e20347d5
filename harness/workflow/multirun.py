"""Run several Hydra jobs (`-m`) over experiments, shards, components and parameters.

Each job computes its own cells. When the last job has ended, the main process draws the results
from the records. There is one result for each experiment. If parameters were swept, the result is
a sweep.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import QuotedString

from harness.configure import rules, sweeps
from harness.configure.compose import compose, hydra_mistakes
from harness.configure.options import ids
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.workflow.experiment import Experiment

SHARDING = ("shard", "shards")  # options by which jobs compute different parts of one result
OPERATION = ("jobs", "engine", "address", "on_error", "refresh")  # options that change no cell
COMPONENTS = ("problem", "estimator")

current: Multirun | None = None  # multirun that is in progress in this process


class Multirun:
    """State of a multirun: its jobs, and the results that are drawn at its end.

    Hydra's basic sweeper runs all combinations of values. The results, `experiments`, are planned
    before the first job starts. A searching sweeper such as Optuna chooses values one job after the
    other. Its result is one sweep over all values that it has tried.
    """

    def __init__(self, overrides: list[str]):
        basic = ("hydra/sweeper=basic", "")
        chosen = [text for text in overrides if text.startswith("hydra/sweeper=")]
        self.searches = (chosen or [""])[-1] not in basic
        constant, swept = parse(overrides, self.searches)
        self.constant, self.jobs = set(constant), math.prod(map(len, swept.values()))
        self.experiments = [] if self.searches else results(overrides)
        self.tried: dict[str, tuple[dict[str, Any], Settings]] = {}
        self.status = 0

    def job_name(self, number: int, overrides: list[str]) -> str:
        """Return a name for a job, such as 'job 2 of 4 (estimator.binned15.bins=10)'.

        `number` is counted from 0, and `overrides` are those of the job.
        """
        total = "" if self.searches else f" of {self.jobs}"
        return f"job {number + 1}{total} ({', '.join(self._swept(overrides))})"

    def note(self, settings: Settings, overrides: list[str], status: int) -> None:
        """Store the settings and the exit status of a job that has ended."""
        self.status = max(self.status, status)
        if self.searches:
            values = {text.partition("=")[0]: _value(text) for text in self._swept(overrides)}
            self.tried.setdefault(json.dumps(values, default=str), (values, settings))

    def draw(self, draw: Callable[[Experiment], int]) -> int:
        """Call `draw` for each result, and return the exit status of the multirun."""
        if self.tried:
            points = list(self.tried.values())
            self.experiments = [Experiment.of_settings(points[0][1], points)]
        return max([self.status, *map(draw, self.experiments)])

    def _swept(self, overrides: list[str]) -> list[str]:
        return [text.lstrip("+") for text in overrides if text not in self.constant]


def plan_experiments(request: Settings | list[str]) -> list[Experiment]:
    """Return the experiments that a command line describes, with their plans.

    `request` is the result of `base.read_run`. For settings it is one experiment. For words with
    -m, they are the experiments that the jobs of the multirun compute together.
    """
    if isinstance(request, Settings):
        return [Experiment.of_settings(request)]
    overrides = [text for text in request if text not in ("-m", "--multirun")]
    return results(overrides) if len(overrides) < len(request) else [Experiment.of(overrides)]


def results(overrides: list[str]) -> list[Experiment]:
    """Return the experiments whose results a multirun with these overrides draws.

    Several values of n, notion, reps, problem, estimator and shard are joined into one run. Several
    values of other parameters become the points of a sweep.
    """
    constant, swept = parse(overrides)
    names = swept.pop("experiment", [None])
    groups = {name: swept.pop(name) for name in COMPONENTS if name in swept}
    sharding = [f"{name}={swept[name][-1]}" for name in SHARDING if name in swept]
    if sharding:
        compose([*constant, *sharding])  # raises an error if a shard is out of range
        constant = [text for text in constant if text.partition("=")[0] not in SHARDING]
    values = {
        key.lstrip("+"): [_value(f"{key}={text}") for text in texts] for key, texts in swept.items()
    }
    # Check each value: two replications -1 and 2 would be joined to 2, which is allowed.
    allowed = rules.read_rules(Settings)
    for option in values.keys() & allowed.keys():
        for value in values[option]:
            allowed[option].check(option, value)
    values = {name: v for name, v in values.items() if name not in (*SHARDING, *OPERATION)}
    grid = {name: _join(name, values.pop(name)) for name in sweeps.GRID if name in values}
    experiments = []
    for name in names:
        chosen = [*constant, *([f"experiment={name}"] if name else [])]
        bases = [
            Settings.from_dict({**compose([*chosen, *choice]).to_dict(), **grid})
            for choice in _choices(groups)
        ]
        problems = {pid: node for base in bases for pid, node in base.problem.items()}
        estimators = {eid: node for base in bases for eid, node in base.estimator.items()}
        settings = replace(bases[0], problem=problems, estimator=estimators)
        points = None
        if values or len(bases) > 1:
            points = []
            for base in bases:
                sweep = {**sweeps.flatten(base.sweep), **values}
                points += sweeps.points(replace(base, sweep=sweep))
        experiments.append(Experiment.of_settings(settings, points))
    return experiments


def parse(overrides: list[str], searches: bool = False) -> tuple[list[str], dict[str, list[str]]]:
    """Split the overrides of a multirun into constant and swept ones.

    `searches` is True if a searching sweeper chooses the values.

    Returns
    -------
    constant : list of str
        Overrides that are the same in all jobs. Hydra's own settings are left out.
    swept : dict
        {name: texts of its values} of all other overrides. Empty with a searching sweeper.
    """
    constant, swept = [], {}
    with hydra_mistakes(overrides):
        for override, text in zip(OverridesParser.create().parse_overrides(overrides), overrides):
            is_hydra = text.startswith("hydra")
            if not override.is_sweep_override() or is_hydra:
                if not is_hydra or text.startswith("hydra.searchpath="):
                    constant.append(text)
            elif not searches:
                swept[override.get_key_element()] = list(_texts(override, text))
    return constant, swept


def _texts(override: Any, text: str) -> Iterator[str]:
    """Yield the values of a swept override as texts. A glob is replaced by the matching ids."""
    if not override.is_discrete_sweep():
        raise BadInputError(
            f"{text} is an interval, which Hydra's basic sweeper cannot sweep; give values such as "
            "1,2,5."
        )
    group = override.get_key_element()
    if group not in (*COMPONENTS, "experiment") or "glob(" not in text:
        yield from override.sweep_string_iterator()
        return
    matches = override.value().filter(ids(group))
    if not matches:
        raise BadInputError(
            f"no {group} matches {text.partition('=')[2]}; `calharness list {group}s` shows all."
        )
    yield from matches


def _join(name: str, values: list[Any]) -> Any:
    """Return one value of n, notion or reps that includes all swept values."""
    if name == "reps" and all(isinstance(value, int) for value in values):
        return max(values)
    lists = [
        list(range(value)) if name == "reps" and isinstance(value, int) else as_list(value)
        for value in values
    ]
    return list(dict.fromkeys(itertools.chain.from_iterable(lists)))


def _choices(groups: Mapping[str, list[str]]) -> list[list[str]]:
    return [
        [f"{group}={value}" for group, value in zip(groups, values)]
        for values in itertools.product(*groups.values())
    ]


def _value(override: str) -> Any:
    """Return the value of an override NAME=VALUE as a plain Python object."""

    def plain(value: Any) -> Any:
        if isinstance(value, QuotedString):
            return value.text
        if isinstance(value, list):
            return [plain(entry) for entry in value]
        if isinstance(value, dict):
            return {plain(key): plain(entry) for key, entry in value.items()}
        return value

    return plain(OverridesParser.create().parse_override(override).value())
