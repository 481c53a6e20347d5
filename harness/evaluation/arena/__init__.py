"""The arena: the error of each estimator, relative to the best published one in the same setting.

A setting is one problem under one notion, at one n, for one estimand. Estimands and notions are
never mixed. In a setting the error of estimator e is

    RMSE_e = sqrt(mean over replications of (value - truth)^2)

and its regret is cross-fitted. The replications are divided into two halves. Let f be the published
estimator with the smallest RMSE on one half. The regret is the geometric mean over both directions
of

    max(RMSE_e, floor) / max(RMSE_f, floor)      on the other half

Without the division, the denominator would be the smallest of many noisy errors, and too small by
chance. Regret can therefore be below 1. Only estimators with all replications of a setting enter
the denominator. For an estimator with fewer ones, both errors are over the common replications. All
estimators see the same draws.

The floor is a tenth of the sampling error of a mean: 0.1 / sqrt(n), and 0.1 / n for squared
quantities. Errors below the floor count as equal.

Settings whose truth is 0 have no regret. Their errors are stated separately, and never averaged
with the others.

The unit is the family: a kind of miscalibration, whose problems differ in the number of classes.
The mean regret is a geometric mean, first over the settings of a family, then over families.
Intervals are Student's over families, with one degree of freedom less than there are families.
Intervals of ranks come from a bootstrap of families. Replications are not drawn again, because
their noise is part of the variance between families. With fewer than five families, two estimators
are not compared by a test.
"""

from harness.evaluation.arena.better_or_worse import Statement, better, holm
from harness.evaluation.arena.boards import frontier, leaderboard, leaderboards
from harness.evaluation.arena.bounds import bounds, interval_table
from harness.evaluation.arena.confidence_set import confidence_set
from harness.evaluation.arena.recommendations import recommendations, rivals
from harness.evaluation.arena.regrets import settings
from harness.evaluation.arena.rules import (
    MAIN,
    OTHER,
    RULE,
    count_estimators,
    floors,
    is_anchor,
    is_bound,
    is_published,
    map_families,
    read_development,
    read_families,
)

__all__ = [
    "MAIN", "OTHER", "RULE", "Statement", "better", "bounds", "confidence_set", "count_estimators",
    "floors",
    "frontier", "holm", "interval_table", "is_anchor", "is_bound", "is_published", "leaderboard",
    "leaderboards", "map_families", "read_development", "read_families", "recommendations",
    "rivals", "settings",
]  # fmt: skip
