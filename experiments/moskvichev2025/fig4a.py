"""Figure 4a: CKCE, JKCE and ECE of one binary model while the law of its inputs moves.

The input x is normal with mean alpha and standard deviation 0.25, truncated to [-1, 1]. The model
and P(Y = 1 given x) are fixed. Further panels show that CKCE is flat because of its ridge: the
limit without a ridge is infinite. No value of the paper's figure is at hand, so the estimates of an
independent second implementation stand beside ours.
"""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit

from harness.common import wording
from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures import panels
from harness.figures.style import COLOURS

from . import drawing, metrics
from .population_metrics import GAMMA, RIDGES

METRICS = {"CKCE": "CKCE", "JKCE": "JKCE", "ECE": "ECE, thirds"}  # {metric: population value}
SHIFT = {
    "alpha": "location",
    "scale": "scale",
    "model_slope": "model_slope",
    "truth_slope": "truth_slope",
}
SYMBOLS = {
    "gamma sqhalf": r"$\gamma^2$ = med $d^2$ / 2",
    "gamma sq": r"$\gamma$ = med $d^2$",
    "CKCE": "as published",
}


def curves(
    records: pd.DataFrame, settings: Settings
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return population values, mean estimates and single estimates as three frames.

    The column `alpha` is the location of the inputs. The column `column` names the metric.
    """
    frame = (
        metrics.values(records, settings, "location")
        .rename(columns={"location": "alpha"})
        .sort_values("alpha")
    )
    return (
        metrics.by_diagnostic(records, "population", **SHIFT),
        items.means(frame, ["alpha", "column"]),
        frame,
    )


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the setting and three metrics over alpha.

    The lower panels show population values and estimates of CKCE for several ridges and
    bandwidths.
    """
    population, means, frame = curves(records, settings)
    if not len(frame):
        return panels.nothing()
    figure, axes = panels.grid(2, 2, 4.7)
    setting, drawn, exact, estimated = axes.flat
    _setting(setting, population)
    for i, (metric, limit) in enumerate(METRICS.items()):
        drawing.column_line(
            drawn,
            frame[frame["rep"].eq(frame["rep"].min())],
            metric,
            "alpha",
            alpha=0.45,
            **panels.look(i),
        )
        drawing.column_line(drawn, means, metric, "alpha", "mean", color=COLOURS[i], label=metric)
        drawing.column_line(
            drawn, population, limit, "alpha", color=COLOURS[i], linestyle="--", linewidth=0.9
        )
    for i, ridge in enumerate(RIDGES):
        text = (
            rf"$\lambda$ = {ridge:g}"
            if ridge >= 0.01
            else rf"$\lambda = 10^{{{int(np.log10(ridge))}}}$"
        )
        drawing.column_line(
            exact, population, f"CKCE, ridge {ridge:g}", "alpha", color=COLOURS[i], label=text
        )
    for i, column in enumerate(
        c for c in items.labels(settings, "estimator", means["column"]) if c.startswith("CKCE")
    ):
        how = {
            "color": COLOURS[i % 8],
            "label": _symbols(column.removeprefix("CKCE, ")),
            "capsize": 0.0,
        }
        panels.curve(estimated, means[means["column"].eq(column)], "alpha", **how)
    drawn.set(
        title="estimates: one draw, mean; population (dashed)",
        ylabel="calibration error",
        ylim=(0, 0.8),
    )
    exact.set(
        title=rf"CKCE of the population by ridge, $\gamma$ = {GAMMA:g}", ylabel="CKCE", yscale="log"
    )
    estimated.set(
        title=f"CKCE estimates by ridge and bandwidth, $n$ = {frame['n'].max():,}",
        ylabel="CKCE",
        yscale="log",
    )
    for ax, columns, top in ((drawn, 3, 0.8), (exact, 3, 3e4), (estimated, 2, 200.0)):
        ax.set_xlabel(r"location $\alpha$")
        ax.set_ylim(top=top)
        ax.legend(ncols=columns, loc="upper center")
    return figure


def _symbols(name: str) -> str:
    """Return the name of a variant with mathematical symbols for the ridge and the bandwidth."""
    return SYMBOLS.get(
        name, re.sub(r"^ridge", r"$\\lambda$ =", re.sub(r"^gamma", r"$\\gamma$ =", name))
    )


def _setting(ax: Axes, population: pd.DataFrame) -> None:
    """Draw the model, the true probability, and the density of x at three locations.

    The slopes and the standard deviation come from the first row of `population`, because all
    problems share them.
    """
    ax.set(
        title="the setting: only the law of $x$ moves",
        xlabel="$x$",
        ylabel="probability",
        ylim=(0, 1),
    )
    x = np.linspace(-1.0, 1.0, 401)
    for shift in population.head(1).itertuples():
        ax.plot(x, expit(shift.truth_slope * x), color="0.2", label="$P(Y = 1|x)$")
        ax.plot(x, expit(shift.model_slope * x), color="0.2", linestyle="--", label="$Q(Y = 1|x)$")
        for i, alpha in enumerate((-0.75, 0.0, 0.5)):
            density = np.exp(-0.5 * ((x - alpha) / shift.scale) ** 2)
            ax.fill_between(
                x,
                0.25 * density / (density.sum() * (x[1] - x[0])),
                color=COLOURS[i],
                alpha=0.2,
                linewidth=0,
            )
            ax.text(alpha, 0.25, rf"$\alpha$ = {alpha:g}", ha="center", fontsize=6.5)
        ax.legend(loc="upper left")


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with the smallest and the largest value of each metric over alpha.

    The first rows are mean estimates, the others population values. Further columns are the
    locations of both values, their ratio, and, for estimates, the standard deviation of one draw in
    percent of the mean.
    """
    population, means, _ = curves(records, settings)
    rows = {}
    for column in items.labels(settings, "estimator", means["column"]):
        line = means[means["column"].eq(column)]
        noise = 100 * (line["sd"] / line["mean"].abs()).mean()
        rows["estimates (mean)", column] = {
            **metrics.extremes(line, "mean", "alpha"),
            "sd of one draw, %": wording.format_fixed(noise, digits=0),
        }
    for column, line in population.groupby("column", sort=False):
        rows["population", column.replace("ridge", f"gamma {GAMMA:g}, ridge")] = metrics.extremes(
            line, "value", "alpha"
        )
    return text_tables.wide(
        rows, ["", "metric"], "over the locations: smallest, largest, and their ratio"
    )


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our numbers for the reported ones.

    Reported items named '..._population' get population values, the others mean estimates.
    """
    population, means, _ = curves(records, settings)
    row = "alpha = {alpha:+.2f}"
    exact, estimated = (
        items.exact(population, row, "{column}"),
        items.numbers(means, row, "{column}"),
    )
    ours = {item: exact if item.endswith("_population") else estimated for item in settings.compare}
    return items.joined(
        [
            metrics.answers([numbers], records, replace(settings, compare=[item]))
            for item, numbers in ours.items()
        ]
    )
