"""Typical error of each estimator by n, with intervals over families of problems."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from scipy.special import stdtrit

KEYS = ["notion", "estimand", "n", "calibrated", "estimator"]
LEVEL = 0.95
SMALLEST_ERROR = 1e-12


def trends(settings: pd.DataFrame, development: Collection[str] = ()) -> pd.DataFrame:
    """Compute the typical error of each estimator at each n, apart for calibrated problems.

    Where the true error is above 0, the typical error is the geometric mean of the RMSE, first
    over the problems of a family, then over the families. Its 95 % interval is Student's for the
    mean of the families, on the log scale. Where the true error is 0, the typical error is the root
    mean square over the problems. The variance of the mean square then comes from the sums of the
    deviations in each family, and the interval of its logarithm from the delta method.

    Parameters
    ----------
    settings : DataFrame
        The result of `harness.evaluation.arena.settings`.
    development : collection of str
        Families that do not count where the true error is above 0, as in `arena.recommendations`.

    Returns
    -------
    DataFrame
        One row per notion, estimand, n, calibrated (True where the true error is 0) and estimator,
        with the columns rmse, low, high and families (their number). The interval is NaN if there
        is only one family. Settings without an RMSE or a known truth are left out.
    """
    known = settings[settings["rmse"].notna() & settings["truth"].notna()]
    is_zero = known["calibrated"].astype(bool)
    is_tested = ~is_zero & ~known["family"].isin(development)
    parts = [_geometric(known[is_tested]), _root_mean_square(known[is_zero])]
    table = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    # One family has no standard error, so its interval is NaN.
    quantile = stdtrit(np.maximum(table["families"] - 1, 1), 0.5 + LEVEL / 2.0)
    half = quantile * table["error"]
    ends = {"rmse": table["log"], "low": table["log"] - half, "high": table["log"] + half}
    table = table.assign(**{name: np.exp(values) for name, values in ends.items()})
    return table[[*KEYS, *ends, "families"]].sort_values(KEYS, ignore_index=True)


def _geometric(settings: pd.DataFrame) -> pd.DataFrame:
    """Return the mean log RMSE by KEYS as `log`, with its standard error over families."""
    logs = np.log(settings["rmse"].clip(lower=SMALLEST_ERROR))
    by_family = [settings[name] for name in (*KEYS, "family")]
    groups = logs.groupby(by_family, observed=True).mean().groupby(KEYS, observed=True)
    table = groups.agg(log="mean", error="sem", families="size")
    return table.reset_index()


def _root_mean_square(settings: pd.DataFrame) -> pd.DataFrame:
    """Return the log of the root mean square of the RMSE by KEYS, with its standard error."""
    square = settings["rmse"].clip(lower=SMALLEST_ERROR) ** 2
    rows = settings[[*KEYS, "family"]].assign(square=square)
    means = rows.groupby(KEYS, observed=True)["square"].transform("mean")
    rows = rows.assign(deviation=square - means)
    sums = rows.groupby([*KEYS, "family"], observed=True)["deviation"].sum() ** 2
    families = sums.groupby(KEYS, observed=True).agg(total="sum", families="size")
    table = rows.groupby(KEYS, observed=True)["square"].agg(mean="mean", size="size").join(families)
    count = table["families"].where(table["families"] > 1)
    error = np.sqrt(count / (count - 1) * table["total"]) / table["size"]
    log = 0.5 * np.log(table["mean"])
    return table.assign(log=log, error=0.5 * error / table["mean"]).reset_index()
