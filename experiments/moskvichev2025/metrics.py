"""Helpers for the items: one value per estimator, and reasons for missing numbers.

CKCE, JKCE (the unbiased SKCE of the same kernel) and ECE (three intervals per class, L1) have one
estimand each, so an estimator identifies its value.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from harness.common.wording import DASH
from harness.configure.settings import Settings
from harness.evaluation import items, rankings

NO_METRICS = ("bins", "population")  # estimators whose values are drawn but are no metrics


def values(records: pd.DataFrame, settings: Settings, *parameters: str) -> pd.DataFrame:
    """Return records with a number, one estimand per estimator.

    Columns `model` and `column` are labels; `parameters` of the problems are added.
    """
    fine = items.with_number(records)
    numbers = rankings.one_estimand(fine[~fine["estimator"].isin(NO_METRICS)], settings)
    numbers = (
        numbers.join(items.parameters(numbers, "problem", *parameters)) if parameters else numbers
    )
    return items.in_order(items.labelled(numbers, settings), settings)


def answers(
    frames: Iterable[pd.DataFrame],
    records: pd.DataFrame,
    settings: Settings,
    whys: Mapping[str, str | None] | None = None,
) -> pd.DataFrame:
    """Return our numbers for `compare`.

    settings.reasons["data"] is the reason why their data differ from the paper's. A reported number
    without one of ours gets the reason whys[row], or that of a cell without a number.
    """
    default = items.first_reason(records)
    ours = items.together(*frames).assign(why=settings.reasons.get("data"))
    return items.answers(ours, settings, lambda row, column: (whys or {}).get(row, default))


def by_diagnostic(records: pd.DataFrame, estimator: str, **columns: str) -> pd.DataFrame:
    """Return the diagnostics of one estimator at the largest n, one row per problem and diagnostic.

    `columns` is {column: parameter of the problem}. The columns of the result are these, key (of
    the cell), column (the name of the diagnostic) and value; rows are in the order of the first.
    """
    rows = items.with_number(records[records["estimator"].eq(estimator)])
    rows = rows[rows["n"].eq(rows["n"].max())].drop_duplicates("problem")
    parameters = items.parameters(rows, "problem", *columns.values()).set_axis(
        list(columns), axis=1
    )
    frame = parameters.assign(key=rows["key"]).join(items.diagnostics(rows))
    table = frame.melt([*columns, "key"], var_name="column")
    return table.sort_values(next(iter(columns)), kind="stable", ignore_index=True)


def extremes(frame: pd.DataFrame, value: str, place: str) -> dict[str, str]:
    """Return a row of a table: smallest and largest `value`, their `place`, and their ratio.

    >>> import pandas as pd
    >>> extremes(pd.DataFrame({"x": [-1.0, 1.0], "mean": [0.1, 0.3]}), "mean", "x")
    {'smallest': '0.1', 'at': '-1.00', 'largest': '0.3', 'at ': '+1.00', 'largest / smallest': '3'}
    """
    low, high = (frame.loc[i] for i in (frame[value].idxmin(), frame[value].idxmax()))
    ratio = f"{high[value] / low[value]:.3g}" if low[value] > 0 else DASH
    return {
        "smallest": f"{low[value]:.4g}",
        "at": f"{low[place]:+.2f}",
        "largest": f"{high[value]:.4g}",
        "at ": f"{high[place]:+.2f}",
        "largest / smallest": ratio,
    }


def times_smallest(frame: pd.DataFrame, name: str, by: str, place: str, value: str = "mean") -> int:
    """Count the places at which one series has a smaller value than every other.

    The column `by` identifies the series. A place where one of them has no value does not count;
    0 without other series.
    """
    wide = frame.pivot(index=place, columns=by, values=value).dropna()
    if wide.shape[1] < 2:
        return 0
    return int((wide[name] < wide.drop(columns=name).min(axis=1)).sum())
