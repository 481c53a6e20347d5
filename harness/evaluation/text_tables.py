"""Tables of texts: numbers with their errors, formatted for readers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from harness.common.wording import DASH, format_fixed
from harness.evaluation.items import formatted

Rows: TypeAlias = dict[tuple[Any, ...], dict[str, str]]


def entries(
    frame: pd.DataFrame,
    index: Sequence[str],
    column: str,
    value: str = "mean",
    error: str | None = "se",
    digits: int = 4,
    scale: float = 1.0,
    text: Callable[[Any], str] | None = None,
    into: Rows | None = None,
) -> Rows:
    """Format the numbers of a frame as the entries of a table, {index: {column: text}}.

    Parameters
    ----------
    frame : DataFrame
        One number per row, as `items.means`, `items.evaluated` or `items.printed` return it.
    index : sequence of str
        One format per level of the table's index, such as ("{model}", "{n:,}"). The fields are
        columns of the frame.
    column : str
        Format of the name of the table's column.
    value, error : str
        Names of the frame's columns for the text 'value ± error'.
    digits, scale : int, float
        Digits after the point, and a factor by which value and error are multiplied.
    text : callable, optional
        Function that takes a row of the frame (a named tuple) and returns the entry. Default: the
        text 'value ± error'.
    into : dict, optional
        Entries of an earlier call. The new entries are added to this dict, which is also returned.
    """
    rows: Rows = {} if into is None else into
    keys = zip(*(formatted(frame, level) for level in index))
    for key, name, r in zip(keys, formatted(frame, column), frame.itertuples()):
        if text is None:
            spread = np.nan if error is None else scale * getattr(r, error)
            entry = format_fixed(scale * getattr(r, value), spread, digits)
        else:
            entry = text(r)
        rows.setdefault(key, {})[name] = entry
    return rows


def wide(
    rows: Mapping[Hashable, Mapping[str, Any]],
    levels: Sequence[str],
    heading: str,
    first: Iterable[str] = (),
    none: str = "none: no cell gave a number",
) -> pd.DataFrame:
    """Build a table of texts, with a dash for every missing entry.

    Parameters
    ----------
    rows : mapping
        {index: {column: text}}. The index is a tuple if the table's index has several levels.
    levels : sequence of str
        Names of the levels of the index.
    heading : str
        Meaning of the entries. It becomes the name of the columns and stands above them.
    first : iterable of str
        Columns that come first, in this order. Other columns follow in the order in which they
        appear. Names that no row has are ignored.
    none : str
        Text of a table without rows.

    Examples
    --------
    >>> rows = {("a", 1): {"x": "0.1"}, ("b", 2): {"y": "0.2"}}
    >>> wide(rows, ["problem", "n"], "l1: mean").to_csv(sep=" ").splitlines()
    ['problem n x y', 'a 1 0.1 –', 'b 2 – 0.2']
    """
    named = dict.fromkeys(column for row in rows.values() for column in row)
    columns = [*dict.fromkeys(c for c in first if c in named)]
    columns += [c for c in named if c not in columns]
    keys = [key if isinstance(key, tuple) else (key,) for key in rows] or [(DASH,) * len(levels)]
    data = [[row.get(c, DASH) for c in columns] for row in rows.values()] or [[none]]
    index = pd.MultiIndex.from_tuples(keys, names=list(levels))
    table = pd.DataFrame(data, index, columns or ["numbers"], dtype=object)
    table.columns.name = heading
    return table
