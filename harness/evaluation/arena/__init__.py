"""The arena: the error of each estimator, relative to the best published one in the same setting.

A setting is one problem under one notion, at one n, for one estimand. Estimands and notions are
never mixed. In a setting the regret of estimator e is

    RMSE_e   = sqrt(mean over replications of (value - truth)^2)
    regret_e = max(RMSE_e, floor) / min over published estimators f of max(RMSE_f, floor)

The best published estimator of a setting has regret 1. The floor is a tenth of the sampling error
of a mean: 0.1 / sqrt(n), and 0.1 / n for squared quantities. Errors below the floor count as equal.
This matters for instance where the truth is 0 and an estimator returns 0.

Replications are paired: all estimators see the same draws. Let c be the best estimator with all
replications. The RMSE of an estimator that lacks some replications is multiplied by

    (RMSE_c over all replications) / (RMSE_c over the replications that the estimator has)

The mean regret is a geometric mean, first over the problems of each group (family, n, number of
classes), then over the groups. Therefore a family does not count more for having more problems.

Intervals come from a bootstrap that draws problems, and replications within problems. All
estimators share the draws. The best estimator of a setting is that of the original sample in every
resample. A group with one problem varies only through its replications.
"""

from harness.evaluation.arena.boards import frontier, leaderboard, leaderboards
from harness.evaluation.arena.regrets import settings
from harness.evaluation.arena.rules import (
    MAIN,
    OTHER,
    RULE,
    floors,
    is_anchor,
    is_published,
    map_families,
    read_development,
    read_families,
)
from harness.evaluation.arena.statements import against, better, choices

__all__ = [
    "MAIN", "OTHER", "RULE", "against", "better", "choices", "read_development", "read_families",
    "map_families", "floors", "frontier", "is_anchor", "is_published", "leaderboard",
    "leaderboards", "settings",
]  # fmt: skip
