"""What the arena ranks and by which rules: the floor of an error, anchors, families of problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from harness.configure import catalogue, options
from harness.configure.arena import Arena
from harness.errors import BadInputError

SETTING = ["family", "problem", "k", "notion", "n", "estimand"]
MAIN = ("l1", "l2_squared")  # the estimands that the arena ranks
LEAST_SHARE = 0.8  # of the settings in which an estimator must be applicable to be ranked
OTHER = "other"  # the family of problems that are in none
ANCHORS = (
    "oracle",
    "monte_carlo_truth",
    "brier",
    "logloss",
    "accuracy",
    "auroc",
    "constant",
    "zero",
)
RULE = (
    "A cell that failed, or in which the estimator is undefined, counts with the largest error that any published estimator made "
    "in the same rep, though at most the largest error that an answer in the estimand's range can have; such cells are counted. "
    "A cell outside an estimator's own declared limits is not applicable: it is left out of the estimator's mean, the share of "
    "the settings in which it is applicable is shown, and below 80 % it has no rank. Bounds are no point estimates and have no "
    "regret; oracles and other anchors have a regret, and no rank."
)


def floor(estimand: str, n: Any) -> Any:
    """What an RMSE is at least taken to be: 0.1 n^(-1/2), of squared quantities 0.1 / n.

    Examples
    --------
    >>> floor("l1", 100), floor("l2_squared", 100)
    (0.01, 0.001)
    """
    n = np.asarray(n, dtype=float)
    found = 0.1 / n if is_square(estimand) else 0.1 / np.sqrt(n)
    return float(found) if found.ndim == 0 else found


def floors(table):
    """`floor` of every row of a table with the columns estimand and n."""
    square = (
        table["estimand"]
        .map({name: is_square(name) for name in table["estimand"].unique()})
        .to_numpy(bool)
    )
    n = table["n"].to_numpy(float)
    return np.where(square, 0.1 / n, 0.1 / np.sqrt(n))


def is_square(estimand: str) -> bool:
    """Whether the estimand is small of second order: l2_squared and its like, and kl."""
    return "squared" in estimand or estimand == "kl"


def largest(estimand: str, notion: str) -> float:
    """The largest value of an estimand; infinite where it has none."""
    if estimand.removeprefix("top_class_").startswith("l2_squared"):
        return 2.0 if notion == "canonical" and not estimand.startswith("top_class_") else 1.0
    if notion != "canonical" or estimand.startswith("top_class_"):
        return math.inf if estimand == "kl" else 1.0
    return {"l1": 2.0, "l2": math.sqrt(2.0), "rms": math.sqrt(2.0), "linf": 1.0}.get(
        estimand, math.inf
    )


def is_anchor(estimator: str) -> bool:
    """Whether it is no estimator, but something to compare with: an oracle, a score."""
    return estimator.startswith(ANCHORS)


def is_published(estimator: str) -> bool:
    """Whether the best of a setting may be this one: no anchor, and none of this project's own `best*`."""
    return not is_anchor(estimator) and not estimator.startswith("best")


def family_of(families: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """{problem: family}. Raises BadInputError if a problem is in two."""
    found: dict[str, str] = {}
    for family, problems in families.items():
        for problem in problems:
            if found.setdefault(problem, family) != family:
                raise BadInputError(
                    f"arena.families has {problem} in {found[problem]} and in {family}; one of them is needed."
                )
    return found


def families_of(arena: Arena | None) -> dict[str, list[str]]:
    """{family: [problem ids]} of an arena, or of the experiment that its `families` names.

    Examples
    --------
    >>> "beta_wavy" in families_of(Arena("arena"))["wavy"]
    True
    """
    whole = _whole(arena)
    if whole is None or isinstance(whole.families, str):
        raise BadInputError(
            "arena.families names an experiment without families; give {NAME: [problem ids]}."
        )
    return {family: list(problems) for family, problems in whole.families.items()}


def development_of(arena: Arena | None) -> list[str]:
    """The families on which this project's own estimators were developed; of the other ones nothing was looked at before.

    Examples
    --------
    >>> development_of(Arena("arena"))[:2]
    ['power', 'fitted_images']
    """
    whole = _whole(arena)
    return list(whole.development or []) if whole else []


def _whole(arena: Arena | None) -> Arena | None:
    """Return the arena itself, or that of the experiment which its `families` names."""
    if arena is None or not isinstance(arena.families, str):
        return arena
    if arena.families not in options.ids("experiment"):
        raise BadInputError(
            f"arena.families is {arena.families!r}, which is no experiment; `calharness list experiments` shows all."
        )
    return Arena.from_value(catalogue.config("experiment", arena.families).get("arena"))
