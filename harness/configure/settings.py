"""Settings of a run, one typed class: names, types and allowed values of the options.

conf/config.yaml has the same names with their defaults and what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.configure import rules
from harness.configure.addresses import ENGINES, check_address
from harness.configure.arena import Arena
from harness.configure.catalogue import defaults
from harness.configure.figure import Figure, Labels
from harness.configure.ranking import Ranking
from harness.configure.rules import Role, Rule, option
from harness.errors import BadInputError
from harness.math import estimands
from harness.math.notions import NOTIONS

as_list = rules.as_list
RESERVED = ("records", "truths", "runs")  # folders beside those of the results
GROUP_DEFAULTS: dict[str, Any] = {"problem": {}, "estimator": {}, "experiment": None}
# keys of nested settings that are left out where they are null; identities of variations were
# computed without them
OMITTED_WHEN_NULL = ("sets", "development")


def _are_sizes(value: Any) -> bool:
    sizes = rules.as_list(value)
    return value is None or len(sizes) > 0 and all(rules.is_integer(n, 1) for n in sizes)


def _are_replications(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) > 0 and all(rules.is_integer(rep, 0) for rep in value)
    return value is None or rules.is_integer(value, 1)


def _are_notions(value: Any) -> bool:
    notions = rules.as_list(value)
    return (
        value is None
        or len(notions) > 0
        and all(one in (*NOTIONS, "all", "main") for one in notions)
    )


def _is_number_of_workers(value: Any) -> bool:
    return rules.is_integer(value) and value != 0


def _is_number_of_resamples(value: Any) -> bool:
    return value is None or rules.is_integer(value, 20) or rules.is_integer(value, 0, 0)


def _are_sources(value: Any) -> bool:
    forms = ({"file", "reader"}, {"pack", "reader"})
    texts = rules.is_list_of(dict, value) and all(
        rules.is_list_of(str, [*one.values()]) for one in value
    )
    return texts and all(set(one) in forms for one in value)


@dataclass(frozen=True)
class Settings:
    """Everything that a run is told, as conf/config.yaml explains it."""

    problem: dict[str, Any] = option(rules.ANYTHING)
    estimator: dict[str, Any] = option(rules.ANYTHING)
    n: int | list[int] | None = option(
        Rule("positive integers are needed, or null for the problem's own", _are_sizes), Role.CELLS
    )
    reps: int | list[int] | None = option(
        Rule(
            "a positive number, or a list of indices from 0, or null, is needed", _are_replications
        ),
        Role.CELLS,
    )
    notion: str | list[str] | None = option(
        Rule(
            f"allowed are {', '.join(NOTIONS)}, all and main, one or a list, or null", _are_notions
        ),
        Role.CELLS,
    )
    estimand: str | list[str] | None = option(rules.ANYTHING, Role.DRAWING)
    seed: int = option(
        Rule(
            "an integer from 0 to 2^63 - 1 is needed",
            lambda value: rules.is_integer(value, 0, 2**63 - 1),
        ),
        Role.CELLS,
    )
    jobs: int = option(
        Rule(
            "a positive number of workers, or -1 for one per core, is needed", _is_number_of_workers
        ),
        Role.OPERATION,
    )
    engine: str = option(rules.one_of(*ENGINES), Role.OPERATION)
    address: str | None = option(rules.ANYTHING, Role.OPERATION)
    shard: int = option(rules.integer(0), Role.OPERATION)
    shards: int = option(rules.integer(1), Role.OPERATION)
    on_error: str = option(rules.one_of("record", "raise"), Role.OPERATION)
    cell_timeout: float | None = option(rules.positive_or_null("seconds"), Role.OPERATION)
    max_memory: float | None = option(rules.positive_or_null("megabytes"), Role.OPERATION)
    trust: list[str] = option(rules.TEXTS, Role.OPERATION)
    refresh: bool = option(rules.TRUTH_VALUE, Role.OPERATION)
    profile: bool = option(rules.TRUTH_VALUE, Role.OPERATION)
    bootstrap: int | None = option(
        Rule(
            "a number of resamples of at least 20, 0 for none, or null is needed",
            _is_number_of_resamples,
        ),
        Role.CELLS,
    )
    reliability: str = option(rules.one_of("overall", "classes", "none"), Role.DRAWING)
    sweep: dict[str, Any] = option(rules.MAPPING)
    out: str | None = option(rules.ANYTHING, Role.OPERATION)
    name: str | None = option(rules.FILE_NAME, Role.DRAWING)
    paper: str | None = option(rules.FILE_NAME)
    item: str | None = option(rules.FILE_NAME)
    title: str | None = option(rules.TEXT, Role.DRAWING)
    compare: list[str] | None = option(
        Rule(
            "a list of items of reported.csv is needed, as compare=[fig1]",
            lambda value: value is None or rules.is_list_of(str, value),
        )
    )
    same_draws_as_paper: bool = option(rules.TRUTH_VALUE)
    ranking: Ranking | None = option(rules.ANYTHING)
    arena: Arena | None = option(rules.ANYTHING)
    records_of: list[str] = option(
        Rule(
            "a list of ids of experiments is needed, as records_of=[smoke]",
            lambda value: rules.is_list_of(str, value),
        )
    )
    records_from: list[dict[str, str]] = option(
        Rule(
            "a list is needed, of {pack: NAME, reader: module.function} or {file: PATH, reader: module.function}",
            _are_sources,
        )
    )
    reasons: dict[str, str] = option(rules.MAPPING)
    labels: Labels = option(rules.MAPPING)
    figure: Figure = option(rules.MAPPING, Role.DRAWING)
    experiment: str | None = option(
        rules.ANYTHING, Role.OPERATION
    )  # says which one; no setting of it
    # no options, but known once the run is planned: (problem, n) whose rows are those of a file,
    # and among them those that are some of its rows
    files: list[tuple[str, int]] | tuple[()] = ()
    subsets: list[tuple[str, int]] | tuple[()] = ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """Check values of options by name and return them as one object.

        Options without a value have the default of conf/config.yaml, in `figure`, too.

        Raises
        ------
        BadInputError
            If a value is not allowed.
        """
        whole = {**GROUP_DEFAULTS, **defaults(), **values}
        rules.check_options(cls, whole)
        whole["figure"] = Figure.from_dict({**defaults()["figure"], **whole["figure"]})
        whole["labels"] = Labels.from_dict(whole["labels"])
        whole["ranking"] = Ranking.from_value(whole["ranking"])
        whole["arena"] = Arena.from_value(whole["arena"])
        settings = cls(**whole)
        settings._check_together()
        return settings

    def _check_together(self) -> None:
        """Raise BadInputError where one option does not go with another."""
        if self.shard >= self.shards:
            raise BadInputError(
                f"shard is {self.shard} of shards={self.shards}; shards are counted from 0."
            )
        check_address(self.engine, self.address)
        for name in ("cell_timeout", "max_memory"):
            if getattr(self, name) is not None and self.engine == "serial":
                raise BadInputError(
                    f"{name} is given with engine=serial, where nothing can stop a cell; use another engine."
                )
        for name in ("name", "paper", "item"):
            if (value := getattr(self, name)) in RESERVED:
                raise BadInputError(
                    f"{name} is {value!r}, the folder of the {value} themselves; choose another."
                )
        if self.item and not self.paper:
            raise BadInputError(
                f"item is {self.item!r}, but paper is not given; an item belongs to an experiment."
            )
        for estimand in (*rules.as_list(self.estimand), *rules.as_list(self.figure.estimand)):
            estimands.check_name(str(estimand))

    def to_dict(self) -> dict[str, Any]:
        """The options as plain dictionaries and lists, as a YAML file would have them."""
        values = {name: getattr(self, name) for name in OPTIONS}
        for name in ("labels", "figure", "ranking", "arena"):
            if values[name] is not None:
                nested = vars(values[name])
                values[name] = {
                    key: value
                    for key, value in nested.items()
                    if value is not None or key not in OMITTED_WHEN_NULL
                }
        return values

    def chosen(self, group: str) -> dict[str, Any]:
        """The problems or the estimators: what they are made from, by id."""
        return self.problem if group == "problem" else self.estimator


OPTIONS = rules.names_of(Settings, *Role)
