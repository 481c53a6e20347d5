"""Define the options of a run as one dataclass, with their types and allowed values.

conf/config.yaml has the same names, with their defaults and explanations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.configure import rules
from harness.configure.addresses import ENGINES, check_address
from harness.configure.arena import Arena
from harness.configure.catalogue import defaults
from harness.configure.figure import Figure, Labels
from harness.configure.ranking import Ranking
from harness.configure.rules import Role, Rule, option, or_null
from harness.errors import BadInputError
from harness.math import estimands
from harness.math.notions import NOTIONS

as_list = rules.as_list
RESERVED = ("records", "truths", "runs")  # folders of out= that no folder of results may replace
GROUP_DEFAULTS: dict[str, Any] = {"problem": {}, "estimator": {}, "experiment": None}
NO_TEXTS: dict[str, Any] = {"problem": {}, "estimator": {}}
# Keys of nested settings that `to_dict` leaves out if they are null. They are newer than the stored
# identities of variations, which must not change.
OMITTED_WHEN_NULL = ("sets", "development", "y", "yscale")


def _are_sizes(value: Any) -> bool:
    sizes = as_list(value)
    return len(sizes) > 0 and all(rules.is_integer(n, 1) for n in sizes)


def _are_replications(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) > 0 and all(rules.is_integer(rep, 0) for rep in value)
    return rules.is_integer(value, 1)


def _are_notions(value: Any) -> bool:
    names = as_list(value)
    return len(names) > 0 and all(name in (*NOTIONS, "all", "main") for name in names)


def _are_sources(value: Any) -> bool:
    if not rules.is_list_of(dict, value):
        return False
    forms = ({"file", "reader"}, {"pack", "reader"})
    texts = [text for source in value for text in source.values()]
    return all(set(source) in forms for source in value) and rules.is_list_of(str, texts)


@dataclass(frozen=True)
class Settings:
    """All settings of a run. conf/config.yaml explains each of them."""

    problem: dict[str, Any] = option(rules.ANYTHING)
    estimator: dict[str, Any] = option(rules.ANYTHING)
    n: int | list[int] | None = option(
        Rule(
            "give positive integers, or null for the default sizes of each problem",
            lambda value: value is None or _are_sizes(value),
        ),
        Role.CELLS,
    )
    reps: int | list[int] | None = option(
        or_null(
            Rule("give a positive number, or a list of indices counted from 0", _are_replications)
        ),
        Role.CELLS,
    )
    notion: str | list[str] | None = option(
        or_null(Rule(f"give one or a list of {', '.join(NOTIONS)}, all, main", _are_notions)),
        Role.CELLS,
    )
    estimand: str | list[str] | None = option(rules.ANYTHING, Role.DRAWING)
    seed: int = option(
        Rule(
            "give an integer from 0 to 2^63 - 1",
            lambda value: rules.is_integer(value, 0, 2**63 - 1),
        ),
        Role.CELLS,
    )
    jobs: int = option(
        Rule(
            "give a positive number of workers, or -1 for one per core",
            lambda value: rules.is_integer(value) and value != 0,
        ),
        Role.OPERATION,
    )
    engine: str = option(rules.choice(*ENGINES), Role.OPERATION)
    address: str | None = option(rules.ANYTHING, Role.OPERATION)
    shard: int = option(rules.integer(0), Role.OPERATION)
    shards: int = option(rules.integer(1), Role.OPERATION)
    on_error: str = option(rules.choice("record", "raise"), Role.OPERATION)
    cell_timeout: float | None = option(or_null(rules.positive("seconds")), Role.OPERATION)
    max_memory: float | None = option(or_null(rules.positive("megabytes")), Role.OPERATION)
    trust: list[str] = option(rules.TEXTS, Role.OPERATION)
    config_dir: str | None = option(rules.ANYTHING, Role.OPERATION)
    refresh: bool = option(rules.TRUTH_VALUE, Role.OPERATION)
    profile: bool = option(rules.TRUTH_VALUE, Role.OPERATION)
    bootstrap: int | None = option(
        Rule(
            "give a number of resamples of at least 20, 0 for none, or null",
            lambda value: (
                value is None or rules.is_integer(value, 20) or rules.is_integer(value, 0, 0)
            ),
        ),
        Role.CELLS,
    )
    reliability: str = option(rules.choice("overall", "classes", "none"), Role.DRAWING)
    sweep: dict[str, Any] = option(rules.MAPPING)
    out: str | None = option(rules.ANYTHING, Role.OPERATION)
    name: str | None = option(or_null(rules.FILE_NAME), Role.DRAWING)
    paper: str | None = option(or_null(rules.FILE_NAME))
    item: str | None = option(or_null(rules.FILE_NAME))
    title: str | None = option(rules.TEXT, Role.DRAWING)
    compare: list[str] | None = option(
        or_null(Rule("give a list of items of reported.csv, such as [fig1]", rules.TEXTS.allows))
    )
    same_draws_as_paper: bool = option(rules.TRUTH_VALUE)
    ranking: Ranking | None = option(rules.ANYTHING)
    arena: Arena | None = option(rules.ANYTHING)
    records_of: list[str] = option(
        Rule("give a list of ids of experiments, such as [smoke]", rules.TEXTS.allows)
    )
    records_from: list[dict[str, str]] = option(
        Rule(
            "give a list of {pack: NAME, reader: module.function} or {file: PATH, reader: "
            "module.function}",
            _are_sources,
        )
    )
    reasons: dict[str, str] = option(rules.MAPPING)
    labels: Labels = option(rules.MAPPING)
    figure: Figure = option(rules.MAPPING, Role.DRAWING)
    experiment: str | None = option(rules.ANYTHING, Role.OPERATION)
    # Not options. Planning fills them in: pairs (problem, n) whose samples are rows of a file, and
    # those among them whose samples are only a part of the rows.
    files: list[tuple[str, int]] | tuple[()] = ()
    subsets: list[tuple[str, int]] | tuple[()] = ()
    # Not an option either. True if the command line chose an experiment and changed nothing in it,
    # apart from options with the role OPERATION. False if that is not known.
    is_as_configured: bool = field(default=False, compare=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """Return settings with the given values {name of an option: value}, after all checks.

        An option without a value gets its default from conf/config.yaml. The same holds for each
        key of `figure`.

        Raises
        ------
        BadInputError
            If a value is not allowed, alone or together with another option.
        """
        whole = {**GROUP_DEFAULTS, **defaults(), **values}
        rules.check_options(cls, whole)
        figure = {**defaults()["figure"], **whole["figure"]}
        labels = {name: texts or {} for name, texts in {**NO_TEXTS, **whole["labels"]}.items()}
        whole["figure"] = rules.read_options(Figure, "figure", figure)
        whole["labels"] = rules.read_options(Labels, "labels", labels)
        whole["ranking"] = Ranking.from_value(whole["ranking"])
        whole["arena"] = Arena.from_value(whole["arena"])
        settings = cls(**whole)
        settings._check_together()
        return settings

    def _check_together(self) -> None:
        """Raise BadInputError if the value of one option conflicts with that of another."""
        if self.shard >= self.shards:
            raise BadInputError(
                f"shard is {self.shard}, but shards={self.shards}; shards are counted from 0, so "
                f"give at most {self.shards - 1}."
            )
        check_address(self.engine, self.address)
        for name in ("cell_timeout", "max_memory"):
            if getattr(self, name) is not None and self.engine == "serial":
                raise BadInputError(
                    f"{name} is given with engine=serial, which cannot stop a running cell; use "
                    "another engine."
                )
        for name in ("name", "paper", "item"):
            if (value := getattr(self, name)) in RESERVED:
                raise BadInputError(
                    f"{name} is {value!r}, a folder that the harness uses itself; give another "
                    "name."
                )
        if self.ranking and self.figure.y:
            raise BadInputError(
                f"figure.y is {self.figure.y}, but the figure of a run that ranks models shows "
                "ranks; leave out figure.y."
            )
        if self.item and not self.paper:
            raise BadInputError(
                f"item is {self.item!r}, but paper is not set; give paper=PAPER, or leave item out."
            )
        for estimand in (*as_list(self.estimand), *as_list(self.figure.estimand)):
            estimands.check_name(str(estimand))

    def to_dict(self) -> dict[str, Any]:
        """Return {name of an option: value} in plain dictionaries and lists, as for a YAML file."""
        values = {name: getattr(self, name) for name in OPTIONS}
        for name in ("labels", "figure", "ranking", "arena"):
            if values[name] is not None:
                values[name] = {
                    key: value
                    for key, value in vars(values[name]).items()
                    if value is not None or key not in OMITTED_WHEN_NULL
                }
        return values

    @property
    def run_name(self) -> str:
        """Name of the run; `adhoc` if it has none."""
        return self.name or "adhoc"

    def chosen(self, group: str) -> dict[str, Any]:
        """Return {id: configuration} of the problems or, with group "estimator", the estimators."""
        return self.problem if group == "problem" else self.estimator


OPTIONS = rules.option_names(Settings, *Role)
OPERATIONAL = rules.option_names(Settings, Role.OPERATION)
