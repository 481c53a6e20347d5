"""This project's own estimators in the arena: on the families they were developed on, and on those nobody had looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.evaluation import arena, intervals, rates

OWN = ("best", "best_fast", "best_lower")
HALVES = ("development", "test")
TARGET_MEAN, TARGET_WORST = 1.15, 1.6
MEAN_CHOICE, WORST_CHOICE = "published, least mean", "published, least worst"


def is_own(estimator: str) -> bool:
    """Whether it is one of this project's own estimators."""
    return estimator.startswith("best")


def half_of(family: str, development: Sequence[str]) -> str:
    """development | test."""
    return "development" if family in development else "test"


def halves(settings: pd.DataFrame, development: Sequence[str], **bootstrap) -> pd.DataFrame:
    """Mean and worst regret over each half of the families: of the own estimators and of the best published ones.

    Parameters
    ----------
    settings : DataFrame
        Rows of `arena.settings` of the main estimands.
    development : sequence of str
        The families of the development half.
    bootstrap
        resamples, seed and level of `arena.leaderboard`.

    Returns
    -------
    DataFrame
        A row per notion, estimand, half (development, test) and estimator: role (own; or that it is the published estimator with
        the least mean, or least worst, regret of that very half among those with a rank: chosen after the fact, so hard to beat),
        regret, low, high, worst, worst_at, share, rank, and meets_mean and meets_worst, whether regret <= 1.15 and worst <= 1.6.
        Halves without any setting have no row; an own estimator that was not run, or gives bounds alone there, has none either.
    """
    rows = []
    for half in HALVES:
        part = settings[settings["family"].isin(development).to_numpy() == (half == "development")]
        board = arena.leaderboard(part, **bootstrap)
        for _, of in board.groupby(["notion", "estimand"], sort=False):
            ranked = of[of["rank"].notna() & of["estimator"].map(arena.is_published).astype(bool)]
            chosen = [(OWN.index(row["estimator"]) if row["estimator"] in OWN else 9, "own", row)
                      for _, row in of[of["estimator"].map(is_own).astype(bool)].iterrows()]  # fmt: skip
            if len(ranked):
                chosen.append((10, MEAN_CHOICE, ranked.loc[ranked["regret"].idxmin()]))
                chosen.append((11, WORST_CHOICE, ranked.loc[ranked["worst"].idxmin()]))
            rows += [
                {**row, "half": half, "role": role}
                for _, role, row in sorted(chosen, key=lambda one: one[0])
            ]
    columns = [
        "notion",
        "estimand",
        "half",
        "estimator",
        "role",
        "regret",
        "low",
        "high",
        "worst",
        "worst_at",
        "share",
        "rank",
    ]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(
        meets_mean=table["regret"].le(TARGET_MEAN), meets_worst=table["worst"].le(TARGET_WORST)
    )


def coverage(frame: pd.DataFrame, families: dict, development: Sequence[str]) -> pd.DataFrame:
    """Coverage of the own intervals and bounds by family.

    Parameters
    ----------
    frame : DataFrame
        Records, as of `harness.load_records`.
    families, development
        {family: [problem ids]}, and those of the development half. Problems of no family (pairs of models) are left out.

    Returns
    -------
    DataFrame
        A row per notion, estimand, estimator and family: half, level, sides, samples (over problems, n and reps), coverage and
        its standard error se, least = level - 3 sqrt(level (1 - level) / samples), passes (coverage >= least), and relative,
        the geometric mean over problems of width / max(truth, floor). Where the truth is unknown, nothing counts.
    """
    own = frame[frame["estimator"].map(is_own).astype(bool) & frame["estimand"].isin(arena.MAIN)]
    own = own[
        own["problem"].isin({problem for members in families.values() for problem in members})
    ]  # others are of no half
    columns = [
        "notion", "estimand", "estimator", "family", "half", "level", "sides", "samples", "coverage", "se", "least", "passes",
        "relative",
    ]  # fmt: skip
    fine = intervals.intervals(own, families) if len(own) else own
    if not len(fine):
        return pd.DataFrame(columns=columns)
    fine = fine.drop_duplicates(["key", "estimand"])
    rows = []
    for (notion, estimand, estimator, family), part in fine.groupby(
        ["notion", "estimand", "estimator", "family"], sort=True
    ):
        level, samples, share = part["level"].iloc[0], len(part), part["covered"].mean()
        least = float(rates.least_coverage(level, samples))
        wide = part.groupby("problem")["relative"].mean().clip(lower=intervals.LEAST_WIDTH)
        rows.append({
            "notion": notion, "estimand": estimand, "estimator": estimator, "family": family,
            "half": half_of(family, development), "level": level, "sides": part["sides"].iloc[0], "samples": samples,
            "coverage": share, "se": float(np.sqrt(share * (1.0 - share) / samples)), "least": least,
            "passes": bool(share >= least), "relative": float(np.exp(np.log(wide).mean())),
        })  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    order = {name: i for i, name in enumerate(HALVES)}
    table = table.assign(place=table["half"].map(order)).sort_values(
        ["notion", "estimand", "estimator", "place", "family"]
    )
    return table.drop(columns="place").reset_index(drop=True)
