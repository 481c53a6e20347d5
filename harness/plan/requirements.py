"""Check a user's estimator, problem or calibrator before any cell is computed.

The checks read declared properties and the signatures of methods. No method is called. To check how
the object behaves, `calharness check` uses `harness.contract`.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from harness.common.user_code import is_ours
from harness.errors import BadInputError
from harness.estimators.application import takes_rng
from harness.estimators.base import EstimatorSpec
from harness.math import estimands
from harness.math.notions import NOTIONS, number
from harness.plan.components import Component
from harness.plan.targets import targets
from harness.problems.base import ProblemSpec

DETERMINISM = ("exact", "rounding", "statistical")
# {declared property: (test of its value, allowed values in words)}
Rules = dict[str, tuple[Callable[[Any], bool], str]]


def verify(group: str, part: Component) -> None:
    """Raise BadInputError if a component with user code does not meet the requirements.

    `group` is "problem" or "estimator". Components without user code are not checked.
    """
    foreign = [target for target in targets(part.config) if not is_ours(target)]
    if not foreign:
        return
    try:
        (estimator if group == "estimator" else problem)(part.object)
    except BadInputError as error:
        hint = f"`calharness check {foreign[0]}` explains the requirements"
        raise BadInputError(
            f"{group} {part.id!r} ({foreign[0]}): {str(error).rstrip('.')}; {hint}."
        ) from error


def estimator(value: Any) -> list[str]:
    """Check an estimator, and return the names of the properties that it declares.

    Raises
    ------
    BadInputError
        If a declared property has a wrong value, or if the estimator cannot be called as (p, y) or
        (p, y, rng).
    """
    if not callable(value):
        raise BadInputError(
            f"it is a {type(value).__name__}, which cannot be called as (p, y) or (p, y, rng)"
        )
    declared = _declared(value, ESTIMATOR)
    if getattr(value, "calibrator", None) is not None:
        calibrator(value.calibrator)
    how = takes_rng(value)
    named = [*EstimatorSpec.of(value).wants, *(["rng"] if how == "keyword" else [])]
    _check_call(value, 3 if how is True else 2, "(p, y) or (p, y, rng)", named=named)
    return declared


def problem(value: Any) -> list[str]:
    """Check a problem, and return the names of the properties that it declares.

    Raises
    ------
    BadInputError
        If a declared property has a wrong value, or if sample, truth, posterior or groups cannot be
        called with the arguments of the harness.
    """
    if not callable(getattr(value, "sample", None)):
        raise BadInputError(f"it is a {type(value).__name__} without a method sample(n, rng)")
    _check_call(value.sample, 2, "(n, rng)", "sample")
    if hasattr(value, "truth"):
        _check_call(value.truth, 2, "(estimand, notion)", "truth")
    if hasattr(value, "posterior"):
        _check_call(value.posterior, 1, "(p)", "posterior")
    if hasattr(value, "groups"):
        _check_call(value.groups, 2, "(n, rng)", "groups")
    declared = _declared(value, PROBLEM)
    spec = ProblemSpec.of(value)
    unknown = [name for name in spec.default_notions if name not in spec.notions]
    if unknown:
        raise BadInputError(
            f"default_notions contains {unknown[0]!r}, which is not among its notions "
            f"{', '.join(spec.notions)}"
        )
    return declared


def calibrator(value: Any) -> list[str]:
    """Check a calibrator, and return the names of the properties that it declares.

    Raises
    ------
    BadInputError
        If a declared property has a wrong value, or if there is no method fit(p, y, rng).
    """
    if not callable(getattr(value, "fit", None)):
        raise BadInputError(
            f"the calibrator is a {type(value).__name__} without a method fit(p, y, rng)"
        )
    _check_call(value.fit, 3, "(p, y, rng)", "fit")
    return _declared(value, CALIBRATOR)


def _check_call(
    function: Any, positional: int, how: str, name: str = "it", named: Iterable[str] = ()
) -> None:
    """Raise BadInputError if the signature of a function does not fit a call.

    Parameters
    ----------
    function : callable
        The function to check.
    positional : int
        Number of positional arguments of the call.
    how : str
        These arguments in words, such as "(p, y)".
    name : str
        Name of the function in messages.
    named : iterable of str
        Names of the keyword arguments of the call.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # without a signature, only the call itself can tell
        return
    try:
        signature.bind(*[None] * positional, **dict.fromkeys(named))
    except TypeError as error:
        by_name = f" with {', '.join(named)} by name" if named else ""
        raise BadInputError(
            f"{name} takes {signature}, but is called as {how}{by_name} ({error})"
        ) from error


def _declared(value: Any, rules: Rules) -> list[str]:
    """Check the properties that an object declares, and return their names."""
    declared = [name for name in rules if hasattr(value, name)]
    for name in declared:
        allows, words = rules[name]
        if not allows(getattr(value, name)):
            raise BadInputError(f"{name} is {repr(getattr(value, name))[:200]}; {words} is needed")
    return declared


def _names_from(allowed: Iterable[str]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, (tuple, list)) and len(value) > 0 and all(v in allowed for v in value)
    )


def _are_estimands(value: Any) -> bool:
    with contextlib.suppress(BadInputError):
        return isinstance(value, (tuple, list)) and all(
            isinstance(v, str) and estimands.check_name(v) for v in value
        )
    return False


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)


def _are_sizes(value: Any) -> bool:
    sizes = value if isinstance(value, (tuple, list)) else [value]
    return len(sizes) > 0 and all(map(_is_positive, sizes))


def _is_not_negative(value: Any) -> bool:
    with contextlib.suppress(TypeError, ValueError):
        return number(value) >= 0.0
    return False


def _or_none(allows: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or allows(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_NOTIONS = (_names_from(NOTIONS), f"a tuple of {', '.join(NOTIONS)}, such as ('binary',)")
_LIMIT = (_or_none(_is_positive), "a positive integer, or None for no limit,")
_COMMON: Rules = {
    "determinism": (DETERMINISM.__contains__, f"one of {', '.join(DETERMINISM)}"),
    "max_n": _LIMIT,
    "max_classes": _LIMIT,
    "null_bias": (_is_not_negative, "a number of at least 0"),
    "seconds": (_or_none(_is_not_negative), "a number of at least 0, or None,"),
    "unavailable": (_or_none(_is_text), "a text that says why, or None,"),
}
CALIBRATOR = _COMMON
ESTIMATOR: Rules = {
    "notions": _NOTIONS,
    "estimands": (
        _or_none(_are_estimands),
        "a tuple of names such as ('l1', 'kl') (`harness.math.estimands` has all)",
    ),
    "wants": (
        lambda value: value in ((), []) or _names_from(("notion", "problem", "groups"))(value),
        "a tuple of notion, problem, groups",
    ),
    "needs_posterior": (lambda value: isinstance(value, bool), "True or False"),
    "replication_rng": (_or_none(callable), "a method (rep), or None,"),
    **_COMMON,
}
PROBLEM: Rules = {
    "notions": _NOTIONS,
    "default_notions": _NOTIONS,
    "classes": (lambda value: _is_positive(value) and value >= 2, "an integer of at least 2"),
    "n_max": _LIMIT,
    "default_n": (_are_sizes, "a positive integer, or a tuple of them,"),
    "default_reps": (_is_positive, "a positive integer"),
    "sizes": (_or_none(_are_sizes), "a tuple of positive integers, or None,"),
    "stream": (_or_none(_is_text), "a name, or None,"),
    "unavailable": _COMMON["unavailable"],
}
