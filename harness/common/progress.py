"""Show the progress of a long computation on standard error."""

from __future__ import annotations

import math
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

from harness.common.escaping import unescaped

# Seconds until the worker processes have started. The same number is the weight of the expected
# pace, in seconds of observation, in `Progress.left`.
START_SECONDS = 2.0
SHORTEST_ANNOUNCED = 3.0  # expected seconds below which the run is not announced
SECONDS_BETWEEN_BARS = 0.2
SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Display of finished units, elapsed time and remaining time.

    On a terminal it is a bar. Elsewhere it is one line every 10 s.

    Parameters
    ----------
    total : int
        Number of units of work.
    quiet : bool
        Show nothing.
    unit : str
        Plural noun for the units, such as "cells".
    expected : float, optional
        Wall-clock seconds that all units together should take. Observed times correct it.
    known : bool
        True if `expected` was computed from earlier records. Then it is shown at the start.
    after : float
        Expected seconds of the work that follows the units. The remaining time includes them.
    """

    def __init__(
        self,
        total: int,
        quiet: bool = False,
        unit: str = "cells",
        expected: float | None = None,
        known: bool = False,
        after: float = 0.0,
    ):
        self.total, self.done, self.quiet, self.unit = total, 0, quiet, unit
        self.expected, self.weight, self.after = expected, 0.0, after
        self.start = self.last = time.monotonic()
        self.bar = _bar(total) if sys.stderr.isatty() and not quiet else None
        if known and total and not quiet and (expected or 0.0) > SHORTEST_ANNOUNCED:
            seconds = clock((expected or 0.0) + after)
            _print_line(f"{total:,} {unit} to compute; earlier records suggest about {seconds}")

    def add(self, cells: int, failed: int, seconds: float | None = None) -> None:
        """Count units as done, and update the display if the last update is old enough.

        Parameters
        ----------
        cells : int
            Number of units that have just been finished.
        failed : int
            Number of units that have failed since the start.
        seconds : float, optional
            Part of `expected` that was reserved for the units just finished.
        """
        self.done += cells
        self.weight += seconds or 0.0
        now = time.monotonic()
        pause = SECONDS_BETWEEN_BARS if self.bar else SECONDS_BETWEEN_LINES
        if self.quiet or now - self.last < pause:
            return
        self.last = now
        elapsed = now - self.start
        text = f"{self.done:,} of {self.total:,} {self.unit}, {clock(elapsed)} elapsed, "
        text += f"about {clock(self.left(elapsed) + self.after)} left"
        text += f", {failed} failed" if failed else ""
        if self.bar is None:
            _print_line(text)
            return
        self.bar.start()
        # An interruption may end this process at any time, so the cursor must stay visible.
        self.bar.console.show_cursor(True)
        task = self.bar.task_ids[0]
        self.bar.update(task, completed=self.done, description=text, refresh=True)

    def left(self, elapsed: float) -> float:
        """Return an estimate of the remaining seconds, `elapsed` seconds after the start.

        It is the expected time of the remaining units times the pace so far. The pace is observed
        seconds divided by expected seconds, shrunk towards 1 while few seconds have passed.
        """
        if not self.expected:
            return elapsed * (self.total - self.done) / max(self.done, 1)
        pace = (elapsed + START_SECONDS) / (self.weight + START_SECONDS)
        return max(self.expected - self.weight, 0.0) * pace

    def close(self) -> None:
        """Remove the bar from the terminal. The next `add` shows it again at once."""
        if self.bar:
            self.bar.stop()
            self.last = -math.inf


def _bar(total: int) -> Bars:
    """Return a progress bar of the library rich that refreshes without a thread of its own.

    A thread would be unsafe, because this process forks while the bar is shown.
    """
    bar = Bars(
        BarColumn(bar_width=20),
        TextColumn("{task.description}", markup=False),
        console=Console(file=unescaped(sys.stderr)),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task("", total=total)
    return bar


def _print_line(text: str) -> None:
    print(text, file=unescaped(sys.stderr), flush=True)


def clock(seconds: float) -> str:
    """Return a duration as text with its units.

    >>> clock(0.2), clock(75), clock(7300)
    ('under 1 s', '1 min 15 s', '2 h 1 min')
    """
    if 0 < seconds < 0.5:
        return "under 1 s"
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
