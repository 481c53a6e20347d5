"""What an estimator is, what it declares, what it returns, and the one place where it meets a notion."""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Callable
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
        The estimate, in the unit of its estimand (nothing is multiplied by 100). Of an upper bound it equals `high`.
    low, high : float, optional
        Confidence bounds at `level`; None where there is none.
    level : float, optional
        Confidence level of `low` and `high`, between 0 and 1.
    kind : {"point", "lower", "upper", "interval"}
        "point": the value is an estimate; it may carry `low` and `high`, its own interval or one-sided bound. "lower" carries
        `low`, "upper" `high`. "interval" carries both and has no point: its value is a place between the ends, such as the
        middle, and has no RMSE that counts and no regret. A bound or interval is never averaged with points.
    diagnostics : dict of str to float, optional
        How the estimate was made: the bandwidth that was chosen, the rank of a matrix, the number of bins in use.

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
    """What an estimator returned is no estimate."""


class Estimator(Protocol):
    """Anything that can be called as (p, y, rng) and returns {estimand: Estimate}.

    p is (n,) with y (n,) in {0, 1} for the scalar notions, (n, k) with y (n,) in 0..k-1 for canonical: what
    `harness.math.notions.reduce` gives. rng is a numpy Generator, the estimator's own stream. A bare function (p, y) -> float is
    accepted as well; its value is taken as l1. What an estimator may declare beside being callable, and what holds where it
    declares nothing, is `EstimatorSpec`.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


@dataclass(frozen=True)
class EstimatorSpec:
    """What an estimator declares about itself; the values given here hold for an attribute that it leaves out.

    Parameters
    ----------
    notions : tuple of str
        The notions that it can judge.
    estimands : tuple of str, optional
        The names that it returns; None where it does not say.
    determinism : {"exact", "rounding", "statistical"}
        Whether the same input gives the same bits, the same value to 1e-9, or values that vary with rng.
    revision : int or tuple
        Raised when the estimator's numbers change; part of the key of every cell.
    max_n, max_classes : int, optional
        Cells beyond are skipped with this reason; None means no limit.
    null_bias : float
        Largest absolute mean estimate, on calibrated samples of 2,000, that the estimator declares as normal.
    wants : tuple of str
        What it is given by keyword beside (p, y, rng): "notion", "problem".
    needs_posterior : bool
        Whether it reads E[Y given p] from the problem; cells of problems that do not know it are skipped.
    seconds : float, optional
        Rough CPU seconds of a cell of n = 1,000, by which a run is planned until records tell.
    takes_classwise : bool
        Whether it is called once for the classwise notion, with p (n, k) and indicators y (n, k), and averages by itself.
    unavailable : str, optional
        Why it cannot run here (weights, a package, a GPU); its cells are skipped with this reason.
    level : float, optional
        The confidence level that can be asked of it: its dataclass field `level`.
    keeps_values_of : str, optional
        The field that holds another estimator whose values this one returns to the last bit, on the same random stream.
    replication_rng : callable, optional
        rep -> what is handed over as rng, in place of the harness's Generator (an author's integer seed).

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
        """All that the estimator declares."""
        return cls(
            **{field.name: cls.read(estimator, field.name) for field in dataclasses.fields(cls)}
        )

    @classmethod
    def read(cls, estimator: Estimator, name: str) -> Any:
        """One attribute of the estimator, or what holds without it."""
        return (
            _level_of(estimator)
            if name == "level"
            else getattr(estimator, name, getattr(cls, name))
        )

    def out_of_range(self, notion: str, n: int, classes: int) -> str | None:
        """Why the estimator does not take n samples of so many classes under a notion; None where it does."""
        if notion not in self.notions:
            return f"the estimator has no {notion} notion (it has {', '.join(self.notions)})"
        if self.max_n is not None and n > self.max_n:
            return f"n = {n} is above the estimator's limit of {self.max_n}"
        if self.max_classes is not None and notion == "canonical" and classes > self.max_classes:
            return f"{classes} classes are above the estimator's limit of {self.max_classes}"
        return None


class Wrapper:
    """Base of an estimator around another one, its field `estimator`: it can judge what that one can, where that one can run.

    A subclass overrides the properties in which it differs; `determinism`, `estimands` and `revision` are nearly always among
    them. `takes_classwise`, `wants` and `level` are of the wrapper alone, as it is the wrapper that is called.
    """

    estimator: Any

    @property
    def inner(self) -> EstimatorSpec:
        """What the wrapped estimator declares."""
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

    Classwise, an estimator of one probability is applied to every class, and the mean over the classes is returned. One with a
    `level` is asked for 1 - (1 - level) / k per class, so that the means of its bounds hold at `level` together (Bonferroni).

    Parameters
    ----------
    estimator : Estimator
        Anything callable as (p, y), (p, y, rng) or (p, y, *, rng), see `EstimatorSpec`.
    p, y : ndarray
        Predictions and labels, validated and reduced by `harness.reduce(p, y, notion)`.
    notion : {"binary", "top_label", "classwise", "canonical"}
        Which reduction p and y are.
    rng : numpy.random.Generator
        The estimator's own stream.
    problem : Problem, optional
        Handed to estimators that want it.

    Returns
    -------
    dict of str to Estimate
        By estimand, with plain floats. What is returned by a bare function that gives one number is {"l1": Estimate(number)}.

    Raises
    ------
    WrongAnswerError
        If the estimator returns what is no estimate.
    UndefinedError
        If it gives bounds of single classes, of which there is no mean.

    Examples
    --------
    >>> import numpy as np
    >>> apply(lambda p, y: abs(p.mean() - y.mean()), np.array([0.25, 0.75]), np.array([1, 1]), "binary", None)
    {'l1': Estimate(value=0.5, low=None, high=None, level=None, kind='point', diagnostics=None)}
    """
    given = {"notion": notion, "problem": problem}
    extra = {name: given[name] for name in EstimatorSpec.read(estimator, "wants")}
    if notion != "classwise" or EstimatorSpec.read(estimator, "takes_classwise"):
        return _normal(_call(estimator, p, y, rng, extra))
    extra = {name: "binary" if name == "notion" else value for name, value in extra.items()}
    level = _level_of(estimator)
    if level is not None:
        estimator = dataclasses.replace(estimator, level=1.0 - (1.0 - level) / p.shape[1])  # type: ignore[type-var]
    per_class = [_normal(_call(estimator, p[:, j], y[:, j], rng, extra)) for j in range(p.shape[1])]
    if any(e.kind != "point" for e in per_class[0].values()):
        raise UndefinedError(
            "a mean over classes of bounds is no bound; only point estimates are averaged classwise"
        )
    return {name: _mean([e[name] for e in per_class], level) for name in per_class[0]}


def _level_of(estimator: Any) -> float | None:
    """The confidence level that can be asked of the estimator: its field `level`, None without one."""
    fields = dataclasses.fields(estimator) if dataclasses.is_dataclass(estimator) else ()
    level = (
        getattr(estimator, "level", None)
        if any(f.name == "level" and f.init for f in fields)
        else None
    )
    return level if isinstance(level, float) and 0.0 < level < 1.0 else None


def _mean(estimates: list[Estimate], level: float | None) -> Estimate:
    """Mean of points, and of their bounds if they were asked for at a common level. Diagnostics are left out: they describe
    single
    classes."""

    def mean(name: str) -> float | None:
        values = [getattr(e, name) for e in estimates]
        return None if level is None or None in values else float(np.mean(values))

    low, high = mean("low"), mean("high")
    bounded = low is not None or high is not None
    return Estimate(
        float(np.mean([e.value for e in estimates])), low, high, level if bounded else None
    )


def _call(estimator: Estimator, p: ArrayLike, y: ArrayLike, rng: Any, extra: dict[str, Any]) -> Any:
    how = takes_rng(estimator)
    if how == "keyword":
        return estimator(p, y, rng=rng, **extra)
    return estimator(p, y, rng, **extra) if how else estimator(p, y, **extra)


def takes_rng(estimator: Any) -> bool | str:
    """Whether it is called with (p, y, rng), or with rng by "keyword". Somebody's own function may take (p, y) alone, or
    (p, y, bins=15)."""
    if isinstance(estimator, type) or not dataclasses.is_dataclass(estimator):
        return _takes_rng(estimator)
    kind = type(
        estimator
    )  # whose instances are called alike; a look at the signature takes longer than a cheap estimator
    if kind not in _called:
        _called[kind] = _takes_rng(estimator)
    return _called[kind]


_called: dict[type, bool | str] = {}


def _takes_rng(estimator: Any) -> bool | str:
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
    if isinstance(result, dict):
        pass
    elif (
        isinstance(result, Estimate)
        or not isinstance(result, (list, tuple))
        and np.ndim(result) == 0
        and result is not None
    ):
        result = {"l1": result}
    else:
        found = "None" if result is None else f"a {type(result).__name__}"
        raise WrongAnswerError(
            f"the estimator returned {found}; allowed are a float or {{estimand: Estimate}}."
        )
    return {
        str(k): _sound(str(k), v if isinstance(v, Estimate) else Estimate(v))
        for k, v in result.items()
    }


def _sound(name: str, e: Estimate) -> Estimate:
    """The estimate with plain floats; WrongAnswerError where kind, bounds and value do not fit together."""
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
    if (
        e.kind in ("lower", "interval")
        and low is None
        or e.kind in ("upper", "interval")
        and high is None
    ):
        raise WrongAnswerError(
            f"{name} is of kind {e.kind} but low = {low}, high = {high}; lower needs low, upper needs high."
        )
    if e.kind == "upper" and not (e.value == high or math.isnan(e.value)):
        raise WrongAnswerError(
            f"{name} is an upper bound of value {e.value} and high {high}; they must be equal."
        )
    if low is not None and high is not None and low > high:
        raise WrongAnswerError(f"{name} has low {low} above high {high}.")
    return e


def is_positive(value: Any) -> bool:
    """Whether it is a positive, finite number (True is none)."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    real: Any = value
    return bool(0 < real < math.inf)


def check_level(level: float) -> None:
    """Raise BadInputError unless it is a confidence level."""
    if not (isinstance(level, numbers.Real) and 0.0 < level < 1.0):
        raise BadInputError(
            f"level is {level!r}; a number between 0 and 1 is needed, such as 0.95."
        )


def is_finite(e: Estimate) -> bool:
    """Whether value and bounds, those that are there, are finite."""
    return all(x is None or math.isfinite(x) for x in (e.value, e.low, e.high))
