"""Statistics and tables that several items of this paper share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import format_fixed
from harness.configure.settings import Settings
from harness.evaluation import items, text_tables


def gap(records: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return |bias of the first estimator| - |bias of the second| on the same samples.

    The difference is positive where the second estimator is closer to the truth.

    Parameters
    ----------
    records : DataFrame
        Records of one estimand that have a number and the truth.
    first, second : str
        Ids of the estimators.

    Returns
    -------
    DataFrame
        Indexed by problem and n. Columns: gap, and se, the standard error of the paired difference
        over the replications.
    """
    errors = records.assign(error=records["value"] - records["truth"])
    wide = errors.pivot(index=["problem", "n", "rep"], columns="estimator", values="error")
    wide = wide.reindex(columns=[first, second]).dropna()
    rows = {}
    for key, part in wide.groupby(level=["problem", "n"], sort=False):
        sign = np.sign(part.mean())
        d = sign[first] * part[first] - sign[second] * part[second]
        rows[key] = {"gap": d.mean(), "se": d.std() / np.sqrt(len(d)) if len(d) > 1 else np.nan}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["gap", "se"])


def rank_agreement(
    ranks: pd.DataFrame, by: str, index: Sequence[str], metric: str, first: str
) -> pd.DataFrame:
    """Return Spearman's rank correlation of every metric with the metric `first`.

    Parameters
    ----------
    ranks : DataFrame
        Has the column `rank`. It ranks the rows (identified by the columns `index`) that share the
        metric and the value of `by`.
    by : str
        Column that separates the correlations, such as the network.
    metric : str
        Column with the name of the metric.

    Returns
    -------
    DataFrame
        Indexed by the values of `by`, with a column per metric.

    Examples
    --------
    >>> rows = pd.DataFrame({"net": "a", "class": [0, 1] * 2, "metric": ["x", "x", "y", "y"]})
    >>> rows["rank"] = [1, 2, 2, 1]
    >>> agreement = rank_agreement(rows, "net", ["class"], "metric", "x")
    >>> float(agreement.loc["a", "y"].round(6))
    -1.0
    """
    wide = ranks.pivot(index=[by, *index], columns=metric, values="rank")
    if not len(wide):
        return wide
    return wide.groupby(level=by, sort=False).apply(lambda w: w.corrwith(w[first]))


def pareto(points: np.ndarray) -> np.ndarray:
    """Return the mask of the Pareto optimal points of an array (n, d), where less is better.

    A point is Pareto optimal if no other point is at least as good in all columns and better in
    one.

    Examples
    --------
    >>> pareto(np.array([[1, 3], [2, 2], [2, 3]])).tolist()
    [True, True, False]
    """
    nowhere_worse = (points[None] <= points[:, None]).all(axis=2)
    somewhere_better = (points[None] < points[:, None]).any(axis=2)
    return ~(nowhere_worse & somewhere_better).any(axis=1)


def ranked(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names without duplicates, in the order of `known`, and then the others."""
    places = {name: i for i, name in enumerate(dict.fromkeys(known))}
    return sorted(dict.fromkeys(names), key=lambda name: places.get(name, len(places)))


def columns(
    frame: pd.DataFrame,
    index: Sequence[str],
    shown: Mapping[str, Sequence[Any]],
    into: text_tables.Rows | None = None,
) -> text_tables.Rows:
    """Return the rows of a table, with several columns filled from one frame.

    Parameters
    ----------
    frame, into
        As for `text_tables.entries`.
    index : sequence of str
        One entry per level of the key of a row. It is a column of the frame, or a format over its
        columns.
    shown : mapping
        {format of the table's column: (value, error, digits)}. Value and error name columns of the
        frame. The error may be None, and digits may be left out (then 4).

    Examples
    --------
    >>> frame = pd.DataFrame({"n": [100], "mean": [0.5], "se": [0.01]})
    >>> columns(frame, ["n"], {"l1": ("mean", "se", 2)})
    {(100,): {'l1': '0.50 ± 0.01'}}
    """
    rows: text_tables.Rows = {} if into is None else into
    levels = (frame[name] if name in frame else items.formatted(frame, name) for name in index)
    names = zip(*(items.formatted(frame, column) for column in shown))
    for key, row_names, r in zip(zip(*levels), names, frame.itertuples()):
        for name, (value, error, *digits) in zip(row_names, shown.values()):
            spread = np.nan if error is None else getattr(r, error)
            rows.setdefault(key, {})[name] = format_fixed(getattr(r, value), spread, *digits)
    return rows


def answers_or_reason(
    ours: pd.DataFrame, records: pd.DataFrame, settings: Settings, otherwise: str | None = None
) -> pd.DataFrame:
    """Return `items.answers` for numbers that are computed from files of predictions.

    settings.reasons["data"] says why our numbers are of other data than the paper's. A reported
    number without one of ours gets the first of these reasons that exists:

    1. the reason of the first cell without a number, if no cell has one;
    2. `otherwise`;
    3. settings.reasons["absent"];
    4. that our data are others;
    5. the command that lists the missing files.
    """
    data, absent = (settings.reasons.get(name) for name in ("data", "absent"))
    reason = None if len(ours) else items.first_reason(records)
    others = f"{data}; none of them stands for this one" if data else None
    command = f"`calharness info {settings.name}` lists those that it needs"
    missing = f"the files at hand do not hold it; {command}"
    return items.answers(
        ours.assign(why=data), settings, reason or otherwise or absent or others or missing
    )
