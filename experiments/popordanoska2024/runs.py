"""Networks in the course of training: what Figures 3, 6, 7 and 8 share. Problems are files named

<family>/<network>_seed<s>[_epoch<e>][_<layer>][/<part>]      (harness.problems.PredictionFiles)
"""

import re

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.problems.base import members_of
from harness.report import reproduction
from harness.report.plots import WIDTH, pyplot
from harness.report.tables import label
from harness.runs.components import build

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
    """The numbers of one notion beside what the problems' names say; `column` is the estimator's label."""
    fine = records[records["status"].eq("ok") & records["notion"].eq(notion)]
    fine = fine[["problem", "n", "estimator", "estimand", "value"]].join(named(fine["problem"]), on="problem", how="inner")
    return fine.assign(column=[label(config, "estimator", e) for e in fine["estimator"]])


def predictions(config, wanted=lambda problem: True):
    """Yield (problem, p (n, k), y) of every file of the configuration that is there and wanted."""
    for name, node in config["problem"].items():
        one = build("problem", name, node)
        for problem, made in (members_of(one) or {name: one}).items():
            if wanted(problem):
                if getattr(made, "unavailable", None) is None:
                    yield problem, *made.sample(made.n_max, np.random.default_rng(0))


def accuracies(config, wanted=lambda problem: True):
    """Frame of `accuracy`, the share of rows (in percent) whose largest probability is the label's, beside the names' parts."""
    found = {problem: 100.0 * float((p.argmax(axis=1) == y).mean()) for problem, p, y in predictions(config, wanted)}
    return named(found).assign(accuracy=pd.Series(found, dtype=float)).reset_index()


def over_seeds(frame, by, value="value"):
    """Mean, standard deviation (ddof 1), number and standard error of the mean over the seeds."""
    table = frame.groupby(by, sort=False, dropna=False)[value].agg(mean="mean", sd="std", reps="size").reset_index()
    return table.assign(se=table["sd"] / np.sqrt(table["reps"]))


def columns_of(found, config):
    """The labels of the estimators that gave a number, in the order of the configuration."""
    have = set(found["column"])
    return [name for name in (label(config, "estimator", e) for e in config["estimator"]) if name in have]


def entry(mean, se, digits):
    """'0.912 ± 0.003', a dash for none."""
    if mean != mean:
        return "–"
    return f"{mean:.{digits}f}" + (f" ± {se:.{digits}f}" if se == se else "")


def nothing(text="there are no files to draw; the page says how to get them"):
    """A figure that says that there is none."""
    plt = pyplot()
    figure, ax = plt.subplots(figsize=(WIDTH, 1.2), layout="constrained")
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    return figure


def empty(name, *levels):
    """A table that says that there is no number."""
    index = (
        pd.MultiIndex.from_tuples([("–",) * len(levels)], names=levels) if len(levels) > 1 else pd.Index(["–"], name=levels[0])
    )
    frame = pd.DataFrame([["none: there are no files"]], index, ["numbers"], dtype=object)
    frame.columns.name = name
    return frame


def answers(rows, records, config):
    """Our numbers (item, row, column, value, error, reps, why) for `compare`: `rows` are (row, column, value, error, reps).
    Reported numbers that `rows` lack are answered by the reason; config["reasons"]["data"] says why ours are of something
    else."""
    ours = pd.DataFrame(rows, columns=["row", "column", "value", "error", "reps"]).assign(why=config["reasons"].get("data"))
    lost = records[~records["status"].eq("ok")]
    reason = reproduction.why_without(lost.iloc[0]) if len(lost) and not rows else "no file holds it"
    frames = []
    for item in config["compare"]:
        asked = reproduction.reported(config["paper"], [item])
        mine = set(zip(ours["row"], ours["column"]))
        absent = asked[[pair not in mine for pair in zip(asked["row"], asked["column"])]]
        found = [frame for frame in (ours, absent[["row", "column"]].assign(why=reason)) if len(frame)]
        frames += [frame.assign(item=item) for frame in found]
    return pd.concat(frames, ignore_index=True).reindex(columns=["item", "row", "column", "value", "error", "reps", "why"])
