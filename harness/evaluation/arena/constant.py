"""The constant of the arena, an estimator that ignores the data, as a line of reference.

It always returns the median true value of the arena's problems, apart from truths of 0. An
estimator that is not more accurate tells nothing about a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation.arena.rules import BOARD, CALIBRATED
from harness.records.baseline import concatenate
from harness.records.schema import has_number

# Id of the constant in records. No Python name contains a space, so that no estimator has this id.
CONSTANT_ID = "constant of the arena"
# Number of samples of one size with the same value from which on an estimator is called constant.
# Many estimators are cut at 0, so that several zeros are no surprise.
LEAST_SAMPLES, LEAST_ZEROS = 3, 10


def median_truths(truths: Iterable[Mapping[str, Sequence[Any]]]) -> dict[tuple[str, str], float]:
    """Return {(notion, estimand): median of the true values above 0}.

    `truths` has {"notion|estimand": [value, ...]} of each problem, as in `Baseline.truths`.

    Examples
    --------
    >>> median_truths([{"binary|l1": [0.1]}, {"binary|l1": [0.3]}, {"binary|l1": [0.0]}])
    {('binary', 'l1'): 0.2}
    """
    values: dict[str, list[float]] = {}
    for pairs in truths:
        for pair, (value, *_) in pairs.items():
            if value > CALIBRATED:
                values.setdefault(pair, []).append(value)
    medians = {pair: float(np.median(several)) for pair, several in values.items()}
    return {(notion, name): c for pair, c in medians.items() for notion, name in [pair.split("|")]}


def add_constant(records: pd.DataFrame, constants: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """Add records of an estimator that ignores the data and always returns a constant.

    Parameters
    ----------
    records : DataFrame
        Records with the columns `baseline.COMPARED`.
    constants : mapping
        {(notion, estimand): value}. Other notions and estimands get no records.

    Returns
    -------
    DataFrame
        The records, followed by one of CONSTANT_ID for each sample and estimand.
    """
    draw = ["problem", "notion", "n", "rep", "estimand"]
    rows = records[records["estimand"].notna() & records["truth"].notna()].drop_duplicates(draw)
    pairs = zip(rows["notion"], rows["estimand"])
    values = np.array([constants.get(pair, math.nan) for pair in pairs], dtype=float)
    rows = rows.assign(value=values)[~np.isnan(values)]
    texts = {"estimator": CONSTANT_ID, "kind": "point", "status": "ok"}
    rows = rows.assign(
        key=[f"constant {key}" for key in rows["key"]],
        low=np.nan, high=np.nan, reason=None, seconds=0.0, cpu_seconds=0.0, **texts,
    )  # fmt: skip
    for name in records:
        rows[name] = rows[name].astype(_base_type(records[name]))
    return concatenate([records, rows[list(records)]])


def _base_type(column: pd.Series) -> Any:
    """Return the type of a column, without the list of its categories."""
    return "category" if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype


def constant_values(records: pd.DataFrame, classes: Mapping[str, int]) -> pd.DataFrame:
    """Find the estimates of an estimator that do not vary with the data.

    An estimate does not vary if all samples with the same n and the same number of classes have the
    same value, up to rounding.

    Parameters
    ----------
    records : DataFrame
        Records of one estimator.
    classes : mapping
        {problem: number of classes}.

    Returns
    -------
    DataFrame
        One row per notion and estimand with such values, and at least LEAST_SAMPLES of them
        (LEAST_ZEROS if all are 0) for one n and one number of classes.
        `samples` is the number of values, `low` and `high` are the smallest and the largest one,
        which differ if the values depend on n or on the number of classes.
    """
    rows = records[has_number(records) & records["value"].notna()]
    rows = rows.astype({"notion": object, "estimand": object})
    rows = rows.assign(k=rows["problem"].astype(object).map(classes))
    ends = rows.groupby([*BOARD, "n", "k"])["value"].agg(["min", "max", "size"])
    ends["varies"] = ends["max"] - ends["min"] > 1e-9 * ends["max"].abs()
    boards = ends.groupby(level=BOARD).agg(
        low=("min", "min"), high=("max", "max"), samples=("size", "sum"),
        largest=("size", "max"), varies=("varies", "any"),
    )  # fmt: skip
    least = np.where(boards["low"].eq(0.0) & boards["high"].eq(0.0), LEAST_ZEROS, LEAST_SAMPLES)
    same = boards[~boards["varies"] & boards["largest"].ge(least)]
    return same.drop(columns=["varies", "largest"]).reset_index()
