"""Estimate how long the remaining cells of a run take, from the times of cells of the same kind."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.common.progress import rough_clock

if TYPE_CHECKING:
    from harness.plan.cells import Kind
    from harness.plan.plan import Plan

# On a problem that has not been timed, cells take between 1 / FACTOR and FACTOR times the time of
# the fastest and the slowest timed problem. In the arena (results/baseline/costs.csv.gz), this
# range contains 91 % of the means if one problem is timed, and 96 % if two are.
FACTOR = 2.0
# Overhead of a cell that its record does not contain: random generators, sample, writing.
CELL_SECONDS = 4e-4
# The first cells of a process also import modules and compile code. They count if they take longer.
WARM_UP = 5.0
SPREAD = 2.0  # half width of a range, in standard deviations

# {(key of the estimator, notion, n): {key of the problem: mean seconds}}
_Means = dict[tuple[str, str, int], dict[str, float]]


@dataclass
class Times:
    """Number of timed cells, sum of their seconds, and sum of the squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, count: int, total: float, squares: float) -> None:
        """Add the times of more cells."""
        self.count += count
        self.total += total
        self.squares += squares

    @property
    def mean(self) -> float:
        """Mean seconds of a cell."""
        return self.total / self.count

    def variance_of(self, cells: int) -> float:
        """Variance of the seconds of further cells around `cells` times the mean.

        The spread of a single time is unknown. Its standard deviation is then set to the mean.
        """
        single = self.mean**2
        if self.count > 1:
            single = max(self.squares - self.total**2 / self.count, 0.0) / (self.count - 1)
        return single * (cells + cells**2 / self.count)


@dataclass
class Work:
    """Report on a computed chunk.

    failed   number of failed cells
    seconds  wall-clock seconds of all cells, with imports
    times    times of the cells, by kind
    """

    failed: int = 0
    seconds: float = 0.0
    times: dict[Kind, Times] = field(default_factory=dict)

    def add(self, other: Work) -> None:
        """Add the numbers of another report."""
        self.failed += other.failed
        self.seconds += other.seconds
        for kind, times in other.times.items():
            self.times.setdefault(kind, Times()).add(times.count, times.total, times.squares)

    def add_cell(self, kind: Kind, seconds: float, is_cold: bool) -> None:
        """Add a finished cell. `is_cold` is True if it also built its problem or estimator."""
        self.seconds += seconds
        if not is_cold or seconds > WARM_UP:
            self.times.setdefault(kind, Times()).add(1, seconds, seconds**2)


class Left(NamedTuple):
    """Range of the remaining seconds.

    low      smallest expected seconds
    high     largest expected seconds, without those of untimed cells
    untimed  number of cells of which nothing is known
    """

    low: float
    high: float
    untimed: int = 0

    @property
    def text(self) -> str:
        """The range in words.

        Examples
        --------
        >>> Left(100.0, 290.0).text, Left(100.0, 105.0).text, Left(0.0, 0.2).text
        ('2 to 5 min', 'about 2 min', 'less than 1 s')
        >>> Left(0.3, 90.0).text, Left(3000.0, 8000.0).text, Left(40.0, 60.0, 1200).text
        ('up to 90 s', '50 min to 2.2 h', 'at least 40 s')
        >>> Left(0.0, 0.0, 1).text
        'unknown time'
        """
        low, high = rough_clock(self.low), rough_clock(self.high)
        if self.untimed:
            return f"at least {low}" if self.low >= 1.0 else "unknown time"
        if self.high < 1.0:
            return "less than 1 s"
        if self.low < 1.0:
            return f"up to {high}"
        if low == high or self.high < 1.1 * self.low:
            return f"about {rough_clock((self.low + self.high) / 2)}"
        (_, small), (_, large) = low.split(), high.split()
        return f"{low.split()[0] if small == large else low} to {high}"

    @property
    def remaining(self) -> str:
        """The range in words, as the remaining time of a run.

        Examples
        --------
        >>> Left(120.0, 290.0).remaining, Left(40.0, 60.0, 1200).remaining
        ('2 to 5 min left', 'at least 40 s left (1,200 cells are of kinds not yet timed)')
        """
        note = f" ({self.untimed:,} cells are of kinds not yet timed)" if self.untimed else ""
        return f"{self.text} left{note}"


class Pace:
    """Remaining cells of a plan, and measured seconds of cells by kind.

    A kind that was timed in this run takes the mean of its times. Otherwise, its time lies within
    FACTOR of that of earlier records, or of the same estimator, notion and n on other problems.
    Earlier records are multiplied by how much slower or faster this run has been so far.

    Parameters
    ----------
    plan : Plan
        The plan.
    todo : mapping
        Number of cells to compute, by kind.
    past : iterable
        Rows of `reader.seconds_per_cell`.
    """

    def __init__(self, plan: Plan, todo: Mapping[Kind, int], past: Iterable[tuple[Any, ...]] = ()):
        self.plan, self.todo = plan, Counter(todo)
        self.timed: dict[Kind, Times] = {}
        self.began: float | None = None  # time at which the first chunk began
        self.seconds = self.longest = 0.0  # of all chunks, and of the longest one
        self.recorded: _Means = defaultdict(dict)  # by earlier records
        self.means: _Means = defaultdict(dict)  # by this run
        for estimator_key, problem_key, notion, n, seconds in past:
            self.recorded[estimator_key, notion, n][problem_key] = seconds + CELL_SECONDS
        # Seconds of the cells that were timed here and in records: here, and according to records
        self.here = self.there = 0.0

    def add(self, cells: Iterable[Kind], work: Work, now: float) -> None:
        """Add the report on a chunk. `cells` are the kinds of all its cells.

        `now` is the time on any clock, in seconds.
        """
        if self.began is None:
            self.began = now - work.seconds
        self.todo.subtract(cells)
        self.seconds += work.seconds
        self.longest = max(self.longest, work.seconds)
        for kind, times in work.times.items():
            known = self.timed.setdefault(kind, Times())
            known.add(times.count, times.total, times.squares)
            group, problem_key = self._keys(kind)
            self.means[group][problem_key] = known.mean
            if problem_key in self.recorded[group]:
                self.here += times.total
                self.there += times.count * self.recorded[group][problem_key]

    def mean(self, kind: Kind) -> float | None:
        """Return the expected seconds of a cell, or None if nothing is known."""
        if kind in self.timed:
            return self.timed[kind].mean
        low, high = self._range(kind)
        return math.sqrt(low * high) if high else None

    def left(self, workers: int, now: float = 0.0) -> Left:
        """Return the remaining wall-clock seconds on `workers` workers.

        `now` is the time on the clock of `add`. If the workers have computed for a smaller part of
        the time than they could, the range grows in proportion.
        """
        low = high = variance = longest = 0.0
        untimed = 0
        for kind, cells in self.todo.items():
            if cells <= 0:
                continue
            if kind in self.timed:
                times = self.timed[kind]
                least = most = times.mean
                variance += times.variance_of(cells)
            else:
                least, most = self._range(kind)
                untimed += cells if not most else 0
            low, high, longest = low + cells * least, high + cells * most, max(longest, most)
        spread = SPREAD * math.sqrt(variance)
        # Chunks that other workers compute now are finished in part. At the end, all but one may
        # wait for the longest cell.
        low -= spread + (workers - 1) * self.longest
        high += spread + (workers - 1) * longest
        slowness = 1.0
        if self.began is not None and self.seconds:
            slowness = max(1.0, workers * (now - self.began - self.longest) / self.seconds)
        return Left(max(low, 0.0) * slowness / workers, high * slowness / workers, untimed)

    def _keys(self, kind: Kind) -> tuple[tuple[str, str, int], str]:
        problem, notion, estimator, n = kind
        group = self.plan.estimators[estimator].key, notion, n
        return group, self.plan.problems[problem].key

    def _range(self, kind: Kind) -> tuple[float, float]:
        """Return the expected range of the seconds of a cell that this run has not timed."""
        group, problem_key = self._keys(kind)
        ratio = self.here / self.there if self.there else 1.0
        recorded, means = self.recorded.get(group, {}), self.means.get(group)
        if problem_key in recorded:
            known = [ratio * recorded[problem_key]]
        else:
            known = [*(means.values() if means else (ratio * mean for mean in recorded.values()))]
        return (min(known) / FACTOR, max(known) * FACTOR) if known else (0.0, 0.0)
