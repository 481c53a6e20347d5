"""Rules of the arena: smallest error that counts, kinds of estimators, families of problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.configure import catalogue, options
from harness.configure.arena import Arena
from harness.errors import BadInputError

BOARD = ["notion", "estimand"]  # every leaderboard has one of each
SETTING = ["family", "problem", "k", "notion", "n", "estimand"]
MAIN = ("l1", "l2_squared")  # the estimands that are ranked
LEAST_SHARE = 0.8  # an estimator has a rank if it is applicable in this share of the settings
OTHER = "other"  # family of the problems that `families` does not name
ANCHORS = (
    "oracle", "monte_carlo_truth", "brier", "logloss", "accuracy", "auroc", "constant", "zero",
)  # fmt: skip
# Estimators whose values are bounds, at least in expectation. They are compared with each other.
BOUNDS = (
    "best_lower", "bv_window", "certified_", "gain_", "lip_bkt", "lower_preq", "nw_jensen",
    "nw_kfold", "tv_", "upper_", "variational_",
)  # fmt: skip
BOUND_KINDS = ("lower", "upper", "interval")
# Point estimators that nobody published under their name: another calibrator or number of bins, or
# the double of another id (isotonic regression in-sample of corp, scaling-binning of debiased15).
VARIANTS = (
    "debiased50_interval", "lower_scaling_binning", "lower_scaling_binning_auto",
    "tuned_variational", "tuned_variational_isotonic", "variational_isotonic_insample",
)  # fmt: skip
CALIBRATED = 1e-12  # a true value up to this is 0: quadrature leaves rounding errors
RULE = (
    "A cell that failed, or in which the estimator is undefined, counts with the largest error "
    "that any published estimator made in the same replication. This error is at most the largest "
    "one that a value in the range of the estimand can have. The number of such cells is shown. An "
    "estimator is not applicable in a setting outside its declared limits. Such settings do not "
    "enter its mean. An estimator that is applicable in less than 80 % of the settings has no "
    "rank. Settings whose truth is 0 have no regret; their errors are shown separately. Bounds are "
    "not point estimates and are compared with each other. An oracle knows the truth: it is shown "
    "as a reference, without a rank, and does not count as an estimator."
)


def floors(table: pd.DataFrame) -> NDArray[np.float64]:
    """Return the smallest RMSE that counts, for each row of a table.

    It is 0.1 / sqrt(n), and 0.1 / n for squared quantities.

    Parameters
    ----------
    table : DataFrame
        Columns estimand and n.

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
    """Return the largest value that an estimand can have under a notion, infinity if unbounded."""
    of_vector = notion == "canonical" and not estimand.startswith("top_class_")
    if estimand.removeprefix("top_class_").startswith("l2_squared"):
        return 2.0 if of_vector else 1.0
    if not of_vector:
        return math.inf if estimand == "kl" else 1.0
    limits = {"l1": 2.0, "l2": math.sqrt(2.0), "rms": math.sqrt(2.0), "linf": 1.0}
    return limits.get(estimand, math.inf)


def is_anchor(estimator: str) -> bool:
    """Return True for an anchor: an oracle or score that is shown only for comparison."""
    return estimator.startswith(ANCHORS)


def count_estimators(estimators: Iterable[str]) -> int:
    """Return the number of different estimators. Anchors are references and do not count.

    Examples
    --------
    >>> count_estimators(["binned15", "binned15", "kde", "oracle"])
    2
    """
    return sum(not is_anchor(name) for name in set(estimators))


def is_bound(estimator: str) -> bool:
    """Return True for an estimator of bounds, which is not ranked among point estimators.

    A recalibration map that is evaluated in-sample gives no bound.

    Examples
    --------
    >>> is_bound("variational_isotonic"), is_bound("variational_isotonic_insample")
    (True, False)
    """
    return estimator.startswith(BOUNDS) and not estimator.endswith("_insample")


def is_published(estimator: str) -> bool:
    """Return True for a point estimator that was published under its name.

    Only these can be the best published estimator of a setting. Anchors, bounds, our own estimators
    (`best*`) and VARIANTS are not among them.

    Examples
    --------
    >>> [is_published(name) for name in ("binned15", "best", "gain_isotonic", "oracle")]
    [True, False, False, False]
    """
    apart = is_anchor(estimator) or is_bound(estimator) or estimator in VARIANTS
    return not apart and not estimator.startswith("best")


def map_families(families: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Invert {family: problems} to {problem: family}."""
    return {problem: family for family, problems in families.items() for problem in problems}


def read_families(arena: Arena | None) -> dict[str, list[str]]:
    """Return {family: [problem ids]} of an arena.

    If `arena.families` is the id of an experiment, return the families of that experiment.

    Examples
    --------
    >>> "wavy_k2" in read_families(Arena("arena"))["wavy"]
    True
    """
    whole = _resolve(arena)
    if whole is None or isinstance(whole.families, str):
        raise BadInputError(
            "arena.families names an experiment that defines no families; "
            "set arena.families to {NAME: [problem ids]}."
        )
    return {family: list(problems) for family, problems in whole.families.items()}


def read_development(arena: Arena | None) -> list[str]:
    """Return the families of the development half, on which our own estimators were developed.

    All other families belong to the test half.

    Examples
    --------
    >>> read_development(Arena("arena"))[:2]
    ['power', 'wavy']
    """
    whole = _resolve(arena)
    return list(whole.development or []) if whole else []


def _resolve(arena: Arena | None) -> Arena | None:
    """Return the arena that holds the families.

    It is `arena` itself, or the arena of the experiment that `arena.families` names.
    """
    if arena is None or not isinstance(arena.families, str):
        return arena
    if arena.families not in options.ids("experiment"):
        raise BadInputError(
            f"arena.families is {arena.families!r}, which is no experiment; choose one that "
            "`calharness list experiments` shows."
        )
    return Arena.from_value(catalogue.config("experiment", arena.families).get("arena"))
