"""What the items on certified bounds share: names and looks, how far a bound is from the truth, log-log slopes, rows beside an
independent prototype's."""

import numpy as np
import pandas as pd

from harness.report import items, rates
from harness.report.plots import COLOURS
from harness.report.tables import label

PAPER_STYLE = ("nw_kfold_first_order", "tv_kfold", "lip_bkt")
PAIRS = (  # derived, paper-style
    ("nw_jensen", "nw_kfold_first_order"), ("nw_jensen", "nw_kfold_ciosek2026"), ("tv_insample", "tv_kfold"),
    ("bv_window", "tv_kfold"), ("lip_bkt_jensen", "lip_bkt"),
)  # fmt: skip
NAMES = {
    "nw_kfold_first_order": "NW, K folds, 1st order", "nw_kfold_ciosek2026": r"NW, K folds, $3/(2h^2)$",
    "nw_kfold": r"NW, K folds, $1/(2h^2)$", "nw_jensen": "NW, Jensen", "nw_jensen_histogram": "NW, Jensen, histogram",
    "nw_jensen_wide": "NW, Jensen, wide", "nw_kfold_wide": "NW, K folds, wide",
    "tv_kfold": "TV, K folds", "tv_kfold_basic": "TV, K folds, basic", "tv_insample": "TV, in-sample", "bv_window": "BV window",
    "bv_window_wide": "BV window, wide", "bv_window_wider": "BV window, wider", "lip_bkt_wide": "Lip+Bkt, wide",
    "lip_bkt_jensen_wide": "Lip+Bkt, Jensen, wide", "lip_bkt": "Lip+Bkt", "lip_bkt_jensen": "Lip+Bkt, Jensen",
    "lower_preq": "lower bound", "certified_interval": "interval (BV)", "certified_interval_perturbed": "interval (NW)",
    "binned15": "ECE, 15 bins",
}  # fmt: skip
STYLES = {  # colour by family; the paper's form is solid with full markers
    "nw_kfold_first_order": (0, "-", "o"), "nw_kfold_ciosek2026": (0, "-.", "^"), "nw_kfold": (0, ":", "v"),
    "nw_jensen": (5, "--", "o"), "nw_jensen_histogram": (5, ":", "P"),
    "tv_kfold": (1, "-", "s"), "tv_kfold_basic": (1, "-.", "s"), "tv_insample": (4, "--", "s"), "bv_window": (3, "--", "X"),
    "lip_bkt": (2, "-", "D"), "lip_bkt_jensen": (2, "--", "D"), "lower_preq": (6, ":", "*"),
    "binned15": (7, ":", "P"),
}  # fmt: skip
FUNCTIONS = {
    "score_calibrated": "calibrated", "score_sine": "sine", "score_sigmoid": "sigmoid", "score_steps": "steps",
    "score_waves": "waves", "score_saturated": "saturated",
}  # fmt: skip
THE_FOUR = ("score_sine", "score_sigmoid", "score_steps", "score_waves")
JENSEN = "before_transfer"  # the part that only bounds of the form kl+(...) have


def name(estimator: str, config) -> str:
    """How an estimator is called in figures: as configured, else as here, else by its id."""
    given = label(config, "estimator", estimator)
    return given if given != estimator else NAMES.get(estimator, estimator)


def plain(estimator: str, config) -> str:
    """How it is called in tables: without the mathematics of figures."""
    return name(estimator, config).replace("$", "").replace("h^2", "h²").replace("^{1/3}", "^(1/3)")


def function(problem: str, config) -> str:
    """How a problem is called: as configured, else 'sine' and 'sine, perturbed', else by its id."""
    given = label(config, "problem", problem)
    if given != problem:
        return given
    base = problem.removesuffix("_perturbed")
    text = FUNCTIONS.get(base, base.removeprefix("score_").replace("_", " "))
    return text + ", perturbed" * (base != problem)


def style(estimator: str, i: int = 0) -> dict:
    """Colour, line and marker of an estimator, open where the line is not solid; `i` numbers those without a look of their
    own."""
    colour, line, marker = STYLES.get(estimator, (i % 8, (0, (1, 1)), "P"))
    face = COLOURS[colour] if line == "-" else "white"
    return {"color": COLOURS[colour], "linestyle": line, "marker": marker, "markerfacecolor": face, "markeredgewidth": 0.8}


def measured(records):
    """The L1 records that carry a number, with `excess`: bound - CE of an upper bound, CE - bound of a lower one, |estimate - CE|
    of another, and `vacuous`: the bound says no more than 0 <= CE <= 1."""
    fine = items.with_number(records, "l1").copy()
    upper, lower = fine["kind"].eq("upper"), fine["kind"].eq("lower")
    difference = fine["value"] - fine["truth"]
    fine["excess"] = np.where(upper, difference, np.where(lower, -difference, difference.abs()))
    fine["vacuous"] = (upper & fine["value"].ge(1.0 - 1e-9)) | (lower & fine["value"].le(0.0))
    return fine


def slopes(records, config):
    """By problem and estimator: the slope of log10(mean excess) on log10 n by least squares.

    Sizes at which a sample's bound is vacuous are left out; the rest is rates.log_slope's."""
    rows = []
    for (problem, estimator), part in measured(records).groupby(["problem", "estimator"], sort=False):
        good = part.groupby("n")["vacuous"].transform("any").eq(False) & part["truth"].notna()
        wide = part[good].pivot(index="rep", columns="n", values="excess").dropna(axis=0)
        of_it = {"problem": problem, "estimator": estimator, "keys": tuple(part["key"])}
        rows.append({**of_it, **rates.log_slope(wide), "left_out": part.loc[~good, "n"].nunique()})
    columns = ["problem", "estimator", "keys", "slope", "se", "first", "last", "n_min", "n_max", "reps", "left_out"]
    return items.in_order(pd.DataFrame(rows, columns=columns), config)


def means(records, config):
    """Our mean bounds in rows '<problem id>, n = <n>' and columns '<estimator id>'; cells that gave none leave their reason."""
    of_it = ("{problem}, n = {n}", "{estimator}")
    found = items.numbers(items.evaluated(records, config, "l1"), *of_it)
    return items.together(found, items.without_number(records, config, *of_it))


def shares(found, config, by, row, column):
    """Rows of a frame of coverages, with the error of a share, sqrt(c (1 - c) / samples). Where the prototype's numbers are of
    other problems of the kind, the lowest over n stands beside them, whatever its n, in rows '<problem id>'."""
    found = found.assign(error=np.sqrt(found["coverage"] * (1.0 - found["coverage"]) / found["samples"]))
    ours = items.numbers(found, row, column, "coverage", "error", "samples")
    if "prototype" not in config["reasons"] or not len(found):
        return ours
    lowest = found.loc[found.groupby(by, sort=False)["coverage"].idxmin()]
    of_others = items.numbers(lowest, "{problem}", column, "coverage", None, "samples", config["reasons"]["prototype"])
    return items.together(ours, of_others)
