"""Print what more replications of the arena would add to its comparisons.

    python benchmarks/arena_replications.py

A line compares `best` with the best published estimator of a notion, estimand and n. The standard
error of its log ratio comes from the variance between families. A part of this variance is noise of
the replications, which the jackknife estimates. With r times as many replications for both
estimators, the variance without its share s of that noise stays, so the standard error would be
sqrt(1 - s + s / r) times as large. The script runs no estimator and takes about a CPU minute.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.configure.options import option
from harness.evaluation import arena
from harness.evaluation.arena.better_or_worse import log_ratios
from harness.pages.arena import data as arena_data

MORE = 5  # 200 replications instead of 40


def share_of_noise(settings: pd.DataFrame, first: str, second: str) -> tuple[float, float]:
    """Return the standard error of the mean log ratio over families, and the noise's share of it.

    The share is that of the replications in the squared standard error.
    """
    pair = settings[settings["estimator"].isin((first, second)) & settings["rmse"].notna()]
    families = log_ratios(pair, first, second)
    count = len(pair["errors"].iloc[0])
    without = np.stack(
        [
            log_ratios(
                pair.assign(errors=[np.delete(errors, rep) for errors in pair["errors"]]),
                first,
                second,
            )["log"]
            for rep in range(count)
        ]
    )
    variance = (count - 1) * without.var(axis=0)
    groups = families.assign(variance=variance).groupby("family")
    of_mean = groups["variance"].sum() / groups.size() ** 2
    squared_error = groups["log"].mean().var(ddof=1) / len(of_mean)
    share = of_mean.sum() / len(of_mean) ** 2 / squared_error
    return float(np.sqrt(squared_error)), float(share)


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
