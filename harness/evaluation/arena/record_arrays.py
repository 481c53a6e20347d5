"""Arrays of values by estimator and replication, from the records of the arena."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import BadInputError
from harness.evaluation.arena.rules import OTHER, map_families

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]


def add_estimands(records: pd.DataFrame) -> pd.DataFrame:
    """Return the records with an estimand in every row.

    The row of a cell without any estimate is repeated for every estimand that its estimator
    returned in other cells of the same notion. If there are none, it is repeated for the estimands
    that the estimator returned under other notions; a skipped cell is then dropped instead.
    """
    counted = ("ok", "imported", "failed", "undefined", "skipped")
    frame = _select(records, records["status"].isin(counted))
    if "key" in frame:
        frame = _select(frame, ~frame.duplicated(["key", "estimand", "status", "value"]))
    is_named = frame["estimand"].notna()
    named, bare = _select(frame, is_named), frame[~is_named]
    if bare.empty:
        return named
    bare = bare.drop(columns="estimand")
    given = named[["estimator", "notion", "estimand"]].drop_duplicates()
    here = bare.merge(given, on=["estimator", "notion"])
    has_notion = _pairs(bare).isin(_pairs(given))
    rest = bare[~has_notion & bare["status"].ne("skipped")]
    elsewhere = rest.merge(given[["estimator", "estimand"]].drop_duplicates(), on="estimator")
    elsewhere = elsewhere.merge(given[["notion", "estimand"]].drop_duplicates())
    parts = [part[named.columns] for part in (named, here, elsewhere) if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else named


def _select(frame: pd.DataFrame, mask: pd.Series) -> pd.DataFrame:
    """Return the rows of a mask, without a copy if these are all rows."""
    return frame if mask.all() else frame[mask]


def _pairs(frame: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(frame[["estimator", "notion"]])


def add_family_and_classes(
    frame: pd.DataFrame, families: Mapping[str, Iterable[str]], classes: Mapping[str, int]
) -> pd.DataFrame:
    problems = frame["problem"].astype(object)
    absent = sorted(set(problems) - set(classes))
    if absent:
        raise BadInputError(
            f"classes lacks {', '.join(absent[:3])}; "
            "pass the number of classes of every problem in the records."
        )
    family = problems.map(map_families(families)).astype(object).fillna(OTHER)
    return frame.assign(family=family, k=problems.map(classes).astype(int))


def build_arrays(frame: pd.DataFrame, row: Ints, numbered: Mask) -> tuple[Floats, Mask]:
    """Return the values and the mask of missing answers, each of shape (rows, replications).

    A row stands for an estimator in a setting. `frame` holds the records, `row` the row of each
    record, and `numbered` the mask of the records with a number. Values are NaN where there is no
    number. An answer is missing if the cell failed or is undefined.
    """
    draws = ["seed", "rep"] if "seed" in frame and frame["seed"].notna().all() else ["rep"]
    rep = frame.groupby(draws, sort=True).ngroup().to_numpy()
    shape = (int(row.max(initial=-1)) + 1, int(rep.max(initial=-1)) + 1)
    values = np.full(shape, np.nan)
    given = frame["value"].to_numpy(float)[numbered]
    values[row[numbered], rep[numbered]] = given
    differs = values[row[numbered], rep[numbered]] != given
    if differs.any():
        twice = frame[numbered].iloc[int(differs.argmax())]
        raise BadInputError(
            f"records have two values of {twice['estimator']} on {twice['problem']}, "
            f"n = {twice['n']}, rep {twice['rep']}; pass the records of one run."
        )
    lost = np.zeros(shape, bool)
    without = frame["status"].isin(("failed", "undefined")).to_numpy()
    lost[row[without], rep[without]] = True
    # A failed cell may have a number from a later attempt.
    return values, lost & np.isnan(values)
