"""Tables of texts: numbers with their errors as people read them, by rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import DASH, format_fixed
from harness.evaluation.items import formatted

Rows = dict[tuple, dict[str, str]]


def extremes(frame: pd.DataFrame, value: str, at: str) -> dict[str, str]:
    """A row of a table: the smallest and largest `value` of the frame, where in its column `at` they are, and their ratio.

    Examples
    --------
    >>> extremes(pd.DataFrame({"x": [-1.0, 1.0], "mean": [0.1, 0.3]}), "mean", "x")
    {'smallest': '0.1', 'at': '-1.00', 'largest': '0.3', 'at ': '+1.00', 'largest / smallest': '3'}
    """
    (low, at_low), (high, at_high) = (
        frame.loc[i, [value, at]] for i in (frame[value].idxmin(), frame[value].idxmax())
    )
    ends = {
        "smallest": f"{low:.4g}",
        "at": f"{at_low:+.2f}",
        "largest": f"{high:.4g}",
        "at ": f"{at_high:+.2f}",
    }
    return {**ends, "largest / smallest": f"{high / low:.3g}" if low > 0 else DASH}


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
    """The rows of a table, {index: {column: text}}, out of a frame with one number per row.

    Parameters
    ----------
    frame : DataFrame
        As of `means`, `evaluated` or `printed`.
    index : sequence of str
        Formats over the frame's columns, one per level of the table's index, as in ("{model}", "{n:,}").
    column : str
        Format of the table's column.
    value, error : str
        The columns of the frame for 'value ± error'.
    digits, scale : int, float
        Digits after the point, and the factor of value and error.
    text : callable, optional
        Takes a row of the frame (a named tuple) and gives the entry, in place of 'value ± error'.
    into : dict, optional
        Rows to be added to; they are changed and returned.
    """
    rows: Rows = {} if into is None else into
    places = zip(
        zip(*(formatted(frame, level) for level in index)),
        formatted(frame, column),
        frame.itertuples(),
    )
    for key, name, r in places:
        if text is not None:
            rows.setdefault(key, {})[name] = text(r)
        else:
            spread = np.nan if error is None else scale * getattr(r, error)
            rows.setdefault(key, {})[name] = format_fixed(scale * getattr(r, value), spread, digits)
    return rows


def columns(
    frame: pd.DataFrame,
    index: Sequence[str],
    shown: Mapping[str, Sequence[Any]],
    into: Rows | None = None,
) -> Rows:
    """As `entries`, several columns at once, row by row.

    Parameters
    ----------
    frame, into
        As of `entries`.
    index : sequence of str
        One per level: a column of the frame, whose values are taken as they are, or a format over the columns.
    shown : mapping
        {format of the table's column: (value, error, digits)} in their order: columns of the frame; the error may be None, and
        the digits may be left out (4).

    Examples
    --------
    >>> columns(pd.DataFrame({"n": [100], "mean": [0.5], "se": [0.01]}), ["n"], {"l1": ("mean", "se", 2)})
    {(100,): {'l1': '0.50 ± 0.01'}}
    """
    rows: Rows = {} if into is None else into
    keys = zip(*(frame[level] if level in frame else formatted(frame, level) for level in index))
    names = zip(*(formatted(frame, column) for column in shown))
    for key, of_row, r in zip(keys, names, frame.itertuples()):
        for name, (value, error, *digits) in zip(of_row, shown.values()):
            text = format_fixed(
                getattr(r, value), np.nan if error is None else getattr(r, error), *digits
            )
            rows.setdefault(key, {})[name] = text
    return rows


def wide(
    rows: Mapping[Hashable, Mapping[str, Any]],
    levels: Sequence[str],
    heading: str,
    first: Iterable[str] = (),
    none: str = "none: no cell gave a number",
) -> pd.DataFrame:
    """A table of texts, with a dash where there is nothing.

    Parameters
    ----------
    rows : mapping
        {index: {column: text}}; an index of several levels is a tuple.
    levels : sequence of str
        The names of the levels.
    heading : str
        What the entries are; it stands above the columns.
    first : iterable of str
        The columns that come first, in order; others follow as they come. Those that no row has are left out.
    none : str
        What the table says where there is no row.

    Examples
    --------
    >>> made = wide({("a", 1): {"x": "0.1"}, ("b", 2): {"y": "0.2"}}, ["problem", "n"], "l1: mean")
    >>> made.to_csv(sep=" ").splitlines()
    ['problem n x y', 'a 1 0.1 –', 'b 2 – 0.2']
    """
    named = list(dict.fromkeys(c for row in rows.values() for c in row))
    columns = [c for c in dict.fromkeys(first) if c in named]
    columns += [c for c in named if c not in columns]
    keys = [key if isinstance(key, tuple) else (key,) for key in rows] or [(DASH,) * len(levels)]
    data = [[row.get(c, DASH) for c in columns] for row in rows.values()] or [[none]]
    index = pd.MultiIndex.from_tuples(keys, names=list(levels))
    table = pd.DataFrame(data, index, columns or ["numbers"], dtype=object)
    table.columns.name = heading
    return table


def size_columns(frame: pd.DataFrame) -> list[str]:
    """The columns 'n = 1,000', ... of a table, in the order of the frame's sizes n."""
    return [f"n = {n:,}" for n in sorted(frame["n"].unique())]


def slope_entries(fit: Mapping[str, Any]) -> dict[str, str]:
    """Entries of a table for a row of `rates.excess_slopes`: the slope with its error, from which n on where sizes are left out,
    and over the first and the last decade."""
    of_some = (
        f" (n ≥ {fit['n_min']:,.0f})" if fit["left_out"] and fit["slope"] == fit["slope"] else ""
    )
    decades = {f"{end} decade": format_fixed(fit[end], digits=3) for end in ("first", "last")}
    return {"slope": format_fixed(fit["slope"], fit["se"], 3) + of_some, **decades}
