"""The interface of estimators: what they return, and the properties that they declare."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import BadInputError
from harness.math.notions import SCALAR_NOTIONS


@dataclass(frozen=True)
class Estimate:
    """The estimate of one estimand: a point, a bound or an interval.

    Parameters
    ----------
    value : float
        The estimate, in the unit of its estimand (not multiplied by 100). For an upper bound it
        equals `high`.
    low, high : float, optional
        Confidence bounds at `level`. None means that there is no such bound.
    level : float, optional
        Confidence level of `low` and `high`, between 0 and 1.
    kind : {"point", "lower", "upper", "interval"}
        "point": `value` is the estimate. `low` and `high` are optional.
        "lower": `low` is a lower bound.
        "upper": `high` is an upper bound.
        "interval": `low` and `high` are its ends, and `value` is some number between them. It is
        not meant as an estimate, so that it has no RMSE and no regret.
        Bounds and intervals are never averaged with points.
    diagnostics : dict of str to float, optional
        How the estimate was computed, for example the selected bandwidth, the rank of a matrix or
        the number of non-empty bins.
    arrays : dict of str to array_like (m,), optional
        Parts of the estimate that are more than a number, for example the bins of a reliability
        diagram, or the risk of every candidate. They are stored with the estimate; summaries ignore
        them. All arrays of a cell may have 100,000 numbers together.

    Examples
    --------
    >>> estimate = Estimate(0.031, low=0.02, high=0.05, level=0.95)
    >>> estimate.kind, float(estimate), f"{estimate:.2f}"
    ('point', 0.031, '0.03')
    """

    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    kind: str = "point"
    diagnostics: dict[str, float] | None = None
    # Arrays are not compared, because the equality of two arrays is no single truth value.
    arrays: Mapping[str, ArrayLike] | None = field(default=None, compare=False)

    def __float__(self) -> float:
        """Return the value."""
        return float(self.value)

    def __format__(self, spec: str) -> str:
        """Format the value, as in f"{estimate:.3f}". Without a format, return the repr."""
        return format(float(self), spec) if spec else str(self)


class Estimator(Protocol):
    """Anything that can be called as (p, y, rng) and returns {estimand: Estimate}.

    For the scalar notions p is (n,), with labels y (n,) in {0, 1}. For the canonical notion p is
    (n, k), with labels y (n,) from 0 to k - 1. `harness.math.notions.reduce` returns such p and y.
    rng is a numpy Generator, the random stream of the estimator.

    A plain function (p, y) -> float is an estimator, too. Its result is taken as l1. An estimator
    that can weight the samples has an argument `sample_weight=None` of weights (n,), as in
    scikit-learn. It is passed by keyword, and only if there are weights.
    `EstimatorSpec` lists the properties that an estimator may declare, and their defaults.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


@dataclass(frozen=True)
class EstimatorSpec:
    """Properties that an estimator declares as attributes, with a default for missing attributes.

    Parameters
    ----------
    notions : tuple of str
        The notions under which the estimator can be applied.
    estimands : tuple of str, optional
        The estimands that it returns. None means that they are unknown.
    determinism : {"exact", "rounding", "statistical"}
        How much two results for the same input may differ. "exact": not at all. "rounding": by
        1e-9. "statistical": they vary with rng.
    revision : int or tuple
        Number that is raised when the estimates change. It is part of the key of every cell.
    max_n, max_classes : int, optional
        Largest numbers of samples and of classes. Larger cells are skipped. None means no limit.
    null_bias : float
        Largest |mean estimate| that the contract test accepts on calibrated samples of size 2,000.
    wants : tuple of str
        Keyword arguments in addition to (p, y, rng): "notion", "problem" or "groups". Groups are
        those of the problem (`ProblemSpec.groups`), or None.
    needs_posterior : bool
        True if the estimator reads E[Y given p] from the problem. Cells of problems that do not
        know it are skipped.
    seconds : float, optional
        Rough CPU seconds of a cell with n = 1,000. It decides whether a run resamples
        the estimator without being asked for (`bootstrap`).
    takes_classwise : bool
        True if the estimator averages over classes by itself. It is then called once for the
        class-wise notion, with p (n, k) and indicators y (n, k).
    unavailable : str, optional
        Reason why the estimator cannot run here, such as a missing package. Its cells are skipped
        with this reason.
    level : float, optional
        The confidence level, if the estimator is a dataclass with a field `level`.
    keeps_values_of : str, optional
        Name of the field with a wrapped estimator whose values this estimator returns unchanged.
        They are the same bits, from the same random stream. None if there is no such field.
    replication_rng : callable, optional
        Function of the replication (rep) that returns the object passed as rng, for example the
        integer seed of a paper's authors. None passes a Generator of the harness.

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
        """Return the properties of an estimator."""
        return cls(
            **{field.name: cls.read(estimator, field.name) for field in dataclasses.fields(cls)}
        )

    @classmethod
    def read(cls, estimator: Estimator, name: str) -> Any:
        """Return one property of an estimator, or the default of the property."""
        if name == "level":
            return requestable_level(estimator)
        return getattr(estimator, name, getattr(cls, name))

    def out_of_range(self, notion: str, n: int, classes: int) -> str | None:
        """Return why the estimator cannot take a sample of n rows and `classes` classes.

        Return None if it can.
        """
        if notion not in self.notions:
            return f"the estimator has no {notion} notion (it has {', '.join(self.notions)})"
        if self.max_n is not None and n > self.max_n:
            return f"n = {n} is above the estimator's limit of {self.max_n}"
        if self.max_classes is not None and notion == "canonical" and classes > self.max_classes:
            return f"{classes} classes are above the estimator's limit of {self.max_classes}"
        return None


class Wrapper:
    """Base of an estimator that wraps another estimator. `estimator` is the wrapped one.

    The wrapper has the properties of the wrapped estimator, except for those that a subclass
    overrides; these are nearly always `determinism`, `estimands` and `revision`. The properties
    `takes_classwise`, `wants` and `level` are not taken over, because the harness calls the wrapper
    only.
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
    """Return the field `level` of an estimator that is a dataclass. Return None without one."""
    fields = dataclasses.fields(estimator) if dataclasses.is_dataclass(estimator) else ()
    if not any(f.name == "level" and f.init for f in fields):
        return None
    level = getattr(estimator, "level", None)
    return level if isinstance(level, float) and 0.0 < level < 1.0 else None


def is_positive(value: Any) -> bool:
    """Return True for a positive, finite number. The boolean True does not count as a number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    real: Any = value
    return bool(0 < real < math.inf)


def check_level(level: float) -> None:
    """Raise BadInputError unless `level` is a number between 0 and 1."""
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
    """Return a Generator from a Generator or an integer seed. Raise BadInputError for None.

    `purpose` completes the sentence "a numpy Generator, which ..." of the message.
    """
    if rng is None:
        raise BadInputError(f"rng is missing; give a numpy Generator, which {purpose}.")
    return np.random.default_rng(rng)


def posterior(problem: Any, p: np.ndarray) -> Any:
    """Return E[Y given p] of a problem. Raise BadInputError if the problem does not know it."""
    if not hasattr(problem, "posterior"):
        raise BadInputError(
            "problem is missing or does not know E[Y given p]; give a problem with a method "
            "posterior(p)."
        )
    return problem.posterior(p)


def is_finite(e: Estimate) -> bool:
    """Return True if the value of an estimate is finite, and so are its bounds if it has any."""
    return all(x is None or math.isfinite(x) for x in (e.value, e.low, e.high))
