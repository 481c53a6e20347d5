"""Cells, the units of work of a run, and collections that create their cells on iteration.

A collection stores only problems, notions, sample sizes, replications and estimators. It can
therefore stand for millions of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from harness.common.seeds import digest

Kind = tuple[str, str, str, int]  # (problem, notion, estimator, n)


def cell_key(problem_key: str, seed: int, notion: str, n: int, rep: int, estimator_key: str) -> str:
    """Return the key of a cell: 16 hexadecimal digits, a digest of what determines its numbers."""
    return digest(f"{problem_key}|{seed}|{notion}|{n}|{rep}|{estimator_key}")


class Cell(NamedTuple):
    """Unit of work: one estimator on one sample of a problem, under one notion.

    `problem` and `estimator` are names in the plan. A name is an id or, in a sweep, an id with the
    swept values. `key` consists of 16 hexadecimal digits, `n` is the sample size, `rep` the index
    of the replication, and `seed` the base seed of the run.
    """

    key: str
    problem: str
    notion: str
    n: int
    rep: int
    estimator: str
    seed: int

    @property
    def described(self) -> str:
        """Description of the cell in words, for messages."""
        return f"{self.estimator} on {self.problem}, n = {self.n}, rep {self.rep}"

    @property
    def kind(self) -> Kind:
        """Kind of the cell, as (problem, notion, estimator, n).

        The kind decides whether a cell is skipped, and how long it takes.
        """
        return self.problem, self.notion, self.estimator, self.n


@dataclass(frozen=True)
class Draws:
    """Collection of the samples of a problem, as pairs (rep, n).

    It contains each size of `sizes` in each replication of `reps`, and then the pairs in `more`.

    Examples
    --------
    >>> list(Draws(range(2), (50, 100)))
    [(0, 50), (0, 100), (1, 50), (1, 100)]
    >>> len(Draws(range(10**8), (100,)))
    100000000
    """

    reps: Sequence[int]
    sizes: Sequence[int]
    more: Sequence[tuple[int, int]] = ()

    def __len__(self) -> int:
        return len(self.reps) * len(self.sizes) + len(self.more)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for rep in self.reps:
            for n in self.sizes:
                yield rep, n
        yield from self.more

    def all_sizes(self) -> list[int]:
        """Return the distinct sample sizes of the collection."""
        return list(dict.fromkeys([*self.sizes, *(n for _, n in self.more)]))


@dataclass(frozen=True)
class Block:
    """Collection of the cells of one problem.

    It contains one cell for each combination of a sample in `draws`, a notion and an estimator.
    `estimators` is {name in the plan: key of the estimator}, and `seed` the base seed of the run.
    """

    problem: str
    problem_key: str
    seed: int
    draws: Draws
    notions: Sequence[str]
    estimators: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.draws) * len(self.notions) * len(self.estimators)

    def __iter__(self) -> Iterator[Cell]:
        return chain.from_iterable(self.samples())

    def samples(
        self, chosen: Callable[[str, int, int], bool] | None = None
    ) -> Iterator[list[Cell]]:
        """Yield a list of the cells of each sample for which chosen(problem, rep, n) is True.

        By default, all samples are used.
        """
        problem, seed = self.problem, self.seed
        pairs = [
            (notion, estimator, key)
            for notion in self.notions
            for estimator, key in self.estimators.items()
        ]
        for rep, n in self.draws if pairs else ():
            if chosen is None or chosen(problem, rep, n):
                cells = []
                for notion, estimator, estimator_key in pairs:
                    key = cell_key(self.problem_key, seed, notion, n, rep, estimator_key)
                    cells.append(Cell(key, problem, notion, n, rep, estimator, seed))
                yield cells


@dataclass(frozen=True, eq=False)
class Cells:
    """Collection of the cells of several problems, one block after the other.

    It equals any other collection that has equal cells in the same order.
    """

    blocks: Sequence[Block]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[Cell]:
        return chain.from_iterable(self.blocks)

    def __contains__(self, cell: object) -> bool:
        return any(cell == other for other in self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Collection)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other))
        )


def samples(
    cells: Collection[Cell], chosen: Callable[[str, int, int], bool] | None = None
) -> Iterator[list[Cell]]:
    """Yield a list of the cells of each sample for which chosen(problem, rep, n) is True.

    By default, all samples are used. If the cells of a sample are scattered in `cells`, the sample
    takes the place of its first cell.
    """
    if isinstance(cells, Cells):
        for block in cells.blocks:
            yield from block.samples(chosen)
        return
    by_sample: dict[tuple[str, int, int, int], list[Cell]] = {}
    for cell in cells:
        if chosen is None or chosen(cell.problem, cell.rep, cell.n):
            by_sample.setdefault((cell.problem, cell.rep, cell.n, cell.seed), []).append(cell)
    yield from by_sample.values()
