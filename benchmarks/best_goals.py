"""Print how good `best` is on the families that it was not developed on, from the stored arena.

    python benchmarks/best_goals.py

Verdicts under other choices of rivals, the median of three published estimators, regrets, ratios to
the best published estimator of each notion, estimand and n (over all n of a board), the worst
family, mean / truth, coverage by problem, widths, and coverage if all intervals had another width.
It takes about a CPU minute and runs no estimator but `best_fast`, which it times.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import harness
from harness.configure.options import option
from harness.evaluation import arena
from harness.evaluation.arena.better_or_worse import log_ratios, statement
from harness.evaluation.arena.bounds import narrowest_width, weighted_errors
from harness.evaluation.arena.sensitivity import sensitivity
from harness.evaluation.arena.simple_rule import ALL_N, simple_rules
from harness.pages.arena import data as arena_data
from harness.records import baseline

REGRETS = 200, 1_000, 5_000
N = 200
LEAST_COVERAGE = 0.9
WIDE = 1.5  # times the narrowest width of fixed intervals that cover as often
ROUNDING = 1e-5  # of the stored estimates, which have 16 significant bits and are mostly below 0.6
SCALES = 1.0, 0.95, 0.9, 0.85, 0.8  # of the widths
BY_CLASS = "classwise"  # a notion that `best` was not trained for, reported apart


def main() -> None:
    results = arena_data.read()
    assert results is not None, "there is no stored arena"
    development = option("experiment", "arena").config["arena"]["development"]
    settings = results.settings
    settings = settings[settings["estimand"].isin(arena.MAIN)]
    by_class = settings["notion"].eq(BY_CLASS)
    table = arena.recommendations(settings[~by_class], development)
    lines = table[table["notion"].eq("binary") & table["estimand"].eq("l1")].set_index("n")
    print("regret of best, binary l1:", lines.loc[list(REGRETS), "own_regret"].round(2).to_dict())
    print("\nrule | lines in which best is better, worse | ratios, mean over n")
    for row in sensitivity(settings, development).itertuples():
        print(f"{row.notions}: {row.rule} | {row.better} of {row.lines}, {row.worse} | "
              f"{row.smallest:.2f} to {row.largest:.2f}")  # fmt: skip
    print("\nmedian of three published estimators | its RMSE over that of best, mean over n")
    rules = simple_rules(settings, development)
    for row in rules[rules["n"].eq(ALL_N)].itertuples():
        print(f"{row.notion} {row.estimand}: {', '.join(row.members)} | {row.ratio:.2f} "
              f"[{row.low:.2f}, {row.high:.2f}]")  # fmt: skip
    report(settings[~by_class], table, development)
    print(f"\nThe class-wise notion, of which best saw no simulations\n{'-' * 54}")
    of_classes = settings[by_class]
    report(of_classes, arena.recommendations(of_classes, development), development)

    for name in ("beta_overconfident", "dirichlet3_overconfident", "dirichlet10_overconfident"):
        p, y = harness.load_problem(name).sample(1_000, np.random.default_rng(0))
        estimator = harness.load_estimator("best_fast")
        seconds = []
        for seed in range(20):
            begun = time.process_time()
            estimator(p, y, np.random.default_rng(seed))
            seconds.append(time.process_time() - begun)
        print(f"best_fast, {name}, n = 1,000: {1e3 * min(seconds):.1f} ms of CPU")


def report(settings: pd.DataFrame, table: pd.DataFrame, development: list[str]) -> None:
    """Print how good `best` is on the test families.

    `table` holds the recommendations of `settings`.
    """
    test = settings[~settings["family"].isin(development)]
    print("lines that establish a difference:", table["verdict"].value_counts().to_dict())

    print("\nboard | rival per n | RMSE ratio, mean over n [95 % over families], families")
    for (notion, estimand), part in table.groupby(["notion", "estimand"]):
        logs = pd.concat(
            log_ratios(
                test[test[["notion", "estimand", "n"]].eq([notion, estimand, n]).all(axis=1)],
                "best",
                rival,
            )
            for n, rival in zip(part["n"], part["rival"])
        )
        s = statement(logs, "best", "rivals")
        print(f"{notion} {estimand} | {', '.join(part['rival'])} | {s.ratio:.2f} "
              f"[{s.low:.2f}, {s.high:.2f}], {s.families}")  # fmt: skip

    own = test[test["estimator"].eq("best") & ~test["calibrated"]]
    print("\nlargest regrets of a family:", largest_regrets(own, 5))
    others = settings[settings["family"].isin(development) & settings["estimator"].eq("best")]
    print("of a development family:", largest_regrets(others[~others["calibrated"]], 10))

    ratio = (own["bias"] + own["truth"]) / own["truth"]
    here = own["n"].eq(N)
    medians = ratio[here].groupby([own["notion"], own["estimand"]]).median().round(2)
    print(f"\nmedian of mean / truth at n = {N}:", medians.to_dict())

    whole = test[test["estimator"].eq("best")]
    share = whole["coverage"].ge(LEAST_COVERAGE).mean()
    print(f"\nproblems with a coverage of at least 90 %: {share:.1%} of {len(whole)}")
    failures = whole[whole["coverage"].lt(LEAST_COVERAGE)].sort_values("coverage")
    for row in failures.head(25).itertuples():
        print(f"  {row.problem}, {row.notion}, {row.estimand}, n = {row.n:,}: {row.coverage:.2f}")
    intervals = arena.interval_table(test)
    intervals = intervals[intervals["estimator"].eq("best")]
    widths = intervals.groupby(["notion", "estimand"])["relative_width"].median().round(2)
    print("width over the narrowest of fixed width that covers 93 %:", widths.to_dict())
    same = over_same_coverage(whole)
    print("over the narrowest of fixed width that covers as often:",
          same.groupby(level=[0, 1]).median().round(2).to_dict())  # fmt: skip
    print(f"above {WIDE} at a single n:", same[same > WIDE].round(2).to_dict())
    same = over_same_coverage(others)
    print("on the development families:", same.groupby(level=[0, 1]).median().round(2).to_dict(),
          f"and above {WIDE}:", same[same > WIDE].round(2).to_dict())  # fmt: skip
    print("\nnotion and estimand | share of problems with a coverage of at least 90 % (its width), "
          f"if all widths are {', '.join(map(str, SCALES))} times as large")  # fmt: skip
    shares = coverage_by_scale(whole)
    for (notion, estimand), width in widths.items():
        row = shares.loc[(notion, estimand)]
        cells = (f"{share:.3f} ({scale * width:.2f})" for scale, share in row.items())
        print(f"{notion} {estimand} | {', '.join(cells)}")


def largest_regrets(settings: pd.DataFrame, count: int) -> dict[tuple[str, ...], float]:
    """Return the largest regrets by notion, estimand, family and n (geometric means)."""
    groups = settings.assign(log=np.log(settings["regret"]))
    mean = groups.groupby(["notion", "estimand", "family", "n"])["log"].mean()
    return dict(np.exp(mean).nlargest(count).round(2))


def over_same_coverage(settings: pd.DataFrame) -> pd.Series:
    """Return the width of intervals over that of the narrowest fixed ones of the same coverage.

    The index is notion, estimand and n. The narrowest interval is [value - a, value + b], with the
    same a and b for all problems of a row, and covers as many samples as the intervals of `best`.
    Families have the same weight, and problems whose truth is 0 do not count.
    """
    ratios = {}
    rows = settings[settings["truth"].notna() & ~settings["calibrated"]]
    for key, part in rows.groupby(["notion", "estimand", "n"]):
        families = part.groupby("family")[["coverage", "width"]].mean().mean()
        narrowest = narrowest_width(*weighted_errors(part), float(families["coverage"]))
        ratios[key] = families["width"] / narrowest
    return pd.Series(ratios)


def coverage_by_scale(settings: pd.DataFrame) -> pd.DataFrame:
    """Return the share of problems that intervals of other widths cover, by notion and estimand.

    The columns are SCALES, by which both sides of all intervals of `best` are multiplied. Intervals
    that end at 0 stay there, because `best` clips them.
    """
    records = pd.read_parquet(baseline.read().folder / "best.parquet").dropna(subset=["low"])
    keys = ["notion", "estimand", "problem", "n"]
    rows = records.drop(columns="truth").merge(settings[[*keys, "truth"]], on=keys)
    shares = {}
    for scale in SCALES:
        low = np.where(rows["low"] > 0.0, rows["value"] - scale * (rows["value"] - rows["low"]), 0)
        high = rows["value"] + scale * (rows["high"] - rows["value"])
        covered = rows["truth"].between(low - ROUNDING, high + ROUNDING)
        of_problem = covered.groupby([rows[key] for key in keys]).mean()
        shares[scale] = of_problem.ge(LEAST_COVERAGE).groupby(keys[:2]).mean()
    return pd.DataFrame(shares)


if __name__ == "__main__":
    main()
