"""Settings of a run that ranks models by their estimated calibration errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from harness.configure import rules
from harness.configure.rules import Rule, option
from harness.errors import BadInputError
from harness.math import estimands


def levels(order: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """Return an order of models as levels: ['a', ['b', 'c']] -> (('a',), ('b', 'c'))."""
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
    "a mapping from names to lists of two or more different problem ids is needed", _are_orders
)


@dataclass(frozen=True)
class Ranking:
    """The option `ranking`.

    stream      name of the random stream that the models share, for models without one
    orders      {text: [problem ids, smallest error first]}; a list inside the list is one level
    reference   null; `full`: order all models by the estimator's value on all rows of their files;
                or an estimand: order all models by its truths
    sets        {text: [problem ids]}: the reference orders the models of each set separately;
                null for one set of all
    """

    stream: str | None = option(rules.ANYTHING, default=None)
    orders: dict[str, list[Any]] | None = option(rules.or_null(ORDERS), default=None)
    reference: str | None = option(
        rules.or_null(Rule("full or an estimand with truths is needed", _is_reference)),
        default=None,
    )
    sets: dict[str, list[Any]] | None = option(rules.or_null(ORDERS), default=None)

    @classmethod
    def from_value(cls, value: Any) -> Ranking | None:
        """Check a value of the option; null is None."""
        if value is None:
            return None
        ranking = rules.read_options(cls, "ranking", value)
        if not ranking.orders and not ranking.reference:
            raise BadInputError(
                "ranking has neither orders nor a reference; one of them must say what the right "
                "order is."
            )
        if ranking.sets and not ranking.reference:
            raise BadInputError(
                "ranking.sets is given without a reference, which orders the models of a set."
            )
        return ranking

    def check_models(self, problems: Collection[str]) -> None:
        """Raise BadInputError unless the run has two problems, and all that are named here."""
        if len(problems) < 2:
            raise BadInputError(
                f"the models of the ranking are {', '.join(problems)}; at least two are needed."
            )
        for option_name, lists in (("sets", self.sets or {}), ("orders", self.orders or {})):
            for name, order in lists.items():
                models = [model for level in levels(order) for model in level]
                if absent := [model for model in models if model not in problems]:
                    raise BadInputError(
                        f"ranking.{option_name}.{name} is {order!r}; {', '.join(absent)} not among "
                        "the problems of this run."
                    )
