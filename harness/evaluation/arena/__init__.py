"""The arena: how far each estimator is off, against the best published one in the same setting.

A setting is one problem under one notion, at one n, for one estimand; estimands and notions are never mixed. In a setting

    RMSE_e  = sqrt(mean over reps of (value - truth)^2)
    regret_e = max(RMSE_e, floor) / min over published f of max(RMSE_f, floor)

1 is the best published estimator of that setting. The floor, 0.1 n^(-1/2) (0.1 / n for squared quantities), is a tenth of the
sampling error of a mean: below it nobody is better than anybody, as where the truth is 0 and an estimator answers 0. Reps are
paired: all estimators saw the same draws. Where an estimator has some of the reps only, its RMSE is scaled by what the best
complete estimator of the setting has on all reps over what it has on those.

The mean regret is the geometric mean: over the problems of a cell (family, n, k), then over the cells, so that no family counts
more for having more problems. Intervals are of a bootstrap that draws problems, and reps within problems, the same for all
estimators; the best estimator of a setting stays the one of the sample. (Of a group with one problem reps alone vary.)
"""

from harness.evaluation.arena.boards import COLUMNS, frontier, leaderboard
from harness.evaluation.arena.orders import BY_DEFAULT, LEAST_APART, POINTS, ordered_pairs
from harness.evaluation.arena.regrets import settings
from harness.evaluation.arena.rules import (
    ANCHORS,
    LEAST_SHARE,
    MAIN,
    OTHER,
    RULE,
    SETTING,
    development_of,
    families_of,
    family_of,
    floor,
    is_anchor,
    is_published,
    is_square,
    largest,
)
from harness.evaluation.arena.statements import MIN_PROBLEMS, Statement, against, better, choices

__all__ = [
    "ANCHORS",
    "BY_DEFAULT",
    "COLUMNS",
    "LEAST_APART",
    "LEAST_SHARE",
    "MAIN",
    "MIN_PROBLEMS",
    "OTHER",
    "POINTS",
    "RULE",
    "SETTING",
    "Statement",
    "against",
    "better",
    "choices",
    "development_of",
    "families_of",
    "family_of",
    "floor",
    "frontier",
    "is_anchor",
    "is_published",
    "is_square",
    "largest",
    "leaderboard",
    "ordered_pairs",
    "settings",
]
