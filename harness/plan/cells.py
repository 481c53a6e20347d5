"""Cells, the units of work, and collections that make their cells when they are iterated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from harness.common.seeds import digest

Kind = tuple[str, str, str, int]  # (problem, notion, estimator, n)


class Cell(NamedTuple):
    """A unit of work.

    `problem` and `estimator` are names within the plan: ids, or ids with the swept values.
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
        """The cell in words."""
        return f"{self.estimator} on {self.problem}, n = {self.n}, rep {self.rep}"

    @property
    def kind(self) -> Kind:
        """All that decides whether the cell can run, and its cost."""
        return self.problem, self.notion, self.estimator, self.n


@dataclass(frozen=True)
class Draws:
    """The samples of a problem, (rep, n): each size in each replication, then `more`.

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
        """Return the distinct sample sizes."""
        return list(dict.fromkeys([*self.sizes, *(n for _, n in self.more)]))


@dataclass(frozen=True)
class Block:
    """The cells of one problem: each draw under each notion with each estimator.

    `estimators` maps names in the plan to keys.
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
        """Yield the cells of each sample (problem, rep, n) that is `chosen`."""
        stem, problem, seed = f"{self.problem_key}|{self.seed}", self.problem, self.seed
        pairs = [
            (notion, estimator, key)
            for notion in self.notions
            for estimator, key in self.estimators.items()
        ]
        for rep, n in self.draws if pairs else ():
            if chosen is None or chosen(problem, rep, n):
                cells = []
                for notion, estimator, estimator_key in pairs:
                    key = digest(f"{stem}|{notion}|{n}|{rep}|{estimator_key}")
                    cells.append(Cell(key, problem, notion, n, rep, estimator, seed))
                yield cells


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of several problems in turn. They equal any collection of equal cells."""

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
    """Yield the cells of each sample (problem, rep, n) that is `chosen`.

    Samples of cells in any order come in the order of their first cells.
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
