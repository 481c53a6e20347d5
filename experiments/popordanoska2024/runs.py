"""Networks in the course of training: what Figures 3, 6, 7 and 8 share. Problems are files named

<family>/<network>_seed<s>[_epoch<e>][_<layer>][/<part>]      (harness.problems.PredictionFiles)
"""

import re

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.report import items, panels

NAME = re.compile(r"(.+)/(.+?)_seed(\d+)(?:_epoch(\d+))?(?:_([a-z]+\d*))?(?:/(\w+))?")
PARTS = ["family", "network", "seed", "epoch", "layer", "part"]


def named(problems):
    """What the ids say: frame indexed by problem with PARTS; seed and epoch are numbers, what an id lacks is missing. Problems
    that stand for absent files are left out: their cells carry the reason."""
    rows = {}
    for problem in dict.fromkeys(problems):
        found = NAME.fullmatch(problem)
        if found:
            family, network, seed, epoch, layer, part = found.groups()
            rows[problem] = [family, network, int(seed), np.nan if epoch is None else int(epoch), layer, part]
        elif "/absent" not in problem:
            raise BadInputError(f"problem {problem!r} is not named <family>/<network>_seed<s>[_epoch<e>][_<layer>][/<part>].")
    return pd.DataFrame.from_dict(rows, orient="index", columns=PARTS).rename_axis("problem")


def estimates(records, config, notion):
    """The numbers of one notion beside what the problems' names say; `column` is the estimator's label. Accuracies in percent."""
    fine = items.values(records, config, notion=notion)
    fine = fine[["key", "problem", "n", "estimator", "column", "estimand", "value", "diagnostics"]]
    fine = fine.join(named(fine["problem"]), on="problem", how="inner")
    return fine.assign(value=np.where(fine["estimand"].eq("accuracy"), 100.0, 1.0) * fine["value"].astype(float))


def of(found, estimand, **parts):
    """The rows of one estimand (and of one `part`, `column`, ...)."""
    for name, wanted in {"estimand": estimand, **parts}.items():
        found = found[found[name].eq(wanted)]
    return found


def nothing(text="there are no files to draw; the page says how to get them"):
    """A figure that says that there is none."""
    return panels.nothing(text)


def wide(rows, levels, heading, first=()):
    """items.wide, which says so where there are no files."""
    made = items.wide(rows, levels, heading, first, "none: there are no files")
    return made if len(levels) > 1 else made.set_axis(made.index.get_level_values(0))


def answers(ours, records, config):
    """Our numbers for `compare`. Reported ones that we lack are answered by the reason; config["reasons"]["data"] says why ours
    are of something else."""
    reason = None if len(ours) else items.first_reason(records)
    return items.answers(ours.assign(why=config["reasons"].get("data")), config, reason or "no file holds it")
