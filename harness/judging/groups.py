"""Groups of rows by the other columns of a file: which groups there are, and how far off the scores are in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.judging.findings import GroupFinding
from harness.judging.gaps import Gap, gap_of, holm, worst_first
from harness.judging.words import with_zero

SMALLEST = 20  # rows; smaller groups are pooled
MOST_GROUPS = 20  # of a column, the largest; the rest are pooled
MOST_COLUMNS = 20
MOST_VALUES = 10  # of a numeric column that is taken as it is
CUTS = (0.2, 0.4, 0.6, 0.8)


def groups_of(
    columns: Mapping[str, NDArray[Any]],
    x: NDArray[np.float64],
    hit: NDArray[np.int64],
    level: float,
) -> tuple[tuple[GroupFinding, ...], list[str]]:
    """The groups of all columns, worst first, and notes on what was cut, pooled or left out.

    Parameters
    ----------
    columns : mapping of str to array (n,)
        Texts or numbers, missing values allowed.
    x, hit : array (n,)
        Scores, and events in {0, 1}.
    level : float
        Of the intervals, each on its own; p-values are corrected (Holm) over all groups of all columns.

    Examples
    --------
    >>> sex = np.repeat(["f", "m"], 100)
    >>> found, notes = groups_of({"sex": sex}, np.full(200, 0.5), np.r_[np.repeat([0, 1], 50), np.ones(100, int)], 0.95)
    >>> [(one.value, round(one.gap.value, 2), round(one.adjusted, 3)) for one in found]
    [('m', -0.5, 0.0), ('f', 0.0, 1.0)]
    """
    notes: list[str] = []
    gaps: list[tuple[str, str, Gap]] = []
    names = list(columns)
    if len(names) > MOST_COLUMNS:
        notes.append(
            f"Only the first {MOST_COLUMNS} of {len(names)} columns of groups were looked at."
        )
    for column in names[:MOST_COLUMNS]:
        labels, texts, said = split(column, np.asarray(columns[column]))
        notes += said
        for i, text in enumerate(texts):
            rows = labels == i
            gaps.append((column, text, gap_of(x[rows], hit[rows], level)))
    adjusted = holm([gap.p_value for _, _, gap in gaps])
    found = [
        _finding(column, text, gap, p, level) for (column, text, gap), p in zip(gaps, adjusted)
    ]
    order = worst_first(
        adjusted,
        [gap.p_value for _, _, gap in gaps],
        [one.error.value or 0.0 for one in found],
        1.0 - level,
    )
    return tuple(found[i] for i in order), notes


def split(column: str, values: NDArray[Any]) -> tuple[NDArray[np.intp], list[str], list[str]]:
    """The group of every row (-1: none), the groups' names and notes.

    Numbers of more than 10 distinct values are cut at their quintiles; groups of fewer than 20 rows, and those beyond the 20
    largest, are pooled; missing values are a group. A column of one value, or of nearly as many as rows, has no groups.
    """
    missing = _missing(values)
    notes: list[str] = []
    texts: list[str]
    number = _numbers(values, missing)
    if number is not None and len(np.unique(number[~missing])) > MOST_VALUES:
        edges = np.unique(np.quantile(number[~missing], CUTS))
        labels = np.searchsorted(edges, np.where(missing, edges[0], number), side="left")
        shown = [f"{edge:.4g}" for edge in edges]
        texts = [
            f"at most {shown[0]}",
            *(f"{a} to {b}" for a, b in zip(shown[:-1], shown[1:])),
            f"above {shown[-1]}",
        ]
        notes.append(f"{column} has many values and was cut at its quintiles ({', '.join(shown)}).")
    else:
        kept = np.array([_text(v) for v in values[~missing]], dtype=object)
        if len(kept) == 0:
            return np.full(len(values), -1), [], [f"{column} is empty and was not looked at."]
        names, own, counts = np.unique(kept, return_inverse=True, return_counts=True)
        if len(names) > MOST_GROUPS and counts.max() < SMALLEST:
            return (
                np.full(len(values), -1),
                [],
                [f"{column} has {len(names):,} different values, each too rare to be a group."],
            )
        labels, texts = np.full(len(values), -1), [str(name) for name in names]
        labels[~missing] = own
    labels = np.where(missing, len(texts), labels)
    texts = [*texts, "(missing)"]
    sizes = np.bincount(labels, minlength=len(texts))
    if (sizes > 0).sum() < 2:
        return np.full(len(values), -1), [], [f"{column} has a single value and was not looked at."]
    return _pooled(column, labels, texts, sizes, notes)


def _pooled(
    column: str,
    labels: NDArray[np.intp],
    texts: list[str],
    sizes: NDArray[np.intp],
    notes: list[str],
) -> tuple[NDArray[np.intp], list[str], list[str]]:
    largest = np.argsort(-sizes, kind="stable")[:MOST_GROUPS]
    own = np.array([i for i in sorted(largest) if sizes[i] >= SMALLEST], dtype=np.intp)
    rest = int((sizes > 0).sum()) - len(own)
    new = np.full(len(texts), -1)
    new[own] = np.arange(len(own))
    found = [texts[i] for i in own]
    if rest == 1 and len(own) < MOST_GROUPS:
        name = texts[next(i for i in np.flatnonzero(sizes) if i not in own)]
        notes.append(f"{column} = {name} has too few rows to be judged (fewer than {SMALLEST}).")
    elif rest:
        others = new < 0
        pooled = int(sizes[others].sum())
        if pooled >= SMALLEST:
            new[others] = len(found)
            found.append(f"{rest:,} others")
            notes.append(
                f"Of {column}, the {rest:,} smallest groups were pooled ({pooled:,} rows)."
            )
        else:
            notes.append(
                f"Of {column}, {rest:,} groups have too few rows to be judged ({pooled:,} rows together)."
            )
    return new[labels], found, notes


def _finding(column: str, text: str, gap: Gap, adjusted: float, level: float) -> GroupFinding:
    value = gap.gap.value or 0.0
    if adjusted > 1.0 - level:
        gap = replace(gap, gap=with_zero(gap.gap), error=with_zero(gap.error))
        sentence = f"{column} = {text}: nothing stands out ({gap.said:.3f} said, {gap.happened:.3f} happened)."
    elif gap.gap.low is not None and gap.gap.high is not None and gap.gap.low * gap.gap.high > 0.0:
        way = "high" if value > 0.0 else "low"
        about = f"({gap.said:.3f} said, {gap.happened:.3f} happened)"
        sentence = (
            f"{column} = {text}: scores are too {way} by {abs(value):.3f} on average {about}."
        )
    else:
        sentence = f"{column} = {text}: scores are right on average, and wrong by score."
    return GroupFinding(column, text, gap.n, gap.gap, gap.error, adjusted, sentence)


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.array(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([v is None or v != v or v == "" for v in values], dtype=bool)
    return (
        np.array(values == "") if values.dtype.kind in "US" else np.zeros(len(values), dtype=bool)
    )


def _numbers(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """The values as floats where all that are there are numbers."""
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if values.dtype.kind == "b" or missing.all():
        return None
    found = np.full(len(values), np.nan)
    try:
        found[~missing] = values[~missing].astype(np.float64)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found[~missing]).all() else None


def _text(value: Any) -> str:
    return str(value.item() if isinstance(value, np.generic) else value)
