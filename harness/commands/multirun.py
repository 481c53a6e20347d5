"""Hydra's multirun: `-m` over experiments, shards, choices and parameters.

Every Hydra job computes its own cells. What is drawn is drawn by the process that was called, from the records of all jobs:
one result for each experiment, a sweep where parameters were swept. That is done as soon as no cell is missing, at the latest
when Hydra says that the last job has ended (`Sweep`, the callback in conf/config.yaml).
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hydra.experimental.callback import Callback

from harness.commands.experiment import Experiment
from harness.configure import sweeps
from harness.configure.compose import compose, hydra_mistakes
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.plan import pending

OF_ONE_RUN = ("shard", "shards")  # jobs that differ in these compute parts of the same result
UNSWEPT = (
    "name",
    "out",
    "sweep",
    "hydra",
    "figure",
    "labels",
    "title",
    "paper",
    "item",
    "compare",
    "ranking",
    "reasons",
)

current: Multirun | None = None  # of this process, while it is going on


class Multirun:
    """The results that the jobs of one multirun add up to: `experiments`, in the order of the jobs; of a sweeper that searches,
    which chooses its jobs as it goes, one sweep over what it tried. `finish` draws one and returns the exit status."""

    def __init__(self, overrides: list[str], finish: Callable[[Experiment], int]):
        self.searches = not is_basic(overrides)
        constant, swept = parsed(overrides, self.searches)
        self.constant, self.jobs = set(constant), math.prod(map(len, swept.values()))
        self.experiments = [] if self.searches else results(overrides)
        self.tried: list[tuple[dict[str, Any], Settings]] = []
        self.finish = finish
        self.computed: set[str] = set()
        self.drawn: set[int] = set()
        self.status = 0

    def name(self, number: int, overrides: list[str]) -> str:
        """'job 2 of 4 (estimator.binned15.bins=10)': a job by what it has of its own."""
        own = [text.lstrip("+") for text in overrides if text not in self.constant]
        return f"job {number + 1}{'' if self.searches else f' of {self.jobs}'} ({', '.join(own)})"

    def later(self, experiment: Experiment) -> float:
        """Expected seconds of the cells of all jobs that this one does not compute."""
        mine = _of_shard(experiment)
        return sum(part.expected_seconds(mine) for one in self.experiments for part in one.family)

    def ended(self, experiment: Experiment, overrides: list[str], status: int) -> None:
        """Note a job that has ended, and draw the results that it has completed."""
        self.status = max(self.status, status)
        if self.searches:
            own = [text for text in overrides if text not in self.constant]
            self.tried.append(
                (
                    {text.partition("=")[0].lstrip("+"): _value(text) for text in own},
                    experiment.settings,
                )
            )
        self.computed |= _of_shard(experiment)
        for position, result in enumerate(self.experiments):
            if position not in self.drawn and result.cells <= self.computed:
                self._draw(position)

    def draw_rest(self) -> None:
        """Draw what is not drawn yet."""
        if self.tried:
            points = list(
                {
                    json.dumps(values, default=str): (values, settings)
                    for values, settings in self.tried
                }.values()
            )
            self.experiments = [Experiment.of_settings(points[0][1], points)]
        for position in range(len(self.experiments)):
            if position not in self.drawn:
                self._draw(position)

    def _draw(self, position: int) -> None:
        self.drawn.add(position)
        self.status = max(self.status, self.finish(self.experiments[position]))


class Sweep(Callback):
    """Hydra's callback: draws when the last job of a multirun has ended."""

    def on_multirun_end(self, config: Any, **kwargs: Any) -> None:
        """Draw what the jobs have computed; a mistake becomes the exit status, as Hydra would only warn of it."""
        if current is None:
            return
        try:
            current.draw_rest()
        except Exception as error:
            print(
                f"calharness: the jobs have ended, but drawing failed ({type(error).__name__}: {error})",
                file=sys.stderr,
            )
            current.status = max(current.status, 1)


def is_basic(overrides: list[str]) -> bool:
    """Whether the jobs are a product of the values given; other sweepers of Hydra choose them as they go."""
    return not any(
        text.startswith("hydra/sweeper=") and text != "hydra/sweeper=basic" for text in overrides
    )


def experiments_of(arguments: list[str]) -> list[Experiment]:
    """The experiments of a command line: one, or with -m what its jobs add up to."""
    overrides = [text for text in arguments if text not in ("-m", "--multirun")]
    return results(overrides) if len(overrides) < len(arguments) else [Experiment.of(overrides)]


def results(overrides: list[str]) -> list[Experiment]:
    """What the jobs of `-m overrides` add up to, planned: for each experiment its run, or its sweep."""
    constant, swept = parsed(overrides)
    wrong = next((key for key in swept if key.split(".")[0] in UNSWEPT), None)
    if wrong:
        raise BadInputError(
            f"{wrong} cannot be swept by -m; parameters, n, seed, problems, estimators and experiments can."
        )
    whole = next((key for key in swept if key.endswith("._target_") and key.count(".") == 2), None)
    if whole:
        group = whole.lstrip("+").split(".")[0]
        raise BadInputError(
            f"{whole} cannot be swept by -m; several of one's own take part in one run, each under a name: "
            f"+{group}.a._target_=module.A +{group}.b._target_=module.B."
        )
    experiments = swept.pop("experiment", [None])
    groups = {key: swept.pop(key) for key in ("problem", "estimator") if key in swept}
    parts = {key: swept.pop(key) for key in OF_ONE_RUN if key in swept}
    if "shard" in parts:
        given = next(
            (text.partition("=")[2] for text in constant if text.startswith("shards=")), None
        )
        most = max(
            (int(text) for text in parts.get("shards", [given or "1"]) if text.isdigit()), default=1
        )
        wrong = next(
            (text for text in parts["shard"] if not text.isdigit() or int(text) >= most), None
        )
        if wrong is not None:
            raise BadInputError(
                f"shard is {wrong} of shards={most}; shards are counted from 0: shards=2 shard=0,1."
            )
    constant = (
        [text for text in constant if text.split("=")[0] not in OF_ONE_RUN] if parts else constant
    )
    paths = {
        key.lstrip("+"): [_value(f"{key}={value}") for value in values]
        for key, values in swept.items()
    }
    grid = {key: _together(key, paths.pop(key)) for key in sweeps.GRID if key in paths}
    paths = {
        key: values
        for key, values in paths.items()
        if key not in ("jobs", "engine", "address", "on_error", "refresh")
    }
    found = []
    for experiment in experiments:
        chosen = [*constant, *([f"experiment={experiment}"] if experiment else [])]
        bases = [
            Settings.from_dict({**compose([*chosen, *choice]).to_dict(), **grid})
            for choice in _choices(groups)
        ]
        settings = replace(
            bases[0],
            problem=_merged(base.problem for base in bases),
            estimator=_merged(base.estimator for base in bases),
        )
        if paths or len(bases) > 1:
            every = [replace(base, sweep={**sweeps.flatten(base.sweep), **paths}) for base in bases]
            points = [point for base in every for point in sweeps.points(base)]
            found.append(Experiment.of_settings(settings, points))
        else:
            found.append(Experiment.of_settings(settings))
    return found


def parsed(overrides: list[str], searches: bool = False) -> tuple[list[str], dict[str, list[str]]]:
    """(overrides that are the same in all jobs, {key: the values of those that are swept, as text}). With `searches`, by a
    sweeper that chooses values itself, the latter is empty."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    constant, swept = [], {}
    with hydra_mistakes(overrides):
        for override, text in zip(OverridesParser.create().parse_overrides(overrides), overrides):
            if override.is_sweep_override() and not text.startswith("hydra"):
                if searches:
                    continue
                if not override.is_discrete_sweep():
                    raise BadInputError(
                        f"{text} is an interval, which Hydra's basic sweeper cannot sweep; give values, 1,2,5."
                    )
                swept[override.get_key_element()] = list(_texts(override))
            elif not text.startswith("hydra") or text.startswith("hydra.searchpath="):
                constant.append(text)
    return constant, swept


def _texts(override: Any) -> Iterator[str]:
    if (
        override.get_key_element() not in ("problem", "estimator", "experiment")
        or "glob(" not in override.input_line
    ):
        yield from override.sweep_string_iterator()
        return
    from harness.configure.options import ids

    found = override.value().filter(ids(override.get_key_element()))
    if not found:
        raise BadInputError(
            f"no {override.get_key_element()} matches {override.input_line.partition('=')[2]}."
        )
    yield from found


def _together(key: str, values: list[Any]) -> Any:
    """The one value of n, notion or reps that asks for what these ask for one by one."""
    if key == "reps" and all(isinstance(value, int) for value in values):
        return max(values)
    lists = [list(range(v)) if key == "reps" and isinstance(v, int) else as_list(v) for v in values]
    return list(dict.fromkeys(value for one in lists for value in one))


def _choices(groups: Mapping[Any, list[str]]) -> list[list[str]]:
    return [
        [f"{group}={value}" for group, value in zip(groups, values)]
        for values in itertools.product(*groups.values())
    ] or [[]]


def _merged(nodes: Iterable[dict[str, Any] | None]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in nodes:
        found |= node or {}
    return found


def _value(override: str) -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import QuotedString

    def plain(value: Any) -> Any:
        if isinstance(value, QuotedString):
            return value.text
        if isinstance(value, list):
            return [plain(v) for v in value]
        return {plain(k): plain(v) for k, v in value.items()} if isinstance(value, dict) else value

    return plain(OverridesParser.create().parse_override(override).value())


def _of_shard(experiment: Experiment) -> set[str]:
    return {cell.key for one in experiment.family for cell in pending.shard_cells(one.plan)}
