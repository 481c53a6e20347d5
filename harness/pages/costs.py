"""Cost of an estimate: CPU seconds by n and k, and the exponent of a power law in n.

Costs of the arena's estimators come from its settings. Costs of the others, and of those that the
arena has up to n = 1,000, come from `costs.csv`, which benchmarks/estimator_costs.py measured on
draws of two problems. The exponent says how the seconds grew between the measured sizes. Below a
millisecond that is mostly overhead, and says nothing about n to infinity.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.common.paths import PACKAGE
from harness.evaluation.rates import mean_interval

ARENA = "the arena's settings"
BENCHMARK = "one draw each (benchmarks/estimator_costs.py)"


@dataclass(frozen=True)
class Exponent:
    """A power in seconds ~ n^value.

    Parameters
    ----------
    value, low, high : float
        With its 95 % interval, which is infinite for one problem.
    sizes : tuple of int
        Measured n.
    problems : int
        Number of problems that the interval rests on.
    """

    value: float
    low: float
    high: float
    sizes: tuple[int, ...]
    problems: int


@dataclass(frozen=True)
class Cost:
    """Cost of an estimator under one notion.

    Parameters
    ----------
    notion, source : str
    seconds : DataFrame
        n, k, and seconds: the geometric mean over problems.
    exponent : Exponent or None
        None if fewer than two n were measured.
    """

    notion: str
    source: str
    seconds: pd.DataFrame
    exponent: Exponent | None

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
    measured = []
    for source, table in tables.items():
        table = table[table["estimator"].eq(estimator) & table["cpu_seconds"].gt(0.0)]
        cells = table.drop_duplicates(["notion", "problem", "k", "n"]).astype({"k": int, "n": int})
        cells = cells.assign(log=np.log(cells["cpu_seconds"].clip(lower=1e-6)))
        for notion, part in cells.groupby("notion"):
            seconds = np.exp(part.groupby(["n", "k"])["log"].mean()).rename("seconds")
            measured.append(Cost(str(notion), source, seconds.reset_index(), exponent(part)))
    return measured


def reason(estimator: str) -> str:
    """Say why there are no seconds of an estimator, or of its larger sizes."""
    rows = benchmarked()
    lacking = rows[rows["estimator"].eq(estimator) & rows["cpu_seconds"].isna()]
    return "; ".join(lacking["reason"].dropna().unique())


@functools.cache
def benchmarked() -> pd.DataFrame:
    """Read costs.csv: estimator, revision, notion, k, n, cpu_seconds, reason."""
    return pd.read_csv(PACKAGE / "pages" / "costs.csv")


def exponent(logs: pd.DataFrame) -> Exponent | None:
    """Estimate the exponent in n: the mean over problems of the slope of log seconds on log n.

    Its interval is the t interval over problems.

    Parameters
    ----------
    logs : DataFrame
        problem, n, log (of the seconds).

    Examples
    --------
    >>> rows = [("a", 10, 0.0), ("a", 1000, 4.60517), ("b", 10, 1.0), ("b", 1000, 10.21034)]
    >>> round(exponent(pd.DataFrame(rows, columns=["problem", "n", "log"])).value, 3)
    1.5
    """
    slopes = [
        float(np.polyfit(np.log(part["n"]), part["log"], 1)[0])
        for _, part in logs.groupby("problem")
        if part["n"].nunique() > 1
    ]
    if not slopes:
        return None
    sizes = tuple(sorted(int(n) for n in logs["n"].unique()))
    return Exponent(*mean_interval(slopes, 0.95), sizes, len(slopes))
