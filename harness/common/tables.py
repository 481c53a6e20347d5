"""Format tables as plain text with aligned columns, and choose the width of printed lines."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

WIDEST = 10_000  # characters per line: so wide that rich never cuts or wraps a line
NARROWEST_COLUMN = 20  # a last column with less space than this is not wrapped
wide = False  # True if the command line has the flag --wide


def line_width() -> int | None:
    """Return the width to which lines of standard output are fitted, or None for whole lines.

    The first of these that applies is used:

    1. the flag --wide: whole lines,
    2. the environment variable COLUMNS,
    3. an output that is no terminal: whole lines,
    4. the width of the terminal.
    """
    if wide:
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def text_table(
    rows: Sequence[Sequence[object]],
    head: Sequence[str] = (),
    right: Sequence[int] = (),
    indent: int = 2,
) -> str:
    """Return the rows as lines of aligned columns.

    If `line_width` is a number, texts of the last column are wrapped to it.

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
    texts = [[f"{v:,}" if isinstance(v, int) else str(v) for v in row] for row in rows]
    columns = max(map(len, [*rows, head]), default=0)
    table = Table(box=None, show_header=bool(head), padding=(0, 2, 0, 0), pad_edge=False)
    for position in range(columns):
        name = Text(head[position]) if position < len(head) else ""
        justify: Literal["left", "right"] = "right" if position in right else "left"
        is_last = position == columns - 1
        table.add_column(name, justify=justify, no_wrap=not is_last, overflow="fold")
    for row in texts:
        table.add_row(*map(Text, row))
    width = _table_width([*texts, head], columns, (line_width() or WIDEST) - indent)
    # Without a height, rich would ask the terminal and take one of type "dumb" as 80 columns wide.
    console = Console(file=io.StringIO(), width=width, height=25, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(f"{'':{indent}}{line}".rstrip() for line in captured.get().splitlines())


def frame_text(frame: pd.DataFrame, index: bool = True) -> str:
    """Return a data frame as text. Columns beyond `line_width` follow below the first ones."""
    return str(frame.to_string(index=index, line_width=line_width()))


def _table_width(rows: Sequence[Sequence[str]], columns: int, width: int) -> int:
    """Return `width`, or WIDEST if that leaves too little space for the last column."""
    others = sum(
        2 + max(len(row[position]) for row in rows if position < len(row))
        for position in range(columns - 1)
    )
    return width if width - others >= NARROWEST_COLUMN else WIDEST
