"""Rules of the arena: the floor of an error, anchors, families of problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.configure import catalogue, options
from harness.configure.arena import Arena
from harness.errors import BadInputError

SETTING = ["family", "problem", "k", "notion", "n", "estimand"]
MAIN = ("l1", "l2_squared")  # the estimands that are ranked
LEAST_SHARE = 0.8  # an estimator is ranked if it is applicable in this share of the settings
OTHER = "other"  # the family of problems that belong to none
ANCHORS = (
    "oracle", "monte_carlo_truth", "brier", "logloss", "accuracy", "auroc", "constant", "zero",
)  # fmt: skip
RULE = (
    "A cell that failed, or in which the estimator is undefined, counts with the largest error "
    "that any published estimator made in the same rep, though at most the largest error that an "
    "answer in the estimand's range can have; such cells are counted. A cell outside an "
    "estimator's own declared limits is not applicable: it is left out of the estimator's mean, "
    "the share of the settings in which it is applicable is shown, and below 80 % it has no rank. "
    "Bounds are no point estimates and have no regret; oracles and other anchors have a regret, "
    "and no rank."
)


def floors(table: pd.DataFrame) -> NDArray[np.float64]:
    """Return the smallest RMSE that counts: 0.1 n^(-1/2), and 0.1 / n for squared quantities.

    Parameters
    ----------
    table : DataFrame
        One row per number, with the columns estimand and n.

    Examples
    --------
    >>> floors(pd.DataFrame({"estimand": ["l1", "l2_squared"], "n": 100})).tolist()
    [0.01, 0.001]
    """
    names = table["estimand"].astype(str)
    squared = (names.str.contains("squared") | names.eq("kl")).to_numpy(bool)
    n = table["n"].to_numpy(float)
    least: NDArray[np.float64] = np.where(squared, 0.1 / n, 0.1 / np.sqrt(n))
    return least


def largest(estimand: str, notion: str) -> float:
    """Return the largest value that an estimand can have, infinity without a limit."""
    of_vector = notion == "canonical" and not estimand.startswith("top_class_")
    if estimand.removeprefix("top_class_").startswith("l2_squared"):
        return 2.0 if of_vector else 1.0
    if not of_vector:
        return math.inf if estimand == "kl" else 1.0
    limits = {"l1": 2.0, "l2": math.sqrt(2.0), "rms": math.sqrt(2.0), "linf": 1.0}
    return limits.get(estimand, math.inf)


def is_anchor(estimator: str) -> bool:
    """Return True for an oracle or a score: something to compare with, not an estimator."""
    return estimator.startswith(ANCHORS)


def is_published(estimator: str) -> bool:
    """Return True if the estimator can be the best of a setting: no anchor and no `best*`."""
    return not is_anchor(estimator) and not estimator.startswith("best")


def family_of(families: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return {problem: family} of {family: problems}."""
    return {problem: family for family, problems in families.items() for problem in problems}


def families_of(arena: Arena | None) -> dict[str, list[str]]:
    """Return {family: [problem ids]} of an arena, or of the experiment that its `families` names.

    Examples
    --------
    >>> "beta_wavy" in families_of(Arena("arena"))["wavy"]
    True
    """
    whole = _resolve(arena)
    if whole is None or isinstance(whole.families, str):
        raise BadInputError(
            "arena.families names an experiment without families; give {NAME: [problem ids]}."
        )
    return {family: list(problems) for family, problems in whole.families.items()}


def development_of(arena: Arena | None) -> list[str]:
    """Return the families on which our own estimators were developed. The others are the test half.

    Examples
    --------
    >>> development_of(Arena("arena"))[:2]
    ['power', 'fitted_images']
    """
    whole = _resolve(arena)
    return list(whole.development or []) if whole else []


def _resolve(arena: Arena | None) -> Arena | None:
    """Return the arena itself, or that of the experiment that its `families` names."""
    if arena is None or not isinstance(arena.families, str):
        return arena
    if arena.families not in options.ids("experiment"):
        raise BadInputError(
            f"arena.families is {arena.families!r}, which is no experiment; "
            "`calharness list experiments` shows all."
        )
    return Arena.from_value(catalogue.config("experiment", arena.families).get("arena"))
