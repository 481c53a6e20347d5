"""Progress of long work on standard error."""

from __future__ import annotations

import sys
import time

from harness.common.escaping import unescaped

START_SECONDS = 2.0  # until workers are there; the expected pace counts as much as this many seconds of what is seen
SHORTEST_ANNOUNCED = 3.0  # seconds: work that takes less is over before an announcement of its length is read


class Progress:
    """Cells (or other units) done, elapsed time and time left, on standard error: in place on a terminal, else a line every ten
    seconds.

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
        self.terminal = sys.stderr.isatty()
        if known and expected is not None and total and not quiet and (expected + later) > SHORTEST_ANNOUNCED:
            over = f", {clock(expected + later)} with the jobs that follow" if later else ""
            self._say(f"{total:,} {unit} to compute, about {clock(expected)} by past records{over}", keep=True)

    def add(self, cells: int, failed: int, seconds: float | None = None) -> None:
        """Count cells as done and, at most every so often, say so. seconds: their part of `expected`."""
        self.done += cells
        self.weight += seconds if seconds is not None else 0.0
        now = time.monotonic()
        if self.quiet or now - self.last < (0.2 if self.terminal else 10.0):
            return
        self.last = now
        left, over = self.left(now - self.start)
        text = f"{self.done:,} of {self.total:,} {self.unit}, {clock(now - self.start)} elapsed, about {clock(left)} left"
        text += f", {clock(over)} with the jobs that follow" if self.later else ""
        self._say(text + (f", {failed} failed" if failed else ""))

    def left(self, elapsed: float) -> tuple[float, float]:
        """(seconds left of this work, and of this with what comes later): what is expected of the rest, times how what is done
        compared with what was expected of it."""
        if not self.expected:
            left = elapsed * (self.total - self.done) / max(self.done, 1)
            return left, left + self.later
        pace = (elapsed + START_SECONDS) / (self.weight + START_SECONDS)
        left = max(self.expected - self.weight, 0.0) * pace
        return left, left + self.later * pace

    def _say(self, text: str, keep: bool = False) -> None:
        end = "" if self.terminal and not keep else "\n"
        print(f"\r\033[K{text}" if self.terminal else text, end=end, file=unescaped(sys.stderr), flush=True)

    def close(self) -> None:
        """Clear the line."""
        if not self.quiet and self.terminal:
            print("\r\033[K", end="", file=unescaped(sys.stderr), flush=True)


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
