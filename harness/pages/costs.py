"""What an estimate costs: CPU seconds by n and k, and the exponents of a power law with their errors.

Of the arena's estimators from its settings; of the others, and of those that it has up to n = 1,000, from `costs.csv`, which
benchmarks/estimator_costs.py measured on draws of two problems. The exponents say how the seconds went up between the sizes that
were measured: below a millisecond that is mostly overhead, and no statement about n to infinity.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from harness.common.paths import PACKAGE

ARENA = "the arena's settings"
BENCHMARK = "one draw each (benchmarks/estimator_costs.py)"
LEVEL = 0.95


@dataclass(frozen=True)
class Exponent:
    """A power in seconds ~ size^value: its 95 % interval (NaN where there are too few measurements), over which sizes, and the
    number of groups that the interval rests on."""

    value: float
    low: float
    high: float
    sizes: tuple[int, ...]
    groups: int


@dataclass(frozen=True)
class Cost:
    """Of an estimator under one notion.

    Parameters
    ----------
    notion, source : str
    seconds : DataFrame
        n, k, seconds (geometric mean over problems), problems.
    in_n, in_k : Exponent or None
        None where fewer than two sizes were measured.
    """

    notion: str
    source: str
    seconds: pd.DataFrame
    in_n: Exponent | None
    in_k: Exponent | None
    reasons: tuple[str, ...] = field(default=())

    def at(self, n: int) -> float | None:
        """The geometric mean of the seconds that were measured at n, over all k; None where none were. Nothing is extrapolated:
        from n = 200 and 1,000 a kernel's seconds at 5,000 come out three times too small."""
        found = self.seconds.loc[self.seconds["n"].eq(n), "seconds"]
        return math.exp(sum(map(math.log, found)) / len(found)) if len(found) else None


def costs(estimator: str, settings: pd.DataFrame | None) -> list[Cost]:
    """What an estimator costs, by notion; nothing where it was not measured (`reason` says why).

    Parameters
    ----------
    estimator : str
    settings : DataFrame or None
        As of `harness.evaluation.arena.settings`.
    """
    found = []
    own = (
        settings[settings["estimator"].eq(estimator) & settings["cpu_seconds"].gt(0.0)]
        if settings is not None
        else None
    )
    if own is not None and len(own):
        cells = own.groupby(["notion", "problem", "k", "n"], as_index=False)["cpu_seconds"].first()
        for notion, part in cells.groupby("notion"):
            found.append(_cost(str(notion), ARENA, part))
    rows = benchmarked()
    rows = rows[rows["estimator"].eq(estimator) & rows["cpu_seconds"].gt(0.0)]
    for notion, part in rows.groupby("notion"):
        found.append(
            _cost(
                str(notion),
                BENCHMARK,
                part.assign(problem="k = " + part["k"].astype(int).astype(str)),
            )
        )
    return found


def reason(estimator: str) -> str:
    """Why there are no seconds of an estimator, or of its larger sizes."""
    rows = benchmarked()
    said = (
        rows.loc[rows["estimator"].eq(estimator) & rows["cpu_seconds"].isna(), "reason"]
        .dropna()
        .unique()
    )
    return "; ".join(said)


@functools.cache
def benchmarked() -> pd.DataFrame:
    """costs.csv: estimator, revision, notion, k, n, cpu_seconds, reason."""
    path = PACKAGE / "pages" / "costs.csv"
    columns = ["estimator", "revision", "notion", "k", "n", "cpu_seconds", "reason"]
    return pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=columns)


def _cost(notion: str, source: str, cells: pd.DataFrame) -> Cost:
    logs = cells.assign(
        k=cells["k"].astype(int),
        n=cells["n"].astype(int),
        log=np.log(cells["cpu_seconds"].clip(lower=1e-6)),
    )
    grouped = logs.groupby(["n", "k"], as_index=False).agg(
        seconds=("log", "mean"), problems=("problem", "nunique")
    )
    seconds = grouped.assign(seconds=np.exp(grouped["seconds"]))
    return Cost(
        notion,
        source,
        seconds,
        in_n(logs),
        in_k(logs) if notion in ("canonical", "classwise") else None,
    )


def in_n(logs: pd.DataFrame) -> Exponent | None:
    """The exponent in n: the mean over problems of the slope of log seconds on log n within a problem, with the t interval over
    problems.

    Parameters
    ----------
    logs : DataFrame
        problem, n, log (of the seconds).

    Examples
    --------
    >>> import pandas as pd
    >>> logs = pd.DataFrame({"problem": list("aabb"), "n": [10, 1000, 10, 1000], "log": [0.0, 4.60517, 1.0, 10.21034]})
    >>> round(in_n(logs).value, 3)
    1.5
    """
    slopes = []
    for _, part in logs.groupby("problem"):
        x = np.log(part["n"].to_numpy(float))
        if np.ptp(x) > 0:
            x = x - x.mean()
            slopes.append(float(x @ part["log"].to_numpy(float) / (x @ x)))
    return _mean(slopes, logs["n"].unique())


def in_k(logs: pd.DataFrame) -> Exponent | None:
    """The exponent in k: of problems of different k at the same n, the slope of log seconds on log k, with the interval of least
    squares over problems (means over n within a problem)."""
    every = logs.groupby("problem")["n"].nunique()
    whole = logs[logs["problem"].isin(every[every.eq(every.max())].index)]
    means = whole.groupby(["problem", "k"], as_index=False)["log"].mean()
    sizes = tuple(sorted(int(k) for k in means["k"].unique()))
    if len(sizes) < 2:
        return None
    x, y = np.log(means["k"].to_numpy(float)), means["log"].to_numpy(float)
    if len(means) < 3:
        slope = float((y[1] - y[0]) / (x[1] - x[0]))
        return Exponent(slope, math.nan, math.nan, sizes, len(means))
    fit = stats.linregress(x, y)
    half = float(stats.t.ppf((1.0 + LEVEL) / 2.0, len(means) - 2)) * float(fit.stderr)
    return Exponent(
        float(fit.slope), float(fit.slope) - half, float(fit.slope) + half, sizes, len(means)
    )


def _mean(values: list[float], sizes: Any) -> Exponent | None:
    if not values:
        return None
    middle = float(np.mean(values))
    half = math.nan
    if len(values) > 1:
        half = float(
            stats.t.ppf((1.0 + LEVEL) / 2.0, len(values) - 1)
            * np.std(values, ddof=1)
            / math.sqrt(len(values))
        )
    return Exponent(
        middle, middle - half, middle + half, tuple(sorted(int(n) for n in sizes)), len(values)
    )
