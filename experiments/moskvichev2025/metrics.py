"""Helpers that the figures and tables of moskvichev2025 share.

The paper has three metrics. CKCE is its conditional kernel calibration error. JKCE is the joint
kernel calibration error, here the unbiased SKCE with the same kernel. ECE is the binned L1 error of
whole vectors, with three intervals per class. An estimator of one metric has a single estimand, so
the name of the estimator identifies its value.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from harness.common.wording import DASH
from harness.configure.settings import Settings
from harness.evaluation import items, rankings

NO_METRICS = ("bins", "population")  # estimators whose values are drawn but are no metrics


def values(records: pd.DataFrame, settings: Settings, *parameters: str) -> pd.DataFrame:
    """Return the records that hold an estimate of a metric, with one estimand per estimator.

    The columns `model` and `column` are added: the labels of the problem and of the estimator.
    `parameters` are names of parameters of the problems; each becomes a column.
    """
    fine = items.with_number(records)
    numbers = rankings.select_estimand(fine[~fine["estimator"].isin(NO_METRICS)], settings)
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
    """Return our numbers, or a reason, for every reported number of `settings.compare`.

    Parameters
    ----------
    frames : iterable of DataFrame
        Our numbers, each frame from `items.numbers` or `items.exact`.
    records : DataFrame
        All records of the experiment. The first one without a number gives the default reason.
    settings : Settings
        `settings.reasons["data"]`, if set, says why our data differ from the paper's.
    whys : mapping, optional
        {row of reported.csv: the reason why we have no number for it}.
    """
    default = items.first_reason(records)
    ours = items.together(*frames).assign(why=settings.reasons.get("data"))
    return items.answers(ours, settings, lambda row, column: (whys or {}).get(row, default))


def by_diagnostic(records: pd.DataFrame, estimator: str, **columns: str) -> pd.DataFrame:
    """Return the diagnostics of one estimator as a long table, at the largest sample size.

    Parameters
    ----------
    records : DataFrame
        Records of the experiment.
    estimator : str
        The id of the estimator.
    **columns : str
        {name of a new column: parameter of the problem that it holds}.

    Returns
    -------
    DataFrame
        One row per problem and diagnostic, sorted by the first of the new columns. Further columns:
        `key` of the cell, `column` (the name of the diagnostic) and `value`.
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
    """Return the smallest and the largest value of a curve as texts of a table's row.

    `value` and `place` name the columns of the frame with the values and with their x coordinates.
    The ratio of both values is a dash unless the smallest one is positive.

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
    """Count the x coordinates at which the curve `name` is below all other curves.

    The column `by` holds the names of the curves, `place` the x coordinates, and `value` the
    values. An x coordinate at which some curve has no value does not count. The count is 0 if there
    is no other curve.
    """
    wide = frame.pivot(index=place, columns=by, values=value).dropna()
    if wide.shape[1] < 2:
        return 0
    return int((wide[name] < wide.drop(columns=name).min(axis=1)).sum())
