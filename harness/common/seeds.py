"""Random streams: every one a pure function of what it is for; nothing touches a global generator.

data stream       (base seed, problem, rep)                 -> all estimators see the same draw
                  (base seed, stream, rep)                  -> and all problems that name the same `stream`
estimator stream  (base seed, problem, rep, n, estimator)

Where a problem has a `content` (a file of predictions: what was read of it), that stands for the problem: the same data give the
same numbers in every format and under every name.
A problem spawns one child stream per variable, so that a small n is a prefix of a larger n.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from harness.errors import BadInputError


class Draws(Protocol):
    """What the random streams ask of a problem (`ProblemSpec`)."""

    @property
    def replication_rng(self) -> Callable[[int], Any] | None: ...
    @property
    def stream(self) -> str | None: ...
    @property
    def content(self) -> str | None: ...


def data_rng(seed: int, problem_key: str, rep: int) -> np.random.Generator:
    """The stream that a problem draws one replication from."""
    return np.random.default_rng([seed, int(problem_key, 16), rep])


def problem_rng(seed: int, problem: Draws, problem_key: str, rep: int) -> Any:
    """What a problem draws replication `rep` from: its own stream, or the one that its `stream` names, which all problems of that
    name share; of a problem with a method replication_rng(rep), what that returns (an author's own seed)."""
    if problem.replication_rng is not None:
        return problem.replication_rng(rep)
    shared = digest(f"stream|{problem.stream}") if problem.stream else None
    return data_rng(seed, shared or identity(problem, problem_key), rep)


def identity(problem: Draws, problem_key: str) -> str:
    """What the streams of a problem are seeded by, 16 hexadecimal digits: its content if it has one, else its key."""
    return problem.content or problem_key


def estimator_rng(
    seed: int, problem_key: str, rep: int, n: int, estimator_key: str
) -> np.random.Generator:
    """The stream of an estimator's own randomness in one cell."""
    return np.random.default_rng([seed, int(problem_key, 16), rep, n, int(estimator_key, 16)])


def as_seed(rng: Any) -> int:
    """An integer for libraries that take only that: an int is passed through (the authors' own seed), a Generator drawn from."""
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, or an integer seed.")
    return int(rng) if isinstance(rng, (int, np.integer)) else int(rng.integers(2**31 - 1))


def digest(text: str) -> str:
    """16 hexadecimal digits that identify a text."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
