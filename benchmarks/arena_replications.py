"""Print what more replications of the arena would add to its comparisons.

    python benchmarks/arena_replications.py

A line compares `best` with the best published estimator of a notion, estimand and n. The standard
error of its log ratio comes from the variance between families. A part of this variance is noise of
the replications, which the jackknife estimates. With r times as many replications for both
estimators, the variance without its share s of that noise stays, so the standard error would be
sqrt(1 - s + s / r) times as large. The script runs no estimator and takes about a CPU minute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.configure.options import option
from harness.evaluation import arena
from harness.evaluation.arena.rules import SETTING, floors
from harness.pages import arena_data

MORE = 5  # 200 replications instead of 40


def log_ratios(
    squared: tuple[NDArray[Any], NDArray[Any]], least: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the log RMSE ratio of each setting, and its jackknife variance over replications.

    `squared` holds two arrays of squared errors of the shape (settings, replications), and `least`
    the smallest RMSE that counts in each setting.
    """
    count = squared[0].shape[1]
    whole = [log_rmse(square.mean(axis=1), least) for square in squared]
    without = [
        log_rmse((square.sum(axis=1, keepdims=True) - square) / (count - 1), least[:, None])
        for square in squared
    ]
    drops = without[0] - without[1]
    variance = (count - 1) / count * ((drops - drops.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return whole[0] - whole[1], variance


def log_rmse(mean_square: NDArray[Any], least: NDArray[Any]) -> NDArray[Any]:
    """Return the log of the RMSE of these mean squared errors, at least that of `least`."""
    return 0.5 * np.log(np.maximum(mean_square, least**2))


def share_of_noise(settings: pd.DataFrame, first: str, second: str) -> tuple[float, float]:
    """Return the standard error of the mean log ratio over families, and the noise's share of it.

    The share is that of the replications in the squared standard error.
    """
    known = settings["truth"].notna() & ~settings["calibrated"] & settings["rmse"].notna()
    parts = (
        settings.loc[known & settings["estimator"].eq(name), [*SETTING, "errors"]]
        for name in (first, second)
    )
    both = next(parts).merge(next(parts), on=SETTING, suffixes=("", "_second"))
    errors = [np.stack(both[name].to_list()) ** 2 for name in ("errors", "errors_second")]
    log, variance = log_ratios((errors[0], errors[1]), floors(both))
    families = both.assign(log=log, variance=variance).groupby("family")
    of_mean = families["variance"].sum() / families.size() ** 2
    between = families["log"].mean().var(ddof=1) / len(of_mean)
    return float(np.sqrt(between)), float(of_mean.sum() / len(of_mean) ** 2 / between)


def main() -> None:
    results = arena_data.read()
    assert results is not None, "there is no stored arena"
    development = option("experiment", "arena").config["arena"]["development"]
    settings = results.settings[results.settings["estimand"].isin(arena.MAIN)]
    test = settings[~settings["family"].isin(development)]
    shares = []
    for line in arena.recommendations(settings, development).itertuples():
        key = [line.notion, line.estimand, line.n]
        here = test[test[["notion", "estimand", "n"]].eq(key).all(axis=1)]
        error, share = share_of_noise(here, "best", str(line.rival))
        shares.append(share)
        print(f"{line.notion} {line.estimand} n = {line.n:,}: standard error {error:.3f}, "
              f"share of the replications {share:.0%}")  # fmt: skip
    factors = np.sqrt(1.0 - np.array(shares) * (1.0 - 1.0 / MORE))
    print(f"{MORE} times as many replications: standard errors times {np.median(factors):.2f} "
          f"(median), {factors.min():.2f} to {factors.max():.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
