"""Figures 1 and 3 compared with the authors' runs on the same random draws."""

import pandas as pd

from harness.common.paths import EXPERIMENTS
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
    """Return our numbers of a figure of estimates against n.

    On the authors' random draws, a mean of theirs over 9 or 11 runs is compared with our mean over
    the same runs. Numbers without a record get the reason why they are not computed.
    """
    ours = items.convergence_numbers(records, settings, estimand)
    if not settings.same_draws_as_paper:
        return ours
    printed = reproduction.reported(settings.paper, settings.compare)
    ours = count_runs_as_published(ours, records, settings, estimand, printed)
    whys = {
        label(settings, "estimator", e): WEIGHTS if e in NEED_WEIGHTS else NOT_COMPUTED
        for e in settings.estimator
    }
    asked = printed["column"].isin(whys) & printed["value"].notna()
    printed = printed.loc[asked, reproduction.KEY]
    computed = pd.MultiIndex.from_frame(ours[reproduction.KEY])
    absent = printed[~pd.MultiIndex.from_frame(printed).isin(computed)]
    return items.joined([ours, absent.assign(why=absent["column"].map(whys))])


def count_runs_as_published(ours, records, settings, estimand, printed) -> pd.DataFrame:
    """Return `ours` with some means taken over the same runs as the published means.

    The authors' table of Figure 1 lacks a run, and that of Figure 3 has duplicate rows. So some
    published means are over nine or eleven runs. counted_runs.csv lists how often they count each
    run. All other means stay as they are.
    """
    times = pd.read_csv(EXPERIMENTS / "berta2026" / "counted_runs.csv")
    cells = items.values(records, settings, estimand)
    cells = cells.assign(
        row=items.formatted(cells, "{model}, n = {n}"), seed=cells["rep"].astype(int)
    )
    cells = cells.merge(times, on=["row", "seed"], how="left")
    cells = cells[cells["row"].isin(times["row"])]
    counted = cells.loc[cells.index.repeat(cells["times"].fillna(1).astype(int))]
    means = items.means(counted, ["row", "column"])
    means = means.merge(times[["row", "item"]], on="row")
    of_theirs = printed.rename(columns={"reps": "published"})[[*reproduction.KEY, "published"]]
    means = means.merge(of_theirs, on=reproduction.KEY).query("reps == published")
    answers = items.numbers(means, "{row}", "{column}").assign(item=means["item"].to_numpy())
    replaced = pd.MultiIndex.from_frame(answers[reproduction.KEY])
    others = ours[~pd.MultiIndex.from_frame(ours[reproduction.KEY]).isin(replaced)]
    return items.joined([others, answers])
