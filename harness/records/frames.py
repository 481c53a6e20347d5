"""Records as a DataFrame: of every cell its best attempt, texts as categories, and no column that was not asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.writing import SMALLEST, stated_error
from harness.records import parts, schema

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

ORDER = ("problem", "notion", "n", "rep", "estimator", "estimand")  # rows are in this one
TRUTHS = ("truth", "truth_error")
AT_ONCE = 65_536  # keys, or rows, that are worked on at a time
UNIQUE = ("diagnostics",)  # texts that hardly repeat
_RANKS = {"ok": 0, "undefined": 0, "skipped": 1, "failed": 1}  # of attempts, as records.PREFERENCE
Held = dict[str, Any]  # a column: an array of numbers, or (codes, values) of texts


def frame_of(
    source: Path | list[Path], out: Path, keys: Iterable[str] | Wanted | None, columns: list[str], categories: bool
) -> pd.DataFrame:
    """The records of parts as `records.load_records` gives them."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    asked = [name for name in columns if name not in TRUTHS]
    needed = {*asked, "key", "status", "written", *ORDER, *(("problem_key",) if set(columns) & {*TRUTHS} else ())}
    names = [name for name in schema.COLUMNS if name in needed]
    wanted = keys if keys is None or isinstance(keys, Wanted) else Wanted(keys)
    groups = [group for part in parts.each(source, lambda path: _groups(path, names, wanted)) for group in part]
    held: Held = {}
    for name in names:
        held[name] = _joined([group.pop(name) for group in groups], schema.COLUMNS[name], name in asked)
        pa.default_memory_pool().release_unused()  # the pieces that the column is made of
    key, rows = held["key"][0], np.arange(len(held["written"]))
    rows = rows[_best(key, held["written"], *held["status"])]
    rows = rows[np.lexsort([_plain(held[name])[rows] for name in ("key", *reversed(ORDER))])]
    cell, estimand = key[rows], held["estimand"][0][rows]
    again = (cell[1:] == cell[:-1]) & (estimand[1:] == estimand[:-1])
    if again.any():  # a part that is joined with others while both are there
        rows = rows[np.r_[True, ~again]]
    del cell, estimand, again
    found: Held = {}
    if set(columns) & {*TRUTHS}:
        found |= dict(zip(TRUTHS, _truths(out, held, rows)))
    for name in [*held]:
        column = held.pop(name)
        if name in asked:
            found[name] = _shown(column, rows, categories and name not in UNIQUE) if isinstance(column, tuple) else column[rows]
    return pd.DataFrame({name: found.pop(name) for name in columns}, copy=False)


class Wanted:
    """Keys that are asked for, each once: as numbers, or as texts where one is of another form."""

    def __init__(self, keys: Iterable[str]):
        import numpy as np

        left, found, self.texts = iter(keys), [np.empty(0, dtype=np.uint64)], list[str]()
        while some := list(islice(left, AT_ONCE)):
            numbers = parts.of_texts(some)
            if numbers is None:
                self.texts = [*parts.texts(np.concatenate(found)), *some, *left]
                break
            found.append(numbers)
        self.numbers = None if self.texts else parts.once(np.sort(np.concatenate(found)))

    def __len__(self) -> int:
        return len(set(self.texts)) if self.numbers is None else len(self.numbers)

    def of(self, column: Any, as_numbers: NDArray[np.uint64] | None) -> NDArray[np.bool_]:
        """Of every key of a column whether it is among them."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.numbers is None or as_numbers is None:
            found: NDArray[np.bool_] = pc.is_in(column, value_set=pa.array(self.texts, pa.string())).to_numpy()
            return found
        if not len(self.numbers):
            return np.zeros(len(as_numbers), dtype=bool)
        place = np.minimum(np.searchsorted(self.numbers, as_numbers), len(self.numbers) - 1)
        chosen: NDArray[np.bool_] = self.numbers[place] == as_numbers
        return chosen


def _groups(path: Path, names: list[str], wanted: Wanted | None) -> list[Held]:
    """The columns of the row groups of a part; keys as numbers, or as a list of texts where one is of another form."""
    import pyarrow as pa

    found = []
    for table in parts.tables(path, names):
        keys = parts.numbers(table["key"])
        if wanted is not None:
            chosen = wanted.of(table["key"], keys)
            if not chosen.all():
                table, keys = table.filter(pa.array(chosen)), None if keys is None else keys[chosen]
        held: Held = {"key": table["key"].to_pylist() if keys is None else keys}
        for name in names:
            if name != "key":
                texts = schema.COLUMNS[name] == "str"
                held[name] = _narrow(*parts.coded(table[name])) if texts else table[name].to_numpy()
        found.append(held)
    return found


def _narrow(codes: NDArray[np.int64], values: list[Any]) -> tuple[NDArray[Any], list[Any]]:
    """Codes in the smallest type that holds them."""
    import numpy as np

    return codes.astype(np.min_scalar_type(-max(len(values), 1)), copy=False), values


def _joined(columns: list[Any], kind: str, shown: bool) -> Any:
    """One column of those of all groups: numbers, or (codes, values in order) of texts. Keys that are not shown need no texts."""
    import numpy as np

    if kind != "str":
        dtype = schema.dtype(kind)
        return np.concatenate([np.empty(0, dtype=dtype), *(column.astype(dtype, copy=False) for column in columns)])
    if not columns or not isinstance(columns[0], tuple):
        return _keys(columns, shown)
    values = sorted({value for _, own in columns for value in own})
    place = {value: code for code, value in enumerate(values)}
    dtype = np.min_scalar_type(-max(len(values), 1))
    coded = [np.array([*(place[value] for value in own), -1], dtype=dtype)[codes] for codes, own in columns]
    return np.concatenate([np.empty(0, dtype=dtype), *coded]), values


def _keys(columns: list[Any], shown: bool) -> tuple[NDArray[Any], list[str]]:
    """(codes, values) of the column key."""
    import numpy as np

    if all(not isinstance(column, list) for column in columns):
        whole = np.concatenate([np.empty(0, dtype=np.uint64), *columns])
        begins = np.flatnonzero(parts.begins(whole))  # the rows of a cell follow each other
        numbers, codes = np.unique(whole[begins], return_inverse=True)
        small = codes.astype(np.min_scalar_type(-max(len(numbers), 1)), copy=False)
        return np.repeat(small, np.diff(begins, append=len(whole))), parts.texts(numbers) if shown else []
    given = [key for column in columns for key in (column if isinstance(column, list) else parts.texts(column))]
    values = sorted(set(given))
    place = {value: code for code, value in enumerate(values)}
    return np.array([place[key] for key in given], dtype=np.int64), values


def _best(key: NDArray[Any], written: NDArray[Any], states: NDArray[Any], statuses: list[str]) -> NDArray[np.bool_]:
    """Which rows are of the best attempt at their cell: rows of one cell that were written at once are an attempt."""
    import numpy as np

    cells = int(key.max(initial=-1)) + 1
    first, last = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(first, key, written)
    np.maximum.at(last, key, written)
    fine: NDArray[np.bool_] = ~(first < last)[key]
    if fine.all():
        return fine
    rank = np.array([_RANKS.get(status, 2) for status in statuses])
    rows = np.flatnonzero(~fine)
    rows = rows[np.lexsort((written[rows], key[rows]))]
    new = np.flatnonzero(np.r_[True, (np.diff(key[rows]) != 0) | (np.diff(written[rows]) != 0)])
    of_cell, at = key[rows][new], written[rows][new]
    worst = np.maximum.reduceat(rank[states[rows]], new)
    order = np.lexsort((-at, worst, of_cell))
    cell, place = np.unique(of_cell[order], return_index=True)
    best = np.empty(cells)
    best[cell] = at[order][place]
    fine[rows] = written[rows] == best[key[rows]]
    return fine


def _plain(column: Any) -> NDArray[Any]:
    """What a column is sorted by: numbers, or codes, those of nothing last."""
    import numpy as np

    if not isinstance(column, tuple):
        found: NDArray[Any] = column
        return found
    codes, values = column
    if not (codes < 0).any():
        plain: NDArray[Any] = codes
        return plain
    return np.where(codes < 0, len(values), codes)


def _truths(out: Path, held: Held, rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The stored truths and their errors, NaN where none is known."""
    import numpy as np
    import pandas as pd

    columns = [held[name] for name in ("problem_key", "notion", "estimand")]
    sizes = [len(values) + 1 for _, values in columns]
    combined = np.zeros(len(rows), dtype=np.int64)
    for size, (codes, _) in zip(sizes, columns):
        combined *= size
        combined += codes[rows]
        combined += 1
    where, once = pd.factorize(combined)
    stored: dict[Any, dict[str, Any]] = {}
    found = []
    for codes in zip(*np.unravel_index(once, sizes)):
        problem, notion, estimand = (values[code - 1] if code else None for code, (_, values) in zip(codes, columns))
        if problem not in stored:
            stored[problem] = schema.read_truths(out, str(problem))
        truth = stored[problem].get(f"{notion}|{estimand}") or (np.nan, np.nan)
        found.append([float(truth[0]), stated_error(float(truth[1]))])
    both = np.array(found, dtype=float).reshape(-1, 2)
    return both[where, 0], both[where, 1]


def _shown(column: tuple[NDArray[Any], list[Any]], rows: NDArray[Any], categories: bool) -> Any:
    """A column of texts as it is shown: categories, or objects, of which equal ones are one."""
    import numpy as np
    import pandas as pd

    codes, values = column
    if categories:
        return pd.Categorical.from_codes(codes[rows], categories=pd.Index(values, dtype=object))
    nothing = np.nan if values else None  # as pandas reads texts, and a column without any
    return pd.Series(np.array([*values, nothing], dtype=object)[codes[rows]], dtype=object)


def digest_of(frame: pd.DataFrame, texts: Iterable[str], numbers: Iterable[str]) -> str:
    """Sixteen digits that identify the rows by these columns, in whatever order they are: texts, and numbers to eight digits
    (at twelve, one of so many would differ between two processors). They are of the hashes that
    pandas.util.hash_pandas_object gives of the rows, made one column after the other."""
    import numpy as np
    import pandas as pd

    combined, factor = np.full(len(frame), 0x345678, dtype=np.uint64), 1000003  # of Python's hash of a tuple
    columns = [*texts, *numbers]
    for position, name in enumerate(columns):
        column = frame[name]
        if name in numbers:
            given = column.to_numpy(dtype=float)
            own = np.empty(len(given), dtype=np.uint64)
            for at in range(0, len(given), AT_ONCE):
                own[at : at + AT_ONCE] = pd.util.hash_array(_rounded(given[at : at + AT_ONCE]))
        elif isinstance(column.dtype, pd.CategoricalDtype):  # digests are those of the texts
            values = np.array([*column.cat.categories, ""], dtype=object)  # the last is the code of nothing
            own = pd.util.hash_array(values, categorize=False)[column.cat.codes.to_numpy()]
        else:
            own = pd.util.hash_pandas_object(column.fillna("").astype(str), index=False).to_numpy()
        combined ^= own
        combined *= np.uint64(factor)
        factor += 82520 + 2 * (len(columns) - position)
    combined += np.uint64(97531)
    combined.sort()
    found = hashlib.blake2b(digest_size=8)
    for at in range(0, len(combined), AT_ONCE):
        found.update(combined[at : at + AT_ONCE].tobytes().hex().encode())
    return found.hexdigest()


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to eight significant digits, 0 below 1e-12 and -inf for none."""
    import numpy as np

    values = np.where(np.abs(values) < SMALLEST, 0.0, values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place = 10.0 ** (7 - np.floor(np.log10(np.where(values != 0.0, np.abs(values), 1.0))))
        rounded = np.round(values * place) / place
    return np.where(np.isnan(rounded), -np.inf, rounded)
