"""Figure 8: class-wise reliability diagrams, ten bins of equal width."""

import math

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import runs
from harness.report.plots import COLOURS, WIDTH, pyplot
from harness.report.tables import label

BINS, PER_ROW = 10, 5
OVER, UNDER = COLOURS[1], COLOURS[4]


def render(records, config):
    """One panel per class, the networks below each other: dots: share of the class among the predictions of a bin with its 95 %
    Wilson interval; the gap to the bin's mean prediction is orange where that is too high, yellow where it is too low."""
    found = list(runs.predictions(config))
    if not found:
        return runs.nothing()
    plt = pyplot()
    rows = [math.ceil(p.shape[1] / PER_ROW) for _, p, _ in found]
    grid = {"squeeze": False, "sharex": True, "sharey": True}
    figure, axes = plt.subplots(sum(rows), PER_ROW, figsize=(WIDTH, 0.7 + 1.32 * sum(rows)), layout="constrained", **grid)
    top = 0
    for (problem, p, y), height in zip(found, rows):
        panels = axes[top : top + height].flat
        for j in range(p.shape[1]):
            diagram(panels[j], p[:, j], y == j)
            panels[j].set_title(f"{_network(problem, config)}, class {j}", fontsize=6.5, pad=2)
        for ax in panels[p.shape[1] :]:
            ax.set_visible(False)
        top += height
    axes[0, 0].set(xlim=(0, 1), ylim=(0, 1))
    figure.supxlabel("predicted probability of the class", fontsize=8)
    figure.supylabel("share of the class in the bin", fontsize=8)
    handles, texts = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper center", ncols=len(texts))
    return figure


def diagram(ax, p, hits):
    """Draw one class."""
    found = bins(p, hits)
    width, left = 1.0 / BINS, found["bin"] / BINS
    high = np.maximum(found["mean"] - found["share"], 0.0)
    low = np.maximum(found["share"] - found["mean"], 0.0)
    ax.bar(left, found["share"] - low, width, align="edge", color=COLOURS[0], edgecolor="white", linewidth=0.3)
    ax.bar(left, high, width, found["share"], align="edge", color=OVER, alpha=0.45, linewidth=0, label="prediction too high")
    ax.bar(left, low, width, found["mean"], align="edge", color=UNDER, alpha=0.75, linewidth=0, label="prediction too low")
    ends = np.abs(np.stack([found["share"] - found["low"], found["high"] - found["share"]]))
    at = left + width / 2
    text = "share of the class with 95 % interval"
    ax.errorbar(at, found["share"], yerr=ends, fmt=".", color="0.1", markersize=2.5, elinewidth=0.6, capsize=0.8, label=text)
    ax.plot([0, 1], [0, 1], color="0.35", linewidth=0.6, linestyle="--")
    ax.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    ax.set_yticks([0, 0.5, 1], ["0", ".5", "1"])


def bins(p, hits):
    """Frame of the bins (a, b] of equal width that are not empty (0 belongs to the first): bin, count, mean prediction, share of
    hits, and the ends low, high of its 95 % Wilson interval."""
    which = np.clip(np.ceil(p * BINS).astype(int) - 1, 0, BINS - 1)
    count = np.bincount(which, minlength=BINS)
    rows = []
    for b in np.flatnonzero(count):
        here = which == b
        rows.append((b, count[b], p[here].mean(), hits[here].mean(), *wilson(hits[here].sum(), count[b])))
    return pd.DataFrame(rows, columns=["bin", "count", "mean", "share", "low", "high"])


def wilson(successes, n, z=1.959963984540054):
    """Wilson's score interval of a binomial share: (s + z^2/2 -+ z sqrt(s (n - s) / n + z^2/4)) / (n + z^2)."""
    middle, half = successes + z**2 / 2, z * np.sqrt(successes * (n - successes) / n + z**2 / 4)
    return max((middle - half) / (n + z**2), 0.0), min((middle + half) / (n + z**2), 1.0)


def table(records, config):
    """Rows (network, class): share of the class, its mean prediction, and the L1 error over the ten bins."""
    heading = "class-wise: l1 over ten bins of equal width"
    rows = {}
    for problem, p, y in runs.predictions(config):
        for j in range(p.shape[1]):
            row = [f"{(y == j).mean():.4f}", f"{p[:, j].mean():.4f}", f"{_error(p[:, j], y == j):.4f}"]
            rows[_network(problem, config), str(j)] = row
    if not rows:
        return runs.empty(heading, "network", "class")
    index = pd.MultiIndex.from_tuples(rows, names=["network", "class"])
    frame = pd.DataFrame(list(rows.values()), index, ["share", "mean prediction", "L1 error"], dtype=object)
    frame.columns.name = heading
    return frame


def reproduced(records, config):
    """The mean over classes, as the binned estimator recorded it. The paper draws and prints no number."""
    mine = records[records["status"].eq("ok") & records["notion"].eq("classwise") & records["estimand"].eq("l1")]
    rows = [
        (
            f"L1 error, mean over classes, {_network(r.problem, config)}",
            label(config, "estimator", r.estimator),
            r.value,
            np.nan,
            1,
        )
        for r in mine.itertuples()
    ]
    return runs.answers(rows, records, config)


def _error(p, hits):
    found = bins(p, hits)
    return float((found["count"] * (found["mean"] - found["share"]).abs()).sum() / len(p))


def _network(problem, config):
    """The label of a file's network, else its name in the id."""
    found = runs.NAME.fullmatch(problem)
    name = found[2] if found else problem
    return label(config, "problem", problem if problem in (config["labels"]["problem"] or {}) else name)
