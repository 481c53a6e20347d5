"""Figures 1 and 3 compared with the authors' runs on the same draws.

A run may have computed only some of the classifiers.
"""

import pandas as pd

from harness.evaluation import items, reproduction
from harness.evaluation.selection import label

NOT_COMPUTED = "not computed: running the experiment computes what is missing (NOTES.md has the commands, cheap ones first)"
WEIGHTS = "not computed: it needs weights that no package has"
OF_WEIGHTS = ("variational_tabpfn_berta2026", "variational_tabicl_berta2026")


def reproduced(records, settings, estimand):
    """Return `items.convergence_numbers`, with "not computed" for numbers without a record."""
    ours = items.convergence_numbers(records, settings, estimand)
    if not settings.same_draws_as_paper:
        return ours
    whys = {
        label(settings, "estimator", e): WEIGHTS if e in OF_WEIGHTS else NOT_COMPUTED
        for e in settings.estimator
    }
    asked = reproduction.reported(settings.paper, settings.compare)
    asked = asked.loc[asked["column"].isin(whys) & asked["value"].notna(), reproduction.KEY]
    mine = pd.MultiIndex.from_frame(ours[reproduction.KEY])
    absent = asked[~pd.MultiIndex.from_frame(asked).isin(mine)]
    return items.joined([ours, absent.assign(why=absent["column"].map(whys))])
