"""Groups of rows that other columns of a file define, and the calibration error of each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.wording import format_count
from harness.judging.bins import Array, Integers
from harness.judging.findings import GroupFinding
from harness.judging.gaps import Gap, describe, holm, measure_gap, worst_first

FEWEST_ROWS = 20  # smaller groups are pooled
MOST_GROUPS = 20  # number of the largest groups of a column that are kept; the others are pooled
MOST_COLUMNS = 20
MOST_VALUES = 10  # a numeric column with more distinct values is cut at its quintiles
QUINTILES = (0.2, 0.4, 0.6, 0.8)


def judge_groups(
    columns: Mapping[str, NDArray[Any]],
    x: Array,
    hit: Integers,
    level: float,
    other_searches: int = 0,
) -> tuple[list[GroupFinding], list[str]]:
    """Compare scores and events within the groups that some columns define.

    Parameters
    ----------
    columns : mapping of str to array (n,)
        {name: values}. Values are texts or numbers, and may be missing.
    x, hit : array (n,)
        Scores, and events in {0, 1}.
    level : float
        Level of each interval by itself. P-values are corrected (Holm) for the number of groups of
        all columns.
    other_searches : int
        Number of searches for the worst among other things than groups, such as classes.
        P-values are corrected (Bonferroni) for these too.

    Returns
    -------
    findings : list of GroupFinding
        The groups of all columns, the worst first.
    notes : list of str
        Sentences on groups that were cut, pooled or left out.

    Examples
    --------
    >>> sex = np.repeat(["f", "m"], 100)
    >>> hit = np.r_[np.repeat([0, 1], 50), np.ones(100, int)]
    >>> groups, notes = judge_groups({"sex": sex}, np.full(200, 0.5), hit, 0.95)
    >>> [(group.value, round(group.gap.value, 2), group.stands_out) for group in groups]
    [('m', -0.5, True), ('f', 0.0, False)]
    """
    notes: list[str] = []
    gaps: list[tuple[str, str, Gap]] = []
    if len(columns) > MOST_COLUMNS:
        notes.append(f"Only the first {MOST_COLUMNS} of {len(columns)} group columns were used.")
    for column in list(columns)[:MOST_COLUMNS]:
        labels, texts, column_notes = split(column, np.asarray(columns[column]))
        notes += column_notes
        for i, text in enumerate(texts):
            rows = labels == i
            gaps.append((column, text, measure_gap(x[rows], hit[rows], level)))
    adjusted = holm([gap.p_value for _, _, gap in gaps], other_searches + 1)
    # A gap implies miscalibration. Therefore it is only tested if calibration is rejected.
    of_gaps = np.maximum(adjusted, holm([gap.gap_p_value for _, _, gap in gaps])).tolist()
    findings = []
    for (column, text, gap), p_value, p_value_of_gap in zip(gaps, adjusted, of_gaps):
        if p_value_of_gap > 1.0 - level:
            gap = replace(gap, gap=gap.gap.with_zero())
        sentence, gap = describe(f"{column} = {text}", gap, p_value <= 1.0 - level)
        if gap.impossible:
            outcomes = format_count(gap.impossible, "outcome")
            sentence += f" {outcomes} that occurred had probability 0."
        findings.append(
            GroupFinding(
                *(column, text, gap.n, gap.gap, gap.error, p_value, sentence), p_value_of_gap
            )
        )
    sizes = [abs(finding.gap.value or 0.0) for finding in findings]
    p_values = [gap.gap_p_value for _, _, gap in gaps]
    order = worst_first([finding.stands_out for finding in findings], p_values, sizes)
    return [findings[i] for i in order], notes


def split(column: str, values: NDArray[Any]) -> tuple[Integers, list[str], list[str]]:
    """Return the group of every row (-1 for none), the names of the groups, and notes.

    Numbers with more than 10 distinct values are cut at their quintiles. Groups of fewer than 20
    rows, and those beyond the 20 largest, are pooled, unless one large group is left. Missing
    values (None, NaN, empty texts) are a group. A column with one value, or only with rare values,
    has no groups.
    """
    nothing = np.full(len(values), -1)
    missing = pd.isna(values) | (values.astype(object) == "")
    known = values[~missing]
    if len(known) == 0:
        return nothing, [], [f"{column} is empty and was left out."]
    notes = []
    numbers = _numbers(known)
    labels = np.full(len(values), -1)
    if numbers is not None and len(np.unique(numbers)) > MOST_VALUES:
        edges = np.unique(np.quantile(numbers, QUINTILES))
        labels[~missing] = np.searchsorted(edges, numbers, side="left")
        shown = [f"{edge:.4g}" for edge in edges]
        middle = [f"{low} to {high}" for low, high in zip(shown[:-1], shown[1:])]
        texts = [f"at most {shown[0]}", *middle, f"above {shown[-1]}"]
        notes.append(f"{column} has many values and was cut at its quintiles ({', '.join(shown)}).")
    else:
        names = np.array([str(value) for value in known.tolist()], dtype=object)
        unique, index, counts = np.unique(names, return_inverse=True, return_counts=True)
        if len(unique) > MOST_GROUPS and counts.max() < FEWEST_ROWS:
            note = f"{column} has {len(unique):,} different values, each too rare to be a group."
            return nothing, [], [note]
        labels[~missing], texts = index, list(unique)
    labels[missing] = len(texts)
    texts.append("(missing)")
    sizes = np.bincount(labels, minlength=len(texts))
    if (sizes > 0).sum() < 2:
        return nothing, [], [f"{column} has a single value and was left out."]
    return _pool(column, labels, texts, sizes, notes)


def _numbers(values: NDArray[Any]) -> Array | None:
    """Convert the values to numbers, or return None if some are not finite numbers."""
    if values.dtype.kind == "b":
        return None
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else None


def _pool(
    column: str, labels: Integers, texts: list[str], sizes: Integers, notes: list[str]
) -> tuple[Integers, list[str], list[str]]:
    """Keep the largest groups and pool the others. The result is that of `split`.

    `sizes` is the number of rows of each group.
    """
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
    kept = largest[sizes[largest] >= FEWEST_ROWS]
    new = np.full(len(texts), -1)
    new[kept] = np.arange(len(kept))
    names = [texts[i] for i in kept]
    others = np.setdiff1d(np.flatnonzero(sizes), kept)
    rows, count = int(sizes[others].sum()), len(others)
    if count == 1 and rows < FEWEST_ROWS:
        notes.append(
            f"{column} = {texts[others[0]]} was left out: it has fewer than {FEWEST_ROWS} rows."
        )
    elif count == 1:
        new[others] = len(names)
        names.append(texts[others[0]])
    elif rows >= FEWEST_ROWS:
        new[others] = len(names)
        names.append(f"{count:,} others")
        notes.append(f"The {count:,} smallest groups of {column} were pooled ({rows:,} rows).")
    elif count:
        notes.append(
            f"{count:,} groups of {column} were left out: they have only {rows:,} rows together."
        )
    return new[labels], names, notes
