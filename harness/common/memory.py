"""Limit on memory that holds unless `max_memory` is given."""

from __future__ import annotations

import os

SHARE = 0.8  # part of the machine's memory


def default_limit() -> int:
    """Return 80 % of the machine's memory in bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(SHARE * machine)
