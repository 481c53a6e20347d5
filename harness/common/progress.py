"""Show the progress of a long computation on standard error."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.common.escaping import unescaped

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

SECONDS_BETWEEN_BARS = 0.5
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
    left : callable, optional
        Function that returns the remaining time in words ("2 to 5 min left"). By default, none is
        shown.
    """

    def __init__(
        self,
        total: int,
        quiet: bool = False,
        unit: str = "cells",
        left: Callable[[], str] | None = None,
    ):
        self.total, self.done, self.quiet, self.unit, self.left = total, 0, quiet, unit, left
        self.start = self.last = time.monotonic()
        self.bar = _bar(total) if sys.stderr.isatty() and not quiet else None

    def add(self, cells: int, failed: int) -> None:
        """Count units as done, and update the display if the last update is old enough.

        Parameters
        ----------
        cells : int
            Number of units that have just been finished.
        failed : int
            Number of units that have failed since the start.
        """
        self.done += cells
        now = time.monotonic()
        pause = SECONDS_BETWEEN_BARS if self.bar else SECONDS_BETWEEN_LINES
        if self.quiet or now - self.last < pause:
            return
        self.last = now
        elapsed = now - self.start
        text = f"{self.done:,} of {self.total:,} {self.unit}, {clock(elapsed)} elapsed"
        text += f", {self.left()}" if self.left and self.done < self.total else ""
        text += f", {failed} failed" if failed else ""
        if self.bar is None:
            print(text, file=unescaped(sys.stderr), flush=True)
            return
        self.bar.start()
        # An interruption may end this process at any time, so the cursor must stay visible.
        self.bar.console.show_cursor(True)
        task = self.bar.task_ids[0]
        self.bar.update(task, completed=self.done, description=text, refresh=True)

    def close(self) -> None:
        """Remove the bar from the terminal. The next `add` shows it again at once."""
        if self.bar:
            self.bar.stop()
            self.last = -math.inf


def _bar(total: int) -> Bars:
    """Return a progress bar of the library rich that refreshes without a thread of its own.

    A thread would be unsafe, because this process forks while the bar is shown. rich is imported
    here, because the library can be used without it.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

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


def rough_clock(seconds: float) -> str:
    """Return a duration with two digits and one unit, for estimates.

    >>> [rough_clock(seconds) for seconds in (0.0, 7.43, 95.0, 130.0, 7300.0, 400000.0)]
    ['0 s', '7 s', '95 s', '2 min', '2 h', '4.6 days']
    """
    units = (("s", 1.0, 100.0), ("min", 60.0, 6000.0), ("h", 3600.0, 172800.0))
    unit, size, _ = next((u for u in units if seconds < u[2]), ("days", 86400.0, math.inf))
    number = seconds / size
    is_fraction = unit in ("h", "days") and number < 9.95
    return f"{f'{number:.1f}'.removesuffix('.0') if is_fraction else round(number)} {unit}"
