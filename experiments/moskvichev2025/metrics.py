"""Helpers for the items: one value per estimator, and reasons for missing numbers.

CKCE, JKCE (the unbiased SKCE of the same kernel) and ECE (three intervals per class, L1) have one
estimand each, so an estimator identifies its value.
"""

from harness.common.wording import DASH
from harness.evaluation import items, rankings

BESIDES = ("bins", "population")  # estimators of what is drawn beside the metrics


def values(records, settings, *parameters):
    """Return records with a number, one estimand per estimator.

    Columns `model` and `column` are labels; `parameters` of the problems are added.
    """
    fine = items.with_number(records)
    numbers = rankings.one_estimand(fine[~fine["estimator"].isin(BESIDES)], settings)
    numbers = (
        numbers.join(items.parameters(numbers, "problem", *parameters)) if parameters else numbers
    )
    return items.in_order(items.labelled(numbers, settings), settings)


def answers(frames, records, settings, whys=None):
    """Return our numbers for `compare`.

    settings.reasons["data"] is the reason why they are of something else. Reported numbers that the
    frames lack are answered by whys[row], else by the reason of a cell without a number.
    """
    default = items.first_reason(records)
    ours = items.together(*frames).assign(why=settings.reasons.get("data"))
    return items.answers(ours, settings, lambda row, column: (whys or {}).get(row, default))


def by_diagnostic(records, estimator, **columns):
    """Return the diagnostics of one estimator at the largest n, one row per problem and diagnostic.

    `columns` is {column: parameter of the problem}. The columns of the result are these, key (of
    the cell), column (the name of the diagnostic) and value; rows are in the order of the first.
    """
    rows = items.with_number(records[records["estimator"].eq(estimator)])
    rows = rows[rows["n"].eq(rows["n"].max())].drop_duplicates("problem")
    named = items.parameters(rows, "problem", *columns.values()).set_axis(list(columns), axis=1)
    named = named.assign(key=rows["key"]).join(items.diagnostics(rows))
    table = named.melt([*columns, "key"], var_name="column")
    return table.sort_values(next(iter(columns)), kind="stable", ignore_index=True)


def extremes(frame, value, place):
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


def times_smallest(frame, name, by, place, value="mean"):
    """Count the places at which one series has a smaller value than every other.

    Series are told apart by the column `by`. A place where one of them has no value does not count;
    0 without other series.
    """
    wide = frame.pivot(index=place, columns=by, values=value).dropna()
    if wide.shape[1] < 2:
        return 0
    return int((wide[name] < wide.drop(columns=name).min(axis=1)).sum())
