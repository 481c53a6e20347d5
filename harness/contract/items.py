"""What the items of the contract tests of estimators, problems and calibrators share (see harness.contract.check)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from harness.errors import BadInputError

SEED = 20260801
DECLARED = "declared properties"
SAME = 1e-9  # numbers that differ by less are equal up to rounding


class ContractBrokenError(Exception):
    """The contract is not kept; the message says how."""


@contextlib.contextmanager
def generators_put_back() -> Iterator[None]:
    states = np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        np.random.set_state(states[0])
        random.setstate(states[1])


@contextlib.contextmanager
def unseeded_generators() -> Iterator[None]:
    """The global generators in a state that what is examined has not set before, and put back afterwards."""
    with generators_put_back():
        np.random.seed(SEED)
        yield


def kept(rule: Callable[..., Any], *given: Any) -> Any:
    """rule(*given); ContractBrokenError in place of BadInputError."""
    try:
        return rule(*given)
    except BadInputError as error:
        raise ContractBrokenError(str(error).rstrip(".")) from error


def global_states() -> tuple[Any, ...]:
    """The states of the global random generators."""
    state: Any = np.random.get_state()
    return state[1].tobytes(), state[2:], random.getstate()


def documented(made: Any, wanted: str) -> str:
    """The first line of the docstring; ContractBrokenError without one, with what it should say."""
    target = made
    while isinstance(target, functools.partial):
        target = target.func
    target = target if inspect.isroutine(target) else type(target)
    text = (target.__doc__ or "").strip()
    name = target.__name__
    if not text or dataclasses.is_dataclass(target) and text.startswith(f"{name}("):
        raise ContractBrokenError(f"{name} has no docstring; say {wanted}")
    return text.splitlines()[0]
