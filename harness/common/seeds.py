"""Random streams, each a pure function of its purpose. Nothing touches a global generator.

data stream       (base seed, problem, rep)                 all estimators see the same draw
                  (base seed, stream, rep)                  shared by problems with this `stream`
estimator stream  (base seed, problem, rep, n, estimator)

If a problem has a `content` (a digest of a file's predictions), this stands for the problem: the
same data give the same numbers in every format and under every name. A problem spawns one child
stream per variable, so that a small n is a prefix of a larger n.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from harness.errors import BadInputError


class Draws(Protocol):
    """Properties of a problem that determine its streams (see `ProblemSpec`)."""

    @property
    def replication_rng(self) -> Callable[[int], Any] | None: ...
    @property
    def stream(self) -> str | None: ...
    @property
    def content(self) -> str | None: ...


def data_rng(seed: int, problem_key: str, rep: int) -> np.random.Generator:
    """Return the stream for one replication of a problem."""
    return np.random.default_rng([seed, int(problem_key, 16), rep])


def problem_rng(seed: int, problem: Draws, problem_key: str, rep: int) -> Any:
    """Return the stream for replication `rep` of a problem.

    Problems with the same `stream` share one. A problem with a method replication_rng(rep) gets
    what that returns, such as an author's seed.
    """
    if problem.replication_rng is not None:
        return problem.replication_rng(rep)
    shared = digest(f"stream|{problem.stream}") if problem.stream else None
    return data_rng(seed, shared or identity(problem, problem_key), rep)


def identity(problem: Draws, problem_key: str) -> str:
    """Return the 16 hexadecimal digits that seed a problem: its content, else its key."""
    return problem.content or problem_key


def estimator_rng(
    seed: int, problem_key: str, rep: int, n: int, estimator_key: str
) -> np.random.Generator:
    """Return the stream for the randomness of an estimator in one cell."""
    return np.random.default_rng([seed, int(problem_key, 16), rep, n, int(estimator_key, 16)])


def as_seed(rng: Any) -> int:
    """Return an integer seed: `rng` itself if it is an integer, else a draw from the Generator."""
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, or an integer seed.")
    return int(rng) if isinstance(rng, (int, np.integer)) else int(rng.integers(2**31 - 1))


def digest(text: str) -> str:
    """Return 16 hexadecimal digits that identify a text."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
