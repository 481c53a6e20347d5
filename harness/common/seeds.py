"""Make random generators whose seeds depend only on what the numbers are used for.

generator         its seed                                  consequence
data              (base seed, problem, rep)                 all estimators see the same sample
data, shared      (base seed, stream, rep)                  several problems see the same rows
estimator         (base seed, problem, rep, n, estimator)   cells do not influence each other

rep is the index of the replication. The second line holds for problems with a field `stream`, which
is a name that those problems share.

For predictions from a file, the digest of the file's content replaces the problem. The same data
therefore give the same numbers in every file format and under every name. A problem spawns one
child generator per variable, so that a small sample is the start of a larger one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from harness.errors import BadInputError


class Draws(Protocol):
    """Properties of a problem that determine the seeds of its random generators.

    `harness.problems.base.ProblemSpec` documents them.
    """

    @property
    def replication_rng(self) -> Callable[[int], Any] | None: ...
    @property
    def stream(self) -> str | None: ...
    @property
    def content(self) -> str | None: ...


def data_rng(seed: int, problem_key: str, rep: int) -> np.random.Generator:
    """Return the generator of the data of replication `rep`, seeded by a problem's key.

    `problem_key` consists of hexadecimal digits, and `seed` is the base seed of the run.
    """
    return np.random.default_rng([seed, int(problem_key, 16), rep])


def problem_rng(seed: int, problem: Draws, problem_key: str, rep: int) -> Any:
    """Return the generator of the data of replication `rep` of a problem.

    Problems with the same `stream` get the same generator. If the problem has a method
    `replication_rng`, return `replication_rng(rep)` instead, for example the seed of a paper's
    authors.
    """
    if problem.replication_rng is not None:
        return problem.replication_rng(rep)
    shared = digest(f"stream|{problem.stream}") if problem.stream else None
    return data_rng(seed, shared or identity(problem, problem_key), rep)


def identity(problem: Draws, problem_key: str) -> str:
    """Return the 16 hexadecimal digits that seed a problem.

    They are the digest of its file's content if it has one, else its key.
    """
    return problem.content or problem_key


def estimator_rng(
    seed: int, problem_key: str, rep: int, n: int, estimator_key: str
) -> np.random.Generator:
    """Return the generator for the random choices of one estimator in one cell.

    `seed` is the base seed of the run; both keys consist of hexadecimal digits.
    """
    return np.random.default_rng([seed, int(problem_key, 16), rep, n, int(estimator_key, 16)])


def as_seed(rng: Any) -> int:
    """Return an integer seed: `rng` if it is an integer, else a number drawn from that Generator.

    Raises
    ------
    BadInputError
        If `rng` is None.
    """
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, or an integer seed.")
    return int(rng) if isinstance(rng, (int, np.integer)) else int(rng.integers(2**31 - 1))


def digest(text: str) -> str:
    """Return a digest of a text: 16 hexadecimal digits (BLAKE2b)."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
