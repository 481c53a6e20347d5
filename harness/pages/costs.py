"""Measured CPU time of estimators by n and number of classes, and its growth with n.

For estimators in the arena the times come from the arena's settings. For all estimators,
`costs.csv` has times that benchmarks/estimator_costs.py measured on draws of two problems. Growth
is described by the exponent of a power law between the measured sizes. Times below a millisecond
are mostly overhead, so their exponent says nothing about larger n.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.common.paths import PACKAGE
from harness.math.rates import mean_interval

ARENA = "the arena's settings"
BENCHMARK = "one draw each (benchmarks/estimator_costs.py)"


@dataclass(frozen=True)
class Exponent:
    """The exponent of a power law, seconds ~ n^value.

    Parameters
    ----------
    value, low, high : float
        The exponent with its 95 % interval, which is infinite for one problem.
    sizes : tuple of int
        The measured n.
    problems : int
        Number of problems from which the interval was computed.
    """

    value: float
    low: float
    high: float
    sizes: tuple[int, ...]
    problems: int


@dataclass(frozen=True)
class Cost:
    """Measured CPU time of an estimator under one notion.

    Parameters
    ----------
    notion : str
        The notion.
    source : str
        ARENA or BENCHMARK: the origin of the measurements.
    seconds : DataFrame
        Columns n, k (number of classes) and seconds, a geometric mean over problems.
    exponent : Exponent or None
        None if fewer than two n were measured.
    """

    notion: str
    source: str
    seconds: pd.DataFrame
    exponent: Exponent | None

    def at(self, n: int) -> float | None:
        """Return the CPU seconds measured at n as a geometric mean over k; None if not measured.

        Nothing is extrapolated: for a kernel estimator, extrapolation from n = 200 and 1,000 to
        5,000 gave a third of the true time.
        """
        seconds = self.seconds.loc[self.seconds["n"].eq(n), "seconds"]
        return math.exp(np.log(seconds).mean()) if len(seconds) else None


def costs(estimator: str, settings: pd.DataFrame | None) -> list[Cost]:
    """Return the measured costs of an estimator, one for each source and notion.

    The list is empty if nothing was measured; `reason` then returns the reason.

    Parameters
    ----------
    estimator : str
        Id of the estimator.
    settings : DataFrame or None
        The result of `harness.evaluation.arena.settings`.
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
    """Return the reason why no CPU time was measured for an estimator, or for its larger sizes.

    It is "" if nothing is missing.
    """
    rows = benchmarked()
    lacking = rows[rows["estimator"].eq(estimator) & rows["cpu_seconds"].isna()]
    return "; ".join(lacking["reason"].dropna().unique())


@functools.cache
def benchmarked() -> pd.DataFrame:
    """Read costs.csv: estimator, revision, notion, k (classes), n, cpu_seconds and reason."""
    return pd.read_csv(PACKAGE / "pages" / "costs.csv")


def exponent(logs: pd.DataFrame) -> Exponent | None:
    """Estimate the exponent of n in the CPU time, with a t interval over problems.

    It is the mean over problems of the slope of log seconds on log n. None if no problem was
    measured at two n.

    Parameters
    ----------
    logs : DataFrame
        Columns problem, n, and log: the logarithm of the seconds.

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
