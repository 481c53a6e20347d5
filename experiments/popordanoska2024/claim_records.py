"""Records of the experiments that a claim is tested on."""

from dataclasses import replace

from harness.configure.figure import Labels
from harness.evaluation import claims

from .printed_claims import PAPER_ID


def part(records, settings, *names):
    """Return the records of some experiments of this paper, and settings with their components."""
    mine = records[
        records["experiment"].isin([f"{PAPER_ID}_{name}" for name in names])
    ].drop_duplicates(["key", "estimand"])
    groups = {group: dict.fromkeys(mine[group].unique(), {}) for group in ("problem", "estimator")}
    return mine, replace(settings, **groups, reasons={}, labels=Labels({}, {}))


def absent(name):
    """Return an untested statistic that names the experiment to run first."""
    return claims.untested(f"`calharness experiment={PAPER_ID}_{name}` has to run first")


def configured(name):
    """Return the settings of an experiment of this paper."""
    from harness.configure.compose import compose

    return compose([f"experiment={PAPER_ID}_{name}"])
