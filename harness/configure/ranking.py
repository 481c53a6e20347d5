"""The option `ranking`: compare models by their estimated calibration errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from harness.configure import rules
from harness.configure.rules import Rule, option
from harness.errors import BadInputError
from harness.math import estimands


def levels(order: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """Return an order of models as tuples; the models of one tuple are tied.

    ['a', ['b', 'c']] becomes (('a',), ('b', 'c')): `a` is first, `b` and `c` share the second rank.
    """
    return tuple(tuple(level) if isinstance(level, (list, tuple)) else (level,) for level in order)


def _are_orders(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_order, value.values()))


def _is_order(order: Any) -> bool:
    if not isinstance(order, (list, tuple)) or len(order) < 2:
        return False
    models = [model for level in levels(order) for model in level]
    return all(isinstance(model, str) for model in models) and len(set(models)) == len(models)


def _is_reference(value: Any) -> bool:
    try:
        return value == "full" or estimands.has_truth(estimands.check_name(value))
    except (BadInputError, TypeError):
        return False


ORDERS = Rule(
    "give {NAME: [problem ids]} with at least two different ids in each list", _are_orders
)


@dataclass(frozen=True)
class Ranking:
    """Value of the option `ranking`. A model is a problem, named by its id.

    stream      name of a random stream, for models whose `stream` is not set; models with the
                same stream are judged on the same rows
    orders      {name of an order: [models]}, the model with the smallest error first; models in
                an inner list are tied
    reference   what the right order is computed from: `full` for estimates on all rows of the
                files, the name of an estimand for its true values, null if only `orders` count
    sets        {name of a set: [models]}; `reference` orders each set by itself; null for one set
                that contains all models
    """

    stream: str | None = option(rules.ANYTHING, default=None)
    orders: dict[str, list[Any]] | None = option(rules.or_null(ORDERS), default=None)
    reference: str | None = option(
        rules.or_null(Rule("give full, or an estimand with known truths", _is_reference)),
        default=None,
    )
    sets: dict[str, list[Any]] | None = option(rules.or_null(ORDERS), default=None)

    @classmethod
    def from_value(cls, value: Any) -> Ranking | None:
        """Return a checked value of the option as a `Ranking`. None stays None."""
        if value is None:
            return None
        ranking = rules.read_options(cls, "ranking", value)
        if not ranking.orders and not ranking.reference:
            raise BadInputError(
                "ranking has no right order to compare with; give ranking.orders or "
                "ranking.reference."
            )
        if ranking.sets and not ranking.reference:
            raise BadInputError(
                "ranking.sets is given, but nothing orders the models of a set; give "
                "ranking.reference."
            )
        return ranking

    def check_models(self, problems: Collection[str]) -> None:
        """Raise BadInputError if the run has under two models, or lacks a model of the ranking.

        `problems` are the ids of the run's problems.
        """
        if len(problems) < 2:
            raise BadInputError(
                f"the ranking has one model only ({', '.join(problems)}); give at least two "
                "problems."
            )
        for option_name, lists in (("sets", self.sets or {}), ("orders", self.orders or {})):
            for name, order in lists.items():
                models = [model for level in levels(order) for model in level]
                if absent := [model for model in models if model not in problems]:
                    raise BadInputError(
                        f"ranking.{option_name}.{name} is {order!r}, but the run has no problem "
                        f"{', '.join(absent)}; add it to problem=[...]."
                    )
