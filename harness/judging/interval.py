"""A number of a judgement with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Interval:
    """A value with its interval. `low` or `high` is None if the interval has no such end."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95

    def with_zero(self) -> Interval:
        """Return the interval extended to 0."""
        return self.including(0.0)

    def including(self, value: float) -> Interval:
        """Return the interval extended to `value`."""
        low = None if self.low is None else min(self.low, value)
        high = None if self.high is None else max(self.high, value)
        return replace(self, low=low, high=high)

    def reaching(self, value: float) -> Interval:
        """Return the interval with its upper end raised to `value`, if it has one below.

        Examples
        --------
        >>> Interval(0.2, 0.1, 0.3).reaching(0.4).high, Interval(0.2, 0.1).reaching(0.4).high
        (0.4, None)
        """
        return self if self.high is None else replace(self, high=max(self.high, value))

    @property
    def sign(self) -> int:
        """1 if the interval is above 0, -1 if it is below 0, else 0. For infinite ends it is 0."""
        is_above = self.low is not None and math.inf > self.low > 0.0
        is_below = self.high is not None and -math.inf < self.high < 0.0
        return int(is_above) - int(is_below)
