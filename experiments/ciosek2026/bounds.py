"""What the items on certified bounds share: names and looks, lines against n, numbers beside an independent prototype's."""

import numpy as np

from harness.report import items, rates
from harness.report.shown import label
from harness.report.style import COLOURS

OF_PAPER = {"nw_kfold_first_order": "NW", "tv_kfold": "TV", "lip_bkt": "Lip+Bkt"}  # how the paper calls its three bounds
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


def name(estimator: str, config) -> str:
    """How an estimator is called in figures: as configured, else as here, else by its id."""
    given = label(config, "estimator", estimator)
    return given if given != estimator else NAMES.get(estimator, estimator)


def plain(estimator: str, config) -> str:
    """How it is called in tables: without the mathematics of figures."""
    return name(estimator, config).replace("$", "").replace("h^2", "h²").replace("^{1/3}", "^(1/3)")


def function(problem: str, config) -> str:
    """How a problem is called: as configured, else as in 'sine' or 'sine, perturbed'."""
    given, base = label(config, "problem", problem), problem.removesuffix("_perturbed")
    return given if given != problem else base.removeprefix("score_").replace("_", " ") + ", perturbed" * (base != problem)


def named(frame, config):
    """The frame in the configuration's order, with the names `function` of the problem and `bound`, plain, of the estimator."""
    frame = items.in_order(frame, config)
    functions = [function(problem, config) for problem in frame["problem"]]
    return frame.assign(function=functions, bound=[plain(estimator, config) for estimator in frame["estimator"]])


def style(estimator: str, i: int = 0) -> dict:
    """Colour, line and marker of an estimator, open where the line is not solid; `i` numbers those without a look of their
    own."""
    colour, line, marker = STYLES.get(estimator, (i % 8, (0, (1, 1)), "P"))
    face = COLOURS[colour] if line == "-" else "white"
    return {"color": COLOURS[colour], "linestyle": line, "marker": marker, "markerfacecolor": face, "markeredgewidth": 0.8}


def lines(ax, frame, config, value: str, estimators=None) -> None:
    """A line per estimator (default: those of the frame): the mean of a column against n, both axes logarithmic."""
    for i, estimator in enumerate(estimators or items.chosen(config, frame)):
        mean = frame[frame["estimator"].eq(estimator)].groupby("n")[value].mean()
        ax.plot(mean.index, mean, label=name(estimator, config), **style(estimator, i))
    ax.set(xscale="log", yscale="log")


def sizes(frame) -> list[str]:
    """The columns 'n = 1,000', ... of a table."""
    return [f"n = {n:,}" for n in sorted(frame["n"].unique())]


def measured(records):
    """rates.excess of the L1 records that carry a number."""
    return rates.excess(items.with_number(records, "l1"))


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
