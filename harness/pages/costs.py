"""Cost of an estimate: CPU seconds by n and k, and the exponents of a power law with their errors.

Costs of the arena's estimators come from its settings. Costs of the others, and of those that the
arena has up to n = 1,000, come from `costs.csv`, which benchmarks/estimator_costs.py measured on
draws of two problems. An exponent says how the seconds grew between the measured sizes. Below a
millisecond that is mostly overhead, and says nothing about n to infinity.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from harness.common.paths import PACKAGE

ARENA = "the arena's settings"
BENCHMARK = "one draw each (benchmarks/estimator_costs.py)"
LEVEL = 0.95


@dataclass(frozen=True)
class Exponent:
    """A power in seconds ~ size^value.

    Parameters
    ----------
    value, low, high : float
        With its 95 % interval, NaN if there are too few measurements.
    sizes : tuple of int
        Measured sizes.
    groups : int
        Number of problems that the interval rests on.
    """

    value: float
    low: float
    high: float
    sizes: tuple[int, ...]
    groups: int


@dataclass(frozen=True)
class Cost:
    """Cost of an estimator under one notion.

    Parameters
    ----------
    notion, source : str
    seconds : DataFrame
        n, k, and seconds: the geometric mean over problems.
    in_n, in_k : Exponent or None
        None if fewer than two sizes were measured.
    """

    notion: str
    source: str
    seconds: pd.DataFrame
    in_n: Exponent | None
    in_k: Exponent | None

    def at(self, n: int) -> float | None:
        """Return the geometric mean of the seconds measured at n, over all k; None without any.

        Nothing is extrapolated: from n = 200 and 1,000, the seconds of a kernel at 5,000 come out
        three times too small.
        """
        seconds = self.seconds.loc[self.seconds["n"].eq(n), "seconds"]
        return math.exp(np.log(seconds).mean()) if len(seconds) else None


def costs(estimator: str, settings: pd.DataFrame | None) -> list[Cost]:
    """Return the costs of an estimator by source and notion; `reason` says why there are none.

    Parameters
    ----------
    estimator : str
    settings : DataFrame or None
        `harness.evaluation.arena.settings`.
    """
    rows = benchmarked()
    tables = {BENCHMARK: rows.assign(problem=rows["k"])}
    if settings is not None:
        tables = {ARENA: settings, **tables}
    found = []
    for source, table in tables.items():
        table = table[table["estimator"].eq(estimator) & table["cpu_seconds"].gt(0.0)]
        cells = table.drop_duplicates(["notion", "problem", "k", "n"])
        found += [_cost(str(notion), source, part) for notion, part in cells.groupby("notion")]
    return found


def reason(estimator: str) -> str:
    """Say why there are no seconds of an estimator, or of its larger sizes."""
    rows = benchmarked()
    lacking = rows[rows["estimator"].eq(estimator) & rows["cpu_seconds"].isna()]
    return "; ".join(lacking["reason"].dropna().unique())


@functools.cache
def benchmarked() -> pd.DataFrame:
    """Read costs.csv: estimator, revision, notion, k, n, cpu_seconds, reason."""
    return pd.read_csv(PACKAGE / "pages" / "costs.csv")


def _cost(notion: str, source: str, rows: pd.DataFrame) -> Cost:
    rows = rows.astype({"k": int, "n": int})
    rows = rows.assign(log=np.log(rows["cpu_seconds"].clip(lower=1e-6)))
    seconds = np.exp(rows.groupby(["n", "k"])["log"].mean()).rename("seconds").reset_index()
    by_k = in_k(rows) if notion in ("canonical", "classwise") else None
    return Cost(notion, source, seconds, in_n(rows), by_k)


def in_n(logs: pd.DataFrame) -> Exponent | None:
    """Estimate the exponent in n: the mean over problems of the slope of log seconds on log n.

    Its interval is the t interval over problems.

    Parameters
    ----------
    logs : DataFrame
        problem, n, log (of the seconds).

    Examples
    --------
    >>> import pandas as pd
    >>> seconds = {"problem": list("aabb"), "n": [10, 1000] * 2, "log": [0.0, 4.60517, 1.0, 10.21034]}
    >>> round(in_n(pd.DataFrame(seconds)).value, 3)
    1.5
    """
    slopes = [
        float(np.polyfit(np.log(part["n"]), part["log"], 1)[0])
        for _, part in logs.groupby("problem")
        if part["n"].nunique() > 1
    ]
    if not slopes:
        return None
    error = np.std(slopes, ddof=1) / math.sqrt(len(slopes)) if len(slopes) > 1 else math.nan
    return _exponent(
        float(np.mean(slopes)), float(error), len(slopes) - 1, logs["n"].unique(), len(slopes)
    )


def in_k(logs: pd.DataFrame) -> Exponent | None:
    """Estimate the exponent in k: the slope of log seconds on log k over problems, by least squares.

    A problem counts with its mean over n, if it has as many n as any. With two problems there is
    no interval, and with one k there is no slope.
    """
    counts = logs.groupby("problem")["n"].transform("nunique")
    means = logs[counts == counts.max()].groupby(["problem", "k"], as_index=False)["log"].mean()
    if means["k"].nunique() < 2:
        return None
    fit = stats.linregress(np.log(means["k"]), means["log"])
    error = fit.stderr if len(means) > 2 else math.nan
    return _exponent(fit.slope, error, len(means) - 2, means["k"].unique(), len(means))


def _exponent(
    value: float, error: float, freedom: int, sizes: Sequence[int], groups: int
) -> Exponent:
    half = float(stats.t.ppf((1.0 + LEVEL) / 2.0, freedom)) * error if freedom > 0 else math.nan
    measured = tuple(sorted(int(size) for size in sizes))
    return Exponent(float(value), float(value) - half, float(value) + half, measured, groups)
