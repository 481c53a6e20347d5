"""Settings of a run that ranks models by their estimated calibration errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import Any

from harness.errors import BadInputError
from harness.math import estimands


@dataclass(frozen=True)
class Ranking:
    """The option `ranking`.

    stream      name of the random stream that the models share, for those that have none yet
    orders      {text: [problem ids, smallest error first]}; a list inside the list is one level
    reference   null; `full`: all models by the estimator's own value on all rows of their files;
                or an estimand: all models by its truths
    sets        {text: [problem ids]}: the reference orders the models of each set by themselves;
                null for one set of all
    """

    stream: str | None = None
    orders: dict[str, list[Any]] | None = None
    reference: str | None = None
    sets: dict[str, list[Any]] | None = None

    @classmethod
    def from_value(cls, value: Any) -> Ranking | None:
        """Check a value of the option; null is None."""
        if value is None:
            return None
        keys = [field.name for field in fields(cls)]
        if not isinstance(value, dict) or set(value) - set(keys):
            raise BadInputError(
                f"ranking is {value!r}; a mapping with the keys {', '.join(keys)} is needed."
            )
        ranking = cls(**value)
        if not ranking.orders and not ranking.reference:
            raise BadInputError(
                "ranking has neither orders nor a reference; one of them must say what the right order is."
            )
        _check_reference(ranking.reference)
        _check_sets(ranking)
        _check_orders(ranking.orders or {})
        return ranking

    def check_models(self, problems: Collection[str]) -> None:
        """Raise BadInputError unless the run has two problems and all that are named here."""
        if len(problems) < 2:
            raise BadInputError(
                f"the models of the ranking are {', '.join(problems)}; at least two are needed."
            )
        for option, lists in (("sets", self.sets or {}), ("orders", self.orders or {})):
            for name, models in lists.items():
                absent = [
                    model for level in levels(models) for model in level if model not in problems
                ]
                if absent:
                    raise BadInputError(
                        f"ranking.{option}.{name} is {models!r}; {', '.join(absent)} not among the problems of this run."
                    )


def _check_reference(reference: Any) -> None:
    known = isinstance(reference, str) and (reference == "full" or _has_truths(reference))
    if reference is not None and not known:
        raise BadInputError(
            f"ranking.reference is {reference!r}; allowed are null, full, and an estimand whose truths problems know."
        )


def _has_truths(estimand: str) -> bool:
    try:
        return estimands.has_truth(estimands.check_name(estimand))
    except BadInputError:
        return False


def _check_sets(ranking: Ranking) -> None:
    sets = ranking.sets or {}
    if not isinstance(sets, dict) or not all(
        _is_order(one) and len({*levels(one)}) > 1 for one in sets.values()
    ):
        raise BadInputError(
            f"ranking.sets is {sets!r}; a mapping from names to lists of two problem ids or more is needed."
        )
    if sets and not ranking.reference:
        raise BadInputError(
            "ranking.sets is given without a reference, which is what orders the models of a set."
        )


def _check_orders(orders: Any) -> None:
    if not isinstance(orders, dict):
        raise BadInputError(
            f"ranking.orders is {orders!r}; a mapping from names to lists of problem ids is needed."
        )
    for name, order in orders.items():
        if not _is_order(order):
            raise BadInputError(
                f"ranking.orders.{name} is {order!r}; a list of problem ids, or of lists of them, is needed."
            )
        models = [model for level in levels(order) for model in level]
        if len(levels(order)) < 2 or len(set(models)) < len(models):
            raise BadInputError(
                f"ranking.orders.{name} is {order!r}; at least two different models are needed."
            )


def _is_order(order: Any) -> bool:
    if not isinstance(order, (list, tuple)):
        return False
    names = [
        name for level in order for name in (level if isinstance(level, (list, tuple)) else [level])
    ]
    return bool(names) and all(isinstance(name, str) for name in names)


def levels(order: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """['a', ['b', 'c']] -> (('a',), ('b', 'c'))."""
    return tuple((level,) if isinstance(level, str) else tuple(level) for level in order)
