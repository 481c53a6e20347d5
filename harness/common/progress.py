"""Progress of long work on standard error."""

from __future__ import annotations

import sys
import time

from harness.common.escaping import unescaped

START_SECONDS = 2.0  # until workers are there; the expected pace counts as much as this many seconds of what is seen
SHORTEST_ANNOUNCED = (
    3.0  # seconds: work that takes less is over before an announcement of its length is read
)
SECONDS_BETWEEN_BARS = 0.2
SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Count of cells (or other units) done, elapsed time and time left, on standard error: a bar on
    a terminal, else a line every ten seconds.

    expected   wall seconds that all of it should take, None if nothing is known; what is seen corrects it
    later      wall seconds of the work that comes after this, in the same unit as `expected`
    known      whether `expected` rests on past records, so that it is worth saying at the start
    """

    def __init__(
        self,
        total: int,
        quiet: bool = False,
        unit: str = "cells",
        expected: float | None = None,
        later: float = 0.0,
        known: bool = False,
    ):
        self.total, self.done, self.quiet, self.unit = total, 0, quiet, unit
        self.expected, self.later, self.weight = expected, later, 0.0
        self.start = self.last = time.monotonic()
        self.bar = _Bar(total) if sys.stderr.isatty() and not quiet else None
        if (
            known
            and expected is not None
            and total
            and not quiet
            and (expected + later) > SHORTEST_ANNOUNCED
        ):
            over = f", {clock(expected + later)} with the jobs that follow" if later else ""
            _print_line(
                f"{total:,} {unit} to compute, about {clock(expected)} by past records{over}"
            )

    def add(self, cells: int, failed: int, seconds: float | None = None) -> None:
        """Count cells as done and, at most every so often, show it. seconds: their part of `expected`."""
        self.done += cells
        self.weight += seconds if seconds is not None else 0.0
        now = time.monotonic()
        pause = SECONDS_BETWEEN_BARS if self.bar else SECONDS_BETWEEN_LINES
        if self.quiet or now - self.last < pause:
            return
        self.last = now
        left, over = self.left(now - self.start)
        text = f"{self.done:,} of {self.total:,} {self.unit}, {clock(now - self.start)} elapsed, about {clock(left)} left"
        text += f", {clock(over)} with the jobs that follow" if self.later else ""
        text += f", {failed} failed" if failed else ""
        if self.bar:
            self.bar.show(self.done, text)
        else:
            _print_line(text)

    def left(self, elapsed: float) -> tuple[float, float]:
        """(seconds left of this work, and of this with what comes later): what is expected of the rest, times how what is done
        compared with what was expected of it."""
        if not self.expected:
            left = elapsed * (self.total - self.done) / max(self.done, 1)
            return left, left + self.later
        pace = (elapsed + START_SECONDS) / (self.weight + START_SECONDS)
        left = max(self.expected - self.weight, 0.0) * pace
        return left, left + self.later * pace

    def close(self) -> None:
        """Clear the bar."""
        if self.bar:
            self.bar.clear()


class _Bar:
    """A bar of rich, drawn when it is told to. It has no thread, as processes are forked beside it,
    and leaves the cursor visible, as an interruption ends it at any time."""

    def __init__(self, total: int):
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self.console = Console(file=unescaped(sys.stderr))
        self.bars = Bars(
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.task = self.bars.add_task("", total=total)

    def show(self, done: int, text: str) -> None:
        self.bars.start()
        self.console.show_cursor(True)
        self.bars.update(self.task, completed=done, description=text, refresh=True)

    def clear(self) -> None:
        self.bars.stop()


def _print_line(text: str) -> None:
    print(text, file=unescaped(sys.stderr), flush=True)


def clock(seconds: float) -> str:
    """75 -> '1 min 15 s'."""
    if 0 < seconds < 0.5:
        return "under 1 s"
    seconds = int(round(seconds))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
