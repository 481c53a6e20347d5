"""Blocks of rows, so that intermediate arrays of a large sample stay small."""

from __future__ import annotations

# Rows of a block. Arrays of larger blocks leave the processor's cache, and malloc gives each of
# them new pages: at n = 10^7, that doubles the time of arithmetic.
ROWS = 1 << 14


def row_blocks(n: int, size: int = ROWS) -> list[slice]:
    """Return slices of at most `size` rows that cover n rows.

    Examples
    --------
    >>> row_blocks(5, 3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]
