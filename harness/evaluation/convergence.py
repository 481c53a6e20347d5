"""Errors of estimators with intervals from the replications, and their slopes against n.

The quantities of the option `figure.y`:

rmse    root mean squared error sqrt(mean (value - truth)^2)
bias    mean of the values, minus the truth
sd      standard deviation of the values (ddof 1)

All intervals have the level LEVEL and come from leaving out one replication at a time (jackknife),
which needs no random numbers. Those of rmse and sd are symmetric on the logarithmic scale.
A slope is that of the least-squares line of log(quantity) on log(n). A replication is left out at
all n together, because its small samples are the first rows of its large ones. The intervals
contain only the variation over replications, not a curvature of the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from harness.configure.settings import Settings
from harness.evaluation.summary import GROUP, KEYS, mask_pairs
from harness.records.schema import has_number

LEVEL = 0.95
FEWEST_SIZES = 3  # with fewer sample sizes no slope is stated
NAMES = {"rmse": "RMSE", "bias": "bias", "sd": "standard deviation"}
SLOPE = ["slope", "slope_low", "slope_high"]
Array = NDArray[np.float64]


def add_errors(
    table: pd.DataFrame, records: pd.DataFrame, settings: Settings, apart: Sequence[str] = ()
) -> pd.DataFrame:
    """Add the quantity of `figure.y` with its interval, and the slope, to a table of `evaluate`.

    Without `figure.y` the table is returned as it is. `records` are those of the table, and `apart`
    is as in `evaluate`.

    Returns
    -------
    DataFrame
        The table with the further columns y, y_low and y_high, and slope, slope_low and slope_high,
        which are the same for all n. They are NaN where there is nothing to state: intervals with a
        single replication or for rows of a file, slopes for fewer than three n, if a value is 0, or
        if the interval of a bias contains 0.
    """
    quantity = settings.figure.y
    if not quantity:
        return table
    by = [*apart, *GROUP, *KEYS]
    line = [name for name in by if name != "n"]
    rows = records.loc[has_number(records), [*by, "rep", "value", "truth"]]
    on_file = mask_pairs(rows, settings.files)
    found = []
    for key, same in rows.groupby(line, observed=True, sort=False, dropna=False):
        deviations = same["value"] - (0.0 if quantity == "sd" else same["truth"])
        if deviations.isna().all():
            continue
        wide = same.assign(_d=deviations).pivot_table("_d", "rep", "n")
        columns: dict[str, Any] = dict(measure(wide.to_numpy(dtype=float), quantity))
        columns |= dict(zip(SLOPE, slope(wide.to_numpy(), wide.columns.to_numpy(), quantity)))
        shares_rows = on_file[rows.index.get_indexer(same.index)].any()
        if shares_rows:
            columns |= dict.fromkeys(["y_low", "y_high", *SLOPE], np.nan)
        found.append(pd.DataFrame({**dict(zip(line, key)), "n": wide.columns, **columns}))
    if not found:
        return table.assign(**dict.fromkeys(["y", "y_low", "y_high", *SLOPE], np.nan))
    return table.merge(pd.concat(found), "left", by)


def measure(deviations: Array, quantity: str) -> dict[str, Array]:
    """Return {"y", "y_low", "y_high"} for each n.

    `deviations` (replications x sizes) are values minus the truth, or values for the quantity sd.
    NaN stands for an estimate that is missing.
    """
    whole, others = _left_out(deviations, quantity)
    counts = (~np.isnan(deviations)).sum(axis=0)
    half = _half_width(others, counts)
    if quantity == "bias":
        return {"y": whole, "y_low": whole - half, "y_high": whole + half}
    with np.errstate(over="ignore"):
        ends = whole * np.exp(-half), whole * np.exp(half)
    return {"y": whole, "y_low": ends[0], "y_high": ends[1]}


def slope(deviations: Array, sizes: NDArray[Any], quantity: str) -> tuple[float, float, float]:
    """Return the slope of log(quantity) against log(n), and the ends of its interval, or NaN."""
    nothing = np.nan, np.nan, np.nan
    whole, others = _left_out(deviations, quantity)
    if len(sizes) < FEWEST_SIZES or not (np.abs(whole) > 0).all():
        return nothing
    if quantity == "bias":
        bounds = measure(deviations, quantity)
        if not (bounds["y_low"] * bounds["y_high"] > 0).all():
            return nothing
        with np.errstate(divide="ignore"):
            others = np.log(np.abs(others))
    x = np.log(sizes.astype(float))
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    value = float(np.log(np.abs(whole)) @ weights)
    counts = (~np.isnan(deviations)).sum(axis=0).min()
    half = float(_half_width((others @ weights)[:, None], np.array([counts]))[0])
    return value, value - half, value + half


def _left_out(deviations: Array, quantity: str) -> tuple[Array, Array]:
    """Return the quantity for each n, and without each replication (replications x sizes).

    Without a replication, rmse and sd are logarithms.
    """
    present = ~np.isnan(deviations)
    counts = present.sum(axis=0)
    remaining = counts - present
    d = np.where(present, deviations, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if quantity == "bias":
            return d.sum(axis=0) / counts, (d.sum(axis=0) - d) / remaining
        if quantity == "rmse":
            squares = d**2
            whole = squares.sum(axis=0) / counts
            others = (squares.sum(axis=0) - squares) / remaining
        else:
            d = np.where(present, d - d.sum(axis=0) / counts, 0.0)
            total = (d**2).sum(axis=0)
            whole = total / (counts - 1)
            others = (total - d**2 - d**2 / remaining) / (remaining - 1)
        others = np.where(others > 0, others, np.nan)
        return np.sqrt(whole), 0.5 * np.log(others)


def _half_width(others: Array, counts: NDArray[Any]) -> Array:
    """Return the half width of the jackknife interval of each column, NaN for one replication."""
    if len(others) < 2:
        return np.full(others.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        error = np.sqrt((1 - 1 / counts) * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
        half: Array = stdtrit(np.maximum(counts - 1, 1), 0.5 + LEVEL / 2) * error
    return np.where(counts > 1, half, np.nan)


def heading(quantity: str) -> str:
    """Return the text above a table of this quantity."""
    return f"{NAMES[quantity]} [{100 * LEVEL:g}% interval from the replications]"
