"""Tables of text in aligned columns, drawn by rich."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDEST = 10_000  # columns: lines are not cut, a terminal wraps them


def text_table(
    rows: Sequence[Sequence[object]],
    head: Sequence[str] = (),
    right: Sequence[int] = (),
    indent: int = 2,
) -> str:
    """Return the rows as lines of aligned columns.

    Parameters
    ----------
    rows : sequence of sequences
        The entries of each row. Thousands of integers are separated.
    head : sequence of str
        Names of the columns; empty for a table without a head.
    right : sequence of int
        Columns that are aligned to the right.
    indent : int
        Spaces before each line.

    Examples
    --------
    >>> print(text_table([("kde", 1200), ("oracle", 7)], head=("id", "cells"), right=[1]))
      id      cells
      kde     1,200
      oracle      7
    """
    columns = max(map(len, [*rows, head]), default=0)
    table = Table(box=None, show_header=bool(head), padding=(0, 2, 0, 0), pad_edge=False)
    for position in range(columns):
        name = Text(head[position]) if position < len(head) else ""
        table.add_column(name, justify="right" if position in right else "left", no_wrap=True)
    for row in rows:
        texts = (f"{value:,}" if isinstance(value, int) else str(value) for value in row)
        table.add_row(*map(Text, texts))
    console = Console(file=io.StringIO(), width=WIDEST, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(f"{'':{indent}}{line}".rstrip() for line in captured.get().splitlines())
