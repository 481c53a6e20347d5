"""Progress of long work on standard error."""

from __future__ import annotations

import sys
import time


class Progress:
    """Cells (or other units) done, elapsed time and time left, on standard error: in place on a terminal, else a line every ten
    seconds."""

    def __init__(self, total, quiet=False, unit="cells"):
        self.total, self.done, self.quiet, self.unit = total, 0, quiet, unit
        self.start = self.last = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def add(self, cells, failed):
        """Count cells as done and, at most every so often, say so."""
        self.done += cells
        now = time.monotonic()
        if self.quiet or now - self.last < (0.2 if self.terminal else 10.0):
            return
        self.last = now
        elapsed = now - self.start
        left = elapsed * (self.total - self.done) / self.done
        text = f"{self.done:,} of {self.total:,} {self.unit}, {clock(elapsed)} elapsed, about {clock(left)} left"
        text += f", {failed} failed" if failed else ""
        print(f"\r\033[K{text}" if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr, flush=True)

    def close(self):
        """Clear the line."""
        if not self.quiet and self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


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
