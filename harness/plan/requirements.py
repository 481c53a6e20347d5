"""Requirements of a user's estimator, problem or calibrator, checked before anything is computed. `calharness check` examines
at length what it does.

The declared properties and the ways in which it is called are looked at; then it is tried once, on 16 samples: whether what it
returns is of the kind that is needed. What it raises there is no breach, but a failed cell of the run.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import os
import select
import signal
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from harness.common.escaping import message_of
from harness.common.user_code import is_ours
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec, WrongAnswerError, apply, takes_rng
from harness.math import estimands
from harness.math.notions import NOTIONS, number, reduce
from harness.plan.components import Component, strangers_sources, targets
from harness.problems import Beta, Dirichlet
from harness.problems.base import ProblemSpec, truth_of
from harness.problems.maps import LogitAffine, Power

DETERMINISM = ("exact", "rounding", "statistical")
SAMPLES = 16
SECONDS = 1.0  # what a trial may take
Rules = dict[
    str, tuple[Callable[[Any], bool], str]
]  # of a declared property: what it must be, as a test and in words
_tried: set[tuple[str, ...]] = set()


def verify(group: str, made: Component) -> None:
    """Raise BadInputError if a problem or estimator in which there is a stranger's part cannot be what it is used as."""
    foreign = [target for target in targets(made.config) if not is_ours(target)]
    if not foreign:
        return
    try:
        known = (group, *foreign, *strangers_sources(made.config))
        (estimator if group == "estimator" else problem)(made.object, known not in _tried)
        _tried.add(known)
    except BadInputError as error:
        hint = f"`calharness check {foreign[0]}` tells more"
        raise BadInputError(
            f"{group} {made.id!r} ({foreign[0]}): {str(error).rstrip('.')}; {hint}."
        ) from error


def estimator(made: Any, trial: bool = False) -> list[str]:
    """The names of the properties that an estimator declares. Raises BadInputError if one is wrong, if it cannot be called, or,
    with `trial`, if it returns what is no estimate."""
    if not callable(made):
        raise BadInputError(
            f"it is a {type(made).__name__}, which cannot be called as (p, y) or (p, y, rng)"
        )
    declared = _declared(made, ESTIMATOR)
    inner = getattr(made, "calibrator", None)
    if inner is not None:
        calibrator(inner)
    spec = EstimatorSpec.of(made)
    extra = dict.fromkeys(spec.wants)
    how = takes_rng(made)
    positional = (None, None, None) if how is True else (None, None)
    _callable_with(
        made,
        positional,
        {**extra, **({"rng": None} if how == "keyword" else {})},
        "(p, y) or (p, y, rng)",
    )
    if trial and spec.unavailable is None:
        _tell(lambda: _estimates(made))
    return declared


def problem(made: Any, trial: bool = False) -> list[str]:
    """The names of the properties that a problem declares. Raises BadInputError if one is wrong, if it cannot be drawn from, or,
    with `trial`, if its sample or a truth is not what is needed."""
    if not callable(getattr(made, "sample", None)):
        raise BadInputError(f"it is a {type(made).__name__} without a method sample(n, rng)")
    _callable_with(made.sample, (None, None), {}, "(n, rng)", "sample")
    if hasattr(made, "truth"):
        _callable_with(made.truth, (None, None), {}, "(estimand, notion)", "truth")
    if hasattr(made, "posterior"):
        _callable_with(made.posterior, (None,), {}, "(p)", "posterior")
    declared = _declared(made, PROBLEM)
    spec = ProblemSpec.of(made)
    others = [name for name in spec.default_notions if name not in spec.notions]
    if others:
        raise BadInputError(
            f"default_notions holds {others[0]!r}, which is none of its notions {', '.join(spec.notions)}"
        )
    if trial and spec.unavailable is None:
        _tell(lambda: _draws(made))
    return declared


def calibrator(made: Any) -> list[str]:
    """The names of the properties that a calibrator declares. Raises BadInputError if one is wrong, or it cannot be fitted."""
    if not callable(getattr(made, "fit", None)):
        raise BadInputError(
            f"the calibrator is a {type(made).__name__} without a method fit(p, y, rng)"
        )
    _callable_with(made.fit, (None, None, None), {}, "(p, y, rng)", "fit")
    return _declared(made, CALIBRATOR)


def _callable_with(
    call: Any, positional: tuple[Any, ...], named: dict[str, Any], how: str, name: str = "it"
) -> None:
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):  # without one its own call decides
        return
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        also = f" with {', '.join(named)} by name" if named else ""
        raise BadInputError(
            f"{name} takes {signature}, but is called as {how}{also} ({error})"
        ) from error


def _names_of(allowed: Iterable[str]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, (tuple, list)) and len(value) > 0 and all(v in allowed for v in value)
    )


def _estimands(value: Any) -> bool:
    with contextlib.suppress(BadInputError):
        return isinstance(value, (tuple, list)) and all(
            isinstance(v, str) and estimands.check_name(v) for v in value
        )
    return False


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)


def _sizes(value: Any) -> bool:
    return (
        _whole(value)
        or isinstance(value, (tuple, list))
        and len(value) > 0
        and all(map(_whole, value))
    )


def _number(low: float) -> Callable[[Any], bool]:
    def keeps(value: Any) -> bool:
        with contextlib.suppress(TypeError, ValueError):
            return number(value) >= low
        return False

    return keeps


def _or_none(keeps: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or keeps(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


_NOTIONS = (_names_of(NOTIONS), f"a tuple of {', '.join(NOTIONS)}, such as ('binary',)")
_LIMIT = (_or_none(_whole), "a positive integer, or None for no limit,")
_COMMON: Rules = {
    "determinism": (DETERMINISM.__contains__, f"one of {', '.join(DETERMINISM)}"),
    "max_n": _LIMIT,
    "max_classes": _LIMIT,
    "null_bias": (_number(0.0), "a number of at least 0"),
    "seconds": (_or_none(_number(0.0)), "a number of at least 0, or None,"),
    "unavailable": (_or_none(_text), "a text that says why, or None,"),
}
CALIBRATOR = _COMMON
ESTIMATOR: Rules = {
    "notions": _NOTIONS,
    "estimands": (
        _or_none(_estimands),
        "a tuple of names such as ('l1', 'kl') (`harness.math.estimands` has all)",
    ),
    "wants": (
        lambda value: value in ((), []) or _names_of(("notion", "problem"))(value),
        "a tuple of notion, problem",
    ),
    "needs_posterior": (_flag, "True or False"),
    "replication_rng": (_or_none(callable), "a method (rep), or None,"),
    **_COMMON,
}
PROBLEM: Rules = {
    "notions": _NOTIONS,
    "default_notions": _NOTIONS,
    "classes": (lambda value: _whole(value) and value >= 2, "an integer of at least 2"),
    "n_max": _LIMIT,
    "default_n": (_sizes, "a positive integer, or a tuple of them,"),
    "default_reps": (_whole, "a positive integer"),
    "sizes": (_or_none(_sizes), "a tuple of positive integers, or None,"),
    "stream": (_or_none(_text), "a name, or None,"),
    "unavailable": _COMMON["unavailable"],
}


def _declared(made: Any, rules: Rules) -> list[str]:
    found = {name: getattr(made, name) for name in rules if hasattr(made, name)}
    for name, value in found.items():
        keeps, allowed = rules[name]
        if not keeps(value):
            raise BadInputError(f"{name} is {repr(value)[:200]}; {allowed} is needed")
    return list(found)


def _estimates(made: Any) -> None:
    """Raise BadInputError if what the estimator returns is no estimate, under one of its notions."""
    spec = EstimatorSpec.of(made)
    n = min(SAMPLES, spec.max_n or SAMPLES)
    for notion in [name for name in NOTIONS if name in spec.notions]:
        classes = max(2, min(3, spec.max_classes or 3))
        own: Any = (
            Beta(map=LogitAffine(0.4, 0.3))
            if notion == "binary"
            else Dirichlet(classes, map=Power(0.3))
        )
        p, y = own.sample(n, _rng())
        p, y = reduce(p, y, notion)
        for array in (p, y):
            array.flags.writeable = False
        try:
            found = apply(
                made, p, y, notion, spec.replication_rng(0) if spec.replication_rng else _rng(), own
            )
        except WrongAnswerError:
            raise
        except (Exception, SystemExit):  # a failed cell of the run
            continue
        for name in found:
            estimands.check_name(name, notion)


def _draws(made: Any) -> None:
    """Raise BadInputError if the sample is none, or a truth that the problem knows is no number."""
    spec = ProblemSpec.of(made)
    n = min([SAMPLES, *filter(None, [spec.n_max])])
    try:
        drawn = made.sample(
            min(spec.sizes) if spec.sizes else n,
            spec.replication_rng(0) if spec.replication_rng else _rng(),
        )
    except (Exception, SystemExit):  # a failed cell of the run
        return
    sample(drawn, spec.notions)
    for notion in spec.notions:
        for name in estimands.names(notion):
            truth_of(made, name, notion)


def sample(drawn: Any, notions: Iterable[str]) -> Any:
    """(p, y) of what a problem's sample returned. Raises BadInputError if these are no predictions and labels under one of the
    notions."""
    if not isinstance(drawn, (tuple, list)) or len(drawn) != 2:
        found = (
            f"{len(drawn)} things"
            if isinstance(drawn, (tuple, list))
            else f"a {type(drawn).__name__}"
        )
        raise BadInputError(f"sample returned {found}; a pair (p, y) is needed")
    for notion in notions:
        try:
            reduce(drawn[0], drawn[1], notion)
        except BadInputError as error:
            raise BadInputError(f"sample under the {notion} notion: {error}") from error
    return drawn


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _tell(trial: Callable[[], None]) -> None:
    """Raise the BadInputError that trial() raises. It is called in a copy of this process, as the code of a stranger may crash,
    hang or print. Where it does, and where processes cannot be copied, nothing is said here: the run itself will tell."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return
    ours_end, its_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of threads, which the copy does not have
        child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            faulthandler.disable()  # it writes to a copy of standard error
            try:
                trial()
            except BadInputError as error:
                os.write(its_end, message_of(error).encode()[:4000])
        finally:
            os._exit(0)
    os.close(its_end)
    try:
        ready, _, _ = select.select([ours_end], [], [], SECONDS)
        said = os.read(ours_end, 4000).decode(errors="replace") if ready else ""
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ours_end)
    if said:
        raise BadInputError(said)
