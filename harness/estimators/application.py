"""Application of an estimator to reduced data, and checks of the estimates that it returns."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import (
    Estimate,
    Estimator,
    EstimatorSpec,
    Wrapper,
    requestable_level,
)
from harness.math.notions import number

KINDS = ("point", "lower", "upper", "interval")
MOST_NUMBERS = 100_000  # in the arrays of all estimates of a cell


class WrongAnswerError(BadInputError):
    """Error for an estimator that returned something other than valid estimates."""


def apply(
    estimator: Estimator,
    p: NDArray[np.float64],
    y: NDArray[np.int64],
    notion: str,
    rng: Any,
    problem: Any = None,
    sample_weight: NDArray[np.float64] | None = None,
    groups: NDArray[Any] | None = None,
) -> dict[str, Estimate]:
    """Apply an estimator to reduced data, and return {estimand: Estimate}.

    Under the class-wise notion, an estimator of scalars is applied to each of the k classes, and
    the mean over the classes is returned. If the estimator has a `level`, it is applied with the
    level 1 - (1 - level) / k. Then the means of its bounds hold at `level` (Bonferroni).

    Parameters
    ----------
    estimator : Estimator
        Anything that can be called as (p, y), (p, y, rng) or (p, y, *, rng).
    p, y : ndarray
        Predictions and labels, validated and reduced by `harness.reduce(p, y, notion)`.
    notion : {"binary", "top_label", "classwise", "canonical"}
        The reduction that made p and y.
    rng : numpy.random.Generator
        The random stream of the estimator.
    problem : Problem, optional
        The problem of the data. It is passed to estimators that declare "problem" in `wants`.
    sample_weight : ndarray (n,), optional
        Weights of the samples, for an estimator with a keyword argument `sample_weight`.
    groups : ndarray (n,), optional
        Groups of the samples. They are passed to estimators that declare "groups" in `wants`.

    Returns
    -------
    dict of str to Estimate
        One estimate per estimand, with plain floats. If a function returns a bare number, the
        result is {"l1": Estimate(number)}.

    Raises
    ------
    WrongAnswerError
        If the estimator returns neither a number nor estimates, or too large arrays.
    UndefinedError
        If it returns bounds for single classes. The mean of such bounds is no bound.
    BadInputError
        If the problem has groups, and a wrapper hides them from the estimator that it wraps.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([0.25, 0.75]), np.array([1, 1])
    >>> apply(lambda p, y: abs(p.mean() - y.mean()), p, y, "binary", None)["l1"].value
    0.5
    """
    keywords = {"notion": notion, "problem": problem, "groups": groups}
    extra = {name: keywords[name] for name in EstimatorSpec.read(estimator, "wants")}
    if isinstance(estimator, Wrapper) and "groups" in estimator.inner.wants:
        if hasattr(problem, "groups"):
            raise BadInputError(
                f"estimator is a {type(estimator).__name__}, which does not pass the groups of the "
                "problem on; give the estimator that it wraps."
            )
    if sample_weight is not None:
        extra["sample_weight"] = sample_weight
    if notion != "classwise" or EstimatorSpec.read(estimator, "takes_classwise"):
        return _convert_result(_call(estimator, p, y, rng, extra))
    extra = extra | ({"notion": "binary"} if "notion" in extra else {})
    level = requestable_level(estimator)
    if level is not None:
        each = 1.0 - (1.0 - level) / p.shape[1]
        estimator = dataclasses.replace(estimator, level=each)  # type: ignore[type-var]
    per_class = [
        _convert_result(_call(estimator, p[:, j], y[:, j], rng, extra)) for j in range(p.shape[1])
    ]
    if any(e.kind != "point" for e in per_class[0].values()):
        raise UndefinedError(
            "the estimator returns a bound for each class, and the mean of bounds is no bound"
        )
    return {name: _mean([e[name] for e in per_class], level) for name in per_class[0]}


def _mean(estimates: list[Estimate], level: float | None) -> Estimate:
    """Return the mean over classes of point estimates, and of their bounds if all have them.

    Without a `level`, bounds are dropped. Diagnostics and arrays are dropped, too, because they
    describe single classes.
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
    """Call the estimator, passing rng by position, by keyword or not at all (`takes_rng`)."""
    passing = takes_rng(estimator)
    if passing == "keyword":
        return estimator(p, y, rng=rng, **extra)
    return estimator(p, y, rng, **extra) if passing else estimator(p, y, **extra)


def takes_rng(estimator: Any) -> bool | str:
    """Return how an estimator takes rng: True by position, "keyword" by keyword, False not at all.

    A user's function may be (p, y) or (p, y, bins=15), which take no rng.
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
    """Return the result of `takes_rng` by inspecting the signature of the estimator."""
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


def _convert_result(result: Any) -> dict[str, Estimate]:
    """Convert what an estimator returned to {estimand: Estimate}, or raise WrongAnswerError."""
    if not isinstance(result, dict):
        scalar = not isinstance(result, (list, tuple)) and np.ndim(result) == 0
        if result is None or not (isinstance(result, Estimate) or scalar):
            kind = "None" if result is None else f"a {type(result).__name__}"
            raise WrongAnswerError(
                f"the estimator returned {kind}; allowed are a float and {{estimand: Estimate}}."
            )
        result = {"l1": result}
    estimates = {
        str(k): _check_estimate(str(k), v if isinstance(v, Estimate) else Estimate(v))
        for k, v in result.items()
    }
    total = sum(np.size(a) for e in estimates.values() for a in (e.arrays or {}).values())
    if total > MOST_NUMBERS:
        raise WrongAnswerError(
            f"the estimator returned arrays with {total:,} numbers; at most {MOST_NUMBERS:,} may "
            "be returned for one sample."
        )
    return estimates


def _check_estimate(name: str, e: Estimate) -> Estimate:
    """Return an estimate with plain floats. Raise WrongAnswerError if its fields conflict."""
    try:
        low, high, level = (None if x is None else number(x) for x in (e.low, e.high, e.level))
        diagnostics = {
            str(k): float(v) if isinstance(v, (bool, np.bool_)) else number(v)
            for k, v in (e.diagnostics or {}).items()
        } or None
        value = number(e.value)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise WrongAnswerError(
            f"{name} is {str(e)[:300]}; value, low, high, level and diagnostics must be numbers."
        ) from error
    e = Estimate(value, low, high, level, e.kind, diagnostics, _check_arrays(name, e.arrays))
    if e.kind not in KINDS:
        raise WrongAnswerError(f"the kind of {name} is {e.kind!r}; allowed are {', '.join(KINDS)}.")
    low_missing = e.kind in ("lower", "interval") and low is None
    high_missing = e.kind in ("upper", "interval") and high is None
    if low_missing or high_missing:
        raise WrongAnswerError(
            f"{name} has kind {e.kind}, low {low} and high {high}; a lower bound needs low, an "
            "upper bound needs high, an interval needs both."
        )
    if e.kind == "upper" and not (e.value == high or math.isnan(e.value)):
        raise WrongAnswerError(
            f"{name} is an upper bound with value {e.value} and high {high}; both must be equal."
        )
    if low is not None and high is not None and low > high:
        raise WrongAnswerError(f"{name} has low {low} above high {high}; low must not exceed high.")
    return e


def _check_arrays(name: str, arrays: Any) -> dict[str, NDArray[np.float64]] | None:
    """Return copies of the arrays as doubles. Raise WrongAnswerError unless all are 1-D numbers.

    They are copied, because a record is written later, and the estimator may reuse its arrays.
    """
    if arrays is None:
        return None
    values = (
        {str(k): np.asarray(v) for k, v in arrays.items()} if isinstance(arrays, Mapping) else None
    )
    if values is None or any(a.ndim != 1 or a.dtype.kind not in "biuf" for a in values.values()):
        raise WrongAnswerError(
            f"the arrays of {name} are {' '.join(str(arrays).split())[:300]}; allowed is "
            "{name: 1-D array of numbers}."
        )
    return {k: a.astype(np.float64) for k, a in values.items()} or None
