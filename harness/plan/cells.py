"""Cells, the units of work, and long lists of them that take no memory: every cell is made when it is asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple, overload

from harness.common.seeds import digest

Kind = tuple[str, str, str, int]  # (problem, notion, estimator, n)
Limits = dict[Kind, str]  # why cells of a kind are not run


class Cell(NamedTuple):
    """One unit of work. `problem` and `estimator` are names within the plan: ids, or ids with the swept values that made them."""

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


class Made(Sequence[Any]):
    """A sequence that is made as it is read; equal to every sequence with equal items."""

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self._at(position) for position in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(f"position {at} of {len(self)}")
        return self._at(at % len(self))

    def _at(self, position: int) -> Any:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other))
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Draws(Made):
    """The samples of a problem, (rep, n): every size of every replication, and `more`.

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

    def _at(self, position: int) -> tuple[int, int]:
        plain = len(self.reps) * len(self.sizes)
        if position >= plain:
            return self.more[position - plain]
        return self.reps[position // len(self.sizes)], self.sizes[position % len(self.sizes)]

    def of_size(self) -> dict[int, int]:
        """{n: number of samples}"""
        found = dict.fromkeys(self.sizes, len(self.reps))
        for _, n in self.more:
            found[n] = found.get(n, 0) + 1
        return found


@dataclass(frozen=True, eq=False)
class Block(Made):
    """The cells of one problem: of every draw, every notion and estimator, {name in the plan: key}."""

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
        """The cells of one sample after the other, of those (problem, rep, n) that are `chosen`."""
        stem, problem, seed = f"{self.problem_key}|{self.seed}", self.problem, self.seed
        each = [
            (notion, estimator, key)
            for notion in self.notions
            for estimator, key in self.estimators.items()
        ]
        for rep, n in self.draws if each else ():
            if chosen is None or chosen(problem, rep, n):
                yield [
                    Cell(
                        digest(f"{stem}|{notion}|{n}|{rep}|{key}"),
                        problem,
                        notion,
                        n,
                        rep,
                        estimator,
                        seed,
                    )
                    for notion, estimator, key in each
                ]

    def _at(self, position: int) -> Cell:
        draw, within = divmod(position, len(self.notions) * len(self.estimators))
        notion, at = divmod(within, len(self.estimators))
        of_one = Draws((), (), [self.draws[draw]])
        one = replace(
            self,
            draws=of_one,
            notions=self.notions[notion : notion + 1],
            estimators=dict([self._pairs[at]]),
        )
        return next(iter(one))

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        return list(self.estimators.items())


@dataclass(frozen=True, eq=False)
class Cells(Made):
    """The cells of several problems, one after the other."""

    blocks: Sequence[Block]

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(map(len, self.blocks)))

    def __len__(self) -> int:
        return self._ends[-1] if self.blocks else 0

    def __iter__(self) -> Iterator[Cell]:
        for block in self.blocks:
            yield from block

    def _at(self, position: int) -> Cell:
        block = bisect_right(self._ends, position)
        found: Cell = self.blocks[block][position - (self._ends[block - 1] if block else 0)]
        return found

    def kinds(self) -> dict[Kind, int]:
        """{(problem, notion, estimator, n): number of cells}"""
        return {
            (block.problem, notion, estimator, n): draws
            for block in self.blocks
            for n, draws in block.draws.of_size().items()
            for notion in block.notions
            for estimator in block.estimators
        }


class Skips(Mapping[str, str]):
    """The keys of cells that are not run -> the reason, as it follows from problem, notion, n and estimator. Keys are looked for
    only where such cells are among them; `of` needs none."""

    def __init__(self, cells: Cells, limits: Limits):
        self.cells, self.limits = cells, limits

    def of(self, cell: Cell) -> str | None:
        """Why a cell is not run, or None."""
        return (
            self.limits.get((cell.problem, cell.notion, cell.estimator, cell.n))
            if self.limits
            else None
        )

    @cached_property
    def _by_key(self) -> dict[str, str]:
        return (
            {cell.key: reason for cell in self.cells if (reason := self.of(cell))}
            if self.limits
            else {}
        )

    def __bool__(self) -> bool:
        return bool(self.limits)

    def __getitem__(self, key: str) -> str:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)


def samples(
    cells: Sequence[Cell], chosen: Callable[[str, int, int], bool] | None = None
) -> Iterator[list[Cell]]:
    """Lists of the cells of one sample each, of the samples (problem, rep, n) that are `chosen`. Of cells in any order
    the samples come as they are met first."""
    if isinstance(cells, Cells):
        for block in cells.blocks:
            yield from block.samples(chosen)
        return
    found: dict[tuple[str, int, int, int], list[Cell]] = {}
    for cell in cells:
        if chosen is None or chosen(cell.problem, cell.rep, cell.n):
            found.setdefault((cell.problem, cell.rep, cell.n, cell.seed), []).append(cell)
    yield from found.values()
