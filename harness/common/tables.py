"""Format tables as plain text with aligned columns, by means of the library rich."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDEST = 10_000  # characters per line: so wide that rich never cuts a line


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
        Entries of each row. Integers get commas between thousands.
    head : sequence of str
        Names of the columns. If empty, the table has no head.
    right : sequence of int
        Positions of the columns that are aligned to the right, from 0.
    indent : int
        Number of spaces before each line.

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
