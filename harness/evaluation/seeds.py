"""Printed numbers of one network, judged by the seeds of networks that were trained again.

The paper's network is one draw of its training. So a printed number is compared with a prediction
interval for one more network, and not with the mean of ours. For m seeds with mean a and standard
deviation s, the interval is

    a -+ t s sqrt(1 + 1 / m),

where t is the 97.5 % quantile of Student's t distribution with m - 1 degrees of freedom. It assumes
that numbers of seeds are normal. The interval tests nothing if it is wider than `widest`, the
spread of the paper's own numbers beside the printed one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from harness.common import wording
from harness.configure.settings import Settings
from harness.evaluation import items

LEVEL = 0.95
PLACE = ["row", "column"]
UNJUDGED = "seeds"  # key in `reasons` of a configuration
ONE = "one network was trained, so the spread of the seeds is not known"


def intervals(frame: pd.DataFrame, by: list[str], level: float = LEVEL) -> pd.DataFrame:
    """Return `items.means` over the seeds, with the prediction interval for one more network.

    Further columns: `half`, half the width of the interval, and its ends `low` and `high`. They are
    NaN for a single seed.

    Examples
    --------
    >>> three = pd.DataFrame({"column": "ECE", "value": [0.1, 0.2, 0.3]})
    >>> intervals(three, ["column"])[["mean", "low", "high"]].round(3).to_numpy().tolist()
    [[0.2, -0.297, 0.697]]
    """
    table = items.means(frame, by)
    quantile = stdtrit(np.maximum(table["reps"] - 1, 1), (1 + level) / 2)
    half = (quantile * table["sd"] * np.sqrt(1 + 1 / table["reps"])).astype(float)
    return table.assign(half=half, low=table["mean"] - half, high=table["mean"] + half)


def interval_texts(row: Any, widest: float, digits: int) -> dict[str, str]:
    """Return the texts of a row of `intervals`: mean, interval, its width, and `widest`."""
    ends = (wording.format_fixed(value, digits=digits) for value in (row.low, row.high))
    return {
        "mean of the seeds": wording.format_fixed(row.mean, digits=digits),
        "prediction interval": " to ".join(ends),
        "its width": wording.format_fixed(row.high - row.low, digits=digits),
        "spread of the paper's": wording.format_fixed(widest, digits=digits),
    }


def answers(
    table: pd.DataFrame,
    widest: Callable[[str, str], float],
    settings: Settings,
    otherwise: Callable[[str, str], str | None] | str | None = None,
) -> pd.DataFrame:
    """Return our numbers for `reproduction.compare`, to be judged by the spread of the seeds.

    Parameters
    ----------
    table : DataFrame
        Result of `intervals` with the columns `row` and `column`, as in reported.csv.
    widest : callable
        (row, column) -> largest width of an interval that is a test.
    settings : Settings
        Settings of the experiment. `settings.compare` names the items. The reason "seeds", if there
        is one, says why the numbers are shown and not judged.
    otherwise : str or callable, optional
        Reason why other reported numbers have none of ours, as in `items.answers`.
    """
    ours = items.numbers(table, "{row}", "{column}")
    unjudged = settings.reasons.get(UNJUDGED)
    ours["why"] = [ONE if reps < 2 else unjudged for reps in ours["reps"]]
    ends = table[[*PLACE, "low", "high"]].assign(
        widest=[widest(r.row, r.column) for r in table.itertuples()]
    )
    return items.answers(ours, settings, otherwise).merge(ends, on=PLACE, how="left")
