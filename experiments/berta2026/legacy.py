"""Figures 1 and 3 compared with the authors' runs on the same draws.

A run may have computed only some of the classifiers.
"""

import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import items, reproduction
from harness.evaluation.selection import label

NOT_COMPUTED = (
    "not computed: running the experiment computes what is missing "
    "(NOTES.md has the commands, cheap ones first)"
)
WEIGHTS = "not computed: it needs weights that no package has"
NEED_WEIGHTS = ("variational_tabpfn_berta2026", "variational_tabicl_berta2026")


def reproduced(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Return `items.convergence_numbers`, with "not computed" for numbers without a record."""
    ours = items.convergence_numbers(records, settings, estimand)
    if not settings.same_draws_as_paper:
        return ours
    whys = {
        label(settings, "estimator", e): WEIGHTS if e in NEED_WEIGHTS else NOT_COMPUTED
        for e in settings.estimator
    }
    printed = reproduction.reported(settings.paper, settings.compare)
    printed = printed.loc[printed["column"].isin(whys) & printed["value"].notna(), reproduction.KEY]
    computed = pd.MultiIndex.from_frame(ours[reproduction.KEY])
    absent = printed[~pd.MultiIndex.from_frame(printed).isin(computed)]
    return items.joined([ours, absent.assign(why=absent["column"].map(whys))])
