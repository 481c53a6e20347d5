"""Shared parts of the contract tests (see harness.contract.check)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from harness.errors import UndefinedError

T = TypeVar("T")
Sample = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]

SEED = 20260801
DECLARED = "declared properties"
SAME = 1e-9  # numbers that differ by less are equal up to rounding

# unusual samples, made from ordinary (p, y, number of classes)
TIES: list[Sample] = [lambda p, y, k: (p[np.arange(len(p)) % 3], y)]
FEW: list[Sample] = [lambda p, y, k: (p[:7], y[:7])]
UNSEEN_CLASS: list[Sample] = [
    lambda p, y, k: (p, y % (k - 1)),
    lambda p, y, k: (p, np.zeros_like(y) + k - 1),
]
CONSTANT: list[Sample] = [lambda p, y, k: (p[np.zeros(len(p), dtype=int)], y)]


def _row(i: int) -> Sample:
    return lambda p, y, k: (p[i : i + 1], y[i : i + 1])


ONE = [_row(i) for i in range(6)]


class ContractBrokenError(Exception):
    """The contract is not kept; the message says how."""


@contextlib.contextmanager
def generators_put_back() -> Iterator[None]:
    """Restore the global random generators after the block."""
    states = np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        np.random.set_state(states[0])
        random.setstate(states[1])


def without_global_draws(function: Callable[[], T]) -> T:
    """Return function(). Raise ContractBrokenError if it uses a global random generator."""
    with generators_put_back():
        np.random.seed(SEED)  # a state that nobody else has set
        before = _global_states()
        value = function()
        if _global_states() != before:
            raise ContractBrokenError(
                "a global random generator was used; draw from the rng that is given"
            )
    return value


def _global_states() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    return state[1].tobytes(), state[2:], random.getstate()


def read_only(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return read-only copies."""
    copies = [array.copy() for array in arrays]
    for array in copies:
        array.flags.writeable = False
    return copies


def examine_samples(
    samples: list[Sample], is_finite: Callable[[Any, np.ndarray, np.ndarray], bool]
) -> Callable[[Any], str]:
    """Return an item: on these samples, nothing is raised but UndefinedError.

    `is_finite(case, p, y)` examines one sample. It returns False for values that are not finite.
    """

    def examine(case: Any) -> str:
        finite = []
        for sample in samples:
            try:
                finite.append(is_finite(case, *sample(case.p, case.y, case.classes)))
            except UndefinedError:
                finite.append(False)
        if all(finite):
            return "a value"
        return "sometimes undefined" if any(finite) else "undefined"

    return examine


def documented(value: Any, wanted: str) -> str:
    """Return the first line of the docstring. Raise ContractBrokenError without one.

    `wanted`: the content that it should have.
    """
    while isinstance(value, functools.partial):
        value = value.func
    named = value if inspect.isroutine(value) else type(value)
    text = (named.__doc__ or "").strip()
    is_generated = dataclasses.is_dataclass(named) and text.startswith(f"{named.__name__}(")
    if not text or is_generated:
        raise ContractBrokenError(f"{named.__name__} has no docstring; say {wanted}")
    return text.splitlines()[0]
