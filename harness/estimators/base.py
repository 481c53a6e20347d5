"""Estimators: their interface, properties, return values, and their application to a notion."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harness.errors import BadInputError
from harness.math.notions import SCALAR_NOTIONS


@dataclass(frozen=True)
class Estimate:
    """A value, or a bound.

    Parameters
    ----------
    value : float
        The estimate, in the unit of its estimand (nothing is multiplied by 100). Of an upper bound
        it equals `high`.
    low, high : float, optional
        Confidence bounds at `level`; None where there is none.
    level : float, optional
        Confidence level of `low` and `high`, between 0 and 1.
    kind : {"point", "lower", "upper", "interval"}
        "point": the value is an estimate; it may carry `low` and `high`, its own interval or
        one-sided bound. "lower" carries `low`, "upper" `high`. "interval" carries both and has no
        point: its value is a place between the ends, such as the middle, and has no meaningful RMSE
        and no regret. A bound or interval is never averaged with points.
    diagnostics : dict of str to float, optional
        How the estimate was made: the selected bandwidth, the rank of a matrix, the number of
        non-empty bins.

    Examples
    --------
    >>> Estimate(0.031, low=0.02, high=0.05, level=0.95).kind
    'point'
    """

    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    kind: str = "point"
    diagnostics: dict[str, float] | None = None


class Estimator(Protocol):
    """Anything that can be called as (p, y, rng) and returns {estimand: Estimate}.

    p is (n,) with y (n,) in {0, 1} for the scalar notions, (n, k) with y (n,) in 0..k-1 for
    canonical, as returned by `harness.math.notions.reduce`. rng is a numpy Generator, the
    estimator's own stream. A bare function (p, y) -> float is accepted as well; its value is taken
    as l1. `EstimatorSpec` lists the properties that an estimator may declare, and their defaults.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


@dataclass(frozen=True)
class EstimatorSpec:
    """Properties that an estimator declares about itself; the defaults replace missing attributes.

    Parameters
    ----------
    notions : tuple of str
        The notions that it can judge.
    estimands : tuple of str, optional
        The names that it returns; None if unknown.
    determinism : {"exact", "rounding", "statistical"}
        The same input gives the same bits, the same value to 1e-9, or values that vary with rng.
    revision : int or tuple
        Raised when the estimator's numbers change; part of the key of every cell.
    max_n, max_classes : int, optional
        Cells above the limit are skipped with this reason; None means no limit.
    null_bias : float
        Largest absolute mean estimate, on calibrated samples of 2,000, that the estimator declares
        as normal.
    wants : tuple of str
        Keyword arguments it takes in addition to (p, y, rng): "notion", "problem".
    needs_posterior : bool
        True if it reads E[Y given p] from the problem; cells of problems that do not know it are
        skipped.
    seconds : float, optional
        Rough CPU seconds of a cell of n = 1,000, used to plan a run until there are records.
    takes_classwise : bool
        True if it is called once for the class-wise notion, with p (n, k) and indicators y (n, k),
        and averages by itself.
    unavailable : str, optional
        Reason why it cannot run here (weights, a package, a GPU); its cells are skipped with this
        reason.
    level : float, optional
        The confidence level that can be requested: its dataclass field `level`.
    keeps_values_of : str, optional
        The field that holds another estimator whose values this one returns to the last bit, on the
        same random stream.
    replication_rng : callable, optional
        rep -> the object passed as rng, instead of the harness's Generator (an author's integer
        seed).

    Examples
    --------
    >>> def biggest_gap(p, y):
    ...     return abs(p - y).max()
    >>> EstimatorSpec.of(biggest_gap).notions
    ('binary', 'top_label', 'classwise')
    """

    notions: tuple[str, ...] = SCALAR_NOTIONS
    estimands: tuple[str, ...] | None = None
    determinism: str = "statistical"
    revision: Any = 0
    max_n: int | None = None
    max_classes: int | None = None
    null_bias: float = 0.1
    wants: tuple[str, ...] = ()
    needs_posterior: bool = False
    seconds: float | None = None
    takes_classwise: bool = False
    unavailable: str | None = None
    level: float | None = None
    keeps_values_of: str | None = None
    replication_rng: Callable[[int], Any] | None = None

    @classmethod
    def of(cls, estimator: Estimator) -> EstimatorSpec:
        """Return all properties of the estimator."""
        return cls(
            **{field.name: cls.read(estimator, field.name) for field in dataclasses.fields(cls)}
        )

    @classmethod
    def read(cls, estimator: Estimator, name: str) -> Any:
        """Return one property of the estimator, or its default."""
        if name == "level":
            return requestable_level(estimator)
        return getattr(estimator, name, getattr(cls, name))

    def out_of_range(self, notion: str, n: int, classes: int) -> str | None:
        """Return why the estimator cannot take such a sample, None if it can."""
        if notion not in self.notions:
            return f"the estimator has no {notion} notion (it has {', '.join(self.notions)})"
        if self.max_n is not None and n > self.max_n:
            return f"n = {n} is above the estimator's limit of {self.max_n}"
        if self.max_classes is not None and notion == "canonical" and classes > self.max_classes:
            return f"{classes} classes are above the estimator's limit of {self.max_classes}"
        return None


class Wrapper:
    """Base of an estimator around another one, its field `estimator`, with the same limits.

    A subclass overrides the properties in which it differs; `determinism`, `estimands` and
    `revision` are nearly always among them. `takes_classwise`, `wants` and `level` belong to the
    wrapper alone, because only the wrapper is called.
    """

    estimator: Any

    @property
    def inner(self) -> EstimatorSpec:
        """Properties of the wrapped estimator."""
        return EstimatorSpec.of(self.estimator)

    @property
    def notions(self) -> tuple[str, ...]:
        return self.inner.notions

    @property
    def estimands(self) -> tuple[str, ...] | None:
        return self.inner.estimands

    @property
    def determinism(self) -> str:
        return self.inner.determinism

    @property
    def max_n(self) -> int | None:
        return self.inner.max_n

    @property
    def max_classes(self) -> int | None:
        return self.inner.max_classes

    @property
    def null_bias(self) -> float:
        return self.inner.null_bias

    @property
    def needs_posterior(self) -> bool:
        return self.inner.needs_posterior

    @property
    def seconds(self) -> float | None:
        return self.inner.seconds

    @property
    def unavailable(self) -> str | None:
        return self.inner.unavailable

    @property
    def replication_rng(self) -> Callable[[int], Any] | None:
        return self.inner.replication_rng


def requestable_level(estimator: Any) -> float | None:
    """Return the dataclass field `level` of an estimator, None if it has none."""
    fields = dataclasses.fields(estimator) if dataclasses.is_dataclass(estimator) else ()
    if not any(f.name == "level" and f.init for f in fields):
        return None
    level = getattr(estimator, "level", None)
    return level if isinstance(level, float) and 0.0 < level < 1.0 else None


def is_positive(value: Any) -> bool:
    """Return True for a positive, finite number other than True."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    real: Any = value
    return bool(0 < real < math.inf)


def check_level(level: float) -> None:
    """Raise BadInputError unless `level` is a confidence level."""
    if not (isinstance(level, numbers.Real) and 0.0 < level < 1.0):
        raise BadInputError(
            f"level is {level!r}; a number between 0 and 1 is needed, such as 0.95."
        )


def check_choice(name: str, value: Any, allowed: Collection[str]) -> None:
    """Raise BadInputError unless the value is one of `allowed`."""
    if value not in tuple(allowed):
        raise BadInputError(f"{name} is {value!r}; allowed are {', '.join(allowed)}.")


def check_integer(name: str, value: Any, least: int = 1) -> None:
    """Raise BadInputError unless the value is a whole number of at least `least`."""
    if not (is_positive(value) and int(value) == value and value >= least):
        raise BadInputError(f"{name} is {value!r}; an integer of at least {least} is needed.")


def check_callable(estimator: object) -> None:
    """Raise BadInputError unless the estimator can be called."""
    if not callable(estimator):
        raise BadInputError(
            f"estimator is a {type(estimator).__name__}; a callable (p, y) is needed."
        )


def generator(rng: Any, purpose: str = "decides the folds") -> np.random.Generator:
    """Return rng, or a Generator of an integer seed; BadInputError if it is None."""
    if rng is None:
        raise BadInputError(f"rng is missing; give a numpy Generator, which {purpose}.")
    return np.random.default_rng(rng)


def posterior(problem: Any, p: np.ndarray) -> Any:
    """Return E[Y given p] of a problem; BadInputError if the problem does not know it."""
    if not hasattr(problem, "posterior"):
        raise BadInputError(
            "problem is missing or has no known posterior; give problem= with a posterior(p)."
        )
    return problem.posterior(p)


def is_finite(e: Estimate) -> bool:
    """Return True if the value and the bounds that exist are finite."""
    return all(x is None or math.isfinite(x) for x in (e.value, e.low, e.high))
