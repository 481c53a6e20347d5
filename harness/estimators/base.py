"""Estimators: their interface, properties, return values, and their application to a notion."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError, UndefinedError
from harness.math.notions import SCALAR_NOTIONS, number

KINDS = ("point", "lower", "upper", "interval")


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


class WrongAnswerError(BadInputError):
    """The return value of an estimator is no estimate."""


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
        True if it is called once for the classwise notion, with p (n, k) and indicators y (n, k),
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
            return _requestable_level(estimator)
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


def apply(
    estimator: Estimator,
    p: NDArray[np.float64],
    y: NDArray[np.int64],
    notion: str,
    rng: Any,
    problem: Any = None,
) -> dict[str, Estimate]:
    """Apply an estimator to reduced data.

    Classwise, an estimator of one probability is applied to every class, and the mean over the
    classes is returned. If it has a `level`, each class gets 1 - (1 - level) / k, so that the means
    of its bounds hold at `level` together (Bonferroni).

    Parameters
    ----------
    estimator : Estimator
        Anything callable as (p, y), (p, y, rng) or (p, y, *, rng), see `EstimatorSpec`.
    p, y : ndarray
        Predictions and labels, validated and reduced by `harness.reduce(p, y, notion)`.
    notion : {"binary", "top_label", "classwise", "canonical"}
        The reduction that made p and y.
    rng : numpy.random.Generator
        The estimator's own stream.
    problem : Problem, optional
        Passed to estimators that want it.

    Returns
    -------
    dict of str to Estimate
        By estimand, with plain floats. The number returned by a bare function becomes {"l1":
        Estimate(number)}.

    Raises
    ------
    WrongAnswerError
        If the estimator returns something else.
    UndefinedError
        If it returns bounds of single classes, which have no mean.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([0.25, 0.75]), np.array([1, 1])
    >>> apply(lambda p, y: abs(p.mean() - y.mean()), p, y, "binary", None)["l1"].value
    0.5
    """
    keywords = {"notion": notion, "problem": problem}
    extra = {name: keywords[name] for name in EstimatorSpec.read(estimator, "wants")}
    if notion != "classwise" or EstimatorSpec.read(estimator, "takes_classwise"):
        return _normal(_call(estimator, p, y, rng, extra))
    extra = {name: "binary" if name == "notion" else value for name, value in extra.items()}
    level = _requestable_level(estimator)
    if level is not None:
        each = 1.0 - (1.0 - level) / p.shape[1]
        estimator = dataclasses.replace(estimator, level=each)  # type: ignore[type-var]
    per_class = [_normal(_call(estimator, p[:, j], y[:, j], rng, extra)) for j in range(p.shape[1])]
    if any(e.kind != "point" for e in per_class[0].values()):
        raise UndefinedError(
            "a mean over classes of bounds is no bound; only point estimates are averaged classwise"
        )
    return {name: _mean([e[name] for e in per_class], level) for name in per_class[0]}


def _requestable_level(estimator: Any) -> float | None:
    """Return the dataclass field `level` of an estimator, None if it has none."""
    fields = dataclasses.fields(estimator) if dataclasses.is_dataclass(estimator) else ()
    if not any(f.name == "level" and f.init for f in fields):
        return None
    level = getattr(estimator, "level", None)
    return level if isinstance(level, float) and 0.0 < level < 1.0 else None


def _mean(estimates: list[Estimate], level: float | None) -> Estimate:
    """Return the mean of points, and of their bounds if these hold at a common level.

    Diagnostics are dropped: they describe single classes.
    """

    def mean(name: str) -> float | None:
        values = [getattr(e, name) for e in estimates]
        return None if level is None or None in values else float(np.mean(values))

    low, high = mean("low"), mean("high")
    bounded = low is not None or high is not None
    return Estimate(
        float(np.mean([e.value for e in estimates])), low, high, level if bounded else None
    )


def _call(estimator: Estimator, p: ArrayLike, y: ArrayLike, rng: Any, extra: dict[str, Any]) -> Any:
    """Call the estimator with rng in the way that it accepts it."""
    passing = takes_rng(estimator)
    if passing == "keyword":
        return estimator(p, y, rng=rng, **extra)
    return estimator(p, y, rng, **extra) if passing else estimator(p, y, **extra)


def takes_rng(estimator: Any) -> bool | str:
    """Return True if the estimator takes (p, y, rng), "keyword" if (p, y, *, rng), else False.

    A user's function may take (p, y) alone, or (p, y, bins=15).
    """
    if isinstance(estimator, type) or not dataclasses.is_dataclass(estimator):
        return _takes_rng(estimator)
    # Cached by class: inspecting a signature takes longer (30 us) than a cheap estimator.
    kind = type(estimator)
    if kind not in _rng_by_class:
        _rng_by_class[kind] = _takes_rng(estimator)
    return _rng_by_class[kind]


_rng_by_class: dict[type, bool | str] = {}


def _takes_rng(estimator: Any) -> bool | str:
    """Return the answer of `takes_rng` from the signature."""
    try:
        parameters = list(inspect.signature(estimator).parameters.values())
    except (TypeError, ValueError):
        return False
    if any(v.kind == v.VAR_POSITIONAL for v in parameters):
        return True
    if any(v.name == "rng" and v.kind == v.KEYWORD_ONLY for v in parameters):
        return "keyword"
    third = [v for v in parameters if v.kind in (v.POSITIONAL_ONLY, v.POSITIONAL_OR_KEYWORD)][2:3]
    return any(v.name == "rng" or v.default is v.empty for v in third)


def _normal(result: Any) -> dict[str, Estimate]:
    """Return the result of an estimator as {estimand: Estimate}; WrongAnswerError if impossible."""
    if not isinstance(result, dict):
        scalar = not isinstance(result, (list, tuple)) and np.ndim(result) == 0
        if result is None or not (isinstance(result, Estimate) or scalar):
            kind = "None" if result is None else f"a {type(result).__name__}"
            raise WrongAnswerError(
                f"the estimator returned {kind}; allowed are a float or {{estimand: Estimate}}."
            )
        result = {"l1": result}
    return {
        str(k): _sound(str(k), v if isinstance(v, Estimate) else Estimate(v))
        for k, v in result.items()
    }


def _sound(name: str, e: Estimate) -> Estimate:
    """Return the estimate with plain floats; WrongAnswerError if its parts conflict."""
    try:
        low, high, level = (None if x is None else number(x) for x in (e.low, e.high, e.level))
        diagnostics = {
            str(k): float(v) if isinstance(v, (bool, np.bool_)) else number(v)
            for k, v in (e.diagnostics or {}).items()
        } or None
        e = Estimate(number(e.value), low, high, level, e.kind, diagnostics)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise WrongAnswerError(
            f"{name} is {str(e)[:300]}; value, low, high, level and diagnostics must be numbers."
        ) from error
    if e.kind not in KINDS:
        raise WrongAnswerError(f"the kind of {name} is {e.kind!r}; allowed are {', '.join(KINDS)}.")
    low_missing = e.kind in ("lower", "interval") and low is None
    high_missing = e.kind in ("upper", "interval") and high is None
    if low_missing or high_missing:
        raise WrongAnswerError(
            f"{name} is of kind {e.kind} but low = {low}, high = {high}; "
            "lower needs low, upper needs high."
        )
    if e.kind == "upper" and not (e.value == high or math.isnan(e.value)):
        raise WrongAnswerError(
            f"{name} is an upper bound of value {e.value} and high {high}; they must be equal."
        )
    if low is not None and high is not None and low > high:
        raise WrongAnswerError(f"{name} has low {low} above high {high}.")
    return e


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
