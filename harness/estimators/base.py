"""What an estimator returns, and the one place where an estimator meets a notion."""

from __future__ import annotations

import dataclasses
import math
import numbers
from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.math.notions import number

KINDS = ("point", "lower", "upper", "interval")


@dataclass(frozen=True)
class Estimate:
    """A value, or a bound. kind: point | lower (carries low) | upper (carries high, value = high) | interval (both).
    level is the confidence level of low and high; a point may carry them too. diagnostics: named ingredients, numbers."""

    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    kind: str = "point"
    diagnostics: dict[str, float] | None = None


class WrongAnswerError(BadInputError):
    """What an estimator returned is no estimate."""


def property_of(estimator, name, default=None):
    """A declared property; strangers' estimators may leave any of them out."""
    return getattr(estimator, name, default)


def apply(estimator, p, y, notion, rng, problem=None) -> dict[str, Estimate]:
    """Apply the estimator to data that `notions.reduce` has validated and reduced; classwise, the mean over classes of the binary
    estimates, where an estimator with a `level` is asked for 1 - (1 - level) / k per class, so that the means of its low and
    high hold at `level` together (Bonferroni); one that declares `takes_classwise` is given all classes at once. A bare function
    may return a float, taken as l1."""
    given = {"notion": notion, "problem": problem}
    extra = {name: given[name] for name in property_of(estimator, "wants", ())}
    if notion != "classwise" or property_of(estimator, "takes_classwise", False):
        return _normal(_call(estimator, p, y, rng, extra))
    extra = {name: "binary" if name == "notion" else value for name, value in extra.items()}
    level = _level_of(estimator)
    if level is not None:
        estimator = dataclasses.replace(estimator, level=1.0 - (1.0 - level) / p.shape[1])
    per_class = [_normal(_call(estimator, p[:, j], y[:, j], rng, extra)) for j in range(p.shape[1])]
    if any(e.kind != "point" for e in per_class[0].values()):
        raise UndefinedError("a mean over classes of bounds is no bound; only point estimates are averaged classwise")
    return {name: _mean([e[name] for e in per_class], level) for name in per_class[0]}


def _level_of(estimator):
    """The confidence level that can be asked of the estimator: its field `level`, None without one."""
    fields = dataclasses.fields(estimator) if dataclasses.is_dataclass(estimator) else ()
    level = getattr(estimator, "level", None) if any(f.name == "level" and f.init for f in fields) else None
    return level if isinstance(level, float) and 0.0 < level < 1.0 else None


def _mean(estimates, level):
    """Mean of points, and of their bounds if they were asked for at a common level; diagnostics are of single classes, and left out."""

    def mean(name):
        values = [getattr(e, name) for e in estimates]
        return None if level is None or None in values else float(np.mean(values))

    low, high = mean("low"), mean("high")
    bounded = low is not None or high is not None
    return Estimate(float(np.mean([e.value for e in estimates])), low, high, level if bounded else None)


def _call(estimator, p, y, rng, extra):
    how = takes_rng(estimator)
    if how == "keyword":
        return estimator(p, y, rng=rng, **extra)
    return estimator(p, y, rng, **extra) if how else estimator(p, y, **extra)


def takes_rng(estimator) -> bool | str:
    """Whether it is called with (p, y, rng), or with rng by "keyword"; a stranger's function may take (p, y), or (p, y, bins=15),
    alone."""
    import inspect

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


def _normal(result):
    if isinstance(result, dict):
        pass
    elif isinstance(result, Estimate) or not isinstance(result, (list, tuple)) and np.ndim(result) == 0 and result is not None:
        result = {"l1": result}
    else:
        found = "None" if result is None else f"a {type(result).__name__}"
        raise WrongAnswerError(f"the estimator returned {found}; allowed are a float or {{estimand: Estimate}}.")
    return {str(k): _sound(str(k), v if isinstance(v, Estimate) else Estimate(v)) for k, v in result.items()}


def _sound(name, e):
    """The estimate with plain floats; WrongAnswerError where kind, bounds and value do not fit together."""
    try:
        low, high, level = (None if x is None else number(x) for x in (e.low, e.high, e.level))
        diagnostics = {
            str(k): float(v) if isinstance(v, (bool, np.bool_)) else number(v) for k, v in (e.diagnostics or {}).items()
        } or None
        e = Estimate(number(e.value), low, high, level, e.kind, diagnostics)
    except (TypeError, ValueError, AttributeError) as error:
        raise WrongAnswerError(f"{name} is {e}; value, low, high, level and diagnostics must be numbers.") from error
    if e.kind not in KINDS:
        raise WrongAnswerError(f"the kind of {name} is {e.kind!r}; allowed are {', '.join(KINDS)}.")
    if e.kind in ("lower", "interval") and low is None or e.kind in ("upper", "interval") and high is None:
        raise WrongAnswerError(f"{name} is of kind {e.kind} but low = {low}, high = {high}; lower needs low, upper needs high.")
    if e.kind == "upper" and not (e.value == high or math.isnan(e.value)):
        raise WrongAnswerError(f"{name} is an upper bound of value {e.value} and high {high}; they must be equal.")
    if low is not None and high is not None and low > high:
        raise WrongAnswerError(f"{name} has low {low} above high {high}.")
    return e


def is_positive(value) -> bool:
    """Whether it is a positive, finite number (True is none)."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < value < math.inf


def is_finite(e: Estimate) -> bool:
    """Whether value and bounds, those that are there, are finite."""
    return all(x is None or math.isfinite(x) for x in (e.value, e.low, e.high))
