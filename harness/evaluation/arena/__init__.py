"""The arena: the error of each estimator, relative to the best published one in the same setting.

A setting is one problem under one notion, at one n, for one estimand. Estimands and notions are
never mixed. In a setting

    RMSE_e   = sqrt(mean over reps of (value - truth)^2)
    regret_e = max(RMSE_e, floor) / min over published f of max(RMSE_f, floor)

The best published estimator of a setting has regret 1. The floor is 0.1 n^(-1/2), and 0.1 / n for
squared quantities: a tenth of the sampling error of a mean. Errors below it count as equal, for
instance where the truth is 0 and an estimator answers 0. Reps are paired: all estimators see the
same draws. An estimator that lacks some reps has its RMSE scaled by (RMSE of the best complete
estimator on all reps) / (its RMSE on the reps at hand).

The mean regret is a geometric mean, first over the problems of a (family, n, k), then over these
groups, so that no family counts more for having more problems. Intervals come from a bootstrap
that draws problems, and reps within problems, the same for all estimators. The best estimator of a
setting stays that of the sample. A group with one problem varies by its reps alone.
"""

from harness.evaluation.arena.boards import frontier, leaderboard
from harness.evaluation.arena.regrets import settings
from harness.evaluation.arena.rules import (
    MAIN,
    OTHER,
    RULE,
    development_of,
    families_of,
    family_of,
    floors,
    is_anchor,
    is_published,
)
from harness.evaluation.arena.statements import against, better, choices

__all__ = [
    "MAIN", "OTHER", "RULE", "against", "better", "choices", "development_of", "families_of",
    "family_of", "floors", "frontier", "is_anchor", "is_published", "leaderboard", "settings",
]  # fmt: skip
