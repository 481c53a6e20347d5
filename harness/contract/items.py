"""Unusual samples and checks that the contracts of several kinds of objects share.

`harness.contract.check` explains items and cases.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from harness.common.user_code import find_documented, read_docstring
from harness.errors import UndefinedError

T = TypeVar("T")
Sample = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]

SEED = 20260801
DECLARED = "declared properties"
SAME = 1e-9  # largest difference of numbers that are equal up to rounding

# Functions that make unusual samples from ordinary predictions p, labels y and k classes.
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
    """Error for an item of the contract that fails. The message says what was observed."""


class BiasedError(Exception):
    """Error for estimates that are biased by no more than their estimator declares.

    The message says how much.
    """


@contextlib.contextmanager
def restored_generators() -> Iterator[None]:
    """Restore the global random generators after the block."""
    states = np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        np.random.set_state(states[0])
        random.setstate(states[1])


def without_global_draws(function: Callable[[], T]) -> T:
    """Return function(). Raise ContractBrokenError if it uses a global random generator.

    The global generators are those of numpy and of Python.
    """
    with restored_generators():
        np.random.seed(SEED)  # no library is likely to set this state by itself
        before = _global_states()
        value = function()
        if _global_states() != before:
            raise ContractBrokenError(
                "a global random generator was used; draw from the rng that is passed"
            )
    return value


def _global_states() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    return state[1].tobytes(), state[2:], random.getstate()


def read_only(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return read-only copies of arrays."""
    copies = [array.copy() for array in arrays]
    for array in copies:
        array.flags.writeable = False
    return copies


def examine_samples(
    samples: list[Sample], is_finite: Callable[[Any, np.ndarray, np.ndarray], bool]
) -> Callable[[Any], str]:
    """Return an item that evaluates the object of a case on unusual samples.

    `samples` make the unusual samples from the ordinary sample of the case. `is_finite(case, p, y)`
    evaluates the object on one of them, and returns True if the result is finite. It may raise
    UndefinedError; any other exception fails the item.
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


def docstring_summary(value: Any, wanted: str) -> str:
    """Return the first line of an object's docstring. Raise ContractBrokenError without one.

    `wanted` lists for the message what the docstring should say.
    """
    text = read_docstring(value)
    if not text:
        name = find_documented(value).__name__
        raise ContractBrokenError(f"{name} has no docstring; describe {wanted}")
    return text.splitlines()[0]
